package project

import (
	"context"
	"errors"
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

// declareMain is what a file says that declares nothing: it is read as if it
// ended so.
const declareMain = "\nworkflow(main)\n"

// A Workflow is a script with a function main that a person runs: a file of
// the folder workflows of a project or of its user, or one that he names. What
// it loads lies in the folder lib beside it, and needs to be trusted as it
// does.
type Workflow struct {
	ScriptFile
	// Tool is what [Workflow.Describe] has read: with the name of the file, and
	// the parameters and the result of main.
	Tool tool.Tool
	// Declared says that the file holds workflow(main, …): it may do no more than
	// its needs say, and can be called as a tool.
	Declared bool

	libs func() (map[string]library, error)
}

// A library is a file that workflows may load.
type library struct {
	text   string
	reason string // why it is untrusted, or ""
}

// Workflows reads the workflows of a project and of its user, as [Policies]
// does policies. None is described yet.
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

// FindWorkflow finds a workflow of a project, or of its user, by its name in either
// spelling. It is not described yet. The error is of kind NotFound where there is
// none, and names the file where that is broken.
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
		return Workflow{}, e.WithHint("a workflow is a file %s/workflows/NAME.star with def main(…)", folder.Name)
	}
	return Workflow{}, e.WithHint("the workflows are %s", strings.Join(known, ", "))
}

// OpenWorkflow reads a workflow from a file that a person names. One in the
// folder .cassidy of a project needs to be trusted like any other there; else
// it is his own.
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

// placeOf returns the folder that a file lies in: of the project whose .cassidy
// is above it, whatever links lead there, or of nobody.
func placeOf(file string, o *trust.Scope) (p trust.Place, name string, err error) {
	dir, name := filepath.Split(file)
	p = trust.Place{Location: tool.Personal, Base: filepath.Clean(dir), Dir: ".", Shown: filepath.ToSlash(filepath.Clean(dir))}
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return p, name, err
	}
	for above := filepath.Dir(real); filepath.Dir(above) != above; above = filepath.Dir(above) {
		if !strings.EqualFold(filepath.Base(above), folder.Name) || folder.Same(above, o.Home) {
			continue
		}
		inside, err := filepath.Rel(above, filepath.Dir(real))
		if err != nil {
			return p, name, err
		}
		root := filepath.Dir(above)
		at := path.Join(folder.Name, filepath.ToSlash(inside))
		return trust.Place{Location: tool.Project, Base: root, Dir: at, Shown: at, Ledger: o.Ledger(root)}, filepath.Base(real), nil
	}
	return p, name, nil
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
	f := &toolFolder{place: place{location: p.Location, shown: p.Shown}, files: placeFiles{files, p.Dir}, old: &index.Index{}}
	if err := f.readLibs(); err != nil {
		return nil, err
	}
	libs := map[string]library{}
	for name, text := range f.libTexts() {
		lib := library{text: text}
		if p.Location == tool.Project {
			lib.reason = p.Ledger.File(trust.KindWorkflow, path.Join(p.Dir, name), f.libs[name].Hash)
		}
		libs[name] = lib
	}
	return libs, nil
}

// placeFiles is a folder of a file system, as one. Looking at a file opens none:
// that could wait for ever.
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

// whole returns the workflow's file with all that it may load.
func (w *Workflow) whole() (tool.Script, error) {
	s := tool.Script{Path: w.Path, Source: w.source, Libs: map[string]string{}}
	if !strings.Contains(w.source, "load") {
		return s, nil // nothing need be looked for
	}
	libs, err := w.libs()
	for name, lib := range libs {
		s.Libs[name] = lib.text
	}
	return s, err
}

// Describe reads the file by a function, without running it, and fills in Tool and Declared;
// what it loads may turn out to be untrusted. It fails where the file is no
// workflow.
func (w *Workflow) Describe(ctx context.Context, describe Describer) error {
	s, err := w.whole()
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

// take takes what was read from the file.
func (w *Workflow) take(t tool.Tool) error {
	if !t.Hints.Other["workflow"] {
		return w.fileError(value.Errorf(value.Invalid, "the file declares a tool, and no workflow").
			WithHint("end it with workflow(main), or move it to %s", folder.ToolsDir))
	}
	w.Tool = t
	w.Tool.Name, w.Tool.Path, w.Tool.Location = w.Name, w.Path, w.Location
	s, err := w.script()
	if err != nil {
		return err
	}
	w.Tool.Hash, w.Tool.State, w.Tool.Reason = s.Sum(), w.State, w.Reason
	if w.State != tool.Untrusted {
		w.Tool.Granted = w.Tool.Needs
	}
	return nil
}

// script returns the file with what it loads, as far as it is described.
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
		if why := libs[name].reason; why != "" {
			w.distrust(name + ", which it loads, is not trusted: " + why)
		}
	}
	return s, nil
}

// Script returns the script of a workflow that was described. It fails for one
// that is untrusted.
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

// fileError makes any error one about the workflow's file.
func (w *Workflow) fileError(err error) error {
	e := *value.ErrorOf(err, value.Invalid)
	var inner *fs.PathError
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	if e.Pos.File == "" {
		e.Pos.File = w.Path
	}
	return &e
}

// WorkflowTools returns the workflows that can be called as tools: those that
// declare it. others are the names of those that do not. A file that is not right is
// reported. Of the options Describe, Reader, Cache, Home, Trust and TrustOnce count.
func WorkflowTools(ctx context.Context, root string, o *Options) (found []tool.Found, others []string, broken []*value.Error) {
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
		case value.KindOf(err) == value.NotFound: // it is to be run, and no more
			others = append(others, w.Name)
		case err != nil:
			broken = append(broken, value.ErrorOf(err, value.Invalid))
		default:
			w.Tool.Revoked = w.Tool.State == tool.Untrusted && ledger.RevokedAny(w.Path, w.Tool.Loads)
			found = append(found, tool.NewFound(w.Tool, w.Script))
		}
	}
	known.keep()
	return found, others, broken
}

// A workflowIndex is what is remembered of workflows' declarations.
type workflowIndex struct {
	opts  *Options
	file  string
	old   *index.Index
	now   []index.Finding
	fresh bool // something was read that is not remembered yet
}

func (o *Options) knownWorkflows(root string) *workflowIndex {
	x := &workflowIndex{opts: o}
	if o.Cache != "" {
		of := tool.HashBytes([]byte(filepath.Join(root, folder.Name, workflowsDir) + "\n" + o.Home))
		x.file = filepath.Join(o.Cache, "tools-"+of[:16]+".idx")
	}
	x.old = index.Read(x.file, o.Reader)
	return x
}

// declared has a workflow take what its file declares. The error is of the kind
// NotFound where that is nothing.
func (x *workflowIndex) declared(ctx context.Context, w *Workflow) error {
	s, err := w.whole()
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

// keep remembers what was found. Where that fails, the files are read again.
func (x *workflowIndex) keep() {
	if x.fresh || len(x.now) != len(x.old.Findings) {
		now := &index.Index{Reader: x.opts.Reader, Written: time.Now().UnixNano(), Findings: x.now}
		x.opts.later(func() { _ = index.Write(x.file, now) })
	}
}
