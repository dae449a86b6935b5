package gate

import (
	"context"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Make makes the call, through the middleware if there is one, and emits its events.
func (of Request) Make(ctx context.Context) (tool.Result, error) {
	r, c, above := of.run, of.call, of.above
	if !of.inside {
		if of.wraps = above.middleware(); r.gate.Middleware != nil || of.wraps != nil {
			return of.makeWrapped(ctx)
		}
	}
	if of.check != nil {
		if err := of.check(ctx, c.Tool); err != nil {
			return Failed(err)
		}
	}
	events := subject{r, above, &c}
	if events.hasReaders() {
		events.emit(tool.ToolCallStart{Args: c.Args, Reasoning: c.Reasoning})
	}
	start, ended := time.Now(), false
	defer func() {
		if !ended { // a panic, which is not recovered here
			events.ended(start, 0, tool.Fail(errPanicked, tool.Usage{}), errPanicked, false, "")
		}
	}()
	out, told, err := of.carryOut(ctx, events.hasReaders())
	ended = true
	if err != nil {
		e := r.callError(err, above)
		result := tool.Fail(e, out.Usage)
		waits := r.leavesOpen(e) && !r.stopped.Cancelled() // the call has not ended
		events.ended(start, told.waited, result, e, waits, "")
		if e.Limit == value.LimitWorker {
			r.gate.Logger.Warn("a worker was killed", "run", r.ID, "call", c.ID, "tool", c.Tool)
		}
		return result, e
	}
	result := tool.Succeed(out)
	result.Shown, result.Notes = told.text, told.notes
	if told.display != nil {
		result.Display = *told.display
	}
	events.ended(start, told.waited, result, nil, false, told.why)
	return result, nil
}

var errPanicked = value.Errorf(value.Internal, "the call panicked")

// ended emits the end of a call, which waited so long for people. waits says that the run was parked instead, and unshown is why
// the tool's own preview failed.
func (s subject) ended(start time.Time, waited time.Duration, result tool.Result, e *value.Error, waits bool, unshown string) {
	if !s.hasReaders() {
		return
	}
	if e != nil && !waits {
		s.emit(tool.ErrorEvent{Error: e.Message(), ErrorType: e.Kind.Type()})
	}
	end := tool.ToolCallEnd{Success: result.Success, Result: result.Value, Duration: time.Since(start) - waited, Waited: waited, Usage: result.Usage, Err: e, Waits: waits, Shown: result.Shown != "", Unshown: unshown}
	if end.Preview = result.Preview(); waits {
		end.Preview = e.Message()
	}
	s.emit(end)
}

// maxAgain is how often a call is made again because files were changed meanwhile: each time, somebody else
// has got on.
const maxAgain = 20

// A reply is what is known of a call beside its outcome.
type reply struct {
	preview
	notes   string        // on its result, a line for each
	display *value.List   // of its result, or nil
	waited  time.Duration // for people
}

// carryOut looks up the tool of a call, and checks, approves and executes the call. It makes the call again,
// as a step inside it, if it did nothing since others have changed its files meanwhile. It previews the
// result if somebody watches.
func (of Request) carryOut(ctx context.Context, watched bool) (tool.Outcome, reply, error) {
	var told reply
	r, c := of.run, of.call
	t, runner, err := r.tools.Find(ctx, c.Tool, c.StepPath)
	if err != nil {
		return tool.Outcome{}, told, err
	}
	c.Entry = "" // only the host calls the other functions of a script
	var before *Pass
	for n := 0; ; n++ {
		p := r.newPass(t, c, of.above)
		if before != nil {
			if of.turn != nil {
				of.turn()
			}
			p.call.Args, p.consent = before.call.Args, before.consent.again()
		}
		next, err := p.nextAttempt()
		if err != nil {
			return tool.Outcome{}, told, err
		}
		out, shown, err := p.try(ctx, runner, attempt{first: before == nil, givenUp: next > 0, read: of.read}, watched)
		told.waited += p.waited.sum()
		switch {
		case next > 0 && err == nil:
		case n >= of.again || !filesChanged(err) || ctx.Err() != nil:
			told.preview, told.notes, told.display = shown, p.said.notes, p.said.display
			return out, told, err
		default:
			if next, err = p.giveUp(ctx); err != nil {
				return tool.Outcome{}, told, err
			}
		}
		if err := p.recallChanges(ctx, next); err != nil {
			return tool.Outcome{}, told, err
		}
		before, c.StepPath = p, c.StepPath.Child(next)
	}
}

// An attempt says which of the attempts to make a call is made.
type attempt struct {
	first   bool // the call still has to be approved
	givenUp bool // an earlier process has given it up: it is not executed
	read    *Read
}

// try checks and executes a call.
func (p *Pass) try(ctx context.Context, runner tool.Runner, is attempt, watched bool) (tool.Outcome, preview, error) {
	r := p.Run
	if err := p.admitCall(); err != nil {
		return tool.Outcome{}, preview{}, err
	}
	limited := p.wall.Open(p.within(ctx))
	defer p.wall.Stop()
	defer p.release()
	if p.above == nil {
		r.gate.Inflight.Watch(&p.wall)
		defer r.gate.Inflight.Forget(&p.wall)
	}
	if is.first {
		if err := p.prepare(limited, runner, is.read); err != nil {
			return tool.Outcome{}, preview{}, err
		}
	}
	if is.givenUp {
		return tool.Outcome{}, preview{}, nil
	}
	out, err := p.execute(ctx, limited, runner)
	if err != nil || !watched || p.tool.Preview == "" {
		return out, preview{}, err
	}
	return out, p.runPreview(ctx, runner, out.Value), nil
}

// prepare checks whether a call can be made, whose arguments may be read already, and asks for approval.
func (p *Pass) prepare(ctx context.Context, runner tool.Runner, read *Read) (err error) {
	if err = p.Run.tools.Usable(ctx, p.tool, runner); err != nil {
		return err
	}
	if p.call.Args, err = p.readArguments(&p.call, read); err != nil {
		return err
	}
	return p.approve(ctx)
}

// readArguments checks the arguments of a call, unless read is of the same tool, and adds those that the host
// provides.
func (p *Pass) readArguments(c *tool.Call, read *Read) (checked *value.Dict, err error) {
	var notes []string
	if read != nil && read.Tool == p.tool {
		checked, notes = read.Args, read.Notes
	} else if checked, notes, err = p.tool.ReadArgs(c); err != nil {
		return nil, err
	}
	if len(notes) > 0 {
		p.emit(tool.ArgsRead{Notes: notes})
	}
	for _, param := range p.tool.Params {
		if param.FromHost {
			checked.Put(param.Name, p.Run.gate.WorkDir)
		}
	}
	return checked, nil
}

// execute runs a checked and approved call within its limits. ctx is the context of the
// caller, and limited one that also ends with the wall time. After a valid result, execute
// commits what the call has staged; otherwise the stage is dropped.
func (p *Pass) execute(ctx, limited context.Context, runner tool.Runner) (tool.Outcome, error) {
	bounds := &p.now.Bounds
	p.call.Limits = bounds.Of(p.call, p.tool.Tool)
	p.Run.gate.Inflight.Start(&p.wall, bounds.Time(p.tool.Tool))
	if p.tool.Location == tool.Embedded { // a handler in Go can make calls
		if !p.tool.OnlyCalls && !p.tool.Hints.ReadOnly {
			p.act()
		}
		limited = p.contextFor(limited, p.call.ID+"/1", p.call.StepPath.Child(1))
	}
	var out tool.Outcome
	var err error
	if p.inOneStep() {
		out, err = p.runStep(limited, runner)
	} else {
		out, err = p.run(limited, runner, p.perform)
	}
	p.emitProfile(out)
	err = p.markResult(ctx, err)
	if err == nil {
		err = context.Cause(limited) // a late result is dropped
	}
	if err == nil {
		out.Value, err = p.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = p.call.Limits.CheckResult(out.Value)
	}
	if err == nil {
		err = p.commitIn(p.call.StepPath, p.quota.effects+1).carryOut(limited)
	}
	if err == nil {
		err = p.Run.waits.Settle(ctx, p.call.StepPath)
	}
	if err == nil {
		err = p.noteCall(ctx, out.Value)
	}
	if err == nil && p.above == nil && p.said.notes != "" {
		err = p.Run.note(ctx, p.call.StepPath, value.NewDict(NoteNotes, p.said.notes))
	}
	cause := context.Cause(limited)
	switch {
	case err == nil || cause == nil:
	case errors.Is(cause, value.ErrClosed), ctx.Err() == nil && value.KindOf(err) != value.Busy:
		err = cause // the call timed out, and not while it waited for a worker
	}
	if p.acted.Load() && filesChanged(err) {
		err = value.ErrorOf(err, value.Conflict).WithLimit("")
	}
	return out, err
}

// The recorded names of the steps of a tool written in Go: handler.NAME is a call, and
// undo_handler.NAME the undo of one.
const (
	handlerEffect     = "handler"
	undoHandlerEffect = "undo_handler"
)

// inOneStep reports whether the call is one step of a recorded run: a handler in Go is, since its effects do
// not pass the gate, unless it acts by steps. So is its undo, which always counts as external: OnlyCalls and Hints
// describe the handler.
func (p *Pass) inOneStep() bool {
	return p.tool.Location == tool.Embedded && (!p.tool.Repeats() || p.call.Entry != "")
}

// runStep runs a call that is one step. Its path ends in 0.0, which no other step has: the commit of the call is at 0, and
// the calls of the handler are at 1 and above.
func (p *Pass) runStep(ctx context.Context, runner tool.Runner) (tool.Outcome, error) {
	f, name := &tool.Func{Kind: tool.External, Reported: p.tool.CheckResult}, handlerEffect
	switch {
	case p.call.Entry != "":
		name, f.Reported = undoHandlerEffect, nil
	case p.tool.Hints.ReadOnly:
		f.Kind = tool.Read
	}
	e := tool.Effect{Func: name + "." + p.tool.Name, Args: p.shown().Args, StepPath: p.call.StepPath.Child(0).Child(0)} // the caller commits at step 0
	s := &step{of: p, effect: e, fn: f}
	if out, done, err := s.recall(ctx); done || err != nil {
		return out, err
	}
	if err := s.intend(ctx, false); err != nil {
		return tool.Outcome{}, err
	}
	out, err := p.run(ctx, runner, p.perform)
	return out, s.settle(ctx, out, err)
}

// run runs the call, which asks do for its effects. A panic becomes an error of the tool.
func (p *Pass) run(ctx context.Context, runner tool.Runner, do tool.Effector) (out tool.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.Run.gate.panicked("the tool", p.tool.Name, v)
		}
	}()
	return runner(ctx, p.call, do)
}

