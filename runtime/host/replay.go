package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Replay says how a recorded run is executed again from its record alone:
// nothing is done, nobody is asked, and nothing is recorded.
type Replay struct {
	// Program is that of the run, with its ID; its script and arguments are those
	// of the record.
	Program *Program
	// With is a script that takes the place of one of the run's: of the tool of
	// its name, or where Root is set of the program itself. Nil replaces nothing.
	With *tool.Script
	Root bool
	// From is the first step at which With is used.
	From tool.Place
}

// Replayed is what came of a [Replay].
type Replayed struct {
	Outcome tool.Outcome
	Err     error // of the script, or of the record where Ended is set
	history.Replayed
	// Ended reports that the record had nothing more to answer with.
	Ended bool
	// Used reports that With was.
	Used bool
}

// A Difference is a call with another outcome than the record's.
type Difference = history.Difference

// Replay executes a recorded run again, offline. The error says why it could not
// begin; the result says how it ended.
func (h *Host) Replay(ctx context.Context, o Replay) (*Replayed, error) {
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	log, err := j.Read(ctx, o.Program.ID)
	if err != nil {
		return nil, err
	}
	r := &replaying{Replay: o, record: history.NewReplay(log, o.With != nil, o.From), pins: pins{host: h, record: log, now: h.tools(ctx)}}
	r.run = &run{host: h, id: o.Program.ID, record: r.record, tools: r, approver: ApproveAll()}
	if err := r.run.resume(ctx, &r.pins, false); err != nil {
		return nil, err
	}
	p := *o.Program
	p.Script, p.Args, p.Resume = log.Script(), log.Run().Args, false
	if o.With != nil && o.Root {
		p.Script, r.used = *o.With, true
	}
	p.replay = r
	out, err := h.RunProgram(ctx, &p)
	result := &Replayed{Outcome: out, Err: err, Replayed: r.record.Outcome(), Used: r.used}
	if e := value.ErrorOf(err, value.Failed); e != nil && e.Limit == value.LimitRecord {
		result.Ended = true
	}
	return result, nil
}

// A replaying run is one whose effects its record answers. No rules hold, no
// tool is untrusted or unavailable, and what was not refused then is approved:
// it reaches nothing but the record, whatever holds now.
type replaying struct {
	Replay
	pins
	run    *run
	record *history.Replay
	used   bool // With was, guarded by pins.mu
}

// find is the [finder] of a replay.
func (r *replaying) find(ctx context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error) {
	t, runner, err := r.findThen(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	then := *t
	then.State, then.Available = tool.Ready, ""
	return &then, runner, nil
}

// findThen returns a tool as it was when the run called it, or its replacement.
func (r *replaying) findThen(ctx context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error) {
	if err := r.record.Refused(c.Place, c.Tool); err != nil {
		return nil, nil, err
	}
	key := tool.Key(c.Tool)
	current, runner, err := r.now.find(ctx, c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.With != nil && !r.Root && r.record.Forked(c.Place) && key == tool.Key(r.With.Name) {
		r.used = true
		return r.host.replaced(ctx, r.With)
	}
	if pin := r.tools[key]; pin != nil {
		return r.pinned(ctx, pin, current, runner, err)
	}
	return current, runner, err
}

// replaced makes a tool of the script that a replay has in its place.
func (h *Host) replaced(ctx context.Context, s *tool.Script) (*tool.Tool, tool.Runner, error) {
	t, err := h.Describe(ctx, *s)
	if err != nil {
		return nil, nil, err
	}
	t.Location, t.Path, t.State, t.Granted = tool.Project, s.Path, tool.Ready, t.Needs // it can reach nothing but the record
	return &t, h.scriptRunner(t.Location, t.Limits, func() (tool.Script, error) { return *s, nil }), nil
}
