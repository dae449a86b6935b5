package journaltest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func acquire(t testing.TB, s journal.Store, tenant, id string) journal.Lease {
	t.Helper()
	l, err := s.Acquire(context.Background(), tenant, id)
	check(t, err)
	return l
}

func (s *suite) testLeases(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	if a.Held(ctx, "", "r") {
		t.Error("Held reports true for a lease that nobody acquired")
	}
	l := acquire(t, a, "", "r")
	for _, st := range []journal.Store{a, b} {
		if !st.Held(ctx, "", "r") {
			t.Error("Held reports false for a lease that is held")
		}
		_, err := st.Acquire(ctx, "", "r")
		wantKind(t, "Acquire of a held lease", err, value.Conflict)
	}
	check(t, l.Renew(ctx))
	acquire(t, b, "", "other")
	check(t, l.Release())
	check(t, l.Release())
	wantKind(t, "Renew of a released lease", l.Renew(ctx), value.Conflict)
	if b.Held(ctx, "", "r") || a.Held(ctx, "", "r") {
		t.Error("Held reports true for a released lease")
	}
	second := acquire(t, b, "", "r")
	check(t, l.Release()) // which is not of the second
	check(t, second.Renew(ctx))
	wantKind(t, "Renew of an old lease", l.Renew(ctx), value.Conflict)
	if !a.Held(ctx, "", "r") {
		t.Error("a second release ended the lease of somebody else")
	}

	for _, tenant := range hostile() {
		if tenant == "" {
			continue
		}
		if b.Held(ctx, tenant, "r") {
			t.Errorf("Held reports true for tenant %.20q, but only another tenant has acquired the lease", tenant)
		}
		acquire(t, a, tenant, "r")
		acquire(t, b, tenant, "t-a")
		_, err := b.Acquire(ctx, tenant, "r")
		wantKind(t, fmt.Sprintf("Acquire of tenant %.20q", tenant), err, value.Conflict)
	}
	acquire(t, a, "", "t-a")
	for _, id := range hostile() {
		if journal.ValidID(id) {
			continue
		}
		_, err := a.Acquire(ctx, "", id)
		wantKind(t, fmt.Sprintf("Acquire(%.20q)", id), err, value.Invalid)
		if a.Held(ctx, "", id) {
			t.Errorf("Held(%.20q) = true, want false for an invalid ID", id)
		}
	}
}

// testLeaseRace checks that a lease never has two holders.
func (s *suite) testLeaseRace(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	var holders atomic.Int32
	var wg sync.WaitGroup
	end := time.Now().Add(10 * time.Second)
	for i := range 6 {
		wg.Go(func() {
			st := []journal.Store{a, b}[i%2]
			for n := 0; n < 20 && time.Now().Before(end); {
				st.Held(ctx, "t", "r")
				l, err := st.Acquire(ctx, "t", "r")
				if err != nil {
					wantKind(t, "Acquire", err, value.Conflict)
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("a lease has two holders")
				}
				if err := l.Renew(ctx); err != nil {
					t.Error(err)
				}
				holders.Add(-1)
				check(t, l.Release())
				n++
			}
		})
	}
	wg.Wait()
	acquire(t, b, "t", "r")
}

