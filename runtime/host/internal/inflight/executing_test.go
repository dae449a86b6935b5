package inflight

import (
	"context"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func never(context.Context) (bool, error) { return false, nil }

// TestExecute checks how a run is stopped, and what it gets to know of it.
func TestExecute(t *testing.T) {
	own := errors.New("shutting down")
	for _, tt := range []struct {
		name      string
		stop      func(x *Runs, end context.CancelCauseFunc)
		cause     error
		cancelled bool
	}{
		{"a cancelled run", func(x *Runs, _ context.CancelCauseFunc) { x.Cancel("r") }, ErrCancelled, true},
		{"an interrupted host", func(x *Runs, _ context.CancelCauseFunc) { x.Interrupt() }, ErrInterrupted, false},
		{"the end of the context", func(_ *Runs, end context.CancelCauseFunc) { end(nil) }, ErrInterrupted, false},
		{"its cause", func(_ *Runs, end context.CancelCauseFunc) { end(own) }, own, false},
		{"both", func(x *Runs, _ context.CancelCauseFunc) { x.Interrupt(); x.Cancel("r") }, ErrInterrupted, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x Runs
			ctx, end := context.WithCancelCause(t.Context())
			r := &Run{ID: "r", Stopped: &Stop{}, Wanted: never}
			begun, err := x.Execute(ctx, r, func(ctx context.Context) error {
				if ids := x.IDs(); len(ids) != 1 || ids[0] != "r" {
					t.Errorf("IDs = %v", ids)
				}
				tt.stop(&x, end)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if !begun || !errors.Is(err, tt.cause) || !r.Stopped.Stopped() || r.Stopped.Cancelled() != tt.cancelled {
				t.Errorf("begun %v, error %v, cancelled %v", begun, err, r.Stopped.Cancelled())
			}
			if x.Cancel("r") || len(x.IDs()) > 0 {
				t.Error("the run is still executed")
			}
		})
	}
}

// TestCancelledElsewhere checks that a run is cancelled if another process wants that.
func TestCancelledElsewhere(t *testing.T) {
	var x Runs
	r := &Run{ID: "r", Stopped: &Stop{}, Wanted: func(context.Context) (bool, error) { return true, nil }}
	_, err := x.Execute(t.Context(), r, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, ErrCancelled) {
		t.Errorf("error = %v, want that it was cancelled", err)
	}
}

func TestExecuteAfterInterrupt(t *testing.T) {
	var x Runs
	x.Interrupt()
	begun, err := x.Execute(t.Context(), &Run{Stopped: &Stop{}, Wanted: never}, func(context.Context) error { return nil })
	if begun || value.KindOf(err) != value.Closed {
		t.Errorf("begun %v, error %v, want kind Closed", begun, err)
	}
}
