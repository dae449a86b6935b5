package gate

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// conclude records the outcome of an effect, and returns its error or that of the record. If
// the effect failed because of its environment, the outcome is recorded only when the script
// continues, see [parkFailure]. refused says that the effect was not begun: then its intent
// is recorded with the outcome.
func (s *step) conclude(ctx context.Context, out tool.Outcome, err error, refused bool) error {
	r, at := s.of.Run, s.effect.StepPath
	intend := func(context.Context) error { return nil } // without s, whose call may hold much
	if refused {
		intend = func(ctx context.Context) error { return s.intend(ctx, true) }
	}
	if !r.repairable(err) {
		if err := intend(ctx); err != nil {
			return err
		}
		return r.settle(ctx, at, out, err)
	}
	if s.fn.Kind == tool.External && !refused && surelyNotDone(err) {
		if err := r.note(context.WithoutCancel(ctx), at, history.NotDone(s.tries)); err != nil {
			return err
		}
	}
	if refused {
		s.of.holding.Scope.Move(&r.refused)
	}
	r.waits.Fail(parkFailure{StepPath: at, Err: err, Record: func(ctx context.Context) error {
		if err := intend(ctx); err != nil {
			return err
		}
		return Unrecorded(r.record.Settle(ctx, at, out, err))
	}})
	return err
}

// surelyNotDone reports whether an effect that failed with err was surely not carried out: it was not sent, or
// what was to carry it out is no longer what was reviewed.
func surelyNotDone(err error) bool {
	limit := value.ErrorOf(err, value.Failed).Limit
	return limit.Unsent() || limit == value.LimitTool
}

// unbegun returns err, for which an effect was not begun. The effect is tried again on resume
// if its environment has failed.
func (s *step) unbegun(ctx context.Context, err error) error {
	if s.of.Run.repairable(err) {
		return s.conclude(ctx, tool.Outcome{}, err, true)
	}
	return err
}

// repairable reports whether an error is one of the environment, in a run that can be resumed.
func (r *Run) repairable(err error) bool {
	return err != nil && r.record.Keeps() && !r.leavesOpen(err) && Repairable(value.ErrorOf(err, value.Failed)) != ""
}
