package script

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Module is a [tool.Module] as scripts see it: pure functions and effects of the same
// name are merged, and internal functions are omitted.
type Module struct {
	Name   string // "" for functions without a module name
	Funcs  []Function
	Consts []tool.Const
	Other  *Function // handles every other name, or nil
}

// A Function is one function that a script can call.
type Function struct {
	*tool.Func
	name  string      // full name, as in "fs.read"
	alias string      // the name that the script used, if Func is of [tool.ModeOther], or ""
	Self  tool.Object // the object of a method, or nil
}

// WithAlias returns Module.Other as called by an alias.
func (f Function) WithAlias(alias string) Function {
	f.alias = alias
	return f
}

// TakesObjects reports whether the function takes objects and functions of the script as
// they are.
func (f Function) TakesObjects() bool { return f.Self != nil || f.Mode == tool.ModeObjects }

// TakesFunctions reports whether the arguments may contain functions of the script.
func (f Function) TakesFunctions() bool { return f.TakesObjects() || f.Callbacks }

// DisplayName returns the name of the function in errors, as the script wrote it.
func (f Function) DisplayName() string {
	if f.alias == "" {
		return f.name
	}
	return strings.TrimSuffix(f.name, f.Name) + f.alias
}

// MergeModules merges modules of the same name.
func MergeModules(list []tool.Module) []Module {
	var merged []Module
	at := map[string]int{}
	for _, m := range list {
		i, ok := at[m.Name]
		if !ok {
			i = len(merged)
			at[m.Name] = i
			merged = append(merged, Module{Name: m.Name})
		}
		merged[i].Consts = append(merged[i].Consts, m.Consts...)
		for f := range m.Funcs {
			if m.Funcs[f].Mode == tool.ModeInternal {
				continue
			}
			fn := newFunction(m.Name, &m.Funcs[f])
			merged[i].Funcs = append(merged[i].Funcs, fn)
			if fn.Mode == tool.ModeOther {
				merged[i].Other = &fn
			}
		}
	}
	return merged
}

func newFunction(module string, f *tool.Func) Function {
	if module == "" {
		return Function{Func: f, name: f.Name}
	}
	return Function{Func: f, name: module + "." + f.Name}
}

// A Run is a running call of a script's function. Many runs wait at a time, so it holds
// only what it needs.
type Run struct {
	Ctx         context.Context
	Tool        string // the tool's name
	Args        *value.Dict
	Limits      tool.Limits
	StepPath    tool.StepPath
	Do          tool.Effector
	Effects     int
	Steps       int64
	Random      *rand.Rand
	HasCallback bool // whether a builtin got a function of the script
	callbacks   []tool.Function
	Cover       Covered      // collects the lines that run, or nil
	Fatal       *value.Error // the error that ended the run: a limit or a cancellation, which no script can catch

	TraceCalls bool                  // whether effects have the positions of their calls
	Position   func() value.Position // the position of the innermost running line; set by the language if TraceCalls is
	Lines      *Lines                // counts the steps of each line, or nil
}

// Invoke calls a function for the script, with the arguments as the script passed them.
func (r *Run) Invoke(f Function, positional []value.Value, named *value.Dict) (value.Value, error) {
	if r.Fatal == nil && r.Ctx.Err() != nil {
		r.Fatal = r.Stopped()
	}
	if r.Fatal != nil {
		return nil, r.Fatal
	}
	if f.alias != "" {
		if len(positional) > 0 {
			return nil, WithOp(value.Errorf(value.Invalid, "the arguments of a tool must be named").
				WithHint("write %s(name = value), or in Lua %s{name = value}", f.DisplayName(), f.DisplayName()), f.DisplayName())
		}
		positional = []value.Value{f.alias}
	}
	if f.Callbacks {
		positional, named = r.keepFunctions(positional, named)
	}
	args, err := f.Bind(positional, named)
	if err != nil {
		return nil, WithOp(err, f.DisplayName())
	}
	if f.Kind == tool.Pure {
		return r.compute(f, args)
	}
	out, err := r.Effect(f.name, args)
	if f.Callbacks && err == nil {
		out, err = r.answer(out)
	}
	if err != nil {
		return nil, InScript(err) // it names the effect already
	}
	return out.Value, nil
}

