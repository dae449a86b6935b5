package project

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const workflowsDir = "workflows"

// declareMain is appended to a file without a declaration.
const declareMain = "\nworkflow(main)\n"

// A Workflow is a script with a function main that a person runs: a file of the folder
// workflows of a project or of its user, or any file that the person names. The files
// that it loads are in the folder lib beside it, and need to be trusted as it does.
type Workflow struct {
	ScriptFile
	// Tool is set by [Workflow.Describe]: with the name of the file, and the parameters
	// and the result of main.
	Tool    tool.Described
	Hash    string // of the file and the files that it loads
	Granted []tool.Capability
	// Declared reports that the file has workflow(main, …): it is limited to its needs,
	// and can be called as a tool.
	Declared bool

	libs func() (map[string]library, error)
}

// A library is a file that workflows may load.
type library struct {
	text string
	trust.Status
}

// Workflows reads the workflows of a project and of its user, as [Policies] reads
// policies. They are not described yet.
func Workflows(root string, o *trust.Scope) ([]Workflow, []*value.Error) {
	files, broken := scriptFiles(root, o, workflowsDir, trust.KindWorkflow)
	libs := map[tool.Location]func() (map[string]library, error){}
	for _, place := range o.Places(root, workflowsDir) {
		libs[place.Location] = librariesOf(place)
	}
	workflows := make([]Workflow, len(files))
	for i, f := range files {
		workflows[i] = Workflow{ScriptFile: f, libs: libs[f.Location]}
	}
	return workflows, broken
}

// DescribedWorkflows returns the workflows that [Workflows] reads, described. A file that
// is not a workflow is reported.
func DescribedWorkflows(ctx context.Context, root string, o *trust.Scope, describe Describer) ([]Workflow, []*value.Error) {
	all, broken := Workflows(root, o)
	described := all[:0]
	for _, w := range all {
		if err := w.Describe(ctx, describe); err != nil {
			broken = append(broken, value.ErrorOf(err, value.Invalid))
		} else {
			described = append(described, w)
		}
	}
	return described, broken
}

// FindWorkflow finds a workflow of a project, or of its user, by its name in either
// spelling. It is not described yet. The error is of kind NotFound if there is no such
// workflow, and names the file if that is broken.
func FindWorkflow(root string, o *trust.Scope, name string) (Workflow, error) {
	all, broken := Workflows(root, o)
	known := make([]string, len(all))
	for i := range all {
		if known[i] = all[i].Name; tool.Key(known[i]) == tool.Key(name) {
			return all[i], nil
		}
	}
	for _, e := range broken {
		if stem(path.Base(e.Pos.File)) == tool.Key(name) {
			return Workflow{}, e
		}
	}
	e := value.Errorf(value.NotFound, "there is no workflow %q%s", value.Clean(name, 120), value.DidYouMean(name, known))
	if len(known) == 0 {
		return Workflow{}, e.WithHint("create %s/workflows/NAME.star with a function main", folder.Name)
	}
	return Workflow{}, e.WithHint("use one of the workflows: %s", strings.Join(known, ", "))
}

// OpenWorkflow reads a workflow from any file. A file in the folder .cassidy of a
// project needs to be trusted as usual; any other file is treated as the user's own.
func OpenWorkflow(file string, o *trust.Scope) (Workflow, error) {
	place, name, err := placeOf(file, o)
	if err != nil {
		return Workflow{}, place.FileError(name, err)
	}
	files, done, err := place.Open()
	if err != nil {
		return Workflow{}, place.FileError(name, err)
	}
	defer done()
	f, err := readScript(place, files, name, trust.KindWorkflow)
	if err != nil {
		return Workflow{}, place.FileError(name, err)
	}
	return Workflow{ScriptFile: f, libs: librariesOf(place)}, nil
}

