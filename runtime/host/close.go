package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// notClosed fails with kind Closed for a host that was closed.
func (h *Host) notClosed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return inflight.Closed()
	}
	return nil
}

// closeWait is how long [Host.Close] waits for what it cancels.
const closeWait = time.Second

// Shutdown waits until the calls of the host have ended, and closes it. Where the
// context ends before they have, it is closed as by [Host.Close], and the error says
// so. New calls fail with kind Closed from the beginning.
func (h *Host) Shutdown(ctx context.Context) error {
	nothing := h.inflight.Close()
	waits, done := h.inflight.Until(ctx) // a Close meanwhile ends it too
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
	nothing := h.inflight.Close()
	if before {
		select {
		case <-nothing:
		case <-time.After(closeWait):
		}
		return nil
	}
	defer h.hub.Close() // after the ends of the calls were reported
	h.executing.close()
	h.inflight.Stop(inflight.Closed())
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
