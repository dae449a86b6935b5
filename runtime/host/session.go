package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// Cancel ends a run permanently: it cannot be resumed. If another process executes the run,
// that process ends it within about a second. Cancel fails with kind NotFound for an unknown
// run, and with Conflict for one that has ended.
func (h *Host) Cancel(ctx context.Context, runID string) error {
	if err := h.valid(); err != nil {
		return err
	}
	j, err := h.journal()
	ended := false // also of a run whose execution has recorded its end, and leaves
	if err == nil {
		r, e := j.Run(ctx, runID)
		ended = e == nil && r.State.Ended()
	}
	if !ended && h.gate.Cancel(runID) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.cancelRecorded(ctx, runID)
}

// cancelRecorded cancels a run that this host does not execute.
func (h *Host) cancelRecorded(ctx context.Context, runID string) error {
	j, err := h.journal()
	if err == nil {
		_, err = j.Cancel(ctx, runID)
	}
	return err
}

// A ParkedError is why a run is parked; find it with [errors.As]. Its fields are Run, Reason,
// Questions, which are the open ones, and Until; see [history.ParkedError].
type ParkedError = history.ParkedError
