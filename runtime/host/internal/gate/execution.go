package gate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stop is how a recorded run was stopped. The end of its context or of its host interrupts
// it, and it can be resumed. Only [Gate.Cancel] cancels it.
type stop struct{ how atomic.Int32 }

const (
	stopInterrupted = iota + 1
	stopCancelled
)

// set sets how the run was stopped. A cancellation replaces an interruption.
func (s *stop) set(how int32) {
	if how == stopCancelled {
		s.how.Store(how)
	} else {
		s.how.CompareAndSwap(0, how)
	}
}

func (s *stop) stopped() bool   { return s.how.Load() != 0 }
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
	runs   map[*execution]bool // not by ID: a run can be resumed before its last execution is removed
	watch  chan struct{}       // closed when the last run is removed; nil without runs
}

// An execution is a recorded run that this process executes.
type execution struct {
	run    *Run
	cancel context.CancelCauseFunc
}

// stop ends the context of the run. It sets the reason first.
func (e *execution) stop(how int32, cause error) {
	e.run.stopped.set(how)
	e.cancel(cause)
}

// execute executes a recorded run with do until it ends, is interrupted or is cancelled. The
// context of do ends with the run's.
func (r *Run) execute(ctx context.Context, do func(ctx context.Context) error) error {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	e := &execution{run: r, cancel: cancel}
	if err := r.gate.executing.add(e); err != nil {
		return errors.Join(err, r.record.Close())
	}
	defer r.gate.executing.remove(e)
	defer context.AfterFunc(ctx, func() { e.stop(stopInterrupted, interruption(ctx)) })()
	return do(inner)
}

// interruption returns the cause of the end of a context, or errInterrupted if there is no
// better one.
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
	return slices.Collect(maps.Keys(x.runs))
}

// cancelEvery is how often a host checks whether another process wants one of its runs
// cancelled.
const cancelEvery = 500 * time.Millisecond

// follow cancels the runs that another process wants cancelled, until end is closed.
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

// Executing returns the IDs of the recorded runs that are executed now, in any order.
func (g *Gate) Executing() []string {
	return value.Map(g.executing.all(), func(e *execution) string { return e.run.ID })
}

// Cancel cancels a recorded run if this gate executes it, and reports whether it does.
func (g *Gate) Cancel(runID string) bool {
	for _, e := range g.executing.all() {
		if e.run.ID == runID {
			e.stop(stopCancelled, errCancelled)
			return true
		}
	}
	return false
}

// Interrupt interrupts the recorded runs that are executed. Later ones fail with kind Closed.
func (g *Gate) Interrupt() {
	x := &g.executing
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	for _, e := range x.all() {
		e.stop(stopInterrupted, errInterrupted)
	}
}
