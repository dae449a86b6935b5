package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func (s *suite) testCommit(t *testing.T) {
	ctx, st := context.Background(), s.open(t)
	full := &journal.Row{
		Num: 77, Tenant: "t", ID: "r", Project: "/p", Kind: "task", Parent: "up", ForkedFrom: "old", Session: "s", Nonce: "n",
		State: journal.Parked, Wake: moment(), Updated: moment().Add(-time.Hour), Head: []byte("head 0"),
		First: []byte("ignored"), Last: []byte("ignored"),
	}
	w := &journal.Write{New: full, Frames: []journal.Frame{frame(0, "zero"), frame(1, "one")}}
	check(t, st.Commit(ctx, []*journal.Write{w}))
	want := *full
	want.Num, want.First, want.Last = w.Num, nil, nil
	got, err := st.Find(ctx, "t", "r")
	check(t, err)
	if !same(got, want) {
		t.Errorf("Find = %+v, want %+v", got, want)
	}
	wantFrames(t, st, w.Num, "zero", "one")

	step := &journal.Write{Num: w.Num, Frames: []journal.Frame{frame(2, "two")}, Head: []byte("head 1")}
	check(t, st.Commit(ctx, []*journal.Write{step}))
	want.Head = []byte("head 1")
	stuck := &journal.Write{Num: w.Num, Set: &journal.Standing{State: journal.Stuck, Updated: moment(), Stuck: "step 2 differs"}}
	check(t, st.Commit(ctx, []*journal.Write{stuck}))
	want.State, want.Wake, want.Updated, want.Stuck = journal.Stuck, time.Time{}, moment(), "step 2 differs"
	if got, err := st.Find(ctx, "t", "r"); err != nil || !same(got, want) {
		t.Errorf("Find of a stuck run = %+v, %v, want %+v", got, err, want)
	}
	if got := ids(t, st, journal.Filter{Tenant: "t", States: []journal.State{journal.Stuck}}); got != "r" {
		t.Errorf("the stuck runs are %q", got)
	}
	end := &journal.Write{Num: w.Num, Set: &journal.Standing{State: journal.Done, Updated: moment()}}
	check(t, st.Commit(ctx, []*journal.Write{end}))
	want.State, want.Stuck = journal.Done, ""
	loaded, err := st.Load(ctx, w.Num)
	check(t, err)
	if !same(loaded.Row, want) {
		t.Errorf("Load = %+v, want %+v", loaded.Row, want)
	}
	wantFrames(t, st, w.Num, "zero", "one", "two")
	for r, err := range st.List(ctx, journal.Filter{Tenant: "t"}) {
		check(t, err)
		want.First, want.Last = []byte("zero"), []byte("two")
		if !same(r, want) {
			t.Errorf("List yields %+v, want %+v", r, want)
		}
	}
	check(t, st.Commit(ctx, []*journal.Write{{Num: w.Num, Head: []byte{}}}))
	if got, err := st.Find(ctx, "t", "r"); err != nil || len(got.Head) != 0 {
		t.Errorf("an empty head reads as %q, %v", got.Head, err)
	}
	check(t, st.Commit(ctx, nil))
}

