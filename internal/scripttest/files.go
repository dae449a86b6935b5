package scripttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/tools"
)

// files are the files of a folder as they were when the suite was opened. Later changes of the
// folder do not affect its tests.
type files struct {
	dir      string            // the folder
	prefix   string            // of the names in source, in messages: ".cassidy/tools" or the folder
	data     string            // the folder of golden values and fixtures, in dir
	source   map[string]string // the tools and workflows, in the layout of [cassidy.Scripts]
	declared []described       // the tools of source
	tests    []testFile
	broken   []*value.Error
	refused  map[string]error // why tools and workflows cannot be used, by their refusedKey: they are untrusted or invalid
}

// A described is a tool of the folder.
type described struct {
	name string // of its file
	tool *tool.Described
}

// A testFile is a file with tests.
type testFile struct {
	name   string // in the layout of source
	text   string
	reason string // why it is untrusted, or ""
}

// readFiles reads the folder of a suite.
func readFiles(ctx context.Context, o *Options) (*files, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "open %s: %w", o.Dir, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, value.Errorf(value.Invalid, "there is no folder %s", o.Dir).WithHint("pass the folder of a project, or a folder with tools")
	}
	h, err := o.Runtime.Open(cassidy.Source{}, &cassidy.Options{Modules: modules(o, nil)})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	f := &files{dir: dir, source: map[string]string{}, refused: map[string]error{}}
	if isFolder(filepath.Join(dir, folder.Name)) {
		return f, f.readProject(ctx, o, h)
	}
	return f, f.readFolder(ctx, h)
}

// readProject reads the files of a project. Untrusted ones are left out.
func (f *files) readProject(ctx context.Context, o *Options, h *host.Host) error {
	f.prefix, f.data = folder.ToolsDir, folder.Name+"/tests"
	scope := trust.Scope{TrustOnce: true}
	if o.Scope != nil {
		scope = *o.Scope
	}
	r, err := project.Review(ctx, f.dir, &project.Options{Scope: scope, Describe: h.Describe})
	if err != nil {
		return err
	}
	f.broken = r.Broken
	for _, e := range f.broken {
		if name, ok := sourceName(e.Pos.File); ok {
			f.refused[refusedKey(name)] = e
		}
	}
	for i := range r.Files {
		x := &r.Files[i]
		name, ok := sourceName(x.Path)
		switch {
		case !ok:
		case x.Kind == trust.KindTest:
			f.tests = append(f.tests, testFile{name, x.Text, x.Reason})
		case !x.Trusted:
			e := *value.ErrorOf(trust.Untrusted(x.Path, x.Reason), value.Denied)
			e.Pos.File = x.Path
			f.refused[refusedKey(name)] = &e
			if x.Kind == trust.KindTool {
				f.broken = append(f.broken, &e)
			}
		case x.Kind == trust.KindTool:
			f.declared = append(f.declared, described{name, x.Tool})
			fallthrough
		case x.Kind == trust.KindLib || x.Kind == trust.KindWorkflow:
			f.source[name] = x.Text
		}
	}
	return nil
}

// sourceName returns the name of a file of a project in the layout of [cassidy.Scripts].
func sourceName(file string) (name string, ok bool) {
	if name, ok := strings.CutPrefix(file, folder.ToolsDir+"/"); ok {
		return name, true
	}
	return strings.CutPrefix(file, folder.Name+"/")
}

// shown returns the name of a file in messages: that of the folder for a name in the copy of its
// files.
func (f *files) shown(name string) string {
	if rest, ok := strings.CutPrefix(name, folder.ToolsDir+"/"); ok {
		return path.Join(f.prefix, rest)
	}
	return name
}

// path returns the name of a file of source in messages.
func (f *files) path(name string) string {
	if strings.HasPrefix(name, workflows) && f.prefix == folder.ToolsDir {
		return folder.Name + "/" + name
	}
	return path.Join(f.prefix, name)
}

// workflows begins the names of workflows in source.
const workflows = "workflows/"

