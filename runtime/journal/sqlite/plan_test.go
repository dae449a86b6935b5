package sqlite

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// TestPlans checks that listings of one tenant do not read the others.
func TestPlans(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	begin(t, s, "t", "r")
	type query struct {
		text string
		args []any
	}
	filtered := func(f journal.Filter) query {
		text, args := filterQuery(&f)
		return query{text, append(args, 10)}
	}
	for _, c := range []struct {
		query
		bad []string
	}{
		{query{allQuery, []any{"t", "t", 10}}, []string{"SCAN runs", "SCAN heads", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{States: []journal.State{journal.Parked}}), []string{"SCAN runs", "(tenant=?)", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{Kind: "x", States: []journal.State{1, 2}}), []string{"SCAN runs", "(tenant=?)", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{Kind: "x", Project: "y"}), []string{"SCAN runs", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{Kind: "x"}), []string{"SCAN runs", "(tenant=?)", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{Prefix: "x"}), []string{"SCAN runs", "(tenant=?)"}},
		{filtered(journal.Filter{Session: "s"}), []string{"SCAN runs", "(tenant=?)", "USE TEMP B-TREE"}},
		{filtered(journal.Filter{Due: time.Now(), States: []journal.State{journal.Parked}}), []string{"SCAN runs", "SCAN i", "SCAN t", "(tenant=?)"}},
		{query{rowQuery, []any{1}}, []string{"SCAN r", "SCAN h", "SCAN frames", "USE TEMP B-TREE"}},
		{query{lastQuery, []any{1, "k", "q"}}, []string{"SCAN inbox", "USE TEMP B-TREE"}},
		{query{existsQuery, []any{1}}, []string{"SCAN runs", "SCAN heads"}},
		{query{inboxQuery, []any{1, 0}}, []string{"SCAN runs", "SCAN heads", "SCAN i"}},
	} {
		rows, err := s.db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+c.text, c.args...)
		check(t, err)
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var detail string
			check(t, rows.Scan(&id, &parent, &unused, &detail))
			plan += detail + "\n"
		}
		check(t, rows.Err())
		for _, bad := range c.bad {
			if strings.Contains(strings.ReplaceAll(plan, "\n", " "), bad+" ") {
				t.Errorf("%s:\n%s", c.text, plan)
			}
		}
	}
}

// TestPagesOfAStep checks that a step writes a page of frames and one of heads,
// and no page of runs or of an index.
func TestPagesOfAStep(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	num := begin(t, s, "", "r")
	size := func() int64 {
		st, err := os.Stat(s.file() + "-wal")
		check(t, err)
		return st.Size()
	}
	const steps, frame = 100, 4096 + 24
	before := size()
	for i := range int64(steps) {
		w := &journal.Write{Num: num, Frames: []journal.Frame{{Seq: i, Body: make([]byte, 100)}}, Head: fmt.Append(nil, i)}
		check(t, s.Commit(ctx, []*journal.Write{w}))
	}
	if pages := float64(size()-before) / frame / steps; pages > 2.2 {
		t.Errorf("a step writes %.2f pages, want 2 and now and then one more", pages)
	}
}
