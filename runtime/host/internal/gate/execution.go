package gate

import (
	"context"
	"errors"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
)

// execute executes a recorded run with do until it ends, is interrupted or is cancelled. The
// context of do ends with the run's.
func (r *Run) execute(ctx context.Context, do func(ctx context.Context) error) error {
	e := &inflight.Run{ID: r.ID, Stopped: &r.stopped, Wanted: r.record.CancelRequested}
	begun, err := r.gate.executing.Execute(ctx, e, do)
	if !begun {
		return errors.Join(err, r.record.Close())
	}
	if r.waits.Recorded && (r.stopped.Cancelled() || r.cancelledElsewhere(context.WithoutCancel(ctx))) { // while it was parked: later cancellations find it parked
		_ = r.gate.CancelParked(context.WithoutCancel(ctx), r.ID) // it stays parked, and can be cancelled again
	}
	return err
}

// Executing returns the IDs of the recorded runs that are executed now, in any order.
func (g *Gate) Executing() []string { return g.executing.IDs() }

// Cancel cancels a recorded run if this gate executes it, and reports whether it does.
func (g *Gate) Cancel(runID string) bool { return g.executing.Cancel(runID) }

// Interrupt interrupts the recorded runs that are executed. Later ones fail with kind Closed.
func (g *Gate) Interrupt() { g.executing.Interrupt() }
