package journaltest

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// Remote returns a view of a store as a [journal.Remote] whose worker is resume. The worker itself uses s. resume is called in its own
// goroutine for each run that was parked for the first time, that got a message, or that was woken.
func Remote(s journal.Store, resume func(tenant, id string)) journal.Remote {
	return &remote{Store: s, resume: resume, begun: map[int64]journal.Row{}}
}

// A remote is a store whose runs others execute.
type remote struct {
	journal.Store
	resume func(tenant, id string)
	begun  map[int64]journal.Row // the rows of the runs that began here; tests begin one at a time
}

func (r *remote) Commit(ctx context.Context, writes []*journal.Write) error {
	if err := r.Store.Commit(ctx, writes); err != nil {
		return err
	}
	for _, w := range writes {
		if w.New != nil {
			r.begun[w.Num] = *w.New
		}
	}
	return nil
}

// Acquire returns a lease whose end has the run executed that began with it.
func (r *remote) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	l, err := r.Store.Acquire(ctx, tenant, id)
	return lease{l, r, tenant, id}, err
}

type lease struct {
	journal.Lease
	of         *remote
	tenant, id string
}

func (l lease) Release() error {
	err := l.Lease.Release()
	if row, err := l.of.Find(context.Background(), l.tenant, l.id); err == nil && row.State == journal.Parked {
		go l.of.resume(l.tenant, l.id)
	}
	return err
}

func (r *remote) Send(ctx context.Context, num int64, m journal.Message) (int64, error) {
	seq, err := r.Store.Send(ctx, num, m)
	if row := r.begun[num]; err == nil && row.ID != "" {
		go r.resume(row.Tenant, row.ID)
	}
	return seq, err
}

func (r *remote) Executes(string, string) bool { return false }

func (r *remote) Wake(_ context.Context, tenant, id string) error {
	r.resume(tenant, id)
	return nil
}
