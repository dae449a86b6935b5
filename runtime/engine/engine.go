package engine

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lua"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/markdown"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/star"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The limits of the files that an engine reads.
const (
	MaxSource = script.MaxSource // bytes of one file
	MaxLoads  = script.MaxLoads  // files that one script loads
	MaxLoaded = script.MaxLoaded // bytes of all these files
)

// Options configure an engine. The zero value grants scripts no modules.
type Options struct {
	Modules []tool.Module // their functions of kind Pure run in this process
	Steps   int64         // the limit of steps of calls without one; 0 means [tool.DefaultSteps]
}

// An Engine reads and runs scripts. It is safe for concurrent use.
type Engine struct {
	steps     int64
	modules   []script.Module
	cover     bool                       // calls report which lines have run
	invalid   error                      // of a function with an invalid kind; every method returns it
	languages map[string]script.Language // by the suffix of a file
	mu        sync.Mutex
	compiled  map[scriptKey]*compiling
}

type scriptKey struct{ path, hash string }

type compiling struct {
	once    sync.Once
	program script.Program
	err     error
}

// New returns an engine. Nil means the zero [Options].
func New(o *Options) *Engine {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Steps == 0 {
		opts.Steps = tool.DefaultSteps
	}
	e := &Engine{
		steps:    opts.Steps,
		modules:  script.MergeModules(opts.Modules),
		compiled: map[scriptKey]*compiling{},
	}
	for _, m := range opts.Modules {
		for i := range m.Funcs {
			e.cover = e.cover || m.Name+"."+m.Funcs[i].Name == CoverEffect
		}
		if err := m.CheckKinds(); err != nil && e.invalid == nil {
			e.invalid = err
		}
	}
	sl, lua := star.New(e.modules), lua.New(e.modules)
	code := star.NewCode(sl)
	e.languages = map[string]script.Language{
		".star": sl,
		".lua":  lua,
		".code": code,
		".repl": star.NewRepl(code),
		".md":   markdown.New(map[string]script.Fenced{"starlark": sl, "python": sl, "star": sl, "lua": lua}),
	}
	return e
}

// Describe reads the declaration of a tool from its file, without running it. Errors
// have a position in the file.
func (e *Engine) Describe(s tool.Script) (tool.Described, error) {
	if err := CheckSize(s); err != nil {
		return tool.Described{}, err
	}
	lang, err := e.language(s.Path)
	if err != nil {
		return tool.Described{}, err
	}
	d, err := lang.Declare(script.Source{Path: s.Path, Text: s.Source, Libs: s.Libs})
	if err != nil {
		return tool.Described{}, located(err, s.Path)
	}
	t, err := d.Tool(script.Stem(s.Path))
	if err != nil {
		return tool.Described{}, located(err, s.Path)
	}
	return t, nil
}

// Compile compiles a script, and returns an error if that fails. Unlike
// [Engine.Describe] it runs the top level of a Starlark file.
func (e *Engine) Compile(s tool.Script) error {
	_, err := e.program(s)
	return err
}

// CoverEffect is an effect for tests: if the modules have it, each call ends with it. Its argument
// files has the lines of statements that have run, by file. Scripts then take more steps.
const CoverEffect = script.CoverEffect

// Statements lists the lines of the statements in the functions of a script, sorted, without running
// it: those that [CoverEffect] can report.
func (e *Engine) Statements(s tool.Script) ([]int, error) {
	if err := CheckSize(s); err != nil {
		return nil, err
	}
	lang, err := e.language(s.Path)
	if err != nil {
		return nil, err
	}
	return lang.Statements(s)
}

// Run calls the function c.Entry of a script, or the handler of the tool if that is
// empty. Effects are passed to do. The arguments must have been checked against the
// declaration. The usage and the lines of the outcome are also set if Run returns an error.
func (e *Engine) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	p, err := e.program(s)
	if err != nil {
		return tool.Outcome{}, err
	}
	if c.Limits.Steps == 0 {
		c.Limits.Steps = e.steps
	}
	start := time.Now()
	r := &script.Run{Ctx: ctx, Tool: c.Tool, Args: c.Args, Limits: c.Limits, StepPath: c.StepPath, Do: do, TraceCalls: c.Trace.Has(trace.Calls)}
	if c.Trace.Has(trace.Lines) {
		report, _ := ctx.Value(reportKey{}).(func([]trace.Line))
		r.Lines = script.NewLines(report)
	}
	if e.cover {
		r.Cover = script.Covered{}
	}
	v, err := p.Call(r, c.Entry)
	if len(r.Cover) > 0 && do != nil { // also if the call has failed; a refused report is lost
		r.Effects++
		_, _ = do(ctx, tool.Effect{Func: CoverEffect, Args: r.Cover.Args(), StepPath: c.StepPath.Child(r.Effects)})
	}
	out := tool.Outcome{Lines: r.Lines.Used(), Usage: tool.Usage{Steps: r.Steps, Effects: r.Effects, Wall: time.Since(start)}}
	if err != nil {
		return out, err
	}
	out.Value = v
	return out, nil
}

// reportKey is the key of the function in a context that ReportLines returned.
type reportKey struct{}

// ReportLines returns a context for [Engine.Run] with which report gets the lines of the call so
// far, some times a second and before each effect. The call waits for it.
func ReportLines(ctx context.Context, report func([]trace.Line)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

func (e *Engine) program(s tool.Script) (script.Program, error) {
	if s.Hash == "" {
		s.Hash = s.Sum()
	}
	c := e.entry(scriptKey{s.Path, s.Hash})
	c.once.Do(func() { c.program, c.err = e.compile(s) })
	return c.program, c.err
}

// entry returns the cache entry of a compiled script. If the cache is full, it removes
// an arbitrary entry: with hundreds of entries the choice matters little.
func (e *Engine) entry(key scriptKey) *compiling {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.compiled[key]
	if ok {
		return c
	}
	if len(e.compiled) >= script.KeptScripts {
		for old := range e.compiled {
			delete(e.compiled, old)
			break
		}
	}
	c = &compiling{}
	e.compiled[key] = c
	return c
}

func (e *Engine) compile(s tool.Script) (script.Program, error) {
	if err := CheckSize(s); err != nil {
		return nil, err
	}
	lang, err := e.language(s.Path)
	if err != nil {
		return nil, err
	}
	p, err := lang.Compile(s)
	if err != nil {
		return nil, located(err, s.Path)
	}
	return p, nil
}

func (e *Engine) language(file string) (script.Language, error) {
	if e.invalid != nil {
		return nil, e.invalid
	}
	if lang, ok := e.languages[path.Ext(file)]; ok {
		return lang, nil
	}
	return nil, value.Errorf(value.Invalid, "%s is not a script", file).
		WithHint("use a file whose name ends in one of these: \"%s\"", strings.Join(tool.ScriptSuffixes(), `", "`))
}

// CheckSize returns an error of kind Limit if a script is longer than [MaxSource].
// Callers check before they send a script to a worker.
func CheckSize(s tool.Script) error {
	if len(s.Source) <= script.MaxSource {
		return nil
	}
	return script.SourceLimit(s.Path, "the file is longer than %d KB", script.MaxSource>>10)
}

// located adds the file to an error without one.
func located(err error, file string) error {
	e := *value.ErrorOf(err, value.Invalid)
	if e.Pos.File == "" {
		e.Pos.File = file
	}
	return &e
}

// Confine reduces the memory that the interpreters of this process can use. It changes
// global settings: call it in a process for scripts only, before the first [New].
func Confine() { lua.Confine() }
