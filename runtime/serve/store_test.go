package serve

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A testStore counts what is read of single runs, and can refuse to be written.
type testStore struct {
	journal.Store
	reads atomic.Int64
	full  atomic.Bool // as a full disk
	ro    atomic.Bool // as one that is read-only
}

func (s *testStore) refuses() error {
	e := value.Errorf(value.Limit, "write to the journal: the disk is full").WithLimit("disk").WithHint("delete other files on this disk first")
	if s.ro.Load() {
		e = value.Errorf(value.Unavailable, "write to the journal: read-only file system").WithHint("set CASSIDY_HOME to a folder that you can write")
	}
	if s.ro.Load() || s.full.Load() {
		return e
	}
	return nil
}

func (s *testStore) Commit(ctx context.Context, list []*journal.Write) error {
	if err := s.refuses(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, list)
}

func (s *testStore) Send(ctx context.Context, num int64, m journal.Message) (int64, error) {
	if err := s.refuses(); err != nil {
		return 0, err
	}
	return s.Store.Send(ctx, num, m)
}

func (s *testStore) PutBlob(ctx context.Context, name string, data []byte) error {
	if s.ro.Load() {
		return s.refuses()
	}
	return s.Store.PutBlob(ctx, name, data)
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

// TestUnwritable checks the API and the pages of a server whose disk is full, or read-only, and that all is back afterwards.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	r, store := newStoreRig(t)
	r.start()
	asks := r.begin("rob", "sure", `{}`)
	q := r.question(asks).Text("id")
	r.until(asks, history.Parked)
	begin, answer := `{"workflow": "greet", "args": {"name": "x"}}`, "/v1/runs/"+asks+"/questions/"+q+"/answer"
	offers := func(offered bool, banner ...string) {
		t.Helper()
		for path, button := range map[string]string{"/tools/echo": "Edit as JSON", "/workflows/greet": "Edit as JSON", "/runs": ">New run<", "/runs/" + asks: "To the answer", "/questions/" + q: `value="yes"`} {
			if !offered {
				button = "!" + button
			}
			r.shows("ada", path, http.StatusOK, append(banner, button, "ada · admin")...)
		}
		r.shows("ada", "/audit", http.StatusOK, banner...)
	}
	offers(true, "!The disk is full.")

	store.full.Store(true)
	for path, body := range map[string]string{"/v1/runs": begin, "/v1/tools/echo/call": `{"args": {"text": "x"}}`, answer: `{"yes": true}`} {
		e := r.post("ada", path, body, http.StatusServiceUnavailable).Dict("error")
		if e.Text("kind") != "unavailable" || !strings.Contains(e.Text("message"), "the disk is full") || !strings.Contains(e.Text("hint"), "delete other files") {
			t.Errorf("%s gave %v", path, e)
		}
	}
	offers(false, "The disk is full. Runs are kept and can be read, but nothing can begin or be answered until there is room.")
	r.shows("ada", "/questions/"+q, http.StatusOK, "go on?", "!ann")
	store.full.Store(false)
	r.post("ada", "/v1/runs", begin, http.StatusCreated)
	offers(true, "!The disk is full.")

	store.ro.Store(true)
	writes := &r.projects[0].writes
	writes.mu.Lock()
	writes.looked = time.Time{}
	writes.mu.Unlock()
	offers(false, "Nothing can be recorded now. Runs can be read, but nothing can begin or be answered. Write to the journal: read-only file system.")
	if got := errorText(r.post("ada", "/v1/runs", begin, http.StatusServiceUnavailable)); got != "unavailable: write to the journal: read-only file system" {
		t.Errorf("a run that begins gives %s", got)
	}
	store.ro.Store(false)
	writes.mu.Lock()
	writes.looked = time.Time{}
	writes.mu.Unlock()
	offers(true, "!Nothing can be recorded now.")
	r.post("ada", answer, `{"yes": true}`, http.StatusOK)
	r.until(asks, history.Done)
}
