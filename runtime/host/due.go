package host

import (
	"context"
	"iter"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Due yields the runs of the host's project (Options.Project; of all, if that is "") that [Host.Resume] can continue
// now, the newest first. These are the parked runs that were begun ([Host.Begin]), have slept long enough, have got an answer, were interrupted, or wait for
// something that may be available again; then follow the runs whose process died. Runs that
// this or another process executes are left out, those that are stuck, and all if the store is a [journal.Remote]. If Resume fails, as
// for an unavailable tool, the run stays due.
//
// The loop may call Resume; [Host.ResumeDue] does so for a server. Due fails with kind
// Invalid if the host has no store.
func (h *Host) Due(ctx context.Context) iter.Seq2[history.Run, error] {
	return fromJournal(h, func(j *history.Journal) iter.Seq2[history.Run, error] {
		if j.Elsewhere("") {
			return func(func(history.Run, error) bool) {}
		}
		return j.ResumableIn(ctx, h.opts.Project, h.opts.Clock())
	})
}

// CountRuns returns how many recorded runs a filter selects in each state, without its Limit. It fails with kind
// Invalid if the host has no store.
func (h *Host) CountRuns(ctx context.Context, f history.Filter) (map[history.State]int, error) {
	j, err := h.journal()
	if err != nil {
		return nil, err
	}
	return j.Count(ctx, f)
}

// ResumeDue resumes the runs that are due, see [Host.Due], each in its own goroutine: now,
// after each [Host.Answer] of this host, and every interval, for runs that sleep and for
// those that other processes have answered or left. It returns the error of ctx when that
// ends, or an error of kind Closed when the host is closed. The runs that it has resumed
// continue; [Host.Shutdown] waits for them.
//
// The record of a run has its result. A run that cannot be resumed stays due, and the Logger
// gets the kind of the error at each interval. ResumeDue fails with kind Invalid if the host
// has no store, or if the interval is not positive.
func (h *Host) ResumeDue(ctx context.Context, interval time.Duration) error {
	if err := h.valid(); err != nil {
		return err
	}
	if interval <= 0 {
		return value.Errorf(value.Invalid, "resume due runs: the interval should be positive but got %v", interval)
	}
	o, tick := &h.opts, time.NewTicker(interval)
	defer tick.Stop()
	for {
		if _, err := h.journal(); err != nil {
			return err
		}
		for run, err := range h.Due(ctx) {
			if err != nil {
				o.logNotResumed(run.ID, err)
				continue // with the other runs
			}
			go func() {
				if _, err := h.Resume(context.WithoutCancel(ctx), run.ID); err != nil {
					o.logNotResumed(run.ID, err)
				}
			}()
		}
		select {
		case <-tick.C:
		case <-h.wake:
		case <-ctx.Done():
			return value.AsError(context.Cause(ctx), value.Canceled)
		}
	}
}

func (o *Options) logNotResumed(runID string, err error) {
	o.Logger.Info("a due run was not completed", "run", runID, "kind", value.KindOf(err).String())
}

// wakeDue has ResumeDue look for due runs immediately.
func (h *Host) wakeDue() {
	select {
	case h.wake <- struct{}{}:
	default: // it is about to look
	}
}
