package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// A testStore counts what is read of single runs.
type testStore struct {
	journal.Store
	reads atomic.Int64
}

func (s *testStore) Find(ctx context.Context, tenant, id string) (journal.Row, error) {
	s.reads.Add(1)
	return s.Store.Find(ctx, tenant, id)
}

// newStoreRig opens a server of the project bakery on a store of its own.
func newStoreRig(t *testing.T) (*rig, *testStore) {
	t.Helper()
	store := &testStore{Store: journal.Memory()}
	j := history.Open(store, nil)
	t.Cleanup(func() { _ = j.Close() })
	r := newRig(t, func(o *Options) {
		o.Projects = o.Projects[:1]
		o.Projects[0], _ = openProject(t, "bakery", j)
	})
	return r, store
}

// TestFailedCall checks that the result of a call that fails is not read back, as that of one that succeeds is not.
func TestFailedCall(t *testing.T) {
	t.Parallel()
	r, store := newStoreRig(t)
	reads := func(tool, args string) int64 {
		before := store.reads.Load()
		r.post("rob", "/v1/tools/"+tool+"/call", args, http.StatusOK)
		return store.reads.Load() - before
	}
	if good, bad := reads("echo", `{"args": {"text": "hi"}}`), reads("fails", ""); good != bad {
		t.Errorf("a call that fails takes %d reads of its run, want %d", bad, good)
	}
}

// TestWaiting checks that who waits for a run that another process executes leaves nothing behind.
func TestWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Projects = o.Projects[:1] }) // without a loop, as if another process executed its runs
	id := runIn(t, r.submit("rob", "/workflows/greet", "/name=x&_key=a"))
	live := r.stream("vera", "/live/result/"+id)
	live.expect("part", "Queued")
	jobs := &r.projects[0].jobs
	waiting := func() int {
		jobs.mu.Lock()
		defer jobs.mu.Unlock()
		return len(jobs.ending)
	}
	if n := waiting(); n != 1 {
		t.Errorf("%d executions are waited for, want that of the page", n)
	}
	_ = live.body.Close()
	for deadline := time.Now().Add(2 * time.Minute); waiting() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an execution is kept that nobody waits for")
		}
	}
}