// write writes the files into a project in a folder: hosts that act on another folder use it.
func (f *files) write(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, folder.Name, "tools"), 0o755); err != nil {
		return value.Errorf(value.Failed, "create a folder for tests: %w", folder.Cause(err))
	}
	for name, text := range f.source {
		at := filepath.Join(dir, folder.Name, "tools", filepath.FromSlash(name))
		if strings.HasPrefix(name, workflows) {
			at = filepath.Join(dir, folder.Name, filepath.FromSlash(name))
		}
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			return value.Errorf(value.Failed, "write %s: %w", at, folder.Cause(err))
		}
	}
	return nil
}

// readFolder reads a folder that is not a project: its tools are those of the person who names it.
func (f *files) readFolder(ctx context.Context, h *host.Host) error {
	f.prefix, f.data = f.dir, "testdata"
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, f.dir); err == nil && filepath.IsLocal(rel) {
			f.prefix = filepath.ToSlash(rel)
		}
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return value.Errorf(value.Failed, "open the folder %s: %w", f.dir, folder.Cause(err))
	}
	defer root.Close()
	for _, dir := range []string{".", "lib"} {
		entries, err := fs.ReadDir(root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return value.Errorf(value.Failed, "read the folder %s: %w", path.Join(f.dir, dir), folder.Cause(err))
		}
		for _, e := range entries {
			f.readEntry(root.FS(), path.Join(dir, e.Name()))
		}
	}
	if len(f.source)+len(f.tests)+len(f.broken) == 0 {
		return value.Errorf(value.Invalid, "the folder %s has no project, and no tools", f.dir).
			WithHint("pass a folder with tools; or create a project in this folder: cassidy init")
	}
	for name, text := range f.source {
		if strings.Contains(name, "/") {
			continue
		}
		d, err := h.Describe(ctx, tool.Script{Path: name, Source: text, Libs: f.libs("")})
		if err != nil {
			e := folder.FileError(err, name)
			f.broken, f.refused[refusedKey(name)] = append(f.broken, e), e
			delete(f.source, name)
			continue
		}
		f.declared = append(f.declared, described{name, &d})
	}
	slices.SortFunc(f.declared, func(a, b described) int { return strings.Compare(a.name, b.name) })
	return nil
}

// readEntry reads one file of a folder.
func (f *files) readEntry(dir fs.FS, name string) {
	base := path.Base(name)
	isScript := slices.Contains(tool.ScriptSuffixes(), path.Ext(base)) && !strings.HasPrefix(base, ".") && !strings.EqualFold(base, "README.md")
	if info, err := fs.Stat(dir, name); !isScript || err != nil || info.IsDir() {
		return
	}
	text, err := folder.ReadText(dir, name, folder.MaxSource)
	switch {
	case err != nil:
		f.broken = append(f.broken, folder.FileError(err, name))
	case project.IsTest(name):
		f.tests = append(f.tests, testFile{name: name, text: text})
	case path.Ext(base) == ".md" && !strings.HasPrefix(text, "---"): // a page, not a tool
	case !builtin(name):
		f.source[name] = text
	}
}

// builtin reports whether a file has the name of a built-in tool: these are tested as they are
// embedded.
func builtin(name string) bool {
	_, err := fs.Stat(tools.FS(), stem(name)+".star")
	return err == nil
}

// libs returns the shared files that scripts of a folder of source load: of tools, or of
// workflows.
func (f *files) libs(dir string) map[string]string {
	libs := map[string]string{}
	for name, text := range f.source {
		if rest, ok := strings.CutPrefix(name, path.Join(dir, "lib")+"/"); ok {
			libs["lib/"+rest] = text
		}
	}
	return libs
}

// refusedKey returns the key of a file of source in files.refused.
func refusedKey(name string) string { return path.Join(path.Dir(name), stem(name)) }

// refusal returns why a tool or a workflow cannot be used, or nil. A workflow can also be called as a
// tool.
func (f *files) refusal(name string, workflow bool) error {
	if err := f.refused[tool.Key(name)]; err != nil && !workflow {
		return err
	}
	if err := f.refused[workflows+tool.Key(name)]; err != nil && (workflow || !f.hasTool(name)) {
		return err
	}
	return nil
}

