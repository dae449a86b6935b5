package history

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// resumable returns the IDs of the runs that can be resumed.
func resumable(t *testing.T, j *Journal) string {
	t.Helper()
	var ids []string
	for r, err := range j.Resumable(context.Background(), now()) {
		check(t, err)
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

// stuckRuns returns the IDs of the runs that are stuck.
func stuckRuns(t *testing.T, j *Journal) string {
	t.Helper()
	list, err := runs(j, Filter{States: []State{Stuck}})
	check(t, err)
	var ids []string
	for _, r := range list {
		if r.Stuck == "" {
			t.Errorf("%s is stuck for no reason", r.ID)
		}
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

// TestStick sticks a run, resumes it, sticks it again, and cancels it.
func TestStick(t *testing.T) { eachStore(t, testStick) }

func testStick(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	check(t, begin(t, j, "other").Close())
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, "x")
	check(t, l.Stick(ctx, place("1"), "step 1 differs"))
	if j.Held("r") {
		t.Error("a run that is stuck is held")
	}
	wantStuck := func(why string) {
		t.Helper()
		r, err := j.Run(ctx, "r")
		check(t, err)
		listed, err := runs(j, Filter{States: []State{Stuck}, Limit: 1})
		check(t, err)
		if len(listed) != 1 || listed[0].Stuck != why || listed[0].State != Stuck || r.State != Stuck || r.Stuck != why || r.Damage != nil || r.Dict().Text("stuck") != why {
			t.Errorf("the run is %+v, in a list %+v, want stuck: %s", r, listed, why)
		}
		for e, err := range j.Entries(ctx, "r") {
			check(t, err)
			if !r.StuckBy(e.Notes) {
				t.Errorf("step %s does not say why: %v", e.StepPath, e.Notes)
			}
		}
		if got := resumable(t, j); got != "other" {
			t.Errorf("resumable are %q", got)
		}
	}
	wantStuck("step 1 differs")
	if n, err := j.Prune(ctx, Keep{Most: 1}); n != 0 || err != nil {
		t.Errorf("Prune removed %d, %v", n, err)
	}

	l = resume(t, j, "r")
	if r, err := j.Run(ctx, "r"); err != nil || r.State != Running || r.Stuck != "" || l.Run().Stuck != "" {
		t.Errorf("the resumed run is %+v, %v", r, err)
	}
	check(t, l.Stick(ctx, place("1"), "it still does"))
	wantStuck("it still does")

	ended, err := j.Cancel(ctx, "r")
	check(t, err)
	if r, err := j.Run(ctx, "r"); err != nil || !ended || r.State != Cancelled || r.Stuck != "" || stuckRuns(t, j) != "" {
		t.Errorf("the cancelled run is %+v, %v", r, err)
	}
	check(t, begin(t, j, "new").End(ctx, "", tool.Outcome{}, nil))
	if n, err := j.Prune(ctx, Keep{Most: 1}); n != 1 || err != nil {
		t.Errorf("Prune removed %d, %v", n, err)
	}
}

// TestDamagedIsStuck resumes damaged runs: the damage is reported once, then they are stuck,
// until somebody resumes them with the data restored.
func TestDamagedIsStuck(t *testing.T) { eachStore(t, testDamagedIsStuck) }

func testDamagedIsStuck(t *testing.T, s storage) {
	ctx, w := context.Background(), damageable(t, s)
	for _, run := range []string{"open", "parked"} {
		w.tamper(run, func(st *journal.Stored) { st.Frames[3][40] ^= 1 })
		w.store.row = nil // only the middle of the record is damaged
		if got := resumable(t, w.Journal); !strings.Contains(got, run) {
			t.Errorf("resumable are %q, want %s too: nobody has found the damage", got, run)
		}
		fails(t, "Resume", second(w.Resume(ctx, run)), value.Failed, "damaged")
		if got := resumable(t, w.Journal); strings.Contains(got, run) {
			t.Errorf("resumable are %q, after the damage of %s was reported", got, run)
		}
		if got := stuckRuns(t, w.Journal); got != run {
			t.Errorf("stuck are %q, want %s", got, run)
		}
		fails(t, "Entries", second(readAll(w.Journal, run)), value.Failed, "damaged")
		w.store.stored = nil
		l := resume(t, w.Journal, run)
		if r := l.Run(); r.Stuck != "" || stuckRuns(t, w.Journal) != "" {
			t.Errorf("the restored run is %+v", r)
		}
		check(t, l.Park(ctx, "question", now().Add(time.Hour)))
	}
}

// TestOtherVersionIsStuck lists a run of another record format: for this version it is
// stuck, and for the other one it stays as it was.
func TestOtherVersionIsStuck(t *testing.T) { eachStore(t, testOtherVersionIsStuck) }

func testOtherVersionIsStuck(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	for id, state := range map[string]State{"open": Running, "waits": Parked, "ended": Done} {
		rec := newRecorder(j.store, nil)
		rec.put(int64(codecVersion+1), "what comes then, nobody knows")
		first, err := rec.record(runBegun)
		check(t, err)
		frame := makeFrame(0, sum{}, [][]byte{first})
		h := head{frames: 1, last: sum(frame[:len(sum{})]), state: state, updated: now()}
		row := &journal.Row{ID: id, Kind: "run", State: state, Updated: h.updated}
		check(t, j.store.Commit(ctx, []*journal.Write{{New: row, Frames: []journal.Frame{{Body: frame}}, Head: h.bytes()}}))
		fails(t, "Resume", second(j.Resume(ctx, id)), value.Unavailable, "record format")
		if row, err := j.store.Find(ctx, "", id); err != nil || row.State != state || row.Stuck != "" {
			t.Errorf("the row of %s is %+v, %v", id, row, err)
		}
	}
	if got := stuckRuns(t, j); len(got) != len("open waits") || strings.Contains(got, "ended") || resumable(t, j) != "" {
		t.Errorf("stuck are %q, resumable %q", got, resumable(t, j))
	}
	if r, err := j.Run(ctx, "waits"); err != nil || r.State != Stuck || r.Damage == nil || !strings.Contains(r.Unstick(), "the version of cassidy that recorded the run") {
		t.Errorf("the run is %+v, %v: %s", r, err, r.Unstick())
	}
}
