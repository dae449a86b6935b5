package star

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// program is a Starlark file whose top level has been run and frozen.
type program struct {
	path    string
	handler string
	globals starlark.StringDict
	modules starlark.StringDict // the modules of scripts, by name
	threads *sync.Pool          // of *starThread
}

func (p *program) Call(r *script.Run, entry string) (value.Value, error) {
	modules := p.modules
	if entry == "" {
		entry, modules = p.handler, nil
	}
	fn, ok := p.globals[entry].(*starlark.Function)
	if !ok {
		e := value.Errorf(value.Invalid, "function not found: %q", entry)
		e.Pos = value.Position{File: p.path}
		return nil, e
	}
	args, kwargs, err := starArgs(fn, r.Args, modules)
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
	if r.Fatal != nil { // its last action was to print
		return nil, inFunction(r.Fatal, fn)
	}
	result, err := fromStar(v)
	if err != nil {
		return nil, inFunction(err, fn)
	}
	p.release(thread)
	return result, nil
}

// inFunction sets the position of an error to that of the function.
func inFunction(err error, fn *starlark.Function) error {
	e := *value.ErrorOf(err, value.Internal)
	e.Pos = position(fn.Position())
	return &e
}

// A starThread is a thread with its run. Threads of short, successful calls are reused:
// making one allocates more than such a call does.
type starThread struct {
	starlark.Thread
	run   *script.Run
	check int64  // the number of steps at which the run is checked next
	poll  func() // called with each check; may be nil
}

// threadKey is the key of the starThread in a [starlark.Thread].
const threadKey = "thread"

// runOf returns the run of a thread.
func runOf(thread *starlark.Thread) *script.Run { return thread.Local(threadKey).(*starThread).run }

// newStarThread returns a thread for a run.
func newStarThread(r *script.Run, name string) *starThread {
	t := &starThread{}
	t.SetLocal(threadKey, t)
	t.Print = func(_ *starlark.Thread, text string) {
		if t.run.Print(text); t.run.Fatal != nil {
			t.Cancel("stopped")
		}
	}
	t.OnMaxSteps = func(*starlark.Thread) { t.step() }
	t.begin(r, name)
	return t
}

// begin assigns the thread to a run.
func (t *starThread) begin(r *script.Run, name string) {
	t.run, t.Name, t.Steps = r, name, 0
	t.setCheck(min(checkSteps, r.Limits.Steps))
	if r.TraceCalls {
		r.Position = func() value.Position { return innermost(&t.Thread) }
	}
}

// setCheck sets the number of steps at which [checkStop] is called next. A thread that counts
// the steps of lines calls it at each step.
func (t *starThread) setCheck(steps int64) {
	t.check = steps
	if t.run.Lines != nil {
		steps = 1 // less than any number of steps
	}
	t.SetMaxExecutionSteps(uint64(steps))
}

// innermost returns the position of the innermost function of the script that a thread runs.
func innermost(thread *starlark.Thread) value.Position {
	for depth := range thread.CallStackDepth() {
		if pos := thread.DebugFrame(depth).Position(); isScript(pos) {
			return position(pos)
		}
	}
	return value.Position{}
}

// isScript reports whether a position is in a script, and not in a builtin.
func isScript(pos syntax.Position) bool { return pos.Line != 0 && pos.Filename() != "<builtin>" }

// thread returns a thread for a call of the program.
func (p *program) thread(r *script.Run) *starThread {
	t, _ := p.threads.Get().(*starThread)
	if t == nil {
		return newStarThread(r, r.Tool)
	}
	t.begin(r, r.Tool)
	return t
}

// release keeps the thread of a successful call for reuse, unless something may still
// use it, or it may hold a deep stack.
func (p *program) release(t *starThread) {
	if t.run.HasCallback || t.run.Steps >= checkSteps {
		return
	}
	t.run = nil
	p.threads.Put(t)
}

// checkSteps is how many steps a script takes between checks whether it should stop:
// about a millisecond. A goroutine that watches the context would cost more than most
// calls take.
const checkSteps = 20_000