// testCommitAll checks that a batch with one invalid write executes none.
func (s *suite) testCommitAll(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "old"))
	check(t, b.Commit(ctx, []*journal.Write{{Num: num, Frames: []journal.Frame{frame(0, "zero")}, Head: []byte("h0")}}))
	gone := add(t, a, row("", "gone"))
	check(t, b.Delete(ctx, gone))
	for _, c := range []struct {
		name string
		bad  *journal.Write
		kind value.Kind
	}{
		{"a run of the same ID", &journal.Write{New: row("", "old")}, value.Conflict},
		{"a run of an ID in the batch", &journal.Write{New: row("", "new")}, value.Conflict},
		{"a frame of the same number", &journal.Write{Num: num, Frames: []journal.Frame{frame(2, "two"), frame(0, "other")}}, value.Conflict},
		{"a frame of a number in the batch", &journal.Write{Num: num, Frames: []journal.Frame{frame(1, "other")}}, value.Conflict},
		{"a frame of a deleted run", &journal.Write{Num: gone, Frames: []journal.Frame{frame(0, "zero")}}, value.NotFound},
		{"a head of a deleted run", &journal.Write{Num: gone, Head: []byte("h")}, value.NotFound},
		{"a state of a deleted run", &journal.Write{Num: gone, Set: &journal.Standing{}}, value.NotFound},
		{"nothing for a run that never was", &journal.Write{Num: num + 1000}, value.NotFound},
		{"a number out of range", &journal.Write{Num: 1 << 40, Head: []byte("h")}, value.NotFound},
		{"an invalid ID", &journal.Write{New: row("", "../x")}, value.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh := &journal.Write{New: row("", "new"), Frames: []journal.Frame{frame(0, "new")}}
			batch := []*journal.Write{
				fresh,
				{Num: num, Frames: []journal.Frame{frame(1, "one")}, Head: []byte("h1"), Set: &journal.Standing{State: journal.Done}},
				c.bad,
				{New: row("", "later")},
			}
			wantKind(t, "Commit", b.Commit(ctx, batch), c.kind)
			if fresh.Num != 0 {
				t.Errorf("a failed Commit set the number %d", fresh.Num)
			}
			if got := ids(t, a, journal.Filter{}); got != "old" {
				t.Errorf("a failed Commit left the runs %q", got)
			}
			wantFrames(t, a, num, "zero")
			if r, err := a.Find(ctx, "", "old"); err != nil || string(r.Head) != "h0" || r.State != journal.Running {
				t.Errorf("a failed Commit left %+v, %v", r, err)
			}
		})
	}
	check(t, a.Commit(ctx, []*journal.Write{{New: row("", "new")}, {Num: num, Frames: []journal.Frame{frame(1, "one")}}}))
	wantFrames(t, b, num, "zero", "one")
}

func (s *suite) testCommitInvalid(t *testing.T) {
	st := s.open(t)
	num := add(t, st, row("", "r"))
	for _, id := range hostile() {
		if journal.ValidID(id) {
			continue
		}
		wantKind(t, fmt.Sprintf("Commit of run %.20q", id), st.Commit(context.Background(), []*journal.Write{{New: row("", id)}}), value.Invalid)
	}
	for what, w := range map[string]*journal.Write{
		"no run":                           {},
		"two runs":                         {Num: num, New: row("", "x")},
		"a negative number":                {Num: -1},
		"a negative frame":                 {Num: num, Frames: []journal.Frame{frame(-1, "x")}},
		"a frame number that is too large": {Num: num, Frames: []journal.Frame{frame(journal.MaxSeq+1, "x")}},
		"an unknown state":                 {Num: num, Set: &journal.Standing{State: journal.Stuck + 1}},
		"a new run with an unknown state":  {New: &journal.Row{ID: "x", State: journal.Stuck + 1}},
		"stuck without a reason":           {Num: num, Set: &journal.Standing{State: journal.Stuck}},
		"a reason without being stuck":     {Num: num, Set: &journal.Standing{State: journal.Parked, Stuck: "x"}},
		"a new run stuck for nothing":      {New: &journal.Row{ID: "x", State: journal.Stuck}},
	} {
		wantKind(t, "Commit of "+what, st.Commit(context.Background(), []*journal.Write{w}), value.Invalid)
	}
	if got := ids(t, st, journal.Filter{}); got != "r" {
		t.Errorf("after invalid Commits, the runs are %q, want %q", got, "r")
	}
}

// testCopies checks that a store shares no memory with its callers.
func (s *suite) testCopies(t *testing.T) {
	ctx, st := context.Background(), s.open(t)
	head, body, text, blob := []byte("head"), []byte("body"), []byte("text"), []byte("blob")
	r := row("", "r")
	r.Head = head
	w := &journal.Write{New: r, Frames: []journal.Frame{{Body: body}}}
	check(t, st.Commit(ctx, []*journal.Write{w}))
	_, err := st.Send(ctx, w.Num, journal.Message{Kind: "k", Body: text})
	check(t, err)
	name := sum(blob)
	check(t, st.PutBlob(ctx, name, blob))
	spoil := func(list ...[]byte) {
		for _, b := range list {
			clear(b)
		}
	}
	spoil(head, body, text, blob)
	r.ID = "changed"
	for range 2 {
		loaded, err := st.Load(ctx, w.Num)
		check(t, err)
		found, err := st.Find(ctx, "", "r")
		check(t, err)
		m, _, err := st.Take(ctx, w.Num, "k", "")
		check(t, err)
		inbox, err := st.Inbox(ctx, w.Num, 0)
		check(t, err)
		data, err := st.Blob(ctx, name, 4)
		check(t, err)
		got := fmt.Sprintf("%s %s %s %s %s %s %s", loaded.Row.Head, loaded.Frames[0], loaded.Inbox[0].Body, found.Head, m.Body, inbox[0].Body, data)
		if want := "head body text head text text blob"; got != want {
			t.Fatalf("after the caller changed its slices, the store holds %q, want %q", got, want)
		}
		spoil(loaded.Row.Head, loaded.Frames[0], loaded.Inbox[0].Body, found.Head, m.Body, inbox[0].Body, data)
		for r, err := range st.List(ctx, journal.Filter{}) {
			check(t, err)
			if string(r.Head)+string(r.First)+string(r.Last) != "headbodybody" {
				t.Fatalf("List yields %q %q %q", r.Head, r.First, r.Last)
			}
			spoil(r.Head, r.First)
		}
		check(t, st.EachFrame(ctx, func(_, _ int64, f []byte) error {
			if string(f) != "body" {
				t.Fatalf("EachFrame passes %q", f)
			}
			spoil(f)
			return nil
		}))
	}
}