// Presentable returns the error of a call for its caller, with its text clipped.
func Presentable(err error) *value.Error {
	e := *value.ErrorOf(err, value.Failed)
	if text := clip(e.Message()); text != e.Message() {
		e.Op, e.Err = "", errors.New(text)
	}
	return &e
}

// The names in the note of a call that can be undone.
const (
	NoteUndo   = "undo"
	NoteArgs   = "args"
	NoteResult = "result"
)

// NoteNotes is the name of the notes on the result of a run that is a call.
const NoteNotes = "result_notes"

// noteCall records how a call can be undone, if its tool declares that.
func (p *Pass) noteCall(ctx context.Context, v value.Value) error {
	if p.tool.Undo == "" || len(p.call.StepPath) == 0 {
		return nil
	}
	return p.Run.note(ctx, p.call.StepPath, value.NewDict(NoteUndo, p.tool.Name, NoteArgs, p.shown().Args, NoteResult, v))
}

// Result returns the result of a call from its outcome or its error.
func Result(out tool.Outcome, err error) (tool.Result, error) {
	if err != nil {
		e := Presentable(err)
		return tool.Fail(e, out.Usage), e
	}
	return tool.Succeed(out), nil
}

// Failed returns the result of a call that fails with an error.
func Failed(err error) (tool.Result, error) { return Result(tool.Outcome{}, err) }

