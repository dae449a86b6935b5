package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Call runs one call of a tool: look up, check, approve, execute, check and
// shape the result. Every failure is a *[value.Error], and the [tool.Result]
// then holds the same for a reader of its JSON.
//
// Made with the context of an effect, or of a handler in Go, it is a call that
// the other one makes: it may do no more than that may, and those above it.
func (h *Host) Call(ctx context.Context, c tool.Call, opts ...CallOption) (tool.Result, error) {
	o, err := readOptions(opts)
	if err != nil {
		return failedResult(err)
	}
	above, done := h.forWhom(ctx, &c)
	defer done()
	switch {
	case above == nil:
	case o.inside() != nil:
		return failedResult(o.inside())
	default:
		return above.run.call(ctx, c, above)
	}
	if err := h.inflight.Enter(); err != nil {
		return failedResult(err)
	}
	defer h.inflight.Leave()
	if o.durable {
		return h.callDurable(ctx, c, o)
	}
	if h.middleware != nil { // which may wait itself
		var done func()
		ctx, done = h.inflight.Until(ctx)
		defer done()
	}
	r := h.newRun(ctx, c.ID)
	if o.narrow != nil {
		r.rules = slices.Concat(r.rules, o.narrow)
	}
	return r.call(ctx, c, nil)
}

// made makes the call and emits its events.
func (of called) made(ctx context.Context) (tool.Result, error) {
	r, c, above := of.run, of.call, of.above
	if of.check != nil {
		if err := of.check(ctx, c.Tool); err != nil {
			return failedResult(err)
		}
	}
	events := subject{r, above, &c}
	if events.wanted() {
		events.emit(tool.ToolCallStart{Args: c.Args, Reasoning: c.Reasoning})
	}
	start, ended := time.Now(), false
	defer func() {
		if !ended { // a panic, which is not recovered here
			events.ended(start, tool.Fail(errPanicked, tool.Usage{}), errPanicked, false)
		}
	}()
	out, err := r.pipeline(ctx, c, above)
	ended = true
	if err != nil {
		e := r.presented(err, above)
		result := tool.Fail(e, out.Usage)
		waits := r.leavesOpen(e) && !r.stopped.cancelled() // it has not ended
		events.ended(start, result, e, waits)
		if e.Limit == value.LimitWorker {
			r.host.log().Warn("a worker was killed", "run", r.id, "call", c.ID, "tool", c.Tool)
		}
		return result, e
	}
	result := tool.Succeed(out)
	events.ended(start, result, nil, false)
	return result, nil
}

var errPanicked = value.Errorf(value.Internal, "the call panicked")

// ended reports that a call has ended, however it did.
func (s subject) ended(start time.Time, result tool.Result, e *value.Error, waits bool) {
	if !s.wanted() {
		return
	}
	if e != nil && !waits {
		s.emit(tool.ErrorEvent{Error: e.Message(), ErrorType: e.Kind.Type()})
	}
	end := tool.ToolCallEnd{Success: result.Success, Result: result.Value, Duration: time.Since(start), Usage: result.Usage, Err: e, Waits: waits}
	if end.Preview = result.Preview(); waits {
		end.Preview = e.Message()
	}
	s.emit(end)
}

// pipeline looks a call up, checks, approves and executes it.
func (r *run) pipeline(ctx context.Context, c tool.Call, above *pass) (tool.Outcome, error) {
	p := &pass{run: r, above: above, call: c}
	t, runner, err := r.tools.find(ctx, &p.call)
	if err != nil {
		return tool.Outcome{}, err
	}
	p.tool, p.call.Entry = t, "" // the other functions of a script are the host's to call
	p.isRoot()
	if err := p.admitCall(); err != nil {
		return tool.Outcome{}, err
	}
	limited := p.wall.Open(ctx)
	defer p.wall.Stop()
	if above == nil {
		r.host.inflight.Watch(&p.wall)
		defer r.host.inflight.Forget(&p.wall)
	}
	if err := prepare(limited, p, runner); err != nil {
		return tool.Outcome{}, err
	}
	return p.execute(ctx, limited, runner)
}

// prepare checks whether a call can be made, and approves it.
func prepare(ctx context.Context, p *pass, runner tool.Runner) (err error) {
	if err = p.run.host.usable(ctx, p.run.tools.catalog(), p.tool, runner); err != nil {
		return err
	}
	if p.call.Args, err = readArguments(p, &p.call); err != nil {
		return err
	}
	return p.approve(ctx)
}

