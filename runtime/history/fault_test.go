package history

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// A faultStore passes calls to a store. Its functions make them fail, or change their
// results; nil ones do nothing.
type faultStore struct {
	journal.Store
	commits atomic.Int64 // how many commits were passed on

	commit func([]*journal.Write) error // before a commit; an error is its result
	stored func(*journal.Stored)        // after Load
	row    func(*journal.Row)           // after Find, and for each row of List
	taken  func(*journal.Message)       // after Take
	sent   func()                       // before Send
	// acquired is called after Acquire.
	acquired func()
	blob     func(size int64) error // before Blob; an error is its result
}

func (s *faultStore) Commit(ctx context.Context, writes []*journal.Write) error {
	if s.commit != nil {
		if err := s.commit(writes); err != nil {
			return err
		}
	}
	s.commits.Add(1)
	return s.Store.Commit(ctx, writes)
}

func (s *faultStore) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	lease, err := s.Store.Acquire(ctx, tenant, id)
	if s.acquired != nil {
		s.acquired()
	}
	return lease, err
}

func (s *faultStore) Find(ctx context.Context, tenant, id string) (journal.Row, error) {
	row, err := s.Store.Find(ctx, tenant, id)
	if s.row != nil {
		s.row(&row)
	}
	return row, err
}

func (s *faultStore) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		for row, err := range s.Store.List(ctx, f) {
			if s.row != nil {
				s.row(&row)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (s *faultStore) Load(ctx context.Context, num int64) (journal.Stored, error) {
	st, err := s.Store.Load(ctx, num)
	if s.stored != nil {
		s.stored(&st)
	}
	return st, err
}

func (s *faultStore) Take(ctx context.Context, num int64, kind, key string) (journal.Message, bool, error) {
	m, ok, err := s.Store.Take(ctx, num, kind, key)
	if s.taken != nil {
		s.taken(&m)
	}
	return m, ok, err
}

func (s *faultStore) Send(ctx context.Context, num int64, m journal.Message) (int64, error) {
	if s.sent != nil {
		s.sent()
	}
	return s.Store.Send(ctx, num, m)
}

func (s *faultStore) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	if s.blob != nil {
		if err := s.blob(size); err != nil {
			return nil, err
		}
	}
	return s.Store.Blob(ctx, name, size)
}
