package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Run is what a root call or program shares with everything that it calls.
type Run struct {
	gate   *Gate
	ID     string
	record history.Record // [history.None] if nothing is recorded
	tools  Tools
	now    *Settings     // those in force when the run began or was resumed
	policy rights.Policy // without rules in a replay: its record decides
	memory
	Approve func(ctx context.Context, q tool.Question) (tool.Answer, error) // nil: nobody approves anything
	Parks   bool                                                            // a question that nobody answers parks it
	root    *Pass                                                           // of the root call or program, once that is admitted
	read    taint.Marks                                                     // the marks of a run outside of conversations
	held    *membudget.Tree                                                 // the memory of its calls: own, or that of who makes the root call
	own     membudget.Tree
	refused membudget.Scope // what refused effects hold whose arguments are not recorded yet, see [parkFailure]

	effects atomic.Int32 // the number of effects that it has asked for
	stopped inflight.Stop
	waits   waits
	stuck   atomic.Pointer[cannotFollow] // nil unless the record cannot be followed
	broken  interrupted                  // the commits that earlier processes have left without an outcome
}

// A cannotFollow is the first step at which the record of a run cannot be followed, and why: its
// effect differs from the recorded one, or its record is damaged. Trying again would not help.
type cannotFollow struct {
	at  tool.StepPath
	why error
}

// stick notes that the record cannot be followed at a step, unless err only says that it cannot be
// read or written now. It returns err as an error of the record.
func (r *Run) stick(at tool.StepPath, err error) error {
	switch value.KindOf(err) {
	case value.Conflict, value.Failed:
		r.stuck.CompareAndSwap(nil, &cannotFollow{at, err})
	}
	return Unrecorded(err)
}

// endStuck records that nobody can continue the run, and returns the error that says so.
func (r *Run) endStuck(ctx context.Context) error {
	stuck := r.stuck.Load()
	e := *value.ErrorOf(Unrecorded(stuck.why), value.Failed)
	r.gate.Logger.Info("run stuck", "run", r.ID)
	if failure := r.record.Stick(ctx, stuck.at, value.ErrorOf(stuck.why, e.Kind).Message()); failure != nil {
		_ = r.record.Close() // e is more important
		return &e
	}
	run := r.record.Run()
	if run.State = history.Stuck; e.Kind == value.Failed {
		run.Damage = &e
	}
	e.Hint = run.Unstick() + "; in Go, call Host.Retry or Host.Resume"
	return &e
}

// A memory is what a run knows of earlier calls, also those of other runs.
type memory struct {
	approvals *approvalList // the permanent approvals
	marks     *taint.Marks  // the untrusted texts that were read
	sources   *taint.Lists  // whose text is trusted, as it was when the run began or was resumed
}

// NewRun returns a run that is not recorded, with the given tools, and rules in addition to those of the host.
func (g *Gate) NewRun(id string, tools Tools, narrow []tool.Rule) *Run {
	now := g.look()
	rules := now.Rules
	if len(narrow) > 0 {
		rules = slices.Concat(rules, narrow)
	}
	r := &Run{gate: g, ID: id, record: history.None{}, tools: tools, now: now, own: g.Memory.Tree(), policy: rights.NewPolicy(rules, tools, g.FileNames, g.granted), Approve: g.Approve}
	r.memory, r.held = memory{&g.approvals, &r.read, &now.Sources}, &r.own
	return r
}

// NewReplay returns a run whose effects the record answers. It has no rules and approves
// everything: the record has the refusals, and nothing else is reached.
func (g *Gate) NewReplay(id string, record history.Record, tools Tools) *Run {
	r := &Run{gate: g, ID: id, own: g.Memory.Tree(), record: record, tools: tools, now: g.look(), policy: rights.Policy{Tools: tools}, Approve: ApproveAll, memory: memory{sources: &taint.Lists{}}}
	r.held = &r.own
	return r
}

// ApproveAll approves everything.
func ApproveAll(context.Context, tool.Question) (tool.Answer, error) {
	return tool.Answer{Yes: true}, nil
}

// Keep sets the record of the run. For a run that an earlier process may have begun, notes is
// called with each note of the record; nil is for a new run.
func (r *Run) Keep(ctx context.Context, record history.Record, tools Tools, notes func(n *value.Dict)) error {
	r.record, r.ID, r.tools, r.policy.Tools = record, record.Run().ID, tools, tools
	r.approvals = r.approvals.Below()
	if notes == nil {
		return nil
	}
	r.broken.left = true
	message := "run resumed"
	if record.Run().Reason == history.Queued {
		message = "run begun"
	}
	r.gate.Logger.Info(message, "run", r.ID)
	open, err := record.Questions(ctx)
	if err == nil {
		err = r.ReadNotes(ctx, notes)
	}
	if err != nil && r.stick(nil, err) != nil && r.stuck.Load() != nil {
		return r.endStuck(context.WithoutCancel(ctx))
	}
	if err != nil {
		_ = record.Close() // the run is not executed
		return err
	}
	r.approvals.AddAnswered(open)
	return nil
}

// ReadNotes reads the permanent approvals of the run from its record, and calls notes with
// each note.
func (r *Run) ReadNotes(ctx context.Context, notes func(n *value.Dict)) error {
	for n, err := range r.record.Notes() {
		if err != nil {
			return Unrecorded(err)
		}
		notes(n)
		if s, ok := taint.Read(n); ok {
			r.marks.Add(s)
		}
		if a, ok := readApproval(n); ok {
			r.approvals.Add(a)
		}
	}
	return ctx.Err()
}