// hasTool reports whether the folder has a tool with the name that can be used.
func (f *files) hasTool(name string) bool {
	return slices.ContainsFunc(f.declared, func(d described) bool { return tool.Key(d.tool.Name) == tool.Key(name) })
}

func stem(name string) string {
	name = path.Base(name)
	return tool.Key(strings.TrimSuffix(name, path.Ext(name)))
}

// A function is a top-level function of a test file.
type function struct {
	name string
	line int
}

// functions lists the top-level functions of a file, also if the file is invalid.
func functions(text string) (list []function) {
	s := scan.New(text)
	for t := s.Next(); t.Kind != scan.EndOfText; t = s.Next() {
		if t.Kind == scan.Word && t.Text == "def" && t.At.Col == 1 {
			if t = s.Next(); t.Kind == scan.Word {
				list = append(list, function{t.Text, t.At.Line})
			}
		}
	}
	return list
}

// driverName is the function that [driver] adds to a test file.
const driverName = "_cassidy_test"

// driver returns what is added to a test file: a function that calls setup and then a test, or a
// tool. Both are one run of the script, so that fakes that setup defines can be functions.
func driver(all []function) string {
	var b strings.Builder
	b.WriteString("\ndef " + driverName + "(t, name, args):\n")
	for _, fn := range all {
		if fn.name == "setup" {
			b.WriteString("    setup(t)\n")
			break
		}
	}
	b.WriteString("    if args != None:\n        return t.call(name, **args)\n    return {")
	for _, fn := range all {
		if strings.HasPrefix(fn.name, "test_") {
			fmt.Fprintf(&b, "%q: %s, ", fn.name, fn.name)
		}
	}
	b.WriteString("}[name](t)\n")
	return b.String()
}

// list lists all tests of the folder: those of the test files, and the examples of tools.
func (s *Suite) list() (tests []*Test, err error) {
	f := s.files
	wanted, err := s.selection()
	if err != nil {
		return nil, err
	}
	setups := map[string]*tool.Script{}
	for _, file := range f.tests {
		shown := f.path(file.name)
		name := project.Tested(file.name)
		all := functions(file.text)
		script := &tool.Script{Name: stem(file.name), Path: shown, Source: file.text + driver(all)}
		if strings.Contains(file.text, "load(") {
			script.Libs = f.libs(path.Dir(file.name))
		}
		script.Hash = script.Sum()
		setup := slices.ContainsFunc(all, func(fn function) bool { return fn.name == "setup" })
		if setup && file.reason == "" {
			setups[tool.Key(name)] = script
		}
		if !wanted(file.name) {
			continue
		}
		of := Test{File: shown, Tool: name, script: script, data: path.Join(f.data, script.Name), lines: 1 + strings.Count(file.text, "\n")}
		if err := engine.CheckSize(tool.Script{Path: shown, Source: file.text}); err != nil {
			of.Name, of.broken = "file", err
			tests = append(tests, &of)
			continue
		}
		if file.reason != "" {
			of.Name, of.broken = "file", trust.Untrusted(shown, file.reason)
			tests = append(tests, &of)
			continue
		}
		state := &fileState{}
		n := len(tests)
		for _, fn := range all {
			if strings.HasPrefix(fn.name, "test_") {
				t := of
				t.Name, t.entry, t.Line, t.state, t.first = fn.name, fn.name, fn.line, state, n == len(tests)
				tests = append(tests, &t)
			}
		}
		if len(tests) == n && !setup {
			of.Name, of.broken = "file", value.Errorf(value.Invalid, "the file has no function whose name begins with test_").WithHint("write: def test_NAME(t):")
			tests = append(tests, &of)
		}
	}
	for _, d := range f.declared {
		if !wanted(d.name) {
			continue
		}
		for i := range d.tool.Examples {
			e := &d.tool.Examples[i]
			if !e.HasExpect {
				continue
			}
			t := &Test{File: f.path(d.name), Name: fmt.Sprintf("example %d", i+1), Tool: d.tool.Name, example: e, data: path.Join(f.data, stem(d.name)+"_test")}
			if script := setups[tool.Key(d.tool.Name)]; script != nil {
				t.script = script
			}
			tests = append(tests, t)
		}
	}
	for _, e := range f.broken {
		e := *e
		if name, ok := sourceName(e.Pos.File); ok || f.prefix != folder.ToolsDir {
			if ok && !wanted(name) || !ok && !wanted(e.Pos.File) {
				continue
			}
			if !ok {
				e.Pos.File = path.Join(f.prefix, e.Pos.File)
			}
			tests = append(tests, &Test{File: e.Pos.File, Name: "file", broken: &e})
		}
	}
	return tests, nil
}

