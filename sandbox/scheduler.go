package sandbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// maxWaiting is how many requests may wait for their turn.
const maxWaiting = 256

// A scheduler decides who may compute: a tenant, and of one tenant a domain, that has
// little running goes before one that has more. A worker that waits for the host does
// not count. Its methods are safe for concurrent use.
type scheduler struct {
	most      int // how many may compute
	perDomain int // how many of them of one domain

	mu      sync.Mutex
	total   int // of those that compute
	running map[domain]int
	busy    map[string]int // by tenant
	waiting []*turn
	closed  bool
}

// A turn is somebody waiting to compute.
type turn struct {
	domain domain
	given  chan struct{}
	over   bool // the scheduler was closed instead
}

func newScheduler(most, perDomain int) *scheduler {
	return &scheduler{most: most, perDomain: perDomain, running: map[domain]int{}, busy: map[string]int{}}
}

// full returns an error of kind Busy where too many wait.
func (s *scheduler) full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		return queueError("%d calls wait already", maxWaiting)
	}
	return nil
}

// await waits for a domain's turn.
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
			s.leave(d) // it was given just now
		}
		return ended(ctx)
	}
}

// withdraw removes a request from the queue, and reports whether it got its turn
// before that.
func (s *scheduler) withdraw(t *turn) (given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return false
	}
	return !t.over
}

// count has a worker of a domain count as computing, whether that may be or not.
func (s *scheduler) count(d domain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(d)
}

// leave says that a worker of a domain computes no more, and lets others.
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

// close refuses all who wait or come later.
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

// The lock is held in what follows.

func (s *scheduler) mayRun(d domain) bool { return s.total < s.most && s.running[d] < s.perDomain }

func (s *scheduler) begin(d domain) {
	s.running[d]++
	s.busy[d.tenant]++
	s.total++
}

// next returns who is to compute next: of the tenant that has least running, the first
// of the domain that has. It is -1 where nobody may.
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
