package sqlite

import (
	"context"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// toTwo makes a journal of version 2 of one that nobody has open.
const toTwo = "ALTER TABLE runs DROP COLUMN stuck; PRAGMA user_version = 2"

// versionTwo returns a folder with a journal of version 2, which has the parked run r.
func versionTwo(t *testing.T) (dir string, num int64) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	num = begin(t, s, "", "r")
	check(t, appendFrame(s, num, 0))
	check(t, s.Commit(context.Background(), []*journal.Write{{Num: num, Set: &journal.Standing{State: journal.Parked}}}))
	check(t, s.Close())
	execSQL(t, dir, toTwo)
	return dir, num
}

// TestConvert opens a journal of version 2 in several places at once, and uses its new column.
func TestConvert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir, num := versionTwo(t)
	stores := make([]*Store, 4)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() { stores[i] = open(t, dir) })
	}
	all.Wait()
	r, err := stores[0].Find(ctx, "", "r")
	check(t, err)
	if r.Num != num || r.State != journal.Parked || r.Stuck != "" {
		t.Errorf("the run of version 2 is %+v", r)
	}
	set := &journal.Standing{State: journal.Stuck, Stuck: "why"}
	check(t, stores[1].Commit(ctx, []*journal.Write{{Num: num, Set: set}}))
	for r, err := range stores[2].List(ctx, journal.Filter{}) {
		check(t, err)
		if r.Stuck != "why" || r.State != journal.Stuck || len(r.First) == 0 {
			t.Errorf("List yields %+v", r)
		}
	}
	check(t, stores[3].Close())
}

// TestReadVersionTwo reads a journal of version 2 that is not changed, as it lacks its last frame.
func TestReadVersionTwo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir, num := versionTwo(t)
	execSQL(t, dir, "DELETE FROM frames")
	s := open(t, dir)
	if s.damage == nil {
		t.Fatal("the journal is not damaged")
	}
	var got []journal.Row
	for r, err := range s.List(ctx, journal.Filter{}) {
		if err == nil {
			got = append(got, r)
		}
	}
	if len(got) != 1 || got[0].Num != num || got[0].State != journal.Parked || got[0].Stuck != "" {
		t.Errorf("List yields %+v", got)
	}
	check(t, s.Close())
	if s := open(t, dir); s.rowQuery == rowQuery {
		t.Error("the damaged journal was converted")
	}
}
