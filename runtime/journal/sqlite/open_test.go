package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin adds a run and returns its number.
func begin(t testing.TB, s *Store, tenant, id string) int64 {
	t.Helper()
	w := &journal.Write{New: &journal.Row{Tenant: tenant, ID: id, Kind: "run", Nonce: "n"}, Head: []byte("0")}
	check(t, s.Commit(context.Background(), []*journal.Write{w}))
	return w.Num
}

// execSQL runs SQL on the database in a folder that nobody has open.
func execSQL(t testing.TB, dir, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file://"+filepath.ToSlash(filepath.Join(dir, "journal.db")))
	check(t, err)
	_, err = db.Exec(query)
	check(t, errors.Join(err, db.Close()))
}

// files reads all files of a folder, by their path in it.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// formatOne is the schema of format 1.
const formatOne = `CREATE TABLE runs (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE frames (at INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE heads (num INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE answers (num INTEGER NOT NULL, place TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (num, place)) WITHOUT ROWID;
INSERT INTO runs (id) VALUES ('old');
PRAGMA user_version = 1; PRAGMA application_id = 1667330931;`

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, make, sql string // make says whether there is a journal first
		kind            value.Kind
		want, hint      string
	}{
		{"newer", "journal", "PRAGMA user_version = 99", value.Unavailable, "written by a newer cassidy: it has format 99, and this version reads 3", "nothing was changed"},
		{"newer with a view", "journal", "CREATE VIEW x AS SELECT 1; PRAGMA user_version = 4", value.Unavailable, "newer", "nothing was changed"},
		{"format 1", "", formatOne, value.Invalid, "journal.db has format 1, which this version cannot read", "mv "},
		{"format 1 in WAL mode", "", "PRAGMA journal_mode = WAL;" + formatOne, value.Invalid, "has format 1", "move the folder away"},
		{"a negative format", "journal", "PRAGMA user_version = -1", value.Invalid, "unknown format: -1", "move the folder away"},
		{"no format", "journal", "PRAGMA user_version = 0", value.Invalid, "not a cassidy journal", "another folder"},
		{"another program", "journal", "PRAGMA application_id = 7", value.Invalid, "not a cassidy journal", "another folder"},
		{"another program, not in WAL mode", "", "CREATE TABLE x (y); PRAGMA user_version = 2", value.Invalid, "not a cassidy journal", "another folder"},
		{"a trigger", "journal", "CREATE TRIGGER x AFTER INSERT ON frames BEGIN DELETE FROM frames; END", value.Invalid, "not a cassidy journal", "another folder"},
		{"a view", "journal", "CREATE VIEW x AS SELECT 1", value.Invalid, "not a cassidy journal", "another folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.make != "" {
				s := open(t, dir)
				begin(t, s, "", "r")
				check(t, s.Close())
			}
			execSQL(t, dir, c.sql)
			before := files(t, dir)["journal.db"]
			_, err := Open(dir)
			var e *value.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.HasPrefix(e.Error(), "open the journal: "+dir) || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("Open = %v, hint %q, want %q and %q", err, e.Hint, c.want, c.hint)
			}
			if after := files(t, dir)["journal.db"]; after != before {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.Repeat("some text that is not a database ", 1000)
	check(t, os.WriteFile(filepath.Join(dir, "journal.db"), []byte(text), 0o600))
	_, err := Open(dir)
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Failed || !strings.Contains(e.Hint, "nothing was deleted: restore journal.db") {
		t.Errorf("Open of a text = %v", err)
	}
	if files(t, dir)["journal.db"] != text {
		t.Error("the text was changed")
	}
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(file); value.KindOf(err) != value.Unavailable || !strings.HasPrefix(err.Error(), "open the journal: ") {
		t.Errorf("Open of a file = %v", err)
	}
}

