package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A module is a [tool.Module] as scripts see it: pure functions and effects of
// the same name are one module, and internal rows are left out.
type module struct {
	name   string // "" for the functions that need no module's name
	funcs  []function
	consts []tool.Const
	other  *function // what stands for every name that is not there, or nil
}

// A function is one function that a script can call.
type function struct {
	*tool.Func
	name  string      // as in "fs.read"
	alias string      // the name that a script wrote for a [tool.Func] that is Other, or ""
	self  tool.Object // whose method it is, or nil
}

// called returns the function as it is called by a name that its module does
// not have.
func (f function) called(alias string) function {
	f.alias = alias
	return f
}

// shown is how errors name the function: as the script wrote it.
func (f function) shown() string {
	if f.alias == "" {
		return f.name
	}
	return strings.TrimSuffix(f.name, f.Name) + f.alias
}

func mergeModules(list []tool.Module) []module {
	var merged []module
	at := map[string]int{}
	for _, m := range list {
		i, ok := at[m.Name]
		if !ok {
			i = len(merged)
			at[m.Name] = i
			merged = append(merged, module{name: m.Name})
		}
		merged[i].consts = append(merged[i].consts, m.Consts...)
		for f := range m.Funcs {
			if m.Funcs[f].Internal {
				continue
			}
			fn := newFunction(m.Name, &m.Funcs[f])
			merged[i].funcs = append(merged[i].funcs, fn)
			if fn.Other {
				merged[i].other = &fn
			}
		}
	}
	return merged
}

func newFunction(module string, f *tool.Func) function {
	if module == "" {
		return function{Func: f, name: f.Name}
	}
	return function{Func: f, name: module + "." + f.Name}
}

// A run is one call of a function of a script, while it lasts. Of the call it has no more
// than it needs: many runs wait.
type run struct {
	ctx     context.Context
	tool    string // by name
	args    *tool.Dict
	limits  tool.Limits
	place   tool.Place
	do      tool.Effector
	effects int
	steps   int64
	random  *rand.Rand
	lent    bool        // a function of the script was passed to a builtin
	fatal   *tool.Error // what ended the run: a limit or a cancellation, which no script can catch
}

// invoke calls one function for the script. Arguments come as the script gave
// them.
func (r *run) invoke(f function, positional []tool.Value, named *tool.Dict) (tool.Value, error) {
	if r.fatal == nil && r.ctx.Err() != nil {
		r.fatal = r.stopped()
	}
	if r.fatal != nil {
		return nil, r.fatal
	}
	if f.alias != "" {
		if len(positional) > 0 {
			return nil, withOp(tool.Errorf(tool.Invalid, "takes its arguments by name"), f.shown())
		}
		positional = []tool.Value{f.alias}
	}
	args, err := f.Bind(positional, named)
	if err != nil {
		return nil, withOp(err, f.shown())
	}
	if f.Kind == tool.Pure {
		out, err := f.Do(r.ctx, tool.Effect{Func: f.name, Args: args, Self: f.self}, r.grant())
		if err != nil {
			return nil, withOp(err, f.shown())
		}
		return out.Value, nil
	}
	out, err := r.effect(f.name, args)
	if err != nil {
		return nil, inScript(err) // it is a sentence of its own, for people and models
	}
	return out.Value, nil
}

// grant is what a pure function is lent.
func (r *run) grant() tool.Grant {
	return tool.Grant{Rand: r.rand, Do: r.effect, Memory: r.limits.Memory}
}

func (r *run) effect(name string, args *tool.Dict) (tool.Outcome, error) {
	if r.fatal != nil {
		return tool.Outcome{}, r.fatal
	}
	if r.do == nil {
		return tool.Outcome{}, tool.Errorf(tool.Denied, "%s is not available here", name)
	}
	r.effects++
	out, err := r.do(r.ctx, tool.Effect{Func: name, Args: args, Place: r.place.Child(r.effects)})
	if err != nil {
		if e := tool.ErrorOf(err, tool.Internal); !e.Catchable() {
			r.fatal = e
		}
	}
	return out, err
}

// rand returns the call's random numbers. Their seed is one recorded effect,
// so that a run that is repeated from its record draws the same.
func (r *run) rand() (*rand.Rand, error) {
	if r.random != nil {
		return r.random, nil
	}
	out, err := r.effect("random.seed", &tool.Dict{})
	if err != nil {
		return nil, err
	}
	seed, ok := out.Value.(int64)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "random.seed gave %s, not an integer", tool.TypeOf(out.Value))
	}
	r.random = rand.New(rand.NewPCG(uint64(seed), 0))
	return r.random, nil
}

// stopped returns why the context ended the run.
func (r *run) stopped() *tool.Error {
	var cause *tool.Error
	if errors.As(context.Cause(r.ctx), &cause) {
		return cause
	}
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		e := tool.Errorf(tool.Timeout, "the time ran out")
		e.Limit = tool.LimitWall
		return e
	}
	return tool.Errorf(tool.Canceled, "the call was cancelled")
}

// tooManySteps is the error of a run that used up its steps.
func (r *run) tooManySteps() *tool.Error {
	e := tool.Errorf(tool.Limit, "the script took more than %d steps", r.limits.Steps).
		WithHint("do less in one call, use a builtin for the hot loop, or declare limits = {\"steps\": …}")
	e.Limit = tool.LimitSteps
	return e
}

// inScript makes an error one that happened in a script: what was wrong in a
// call that the script made is no mistake of who called the tool, whose
// arguments have passed their check.
func inScript(err error) *tool.Error {
	e := *tool.ErrorOf(err, tool.Internal)
	if e.Kind == tool.Invalid {
		e.Kind = tool.Failed
	}
	return &e
}

// withOp is inScript, and names the function in an error that does not name one.
func withOp(err error, name string) error {
	e := inScript(err)
	if e.Op == "" && !strings.HasPrefix(e.Message(), name) {
		e.Op = name
	}
	return e
}
