// Package star reads and runs scripts in Starlark with type annotations.
package star

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Language is the Starlark language.
type Language struct {
	options     *syntax.FileOptions // of tools: Starlark as specified, plus sets
	predeclared starlark.StringDict
	functions   map[string]*tool.Func // of modules, by their full names
	cover       bool                  // files note the lines that run

	mu   sync.Mutex
	libs map[string]*starLib // by everything that they depend on

	threads sync.Pool // of *starThread, for reuse
}

// New returns the language with the modules of its scripts.
func New(modules []script.Module) *Language {
	l := &Language{options: &syntax.FileOptions{Set: true}, predeclared: starlark.StringDict{}, libs: map[string]*starLib{}, functions: functionsOf(modules)}
	for _, name := range []string{script.ToolWord, script.WorkflowWord, "param", "example"} {
		// Declarations are read by parsing; running them does nothing.
		l.predeclared[name] = starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return starlark.None, nil
		})
	}
	l.predeclared[attemptName] = starlark.NewBuiltin(attemptName, attempt)
	l.predeclared[failName] = starlark.NewBuiltin(failName, fail)
	for _, m := range modules {
		attrs := starlark.StringDict{}
		for _, f := range m.Funcs {
			attrs[f.Name] = builtin(f)
			if l.cover = l.cover || f.DisplayName() == script.CoverEffect; l.cover {
				l.predeclared[coverName] = starlark.NewBuiltin(coverName, noteLine)
			}
		}
		for _, c := range m.Consts {
			v, err := toStar(c.Value)
			if err != nil {
				panic("a constant of " + m.Name + " is not a value: " + err.Error())
			}
			v.Freeze()
			attrs[c.Name] = v
		}
		if m.Name != "" {
			l.predeclared[m.Name] = &starModule{m.Name, attrs, m.Other}
			continue
		}
		maps.Copy(l.predeclared, attrs)
	}
	return l
}

func (l *Language) Declare(src script.Source) (*script.Declaration, error) {
	f, err := l.parse(src.Path, src.Text)
	if err != nil {
		return nil, err
	}
	d, err := f.declaration()
	if err != nil {
		return nil, l.declarationError(f, err)
	}
	return d, l.complete(d, f, src.Libs)
}

// declarationError returns the error of a declaration in the words of [Language.Check]: that of a name which is not defined
// comes first.
func (l *Language) declarationError(f *file, err error) error {
	found, hint, ok := f.undefinedIn(err, l.failures(f, nil))
	if !ok {
		return err
	}
	e := f.failure(value.ErrorOf(err, value.Invalid), found)
	e.Hint = hint
	return e
}

// failure returns an error in the words of a finding.
func (f *file) failure(err *value.Error, found starlint.Finding) *value.Error {
	e := *err
	fault := faultOf(found, diagnostic.InvalidCode)
	e.Err, e.Hint = errors.New(fault.Message), fault.Hint
	e.Pos = value.Position{File: f.path, Line: found.At.Line, Col: found.At.Col}
	return &e
}

// complete checks what needs the full file: what it loads, and whether each name is
// defined.
func (l *Language) complete(d *script.Declaration, f *file, libs map[string]string) error {
	loads, err := l.libsOf(libs).all(f)
	if err != nil {
		return err
	}
	d.Loads = loads
	err = l.resolve(f.syntax)
	if err != nil {
		err = l.compileError(err)
	} else {
		err = l.checkModules(f)
	}
	if e := value.ErrorOf(err, value.Invalid); e != nil {
		for _, found := range l.failures(f, nil) {
			if found.At.Line == e.Pos.Line {
				return f.failure(e, found)
			}
		}
	}
	return err
}

// resolve finds what each name of a file stands for. The error is a [resolve.ErrorList].
func (l *Language) resolve(tree *syntax.File) error {
	names := undefined{l.predeclared, map[string]bool{}}
	return names.restore(tree, resolve.File(tree, names.isPredeclared, starlark.Universe.Has))
}

// maxUndefined is how many names that are not defined are reported.
const maxUndefined = 60

// undefined are the names of a file that are not defined. The resolver compares each use of such a name with all names of the
// file. So it is told of only the first use of each of a few, and to take the others for predeclared.
type undefined struct {
	predeclared starlark.StringDict
	names       map[string]bool
}

func (u *undefined) isPredeclared(name string) bool {
	switch {
	case u.predeclared.Has(name), starlark.Universe.Has(name):
		return u.predeclared.Has(name)
	case u.names[name], len(u.names) == maxUndefined:
		return true
	}
	u.names[name] = true
	return false
}

// restore makes the names that are not defined undefined again, in the tree of a file whose names were resolved with an
// error or nil. It returns the error.
func (u *undefined) restore(tree *syntax.File, err error) error {
	if len(u.names) == 0 {
		return err
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			if b, ok := id.Binding.(*resolve.Binding); ok && b.Scope == resolve.Predeclared && !u.predeclared.Has(id.Name) {
				b.Scope = resolve.Undefined
			}
		}
		return true
	})
	return err
}

