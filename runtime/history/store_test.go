package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestMigration brings a made-up version 0 to version 1, and that to a made-up
// version 2.
func TestMigration(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "journal.db")
	db, err := openDB(path, toWrite)
	check(t, err)
	defer db.Close()
	made := fmt.Sprintf("CREATE TABLE old (id TEXT, state TEXT); INSERT INTO old VALUES ('r', 'done'), ('s', 'parked'); PRAGMA application_id = %d", applicationID)
	if _, err := db.Exec(made); err != nil {
		t.Fatal(err)
	}
	steps := []string{"CREATE TABLE runs (num INTEGER PRIMARY KEY, id TEXT); INSERT INTO runs (id) SELECT id FROM old ORDER BY id; DROP TABLE old;"}
	check(t, migrate(ctx, db, steps))
	check(t, migrate(ctx, db, steps)) // once is enough
	steps = append(steps, "ALTER TABLE runs ADD COLUMN title TEXT DEFAULT 'none';")
	check(t, migrate(ctx, db, steps))
	var text string
	check(t, db.QueryRow("SELECT (SELECT user_version FROM pragma_user_version) || group_concat(id || title) FROM runs").Scan(&text))
	if text != "2rnone,snone" {
		t.Errorf("after the steps there is %q", text)
	}
	bad := append(steps, "CREATE TABLE more (x); SELECT nonsense;")
	if migrate(ctx, db, bad) == nil {
		t.Error("a step that fails succeeds")
	}
	check(t, migrate(ctx, db, steps)) // and left nothing behind
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'more'").Scan(&text); err != nil || text != "0" {
		t.Errorf("a step that failed left a table: %s, %v", text, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		kind      tool.Kind
		want      string
	}{
		{"a newer journal", "PRAGMA user_version = 99", tool.Unavailable, "written by a newer cassidy: its format is 99, and this one knows 1"},
		{"a negative version", "PRAGMA user_version = -1", tool.Invalid, "no cassidy ever wrote"},
		{"another program's file", "PRAGMA application_id = 7", tool.Invalid, "not a journal"},
		{"a trigger", "CREATE TRIGGER x AFTER INSERT ON frames BEGIN DELETE FROM frames; END", tool.Invalid, "not a journal"},
		{"a view", "CREATE VIEW x AS SELECT 1", tool.Invalid, "not a journal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir)
			begin(t, j, "r")
			if _, err := j.db.Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			check(t, j.Close())
			before, err := os.ReadFile(filepath.Join(dir, "journal.db"))
			check(t, err)
			_, err = Open(dir, nil)
			if err == nil || tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open = %v, want %q", err, c.want)
			}
			if after, err := os.ReadFile(filepath.Join(dir, "journal.db")); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
	t.Run("no database at all", func(t *testing.T) {
		dir := t.TempDir()
		text := strings.Repeat("this is a letter to my mother ", 1000)
		check(t, os.WriteFile(filepath.Join(dir, "journal.db"), []byte(text), 0o600))
		_, err := Open(dir, nil)
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.Failed || !strings.Contains(e.Hint, "nothing was deleted") {
			t.Errorf("Open = %v", err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "journal.db")); err != nil || string(got) != text {
			t.Error("the letter is lost")
		}
	})
	t.Run("a file for a folder", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "file")
		check(t, os.WriteFile(dir, nil, 0o600))
		if _, err := Open(dir, nil); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("Open = %v", err)
		}
	})
}

// TestOpenAtOnce has many make the same journal.
func TestOpenAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			j, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer j.Close()
			if _, err := j.Begin(context.Background(), Run{ID: fmt.Sprint("r", i), Kind: "run"}, script()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs, err := open(t, dir).Runs(context.Background(), Filter{}); len(runs) != 8 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestDamagedIsReadOnly opens a database that was cut off.
func TestDamagedIsReadOnly(t *testing.T) {
	ctx := context.Background()
	files, truth := damageFolder(t, false)
	db := files["journal.db"]
	dir := unfold(t, replaced(files, "journal.db", db[:len(db)-3*4096]))
	j := open(t, dir)
	runs, err := j.Runs(ctx, Filter{})
	if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "damaged") || len(runs) == 0 {
		t.Errorf("Runs = %d runs, %v", len(runs), err)
	}
	whole := 0
	for run := range truth {
		if _, err := readAll(j, run); err == nil {
			whole++
		}
	}
	if whole == 0 {
		t.Error("no run can be read, though only the end is gone")
	}
	for what, err := range map[string]error{
		"Begin":  second(j.Begin(ctx, Run{Kind: "run"}, script())),
		"Resume": second(j.Resume(ctx, "run-2")),
		"Delete": j.Delete(ctx, "run-0"),
		"Prune":  second(j.Prune(ctx, Keep{Most: 1})),
	} {
		if tool.KindOf(err) != tool.Failed {
			t.Errorf("%s in a damaged journal = %v", what, err)
		}
	}
	check(t, j.Close())
	if after, err := os.ReadFile(filepath.Join(dir, "journal.db")); err != nil || len(after) != len(db)-3*4096 {
		t.Errorf("the damaged file was changed: %v", err)
	}
}

// fill records until an intent fails, and returns how many were taken.
func fill(t *testing.T, l *Log) (int, error) {
	t.Helper()
	ctx := context.Background()
	for n := 1; n < 10_000; n++ {
		p := tool.Place{n}
		if err := l.Intend(ctx, Intent{Place: p, Func: "fs.write", Args: tool.NewDict("text", strings.Repeat("x", 20_000)), Kind: tool.Write}); err != nil {
			return n - 1, err
		}
		check(t, l.Settle(ctx, p, tool.Outcome{Value: int64(n)}, nil))
	}
	t.Fatal("the disk is never full")
	return 0, nil
}