// TestOpenAfterAKillWhileCreating opens a journal whose creator was killed in a transaction,
// before the database was in WAL mode.
func TestOpenAfterAKillWhileCreating(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), t.TempDir()
	db, err := sql.Open("sqlite", "file://"+filepath.ToSlash(filepath.Join(dir, "journal.db")))
	check(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (x);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
		INSERT INTO half SELECT randomblob(10000) FROM n`)
	check(t, err)
	left := files(t, dir)
	if len(left["journal.db"]) == 0 || len(left["journal.db-journal"]) == 0 {
		t.Fatal("nothing of the transaction is on disk")
	}
	for name, data := range left {
		check(t, os.WriteFile(filepath.Join(copied, name), []byte(data), 0o600))
	}
	begin(t, open(t, copied), "", "r")
}

// TestFormatOneInUse refuses a folder that an older version has open, and
// changes neither the database nor its log.
func TestFormatOneInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "my journal's")
	check(t, os.Mkdir(dir, 0o700))
	db, err := sql.Open("sqlite", "file://"+filepath.ToSlash(filepath.Join(dir, "journal.db"))+"?_pragma=journal_mode(WAL)")
	check(t, err)
	defer db.Close()
	_, err = db.Exec(formatOne)
	check(t, err)
	before := files(t, dir)
	copied := t.TempDir() // as it is after a crash: with a log, and nobody has it open
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		check(t, os.WriteFile(filepath.Join(copied, name), []byte(before[name]), 0o600))
	}
	for _, dir := range []string{dir, copied} {
		_, err = Open(dir)
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Invalid || !strings.Contains(err.Error(), "has format 1") {
			t.Errorf("Open = %v", err)
		}
		after := files(t, dir)
		for _, name := range []string{"journal.db", "journal.db-wal"} {
			if after[name] != before[name] {
				t.Errorf("%s was changed", name)
			}
		}
	}
	_, err = Open(dir)
	if want := "mv '" + strings.ReplaceAll(dir, "'", `'\''`) + "' '"; !strings.Contains(value.ErrorOf(err, value.Failed).Hint, want) {
		t.Errorf("the hint is %q, want %q", value.ErrorOf(err, value.Failed).Hint, want)
	}
}

// TestOpenTogether has many create the same journal.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for range 5 {
		dir := filepath.Join(t.TempDir(), "new")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s, err := Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := s.Commit(context.Background(), []*journal.Write{{New: &journal.Row{ID: fmt.Sprint("r", i), Kind: "run"}}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := 0
		for _, err := range open(t, dir).List(context.Background(), journal.Filter{}) {
			check(t, err)
			n++
		}
		if n != 8 {
			t.Errorf("%d runs, want 8", n)
		}
	}
}

func TestFolderNames(t *testing.T) {
	names := []string{"with space", "per%cent", "ques?tion", "ha#sh", "a&b=c", "ünï", "quo'te", "-x", "%41", "file:x", strings.Repeat("l", 100)}
	if runtime.GOOS == "windows" {
		names = []string{"with space", "per%cent", "ha#sh", "a&b=c", "ünï", "quo'te", "-x", "%41"}
	}
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), name)
		begin(t, open(t, dir), "", "r")
		if _, err := open(t, dir).Find(context.Background(), "", "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if st, err := os.Stat(filepath.Join(dir, "journal.db")); err != nil || st.Size() == 0 {
			t.Errorf("%s: the database is elsewhere: %v", name, err)
		}
	}
	t.Chdir(t.TempDir())
	begin(t, open(t, "relative"), "", "r")
	if _, err := os.Stat(filepath.Join("relative", "journal.db")); err != nil {
		t.Error(err)
	}
}

// TestModes checks that nobody else can read the files, and that Close leaves
// only the database, the name of its last frame, and the blobs.
func TestModes(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	begin(t, s, "", "r")
	_, err := s.Acquire(ctx, "", "r")
	check(t, err)
	_, err = s.Acquire(ctx, "tenant", "r")
	check(t, err)
	name := "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of "x"
	check(t, s.PutBlob(ctx, name, []byte("x")))
	if runtime.GOOS != "windows" {
		check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			check(t, err)
			info, err := d.Info()
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
			}
			return nil
		}))
	}
	check(t, s.Close())
	left := files(t, dir)
	_, hasLast := left[lastName]
	if len(left) != 3 || !hasLast || left[filepath.Join("blobs", "2d", name)] != "x" || left["journal.db"] == "" {
		for name := range left {
			t.Errorf("Close left %s", name)
		}
	}
}

// TestCloseWhileListing closes a store while another part of the program reads.
func TestCloseWhileListing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for i := range 3 {
		begin(t, s, "", fmt.Sprint("r", i))
	}
	var last error
	for _, err := range s.List(context.Background(), journal.Filter{}) {
		last = err
		check(t, s.Close())
	}
	if last != nil && value.KindOf(last) != value.KindOf(journal.ErrClosed()) {
		t.Errorf("List of a store that closes = %v", last)
	}
}
