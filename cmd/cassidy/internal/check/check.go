// Package check has the commands that find faults in scripts, and format them.
package check

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/faults"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy check or cassidy fmt.
type command struct{ *app.App }

// Command returns cassidy check.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "check", Usage: "find faults in scripts without running them", ArgsUsage: "[FILE|FOLDER|NAME …]",
		Description: "The command checks tools, workflows, policies, hooks, libraries and tests. NAME is the name of a tool, a workflow or a policy.\n" +
			"Without arguments, it checks the scripts of the project and your personal scripts.\n" +
			"If there are errors, the exit code is 1. Each fault has a code, such as unknown-name. docs/checking.md explains these codes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix the faults that have a fix, and list what was fixed"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with code 1 if there are warnings, too"},
			&cli.BoolFlag{Name: "sarif", Usage: "print the faults in SARIF 2.1.0, for CI"},
		},
		Action: func(ctx *cli.Context) error {
			if fault := c.configFault(); fault != nil {
				return c.check(ctx, nil, fault)
			}
			return c.WithHost(func(ctx *cli.Context, h *host.Host) error { return c.check(ctx, h, nil) })(ctx)
		},
	}
}

// configFault returns the fault of an invalid config, or nil. Without a valid config, there is no host, and the checker
// does not know the tools.
func (c *command) configFault() *faults.File {
	dir, root, err := c.WorkProject()
	if err != nil {
		return nil
	}
	if _, err = c.ReadConfig(cmp.Or(root, dir)); err == nil {
		return nil
	}
	e := value.ErrorOf(err, value.Invalid)
	if e.Pos.File == "" {
		return nil
	}
	d := invalid(shown(e.Pos.File), e)
	d.Pos.Line, d.Pos.Col = max(e.Pos.Line, 1), max(e.Pos.Col, 1)
	d.Hint = strings.TrimPrefix(d.Hint+"; correct the config first: without it, calls of tools are not checked", "; ")
	return &faults.File{Name: d.Pos.File, Found: []diagnostic.Diagnostic{d}}
}

// check checks files. The host is nil if the config has a fault.
func (c *command) check(ctx *cli.Context, h *host.Host, config *faults.File) error {
	if h != nil {
		agents.RegisterForHelp(h)
	}
	dir, err := c.Root()
	if err != nil {
		return err
	}
	checker, err := app.NewChecker(h, dir)
	if err != nil {
		return err
	}
	t, err := c.targets(h, ctx.Args().Slice())
	if err != nil {
		return err
	}
	r := &run{command: c, checker: checker, root: t.root, fix: ctx.Bool("fix"), conflicts: c.conflicts(h, t.root)}
	if config != nil {
		r.files = append(r.files, *config)
	}
	for _, file := range t.files {
		if ctx.Context.Err() != nil {
			return value.AsError(ctx.Context.Err(), value.Canceled)
		}
		r.file(file)
	}
	return r.report(ctx.Bool("sarif"), ctx.Bool("strict"))
}

// targets are the files to check.
type targets struct {
	root  string // of the project, or ""
	files []string
}

// targets finds the files that arguments name.
func (c *command) targets(h *host.Host, words []string) (targets, error) {
	root, err := c.ProjectRoot()
	if err != nil {
		return targets{}, err
	}
	t := targets{root: root}
	if len(words) == 0 {
		return t, c.all(&t)
	}
	for _, word := range words {
		files, err := c.named(h, root, word)
		if err != nil {
			return t, err
		}
		t.files = append(t.files, files...)
	}
	t.files = once(t.files)
	return t, nil
}

// once returns files without those that are named twice, in any spelling.
func once(files []string) (list []string) {
	seen := map[string]bool{}
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			abs = file
		}
		if !seen[abs] {
			seen[abs] = true
			list = append(list, file)
		}
	}
	return list
}

// all adds all scripts of the project and of the user.
func (c *command) all(t *targets) error {
	dirs := []string{}
	if t.root != "" {
		dirs = append(dirs, filepath.Join(t.root, folder.Name))
	}
	if home := c.Home(); home != "" && (t.root == "" || !folder.Same(home, filepath.Join(t.root, folder.Name))) {
		dirs = append(dirs, home)
	}
	for _, dir := range dirs {
		files, err := check.Files(dir)
		if err != nil {
			return ui.FileError(err)
		}
		t.files = append(t.files, files...)
	}
	return nil
}

