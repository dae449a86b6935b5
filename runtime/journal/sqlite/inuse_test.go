package sqlite

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestFilesInUse removes and replaces the files of an open journal: nothing more is written, as it would
// be lost. A store that is opened then works.
func TestFilesInUse(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(s *Store) error
		want string
	}{
		{"the folder is removed", func(s *Store) error { return os.RemoveAll(s.dir) }, "journal.db was removed"},
		{"the database is removed", func(s *Store) error { return os.Remove(s.file()) }, "journal.db was removed"},
		{"the database is moved", func(s *Store) error { return os.Rename(s.file(), s.file()+".old") }, "journal.db was removed"},
		{"the log is removed", func(s *Store) error { return os.Remove(s.file() + "-wal") }, "journal.db-wal was removed"},
		{"the database is replaced", func(s *Store) error {
			if err := os.Remove(s.file()); err != nil {
				return err
			}
			return os.WriteFile(s.file(), nil, 0o600)
		}, "journal.db was replaced"},
		{"the folder is replaced by another journal", func(s *Store) error {
			if err := os.RemoveAll(s.dir); err != nil {
				return err
			}
			other, err := Open(s.dir)
			if err == nil {
				err = other.Close()
			}
			return err
		}, "journal.db was replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, t.TempDir())
			num := begin(t, s, "", "r")
			check(t, appendFrame(s, num, 0))
			check(t, c.do(s))
			for what, err := range map[string]error{
				"a frame":   appendFrame(s, num, 1),
				"a run":     s.Commit(ctx, []*journal.Write{{New: &journal.Row{ID: "x", Kind: "run", Nonce: "n"}}}),
				"a message": second(s.Send(ctx, num, journal.Message{Kind: "answer"})),
				"a removal": s.Delete(ctx, num),
			} {
				if value.KindOf(err) != value.Unavailable || !strings.Contains(err.Error(), c.want) {
					t.Errorf("writing %s: %v, want %q", what, err, c.want)
				}
			}
		})
	}
}

// TestStoresShareFiles opens and closes stores beside one that writes: that one keeps its files.
func TestStoresShareFiles(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	num := begin(t, s, "", "r")
	if len(s.inUse) != 2 {
		t.Fatalf("%d files are in use, want the database and its log", len(s.inUse))
	}
	for i := range int64(3) {
		other, err := Open(s.dir)
		check(t, err)
		check(t, appendFrame(other, num, 2*i))
		check(t, other.Close())
		check(t, appendFrame(s, num, 2*i+1))
	}
}

func second[T any](_ T, err error) error { return err }

// TestForeignLog reads a journal beside which somebody has put the log of another one.
func TestForeignLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, t.TempDir())
	for _, id := range []string{"a", "b", "c"} {
		num := begin(t, s, "", id)
		for seq := range int64(4) {
			check(t, appendFrame(s, num, seq))
		}
	}
	check(t, s.Close())
	other := open(t, t.TempDir())
	check(t, appendFrame(other, begin(t, other, "", "foreign"), 0))
	log, err := os.ReadFile(other.file() + "-wal")
	check(t, err)
	check(t, os.WriteFile(s.file()+"-wal", log, 0o600))

	s = open(t, s.dir)
	var ids []string
	var damage error
	for r, err := range s.List(ctx, journal.Filter{}) {
		if damage = err; err == nil {
			ids = append(ids, r.ID)
		}
	}
	if got := strings.Join(ids, " "); got != "c b a" || value.KindOf(damage) != value.Failed || !strings.Contains(damage.Error(), "journal.db-wal is the log of another database") {
		t.Errorf("the runs are %q, %v", got, damage)
	}
	if err := s.Commit(ctx, []*journal.Write{{New: &journal.Row{ID: "x", Kind: "run", Nonce: "n"}}}); value.KindOf(err) != value.Failed {
		t.Errorf("Commit = %v", err)
	}
	check(t, s.Close())
	check(t, os.Remove(s.file()+"-wal"))
	if _, err := os.Stat(s.file() + "-shm"); err == nil {
		check(t, os.Remove(s.file()+"-shm"))
	}
	if s := open(t, s.dir); s.damage != nil || s.sealed != nil {
		t.Errorf("without the log: %v", s.damage)
	}
}