// calls returns each call of a store, with valid arguments.
func calls(s journal.Store, num int64) map[string]func(ctx context.Context) error {
	name := sum([]byte("x"))
	return map[string]func(ctx context.Context) error{
		"Commit":  func(ctx context.Context) error { return s.Commit(ctx, []*journal.Write{{Num: num, Head: []byte("x")}}) },
		"Find":    func(ctx context.Context) error { _, err := s.Find(ctx, "", "r"); return err },
		"Tenants": func(ctx context.Context) error { _, err := s.Tenants(ctx); return err },
		"Load":    func(ctx context.Context) error { _, err := s.Load(ctx, num); return err },
		"Delete":  func(ctx context.Context) error { return s.Delete(ctx, num) },
		"Send":    func(ctx context.Context) error { _, err := s.Send(ctx, num, message("k", "", "x")); return err },
		"Take":    func(ctx context.Context) error { _, _, err := s.Take(ctx, num, "k", ""); return err },
		"Inbox":   func(ctx context.Context) error { _, err := s.Inbox(ctx, num, 0); return err },
		"PutBlob": func(ctx context.Context) error { return s.PutBlob(ctx, name, []byte("x")) },
		"Blob":    func(ctx context.Context) error { _, err := s.Blob(ctx, name, 1); return err },
		"Acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, "", "r"); return err },
		"SweepBlobs": func(ctx context.Context) error {
			return s.SweepBlobs(ctx, time.Now().Add(time.Hour), func() (map[string]bool, error) { return nil, nil })
		},
		"EachFrame": func(ctx context.Context) error {
			return s.EachFrame(ctx, func(int64, int64, []byte) error { return nil })
		},
		"List": func(ctx context.Context) error {
			var last error
			for _, err := range s.List(ctx, journal.Filter{}) {
				last = err
			}
			return last
		},
	}
}

// testCanceled checks that a call whose context has ended does nothing.
func (s *suite) testCanceled(t *testing.T) {
	st := s.open(t)
	num := add(t, st, row("", "r"))
	send(t, st, num, message("k", "", "first"))
	put(t, st, "x")
	l := acquire(t, st, "", "mine")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	all := calls(st, num)
	all["Renew"] = l.Renew
	for what, call := range all {
		wantKind(t, what, call(ctx), value.Canceled)
		wantKind(t, what, call(late), value.Timeout)
	}
	loaded, err := st.Load(context.Background(), num)
	check(t, err)
	if len(loaded.Row.Head) > 0 || len(loaded.Inbox) != 1 || !has(t, st, "x") || st.Held(context.Background(), "", "r") {
		t.Errorf("a canceled call changed the store: %+v", loaded)
	}
	send(t, st, num, message("k", "", "second")) // nothing was taken

	open, stop := context.WithCancel(context.Background())
	defer stop()
	for i := range 3 {
		add(t, st, row("", fmt.Sprint("more", i)))
	}
	var last error
	for _, err := range st.List(open, journal.Filter{}) {
		stop()
		last = err
	}
	wantKind(t, "List that is canceled", last, value.Canceled)
}

func (s *suite) testClose(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	put(t, a, "x")
	l := acquire(t, a, "", "r")
	check(t, a.Close())
	check(t, a.Close())
	for what, call := range calls(a, num) {
		wantKind(t, what+" after Close", call(ctx), closedKind())
	}
	if l.Renew(ctx) == nil {
		t.Error("the lease of a closed store can be renewed")
	}
	check(t, l.Release())
	if s.again == nil {
		return
	}
	if b.Held(ctx, "", "r") {
		t.Error("Held reports true for a lease of a store that was closed")
	}
	acquire(t, b, "", "r")
	wantFrames(t, b, num)
}

// testCloseWhileWriting checks that each call returns, and that what was
// acknowledged is stored.
func (s *suite) testCloseWhileWriting(t *testing.T) {
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	started := make(chan bool, 100)
	for i := range int64(4) {
		wg.Go(func() {
			for n := int64(0); ; n++ {
				err := a.Commit(context.Background(), []*journal.Write{{Num: num, Frames: []journal.Frame{frame(4*n+i, "x")}}})
				if err != nil {
					wantKind(t, "Commit while the store closes", err, closedKind())
					return
				}
				acknowledged.Add(1)
				select {
				case started <- true:
				default:
				}
			}
		})
	}
	<-started
	check(t, a.Close())
	wg.Wait()
	if s.again == nil {
		return
	}
	st, err := b.Load(context.Background(), num)
	check(t, err)
	if int64(len(st.Frames)) != acknowledged.Load() {
		t.Errorf("%d frames are stored, and %d were acknowledged", len(st.Frames), acknowledged.Load())
	}
}
