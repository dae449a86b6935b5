package host

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A run is what a root call or program shares with all that it calls.
type run struct {
	host      *Host
	id        string
	record    history.Record // [history.None] where nothing is recorded
	tools     finder         // that it calls
	rules     []tool.Rule    // none in a replay, of which the record decides
	approver  Approver       // nil: nobody approves anything
	approvals *approvals     // those that hold permanently
	parks     bool           // what nobody answers parks it
	root      *pass          // of the root call or program, once that is admitted

	effects atomic.Int32 // how many it has asked for, with all that it calls
	stopped stop
	waits   waits
}

// A finder returns a tool by the name in a call, and how it is run. The catalog is
// that of the time at which the run began.
type finder interface {
	find(ctx context.Context, c *tool.Call) (*tool.Tool, tool.Runner, error)
	catalog() *catalog
}

// newRun returns a run that is not recorded.
func (h *Host) newRun(ctx context.Context, id string) *run {
	now := h.tools(ctx)
	return &run{host: h, id: id, record: history.None{}, tools: now, rules: now.rules, approver: h.opts.Approver, approvals: &h.approvals}
}

// open has a program recorded, if it is to be. One that is resumed gets script and
// arguments from its record.
func (r *run) open(ctx context.Context, p *Program, c *tool.Call) error {
	record, err := r.host.recordOf(ctx, p, c.ID)
	if err != nil || record == nil {
		return err
	}
	run := record.Run()
	c.ID = run.ID
	if p.Resume {
		p.Script, c.Args = record.Script(), run.Args
	}
	return r.keep(ctx, record, p.Resume)
}

// recordOf returns the record that a program brings, or opens one in the journal for
// a program that has a kind; nil where there is no journal.
func (h *Host) recordOf(ctx context.Context, p *Program, id string) (history.Record, error) {
	if p.Record != nil {
		return p.Record, p.fits(p.Record)
	}
	if p.Kind == "" || h.opts.Journal == nil {
		if p.Resume {
			return nil, value.Errorf(value.Invalid, "the host has no journal to resume '%s' from", p.ID)
		}
		return nil, nil
	}
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	if p.Resume {
		return opened(j.Resume(ctx, p.ID))
	}
	if p.ID == "" {
		id = "" // the journal makes up a better one
	}
	return opened(j.Begin(ctx, history.Run{ID: id, Project: h.opts.Project, Kind: p.Kind, Session: p.Session, Title: p.Title, Args: p.Args, Options: p.Options}, p.Script))
}

// fits refuses a record that cannot be that of a program.
func (p *Program) fits(record history.Record) error {
	run := record.Run()
	switch {
	case !record.Keeps():
		return value.Errorf(value.Invalid, "the record of the program '%s' keeps nothing", p.Name).WithHint("give a history.Memory, or none")
	case p.Resume || run.Script == p.Script.Sum() && value.Equal(dictOrEmpty(run.Args), dictOrEmpty(p.Args)):
		return nil
	}
	return value.Errorf(value.Invalid, "the record '%s' is that of another script, or of other arguments, than the program's", run.ID).
		WithHint("make it with history.NewMemory(history.Run{Args: args}, script)")
}

func dictOrEmpty(d *value.Dict) *value.Dict {
	if d == nil {
		return &value.Dict{}
	}
	return d
}

