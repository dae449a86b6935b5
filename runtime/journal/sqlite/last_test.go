package sqlite

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLostLog takes files of a journal away, or replaces them by older ones: what was
// written since must not be missed silently.
func TestLostLog(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s := open(t, dir)
	num := begin(t, s, "", "first")
	check(t, appendFrame(s, num, 0))
	check(t, s.Close())
	old := files(t, dir)
	s = open(t, dir)
	check(t, appendFrame(s, num, 1))
	second := begin(t, s, "", "second")
	newRun := files(t, dir) // its log has all of it
	check(t, appendFrame(s, second, 0))
	all := files(t, dir)
	check(t, s.Delete(ctx, second))
	deleted := files(t, dir)
	check(t, s.Close())

	log := all["journal.db-wal"]
	for _, c := range []struct {
		name    string
		files   map[string]string
		db, log string // of these files; "-" has none
		want    string // what Open reports, or ""
	}{
		{"nothing is lost", all, all["journal.db"], log, ""},
		{"the run was deleted", deleted, deleted["journal.db"], deleted["journal.db-wal"], ""},
		{"no log", all, all["journal.db"], "-", "record 0 of a lost run"},
		{"an empty log", all, all["journal.db"], "", "record 0 of a lost run"},
		{"half a log", all, all["journal.db"], log[:len(log)/2], "record 0 of"},
		{"the log before the last write", all, all["journal.db"], newRun["journal.db-wal"], "record 0 of the run 'second'"},
		{"an older database", all, old["journal.db"], "-", "record 0 of a lost run"},
		{"no database", all, "-", "-", "record 0 of a lost run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, files := t.TempDir(), maps.Clone(c.files)
			delete(files, "journal.db-shm")
			for name, data := range map[string]string{"journal.db": c.db, "journal.db-wal": c.log} {
				if files[name] = data; data == "-" {
					delete(files, name)
				}
			}
			refold(t, dir, files)
			s, err := Open(dir)
			if c.want == "" {
				check(t, err)
				check(t, s.Commit(ctx, []*journal.Write{{Num: num, Head: []byte("x")}}))
				check(t, s.Close())
				return
			}
			if err == nil {
				for _, err = range s.List(ctx, journal.Filter{}) { // reports it last
				}
				for what, refusal := range writeAll(s) {
					if !errors.Is(refusal, err) {
						t.Errorf("%s = %v", what, refusal)
					}
				}
				check(t, s.Close())
			}
			var e *value.Error
			if !errors.As(err, &e) || e.Kind != value.Failed || !strings.Contains(e.Error(), c.want) || !strings.HasSuffix(e.Hint, "rm "+quote(filepath.Join(dir, lastName))) {
				t.Fatalf("a journal that lost its last writes: %v", err)
			}
			check(t, os.Remove(filepath.Join(dir, lastName))) // as the hint says
			s = open(t, dir)
			begin(t, s, "", "third")
			check(t, s.Close())
		})
	}
}
