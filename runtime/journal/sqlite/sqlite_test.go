package sqlite

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/journaltest"
)

// open opens the store in a folder for a test.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	journaltest.Run(t,
		func(t *testing.T) journal.Store { return open(t, t.TempDir()) },
		func(t *testing.T, s journal.Store) journal.Store { return open(t, s.(*Store).dir) })
}

// TestTwoStores runs the suite with stores that pass each call to one of two
// stores in the same folder, in turn.
func TestTwoStores(t *testing.T) {
	t.Parallel()
	pairOf := func(t *testing.T, dir string) journal.Store {
		return &pair{stores: [2]*Store{open(t, dir), open(t, dir)}}
	}
	journaltest.Run(t,
		func(t *testing.T) journal.Store { return pairOf(t, t.TempDir()) },
		func(t *testing.T, s journal.Store) journal.Store { return pairOf(t, s.(*pair).stores[0].dir) })
}

type pair struct {
	stores [2]*Store
	calls  atomic.Int64
}

func (p *pair) next() *Store { return p.stores[p.calls.Add(1)%2] }

func (p *pair) Commit(ctx context.Context, writes []*journal.Write) error {
	return p.next().Commit(ctx, writes)
}

func (p *pair) Find(ctx context.Context, tenant, id string) (journal.Row, error) {
	return p.next().Find(ctx, tenant, id)
}

func (p *pair) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	return p.next().List(ctx, f)
}

func (p *pair) Count(ctx context.Context, f journal.Filter) (map[journal.State]int, error) {
	return p.next().Count(ctx, f)
}

func (p *pair) Tenants(ctx context.Context, states ...journal.State) ([]string, error) {
	return p.next().Tenants(ctx, states...)
}

func (p *pair) Load(ctx context.Context, num int64) (journal.Stored, error) {
	return p.next().Load(ctx, num)
}

func (p *pair) Delete(ctx context.Context, num int64) error { return p.next().Delete(ctx, num) }

func (p *pair) Send(ctx context.Context, num int64, m journal.Message) (int64, error) {
	return p.next().Send(ctx, num, m)
}

func (p *pair) Take(ctx context.Context, num int64, kind, key string) (journal.Message, bool, error) {
	return p.next().Take(ctx, num, kind, key)
}

func (p *pair) Inbox(ctx context.Context, num, after int64) ([]journal.Message, error) {
	return p.next().Inbox(ctx, num, after)
}

func (p *pair) PutBlob(ctx context.Context, name string, data []byte) error {
	return p.next().PutBlob(ctx, name, data)
}

func (p *pair) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	return p.next().Blob(ctx, name, size)
}

func (p *pair) SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error {
	return p.next().SweepBlobs(ctx, before, named)
}

func (p *pair) EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error {
	return p.next().EachFrame(ctx, do)
}

func (p *pair) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	return p.next().Acquire(ctx, tenant, id)
}

func (p *pair) Held(ctx context.Context, tenant, id string) bool {
	return p.next().Held(ctx, tenant, id)
}

func (p *pair) Close() error {
	p.stores[0].Close()
	return p.stores[1].Close()
}

// TestReaders checks that connections stay open for the next readers.
func TestReaders(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	begin(t, s, "t", "r")
	for range 3 {
		var inside, all sync.WaitGroup
		inside.Add(maxIdle / 2)
		for range maxIdle / 2 {
			all.Go(func() {
				for _, err := range s.List(ctx, journal.Filter{Tenant: "t"}) {
					if err != nil {
						t.Error(err)
					}
					inside.Done()
					inside.Wait()
				}
			})
		}
		all.Wait()
	}
	if n := s.db.Stats().MaxIdleClosed; n > 0 {
		t.Errorf("%d connections were closed", n)
	}
}