// placeOf returns the place of a file: of the project in whose folder .cassidy it is,
// whatever name that has here, or else a personal one.
func placeOf(file string, o *trust.Scope) (p trust.Place, name string, err error) {
	dir, name := filepath.Split(file)
	p = trust.Place{Location: tool.Personal, Base: filepath.Clean(dir), Dir: ".", Shown: filepath.ToSlash(filepath.Clean(dir))}
	given, err := filepath.Abs(file)
	if err != nil {
		return p, name, err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return p, name, err
	}
	for _, file := range []string{given, real} { // by a link that is in .cassidy, or as what one leads to
		for above := filepath.Dir(file); filepath.Dir(above) != above; above = filepath.Dir(above) {
			root, ok := projectOf(above, given, real)
			if !ok || folder.Same(above, o.Home) {
				continue
			}
			inside, err := filepath.Rel(above, filepath.Dir(file))
			if err != nil {
				return p, name, err
			}
			at := path.Join(folder.Name, filepath.ToSlash(inside))
			return trust.Place{Location: tool.Project, Base: root, Dir: at, Shown: at, Ledger: o.Ledger(root)}, filepath.Base(file), nil
		}
	}
	return p, name, nil
}

// projectOf returns the project whose folder .cassidy is dir. The project is above a file,
// which has two paths.
func projectOf(dir, given, real string) (root string, ok bool) {
	for _, file := range []string{dir, given, real} {
		for root := filepath.Dir(file); ; root = filepath.Dir(root) {
			if folder.Same(dir, filepath.Join(root, folder.Name)) {
				return root, true
			}
			if filepath.Dir(root) == root {
				break
			}
		}
	}
	return "", false
}

// librariesOf returns a function that reads, once, the files that the workflows of a
// place may load.
func librariesOf(p trust.Place) func() (map[string]library, error) {
	return sync.OnceValues(func() (map[string]library, error) { return readLibraries(p) })
}

func readLibraries(p trust.Place) (map[string]library, error) {
	files, done, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	f := &toolFolder{place: p, files: placeFiles{files, p.Dir}, old: &index.Index{}}
	if err := f.readLibs(); err != nil {
		return nil, err
	}
	libs := map[string]library{}
	for name, text := range f.libTexts() {
		libs[name] = library{text, p.Status(trust.KindWorkflow, name, f.libs[name].Hash)}
	}
	return libs, nil
}

// placeFiles is a folder of a file system. Stat does not open files, which could block
// forever.
type placeFiles struct {
	files fs.FS
	dir   string
}

func (p placeFiles) Open(name string) (fs.File, error) { return p.files.Open(path.Join(p.dir, name)) }
func (p placeFiles) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(p.files, path.Join(p.dir, name))
}
func (p placeFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(p.files, path.Join(p.dir, name))
}

// candidate returns the workflow's file with all files that it may load.
func (w *Workflow) candidate() (tool.Script, error) {
	s := tool.Script{Path: w.Path, Source: w.source, Libs: map[string]string{}}
	if !strings.Contains(w.source, "load") {
		return s, nil // nothing is loaded
	}
	libs, err := w.libs()
	for name, lib := range libs {
		s.Libs[name] = lib.text
	}
	return s, err
}

// Describe reads the file with describe, without running it, and sets Tool and
// Declared. Files that it loads may turn out to be untrusted. It fails if the file is
// not a workflow.
func (w *Workflow) Describe(ctx context.Context, describe Describer) error {
	s, err := w.candidate()
	if err != nil {
		return w.fileError(err)
	}
	t, err := describe(ctx, s)
	if w.Declared = err == nil; value.KindOf(err) == value.NotFound {
		s.Source += declareMain
		t, err = describe(ctx, s)
	}
	if err != nil {
		return w.fileError(err)
	}
	return w.take(t)
}

// take sets the declaration of the file.
func (w *Workflow) take(t tool.Described) error {
	if !t.Hints.Other["workflow"] {
		return w.fileError(value.Errorf(value.Invalid, "the file declares a tool, not a workflow").
			WithHint("end the file with workflow(main), or move the file to %s", folder.ToolsDir))
	}
	w.Tool = t
	w.Tool.Name = w.Name
	s, err := w.script()
	if err != nil {
		return err
	}
	w.Hash = s.Sum()
	if w.Trusted {
		w.Granted = w.Tool.Needs
	}
	return nil
}