// step is called when the thread has taken the steps that setCheck allowed. The interpreter has
// not set the position of the next step yet: it is that of the last one of the function.
func (t *starThread) step() {
	if lines := t.run.Lines; lines != nil {
		pos := t.DebugFrame(0).Position()
		lines.Ended(pos.Filename(), int(pos.Line))
		if int64(t.ExecutionSteps()) < t.check {
			return
		}
	}
	t.checkStop()
}

// checkStop ends the run if it has used up its steps or its context is done.
func (t *starThread) checkStop() {
	r, steps := t.run, int64(t.ExecutionSteps())
	r.Lines.Check()
	if t.poll != nil {
		t.poll()
	}
	switch {
	case r.Fatal != nil:
		t.Cancel("stopped")
	case steps >= r.Limits.Steps:
		r.Fatal = r.TooManySteps()
		t.Cancel("too many steps")
	case r.Ctx.Err() != nil:
		r.Fatal = r.Stopped()
		t.Cancel("stopped")
	default:
		t.setCheck(min(steps+checkSteps, r.Limits.Steps))
	}
}

// starArgs returns the arguments of a function, as far as possible by position, since
// that is faster, then by name. A missing argument without a default is None, or the
// module of that name, if it is in modules: def policy(task, agent) gets the module
// agent.
func starArgs(fn *starlark.Function, args *value.Dict, modules starlark.StringDict) (starlark.Tuple, []starlark.Tuple, error) {
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
		if m, isModule := modules[name].(*starModule); isModule && !ok {
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

// builtin returns a function of a module for Starlark.
func builtin(f script.Function) *starlark.Builtin {
	return starlark.NewBuiltin(f.DisplayName(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		r := runOf(thread)
		c := converter{nodes: value.MaxNodes, plain: !f.TakesObjects()}
		if f.TakesFunctions() {
			c.callback = func(fn starlark.Callable) tool.Function { return callback(r, thread, fn) }
		}
		positional, named, err := c.arguments(args, kwargs)
		if err != nil {
			return nil, script.WithOp(err, f.DisplayName())
		}
		v, err := r.Invoke(f, positional, named)
		if err != nil {
			if r.Fatal != nil {
				thread.Cancel("stopped")
			}
			return nil, err
		}
		return resultToStar(r, v)
	})
}

// arguments converts the arguments of a call. The limits apply to each of them.
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

// compileError converts the error of a file that uses undefined names.
func (l *Language) compileError(err error) error {
	var list resolve.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return value.Errorf(value.Invalid, "%w", err)
	}
	e := errorAt(list[0].Pos, "%s", list[0].Msg)
	e.Hint = resolveHint(list[0].Msg)
	if name, undefined := strings.CutPrefix(list[0].Msg, "undefined: "); undefined {
		name, _, _ = strings.Cut(name, " ")
		e.Hint = starlint.Advice(l.predeclared, name)
	}
	return e
}

// resolveHint returns the hint of a message of the resolver, or "".
func resolveHint(message string) string {
	switch {
	case strings.HasSuffix(message, "while loops"):
		return "use for i in range(…) with break"
	case strings.HasSuffix(message, "not within a function"):
		return "move the statement into a function"
	}
	return ""
}

// scriptError adds the position in the script to the error of a run.
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
	e := &value.Error{Kind: value.Internal, Err: errors.New(eval.Msg), Hint: formatHint(eval.Msg)}
	var cause *value.Error
	switch {
	case fatal != nil:
		*e = *fatal
	case errors.As(eval.Unwrap(), &cause):
		*e = *cause
	}
	if e.Trace != nil {
		return e // it has its position in the script
	}
	var pos value.Position
	for _, frame := range eval.CallStack {
		if !isScript(frame.Pos) {
			continue
		}
		pos = position(frame.Pos)
		e.Trace = append(e.Trace, fmt.Sprintf("%s: in %s", pos, frame.Name))
	}
	if e.Pos.File == "" {
		e.Pos = pos // the position is not in a file that was loaded
	}
	return e
}

// formatHint returns what to write instead of a format for numbers that Starlark does not have, or "".
func formatHint(message string) string {
	if strings.HasPrefix(message, "unknown conversion %") || strings.HasPrefix(message, "format spec features not supported") {
		return "write %s or {} without a width and digits; round a number with math.round(value, 2), and pad a text with text.pad_left(text, width)"
	}
	return ""
}
