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
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of what an engine reads.
const (
	MaxSource = script.MaxSource // the length of one file, in bytes
	MaxLoads  = script.MaxLoads  // how many files a script loads
	MaxLoaded = script.MaxLoaded // and how many bytes
)

// Options are what an engine gives to scripts. The zero value gives nothing
// but the languages themselves.
type Options struct {
	Modules []tool.Module // functions by module; those of kind Pure are run in place
	Steps   int64         // of one call; 0 means [tool.DefaultSteps]
}

// An Engine reads and runs scripts. It is safe for concurrent use.
type Engine struct {
	steps     int64
	modules   []script.Module
	invalid   error                      // of a row without a valid kind: it fails whatever is asked of the engine
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

// New returns an engine. Options may be nil.
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
		if err := m.CheckKinds(); err != nil && e.invalid == nil {
			e.invalid = err
		}
	}
	sl, lua := star.New(e.modules), lua.New(e.modules)
	e.languages = map[string]script.Language{
		".star": sl,
		".lua":  lua,
		".code": star.NewCode(sl),
		".md":   markdown.New(map[string]script.Fenced{"starlark": sl, "python": sl, "star": sl, "lua": lua}),
	}
	return e
}

// Describe reads what a tool's file declares. Nothing of it is run. An error
// has the position in the file.
func (e *Engine) Describe(s tool.Script) (tool.Tool, error) {
	if err := CheckSize(s); err != nil {
		return tool.Tool{}, err
	}
	lang, err := e.language(s.Path)
	if err != nil {
		return tool.Tool{}, err
	}
	d, err := lang.Declare(script.Source{Path: s.Path, Text: s.Source, Libs: s.Libs})
	if err != nil {
		return tool.Tool{}, located(err, s.Path)
	}
	t, err := d.Tool(script.Stem(s.Path))
	if err != nil {
		return tool.Tool{}, located(err, s.Path)
	}
	return t, nil
}

// Compile says whether a script can be made ready to run. It runs the top level
// of a Starlark file, which [Engine.Describe] never does.
func (e *Engine) Compile(s tool.Script) error {
	_, err := e.program(s)
	return err
}

// Run calls one function of a script: the one that c.Entry names, or the
// tool's handler. The arguments are those that the tool's check returned. What
// the script asks of the world goes to do.
func (e *Engine) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	p, err := e.program(s)
	if err != nil {
		return tool.Outcome{}, err
	}
	if c.Limits.Steps == 0 {
		c.Limits.Steps = e.steps
	}
	start := time.Now()
	r := &script.Run{Ctx: ctx, Tool: c.Tool, Args: c.Args, Limits: c.Limits, Place: c.Place, Do: do}
	v, err := p.Call(r, c.Entry)
	usage := tool.Usage{Steps: r.Steps, Effects: r.Effects, Wall: time.Since(start)}
	if err != nil {
		return tool.Outcome{Usage: usage}, err
	}
	return tool.Outcome{Value: v, Usage: usage}, nil
}

func (e *Engine) program(s tool.Script) (script.Program, error) {
	if s.Hash == "" {
		s.Hash = s.Sum()
	}
	c := e.entry(scriptKey{s.Path, s.Hash})
	c.once.Do(func() { c.program, c.err = e.compile(s) })
	return c.program, c.err
}

// entry returns the place of a compiled script, making room for a new one by
// dropping any other: which one matters little among hundreds.
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
		WithHint("scripts end in %s", strings.Join(tool.ScriptSuffixes(), ", "))
}

// CheckSize says whether a script is short enough to be read at all: for who
// would send it somewhere first.
func CheckSize(s tool.Script) error {
	if len(s.Source) <= script.MaxSource {
		return nil
	}
	return script.SourceLimit(s.Path, "the file is longer than %d KB", script.MaxSource>>10)
}

// located makes sure that an error names the file.
func located(err error, file string) error {
	e := *value.ErrorOf(err, value.Invalid)
	if e.Pos.File == "" {
		e.Pos.File = file
	}
	return &e
}

// Confine makes the interpreters of this process as frugal as a worker's must
// be. It changes settings that they share, so it is for a process that does
// nothing else, before the first engine.
func Confine() { lua.Confine() }
