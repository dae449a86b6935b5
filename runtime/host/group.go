package host

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// inflight is what a host does for its callers: their calls and programs, without
// those that these make. Once it is closed, nothing is added.
type inflight struct {
	mu      sync.Mutex
	closed  bool
	count   int           // how many have entered
	nothing chan struct{} // closed when nothing is left of a closed one; nil before
	walls   wall          // a ring of those that can be stopped
	alarm   alarm         // for them
	stopped error         // why they were stopped, or nil
}

func errClosed() *value.Error { return value.Errorf(value.Closed, "the host is closed") }

// enter counts something in, until leave is called. It fails with kind Closed.
func (f *inflight) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed()
	}
	f.count++
	return nil
}

func (f *inflight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count == 0 && f.nothing != nil {
		close(f.nothing)
		f.alarm.stop()
	}
}

// start sets the clock of a wall going.
func (f *inflight) start(w *wall, limit time.Duration) { w.start(&f.alarm, limit) }

// until returns a context that ends also when what the host does is stopped. Call
// done when it is not used any more.
func (f *inflight) until(ctx context.Context) (inner context.Context, done func()) {
	w := &wall{}
	inner = w.open(ctx)
	f.watch(w)
	return inner, func() {
		f.forget(w)
		w.cancel(nil)
	}
}

// watch has a wall stopped with what the host does, until forget is called. What has
// entered before that was stopped may come here after it.
func (f *inflight) watch(w *wall) {
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

func (f *inflight) forget(w *wall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.next.previous, w.previous.next = w.previous, w.next
	w.next, w.previous = nil, nil
}

// close lets nothing more enter. The channel is closed when nothing is left.
func (f *inflight) close() (nothing <-chan struct{}) {
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

// stop ends the contexts of what can be stopped, now and later.
func (f *inflight) stop(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = cause
	for w := f.walls.next; w != nil && w != &f.walls; w = w.next {
		w.cancel(cause)
	}
}
