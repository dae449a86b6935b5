package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Call runs one call of a tool: look up, check, approve, execute, check and
// shape the result. Every failure is a *[tool.Error], and the [tool.Result]
// then holds the same for a reader of its JSON.
//
// Made with the context of an effect, or of a handler in Go, it is a call that
// the other one makes: it may do no more than that may, and those above it.
func (h *Host) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	above, done := h.forWhom(ctx, &c)
	defer done()
	return h.run(ctx, c, above)
}

// run is Call, for the call whose gate is above, if it has one.
func (h *Host) run(ctx context.Context, c tool.Call, above *gate) (tool.Result, error) {
	if h.Events.Wanted() {
		h.emit(tool.CallStart, c, tool.NewDict("arguments", c.Args, "toolName", c.Tool, "reasoning", c.Reasoning))
	}
	out, err := h.call(ctx, c, above)
	if err != nil {
		e := finish(err)
		if open(err) { // it has not ended
			h.emit(tool.CallEnd, c, tool.NewDict("success", false, "result", nil, "preview", e.Message(), "waits", true))
			return tool.Fail(e, out.Usage), e
		}
		if h.Events.Wanted() {
			h.emit(tool.ErrorEvent, c, tool.NewDict("error", e.Message(), "error_type", e.Kind.Type(), "toolName", c.Tool))
		}
		return h.ended(c, tool.Fail(e, out.Usage)), e
	}
	return h.ended(c, tool.Succeed(out)), nil
}

// ended tells that a call has ended, however it did.
func (h *Host) ended(c tool.Call, r tool.Result) tool.Result {
	if h.Events.Wanted() {
		h.emit(tool.CallEnd, c, tool.NewDict("success", r.Success, "result", r.Value, "preview", r.Preview()))
	}
	return r
}

// call is the pipeline itself.
func (h *Host) call(ctx context.Context, c tool.Call, above *gate) (tool.Outcome, error) {
	t, run, err := h.lookup(c.Tool)
	if above != nil && above.root().record != nil {
		t, run, err = above.root().record.tool(ctx, h, &c, t, run, err)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	c.Entry = "" // the other functions of a script are the host's to call
	g := h.gate(t, c, above)
	if err := g.admit(); err != nil {
		return tool.Outcome{}, err
	}
	if err := g.usable(ctx); err != nil {
		return tool.Outcome{}, err
	}
	if g.call.Args, err = h.arguments(t, c); err != nil {
		return tool.Outcome{}, err
	}
	if err := g.approve(ctx); err != nil {
		return tool.Outcome{}, err
	}
	return g.execute(ctx, run)
}

// usable is the host's, but where a record answers nothing is looked at.
func (g *gate) usable(ctx context.Context) error {
	if r := g.root().record; r != nil && r.replay != nil {
		return nil
	}
	return g.host.usable(ctx, g.tool)
}

// arguments checks the arguments of a call and completes them with what the
// host itself provides.
func (h *Host) arguments(t *tool.Tool, c tool.Call) (*tool.Dict, error) {
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
		h.emit(tool.ArgsRead, c, tool.NewDict("notes", notes))
	}
	for _, p := range t.Params {
		if p.FromHost {
			checked.Put(p.Name, h.opts.WorkDir)
		}
	}
	return checked, nil
}

// execute runs a checked and approved call within its limits. What it staged
// is committed after it has returned a valid result, else dropped.
func (g *gate) execute(ctx context.Context, run tool.Runner) (tool.Outcome, error) {
	g.call.Limits = g.host.limits(g.call, g.tool)
	limited := g.wall.start(ctx, g.host.timeout(g.tool))
	defer g.wall.stop()
	if g.tool.Location == tool.Embedded { // a handler in Go can make calls
		limited = g.doneFor(limited, g.call.ID+"/1", g.call.Place.Child(1))
	}
	out, err := g.handled(limited, run)
	if err == nil {
		err = context.Cause(limited) // a result that comes too late is none
	}
	if err == nil {
		out.Value, err = g.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = checkSize(out.Value, g.call.Limits.Result)
	}
	if err == nil {
		err = g.commit(limited, g.call.Place.Child(g.effects+1))
	}
	if err == nil {
		err = g.noteCall(ctx, out.Value)
	}
	if err != nil && ctx.Err() == nil && g.wall.isOver() {
		err = g.wall.err()
	}
	return out, err
}

