package gate

import (
	"sync"
	"time"
)

// A waited is how long a call has waited for people: itself, or in a call that it made. The durations
// in events are those of work, and do not include this time.
type waited struct {
	mu    sync.Mutex
	asked int           // the number of questions that are open
	since time.Time     // when the first of them was asked
	total time.Duration // of those before
}

func (w *waited) begin(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked++; w.asked == 1 {
		w.since = now
	}
}

func (w *waited) end(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked--; w.asked == 0 {
		w.total += now.Sub(w.since)
	}
}

// sum returns how long the call has waited until now.
func (w *waited) sum() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked > 0 {
		return w.total + time.Since(w.since)
	}
	return w.total
}

// waitForPerson begins to wait for a person: the clock of the call stops, and neither it nor the calls
// above it work, until the returned function is called.
func (p *Pass) waitForPerson() (done func()) {
	p.wall.Pause()
	now := time.Now()
	for q := p; q != nil; q = q.above {
		q.waited.begin(now)
	}
	return func() {
		now := time.Now()
		for q := p; q != nil; q = q.above {
			q.waited.end(now)
		}
		p.wall.Resume()
	}
}
