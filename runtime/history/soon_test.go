package history

import (
	"context"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// soon begins a run that nobody else knows.
func soon(t testing.TB, j *Journal, id string) *Log {
	t.Helper()
	l, err := j.BeginSoon(context.Background(), Run{ID: id, Kind: "tool", Title: "a test"}, tool.Script{})
	check(t, err)
	return l
}

// TestBeginSoon checks that a run which does nothing that must be recorded first is stored once, with its end, and that
// others find it as soon as they look for it, or as it must be durable.
func TestBeginSoon(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s storage) {
		ctx := context.Background()
		leases := 0
		store := &faultStore{Store: s.store(), acquired: func() { leases++ }}
		j := openOn(t, store)
		j.w.delay = time.Hour
		counts := func(what string, l *Log, commits int64, acquired int) {
			t.Helper()
			if n := store.commits.Swap(0); n != commits || leases != acquired {
				t.Errorf("%s: %d commits and %d leases, want %d and %d", what, n, leases, commits, acquired)
			}
			leases = 0
		}

		l := soon(t, j, "short")
		l.AddEvent(&tool.Event{Data: tool.Progress{}}, func() {})
		did(t, l, place("1"), tool.Repeatable, "read")
		check(t, l.End(ctx, "final", tool.Outcome{Value: "result"}, nil))
		counts("a run that only reads", l, 1, 0)
		if r := one(t, j, "short"); r.State != Done || r.Result != "result" || j.Held("short") {
			t.Errorf("the run is %+v, held %v", r, j.Held("short"))
		}

		l, other := soon(t, j, "long"), soon(t, j, "other")
		check(t, other.End(ctx, "final", tool.Outcome{}, nil))
		counts("the end of another run", l, 1, 0)
		check(t, j.w.flush(&job{timed: true}))
		counts("a timer that is too early", l, 0, 0)
		j.w.mu.Lock()
		l.unknown = time.Now()
		j.w.mu.Unlock()
		check(t, j.w.flush(&job{timed: true}))
		if !j.Held("long") {
			t.Error("a run that takes long is not stored")
		}
		check(t, l.End(ctx, "final", tool.Outcome{}, nil))
		counts("a run that takes long", l, 2, 1)

		l = soon(t, j, "parked")
		check(t, l.Park(ctx, Queued, now()))
		counts("a run that parks", l, 1, 0)

		l = soon(t, j, "writes")
		if wanted, err := l.CancelRequested(ctx); wanted || err != nil {
			t.Errorf("CancelRequested = %v, %v", wanted, err)
		}
		check(t, l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}))
		counts("an intent", l, 1, 1)
		if !j.Held("writes") {
			t.Error("a run is stored that is not held")
		}
		check(t, l.End(ctx, "final", tool.Outcome{}, nil))

		l = soon(t, j, "sought")
		if r := one(t, j, "sought"); r.State != Running || !j.Held("sought") {
			t.Errorf("the run is %v, held %v", r.State, j.Held("sought"))
		}
		_, err := j.Resume(ctx, "sought")
		fails(t, "Resume meanwhile", err, value.Conflict, "")
		check(t, j.requestCancel(ctx, "sought"))
		if wanted, err := l.CancelRequested(ctx); !wanted || err != nil {
			t.Errorf("CancelRequested = %v, %v", wanted, err)
		}
		check(t, l.Close())
		if j.Held("sought") {
			t.Error("a closed run is held")
		}
	})
}

// TestBeginSoonInVain checks that nothing is recorded of a run that cannot be stored, and that it carries out nothing.
func TestBeginSoonInVain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	full := value.Errorf(value.Limit, "the disk is full")
	store := &faultStore{Store: journal.Memory()}
	j := openOn(t, store)
	begin(t, j, "taken")
	lease, err := store.Acquire(ctx, "", "held")
	check(t, err)
	store.commit = func(w []*journal.Write) error {
		if w[0].New != nil && w[0].New.ID == "full" {
			return full
		}
		return nil
	}
	for id, kind := range map[string]value.Kind{"taken": value.Conflict, "held": value.Conflict, "full": value.Limit} {
		l, other := soon(t, j, id), soon(t, j, id+"-other")
		for what, err := range map[string]error{
			"an effect": l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.External}),
			"the end":   l.End(ctx, "final", tool.Outcome{}, nil),
		} {
			if id != "held" || what != "the end" { // it is never stored as running
				fails(t, id+": "+what, err, kind, "")
			}
		}
		_ = l.Close()
		if kind != value.Limit { // which is not of one run
			check(t, other.End(ctx, "final", tool.Outcome{}, nil))
		}
	}
	check(t, lease.Release())
	store.commit = nil
	if _, err := j.Run(ctx, "full"); value.KindOf(err) != value.NotFound {
		t.Errorf("a run that could not be stored gave %v", err)
	}
	check(t, j.Close())
}
