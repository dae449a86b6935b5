package star

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// starProgram is a Starlark file whose top level has been run and frozen.
type program struct {
	path    string
	handler string
	globals starlark.StringDict
	modules starlark.StringDict // what scripts are given, by name
	threads *sync.Pool          // of *starThread
}

func (p *program) Call(r *script.Run, entry string) (value.Value, error) {
	lent := p.modules
	if entry == "" {
		entry, lent = p.handler, nil
	}
	fn, ok := p.globals[entry].(*starlark.Function)
	if !ok {
		e := value.Errorf(value.Invalid, "there is no function %q", entry)
		e.Pos = value.Position{File: p.path}
		return nil, e
	}
	args, kwargs, err := starArgs(fn, r.Args, lent)
	if err != nil {
		return nil, err
	}
	if r.Ctx.Err() != nil {
		return nil, r.Stopped()
	}
	thread := p.thread(r)
	v, err := starlark.Call(&thread.Thread, fn, args, kwargs)
	r.Steps = int64(thread.ExecutionSteps())
	if err != nil {
		if r.Fatal == nil && r.Ctx.Err() != nil {
			r.Fatal = r.Stopped()
		}
		return nil, scriptError(err, r.Fatal)
	}
	if r.Fatal != nil { // the last thing it did was to print
		return nil, inFunction(r.Fatal, fn)
	}
	result, err := fromStar(v)
	if err != nil {
		return nil, inFunction(err, fn)
	}
	p.release(thread)
	return result, nil
}

// inFunction gives an error the place of the function that it is about.
func inFunction(err error, fn *starlark.Function) error {
	e := *value.ErrorOf(err, value.Internal)
	e.Pos = position(fn.Position())
	return &e
}

// A starThread is a thread that counts the steps of its run. Short calls that
// succeed leave it to the next one: making a thread allocates more than they do.
type starThread struct {
	starlark.Thread
	run *script.Run
}

// threadKey is where a [starlark.Thread] keeps its starThread.
const threadKey = "thread"

// runOf returns the run of a thread.
func runOf(thread *starlark.Thread) *script.Run { return thread.Local(threadKey).(*starThread).run }

// newStarThread returns a thread for a run.
func newStarThread(r *script.Run, name string) *starThread {
	t := &starThread{}
	t.SetLocal(threadKey, t)
	t.Print = func(thread *starlark.Thread, text string) { printed(runOf(thread), thread, text) }
	t.OnMaxSteps = func(thread *starlark.Thread) { look(runOf(thread), thread) }
	t.begin(r, name)
	return t
}

// begin gives the thread to a run.
func (t *starThread) begin(r *script.Run, name string) {
	t.run, t.Name, t.Steps = r, name, 0
	t.SetMaxExecutionSteps(uint64(min(lookSteps, r.Limits.Steps)))
}

// thread returns a thread for a call of the program.
func (p *program) thread(r *script.Run) *starThread {
	t, _ := p.threads.Get().(*starThread)
	if t == nil {
		return newStarThread(r, r.Tool)
	}
	t.begin(r, r.Tool)
	return t
}

// release keeps the thread of a call that has succeeded for another, unless
// something may still use it, or it may hold a deep stack.
func (p *program) release(t *starThread) {
	if t.run.Lent || t.run.Steps >= lookSteps {
		return
	}
	t.run = nil
	p.threads.Put(t)
}

// lookSteps is how many steps a script takes before it is looked at whether it
// should stop: a millisecond or so. Watching the context from beside would
// cost more than most calls take.
const lookSteps = 20_000

// look ends the run if it has used up its steps or its context is done.
func look(r *script.Run, t *starlark.Thread) {
	steps := int64(t.ExecutionSteps())
	switch {
	case steps >= r.Limits.Steps:
		r.Fatal = r.TooManySteps()
		t.Cancel("too many steps")
	case r.Ctx.Err() != nil:
		r.Fatal = r.Stopped()
		t.Cancel("stopped")
	default:
		t.SetMaxExecutionSteps(uint64(min(steps+lookSteps, r.Limits.Steps)))
	}
}

// starArgs gives a function its arguments, by place as far as that goes, since
// that is quicker, then by name. A parameter without a default for which there
// is none is None, or the module of its name among those that are lent:
// def policy(task, agent) is given the module agent.
func starArgs(fn *starlark.Function, args *value.Dict, lent starlark.StringDict) (starlark.Tuple, []starlark.Tuple, error) {
	named := fn.NumParams() // *args and **kwargs are last
	if fn.HasVarargs() {
		named--
	}
	if fn.HasKwargs() {
		named--
	}
	places := named - fn.NumKwonlyParams()
	positional := make(starlark.Tuple, 0, places)
	var kwargs []starlark.Tuple
	for i := range named {
		name, _ := fn.Param(i)
		arg, ok := args.Get(name)
		if !ok && fn.ParamDefault(i) != nil {
			continue
		}
		v, err := toStar(arg)
		if err != nil {
			return nil, nil, err
		}
		if m, isModule := lent[name].(*starModule); isModule && !ok {
			v = m
		}
		if i == len(positional) && i < places {
			positional = append(positional, v)
		} else {
			kwargs = append(kwargs, starlark.Tuple{starlark.String(name), v})
		}
	}
	return positional, kwargs, nil
}

