package host

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestOf checks that concurrent callers share one check, that its result is kept, and that the end of
// a context is not a result.
func TestOf(t *testing.T) {
	var r checkResults[string]
	failed := errors.New("failed")
	calls, proceed := make(chan bool, 10), make(chan bool)
	late := func() error { return errors.New("late") }
	check := func() error {
		calls <- true
		<-proceed
		return failed
	}
	if err := r.Known("a"); err != nil {
		t.Errorf("an unknown result is %v", err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := r.Of(t.Context(), "a", time.Minute, late, check); err != failed {
				t.Errorf("the result is %v", err)
			}
		})
	}
	<-calls
	close(proceed)
	all.Wait()
	if len(calls) != 0 || r.Known("a") != failed {
		t.Errorf("%d more checks, known is %v", len(calls), r.Known("a"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Of(ctx, "b", time.Minute, late, check); err != failed || r.Known("b") != nil {
		t.Errorf("after the end of the context: %v, known is %v", err, r.Known("b"))
	}
	err := r.Of(t.Context(), "c", 0, late, func() error {
		return r.Of(t.Context(), "c", 0, late, check)
	})
	if err == nil || err.Error() != "late" {
		t.Errorf("a check that waits for itself: %v", err)
	}
}