// compute calls a pure function. It is a function of its own, so that a blocked effect does not
// hold its stack frame.
//
//go:noinline
func (r *Run) compute(f Function, args *value.Dict) (value.Value, error) {
	out, err := f.Do(r.Ctx, tool.Effect{Func: f.name, Args: args, Self: f.Self}, r.Grant())
	if err != nil {
		return nil, WithOp(err, f.DisplayName())
	}
	return out.Value, nil
}

// Grant returns what a pure function may use.
func (r *Run) Grant() tool.Grant {
	return tool.Grant{Rand: r.Rand, Do: r.Effect, Memory: r.Limits.Memory}
}

// Effect passes an effect to the effector, at the next child of the script's place.
func (r *Run) Effect(name string, args *value.Dict) (tool.Outcome, error) {
	if r.Fatal != nil {
		return tool.Outcome{}, r.Fatal
	}
	if r.Do == nil {
		return tool.Outcome{}, value.Errorf(value.Denied, "the function %s is not available to this script", name)
	}
	r.Lines.beforeEffect()
	r.Effects++
	e := tool.Effect{Func: name, Args: args, StepPath: r.StepPath.Child(r.Effects)}
	if r.Position != nil {
		e.Pos = r.Position()
	}
	out, err := r.Do(r.Ctx, e)
	if err != nil {
		if e := value.ErrorOf(err, value.Internal); !e.Catchable() {
			r.Fatal = e
		}
	}
	return out, err
}

// Print emits a line of the script's print. A lost line is not an error, but the limits
// of effects apply.
func (r *Run) Print(text string) {
	_, _ = r.Effect("log", value.NewDict("message", text))
}

// Rand returns the call's random numbers. Their seed is one recorded effect, so a run
// that is replayed from its record draws the same numbers.
func (r *Run) Rand() (*rand.Rand, error) {
	if r.Random != nil {
		return r.Random, nil
	}
	out, err := r.Effect("random.seed", &value.Dict{})
	if err != nil {
		return nil, err
	}
	seed, ok := out.Value.(int64)
	if !ok {
		return nil, value.Errorf(value.Internal, "random.seed should return an integer but returned %s", value.TypeOf(out.Value))
	}
	r.Random = rand.New(rand.NewPCG(uint64(seed), 0))
	return r.Random, nil
}

// Stopped returns the error of a run whose context ended.
func (r *Run) Stopped() *value.Error {
	var cause *value.Error
	if errors.As(context.Cause(r.Ctx), &cause) {
		return cause
	}
	if errors.Is(r.Ctx.Err(), context.DeadlineExceeded) {
		e := value.Errorf(value.Timeout, "the call timed out")
		e.Limit = value.LimitWall
		return e
	}
	return value.Errorf(value.Canceled, "the call was cancelled")
}

// TooManySteps returns the error of a run that used up its steps.
func (r *Run) TooManySteps() *value.Error {
	e := value.Errorf(value.Limit, "the script took more than %d steps", r.Limits.Steps).
		WithHint("do less in one call, replace long loops with builtin functions, or declare limits = {\"steps\": …}")
	e.Limit = value.LimitSteps
	return e
}

// InScript returns the error of something that a script has called, see [Called].
func InScript(err error) *value.Error { return Called(err) }

// WithOp is InScript, and adds the function's name to an error that does not name one.
func WithOp(err error, name string) error {
	e := InScript(err)
	if e.Op == "" && !strings.HasPrefix(e.Message(), name) {
		e.Op = name
	}
	return e
}
