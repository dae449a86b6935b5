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

func errClosed() *value.Error { return value.Errorf(value.Closed, "the host is closed") }

// notClosed fails with kind Closed for a host that was closed.
func (h *Host) notClosed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed()
	}
	return nil
}

// closeWait is how long [Host.Close] waits for what it cancels.
const closeWait = time.Second

// Shutdown waits until the calls of the host have ended, and closes it. Where the
// context ends before they have, it is closed as by [Host.Close], and the error says
// so. New calls fail with kind Closed from the beginning.
func (h *Host) Shutdown(ctx context.Context) error {
	nothing := h.inflight.close()
	waits, done := h.inflight.until(ctx) // a Close meanwhile ends it too
	defer done()
	select {
	case <-nothing:
		return h.Close()
	case <-waits.Done():
	}
	if err := h.Close(); err != nil {
		return err
	}
	select {
	case <-nothing:
		if ctx.Err() == nil {
			return nil
		}
	default: // a handler ignores its context
	}
	return value.AsError(context.Cause(waits), value.Canceled)
}

// Close cancels the calls of the host, interrupts the recorded runs that it
// executes, so that they can be resumed, and releases what it holds. It waits a
// second for them at most: what a handler that ignores its context still uses is
// released when that returns. Everything else that is asked of the host then fails
// with kind Closed: iterators yield that error and end, and the channels of events are
// closed. Only its tools can still be listed; see [Host.Tools]. To close it again only
// waits for the same calls.
func (h *Host) Close() error {
	h.mu.Lock()
	before := h.closed
	h.closed = true
	h.mu.Unlock()
	h.wakeDue() // it returns
	nothing := h.inflight.close()
	if before {
		select {
		case <-nothing:
		case <-time.After(closeWait):
		}
		return nil
	}
	defer h.hub.close() // after the ends of the calls were reported
	h.executing.close()
	h.inflight.stop(errClosed())
	release := func() error {
		if h.opts.Close == nil {
			return nil
		}
		return h.opts.Close()
	}
	select {
	case <-nothing:
		return release()
	case <-time.After(closeWait):
	}
	go func() {
		<-nothing
		_ = release() // nobody is there to be told
	}()
	return nil
}
