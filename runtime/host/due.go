package host

import (
	"context"
	"iter"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Due yields the runs that [Host.Resume] can continue now, the newest first: parked
// ones whose time has come, that got an answer, were interrupted, or wait for what may
// be available again, and then those whose process died. It leaves out the runs that
// this or another process executes. A run may be one that only its kind can resume,
// or whose tool is unavailable: Resume then fails, and the run stays due.
//
// The loop may call Resume; [Host.ResumeDue] does so for a server. It fails with kind
// Invalid if the host has no store.
func (h *Host) Due(ctx context.Context) iter.Seq2[history.Run, error] {
	return func(yield func(history.Run, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(history.Run{}, err)
			return
		}
		j.Resumable(ctx, h.now())(yield)
	}
}

// ResumeDue resumes the runs that are due, see [Host.Due], each in a goroutine of its
// own: now, after each [Host.Answer] of this host, and every interval, for runs that
// sleep and those that other processes have answered or left. It returns when ctx ends,
// with its error, or with kind Closed when the host is closed. The runs that it has
// resumed continue: [Host.Shutdown] waits for them.
//
// How a run ends is in its record. A run that cannot be resumed stays due, and the
// Logger gets the kind of its error at each interval. ResumeDue fails with kind Invalid
// if the host has no store, or the interval is not positive.
func (h *Host) ResumeDue(ctx context.Context, interval time.Duration) error {
	if interval <= 0 {
		return value.Errorf(value.Invalid, "resume due runs: the interval must be positive, not %v", interval)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if _, err := h.journal(); err != nil {
			return err
		}
		for run, err := range h.Due(ctx) {
			if err != nil {
				h.logNotResumed(run.ID, err)
				continue // the others are due all the same
			}
			go func() {
				if _, err := h.Resume(context.WithoutCancel(ctx), run.ID); err != nil {
					h.logNotResumed(run.ID, err)
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

func (h *Host) logNotResumed(runID string, err error) {
	h.log().Info("a due run was not completed", "run", runID, "kind", value.KindOf(err).String())
}

// wakeDue has ResumeDue look for due runs at once.
func (h *Host) wakeDue() {
	select {
	case h.wake <- struct{}{}:
	default: // it will
	}
}
