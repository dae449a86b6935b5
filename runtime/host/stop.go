package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stop says whether a recorded run was stopped, and so whether it can be
// resumed: the end of its context and that of its host interrupt it; only
// [Host.Cancel] cancels it.
type stop struct{ how atomic.Int32 }

const (
	stopInterrupted = iota + 1
	stopCancelled
)

// to notes how the run was stopped. A cancel wins over an interruption.
func (s *stop) to(how int32) {
	if how == stopCancelled {
		s.how.Store(how)
	} else {
		s.how.CompareAndSwap(0, how)
	}
}

func (s *stop) is() bool        { return s.how.Load() != 0 }
func (s *stop) cancelled() bool { return s.how.Load() == stopCancelled }

// errInterrupted and errCancelled are the causes of a stopped run's context.
var (
	errInterrupted = value.Errorf(value.Canceled, "the run was interrupted")
	errCancelled   = value.Errorf(value.Canceled, "the run was cancelled")
)

// executing are the recorded runs that a host executes.
type executing struct {
	mu     sync.Mutex
	closed bool
	runs   map[*execution]bool // a run can be resumed before its last execution is removed
	watch  chan struct{}       // closed when nothing is executed any more; nil where nothing is
}

// An execution is a recorded run that is executed here.
type execution struct {
	run    *run
	cancel context.CancelCauseFunc
}

// stop ends the run's context, but not before the run knows why.
func (e *execution) stop(how int32, cause error) {
	e.run.stopped.to(how)
	e.cancel(cause)
}

// execute runs a recorded run until it ends, is interrupted or is cancelled. The
// context that do gets ends with the run's.
func (r *run) execute(ctx context.Context, do func(ctx context.Context) error) error {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	e := &execution{run: r, cancel: cancel}
	if err := r.host.executing.add(e); err != nil {
		return errors.Join(err, r.record.Close())
	}
	defer r.host.executing.remove(e)
	defer context.AfterFunc(ctx, func() { e.stop(stopInterrupted, interruption(ctx)) })()
	return do(inner)
}

// interruption is the cause of a context's end: why it ended, if that is known.
func interruption(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errInterrupted
}

func (x *executing) add(e *execution) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return inflight.Closed()
	}
	if x.runs == nil {
		x.runs = map[*execution]bool{}
	}
	x.runs[e] = true
	if x.watch == nil {
		x.watch = make(chan struct{})
		go x.follow(x.watch)
	}
	return nil
}

func (x *executing) remove(e *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.runs, e)
	if len(x.runs) == 0 {
		close(x.watch)
		x.watch = nil
	}
}

func (x *executing) all() []*execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := make([]*execution, 0, len(x.runs))
	for e := range x.runs {
		list = append(list, e)
	}
	return list
}

// cancelEvery is how often a host looks whether another process wants one of its
// runs cancelled: soon for a person, and little work for the store.
const cancelEvery = 500 * time.Millisecond

// follow cancels the runs that another process wants cancelled, while any are
// executed.
func (x *executing) follow(end <-chan struct{}) {
	tick := time.NewTicker(cancelEvery)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		for _, e := range x.all() {
			if wanted, err := e.run.record.CancelRequested(context.Background()); err == nil && wanted {
				e.stop(stopCancelled, errCancelled)
			}
		}
	}
}

// close interrupts what is executed.
func (x *executing) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	for _, e := range x.all() {
		e.stop(stopInterrupted, errInterrupted)
	}
}

// Executing returns the IDs of the recorded runs that the host executes now, in
// no order.
func (h *Host) Executing() []string {
	var ids []string
	for _, e := range h.executing.all() {
		ids = append(ids, e.run.id)
	}
	return ids
}

// Cancel ends a run: it cannot be resumed any more. One that another process
// executes is ended by that process, within a second or so. It fails with kind
// NotFound if there is no such run, and Conflict if it has ended.
func (h *Host) Cancel(ctx context.Context, runID string) error {
	for _, e := range h.executing.all() {
		if e.run.id == runID {
			e.stop(stopCancelled, errCancelled)
			return nil
		}
	}
	j, err := h.journal()
	if err != nil {
		return err
	}
	_, err = j.Cancel(ctx, runID)
	return err
}
