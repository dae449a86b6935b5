package inflight

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Stop is how a recorded run was stopped. The end of its context or of its host interrupts
// it, and it can be resumed. Only [Runs.Cancel] cancels it. The zero value is not stopped. It is
// safe for concurrent use.
type Stop struct{ how atomic.Int32 }

const (
	interrupted = iota + 1
	cancelled
)

// set sets how the run was stopped. A cancellation replaces an interruption.
func (s *Stop) set(how int32) {
	if how == cancelled {
		s.how.Store(how)
	} else {
		s.how.CompareAndSwap(0, how)
	}
}

// Cancel marks the run as cancelled.
func (s *Stop) Cancel() { s.set(cancelled) }

// Stopped reports whether the run was interrupted or cancelled.
func (s *Stop) Stopped() bool { return s.how.Load() != 0 }

// Cancelled reports whether the run was cancelled.
func (s *Stop) Cancelled() bool { return s.how.Load() == cancelled }

// ErrInterrupted and ErrCancelled are the causes of a stopped run's context.
var (
	ErrInterrupted = value.Errorf(value.Canceled, "the run was interrupted")
	ErrCancelled   = value.Errorf(value.Canceled, "the run was cancelled")
)

// Runs are the recorded runs that a host executes. The zero value has none. It is safe for
// concurrent use.
type Runs struct {
	mu     sync.Mutex
	closed bool
	runs   map[*Run]bool // not by ID: a run can be resumed before its last execution is removed
	watch  chan struct{} // closed when the last run is removed; nil without runs
}

// A Run is a recorded run that this process executes.
type Run struct {
	ID      string
	Stopped *Stop
	// Wanted reports whether another process wants it cancelled. It fails with kind Conflict if this process may not
	// execute it any longer.
	Wanted func(ctx context.Context) (bool, error)
	cancel context.CancelCauseFunc
}

// stop ends the context of the run. It sets the reason first.
func (r *Run) stop(how int32, cause error) {
	r.Stopped.set(how)
	r.cancel(cause)
}

// Execute executes a run with do until it ends, is interrupted or is cancelled. The context of
// do ends with the run's. It fails with kind Closed after [Runs.Interrupt], without calling do;
// begun reports that do was called.
func (x *Runs) Execute(ctx context.Context, r *Run, do func(ctx context.Context) error) (begun bool, err error) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	r.cancel = cancel
	if err := x.add(r); err != nil {
		return false, err
	}
	defer x.remove(r)
	defer context.AfterFunc(ctx, func() { r.stop(interrupted, interruption(ctx)) })()
	return true, do(inner)
}

// interruption returns the cause of the end of a context, or ErrInterrupted if there is no
// better one.
func interruption(ctx context.Context) error {
	cause := context.Cause(ctx)
	if e := (*value.Error)(nil); errors.As(cause, &e) || !errors.Is(cause, context.Canceled) {
		return cause
	}
	return ErrInterrupted
}

func (x *Runs) add(r *Run) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return Closed()
	}
	if x.runs == nil {
		x.runs = map[*Run]bool{}
	}
	x.runs[r] = true
	if x.watch == nil {
		x.watch = make(chan struct{})
		go x.follow(x.watch)
	}
	return nil
}

func (x *Runs) remove(r *Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.runs, r)
	if len(x.runs) == 0 {
		close(x.watch)
		x.watch = nil
	}
}

func (x *Runs) all() []*Run {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.runs))
}

// cancelEvery is how often a host checks whether another process wants one of its runs
// cancelled.
const cancelEvery = 500 * time.Millisecond

// follow cancels the runs that another process wants cancelled, until end is closed.
func (x *Runs) follow(end <-chan struct{}) {
	tick := time.NewTicker(cancelEvery)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		for _, r := range x.all() {
			switch wanted, err := r.Wanted(context.Background()); {
			case err == nil && wanted:
				r.stop(cancelled, ErrCancelled)
			case err != nil && value.KindOf(err) == value.Conflict: // another process executes it
				r.stop(interrupted, err)
			}
		}
	}
}

// IDs returns the IDs of the runs that are executed now, in any order.
func (x *Runs) IDs() []string {
	return value.Map(x.all(), func(r *Run) string { return r.ID })
}

// Cancel cancels a run if it is executed now, and reports whether it is. When [Runs.Execute] returns, the run is
// cancelled, or its later cancellations are not reported.
func (x *Runs) Cancel(runID string) (executed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for r := range x.runs {
		if r.ID == runID {
			r.stop(cancelled, ErrCancelled)
			executed = true
		}
	}
	return executed
}

// Interrupt interrupts the runs that are executed. Later ones fail with kind Closed.
func (x *Runs) Interrupt() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	for _, r := range x.all() {
		r.stop(interrupted, ErrInterrupted)
	}
}
