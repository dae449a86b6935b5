package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A watch looks at a worker while it is the worker's turn, and kills one that
// computes for too long, holds too much memory, does nothing at all, or whose
// request is over. The worker has limits of its own, which give better errors;
// this is for those that they do not reach.
type watch struct {
	child *child
	came  atomic.Int64 // bytes from the worker, ever
	frame atomic.Bool  // a part of a frame has come

	mu     sync.Mutex
	ctx    context.Context // of the request; nil where there is none
	turn   bool
	since  time.Time     // the turn's begin
	budget time.Duration // of processor time for the request; 0 is no limit
	base   time.Duration // the process's time when it was first looked at in the request
	based  bool          // base is known
	spent  time.Duration // wall time of earlier turns
	last   progress      // when the worker was last seen to get on
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
	// lookEvery is how often the workers are looked at that have not answered.
	lookEvery = 10 * time.Millisecond
	// grace is how long a worker has to stop a script by itself.
	grace = 100 * time.Millisecond
	// memoryGrace is what a worker holds beside what its script does.
	memoryGrace = 64 << 20
	// stuckAfter is how long a worker may do nothing in its turn: an honest one
	// computes, writes, or waits for a processor.
	stuckAfter = time.Second
	// leastShare is what part of a processor a worker gets at least, however
	// many others there are: after so many times its budget it is waited for no
	// longer, lest it use its budget up as slowly as it likes.
	leastShare = 256
	leastTime  = time.Millisecond
	leastBytes = 16 << 10
)

// until has the worker end with a context, until forget is called.
func (w *watch) until(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
}

func (w *watch) forget() { w.until(context.Background()) }

// reset begins a request that may use so much processor time.
func (w *watch) reset(budget time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget, w.spent, w.based = budget, 0, false // most requests are never looked at
}

// begin says that it is the worker's turn.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.since, w.last, w.looked = true, time.Now(), progress{}, time.Time{}
}

// end says that it is the worker's turn no more.
func (w *watch) end() {
	w.frame.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn {
		w.turn = false
		w.spent += time.Since(w.since)
	}
}

// arrived notes that bytes have come, as a part of a frame.
func (w *watch) arrived(n int) {
	w.came.Add(int64(n))
	w.frame.Store(true)
}

// look kills a worker that is to end. It says whether it is the worker's turn.
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

// judge says why the worker is to end now, or nil.
func (w *watch) judge() *value.Error {
	c := w.child
	if held, ok := c.rss(); ok && held > c.memory+memoryGrace {
		return memoryError(c.memory)
	}
	cpu, known := c.cpu()
	if known && w.stuck(cpu) {
		return value.Errorf(value.Unavailable, "the tool's worker does not answer, and does nothing").WithHint("call the tool again")
	}
	used := w.spent + time.Since(w.since)
	if w.budget > 0 && used > leastShare*w.budget {
		return value.Errorf(value.Unavailable, "the tool's worker does not answer, and does little").WithHint("call the tool again")
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
	// Where it was us who did not look, a stopped program say, the answer may
	// have been here for long.
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
	closed  atomic.Bool // it need not look any more
	done    sync.WaitGroup
}

// idleLooks is how often in a row nothing was to be seen before the guard goes
// to sleep.
const idleLooks = 100

// wake sees to it that the guard looks.
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
		// Somebody may have begun just before, and not have woken it.
		if !g.look() || !g.awake.CompareAndSwap(false, true) {
			return
		}
		idle = 0
	}
}

// look looks at each worker, and says whether any has its turn.
func (g *guard) look() bool {
	busy := false
	for _, c := range g.workers() {
		busy = c.watch.look() || busy
	}
	return busy
}