// readArguments checks the arguments of a call and completes them with what the
// host itself provides.
func readArguments(p *pass, c *tool.Call) (*value.Dict, error) {
	t := p.tool
	args, notes := c.Args, t.Renamed(c.Args)
	if c.Texts {
		var read []string
		args, read = t.Coerce(args)
		notes = append(notes, read...)
	}
	checked, err := t.Check(args)
	if err != nil {
		return nil, err
	}
	if len(notes) > 0 {
		p.emit(tool.ArgsRead{Notes: notes})
	}
	for _, param := range t.Params {
		if param.FromHost {
			checked.Put(param.Name, p.run.host.opts.WorkDir)
		}
	}
	return checked, nil
}

// execute runs a checked and approved call within its limits: the context limited
// ends with its wall, ctx with whoever made it. What it staged is committed after
// it has returned a valid result, else dropped.
func (p *pass) execute(ctx, limited context.Context, runner tool.Runner) (tool.Outcome, error) {
	p.call.Limits = p.run.host.limits(p.call, p.tool)
	p.run.host.inflight.Start(&p.wall, p.run.host.timeout(p.tool))
	if p.tool.Location == tool.Embedded { // a handler in Go can make calls
		limited = p.doneFor(limited, p.call.ID+"/1", p.call.Place.Child(1))
	}
	out, err := p.handle(limited, runner)
	if err == nil {
		err = context.Cause(limited) // a result that comes too late is not one
	}
	if err == nil {
		out.Value, err = p.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = checkSize(out.Value, p.call.Limits.Result)
	}
	if err == nil {
		err = p.commitIn(p.call.Place, p.quota.effects+1).carryOut(limited)
	}
	if err == nil {
		err = noteCall(ctx, p, out.Value)
	}
	cause := context.Cause(limited)
	switch {
	case err == nil || cause == nil:
	case errors.Is(cause, value.ErrClosed), ctx.Err() == nil && value.KindOf(err) != value.Busy:
		err = cause // the time ran out, but not while it waited for a worker
	}
	return out, err
}

// The names of the steps of a tool written in Go in a record: handler.NAME is a
// call of it, and undo_handler.NAME the undo of one.
const (
	handlerEffect     = "handler"
	undoHandlerEffect = "undo_handler"
)

// handle runs a call. What a handler in Go does is one step of a recorded run,
// since nothing inside it can be seen. The same holds for its undo, which always
// has an effect outside: OnlyCalls and Hints are about the handler.
func (p *pass) handle(ctx context.Context, runner tool.Runner) (tool.Outcome, error) {
	undoes := p.call.Entry != ""
	if p.tool.Location != tool.Embedded || p.tool.OnlyCalls && !undoes {
		return safely(ctx, p, runner, p.perform)
	}
	f, name := &tool.Func{Kind: tool.External}, handlerEffect
	switch {
	case undoes:
		name = undoHandlerEffect
	case p.tool.Hints.ReadOnly:
		f.Kind = tool.Read
	}
	e := tool.Effect{Func: name + "." + p.tool.Name, Args: p.shown().Args, Place: p.call.Place.Child(0).Child(0)} // at 0 its caller commits
	s := &step{of: p, effect: e, fn: f}
	if out, done, err := s.recall(ctx); done || err != nil {
		return out, err
	}
	if err := s.intend(ctx, false); err != nil {
		return tool.Outcome{}, err
	}
	out, err := safely(ctx, p, runner, p.perform)
	return out, s.settle(ctx, out, err)
}

// safely runs the call of a pass; a panic of a tool is its failure, not the program's.
func safely(ctx context.Context, p *pass, run tool.Runner, do tool.Effector) (out tool.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.run.host.panicked("the tool", p.tool.Name, v)
		}
	}()
	return run(ctx, p.call, do)
}

// checkSize says whether a result can be passed on: it has a JSON form, and is
// not too long.
func checkSize(v value.Value, limit int) error {
	if jsonFits(v, limit) >= 0 {
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return value.Errorf(value.Failed, "the result cannot be written as JSON: %w", err)
	}
	if len(text) <= limit {
		return nil
	}
	e := value.Errorf(value.Limit, "the result is %d KB long, more than %d KB", len(text)>>10, limit>>10).
		WithHint("return less at a time, or write it to a file")
	e.Limit = "result"
	return e
}