func (s *suite) testFind(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	got, err := b.Find(ctx, "", "r")
	check(t, err)
	if got.Num != num {
		t.Errorf("Find returns run %d, want %d", got.Num, num)
	}
	for _, id := range append(hostile(), "R", "rr", "r ") {
		_, err := a.Find(ctx, "", id)
		wantKind(t, fmt.Sprintf("Find(%.20q)", id), err, value.NotFound)
	}
	for _, num := range []int64{0, -1, num + 1, 1 << 31, 1 << 62} {
		_, err := a.Load(ctx, num)
		wantKind(t, fmt.Sprintf("Load(%d)", num), err, value.NotFound)
	}
}

func (s *suite) testLoad(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num, other := add(t, a, row("", "r")), add(t, a, row("", "other"))
	big := strings.Repeat("big", 100_000)
	check(t, a.Commit(ctx, []*journal.Write{
		{Num: num, Frames: []journal.Frame{frame(5, "five"), frame(0, big), frame(2, "")}, Head: []byte("h")},
		{Num: other, Frames: []journal.Frame{frame(0, "other")}},
		{Num: num, Frames: []journal.Frame{frame(journal.MaxSeq, "last"), frame(3, "three")}},
	}))
	_, err := a.Send(ctx, num, journal.Message{Kind: "signal", Key: "k", Body: []byte("m")})
	check(t, err)
	wantFrames(t, b, num, big, "", "three", "five", "last")
	wantFrames(t, b, other, "other")
	st, err := b.Load(ctx, num)
	check(t, err)
	if string(st.Row.Head) != "h" || st.Row.ID != "r" || len(st.Inbox) != 1 || string(st.Inbox[0].Body) != "m" {
		t.Errorf("Load = %+v, %+v", st.Row, st.Inbox)
	}

	// A snapshot has a head and frames of the same moment.
	var wg sync.WaitGroup
	live := add(t, a, row("", "live"))
	wg.Go(func() {
		for i := range int64(200) {
			w := &journal.Write{Num: live, Frames: []journal.Frame{frame(i, "x")}, Head: fmt.Append(nil, i+1)}
			if err := a.Commit(ctx, []*journal.Write{w}); err != nil {
				t.Error(err)
			}
		}
	})
	for done := false; !done; {
		st, err := b.Load(ctx, live)
		check(t, err)
		if n := len(st.Frames); n > 0 && string(st.Row.Head) != fmt.Sprint(n) {
			t.Fatalf("Load returned the head %q with %d frames, want both of the same moment", st.Row.Head, n)
		} else if n == 200 || t.Failed() {
			done = true
		}
	}
	wg.Wait()
}

