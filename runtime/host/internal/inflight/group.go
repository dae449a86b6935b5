// Package inflight knows what a host does for its callers, so that it can be waited for,
// stopped, and ended when its time is up.
package inflight

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Group is what a host does for its callers: their calls and programs, without
// those that these make. Once it is closed, nothing is added.
type Group struct {
	mu      sync.Mutex
	closed  bool
	count   int           // how many have entered
	nothing chan struct{} // closed when nothing is left of a closed one; nil before
	walls   Wall          // a ring of those that can be stopped
	alarm   alarm         // for them
	stopped error         // why they were stopped, or nil
}

// Closed is the error of a host that was closed.
func Closed() *value.Error { return value.Errorf(value.Closed, "the host is closed") }

// Enter counts something in, until leave is called. It fails with kind Closed.
func (f *Group) Enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return Closed()
	}
	f.count++
	return nil
}

// Leave counts something out.
func (f *Group) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count == 0 && f.nothing != nil {
		close(f.nothing)
		f.alarm.stop()
	}
}

// Start sets the clock of a wall going.
func (f *Group) Start(w *Wall, limit time.Duration) { w.start(&f.alarm, limit) }

// Until returns a context that ends also when what the host does is stopped. Call
// done when it is not used any more.
func (f *Group) Until(ctx context.Context) (inner context.Context, done func()) {
	w := &Wall{}
	inner = w.Open(ctx)
	f.Watch(w)
	return inner, func() {
		f.Forget(w)
		w.cancel(nil)
	}
}

// Watch has a wall stopped with what the host does, until forget is called. What has
// entered before that was stopped may come here after it.
func (f *Group) Watch(w *Wall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped != nil {
		w.cancel(f.stopped)
	}
	if f.walls.next == nil {
		f.walls.next, f.walls.previous = &f.walls, &f.walls
	}
	w.next, w.previous = &f.walls, f.walls.previous
	w.next.previous, w.previous.next = w, w
}

// Forget ends what watch began.
func (f *Group) Forget(w *Wall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.next.previous, w.previous.next = w.previous, w.next
	w.next, w.previous = nil, nil
}

// Close lets nothing more enter. The channel is closed when nothing is left.
func (f *Group) Close() (nothing <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.nothing == nil {
		f.nothing = make(chan struct{})
		if f.count == 0 {
			close(f.nothing)
			f.alarm.stop()
		}
	}
	return f.nothing
}

// Stop ends the contexts of what can be stopped, now and later.
func (f *Group) Stop(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = cause
	for w := f.walls.next; w != nil && w != &f.walls; w = w.next {
		w.cancel(cause)
	}
}