// jsonFits returns what is left of so many bytes once a value is written as JSON, or
// less. It is negative where the value may not fit, or not have a JSON form at all:
// only what most results consist of is looked at.
func jsonFits(v value.Value, bytes int) int {
	switch v := v.(type) {
	case nil, bool, int64:
		return bytes - len("-9223372036854775808")
	case string:
		return bytes - len(`""`) - len(`\u0000`)*len(v)
	case *value.Dict:
		bytes -= len("{}")
		for name, x := range v.All() {
			if _, isText := name.(string); !isText || bytes < 0 {
				return -1
			}
			bytes = jsonFits(x, jsonFits(name, bytes)-len(":,"))
		}
		return bytes
	}
	return -1
}

// usable asks a tool's own function whether it can be used here, and caches the
// answer until the next [Host.Refresh]. Who asks meanwhile waits for the same answer. Nil
// for run is the runner of the
// registered tool.
func (h *Host) usable(ctx context.Context, c *catalog, t *tool.Tool, run tool.Runner) error {
	if t.Available == "" {
		return nil
	}
	for {
		known, other, err := c.answers.begin(t)
		if known {
			return err
		}
		if other == nil {
			break
		}
		if err := other.await(ctx, t); err != nil {
			return err
		}
	}
	err := h.askAvailable(ctx, c, t, run)
	c.answers.end(t, err, ctx.Err() == nil) // one that was canceled did not answer
	return err
}

// listable is usable for a list of tools. A closed host asks nobody any more.
func (h *Host) listable(c *catalog, t *tool.Tool) error {
	if t.Available == "" {
		return nil
	}
	if err := h.inflight.Enter(); err != nil {
		return c.answers.known(t)
	}
	defer h.inflight.Leave()
	ctx, done := h.inflight.Until(context.Background())
	defer done()
	return h.usable(ctx, c, t, nil)
}

// askAvailable calls the function of the tool. Of a script only true is a yes.
func (h *Host) askAvailable(ctx context.Context, now *catalog, t *tool.Tool, run tool.Runner) error {
	if run == nil {
		o, err := now.lookup(t.Name)
		if err != nil {
			return err
		}
		run = o.run
	}
	ctx, cancel := context.WithTimeoutCause(ctx, availableTimeout, value.Errorf(value.Timeout, "its own check took longer than %v", availableTimeout))
	defer cancel()
	ctx = &callContext{Context: ctx, host: h} // it is no part of a call
	c := tool.Call{ID: h.nextID(), Tool: t.Name, Args: &value.Dict{}, Entry: t.Available}
	c.Limits = h.limits(c, t)
	ask := func() (tool.Outcome, error) {
		p := h.newRun(ctx, c.ID).newPass(t, c, nil)
		p.consent.probe = true
		return safely(ctx, p, run, p.look)
	}
	out, err := ask()
	if e := value.ErrorOf(err, value.Internal); e != nil && e.Limit == value.LimitWorker {
		out, err = ask() // its worker was killed, which is no answer
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return notAvailable(t, err)
	}
	if out.Value != true {
		return value.Errorf(value.Unavailable, "the tool '%s' is not available here: its own check says so", t.Name)
	}
	return nil
}

// notAvailable is the error of a tool that cannot be used here. A tool written
// in Go chooses its kind, except Parked: no run waits for a check.
func notAvailable(t *tool.Tool, err error) error {
	e, kind := value.ErrorOf(err, value.Unavailable), value.Unavailable
	if t.Location == tool.Embedded && e.Kind != value.Parked {
		kind = e.Kind
	}
	unavailable := value.Errorf(kind, "the tool '%s' is not available here: %s", t.Name, e.Message())
	unavailable.Hint = e.Hint
	return unavailable
}

// availableTimeout is how long a tool's own check may take: it is asked for
// every tool that is listed.
const availableTimeout = 2 * time.Second

// finish makes the error of a call presentable.
func finish(err error) *value.Error {
	e := *value.ErrorOf(err, value.Failed)
	if text := clip(e.Message()); text != e.Message() {
		e.Op, e.Err = "", errors.New(text)
	}
	return &e
}
