package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

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