func (s *suite) testDelete(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	keep := add(t, a, row("", "keep"))
	check(t, a.Commit(ctx, []*journal.Write{{Num: keep, Frames: []journal.Frame{frame(0, "kept")}}}))
	seen := map[int64]bool{keep: true}
	for range 3 {
		num := add(t, a, row("", "r"))
		if seen[num] {
			t.Fatalf("a new run has the number %d of an earlier run", num)
		}
		seen[num] = true
		check(t, a.Commit(ctx, []*journal.Write{{Num: num, Frames: []journal.Frame{frame(0, "x"), frame(journal.MaxSeq, "y")}}}))
		_, err := a.Send(ctx, num, journal.Message{Kind: "k"})
		check(t, err)
		check(t, b.Delete(ctx, num))
		check(t, a.Delete(ctx, num))
		_, err = a.Find(ctx, "", "r")
		wantKind(t, "Find of a deleted run", err, value.NotFound)
		_, err = b.Load(ctx, num)
		wantKind(t, "Load of a deleted run", err, value.NotFound)
		_, err = b.Inbox(ctx, num, 0)
		wantKind(t, "Inbox of a deleted run", err, value.NotFound)
		_, err = b.Send(ctx, num, journal.Message{Kind: "k"})
		wantKind(t, "Send to a deleted run", err, value.NotFound)
		_, _, err = b.Take(ctx, num, "k", "")
		wantKind(t, "Take of a deleted run", err, value.NotFound)
	}
	for _, num := range []int64{0, -1, 1 << 31, 1 << 62} {
		check(t, a.Delete(ctx, num))
	}
	wantFrames(t, b, keep, "kept")
	frames := 0
	check(t, a.EachFrame(ctx, func(num, _ int64, _ []byte) error { frames++; return nil }))
	if frames != 1 {
		t.Errorf("%d frames are left, want 1", frames)
	}
}

func (s *suite) testEachFrame(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	one, two := add(t, a, row("", "r")), add(t, a, row("other", "r"))
	check(t, a.Commit(ctx, []*journal.Write{
		{Num: two, Frames: []journal.Frame{frame(0, "two")}},
		{Num: one, Frames: []journal.Frame{frame(1, "b"), frame(0, "a")}},
	}))
	var got []string
	each := func(num, seq int64, f []byte) error {
		got = append(got, fmt.Sprintf("%d.%d %s", num, seq, f))
		return nil
	}
	check(t, b.EachFrame(ctx, each))
	want := []string{fmt.Sprintf("%d.0 a", one), fmt.Sprintf("%d.1 b", one), fmt.Sprintf("%d.0 two", two)}
	if !slices.Equal(got, want) {
		t.Errorf("EachFrame passes %q, want %q", got, want)
	}
	stop, calls := errors.New("stop"), 0
	err := a.EachFrame(ctx, func(num, _ int64, _ []byte) error {
		calls++
		_, err := a.Load(ctx, num) // do may use the store
		return errors.Join(err, stop)
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("EachFrame = %v after %d calls", err, calls)
	}
}

func (s *suite) testTimes(t *testing.T) {
	ctx, st := context.Background(), s.open(t)
	for i, at := range []time.Time{
		{}, time.Unix(0, 0), moment(), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(2026, 7, 1, 12, 0, 0, 123_456_789, time.FixedZone("x", 3600)),
	} {
		r := row("", fmt.Sprint("r", i))
		r.Wake, r.Updated = at, at
		num := add(t, st, r)
		for range 2 {
			got, err := st.Find(ctx, "", r.ID)
			check(t, err)
			if want := at.Truncate(time.Microsecond); !got.Wake.Equal(want) || !got.Updated.Equal(want) || got.Wake.Location() != time.UTC || got.Wake.IsZero() != at.IsZero() {
				t.Errorf("the time %v was read as Wake %v and Updated %v", at, got.Wake, got.Updated)
			}
			check(t, st.Commit(ctx, []*journal.Write{{Num: num, Set: &journal.Standing{Wake: at, Updated: at}}}))
		}
	}
}

// testWriters has concurrent writers, where two compete for each frame.
func (s *suite) testWriters(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	num := add(t, a, row("", "r"))
	const frames = 50
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won [frames]string
	for i, st := range []journal.Store{a, b, a, b} {
		wg.Go(func() {
			me := fmt.Sprint("writer ", i)
			for seq := range int64(frames) {
				err := st.Commit(ctx, []*journal.Write{{Num: num, Frames: []journal.Frame{frame(seq, me)}}, {New: row("", fmt.Sprintf("w%d-%d", i, seq))}})
				if err != nil {
					wantKind(t, "Commit", err, value.Conflict)
					continue
				}
				mu.Lock()
				if won[seq] != "" {
					t.Errorf("two writers wrote frame %d", seq)
				}
				won[seq] = me
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	wantFrames(t, b, num, won[:]...)
	if n := len(strings.Fields(ids(t, a, journal.Filter{}))); n != frames+1 {
		t.Errorf("there are %d runs, want %d", n, frames+1)
	}
}
