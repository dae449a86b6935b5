package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
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

// watch has a wall stopped with what the host does, until forget is called.
func (f *inflight) watch(w *wall) {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// stop ends the contexts of what can be stopped.
func (f *inflight) stop(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := f.walls.next; w != nil && w != &f.walls; w = w.next {
		w.cancel(cause)
	}
}

func errClosed() *tool.Error { return tool.Errorf(tool.Closed, "the host is closed") }

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
	var late error
	select {
	case <-h.inflight.close():
	case <-ctx.Done():
		late = tool.AsError(context.Cause(ctx), tool.Canceled)
	}
	if err := h.Close(); err != nil {
		return err
	}
	return late
}

// Close cancels the calls of the host, interrupts the recorded runs that it
// executes, so that they can be resumed, and releases what it holds. It waits a
// second for them at most: what a handler that ignores its context still uses is
// released when that returns. Everything else that is asked of the host then fails
// with kind Closed. To close it again does nothing.
func (h *Host) Close() error {
	h.mu.Lock()
	before := h.closed
	h.closed = true
	h.mu.Unlock()
	if before {
		return nil
	}
	defer h.hub.close() // after the ends of the calls were reported
	nothing := h.inflight.close()
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
