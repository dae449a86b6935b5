// Package inflight keeps track of what a host does for its callers, so that the host can wait
// for it, stop it, and end it when its time is over.
package inflight

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Group is the calls and programs that a host executes for its callers, without those that
// these make. Nothing enters a closed group. The zero value is ready to use, and safe for
// concurrent use.
type Group struct {
	mu      sync.Mutex
	closed  bool
	count   int           // the number of calls and programs in it
	nothing chan struct{} // closed when a closed group is empty; nil before it is closed
	walls   Wall          // the head of the ring of those that can be stopped
	stopped error         // why they were stopped, or nil
	clocks  sync.Pool     // of *clock, for the walls of calls
}

// Closed returns the error of a closed host.
func Closed() *value.Error { return value.Errorf(value.Closed, "the host is closed") }

// Enter adds a call or program until Leave is called. It fails with kind Closed for a closed
// group.
func (f *Group) Enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return Closed()
	}
	f.count++
	return nil
}

// Leave removes what Enter has added.
func (f *Group) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count == 0 && f.nothing != nil {
		close(f.nothing)
	}
}

// Until returns a context that also ends when the group is stopped. Call done when it is not
// used any more.
func (f *Group) Until(ctx context.Context) (inner context.Context, done func()) {
	w := &Wall{}
	inner = w.Open(ctx)
	f.Watch(w)
	return inner, func() {
		f.Forget(w)
		w.cancel(nil)
	}
}

// Watch adds a wall, whose context ends when the group is stopped, until Forget is called. If
// the group is stopped already, the context ends immediately.
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

// Forget removes a wall.
func (f *Group) Forget(w *Wall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.next.previous, w.previous.next = w.previous, w.next
	w.next, w.previous = nil, nil
}

// Close closes the group: nothing enters any more. The channel is closed when it is empty.
func (f *Group) Close() (nothing <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.nothing == nil {
		f.nothing = make(chan struct{})
		if f.count == 0 {
			close(f.nothing)
		}
	}
	return f.nothing
}

// Stop ends the contexts of the walls in the group, and of those that are added later.
func (f *Group) Stop(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = cause
	for w := f.walls.next; w != nil && w != &f.walls; w = w.next {
		w.cancel(cause)
	}
}
