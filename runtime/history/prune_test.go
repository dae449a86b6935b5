package history

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestPrune(t *testing.T) { eachStore(t, testPrune) }

func testPrune(t *testing.T, s storage) {
	ctx, root := context.Background(), s.open()
	for i, c := range []struct {
		name string
		keep Keep
		want string
	}{
		{"nothing given", Keep{}, "held parked end3 end2 end1 end0"},
		{"two of those that ended", Keep{Most: 2}, "held parked end3 end2"},
		{"by age", Keep{For: time.Nanosecond}, "held parked"},
		{"an age that none has", Keep{For: time.Hour}, "held parked end3 end2 end1 end0"},
		{"what has not ended too", Keep{For: time.Nanosecond, Open: true}, "held"},
		{"three in total", Keep{Most: 3, Open: true}, "held parked end3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := root.Tenant(fmt.Sprint("t", i)) // the runs of other tenants stay
			for i := range 4 {
				l := begin(t, j, fmt.Sprint("end", i))
				did(t, l, place("1"), tool.Write, nil)
				check(t, l.End(ctx, "final", tool.Outcome{}, nil))
			}
			check(t, begin(t, j, "parked").Park(ctx, "a question", time.Time{}))
			held := begin(t, j, "held")
			removed, err := j.Prune(ctx, c.keep)
			check(t, err)
			check(t, held.Close())
			var left []string
			list, err := runs(j, Filter{})
			check(t, err)
			for _, r := range list {
				left = append(left, r.ID)
			}
			if got := strings.Join(left, " "); got != c.want || removed != 6-len(left) {
				t.Errorf("left %q, removed %d; want %q", got, removed, c.want)
			}
		})
	}
	// With all runs their frames are gone.
	for i := range 6 {
		_, err := root.Tenant(fmt.Sprint("t", i)).Prune(ctx, Keep{For: time.Nanosecond, Open: true})
		check(t, err)
	}
	check(t, root.store.EachFrame(ctx, func(num, seq int64, _ []byte) error {
		return fmt.Errorf("frame %d of run %d is left", seq, num)
	}))
}

// hasBlob reports whether the beginning of the value of a text is stored.
func hasBlob(t *testing.T, j *Journal, text string) bool {
	t.Helper()
	data, err := value.Append(nil, text)
	check(t, err)
	data = data[:cut(data)]
	_, err = j.store.Blob(context.Background(), (&blob{name: sha256.Sum256(data)}).String(), int64(len(data)))
	if err != nil && !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
	return err == nil
}

// sweep removes the unreferenced blobs from before a time.
func (j *Journal) sweep(before time.Time) error {
	ctx := context.Background()
	return j.store.SweepBlobs(ctx, before, func() (map[string]bool, error) { return j.named(ctx) })
}

// TestBlobs checks that large values are removed with the last run of any tenant that
// references them.
func TestBlobs(t *testing.T) { eachStore(t, testBlobs) }

func testBlobs(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	b := j.Tenant("b")
	large, other := strings.Repeat("large", 50_000), strings.Repeat("other", 50_000)
	for _, j := range []*Journal{j, b} {
		l := begin(t, j, "r")
		did(t, l, place("1"), tool.Write, large)
		did(t, l, place("2"), tool.Write, large)
		if j != b {
			did(t, l, place("3"), tool.Write, other)
		}
		check(t, l.End(ctx, "final", tool.Outcome{Value: large}, nil))
	}
	check(t, j.Delete(ctx, "r"))
	_, err := j.Prune(ctx, Keep{})
	check(t, err)
	if !hasBlob(t, j, other) {
		t.Error("a young blob was removed")
	}
	check(t, j.sweep(now().Add(time.Hour)))
	if hasBlob(t, j, other) || !hasBlob(t, j, large) {
		t.Error("want the value that the other tenant names, and no other")
	}
	if got, err := readAll(b, "r"); len(got) != 2 || err != nil {
		t.Errorf("%d steps, %v", len(got), err)
	}
	if _, err := b.Read(ctx, "r"); err != nil {
		t.Errorf("the script: %v", err)
	}
	check(t, b.Delete(ctx, "r"))
	check(t, j.sweep(now().Add(time.Hour)))
	if hasBlob(t, j, large) {
		t.Error("a blob of no run is left")
	}
}

// TestSweepOfDamage checks that no blob is removed while a record is damaged.
func TestSweepOfDamage(t *testing.T) { eachStore(t, testSweepOfDamage) }

func testSweepOfDamage(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	large := strings.Repeat("large", 50_000)
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Write, large)
	check(t, l.End(ctx, "final", tool.Outcome{}, nil))
	check(t, j.store.Commit(ctx, []*journal.Write{{Num: l.num.Load(), Frames: []journal.Frame{{Seq: l.head.frames, Body: []byte("damage")}}}}))
	err := j.sweep(now().Add(time.Hour))
	if value.KindOf(err) != value.Failed || !hasBlob(t, j, large) {
		t.Errorf("a sweep of a damaged journal gave %v", err)
	}
	if n, err := j.Prune(ctx, Keep{For: time.Nanosecond, Open: true}); n != 0 || err != nil {
		t.Errorf("%d damaged runs were removed, %v", n, err)
	}
}

// TestSweepAndWriter removes blobs while others reference the same ones again.
func TestSweepAndWriter(t *testing.T) { eachStore(t, testSweepAndWriter) }

func testSweepAndWriter(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	ended := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := j.sweep(now().Add(-time.Minute)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 40 {
		l := begin(t, j, fmt.Sprint("r", i))
		did(t, l, place("1"), tool.Write, strings.Repeat(fmt.Sprint("value ", i%3, " "), 12_000))
		check(t, l.End(ctx, "final", tool.Outcome{}, nil))
		if got, err := readAll(j, l.run.ID); len(got) != 1 || err != nil {
			t.Errorf("run %d: %v", i, err)
		}
		check(t, j.Delete(ctx, l.run.ID))
	}
	close(ended)
	wg.Wait()
}

// TestPruneWithAClockThatIsAhead checks that a steady pruning counts the age of runs from the
// newest one: a clock that is a year ahead deletes nothing, and once there are newer runs,
// those before them are old.
func TestPruneWithAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Now()
	j := Open(journal.Memory(), &Options{Clock: func() time.Time { return now }})
	defer j.Close()
	for i := range 5 {
		check(t, begin(t, j, fmt.Sprint("run", i)).End(ctx, "final", tool.Outcome{}, nil))
		now = now.Add(time.Hour)
	}
	now = now.AddDate(1, 0, 0)
	keep := Keep{For: 720 * time.Hour, Steady: true}
	if removed, err := j.Prune(ctx, keep); removed != 0 || err != nil {
		t.Errorf("Prune a year later removed %d, %v, want none: the clock may be ahead", removed, err)
	}
	check(t, begin(t, j, "new").End(ctx, "final", tool.Outcome{}, nil))
	now = now.AddDate(-1, 0, 0)
	if removed, err := j.Prune(ctx, keep); removed != 0 || err != nil {
		t.Errorf("Prune with the clock put right removed %d, %v, want none", removed, err)
	}
	now = now.AddDate(1, 0, 0)
	if removed, err := j.Prune(ctx, keep); removed != 5 || err != nil {
		t.Errorf("Prune after a newer run removed %d, %v, want the five old ones", removed, err)
	}
}
