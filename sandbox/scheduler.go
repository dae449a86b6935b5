package sandbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// maxWaiting is how many requests may wait for a turn.
const maxWaiting = 256

// A scheduler decides which worker may compute. The tenant with the fewest running workers
// comes first, and of one tenant the domain with the fewest. A worker that waits for the
// host does not count. Its methods are safe for concurrent use.
type scheduler struct {
	most      int // how many may compute
	perDomain int // how many of them of one domain

	mu      sync.Mutex
	total   int // workers that compute
	running map[domain]int
	busy    map[string]int // by tenant
	waiting []*turn
	closed  bool
}

// A turn is a request that waits to compute.
type turn struct {
	domain domain
	given  chan struct{}
	over   bool // the scheduler was closed instead
}

func newScheduler(most, perDomain int) *scheduler {
	return &scheduler{most: most, perDomain: perDomain, running: map[domain]int{}, busy: map[string]int{}}
}

// full returns an error of kind Busy if too many requests wait.
func (s *scheduler) full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		return queueError("the queue is full: %d calls are waiting", maxWaiting)
	}
	return nil
}

// await waits for a domain's turn, until ctx ends or the scheduler is closed.
func (s *scheduler) await(ctx context.Context, d domain) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed()
	}
	if s.mayRun(d) {
		s.begin(d)
		s.mu.Unlock()
		return nil
	}
	t := &turn{domain: d, given: make(chan struct{})}
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	select {
	case <-t.given:
		if t.over {
			return errClosed()
		}
		return nil
	case <-ctx.Done():
		if s.withdraw(t) {
			s.leave(d) // it has just got its turn
		}
		return ended(ctx)
	}
}

// withdraw removes a request from the queue, and reports whether it had already got its
// turn.
func (s *scheduler) withdraw(t *turn) (given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return false
	}
	return !t.over
}

// count counts a worker of a domain as computing, beyond the bounds too.
func (s *scheduler) count(d domain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(d)
}

// leave ends the turn of a worker of a domain, and begins those of waiting requests.
func (s *scheduler) leave(d domain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.running[d]--; s.running[d] == 0 {
		delete(s.running, d)
	}
	if s.busy[d.tenant]--; s.busy[d.tenant] == 0 {
		delete(s.busy, d.tenant)
	}
	for next := s.next(); next >= 0; next = s.next() {
		t := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.begin(t.domain)
		close(t.given)
	}
}

// close fails waiting requests and later ones.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range s.waiting {
		t.over = true
		close(t.given)
	}
	s.waiting = nil
}

// The following methods need the lock.

func (s *scheduler) mayRun(d domain) bool { return s.total < s.most && s.running[d] < s.perDomain }

func (s *scheduler) begin(d domain) {
	s.running[d]++
	s.busy[d.tenant]++
	s.total++
}

// next returns the index of the request that computes next: of the tenant with the fewest
// running workers, the first one of the domain with the fewest. It is -1 if none may.
func (s *scheduler) next() int {
	best := -1
	for i, t := range s.waiting {
		if s.mayRun(t.domain) && (best < 0 || s.before(t.domain, s.waiting[best].domain)) {
			best = i
		}
	}
	return best
}

func (s *scheduler) before(a, b domain) bool {
	return cmp.Or(cmp.Compare(s.busy[a.tenant], s.busy[b.tenant]), cmp.Compare(s.running[a], s.running[b])) < 0
}
