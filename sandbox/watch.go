package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A watch looks at a worker while it is the worker's turn, and kills it if it computes for too
// long, holds too much memory, does nothing at all, or if its request has ended. A worker
// has limits of its own, which give better errors; a watch is for what they miss. Its
// methods are safe for concurrent use.
type watch struct {
	child *child
	came  atomic.Int64 // bytes from the worker, ever
	frame atomic.Bool  // a part of a frame has arrived

	mu     sync.Mutex
	ctx    context.Context // of the request; nil without one
	turn   bool
	since  time.Time     // the turn's begin
	budget time.Duration // of processor time for the request; 0 is no limit
	base   time.Duration // the processor time when it was first looked at in the request
	based  bool          // base is known
	spent  time.Duration // wall time of earlier turns
	last   progress      // when the worker was last seen to progress
	looked time.Time     // when it was last looked at
}

// A progress is how far a worker had come at some time.
type progress struct {
	at     time.Time
	cpu    time.Duration
	came   int64
	within bool // a frame
}

const (
	// lookEvery is the interval at which workers are looked at that have not answered.
	lookEvery = 10 * time.Millisecond
	// grace is how long a worker may compute beyond its budget, to stop the script by itself.
	grace = 100 * time.Millisecond
	// memoryGrace is how many bytes a worker may hold beyond its budget.
	memoryGrace = 64 << 20
	// stuckAfter is how long a worker may do nothing in its turn: an honest one
	// computes, writes, or waits for a processor.
	stuckAfter = time.Second
	// leastShare bounds the wall time of a worker: after so many times its budget of
	// processor time it is killed, so that it cannot use up its budget arbitrarily slowly.
	leastShare = 256
	leastTime  = time.Millisecond
	leastBytes = 16 << 10
)

// until has the worker killed when a context ends, until forget is called.
func (w *watch) until(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
}

func (w *watch) forget() { w.until(context.Background()) }

// reset begins a request with a budget of processor time; 0 is no limit.
func (w *watch) reset(budget time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget, w.spent, w.based = budget, 0, false // most requests are never looked at
}

// begin begins the worker's turn.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.since, w.last, w.looked = true, time.Now(), progress{}, time.Time{}
}

// end ends the worker's turn.
func (w *watch) end() {
	w.frame.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn {
		w.turn = false
		w.spent += time.Since(w.since)
	}
}

// arrived notes that n bytes of a frame have arrived.
func (w *watch) arrived(n int) {
	w.came.Add(int64(n))
	w.frame.Store(true)
}

// look kills a worker that must end, and reports whether it is the worker's turn.
func (w *watch) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.turn {
		return false
	}
	if w.ctx != nil && w.ctx.Err() != nil {
		w.child.kill(ended(w.ctx))
	} else if time.Since(w.since) >= lookEvery {
		if why := w.judge(); why != nil {
			w.child.kill(why)
		}
	}
	return true
}

// judge returns why the worker must end now, or nil.
func (w *watch) judge() *value.Error {
	c := w.child
	if held, ok := c.rss(); ok && held > c.memory+memoryGrace {
		return memoryError(c.memory)
	}
	cpu, known := c.cpu()
	if known && w.stuck(cpu) {
		return value.Errorf(value.Unavailable, "the tool's worker does not respond, and uses no CPU").WithHint("call the tool again")
	}
	used := w.spent + time.Since(w.since)
	if w.budget > 0 && used > leastShare*w.budget {
		return value.Errorf(value.Unavailable, "the tool's worker does not respond, and uses almost no CPU").WithHint("call the tool again")
	}
	if known && !w.based {
		w.base, w.based = cpu, true
	}
	if known {
		used = cpu - w.base
	}
	if w.budget > 0 && used > w.budget+grace {
		return cpuError(w.budget)
	}
	return nil
}

// stuck reports whether the worker has done nothing for a while, or drips a
// frame byte by byte.
func (w *watch) stuck(cpu time.Duration) bool {
	now := progress{time.Now(), cpu, w.came.Load(), w.frame.Load()}
	// Where this program has not looked for a while, since it was stopped for example, the
	// answer may be waiting.
	if w.last.at.IsZero() || now.at.Sub(w.looked) > stuckAfter/2 {
		w.last = now
	}
	w.looked = now.at
	if now.at.Sub(w.last.at) < stuckAfter {
		return false
	}
	idle := now.cpu-w.last.cpu < leastTime && !wantsCPU(w.child.process.Pid)
	drips := now.within && w.last.within && now.came-w.last.came < leastBytes
	w.last = now
	return idle || drips
}

// A guard looks at the workers of a pool, all of them in one goroutine that
// ends when there has been nothing to look at for a while: a timer for each
// call would cost more than most calls do.
type guard struct {
	workers func() []*child
	awake   atomic.Bool
	closed  atomic.Bool // it ends
	done    sync.WaitGroup
}

// idleLooks is how many looks in a row find no worker in its turn before the guard ends.
const idleLooks = 100

// wake makes the guard look, if it does not.
func (g *guard) wake() {
	if !g.awake.Load() && g.awake.CompareAndSwap(false, true) {
		g.done.Go(g.watch)
	}
}

func (g *guard) watch() {
	for idle := 0; !g.closed.Load(); idle++ {
		time.Sleep(lookEvery)
		if g.look() {
			idle = 0
		}
		if idle < idleLooks {
			continue
		}
		g.awake.Store(false)
		// A turn may have begun just before, without waking it.
		if !g.look() || !g.awake.CompareAndSwap(false, true) {
			return
		}
		idle = 0
	}
}

// look looks at each worker, and reports whether one has its turn.
func (g *guard) look() bool {
	busy := false
	for _, c := range g.workers() {
		busy = c.watch.look() || busy
	}
	return busy
}