// handled runs a call. What a handler in Go does is one step of a recorded run,
// since nobody sees inside it.
func (g *gate) handled(ctx context.Context, run tool.Runner) (tool.Outcome, error) {
	r := g.root().record
	if g.tool.Location != tool.Embedded || g.tool.OnlyCalls || r == nil {
		return safely(ctx, run, g.call, g.effect)
	}
	f := &tool.Func{Kind: tool.External}
	if g.tool.Hints.ReadOnly {
		f.Kind = tool.Read
	}
	e := tool.Effect{Func: handlerEffect + "." + g.tool.Name, Args: g.shown().Args, Place: g.call.Place.Child(0)}
	if r.replay != nil {
		return r.replay.effect(ctx, g, f, e, nil)
	}
	entry, known, err := r.known(e)
	switch {
	case err != nil:
		return tool.Outcome{}, err
	case known && !entry.Unknown():
		return g.answered(f, e, &entry)
	case known:
		if err := g.mayRepeat(ctx, f, e, entry.Intended); err != nil {
			return tool.Outcome{}, r.settle(ctx, e.Place, tool.Outcome{}, err)
		}
	}
	if err := r.log.Intend(ctx, intentOf(f, e, false)); err != nil {
		return tool.Outcome{}, unrecorded(err)
	}
	out, err := safely(ctx, run, g.call, g.effect)
	return out, g.settleOrKeep(ctx, f, e.Place, out, err)
}

// handlerEffect is what a handler in Go does, in a record: handler.NAME.
const handlerEffect = "handler"

// safely runs a call; a panic of a tool is its failure, not the program's.
func safely(ctx context.Context, run tool.Runner, c tool.Call, do tool.Effector) (out tool.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tool.Errorf(tool.Internal, "the tool panicked: %v", p)
		}
	}()
	return run(ctx, c, do)
}

// checkSize says whether a result can be passed on: it has a JSON form, and is
// not too long.
func checkSize(v tool.Value, limit int) error {
	switch v := v.(type) {
	case nil, bool, int64:
		return nil
	case string:
		if 6*len(v) <= limit {
			return nil
		}
	}
	text, err := tool.AppendJSON(nil, v)
	if err != nil {
		return tool.Errorf(tool.Failed, "the result cannot be written as JSON: %w", err)
	}
	if len(text) <= limit {
		return nil
	}
	e := tool.Errorf(tool.Limit, "the result is %d KB long, more than %d KB", len(text)>>10, limit>>10).
		WithHint("return less at a time, or write it to a file")
	e.Limit = tool.LimitResult
	return e
}

// usable asks a tool's own function whether it can be used here, and remembers
// the answer until the next search. Only true is a yes.
func (h *Host) usable(ctx context.Context, t *tool.Tool) error {
	if t.Available == "" {
		return nil
	}
	key := tool.Key(t.Name)
	h.mu.Lock()
	err, known := h.available[key]
	h.mu.Unlock()
	if known {
		return err
	}
	if err = h.askAvailable(ctx, t); ctx.Err() != nil {
		return err // nothing has been learned
	}
	h.mu.Lock()
	h.available[key] = err
	h.mu.Unlock()
	return err
}

func (h *Host) askAvailable(ctx context.Context, t *tool.Tool) error {
	_, run, err := h.registry.Lookup(t.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, availableTimeout)
	defer cancel()
	c := tool.Call{ID: h.nextID(), Tool: t.Name, Args: &tool.Dict{}, Entry: t.Available}
	c.Limits = h.limits(c, t)
	g := h.gate(t, c, nil)
	g.looking = true
	out, err := safely(ctx, run, c, g.look)
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the tool '%s' is not available here: %s", t.Name, tool.ErrorOf(err, tool.Internal).Message())
	}
	if out.Value != true {
		return tool.Errorf(tool.Unavailable, "the tool '%s' is not available here: its own check says so", t.Name)
	}
	return nil
}

// availableTimeout is how long a tool's own check may take: it is asked for
// every tool that is listed.
const availableTimeout = 2 * time.Second

// finish makes the error of a call presentable.
func finish(err error) *tool.Error {
	e := *tool.ErrorOf(err, tool.Failed)
	if text := clip(e.Message()); text != e.Message() {
		e.Op, e.Err = "", errors.New(text)
	}
	return &e
}

// emit tells an event of a call.
func (h *Host) emit(kind tool.EventType, c tool.Call, data *tool.Dict) {
	h.Events.Emit(tool.Event{Type: kind, Time: time.Now(), Call: c.ID, Tool: c.Tool, Data: data})
}