// script returns the file with the files that it loads, if it is described.
func (w *Workflow) script() (tool.Script, error) {
	s := tool.Script{Name: tool.Key(w.Name), Path: w.Path, Source: w.source, Libs: map[string]string{}}
	if len(w.Tool.Loads) == 0 {
		return s, nil
	}
	libs, err := w.libs()
	if err != nil {
		return s, w.fileError(err)
	}
	for _, name := range w.Tool.Loads {
		s.Libs[name] = libs[name].text
		if lib := libs[name]; w.Trusted && !lib.Trusted {
			w.Status = trust.Status{Reason: "the loaded file " + name + " is not trusted: " + lib.Reason}
		}
	}
	return s, nil
}

// Script returns the script of a described workflow. An untrusted one is an error.
func (w *Workflow) Script() (tool.Script, error) {
	s, err := w.script()
	if err == nil {
		err = w.usable("workflow")
	}
	if err != nil {
		return tool.Script{}, err
	}
	s.Hash = s.Sum()
	return s, nil
}

// fileError converts an error to one of the workflow's file.
func (w *Workflow) fileError(err error) error {
	return folder.FileError(err, w.Path)
}

// WorkflowTools returns the workflows that declare themselves as tools. others are the
// names of the other ones. Invalid files are reported. It uses the options Describe,
// Reader, Cache, Home, Trust and TrustOnce.
func WorkflowTools(ctx context.Context, root string, o *Options) (found []Tool, others []string, broken []*value.Error) {
	workflows, broken := Workflows(root, &o.Scope)
	workflows = slices.DeleteFunc(workflows, func(w Workflow) bool {
		declares := strings.Contains(w.source, "workflow")
		if !declares {
			others = append(others, w.Name)
		}
		return !declares
	})
	if len(workflows) == 0 {
		return nil, others, broken
	}
	known, ledger := o.knownWorkflows(root), o.Ledger(root)
	for i := range workflows {
		w := &workflows[i]
		err := known.declared(ctx, w)
		switch {
		case value.KindOf(err) == value.NotFound: // it can only be run
			others = append(others, w.Name)
		case err != nil:
			broken = append(broken, value.ErrorOf(err, value.Invalid))
		default:
			found = append(found, Tool{
				Head: w.Tool.Head(), Location: w.Location, Path: w.Path, Hash: w.Hash,
				Status: w.Status, Revoked: !w.Trusted && ledger.RevokedAny(w.Path, w.Tool.Loads), Granted: w.Granted,
				Declared: func() (tool.Described, error) { return w.Tool, nil }, Load: w.Script,
			})
		}
	}
	known.keep()
	return found, others, broken
}

// A workflowIndex caches workflows' declarations.
type workflowIndex struct {
	opts  *Options
	file  string
	old   *index.Index
	now   []index.Finding
	fresh bool // whether something was read that is not in the index
}

func (o *Options) knownWorkflows(root string) *workflowIndex {
	file := o.indexFile(filepath.Join(root, folder.Name, workflowsDir) + "\n" + o.Home)
	return &workflowIndex{opts: o, file: file, old: index.Read(file, o.Reader)}
}

// declared sets a workflow's declaration. The error is of kind NotFound if there is
// none.
func (x *workflowIndex) declared(ctx context.Context, w *Workflow) error {
	s, err := w.candidate()
	if err != nil {
		return w.fileError(err)
	}
	hash := s.Sum()
	f, known := x.old.Find(w.Path)
	if !known || f.Stamp.Hash != hash {
		x.fresh = true
		f = index.Finding{Name: w.Path, Stamp: index.Stamp{Hash: hash}}
		t, err := x.opts.Describe(ctx, s)
		if ctx.Err() != nil {
			return value.AsError(ctx.Err(), value.Canceled)
		}
		if err != nil {
			f.Err = value.ErrorOf(w.fileError(err), value.Invalid)
		} else {
			h := t.Head()
			f.Tool, f.Head = &t, &h
		}
	}
	if f.Err != nil && Transient(f.Err) {
		return f.Err
	}
	x.now = append(x.now, f)
	if f.Err != nil {
		return f.Err
	}
	w.Declared = true
	t, err := f.Declared()
	if err != nil {
		return err
	}
	return w.take(t)
}

// keep writes the index. If that fails, the files are read again.
func (x *workflowIndex) keep() {
	if x.fresh || len(x.now) != len(x.old.Findings) {
		now := &index.Index{Reader: x.opts.Reader, Written: time.Now().UnixNano(), Findings: x.now}
		x.opts.later(func() { _ = index.Write(x.file, now) })
	}
}
