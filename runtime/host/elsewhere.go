package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// elsewhere reports whether others execute a recorded run, or one that is to begin for "", see
// [history.Journal.Elsewhere].
func (h *Host) elsewhere(runID string) bool {
	if h.opts.Journal == nil {
		return false
	}
	j, err := h.journal()
	return err == nil && j.Elsewhere(runID)
}

// isElsewhere reports whether others execute the run of a program.
func (p *Program) isElsewhere(h *Host) bool {
	id := p.ID
	if !p.Resume {
		id = ""
	}
	return p.Kind != "" && p.Record == nil && p.replay == nil && h.elsewhere(id)
}

// runElsewhere begins a program or wakes its run, and waits until that ends or waits.
func (h *Host) runElsewhere(ctx context.Context, p *Program) (tool.Outcome, error) {
	id, err := p.ID, error(nil)
	if !p.Resume {
		id, err = h.BeginProgram(ctx, p)
	} else {
		err = h.wakeRun(ctx, id)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	if p.named != nil {
		p.named(id)
	}
	r, err := h.await(ctx, id, p.Watch)
	return tool.Outcome{Value: r.Result, Usage: r.Usage}, err
}

// resumeElsewhere wakes a run that others execute, and waits until it ends or waits.
func (h *Host) resumeElsewhere(ctx context.Context, runID string) (tool.Result, error) {
	if err := h.wakeRun(ctx, runID); err != nil {
		return gate.Failed(err)
	}
	return h.awaitResult(ctx, runID)
}

func (h *Host) wakeRun(ctx context.Context, runID string) error {
	j, err := h.journal()
	if err == nil {
		err = j.Wake(ctx, runID)
	}
	return err
}

// awaitResult waits until a run that others execute ends or waits, and returns its result.
func (h *Host) awaitResult(ctx context.Context, runID string) (tool.Result, error) {
	r, err := h.await(ctx, runID, nil)
	if err != nil {
		return tool.Fail(value.ErrorOf(err, value.Failed), r.Usage), err
	}
	return h.resultOf(ctx, &r)
}

// How long await waits until it reads a record again: at first, and at most.
const leastAwait, mostAwait = 30 * time.Millisecond, time.Second

// await delivers the recorded events of a run that others execute until the run ends or waits, and returns the run with the
// error of that. If ctx ends first, the run goes on.
func (h *Host) await(ctx context.Context, runID string, watch func(tool.Event)) (Recorded, error) {
	after := uint64(0)
	for pause := leastAwait; ; pause = min(2*pause, mostAwait) {
		r, err := h.Recorded(ctx, runID) // before the events are read, to miss none
		if err != nil {
			return r, leftElsewhere(ctx, runID, err)
		}
		for e, err := range h.Events(ctx, runID, after) {
			if err != nil {
				return r, leftElsewhere(ctx, runID, err)
			}
			after, pause = e.Seq, leastAwait
			if watch != nil {
				watch(e)
			}
			h.hub.Deliver(&e)
		}
		err = h.ended(ctx, &r)
		if err != nil || r.State == history.Done {
			return r, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r, leftElsewhere(ctx, runID, value.AsError(context.Cause(ctx), value.Canceled))
		}
	}
}

// ended returns the error with which a run has ended, or for which it waits. It is nil for a run that goes on or is done.
func (h *Host) ended(ctx context.Context, r *Recorded) error {
	switch {
	case r.State.Ended() && r.Err != nil:
		return r.Err
	case r.State == history.Stuck:
		return value.Errorf(value.Conflict, "the run '%s' is stuck: %s", r.ID, r.Stuck).WithHint("%s", r.Unstick())
	case r.State != history.Parked || r.Reason == history.Queued || r.Reason == history.Interrupted:
		return nil
	}
	j, err := h.journal()
	if err != nil {
		return err
	}
	asked, err := j.Questions(ctx, r.ID)
	if err != nil {
		return err
	}
	waits := &history.ParkedError{Run: r.ID, Reason: r.Reason, Until: r.Wake}
	for _, q := range asked {
		if q.Answer != nil { // it is about to continue
			return nil
		}
		waits.Questions = append(waits.Questions, q.Question)
	}
	return gate.Waits(waits)
}

// leftElsewhere returns the error of a caller that no longer waits for a run.
func leftElsewhere(ctx context.Context, runID string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return value.Errorf(value.KindOf(err), "the run '%s' is no longer watched, and goes on", runID).
		WithHint("to watch it: cassidy runs show %[1]s --follow; to cancel it: cassidy runs cancel %[1]s; in Go, call Host.Follow or Host.Cancel", runID)
}
