package sqlite

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// A lateStore is a store of runs that is opened when something is first recorded or read: a command has one
// host whether its call is recorded or not, and a call that only reads creates no files.
type lateStore struct {
	opened func() (*Store, error)
	used   bool // guarded by closing
	closed bool

	closing sync.Mutex
}

// Late returns a store that open opens when it is first used, if ever.
func Late(open func() (*Store, error)) journal.Store {
	return &lateStore{opened: sync.OnceValues(open)}
}

// store returns the store, which it opens the first time.
func (s *lateStore) store() (journal.Store, error) {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed && !s.used {
		return nil, journal.ErrClosed()
	}
	s.used = true
	return s.opened()
}

func (s *lateStore) Close() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed = true; !s.used {
		return nil
	}
	store, err := s.opened()
	if err != nil {
		return nil // who used it has the error
	}
	return store.Close()
}

func (s *lateStore) Commit(ctx context.Context, writes []*journal.Write) error {
	of, err := s.store()
	if err != nil {
		return err
	}
	return of.Commit(ctx, writes)
}

func (s *lateStore) Find(ctx context.Context, tenant, id string) (journal.Row, error) {
	of, err := s.store()
	if err != nil {
		return journal.Row{}, err
	}
	return of.Find(ctx, tenant, id)
}

func (s *lateStore) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	of, err := s.store()
	if err != nil {
		return func(yield func(journal.Row, error) bool) { yield(journal.Row{}, err) }
	}
	return of.List(ctx, f)
}

func (s *lateStore) Tenants(ctx context.Context, states ...journal.State) ([]string, error) {
	of, err := s.store()
	if err != nil {
		return nil, err
	}
	return of.Tenants(ctx, states...)
}

func (s *lateStore) Load(ctx context.Context, num int64) (journal.Stored, error) {
	of, err := s.store()
	if err != nil {
		return journal.Stored{}, err
	}
	return of.Load(ctx, num)
}

func (s *lateStore) Delete(ctx context.Context, num int64) error {
	of, err := s.store()
	if err != nil {
		return err
	}
	return of.Delete(ctx, num)
}

func (s *lateStore) Send(ctx context.Context, num int64, m journal.Message) (int64, error) {
	of, err := s.store()
	if err != nil {
		return 0, err
	}
	return of.Send(ctx, num, m)
}

func (s *lateStore) Take(ctx context.Context, num int64, kind, key string) (journal.Message, bool, error) {
	of, err := s.store()
	if err != nil {
		return journal.Message{}, false, err
	}
	return of.Take(ctx, num, kind, key)
}

func (s *lateStore) Inbox(ctx context.Context, num, after int64) ([]journal.Message, error) {
	of, err := s.store()
	if err != nil {
		return nil, err
	}
	return of.Inbox(ctx, num, after)
}

func (s *lateStore) PutBlob(ctx context.Context, name string, data []byte) error {
	of, err := s.store()
	if err != nil {
		return err
	}
	return of.PutBlob(ctx, name, data)
}

func (s *lateStore) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	of, err := s.store()
	if err != nil {
		return nil, err
	}
	return of.Blob(ctx, name, size)
}

func (s *lateStore) SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error {
	of, err := s.store()
	if err != nil {
		return err
	}
	return of.SweepBlobs(ctx, before, named)
}

func (s *lateStore) EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error {
	of, err := s.store()
	if err != nil {
		return err
	}
	return of.EachFrame(ctx, do)
}

func (s *lateStore) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	of, err := s.store()
	if err != nil {
		return nil, err
	}
	return of.Acquire(ctx, tenant, id)
}

func (s *lateStore) Held(ctx context.Context, tenant, id string) bool {
	of, err := s.store()
	if err != nil {
		return false
	}
	return of.Held(ctx, tenant, id)
}