// opened returns a log as a Record, and a nil one as none.
func opened(l *history.Log, err error) (history.Record, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// keep has the run kept in a record, which an earlier process may have begun.
func (r *run) keep(ctx context.Context, record history.Record, resumed bool) error {
	pins := &pins{host: r.host, record: record, now: r.tools.catalog()}
	r.record, r.id, r.tools = record, record.Run().ID, pins
	r.approvals = &approvals{above: r.approvals}
	if !resumed {
		return nil
	}
	r.host.log().Info("run resumed", "run", r.id)
	open, err := record.Questions(ctx)
	if err == nil {
		err = r.resume(ctx, pins, true)
	}
	if err != nil {
		_ = record.Close() // the run is not executed
		return err
	}
	r.approvals.addAnswered(open)
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

// leavesOpen reports whether an error leaves open what comes of the effect that
// it ended: the run waits, was stopped, cannot be recorded, or lost a worker and
// can be resumed.
func (r *run) leavesOpen(err error) bool {
	if err == nil {
		return false
	}
	return r.stopped.is() || interrupts(err) || r.record.Keeps() && value.ErrorOf(err, value.Failed).Limit == value.LimitWorker
}

// settle records what came of an effect, unless that is still open, and returns
// its error, or that it could not be recorded.
func (r *run) settle(ctx context.Context, at tool.Place, out tool.Outcome, err error) error {
	if r.leavesOpen(err) {
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
func (r *run) note(ctx context.Context, at tool.Place, d *value.Dict) error {
	if err := r.record.Note(ctx, at, d); err != nil {
		return unrecorded(err)
	}
	return nil
}

// end records how the run ended, or parks it so that it can be resumed.
func (r *run) end(ctx context.Context, reason string, out tool.Outcome, err error) error {
	why, err := r.parkReason(err, context.Cause(ctx))
	ctx = context.WithoutCancel(ctx)
	if why != "" && r.cancelledBeside(ctx) {
		why, err = "", errCancelled
	}
	if why == "" && r.root != nil {
		if failure := r.root.trail.settle(ctx, r); failure != nil && err == nil {
			err = failure
		}
	}
	if why == "" && !interrupts(err) && r.stopped.cancelled() {
		reason, out = "cancelled", tool.Outcome{Usage: out.Usage}
		err = value.Errorf(value.Canceled, "the run was cancelled")
	}
	if r.root != nil {
		r.root.program.ended(r.root, out.Value, err)
	}
	switch {
	case why != "":
		r.host.log().Info("run parked", "run", r.id, "reason", string(why))
		if failure := r.record.Park(ctx, string(why), r.waits.wake()); failure != nil {
			_ = r.record.Close() // it can be resumed from what was recorded
			return unrecorded(failure)
		}
		return err
	case interrupts(err): // what is recorded is not to be changed: it can be looked at, and resumed
		_ = r.record.Close() // err says more
		return err
	}
	if failure := r.record.End(ctx, reason, out, err); failure != nil {
		_ = r.record.Close()
		return cmp.Or(err, unrecorded(failure))
	}
	return err
}

// refuse parks a run that cannot be resumed here, and returns why.
func refuse(ctx context.Context, r *run, why error) error {
	if failure := r.record.Park(context.WithoutCancel(ctx), string(parkedUnavailable), r.waits.wake()); failure != nil {
		_ = r.record.Close() // it can be resumed from what was recorded
		return unrecorded(failure)
	}
	return why
}

// cancelledBeside looks a last time whether another process has asked for the end of
// the run: once it is parked, nobody would know.
func (r *run) cancelledBeside(ctx context.Context) bool {
	wanted, err := r.record.CancelRequested(ctx)
	if err != nil || !wanted {
		return false
	}
	r.stopped.to(stopCancelled)
	return true
}

// passes reports whether an error may be over later without anybody's doing.
func passes(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e.Kind == value.Unavailable || e.Kind == value.Limit && e.Limit == value.LimitRate
}

// parkReason says why the run that ends with an error parks, or "", and returns
// the error that its caller gets. cause is why its context ended, or nil.
func (r *run) parkReason(err, cause error) (value.LimitName, error) {
	e := value.ErrorOf(err, value.Failed)
	switch {
	case e == nil, !r.record.Keeps(), r.stopped.cancelled():
		return "", err
	case e.Kind == value.Parked:
		if parked := r.waits.parked(); parked != nil {
			return parked.Limit, parked
		}
		return parkedInterrupted, err // a handler in Go says so
	case e.Limit == value.LimitRecord:
		return "", err
	case r.stopped.is() && e.Kind == value.Canceled && errors.Is(cause, context.DeadlineExceeded):
		return parkedInterrupted, r.interrupted(value.Errorf(value.Timeout, "the run was interrupted: %w", cause))
	case r.stopped.is(), e.Limit == value.LimitWorker:
		return parkedInterrupted, r.interrupted(value.ErrorOf(err, value.Canceled))
	case passes(e) && r.root != nil && r.root.trail.pending != nil:
		why := parkedUnavailable
		if e.Limit == value.LimitRate {
			why = parkedRate
		}
		return why, parkedBy(r.id, why, e)
	case e.Kind == value.Limit && (e.Limit == value.LimitMemory || e.Limit == value.LimitCPU): // another attempt may not meet it
		return parkedLimit, parkedBy(r.id, parkedLimit, e)
	}
	return "", err
}

// interrupted returns the error of a run that can be resumed, which e ended.
func (r *run) interrupted(e *value.Error) *value.Error {
	e = e.WithHint("to continue: cassidy runs resume %s", r.id)
	if e.Kind == value.Canceled || e.Kind == value.Timeout {
		e.Limit = value.LimitInterrupted
	}
	return e
}
