package runtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A run is what a root call or program shares with all that it calls.
type run struct {
	host      *Host
	id        string
	record    history.Record // [history.None] where nothing is recorded
	find      finder         // the tools that it calls
	rules     []tool.Rule    // none in a replay, of which the record decides
	approve   Approve        // nil: nobody approves anything
	approvals *approvals     // those that hold permanently
	parks     bool           // what nobody answers parks it
	root      *pass          // of the root call or program, once that is admitted

	effects atomic.Int32 // how many it has asked for, with all that it calls

	mu    sync.Mutex
	waits error // with which it is about to park, or nil: nobody else is asked
}

// A finder returns a tool by the name in a call, and how it is run.
type finder func(ctx context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error)

// newRun returns a run that is not recorded.
func (h *Host) newRun(id string) *run {
	return &run{host: h, id: id, record: history.None{}, find: h.find, rules: h.rules, approve: h.opts.Approve, approvals: &h.approvals}
}

// find is the [finder] of what is there now.
func (h *Host) find(_ context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error) {
	return h.lookup(c.Tool)
}

// open begins the record of a program that has a kind, where the host has a
// journal, or resumes it: then script and arguments are those of the record.
func (r *run) open(ctx context.Context, p *Program, c *tool.Call) (err error) {
	h := r.host
	if h.opts.Journal == nil || p.Kind == "" {
		if p.Resume {
			return tool.Errorf(tool.Invalid, "the host has no journal to resume '%s' from", p.ID)
		}
		return nil
	}
	var log *history.Log
	if p.Resume {
		log, err = h.opts.Journal.Resume(ctx, p.ID)
	} else {
		id := c.ID
		if p.ID == "" {
			id = "" // the journal makes up a better one
		}
		log, err = h.opts.Journal.Begin(ctx, history.Run{ID: id, Kind: p.Kind, Title: p.Title, Args: p.Args, Options: p.Options}, p.Script)
	}
	if err != nil {
		return err
	}
	c.ID = log.Run().ID
	if p.Resume {
		p.Script, c.Args = log.Script(), log.Run().Args
	}
	return r.keep(ctx, log, p.Resume)
}

// keep has the run kept in a record, which an earlier process may have begun.
func (r *run) keep(ctx context.Context, log *history.Log, resumed bool) error {
	pins := &pins{host: r.host, record: log, tools: map[string]*pinned{}}
	r.record, r.id, r.find = log, log.Run().ID, pins.find
	if !resumed {
		return nil
	}
	if err := r.resume(ctx, pins, true); err != nil {
		_ = log.Close() // the run is not executed
		return err
	}
	return nil
}

// settle records what came of an effect, unless that is still open, and returns
// its error, or that it could not be recorded.
func (r *run) settle(ctx context.Context, at tool.Place, out tool.Outcome, err error) error {
	if interrupts(err) {
		return err
	}
	if failure := r.settleOnly(ctx, at, out, err); failure != nil {
		return failure
	}
	return err
}

func (r *run) settleOnly(ctx context.Context, at tool.Place, out tool.Outcome, err error) error {
	if failure := r.record.Settle(ctx, at, out, err); failure != nil {
		return unrecorded(failure)
	}
	return nil
}

// note records what was decided at a step.
func (r *run) note(ctx context.Context, at tool.Place, d *tool.Dict) error {
	if err := r.record.Note(ctx, at, d); err != nil {
		return unrecorded(err)
	}
	return nil
}

// resume takes from the record what holds for all of the run: the tools as it
// has called them, and the permanent approvals.
func (r *run) resume(ctx context.Context, p *pins, withApprovals bool) error {
	for n, err := range r.record.Notes() {
		if err != nil {
			return unrecorded(err)
		}
		p.take(n)
		if a, ok := lasting(n); ok && withApprovals {
			r.approvals.add(a)
		}
	}
	return ctx.Err()
}

// end records how the run ended, or parks it.
func (r *run) end(ctx context.Context, reason string, out tool.Outcome, err error) error {
	ctx = context.WithoutCancel(ctx)
	why := parkReason(err)
	switch open := r.root != nil && r.root.trail.pending != nil; {
	case open && err != nil && tool.KindOf(err) == tool.Unavailable:
		why = parkedUnavailable
	case open:
		if failure := r.root.settlePending(ctx); failure != nil && err == nil {
			return failure
		}
	}
	switch {
	case why != "":
		if failure := r.record.Park(ctx, string(why)); failure != nil {
			return unrecorded(failure)
		}
		return err
	case interrupts(err): // what is recorded is not to be changed: it can be looked at, and resumed
		if failure := r.record.Close(); failure != nil && err == nil {
			return failure
		}
		return err
	}
	if failure := r.record.End(ctx, reason, out, err); failure != nil && err == nil {
		return unrecorded(failure)
	}
	return err
}

// parkReason says why an error parks the run that it ends, or "": it waits, or it
// met a limit that another attempt may not meet.
func parkReason(err error) tool.LimitName {
	e := tool.ErrorOf(err, tool.Failed)
	switch {
	case e == nil:
	case e.Kind == tool.Parked:
		return e.Limit
	case e.Kind == tool.Limit && (e.Limit == tool.LimitMemory || e.Limit == tool.LimitCPU):
		return parkedLimit
	}
	return ""
}

// parkOr parks the run with a question, or where it cannot wait returns another
// error.
func (r *run) parkOr(ctx context.Context, q history.Question, why tool.LimitName, otherwise error) error {
	if !r.parks || len(q.Place) == 0 {
		return otherwise
	}
	e := tool.Errorf(tool.Parked, "the run %s waits for an answer: %s", r.id, q.Text).WithHint("cassidy runs answer %s yes", r.id)
	switch {
	case !q.Until.IsZero():
		e = tool.Errorf(tool.Parked, "the run %s sleeps until %s", r.id, q.Until.Local().Format("2006-01-02 15:04:05")).WithHint("cassidy runs resume %s", r.id)
	case !q.Confirm:
		e = e.WithHint("cassidy runs answer %s --text \"…\"", r.id)
	}
	e.Limit = why
	r.mu.Lock()
	first := r.waits
	if first == nil {
		r.waits = e
	}
	r.mu.Unlock()
	if first != nil {
		return first
	}
	if err := r.record.Ask(ctx, q); err != nil {
		return unrecorded(err)
	}
	return e
}

// until returns when a sleep ends: as it is recorded, else as it is given now,
// which it records.
func (r *run) until(ctx context.Context, at tool.Place, t time.Time) (time.Time, error) {
	const name = "until"
	entry, _, err := r.record.Recorded(at)
	if err != nil {
		return t, unrecorded(err)
	}
	for _, n := range entry.Notes {
		if noted, err := time.Parse(time.RFC3339Nano, n.Text(name)); err == nil {
			return noted, nil
		}
	}
	return t, r.note(ctx, at, tool.NewDict(name, t.UTC().Format(time.RFC3339Nano)))
}