// printed tells the user. That a line is lost is no reason to fail, unless it is
// what ends the run.
func printed(r *script.Run, thread *starlark.Thread, text string) {
	_, _ = r.Effect("log", value.NewDict("message", text))
	if r.Fatal != nil {
		thread.Cancel("stopped")
	}
}

// starBuiltin is a function of a module as Starlark calls it.
func builtin(f script.Function) *starlark.Builtin {
	return starlark.NewBuiltin(f.Shown(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		r := runOf(thread)
		c := converter{nodes: value.MaxNodes}
		if f.Objects {
			c.lend = func(fn starlark.Callable) tool.Function { return lend(r, thread, fn) }
		}
		positional, named, err := c.arguments(args, kwargs)
		if err != nil {
			return nil, script.WithOp(err, f.Shown())
		}
		v, err := r.Invoke(f, positional, named)
		if err != nil {
			if r.Fatal != nil {
				thread.Cancel("stopped")
			}
			return nil, err
		}
		return given(r, v)
	})
}

// arguments turns those of a call into values, each counted by itself.
func (c converter) arguments(args starlark.Tuple, kwargs []starlark.Tuple) ([]value.Value, *value.Dict, error) {
	positional := make([]value.Value, len(args))
	for i, a := range args {
		v, err := c.one(a)
		if err != nil {
			return nil, nil, err
		}
		positional[i] = v
	}
	named := &value.Dict{}
	for _, kv := range kwargs {
		v, err := c.one(kv[1])
		if err != nil {
			return nil, nil, err
		}
		named.Put(string(kv[0].(starlark.String)), v)
	}
	return positional, named, nil
}

// starCompileError is the error of a file that refers to what is not there.
func compileError(err error) error {
	var list resolve.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return value.Errorf(value.Invalid, "%w", err)
	}
	e := errorAt(list[0].Pos, "%s", list[0].Msg)
	name, undefined := strings.CutPrefix(list[0].Msg, "undefined: ")
	switch {
	case undefined:
		name, _, _ = strings.Cut(name, " ")
		e.Hint = undefinedHint(name)
	case strings.HasSuffix(list[0].Msg, "while loops"):
		e.Hint = "use for i in range(…) with break"
	case strings.HasSuffix(list[0].Msg, "not within a function"):
		e.Hint = "put it inside a function"
	}
	return e
}

// undefinedHint says what to write for a name that Starlark does not have.
func undefinedHint(name string) string {
	switch name {
	case "open":
		return "read files with fs.read(path) and write them with fs.write(path, content)"
	case "sum":
		return "use math.sum(values)"
	case "round":
		return "use math.round(number, digits)"
	case "requests", "urllib":
		return "use http.get(url)"
	case "try", "except":
		return "use attempt(fn, args…), which gives {\"ok\", \"value\", \"error\"}"
	case "os", "subprocess", "sys", "pathlib":
		return "scripts have fs, env and time instead of Python's modules"
	}
	return ""
}

// starError turns the error of a run into one with the place in the script.
func scriptError(err error, fatal *value.Error) error {
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		if fatal != nil {
			return fatal
		}
		var known *value.Error
		if errors.As(err, &known) {
			return known
		}
		return value.Errorf(value.Invalid, "%w", err)
	}
	e := &value.Error{Kind: value.Internal, Err: errors.New(eval.Msg)}
	var cause *value.Error
	switch text, failed := strings.CutPrefix(eval.Msg, "fail: "); {
	case fatal != nil:
		*e = *fatal
	case errors.As(eval.Unwrap(), &cause):
		*e = *cause
	case failed:
		e.Kind, e.Err = value.Failed, errors.New(text)
	}
	if e.Trace != nil {
		return e // it has the place in the script that it comes from
	}
	var pos value.Position
	for _, frame := range eval.CallStack {
		if frame.Pos.Line == 0 || frame.Pos.Filename() == "<builtin>" {
			continue
		}
		pos = position(frame.Pos)
		e.Trace = append(e.Trace, fmt.Sprintf("%s: in %s", pos, frame.Name))
	}
	if e.Pos.File == "" {
		e.Pos = pos // not that of a file which is loaded
	}
	return e
}