// leavesOpen reports whether an error ends an effect without an outcome: the run waits, was
// stopped, cannot be recorded, or lost a worker and can be resumed.
func (r *Run) leavesOpen(err error) bool {
	if err == nil {
		return false
	}
	return r.stopped.Stopped() || interrupts(err) || r.record.Keeps() && value.ErrorOf(err, value.Failed).Limit == value.LimitWorker
}

// settle records the outcome of an effect, if it has one. It returns err, or the error of the
// record.
func (r *Run) settle(ctx context.Context, at tool.StepPath, out tool.Outcome, err error) error {
	if r.leavesOpen(err) {
		return err
	}
	if failure := r.waits.Settle(ctx, at); failure != nil {
		return failure
	}
	if _, left := r.waits.Failed(); !left {
		r.refused.End()
	}
	return cmp.Or(Unrecorded(r.record.Settle(ctx, at, out, err)), err)
}

// note records a note at a step.
func (r *Run) note(ctx context.Context, at tool.StepPath, d *value.Dict) error {
	return Unrecorded(r.record.Note(ctx, at, d))
}

// end records how the run ended, or parks it so that it can be resumed.
func (r *Run) end(ctx context.Context, reason string, out tool.Outcome, err error) error {
	why, err := r.parkReason(err, context.Cause(ctx))
	ctx = context.WithoutCancel(ctx)
	if why != "" && r.cancelledElsewhere(ctx) {
		why, err = "", inflight.ErrCancelled
	}
	if why == "" {
		if failure := r.waits.Settle(ctx, nil); failure != nil && err == nil {
			err = failure
		}
	}
	if why == "" && !interrupts(err) && r.stopped.Cancelled() {
		reason, out = "cancelled", tool.Outcome{Usage: out.Usage}
		err = value.Errorf(value.Canceled, "the run '%s' was cancelled", r.ID).
			WithHint("to undo the run: cassidy runs undo %s; in Go, call Host.Undo", r.ID)
	}
	if r.root != nil {
		r.root.emitEnd(out.Value, err)
	}
	switch {
	case why != "":
		r.gate.Logger.Info("run parked", "run", r.ID, "reason", string(why))
		if f, ok := r.waits.Failed(); ok { // the reason is recorded anyway
			_ = r.note(ctx, f.StepPath, value.NewDict("failed", clip(value.ErrorOf(f.Err, value.Failed).Message())))
		}
		return r.park(ctx, why, err)
	case interrupts(err) && r.record.Keeps() && r.stuck.Load() != nil:
		return r.endStuck(ctx)
	case interrupts(err): // the record stays as it is: the run can be resumed
		_ = r.record.Close() // err is more important
		return err
	}
	if failure := r.record.End(ctx, reason, out, err); failure != nil {
		_ = r.record.Close()
		return cmp.Or(err, Unrecorded(failure))
	}
	return err
}

// park parks the run, and returns err or the error of the record.
func (r *Run) park(ctx context.Context, why value.LimitName, err error) error {
	if failure := r.record.Park(ctx, string(why), r.waits.Wake()); failure != nil {
		_ = r.record.Close() // it can be resumed from what was recorded
		return Unrecorded(failure)
	}
	r.waits.Recorded = true
	return err
}

// cancelledElsewhere checks once more whether another process has cancelled the run, as
// nothing checks that while it is parked.
func (r *Run) cancelledElsewhere(ctx context.Context) bool {
	wanted, err := r.record.CancelRequested(ctx)
	if err != nil || !wanted {
		return false
	}
	r.stopped.Cancel()
	return true
}

// parkReason returns why a run that ends with err is parked, or "", and the error for its
// caller. cause is why its context ended, or nil.
func (r *Run) parkReason(err, cause error) (value.LimitName, error) {
	e := value.ErrorOf(err, value.Failed)
	switch {
	case e == nil, !r.record.Keeps():
		return "", err
	case r.stopped.Cancelled() && e.Limit != value.LimitRecord: // perhaps when it had already decided to wait
		return "", inflight.ErrCancelled
	case e.Kind == value.Parked:
		if waiting := r.waits.Parked(); waiting != nil {
			return waiting.Limit, waiting
		}
		return reasonInterrupted, err // a handler in Go has returned it
	case e.Limit == value.LimitRecord:
		return "", err
	case r.stopped.Stopped() && e.Kind == value.Canceled && errors.Is(cause, context.DeadlineExceeded):
		return reasonInterrupted, interruption(r.ID, value.Errorf(value.Timeout, "the run was interrupted: %w", cause))
	case r.stopped.Stopped(), e.Limit == value.LimitWorker:
		return reasonInterrupted, interruption(r.ID, value.ErrorOf(err, value.Canceled))
	}
	_, failed := r.waits.Failed()
	// Without an effect, and after a limit of the script itself, no outcome is recorded.
	tryAgain := failed || r.root == nil || r.root.quota.effects == r.root.quota.notices
	if why := Repairable(e); why != "" && (tryAgain || why == reasonLimit && e.Limit != value.LimitCall) {
		return why, ParkedBy(r.ID, why, e)
	}
	return "", err
}
