package inflight

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Wall ends a call that takes too long. Its clock stops while the call waits for a
// person, or for a call that it has made. It is safe for concurrent use after Open.
type Wall struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer   // nil until Start
	left  time.Duration // when the clock was last started
	since time.Time     // when that was
	waits int           // the number of pauses
	over  bool          // the time is over
	ended bool          // Stop was called

	next, previous *Wall // in the ring of a [Group]
}

// Open returns the context that ends with the wall.
func (w *Wall) Open(ctx context.Context) context.Context {
	ctx, w.cancel = context.WithCancelCause(ctx)
	return ctx
}

// Start starts the clock, with the time that the call may take.
func (w *Wall) Start(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.left, w.since = limit, limit, time.Now()
	w.timer = time.AfterFunc(limit, w.ring)
}

// Stop ends the context, and stops the clock permanently.
func (w *Wall) Stop() {
	w.mu.Lock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(nil)
}

// ring ends the context because the time is over.
func (w *Wall) ring() {
	w.mu.Lock()
	over := w.waits == 0 && !w.ended
	w.over = w.over || over
	w.mu.Unlock()
	if over {
		w.cancel(value.Errorf(value.Timeout, "the call took longer than %v", w.limit).WithLimit(value.LimitWall))
	}
}

// Pause stops the clock until Resume has been called as often as Pause.
func (w *Wall) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits++; w.waits > 1 || w.timer == nil {
		return
	}
	w.timer.Stop()
	w.left = max(0, w.left-time.Since(w.since))
}

// Left returns how long the call may still take; it is the longest duration without a clock.
func (w *Wall) Left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.timer == nil:
		return math.MaxInt64
	case w.waits > 0:
		return w.left
	}
	return max(0, w.left-time.Since(w.since))
}

// Spend takes the time that the call has taken in an earlier process.
func (w *Wall) Spend(d time.Duration) {
	if d <= 0 {
		return
	}
	w.Pause()
	w.mu.Lock()
	w.left = max(0, w.left-d)
	w.mu.Unlock()
	w.Resume()
}

// Resume ends a pause.
func (w *Wall) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits--; w.waits > 0 || w.timer == nil || w.ended || w.over {
		return
	}
	w.since = time.Now()
	w.timer.Reset(w.left)
}
