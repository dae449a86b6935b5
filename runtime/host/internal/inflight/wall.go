package inflight

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Wall ends a call that takes too long. Its clock stops while the call waits for a
// person, or for a call that it has made. It is safe for concurrent use after Open.
type Wall struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	clock *clock        // nil before it is started and after Stop
	left  time.Duration // when the clock was last started
	since time.Time     // when that was
	waits int32         // the number of pauses
	over  bool          // the time is over
	ended bool          // Stop was called

	next, previous *Wall // in the ring of a [Group]
}

// Open returns the context that ends with the wall.
func (w *Wall) Open(ctx context.Context) context.Context {
	ctx, w.cancel = context.WithCancelCause(ctx)
	return ctx
}

// A clock is a timer that calls use one after the other: to make one takes longer than to start one.
type clock struct {
	timer *time.Timer
	wall  atomic.Pointer[Wall] // of the call that uses it, or nil
	pool  *sync.Pool           // where it waits for the next call
}

// ring is called when the timer fires, which may be when the next call uses the clock already.
func (c *clock) ring() {
	if w := c.wall.Load(); w != nil {
		w.ring()
	}
}

// Start starts the clock of a wall, with the time that the call may take.
func (f *Group) Start(w *Wall, limit time.Duration) {
	c, _ := f.clocks.Get().(*clock)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.left, w.since = limit, limit, time.Now()
	if c == nil {
		c = &clock{pool: &f.clocks}
	}
	w.clock = c
	c.wall.Store(w) // before the timer is started: a ring that finds no wall would be lost
	if c.timer == nil {
		c.timer = time.AfterFunc(limit, c.ring)
	} else {
		c.timer.Reset(limit)
	}
}

// Stop ends the context, and stops the clock permanently.
func (w *Wall) Stop() {
	w.mu.Lock()
	w.ended = true
	if c := w.clock; c != nil {
		c.timer.Stop()
		c.wall.Store(nil)
		c.pool.Put(c)
		w.clock = nil
	}
	w.mu.Unlock()
	w.cancel(nil)
}

// ring ends the context because the time is over.
func (w *Wall) ring() {
	w.mu.Lock()
	over := w.waits == 0 && !w.ended && time.Since(w.since) >= w.left
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
	if w.waits++; w.waits > 1 || w.clock == nil {
		return
	}
	w.clock.timer.Stop()
	w.left = max(0, w.left-time.Since(w.since))
}

// Left returns how long the call may still take; it is the longest duration without a clock.
func (w *Wall) Left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.limit == 0: // it was not started
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
	if w.waits--; w.waits > 0 || w.clock == nil || w.over {
		return
	}
	w.since = time.Now()
	w.clock.timer.Reset(w.left)
}
