package scripttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxOutput is how many lines that scripts print are kept.
const maxOutput = 200

// A test is a test that is running. Its script waits while a call that it makes is running, except
// while it computes a fake for this call.
type test struct {
	*Test
	slot *slot
	id   string // of the run of the script
	ctx  context.Context
	stop context.CancelFunc

	frames []frame // of the functions of t that wait for a function of the script; the last is called now
	calls  sync.WaitGroup

	mu      sync.Mutex
	active  *call // nil: no call is running
	output  []string
	effects value.List
	missing error          // the first effect without a fake, or the first call of an unknown tool
	lacking value.Position // of the effect, if it is known
	fakes
}

// A frame continues a function of t with the result of a function of the script.
type frame func(ctx context.Context, v value.Value, failure error) (tool.Outcome, error)

// A call is a call of a tool or a workflow that a test makes.
type call struct {
	requests chan request
	done     chan struct{} // closed when the call has ended
	cancel   context.CancelFunc
	finish   func(r tool.Result, err error) (tool.Outcome, error)
	result   tool.Result
	err      error
}

// A request asks the script for the value of a fake.
type request struct {
	fn     callback.Func
	args   []value.Value
	answer chan<- answer
}

type answer struct {
	v   value.Value
	err error
}

// run runs the test.
func (x *test) run(ctx context.Context) error {
	x.ctx, x.stop = context.WithTimeoutCause(ctx, x.slot.suite.opts.Timeout,
		value.Errorf(value.Timeout, "the test took longer than %s", x.slot.suite.opts.Timeout).WithHint("set another limit: --timeout SECONDS"))
	defer x.end() // a call may still run if the script has ended in a fake
	var err error
	if x.example != nil {
		err = x.runExample()
	} else {
		_, err = x.drive(x.entry, nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.missing != nil && x.example == nil {
		missing := *value.ErrorOf(x.missing, value.Failed)
		if x.lacking.File != "" {
			missing.Err = fmt.Errorf("%w (at %s)", missing.Err, x.lacking)
		}
		return x.at(&missing, err)
	}
	return err
}

// drive calls setup, and then a test of the file or, with arguments, a tool.
func (x *test) drive(name string, args value.Value) (value.Value, error) {
	out, err := x.slot.host.RunProgram(x.ctx, &host.Program{
		Name: "test " + x.Name, ID: x.id, Script: *x.script, Entry: driverName, Args: value.NewDict("name", name, "args", args),
	})
	if cause := context.Cause(x.ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return out.Value, x.at(limited(err), err)
}

// limited returns the error of a test that has reached a limit of a script, with what its author can do:
// a test declares no limits.
func limited(err error) error {
	e := value.ErrorOf(err, value.Failed)
	if e == nil || e.Limit == "" {
		return err
	}
	return e.WithHint("do less in one test, or write several tests; a fake counts as a part of its test")
}

// at returns an error at the position in the test file at which another one has occurred.
func (x *test) at(err, where error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	e.Pos = value.Position{File: x.File, Line: x.Line}
	if w := value.ErrorOf(where, value.Failed); w != nil && x.script != nil {
		if pos := positionIn(w, x.script.Path); pos.File != "" && (x.lines == 0 || pos.Line <= x.lines) {
			e.Pos = pos
		}
	}
	return &e
}

// runExample runs an example of a tool.
func (x *test) runExample() error {
	got, err := x.callExample()
	if missing := x.unfaked(); missing != nil {
		e := *value.ErrorOf(missing, value.Failed)
		setup := "write a function setup(t) in " + x.Tool + "_test.star, which is called before each test and example, with: "
		if x.script != nil {
			setup = "add to the function setup(t) in " + x.script.Path + ": "
		}
		e.Hint = strings.Replace(e.Hint, "add to the test: ", setup, 1)
		failed := x.at(&e, nil)
		if own := value.ErrorOf(failed, value.Failed); x.lacking.File != "" {
			own.Pos = x.lacking
		}
		return failed
	}
	if err != nil {
		return x.at(err, nil)
	}
	return x.at(ExampleError(x.example, got), nil)
}

// callExample calls the tool of an example: after setup, if it has a test file.
func (x *test) callExample() (value.Value, error) {
	if x.script != nil {
		return x.drive(x.Tool, x.example.Args.OrEmpty())
	}
	r, err := x.slot.host.Call(x.ctx, tool.Call{Tool: x.Tool, Args: x.example.Args, Caller: tool.ByPerson})
	if err != nil {
		if missing := x.unfaked(); missing != nil {
			x.locate(missing, err)
		}
		return nil, x.callFailed(x.Tool, err)
	}
	return r.Value, nil
}

// end ends the calls of the test, and waits for them.
func (x *test) end() {
	if x.stop != nil {
		x.stop()
	}
	x.calls.Wait()
}

// unfaked returns the first effect without a fake, or the first call of an unknown tool, or nil.
func (x *test) unfaked() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.missing
}

// locate notes where in a script an effect without a fake is, from the error of the call.
func (x *test) locate(missing, failure error) {
	e := value.ErrorOf(failure, value.Failed)
	if e == nil || e.Pos.File == "" || !strings.Contains(e.Message(), value.ErrorOf(missing, value.Failed).Message()) {
		return // the script has caught the error
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lacking.File == "" {
		x.lacking = e.Pos
		x.lacking.File = x.slot.suite.files.shown(e.Pos.File)
	}
}

// lacks notes an effect without a fake, and returns its error. It names a similar fake, unless that is "".
func (x *test) lacks(what, similar, fake string, args ...any) error {
	text := what + " has no fake"
	if similar != "" {
		text += "; a similar fake is " + strconv.Quote(similar)
	}
	return x.invalidate(value.Errorf(value.Failed, "%s", text).WithHint("add to the test: "+fake, args...))
}

// invalidate notes a mistake of the test itself, and returns it. The test fails even if the error is expected or caught.
func (x *test) invalidate(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.missing == nil {
		x.missing = err
	}
	return err
}

// print keeps a line that a script has printed.
func (x *test) print(line string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case len(x.output) < maxOutput:
		x.output = append(x.output, line)
	case len(x.output) == maxOutput:
		x.output = append(x.output, "… more output was dropped")
	}
}

// begin begins a call. The script then waits for its end or for a request.
func (x *test) begin(ctx context.Context, run func(context.Context) (tool.Result, error), finish func(tool.Result, error) (tool.Outcome, error)) (tool.Outcome, error) {
	c := &call{requests: make(chan request), done: make(chan struct{}), finish: finish}
	x.mu.Lock()
	if x.active != nil {
		x.mu.Unlock()
		return tool.Outcome{}, errInFake("call tools")
	}
	x.active = c
	x.mu.Unlock()
	callCtx, cancel := context.WithCancel(x.ctx)
	c.cancel = cancel
	x.calls.Go(func() {
		defer cancel()
		defer close(c.done)
		c.result, c.err = run(callCtx)
	})
	return x.wait(ctx, c)
}

func errInFake(what string) error {
	return value.Errorf(value.Failed, "a fake cannot %s: the function of a fake runs during a call", what).
		WithHint("the function may only return a value; call tools and change fakes in the test itself, before or after the call")
}

// wait waits for the end of a call, or for a request of it.
func (x *test) wait(ctx context.Context, c *call) (tool.Outcome, error) {
	select {
	case r := <-c.requests:
		x.frames = append(x.frames, func(ctx context.Context, v value.Value, failure error) (tool.Outcome, error) {
			if failure != nil {
				c.cancel()
				<-c.done
				x.ended()
				return tool.Outcome{Value: callback.Request{Raise: true}.Value()}, nil
			}
			r.answer <- answer{v: v}
			return x.wait(ctx, c)
		})
		return tool.Outcome{Value: callback.Request{Func: r.fn, Args: r.args}.Value()}, nil
	case <-c.done:
		x.ended()
		if missing := x.unfaked(); missing != nil {
			x.locate(missing, c.err)
			return tool.Outcome{}, missing
		}
		return c.finish(c.result, c.err)
	case <-ctx.Done():
		c.cancel()
		<-c.done
		x.ended()
		return tool.Outcome{}, value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// ended notes that no call is running.
func (x *test) ended() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.active = nil
}

// idle fails while a call is running.
func (x *test) idle(what string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.active != nil {
		return errInFake(what)
	}
	return nil
}

// call is the result of a function of the script.
func (x *test) call(ctx context.Context, args *value.Dict) (tool.Outcome, error) {
	n := len(x.frames) - 1
	if n < 0 {
		return tool.Outcome{}, value.Errorf(value.Denied, "no function of the script was called")
	}
	f := x.frames[n]
	x.frames = x.frames[:n]
	v, _ := args.Get("value")
	var failure error
	if args.Has("error") {
		failure = value.Errorf(value.KindOfType(args.Text("error_type")), "%s", args.Text("error")).WithHint("%s", args.Text("hint"))
	}
	return f(ctx, v, failure)
}

// callback calls a function of the script for a call that is running.
func (x *test) callback(ctx context.Context, fn callback.Func, args ...value.Value) (value.Value, error) {
	x.mu.Lock()
	c := x.active
	x.mu.Unlock()
	if c == nil {
		return nil, value.Errorf(value.Canceled, "the call has ended")
	}
	answered := make(chan answer, 1)
	select {
	case c.requests <- request{fn, args, answered}:
	case <-ctx.Done():
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
	select {
	case a := <-answered:
		return a.v, a.err
	case <-ctx.Done():
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// callFailed returns the error of a test whose call has failed.
func (x *test) callFailed(name string, err error) error {
	e := *value.ErrorOf(err, value.Failed)
	text := fmt.Sprintf("%s failed: %s: %s", name, e.Kind.Type(), e.Message())
	if e.Pos.File != "" {
		e.Pos.File = x.slot.suite.files.shown(e.Pos.File)
		text += " (at " + e.Pos.String() + ")"
	}
	failed := &value.Error{Kind: e.Kind, Err: errors.New(text), Hint: e.Hint}
	if !failed.Catchable() {
		failed.Kind = value.Failed
	}
	return failed
}

// note adds an effect to the list of the test.
func (x *test) note(f *tool.Func, e tool.Effect, g tool.Grant) {
	args := &value.Dict{}
	for k, v := range e.Args.All() {
		name, _ := k.(string)
		i := slices.IndexFunc(f.Params, func(p tool.Param) bool { return p.Name == name })
		if i >= 0 && !f.Params[i].Required && value.Equal(f.Params[i].Default, v) {
			continue
		}
		args.Put(name, v)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.effects = append(x.effects, value.NewDict("func", e.Func, "args", args, "tool", g.Call.Tool))
}

// sleep lets the clock of the test advance.
func (x *test) sleep(_ context.Context, d time.Duration) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.now = x.now.Add(d)
	return nil
}