// checkFull looks at a journal whose disk is full: what was taken is there, and
// once there is room the run goes on with the outcome that had no place.
func checkFull(t *testing.T, j *Journal, l *Log, n int, err error, room func()) {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.Limit || e.Limit != tool.LimitDisk || e.Hint == "" {
		t.Errorf("Intend on a full disk = %v", err)
	}
	got, err := readAll(j, "r")
	if len(got) != n || err != nil {
		t.Errorf("%d of %d steps can be read, %v", len(got), n, err)
	}
	room()
	did(t, l, tool.Place{n + 1}, tool.Write, "went on")
	check(t, l.Close())
	for e, err := range j.Entries(context.Background(), "r") {
		if err != nil || e.Settled.IsZero() {
			t.Errorf("step %s after there was room: %+v, %v", e.Place, e, err)
		}
	}
}

func TestFullDatabase(t *testing.T) {
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	pages := func(n int) {
		if _, err := j.w.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	pages(100)
	n, err := fill(t, l)
	checkFull(t, j, l, n, err, func() { pages(1_000_000) })
}

// TestBlobs looks at large values: kept once, and gone when the last run that
// names them is.
func TestBlobs(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	large, other := strings.Repeat("large", 50_000), strings.Repeat("other", 50_000)
	for _, id := range []string{"a", "b"} {
		l := begin(t, j, id)
		did(t, l, place("1"), tool.Write, large)
		did(t, l, place("2"), tool.Write, large)
		if id == "a" {
			did(t, l, place("3"), tool.Write, other)
		}
		check(t, l.End(ctx, "final", tool.Outcome{Value: large}, nil))
	}
	check(t, os.WriteFile(filepath.Join(j.blobs.dir, "new-123"), []byte("never finished"), 0o600))
	count := func() (n int) {
		check(t, j.blobs.old(now().Add(time.Hour), func(string) error { n++; return nil }))
		return n
	}
	const scripts = 1
	if n := count(); n != scripts+3 {
		t.Fatalf("%d files, want the script, two values and one that was never finished", n)
	}
	check(t, j.Delete(ctx, "a"))
	check(t, j.sweep(ctx, now().Add(-time.Hour)))
	if n := count(); n != scripts+3 {
		t.Errorf("%d files: what is young was removed", n)
	}
	check(t, j.sweep(ctx, now().Add(time.Hour)))
	if n := count(); n != scripts+1 {
		t.Errorf("%d files, want the script and the value that b names", n)
	}
	if got, err := readAll(j, "b"); len(got) != 2 || err != nil {
		t.Errorf("b: %d steps, %v", len(got), err)
	}
	check(t, j.Delete(ctx, "b"))
	check(t, j.sweep(ctx, now().Add(time.Hour)))
	if n := count(); n != 0 {
		t.Errorf("%d files are left of nothing", n)
	}
}

// TestSweepAndWriter removes old blobs while others name the same ones again.
func TestSweepAndWriter(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	value := func(i int) string { return strings.Repeat(fmt.Sprint("value ", i%3, " "), 12_000) }
	var wg sync.WaitGroup
	done := make(chan bool)
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := j.sweep(ctx, now().Add(-time.Minute)); err != nil {
				t.Error(err)
			}
		}
	})
	old := now().Add(-time.Hour)
	for i := range 60 {
		l := begin(t, j, fmt.Sprint("r", i))
		did(t, l, place("1"), tool.Write, value(i))
		check(t, l.End(ctx, "final", tool.Outcome{}, nil))
		if got, err := readAll(j, l.run.ID); len(got) != 1 || err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		check(t, j.Delete(ctx, l.run.ID))
		j.blobs.old(now().Add(time.Hour), func(path string) error { os.Chtimes(path, old, old); return nil })
	}
	close(done)
	wg.Wait()
}

func TestPrune(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		keep Keep
		want string
	}{
		{"nothing said", Keep{}, "held parked end3 end2 end1 end0"},
		{"two of those that ended", Keep{Most: 2}, "held parked end3 end2"},
		{"by age", Keep{For: time.Nanosecond}, "held parked"},
		{"an age that none has", Keep{For: time.Hour}, "held parked end3 end2 end1 end0"},
		{"what has not ended too", Keep{For: time.Nanosecond, Open: true}, "held"},
		{"three in all", Keep{Most: 3, Open: true}, "held parked end3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := open(t, t.TempDir())
			for i := range 4 {
				l := begin(t, j, fmt.Sprint("end", i))
				did(t, l, place("1"), tool.Write, nil)
				check(t, l.End(ctx, "final", tool.Outcome{}, nil))
			}
			check(t, begin(t, j, "parked").Park(ctx, "a question"))
			begin(t, j, "held")
			removed, err := j.Prune(ctx, c.keep)
			check(t, err)
			var left []string
			runs, err := j.Runs(ctx, Filter{})
			check(t, err)
			for _, r := range runs {
				left = append(left, r.ID)
			}
			if got := strings.Join(left, " "); got != c.want || removed != 6-len(left) {
				t.Errorf("left %q, removed %d; want %q", got, removed, c.want)
			}
			var rows int
			check(t, j.db.QueryRow("SELECT count(DISTINCT at >> 32) + (SELECT count(*) FROM heads) FROM frames").Scan(&rows))
			if rows != 2*len(left) {
				t.Errorf("%d rows are left of %d runs", rows, len(left))
			}
		})
	}
}
