package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// valid fails with kind Invalid for a host that is nil, or that New has not made.
func (h *Host) valid() error {
	if h == nil || h.inForce.Load() == nil {
		return value.Errorf(value.Invalid, "use a host: it is nil or empty").WithHint("open one with cassidy.Open or host.New, and look at the error that it returns")
	}
	return nil
}

// notClosed fails with kind Closed for a closed host, and as valid does.
func (h *Host) notClosed() error {
	if err := h.valid(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return inflight.Closed()
	}
	return nil
}

// closeWait is how long [Host.Close] waits for the calls that it cancels.
const closeWait = time.Second

// Shutdown waits until the calls of the host have ended, and closes the host. If ctx ends
// first, Shutdown closes it like [Host.Close], and returns the error of ctx. New calls fail
// with kind Closed as soon as Shutdown is called.
func (h *Host) Shutdown(ctx context.Context) error {
	if err := h.valid(); err != nil {
		return err
	}
	nothing := h.inflight.Close()
	waits, done := h.inflight.Until(ctx) // also ends with a concurrent Close
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

// Close cancels the calls of the host, interrupts the recorded runs that it executes, so that
// they can be resumed, and releases its resources. It waits for at most a second: if a
// handler ignores its context, the resources are released when the handler returns.
//
// Later calls of methods fail with kind Closed: iterators yield that error and end, and the
// channels of events are closed. The tools can still be listed; see [Host.Tools]. A second
// Close only waits for the same calls.
func (h *Host) Close() error {
	if err := h.valid(); err != nil {
		return err
	}
	h.mu.Lock()
	before := h.closed
	h.closed = true
	h.mu.Unlock()
	h.wakeDue() // so that ResumeDue returns
	nothing := h.inflight.Close()
	if before {
		select {
		case <-nothing:
		case <-time.After(closeWait):
		}
		return nil
	}
	defer h.hub.Close() // after the events of the ends of the calls
	h.gate.Interrupt()
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
		_ = release() // Close has returned already
	}()
	return nil
}