// checkModules checks that each module function that the file names exists, as in
// fs.reed.
func (l *Language) checkModules(f *file) error {
	var wrong error
	syntax.Walk(f.syntax, func(n syntax.Node) bool {
		dot, ok := n.(*syntax.DotExpr)
		if !ok || wrong != nil {
			return wrong == nil
		}
		id, ok := dot.X.(*syntax.Ident)
		if !ok {
			return true
		}
		binding, _ := id.Binding.(*resolve.Binding)
		m, isModule := l.predeclared[id.Name].(*starModule)
		if binding == nil || binding.Scope != resolve.Predeclared || !isModule || m.attrs.Has(dot.Name.Name) || m.other != nil {
			return true
		}
		names := m.AttrNames()
		start, _ := dot.Span()
		wrong = errorAt(start, "%s has no function %s%s", m.name, dot.Name.Name, value.DidYouMean(dot.Name.Name, names)).
			WithHint("use one of the functions: %s", strings.Join(names, ", "))
		return false
	})
	return wrong
}

func (l *Language) DeclareBlock(src script.Source) (*script.Declaration, error) {
	f, err := l.parse(src.Path, src.Text)
	if err != nil {
		return nil, err
	}
	word, call, err := f.declares()
	if err != nil {
		return nil, err
	}
	if call != nil {
		start, _ := call.Span()
		return nil, errorAt(start, "%s(…) cannot be combined with front matter", word)
	}
	handler, err := f.handlerOf(script.Stem(src.Path))
	if err != nil {
		return nil, err
	}
	d := script.New("", value.Position{}, f.parameters())
	if f.readHandler(handler, d); len(f.faults) > 0 {
		return nil, f.faults[0]
	}
	return d, l.complete(d, f, src.Libs)
}

func (l *Language) CompileBlock(s tool.Script, _ func() (*tool.Type, error)) (script.Program, error) {
	return l.Compile(s)
}

func (l *Language) Compile(s tool.Script) (script.Program, error) {
	f, err := l.parse(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	var handler *syntax.DefStmt
	if d, err := f.declaration(); err == nil {
		handler = f.defs[d.Handler]
	} else if handler, _ = f.handlerOf(script.Stem(s.Path)); handler == nil && len(f.defs) == 0 {
		return nil, err
	}
	libs := l.libsOf(s.Libs)
	if _, err := libs.all(f); err != nil {
		return nil, err
	}
	globals, err := l.initialize(f, libs)
	if err != nil {
		return nil, err
	}
	p := &program{path: s.Path, globals: globals, modules: l.predeclared, threads: &l.threads}
	if handler != nil {
		p.handler = handler.Name.Name
	}
	return p, nil
}

// loadTime is how long the top level of a file may run. It runs once for all calls, so
// the limits of one call do not apply.
const loadTime = 2 * time.Second

// initialize runs the top level of a file and freezes its globals. It has no effects.
func (l *Language) initialize(f *file, libs *starLibs) (starlark.StringDict, error) {
	if l.cover {
		f.instrument()
	}
	names := undefined{l.predeclared, map[string]bool{}}
	prog, err := starlark.FileProgram(f.syntax, names.isPredeclared)
	if err != nil {
		return nil, l.compileError(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	r := &script.Run{Ctx: ctx, Do: whileLoading}
	r.Limits.Steps = tool.DefaultSteps
	thread := &newStarThread(r, f.path).Thread
	thread.Load = func(_ *starlark.Thread, name string) (starlark.StringDict, error) { return libs.load(name) }
	globals, err := prog.Init(thread, l.predeclared)
	if err != nil {
		return nil, atLoad(scriptError(err, r.Fatal))
	}
	globals.Freeze()
	r.Ctx = context.Background() // for the objects that the top level has made
	return globals, nil
}

// atLoad makes an error of a file's top level an error of the file: no call has been
// made yet.
func atLoad(err error) error {
	e := *value.ErrorOf(err, value.Invalid)
	if e.Kind == value.Failed || e.Kind == value.Internal {
		e.Kind = value.Invalid
	}
	return &e
}

// whileLoading is the effector of a file's top level: it fails.
func whileLoading(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	name, _ := strings.CutSuffix(e.Func, ".seed") // scripts see random, not its seed
	return tool.Outcome{}, value.Errorf(value.Invalid, "%s is only available inside a function", name).
		WithHint("move the call into a function")
}

// A starModule is a module with its functions as attributes.
type starModule struct {
	name  string
	attrs starlark.StringDict
	other *script.Function // handles any other attribute, or nil
}

func (m *starModule) String() string        { return "<module " + m.name + ">" }
func (m *starModule) Type() string          { return "module" }
func (m *starModule) Freeze()               {} // modules are immutable
func (m *starModule) Truth() starlark.Bool  { return true }
func (m *starModule) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: module") }
func (m *starModule) AttrNames() []string   { return m.attrs.Keys() }

func (m *starModule) Attr(name string) (starlark.Value, error) {
	if v, ok := m.attrs[name]; ok {
		return v, nil
	}
	if m.other != nil {
		return builtin(m.other.WithAlias(name)), nil
	}
	if other := starlint.Renamed(m.name + "." + name); other != "" {
		return nil, starlark.NoSuchAttrError(m.name + " has no function " + name + "; write " + other)
	}
	return nil, starlark.NoSuchAttrError(m.name + " has no function " + name)
}