// clip returns the part of a text that errors and records keep.
func clip(text string) string { return value.Clean(text, value.MaxErrorText) }

// CallUndo calls the function with which a tool undoes one of its calls, on behalf of the
// call of the pass. It is checked and approved like a call. own describes the function, and
// registered is the tool.
func (p *Pass) CallUndo(ctx context.Context, own, registered *Callee, tools Tools, c tool.Call, runner tool.Runner) (tool.Outcome, error) {
	undo := p.Run.newPass(own, c, p)
	if err := undo.admitCall(); err != nil {
		return tool.Outcome{}, err
	}
	limited := undo.wall.Open(undo.within(ctx))
	defer undo.wall.Stop()
	defer undo.release()
	if err := tools.Usable(limited, registered, runner); err != nil {
		return tool.Outcome{}, err
	}
	if err := undo.approve(limited); err != nil {
		return tool.Outcome{}, err
	}
	return undo.execute(ctx, limited, runner)
}

// Probe calls the function of a tool that reports whether the tool can be used here. That
// is not part of a call: the function may only read, and nobody is asked for approval.
func (g *Gate) Probe(ctx context.Context, tools Tools, t *Callee, run tool.Runner) (tool.Outcome, error) {
	ctx = &callContext{Context: ctx, gate: g}
	c := tool.Call{ID: g.nextID(), Tool: t.Name, Args: &value.Dict{}, Entry: t.Available}
	c.Limits = g.look().Bounds.Of(c, t.Tool)
	probe := func() (tool.Outcome, error) {
		p := g.NewRun(c.ID, tools, nil).newPass(t, c, nil)
		p.consent.probe = true
		defer p.release()
		return p.run(p.within(ctx), run, p.probe)
	}
	out, err := probe()
	if e := value.ErrorOf(err, value.Internal); e != nil && e.Limit == value.LimitWorker {
		out, err = probe() // a killed worker is not an answer
	}
	return out, err
}
