package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// starLang is the Starlark language.
type starLang struct {
	predeclared starlark.StringDict

	mu   sync.Mutex
	libs map[string]*starLib // by everything they depend on

	threads sync.Pool // of *starThread, for the next calls
}

func newStarlark(modules []module) *starLang {
	l := &starLang{predeclared: starlark.StringDict{}, libs: map[string]*starLib{}}
	for _, name := range []string{toolWord, workflowWord, "param", "example"} {
		// A declaration has been read by parsing; running it does nothing.
		l.predeclared[name] = starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return starlark.None, nil
		})
	}
	l.predeclared[attemptName] = starlark.NewBuiltin(attemptName, starAttempt)
	for _, m := range modules {
		attrs := starlark.StringDict{}
		for _, f := range m.funcs {
			attrs[f.Name] = starBuiltin(f)
		}
		for _, c := range m.consts {
			v, err := toStar(c.Value)
			if err != nil {
				panic("a constant of " + m.name + " is no value: " + err.Error())
			}
			v.Freeze()
			attrs[c.Name] = v
		}
		if m.name != "" {
			l.predeclared[m.name] = &starModule{m.name, attrs, m.other}
			continue
		}
		for name, b := range attrs {
			l.predeclared[name] = b
		}
	}
	return l
}

func (l *starLang) declare(src source) (*declaration, error) {
	f, err := parseStar(src.path, src.text)
	if err != nil {
		return nil, err
	}
	d, err := f.declaration()
	if err != nil {
		return nil, err
	}
	return d, l.complete(d, f, src.libs)
}

// complete adds to a declaration what needs a look at the whole file: what it
// loads, and whether each name in it is defined.
func (l *starLang) complete(d *declaration, f *starFile, libs map[string]string) error {
	loads, err := l.libsOf(libs).all(f)
	if err != nil {
		return err
	}
	d.loads = loads
	if err := resolve.File(f.syntax, l.predeclared.Has, starlark.Universe.Has); err != nil {
		return starCompileError(err)
	}
	return l.checkModules(f)
}

// checkModules says whether each function of a module that the file names is
// there, as in fs.reed.
func (l *starLang) checkModules(f *starFile) error {
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
		wrong = errorAtStar(start, "%s has no function %s%s", m.name, dot.Name.Name, tool.DidYouMean(dot.Name.Name, names)).
			WithHint("it has %s", strings.Join(names, ", "))
		return false
	})
	return wrong
}

func (l *starLang) declareBlock(src source) (*declaration, error) {
	f, err := parseStar(src.path, src.text)
	if err != nil {
		return nil, err
	}
	word, call, err := f.declares()
	if err != nil {
		return nil, err
	}
	if call != nil {
		start, _ := call.Span()
		return nil, errorAtStar(start, "the front matter is the declaration, so %s(…) is one too many", word)
	}
	handler, err := f.handlerOf(stem(src.path))
	if err != nil {
		return nil, err
	}
	d := &declaration{fields: &tool.Dict{}, at: map[string]tool.Position{}, functions: f.parameters()}
	if err := f.readHandler(handler, d); err != nil {
		return nil, err
	}
	return d, l.complete(d, f, src.libs)
}

func (l *starLang) compileBlock(s tool.Script, _ func() (*tool.Type, error)) (program, error) {
	return l.compile(s)
}

func (l *starLang) compile(s tool.Script) (program, error) {
	f, err := parseStar(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	var handler *syntax.DefStmt
	if d, err := f.declaration(); err == nil {
		handler = f.defs[d.handler]
	} else if handler, _ = f.handlerOf(stem(s.Path)); handler == nil && len(f.defs) == 0 {
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
	p := &starProgram{path: s.Path, globals: globals, modules: l.predeclared, threads: &l.threads}
	if handler != nil {
		p.handler = handler.Name.Name
	}
	return p, nil
}

// loadTime is how long the top level of a file may run. It is run once for all
// calls, so no call's own time is the measure.
const loadTime = 2 * time.Second

// initialize runs the top level of a file and freezes what it made. Effects
// are not to be had there.
func (l *starLang) initialize(f *starFile, libs *starLibs) (starlark.StringDict, error) {
	prog, err := starlark.FileProgram(f.syntax, l.predeclared.Has)
	if err != nil {
		return nil, starCompileError(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	r := &run{ctx: ctx, do: whileLoading}
	r.limits.Steps = tool.DefaultSteps
	thread := &newStarThread(r, f.path).Thread
	thread.Load = func(_ *starlark.Thread, name string) (starlark.StringDict, error) { return libs.load(name) }
	globals, err := prog.Init(thread, l.predeclared)
	if err != nil {
		return nil, atLoad(starError(err, r.fatal))
	}
	globals.Freeze()
	r.ctx = context.Background() // that of the objects that the top level has made
	return globals, nil
}

// atLoad makes the error of a file's top level one about the file: no call has
// been made yet that could have failed.
func atLoad(err error) error {
	e := *tool.ErrorOf(err, tool.Invalid)
	if e.Kind == tool.Failed || e.Kind == tool.Internal {
		e.Kind = tool.Invalid
	}
	return &e
}

// whileLoading is the effector of a file's top level.
func whileLoading(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	name, _ := strings.CutSuffix(e.Func, ".seed") // a script draws from random and knows no seed
	return tool.Outcome{}, tool.Errorf(tool.Invalid, "%s is not available while the file is loaded", name).
		WithHint("call it inside a function")
}

// A starModule is a module's name with its functions as attributes.
type starModule struct {
	name  string
	attrs starlark.StringDict
	other *function // what any other attribute is, or nil
}

func (m *starModule) String() string        { return "<module " + m.name + ">" }
func (m *starModule) Type() string          { return "module" }
func (m *starModule) Freeze()               {} // it never changes
func (m *starModule) Truth() starlark.Bool  { return true }
func (m *starModule) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: module") }
func (m *starModule) AttrNames() []string   { return m.attrs.Keys() }

func (m *starModule) Attr(name string) (starlark.Value, error) {
	if v, ok := m.attrs[name]; ok {
		return v, nil
	}
	if m.other != nil {
		return starBuiltin(m.other.called(name)), nil
	}
	return nil, starlark.NoSuchAttrError(m.name + " has no function " + name)
}