// A fileState is whether a test file can be run. It is checked once.
type fileState struct {
	once sync.Once
	err  error
}

// check returns why the file of a test cannot be run, or nil.
func (t *Test) check(ctx context.Context, h *host.Host) error {
	if t.state == nil {
		return nil
	}
	t.state.once.Do(func() {
		t.state.err = h.Check(ctx, &host.Program{Name: "test " + t.File, Script: *t.script})
	})
	return t.state.err
}

// selection returns which files the paths of the suite select.
func (s *Suite) selection() (func(name string) bool, error) {
	if len(s.opts.Paths) == 0 {
		return func(string) bool { return true }, nil
	}
	all := s.files.names()
	var selected []string
	for _, p := range s.opts.Paths {
		n := len(selected)
		for _, name := range all {
			if s.files.matches(name, p) {
				selected = append(selected, name)
			}
		}
		if len(selected) == n {
			return nil, s.files.notFound(p)
		}
	}
	return func(name string) bool { return slices.Contains(selected, name) }, nil
}

// notFound returns the error of a path that selects no file.
func (f *files) notFound(p string) error {
	const hint = "pass the name of a tool, a test file, or a folder with tools"
	if isName(p) {
		var known []string
		for _, name := range f.names() {
			known = append(known, project.Tested(name))
		}
		if near := value.Nearest(p, known); near != "" {
			return value.Errorf(value.NotFound, "test %s: no tool or workflow of the project has this name", p).WithHint("did you mean: cassidy test %s", near)
		}
		return value.Errorf(value.NotFound, "test %s: no tool or workflow of the project has this name", p).WithHint(hint)
	}
	if _, err := os.Stat(p); err != nil {
		return value.Errorf(value.NotFound, "test %s: %w", p, folder.Cause(err)).WithHint(hint)
	}
	return value.Errorf(value.Invalid, "test %s: no tool or test file is in this path", p).WithHint(hint)
}

// isName reports whether a path is the name of a tool.
func isName(p string) bool { return !strings.ContainsAny(p, `/\.`) }

// names lists the names of all files that may have tests.
func (f *files) names() (list []string) {
	for _, t := range f.tests {
		list = append(list, t.name)
	}
	for _, d := range f.declared {
		list = append(list, d.name)
	}
	for _, e := range f.broken {
		name, _ := sourceName(e.Pos.File)
		list = append(list, name)
	}
	return list
}

// matches reports whether a path selects a file: the file itself, the tool that it tests, or a
// folder.
func (f *files) matches(name, p string) bool {
	if isName(p) {
		return tool.Key(p) == stem(name) || tool.Key(p) == tool.Key(project.Tested(name))
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		return false
	}
	file := filepath.Join(f.dir, filepath.FromSlash(f.path(name)))
	if f.prefix != folder.ToolsDir {
		file = filepath.Join(f.dir, filepath.FromSlash(name))
	}
	rel, err := filepath.Rel(abs, file)
	if err == nil && filepath.IsLocal(rel) {
		return true
	}
	return filepath.Dir(abs) == filepath.Dir(file) && tool.Key(project.Tested(filepath.Base(file))) == stem(filepath.Base(abs))
}

// Watched returns the paths of a folder whose changes change its tests.
func Watched(dir string) []string {
	if own := filepath.Join(dir, folder.Name); isFolder(own) {
		return []string{own}
	}
	return []string{dir}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
