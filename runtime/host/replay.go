package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Replay is how a recorded run is executed again from its record alone: without effects,
// without questions, and without recording anything.
type Replay struct {
	// Program is the program of the run, with the ID of the run. Its script and arguments
	// come from the record.
	Program *Program
	// With is a script that replaces the tool of its name, or the program itself if Root
	// is set. Nil replaces nothing.
	With *tool.Script
	Root bool
	// From is the first step at which With is used.
	From tool.StepPath
}

// Replayed is the result of a [Replay].
type Replayed struct {
	Outcome tool.Outcome
	Err     error // of the script; of the record if Ended is set
	history.Replayed
	// Ended reports that the record had no answer to an effect.
	Ended bool
	// Used reports that With was used.
	Used bool
}

// Replay executes a recorded run again from its record, and returns how that ended. The error is
// why the replay could not begin: of kind NotFound for an unknown run, and Invalid if the host has
// no store.
func (h *Host) Replay(ctx context.Context, o Replay) (*Replayed, error) {
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	log, err := j.Read(ctx, o.Program.ID)
	if err != nil {
		return nil, err
	}
	r := &replaying{Replay: o, record: history.NewReplay(log, o.With != nil, o.From), pins: pins{host: h, record: log, catalog: h.tools(ctx)}}
	r.run = h.gate.NewReplay(o.Program.ID, r.record, r)
	if err := r.run.ReadNotes(ctx, r.take); err != nil {
		return nil, err
	}
	p := *o.Program
	p.Script, p.Args, p.Resume = log.Script(), log.Run().Args, false
	if o.With != nil && o.Root {
		p.Script, r.used = *o.With, true
	}
	p.replay = r
	out, err := h.RunProgram(context.WithValue(ctx, replayKey{}, p.ID), &p)
	result := &Replayed{Outcome: out, Err: err, Replayed: r.record.Outcome(), Used: r.used}
	if e := value.ErrorOf(err, value.Failed); e != nil && e.Limit == value.LimitRecord {
		result.Ended = true
	}
	return result, nil
}

// replayOf returns the ID of the run whose replay a context belongs to, or "".
func replayOf(ctx context.Context) string {
	id, _ := ctx.Value(replayKey{}).(string)
	return id
}

// replayKey is the key of the ID of a run in the context of its replay.
type replayKey struct{}

// notes returns the notes of a recorded run. It fails with kind NotFound for an unknown ID, and
// with Failed if the record is damaged.
func (h *Host) notes(ctx context.Context, runID string) (notes []*value.Dict, err error) {
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	log, err := j.Read(ctx, runID)
	if err != nil {
		return nil, err
	}
	for n, err := range log.Notes() {
		if err != nil {
			return nil, gate.Unrecorded(err)
		}
		notes = append(notes, n)
	}
	return notes, nil
}

// A replaying is a run whose effects its record answers. It ignores the current rules, trust and
// availability of tools: the record has the refusals, and nothing else is reached.
type replaying struct {
	Replay
	pins
	run    *gate.Run
	record *history.Replay
	used   bool // With was used; guarded by pins.mu
}

// Find implements [gate.Tools] for a replay.
func (r *replaying) Find(ctx context.Context, name string, at tool.StepPath) (*gate.Callee, tool.Runner, error) {
	t, runner, err := r.findThen(ctx, name, at)
	if err != nil {
		return nil, nil, err
	}
	then := *t.Tool
	then.Available = ""
	return &gate.Callee{Tool: &then, Location: t.Location, Path: t.Path, Hash: t.Hash, Granted: t.Granted}, runner, nil
}

// findThen returns a tool as it was when the run called it, or its replacement.
func (r *replaying) findThen(ctx context.Context, name string, at tool.StepPath) (*gate.Callee, tool.Runner, error) {
	if err := r.record.Refused(at, name); err != nil {
		return nil, nil, err
	}
	key := tool.Key(name)
	current, runner, err := r.catalog.Find(ctx, name, at)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.With != nil && !r.Root && r.record.Forked(at) && key == tool.Key(r.With.Name) {
		r.used = true
		return replaced(ctx, r.host, r.With)
	}
	if pin := r.tools[key]; pin != nil {
		if err == nil && current.Hash != pin.hash {
			err = value.Errorf(value.NotFound, "the tool '%s' has changed", current.Name) // also one that is untrusted
		}
		then, runner, err := r.pinned(ctx, pin, current, runner, err)
		if err != nil {
			return nil, nil, err
		}
		return unhurried(then), runner, nil
	}
	return current, runner, err
}

// unhurried returns a tool with higher limits. The record has which calls reached theirs; the
// others may have had higher ones than the tool declares now, or run on a faster machine.
func unhurried(t *gate.Callee) *gate.Callee {
	callee, declared := *t, *t.Tool
	l := declared.Limits.Or(tool.DefaultLimits())
	declared.Limits = tool.Limits{Steps: 100 * l.Steps, CPU: 100 * l.CPU, Memory: 4 * l.Memory, Result: 4 * l.Result}
	callee.Tool = &declared
	return &callee
}

// replaced returns the tool of a script that replaces another one in a replay.
func replaced(ctx context.Context, h *Host, s *tool.Script) (*gate.Callee, tool.Runner, error) {
	d, err := h.Describe(ctx, *s)
	if err != nil {
		return nil, nil, err
	}
	t := &gate.Callee{Tool: &d.Tool, Location: tool.Project, Path: s.Path, Granted: d.Needs} // it can reach nothing but the record
	return t, h.boxes.Runner(t.Location, t.Limits, func() (tool.Script, error) { return *s, nil }), nil
}
