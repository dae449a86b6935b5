package app

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSession presses Ctrl-C in a turn, between turns and after the
// session.
func TestSession(t *testing.T) {
	ctx, i := CatchInterrupts()
	leave := i.InSession()
	for range 2 {
		turn, end := i.During(ctx)
		i.signals <- os.Interrupt
		<-turn.Done()
		end()
		i.signals <- os.Interrupt
	}
	turn, end := i.During(ctx)
	i.signals <- os.Interrupt
	<-turn.Done()
	end()
	if ctx.Err() != nil {
		t.Error("Ctrl-C in a session has ended the command")
	}
	leave()
	i.signals <- os.Interrupt
	<-ctx.Done()
}

// TestCause checks that a command and a turn that Ctrl-C ends say so, and count as canceled.
func TestCause(t *testing.T) {
	ctx, i := CatchInterrupts()
	turn, end := i.During(ctx)
	i.signals <- os.Interrupt
	<-turn.Done()
	end()
	i.signals <- os.Interrupt
	<-ctx.Done()
	for name, of := range map[string]context.Context{"turn": turn, "command": ctx} {
		cause := context.Cause(of)
		if cause.Error() != "interrupted" || !errors.Is(cause, context.Canceled) || value.KindOf(cause) != value.Canceled {
			t.Errorf("the cause of the end of the %s is %v of kind %v", name, cause, value.KindOf(cause))
		}
	}
}

// TestError distinguishes a run that was cancelled from one that can be resumed.
func TestError(t *testing.T) {
	parked := value.Errorf(value.Canceled, "the effect was stopped").WithHint("to continue: …")
	parked.Limit = value.LimitInterrupted
	ctx, cancel := context.WithCancel(context.Background())
	if e := Interrupted(ctx, parked); e != parked || Interrupted(ctx, nil) != nil {
		t.Errorf("Error(%v) = %v before the context ended, want it unchanged", parked, e)
	}
	cancel()
	for _, tt := range []struct {
		err           error
		message, hint string
	}{
		{context.Canceled, "interrupted", ""},
		{parked, "interrupted", "to continue: …"},
		{value.Errorf(value.Canceled, "the run 'x' was cancelled").WithHint("to undo it: …"), "the run 'x' was cancelled", "to undo it: …"},
	} {
		if e := Interrupted(ctx, tt.err); e.Message() != tt.message || e.Hint != tt.hint || e.Kind != value.Canceled {
			t.Errorf("Error(%v) = %v with the hint %q, want %q with %q", tt.err, e, e.Hint, tt.message, tt.hint)
		}
	}
}
