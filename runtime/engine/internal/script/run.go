package script

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Module is a [tool.Module] as scripts see it: pure functions and effects of
// the same name are one module, and internal rows are left out.
type Module struct {
	Name   string // "" for the functions that need no module's name
	Funcs  []Function
	Consts []tool.Const
	Other  *Function // what stands for every name that is not there, or nil
}

// A Function is one function that a script can call.
type Function struct {
	*tool.Func
	name  string      // as in "fs.read"
	alias string      // the name that a script wrote for a [tool.Func] that is Other, or ""
	Self  tool.Object // whose method it is, or nil
}

// Called returns the function as it is called by a name that its module does
// not have.
func (f Function) Called(alias string) Function {
	f.alias = alias
	return f
}

// Shown is how errors name the function: as the script wrote it.
func (f Function) Shown() string {
	if f.alias == "" {
		return f.name
	}
	return strings.TrimSuffix(f.name, f.Name) + f.alias
}

// MergeModules puts the functions of modules with one name into one.
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
			if m.Funcs[f].Internal {
				continue
			}
			fn := newFunction(m.Name, &m.Funcs[f])
			merged[i].Funcs = append(merged[i].Funcs, fn)
			if fn.Other {
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

// A Run is one call of a function of a script, while it lasts. Of the call it has no more
// than it needs: many runs wait.
type Run struct {
	Ctx     context.Context
	Tool    string // by name
	Args    *value.Dict
	Limits  tool.Limits
	Place   tool.Place
	Do      tool.Effector
	Effects int
	Steps   int64
	Random  *rand.Rand
	Lent    bool         // a function of the script was passed to a builtin
	Fatal   *value.Error // what ended the run: a limit or a cancellation, which no script can catch
}

// Invoke calls one function for the script. Arguments come as the script gave
// them.
func (r *Run) Invoke(f Function, positional []value.Value, named *value.Dict) (value.Value, error) {
	if r.Fatal == nil && r.Ctx.Err() != nil {
		r.Fatal = r.Stopped()
	}
	if r.Fatal != nil {
		return nil, r.Fatal
	}
	if f.alias != "" {
		if len(positional) > 0 {
			return nil, WithOp(value.Errorf(value.Invalid, "takes its arguments by name"), f.Shown())
		}
		positional = []value.Value{f.alias}
	}
	args, err := f.Bind(positional, named)
	if err != nil {
		return nil, WithOp(err, f.Shown())
	}
	if f.Kind == tool.Pure {
		out, err := f.Do(r.Ctx, tool.Effect{Func: f.name, Args: args, Self: f.Self}, r.Grant())
		if err != nil {
			return nil, WithOp(err, f.Shown())
		}
		return out.Value, nil
	}
	out, err := r.Effect(f.name, args)
	if err != nil {
		return nil, InScript(err) // it is a sentence of its own, for people and models
	}
	return out.Value, nil
}

// Grant is what a pure function is lent.
func (r *Run) Grant() tool.Grant {
	return tool.Grant{Rand: r.Rand, Do: r.Effect, Memory: r.Limits.Memory}
}

// Effect asks the world for something, in the script's next place.
func (r *Run) Effect(name string, args *value.Dict) (tool.Outcome, error) {
	if r.Fatal != nil {
		return tool.Outcome{}, r.Fatal
	}
	if r.Do == nil {
		return tool.Outcome{}, value.Errorf(value.Denied, "%s is not available here", name)
	}
	r.Effects++
	out, err := r.Do(r.Ctx, tool.Effect{Func: name, Args: args, Place: r.Place.Child(r.Effects)})
	if err != nil {
		if e := value.ErrorOf(err, value.Internal); !e.Catchable() {
			r.Fatal = e
		}
	}
	return out, err
}

// Rand returns the call's random numbers. Their seed is one recorded effect,
// so that a run that is repeated from its record draws the same.
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
		return nil, value.Errorf(value.Internal, "random.seed gave %s, not an integer", value.TypeOf(out.Value))
	}
	r.Random = rand.New(rand.NewPCG(uint64(seed), 0))
	return r.Random, nil
}

// Stopped returns why the context ended the run.
func (r *Run) Stopped() *value.Error {
	var cause *value.Error
	if errors.As(context.Cause(r.Ctx), &cause) {
		return cause
	}
	if errors.Is(r.Ctx.Err(), context.DeadlineExceeded) {
		e := value.Errorf(value.Timeout, "the time ran out")
		e.Limit = value.LimitWall
		return e
	}
	return value.Errorf(value.Canceled, "the call was cancelled")
}

// TooManySteps is the error of a run that used up its steps.
func (r *Run) TooManySteps() *value.Error {
	e := value.Errorf(value.Limit, "the script took more than %d steps", r.Limits.Steps).
		WithHint("do less in one call, use a builtin for the hot loop, or declare limits = {\"steps\": …}")
	e.Limit = value.LimitSteps
	return e
}

// InScript makes an error one that happened in a script: what was wrong in a
// call that the script made is no mistake of who called the tool, whose
// arguments have passed their check.
func InScript(err error) *value.Error {
	e := *value.ErrorOf(err, value.Internal)
	if e.Kind == value.Invalid {
		e.Kind = value.Failed
	}
	return &e
}

// WithOp is inScript, and names the function in an error that does not name one.
func WithOp(err error, name string) error {
	e := InScript(err)
	if e.Op == "" && !strings.HasPrefix(e.Message(), name) {
		e.Op = name
	}
	return e
}
