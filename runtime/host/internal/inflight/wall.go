package inflight

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Wall ends a call that takes too long. Its clock stands still while the call
// waits for a person, or for a call that it has made.
type Wall struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	alarm *alarm        // nil until the clock is started
	left  time.Duration // when the clock was last set going
	since time.Time     // when that was
	waits int32         // how many things are waited for
	over  bool
	ended bool

	next, previous *Wall // in the ring of those that a host watches
}

// Open returns the context that ends with the wall.
func (w *Wall) Open(ctx context.Context) context.Context {
	ctx, w.cancel = context.WithCancelCause(ctx)
	return ctx
}

// start sets the clock going.
func (w *Wall) start(a *alarm, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alarm, w.limit, w.left, w.since = a, limit, limit, time.Now()
	a.set(w, w.since.Add(limit))
}

// Stop ends the context, and the clock for good.
func (w *Wall) Stop() {
	w.mu.Lock()
	w.ended = true
	if w.alarm != nil {
		w.alarm.clear(w)
	}
	w.mu.Unlock()
	w.cancel(nil)
}

func (w *Wall) ring() {
	w.mu.Lock()
	over := w.waits == 0 && !w.ended
	w.over = w.over || over
	w.mu.Unlock()
	if over {
		w.cancel(w.err())
	}
}

// Pause stops the clock until resume is called as often. A clock that has not
// been started yet has none.
func (w *Wall) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits++; w.waits > 1 || w.alarm == nil {
		return
	}
	w.alarm.clear(w)
	w.left = max(0, w.left-time.Since(w.since))
}

// Resume ends a pause.
func (w *Wall) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits--; w.waits > 0 || w.alarm == nil || w.ended || w.over {
		return
	}
	w.since = time.Now()
	w.alarm.set(w, w.since.Add(w.left))
}

func (w *Wall) err() *value.Error {
	e := value.Errorf(value.Timeout, "the call took longer than %v", w.limit)
	e.Limit = value.LimitWall
	return e
}
