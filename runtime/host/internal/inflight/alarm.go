package inflight

import (
	"sync"
	"time"
)

// An alarm rings walls when their time is up. It has one timer for all of them, set
// for the earliest: most calls end long before, and one of their own would cost each
// of them more than an entry here. The zero value is ready to use.
type alarm struct {
	mu    sync.Mutex
	walls map[*Wall]time.Time
	timer *time.Timer // nil until there is a wall
	at    time.Time   // when the timer fires; zero where it does not
}

// set has a wall ring at a time, instead of any other.
func (a *alarm) set(w *Wall, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.walls == nil {
		a.walls = map[*Wall]time.Time{}
	}
	a.walls[w] = at
	if a.at.IsZero() || at.Before(a.at) {
		a.arm(at)
	}
}

// clear has a wall not ring. The timer stays as it is: the next wall can use it.
func (a *alarm) clear(w *Wall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.walls, w)
}

// stop stops the timer of an alarm that has no walls and gets no more.
func (a *alarm) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
}

// arm sets the timer. The lock is held.
func (a *alarm) arm(at time.Time) {
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), a.fire)
		return
	}
	a.timer.Reset(time.Until(at))
}

// fire rings the walls whose time has come, and sets the timer for the next.
func (a *alarm) fire() {
	a.mu.Lock()
	var due []*Wall
	var next time.Time
	now := time.Now()
	for w, at := range a.walls {
		switch {
		case !at.After(now):
			due = append(due, w)
			delete(a.walls, w)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	if a.at = next; !next.IsZero() {
		a.arm(next)
	}
	a.mu.Unlock()
	for _, w := range due { // a wall takes its own lock first
		w.ring()
	}
}
