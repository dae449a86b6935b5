package journal

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A memoryLease is held while it is in the store's table of leases.
type memoryLease struct {
	s *memory
	n name
}

func (s *memory) Acquire(ctx context.Context, tenant, id string) (Lease, error) {
	if !ValidID(id) {
		return nil, ErrInvalidID(id)
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	n := name{tenant, id}
	if s.leases[n] != nil {
		return nil, ErrHeld(id)
	}
	s.leases[n] = &memoryLease{s, n}
	return s.leases[n], nil
}

func (s *memory) Held(_ context.Context, tenant, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[name{tenant, id}] != nil
}

func (l *memoryLease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.leases[l.n] != l {
		return ErrLost(l.n.id)
	}
	return nil
}

func (l *memoryLease) Release() error {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.leases[l.n] == l {
		delete(l.s.leases, l.n)
	}
	return nil
}