// named returns the files that an argument names: a file, a folder, or a tool.
func (c *command) named(h *host.Host, root, word string) ([]string, error) {
	file := c.located(word)
	isName := !strings.ContainsAny(word, `/\`) && filepath.Ext(word) == ""
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir() && (!isName || !isTool(h, word)):
		return scriptsIn(file, word)
	case !isName:
		return []string{file}, nil
	}
	return c.toolFile(h, root, word)
}

// located returns the path of a file or folder that an argument names: in the folder of --dir, if it is
// only there.
func (c *command) located(word string) string {
	if c.Dir == "" || filepath.IsAbs(word) || exists(word) {
		return word
	}
	if inDir := filepath.Join(c.Dir, word); exists(inDir) {
		return inDir
	}
	return word
}

// scriptsIn returns the scripts in a folder that an argument names.
func scriptsIn(dir, word string) ([]string, error) {
	files, err := check.Below(dir)
	if err != nil {
		return nil, ui.FileError(err)
	}
	if len(files) == 0 {
		return nil, value.Errorf(value.NotFound, "%s has no scripts", word).WithHint("use a folder with files that end in %s", strings.Join(tool.ScriptSuffixes(), ", "))
	}
	return files, nil
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

func isTool(h *host.Host, name string) bool {
	if h == nil {
		return false
	}
	_, err := h.Tool(name)
	return err == nil
}

// toolFile returns the file of a tool by its name.
func (c *command) toolFile(h *host.Host, root, name string) ([]string, error) {
	if h == nil {
		return c.fileOf(root, name)
	}
	for _, e := range h.Broken() {
		base := filepath.Base(e.Pos.File)
		if tool.Key(strings.TrimSuffix(base, filepath.Ext(base))) == tool.Key(name) {
			return []string{c.inPlace(root, e.Pos.File)}, nil
		}
	}
	t, err := h.Tool(name)
	if err != nil {
		if file := c.workflow(root, name); file != "" {
			return []string{file}, nil
		}
		return nil, value.Errorf(value.NotFound, "there is no tool, workflow, policy or file %q%s", value.Clean(name, 120), value.DidYouMean(name, names(h))).
			WithHint("list the tools: cassidy tool list")
	}
	if t.Location == tool.Builtin || t.Path == "" {
		return nil, value.Errorf(value.Invalid, "the tool '%s' has no file to check", t.Name).WithHint("check a tool of the project, or a file")
	}
	return []string{c.inPlace(root, t.Path)}, nil
}

// fileOf returns the file of a tool, a workflow or a policy by its name, if no host knows it.
func (c *command) fileOf(root, name string) ([]string, error) {
	t := targets{root: root}
	if err := c.all(&t); err != nil {
		return nil, err
	}
	for _, file := range t.files {
		if base := filepath.Base(file); tool.Key(strings.TrimSuffix(base, filepath.Ext(base))) == tool.Key(name) {
			return []string{file}, nil
		}
	}
	return nil, value.Errorf(value.NotFound, "there is no tool, workflow, policy or file %q", value.Clean(name, 120))
}

// workflow returns the file of a workflow or policy by its name, or "".
func (c *command) workflow(root, name string) string {
	for _, dir := range []string{filepath.Join(root, folder.Name), c.Home()} {
		for _, kind := range []string{"workflows", "policies"} {
			if file := filepath.Join(dir, kind, name+".star"); dir != "" && exists(file) {
				return file
			}
		}
	}
	return ""
}

// inPlace returns the path of a file that a host names: relative to the project, or in the user's folder.
func (c *command) inPlace(root, shown string) string {
	if file := filepath.Join(root, filepath.FromSlash(shown)); root != "" && exists(file) {
		return file
	}
	if i := strings.Index(shown, "tools/"); i >= 0 && c.Home() != "" {
		if file := filepath.Join(c.Home(), filepath.FromSlash(shown[i:])); exists(file) {
			return file
		}
	}
	return shown
}

// A run checks files, one after the other.
type run struct {
	*command
	checker   *check.Checker
	root      string
	fix       bool
	conflicts map[string]*value.Error // of the names of tools, by the absolute paths of their files
	files     []faults.File
	fixed     []diagnostic.Diagnostic
}

// shown returns the name of a file in messages: relative to the current folder, if it is below it.
func shown(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, abs); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}

// file checks one file. That it cannot be read is a fault of it.
func (r *run) file(file string) {
	name := shown(file)
	text, err := check.Read(r.root, file)
	if err != nil {
		r.files = append(r.files, faults.File{Name: name, Found: []diagnostic.Diagnostic{invalid(name, err)}})
		return
	}
	found := r.checker.File(name, text)
	if r.fix {
		next, done, left := r.checker.Fix(name, text)
		if len(done) > 0 {
			if err := check.Replace(r.root, file, text, next); err != nil {
				left = append(found, invalid(name, err))
				done, next = nil, text
			}
		}
		r.fixed, found, text = append(r.fixed, done...), left, next
	}
	if abs, err := filepath.Abs(file); err == nil && r.conflicts[abs] != nil {
		e := r.conflicts[abs]
		found = append(found, diagnostic.Diagnostic{Pos: value.Position{File: name, Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.DuplicateName, Message: e.Message(), Hint: e.Hint})
		diagnostic.Sort(found)
	}
	r.files = append(r.files, faults.File{Name: name, Text: text, Found: found})
}

// conflicts returns the tools that are not used because another tool has the same name.
func (c *command) conflicts(h *host.Host, root string) map[string]*value.Error {
	found := map[string]*value.Error{}
	if h == nil {
		return found
	}
	for _, e := range h.Broken() {
		if message := e.Message(); !strings.Contains(message, " is also in ") && !strings.Contains(message, " already has the name ") {
			continue
		}
		if abs, err := filepath.Abs(c.inPlace(root, e.Pos.File)); err == nil {
			found[abs] = e
		}
	}
	return found
}

// invalid returns the fault of a file that cannot be read or written.
func invalid(name string, err error) diagnostic.Diagnostic {
	e := folder.FileError(err, name)
	return diagnostic.Diagnostic{Pos: value.Position{File: name, Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.InvalidFile, Message: e.Message(), Hint: e.Hint}
}

// report prints the faults. It fails silently if there are errors.
func (r *run) report(sarif, strict bool) error {
	var found []diagnostic.Diagnostic
	list := value.List{}
	fixable := 0
	for _, f := range r.files {
		for i := range f.Found {
			found = append(found, f.Found[i])
			list = append(list, faults.JSON(&f.Found[i], f.Text))
			if fix := f.Found[i].Fix; fix != nil && !fix.Choice {
				fixable++
			}
		}
	}
	errs, warnings := faults.Count(found)
	bad := errs > 0 || strict && warnings > 0
	switch {
	case sarif:
		if err := r.PrintJSON(faults.SARIF(r.files, app.Version())); err != nil {
			return err
		}
	case r.JSON:
		fixed := value.List{}
		for i := range r.fixed {
			d := &r.fixed[i]
			fixed = append(fixed, value.NewDict("file", d.Pos.File, "line", int64(d.Pos.Line), "code", d.Code, "title", d.Fix.Title))
		}
		if err := r.PrintJSON(value.NewDict("valid", !bad, "files", int64(len(r.files)), "errors", int64(errs), "warnings", int64(warnings), "diagnostics", list, "fixed", fixed)); err != nil {
			return err
		}
	default:
		r.print(found)
		r.summary(errs, warnings, fixable)
	}
	if bad {
		return ui.ErrSilent
	}
	return nil
}

func (r *run) print(found []diagnostic.Diagnostic) {
	paint := r.Paint()
	for _, d := range r.fixed {
		r.Print(ui.Sprintf("%s:%d: fixed: %s\n", d.Pos.File, d.Pos.Line, d.Fix.Title))
	}
	for i := range found {
		r.Print(faults.Text(&found[i], paint))
	}
}

func (r *run) summary(errs, warnings, fixable int) {
	files := ui.Count(len(r.files), "file")
	switch {
	case len(r.files) == 0:
		r.Note("no scripts found")
	case errs+warnings == 0:
		r.Note("no faults in %s", files)
	default:
		r.Note("%s and %s in %s", ui.Count(errs, "error"), ui.Count(warnings, "warning"), files)
	}
	if fixable > 0 && !r.fix {
		r.Note("to fix %d of them: cassidy check --fix", fixable)
	}
}

// Format returns cassidy fmt.
func Format(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "fmt", Usage: "format scripts in Starlark", ArgsUsage: "[NAME|FILE|FOLDER|- …]",
		Description: "The format is that of buildifier. In a Markdown file, the Starlark block is formatted.\n" +
			"Without arguments, the command formats the Starlark files of the project and your personal ones.\n" +
			"To format standard input and print the result: cassidy fmt -\n" +
			"A text that begins with the line --- is formatted as a tool in Markdown.\n" +
			"A file that does not parse is not changed.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "change nothing, list the files that differ, and exit with code 1 if there are any"},
		},
		Action: c.format,
	}
}

func (c *command) format(ctx *cli.Context) error {
	checker := check.New(check.Options{})
	if slices.Equal(ctx.Args().Slice(), []string{"-"}) {
		return c.formatInput(checker, ctx.Bool("check"))
	}
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	t := targets{root: root}
	if ctx.NArg() == 0 {
		if err := c.all(&t); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	for _, word := range ctx.Args().Slice() {
		file := c.located(word)
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			files, err := scriptsIn(file, word)
			if err != nil {
				return err
			}
			t.files = append(t.files, files...)
			continue
		}
		files, err := c.scriptsOf(word, file)
		if err != nil {
			return err
		}
		for _, file := range files {
			named[file] = true
		}
		t.files = append(t.files, files...)
	}
	t.files = slices.DeleteFunc(t.files, func(file string) bool { return filepath.Ext(file) == ".lua" && !named[file] })
	t.files = once(t.files)
	return c.formatFiles(checker, t, ctx.Bool("check"))
}

// scriptsOf returns the files that an argument of cassidy fmt names: a file, or the scripts with a name, such as
// that of a tool.
func (c *command) scriptsOf(word, file string) ([]string, error) {
	if strings.ContainsAny(word, `/\`) || filepath.Ext(word) != "" || exists(file) {
		return []string{file}, nil
	}
	var all targets
	root, err := c.ProjectRoot()
	if err == nil {
		all.root = root
		err = c.all(&all)
	}
	if err != nil {
		return nil, err
	}
	stem := func(file string) string { return tool.Key(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))) }
	var names []string
	files := slices.DeleteFunc(all.files, func(file string) bool {
		names = append(names, stem(file))
		return stem(file) != tool.Key(word)
	})
	if len(files) == 0 {
		return nil, value.Errorf(value.NotFound, "format %s: there is no file, folder or script with this name%s", word, value.DidYouMean(tool.Key(word), names)).
			WithHint("use a file that ends in .star or .md, a folder, or the name of a tool")
	}
	return files, nil
}

// inputName is the name of the text on standard input: a tool in Markdown begins with its front matter.
func inputName(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); strings.TrimRight(first, " \r") == "---" {
		return "stdin.md"
	}
	return "stdin.star"
}

// maxInput is how long the text on standard input may be.
const maxInput = folder.MaxSource

func (c *command) formatInput(checker *check.Checker, only bool) error {
	data, err := io.ReadAll(io.LimitReader(c.In, maxInput+1))
	if err != nil {
		return value.Errorf(value.Failed, "read standard input: %w", err)
	}
	if len(data) > maxInput {
		return value.Errorf(value.Limit, "read standard input: the text is longer than %d KB", maxInput>>10)
	}
	name := inputName(string(data))
	formatted, err := checker.Format(name, string(data))
	if err != nil {
		return err
	}
	if !only {
		c.Print(formatted)
		return nil
	}
	if formatted != string(data) {
		c.Print(name + "\n")
		return ui.ErrSilent
	}
	return nil
}

func (c *command) formatFiles(checker *check.Checker, t targets, only bool) error {
	changed, failed := []string{}, value.List{}
	for _, file := range t.files {
		name := shown(file)
		differs, err := formatFile(checker, t.root, file, only)
		if err != nil {
			e := value.ErrorOf(err, value.Failed)
			if e.Pos.File == "" {
				e.Pos.File = name
			}
			failed = append(failed, value.NewDict("file", name, "line", int64(e.Pos.Line), "error", e.Message()))
			if !c.JSON {
				c.Report(e)
			}
			continue
		}
		if differs {
			changed = append(changed, name)
			if !c.JSON {
				c.Print(ui.VisibleLine(name) + "\n")
			}
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("changed", ui.Texts(changed), "failed", failed, "files", int64(len(t.files)))); err != nil {
			return err
		}
	}
	if len(failed) > 0 || only && len(changed) > 0 {
		return ui.ErrSilent
	}
	return nil
}

// formatFile formats a file, or with only just reports whether it differs. A Markdown file whose code is
// in another language is left as it is.
func formatFile(checker *check.Checker, root, file string, only bool) (differs bool, err error) {
	if ext := filepath.Ext(file); !slices.Contains(tool.ScriptSuffixes(), ext) {
		return false, value.Errorf(value.Invalid, "only Starlark can be formatted").WithHint("use a file that ends in .star, or a tool in Markdown that ends in .md")
	}
	text, err := check.Read(root, file)
	if err != nil {
		return false, err
	}
	formatted, err := checker.Format(shown(file), text)
	if err != nil {
		var e *value.Error
		if filepath.Ext(file) == ".md" && errors.As(err, &e) && strings.HasPrefix(e.Message(), "only Starlark") {
			return false, nil
		}
		return false, err
	}
	if formatted == text {
		return false, nil
	}
	if only {
		return true, nil
	}
	return true, check.Replace(root, file, text, formatted)
}

// names returns the names of all tools.
func names(h *host.Host) []string {
	var list []string
	for _, t := range h.List() {
		list = append(list, t.Name)
	}
	return list
}
