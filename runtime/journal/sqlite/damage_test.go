package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	damageRuns   = 24
	damageFrames = 20
)

// seal puts a checksum before a text, as package history does.
func seal(text string) []byte {
	s := sha256.Sum256([]byte(text))
	return append(s[:16], text...)
}

func sealed(b []byte) (text string, ok bool) {
	if len(b) < 16 {
		return "", false
	}
	return string(b[16:]), bytes.Equal(b, seal(string(b[16:])))
}

// damageFolder returns the files of a journal of some runs, with its rows in
// the database or still in the log beside it.
func damageFolder(t *testing.T, inLog bool) map[string]string {
	t.Helper()
	dir, ctx := t.TempDir(), context.Background()
	s := open(t, dir)
	for r := range damageRuns {
		w := &journal.Write{New: &journal.Row{ID: fmt.Sprint("run-", r), Kind: "run", Nonce: "n", Project: strings.Repeat("p", 200)}}
		for seq := range int64(damageFrames) {
			w.Frames = append(w.Frames, journal.Frame{Seq: seq, Body: seal(fmt.Sprintf("run-%d %d %s", r, seq, strings.Repeat("x", 300)))})
		}
		w.Head = seal(fmt.Sprintf("run-%d has %d", r, damageFrames))
		check(t, s.Commit(ctx, []*journal.Write{w}))
		_, err := s.Send(ctx, w.Num, journal.Message{Kind: "k", Body: seal("message")})
		check(t, err)
	}
	if !inLog {
		check(t, s.Close())
	}
	all := files(t, dir)
	delete(all, "journal.db-shm") // means nothing to another process
	return all
}

// refold writes the database files to a folder, in the place of those there.
func refold(t *testing.T, dir string, all map[string]string) {
	t.Helper()
	for _, name := range []string{"journal.db", "journal.db-wal", "journal.db-shm", lastName} {
		os.Remove(filepath.Join(dir, name))
		if data, ok := all[name]; ok {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
		}
	}
}

// A finding is what can be read of a damaged journal.
type finding struct {
	opened  bool
	listed  map[string]bool
	intact  map[string]bool // runs that can be read without an error
	listErr error
}

// inspect reads all that can be read, and fails the test for what is not as it
// was written and is not reported. cut says that the last writes may be missing.
func inspect(t *testing.T, what, dir string, cut bool) finding {
	t.Helper()
	ctx := context.Background()
	f := finding{listed: map[string]bool{}, intact: map[string]bool{}}
	s, err := Open(dir)
	if err != nil {
		var e *value.Error
		if !errors.As(err, &e) || e.Hint == "" || !strings.HasPrefix(err.Error(), "open the journal: ") {
			t.Errorf("%s: Open = %v, want an error with a hint", what, err)
		}
		return f
	}
	defer s.Close()
	f.opened = true
	wrong := ""
	for r, err := range s.List(ctx, journal.Filter{}) {
		if err != nil {
			f.listErr = err
			continue
		}
		f.listed[r.ID] = true
		text, ok := sealed(r.Head)
		if name, _, _ := strings.Cut(text, " "); ok && name != r.ID {
			wrong = fmt.Sprintf("the row of %q is that of %s", r.ID, name)
		}
	}
	if wrong != "" && f.listErr == nil {
		t.Errorf("%s: %s, without an error", what, wrong)
	}
	for n := range damageRuns {
		id := fmt.Sprint("run-", n)
		row, err := s.Find(ctx, "", id)
		if err == nil || row.Num != 0 {
			f.intact[id] = readsIntact(t, what, s, id, row.Num)
		} else if !cut && value.KindOf(err) == value.NotFound && f.listErr == nil {
			t.Errorf("%s: %s is lost without an error", what, id)
		}
	}
	return f
}

// readsIntact reports whether a run can be read completely. What history can see
// by its checksums is no concern here.
func readsIntact(t *testing.T, what string, s *Store, id string, num int64) bool {
	st, err := s.Load(context.Background(), num)
	if err != nil {
		if value.KindOf(err) != value.Failed {
			t.Errorf("%s: Load of %s = %v", what, id, err)
		}
		return false
	}
	text, ok := sealed(st.Row.Head)
	if !ok || text != fmt.Sprintf("%s has %d", id, len(st.Frames)) || st.Row.ID != id {
		return false
	}
	for seq, frame := range st.Frames {
		text, ok := sealed(frame)
		if !ok || !strings.HasPrefix(text, fmt.Sprintf("%s %d x", id, seq)) {
			return false
		}
	}
	return true
}

func replaced(all map[string]string, name, data string) map[string]string {
	other := maps.Clone(all)
	other[name] = data
	return other
}

// rounds returns how often to try something.
func rounds(n int) int {
	if raceDetector {
		return n / 10
	}
	return testutil.Times(n/10, n)
}

func TestFlippedBits(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	for _, inLog := range []bool{false, true} {
		t.Run(fmt.Sprintf("log=%v", inLog), func(t *testing.T) {
			all, name := damageFolder(t, inLog), "journal.db"
			if inLog {
				name = "journal.db-wal"
			}
			random := rand.New(rand.NewPCG(1, 2))
			opened, intact := 0, 0
			dir := t.TempDir()
			for n := range rounds(200) {
				data := []byte(all[name])
				at, bit := random.IntN(len(data)), random.IntN(8)
				if n%4 == 0 {
					at %= 4096 // the schema
				}
				data[at] ^= 1 << bit
				what := fmt.Sprintf("bit %d of byte %d", bit, at)
				refold(t, dir, replaced(all, name, string(data)))
				f := inspect(t, what, dir, inLog)
				if !f.opened {
					continue
				}
				opened++
				for id := range f.intact {
					if f.intact[id] {
						intact++
					}
				}
				if !inLog && f.listErr == nil && len(f.listed) != damageRuns {
					t.Errorf("%s: %d runs are listed, without an error", what, len(f.listed))
				}
			}
			t.Logf("%d flips: %d opened, %.1f of %d runs readable on average", rounds(200), opened, float64(intact)/float64(opened), damageRuns)
			// In the log, everything after the damage is lost: SQLite reads no further. Of a
			// quarter of the logs nothing is left, and nothing can be opened.
			if opened < rounds(200)*2/3 || !inLog && intact < opened*damageRuns*9/10 {
				t.Errorf("too little can be read")
			}
		})
	}
}

func TestCutFiles(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	for _, inLog := range []bool{false, true} {
		t.Run(fmt.Sprintf("log=%v", inLog), func(t *testing.T) {
			all, name := damageFolder(t, inLog), "journal.db"
			if inLog {
				name = "journal.db-wal"
			}
			random := rand.New(rand.NewPCG(3, 4))
			dir, opened := t.TempDir(), 0
			for range rounds(100) {
				n := random.IntN(len(all[name]))
				refold(t, dir, replaced(all, name, all[name][:n]))
				if f := inspect(t, fmt.Sprintf("cut at %d", n), dir, inLog || n == 0); f.opened {
					opened++
				}
			}
			t.Logf("%d cuts: %d opened", rounds(100), opened)
		})
	}
}

// TestDamagedPages overwrites each page, and wants every run that is not on it.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	all, dir := damageFolder(t, false), t.TempDir()
	pages := len(all["journal.db"]) / 4096
	least := damageRuns
	for p := 1; p < pages; p += 100 / rounds(100) {
		data := []byte(all["journal.db"])
		for i := range 4096 {
			data[p*4096+i] = 0xa5
		}
		refold(t, dir, replaced(all, "journal.db", string(data)))
		f := inspect(t, fmt.Sprint("page ", p), dir, false)
		if !f.opened {
			t.Errorf("page %d: Open failed", p)
			continue
		}
		n := 0
		for id := range f.intact {
			if f.intact[id] {
				n++
			}
		}
		least = min(least, n)
		if len(f.listed) != damageRuns && f.listErr == nil {
			t.Errorf("page %d: %d runs are listed, without an error", p, len(f.listed))
		}
	}
	t.Logf("%d pages; at least %d of %d runs readable, whichever is damaged", pages, least, damageRuns)
}

// TestLostRows removes and changes rows, as damage to a page may.
func TestLostRows(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), damageFolder(t, false)
	for _, c := range []struct {
		name, sql string
		want      string // what Find, Load and List report, or ""
	}{
		{"a frame", "DELETE FROM frames WHERE at = (4 << 32) + 7", ""}, // history finds it by checksums
		{"the head", "DELETE FROM heads WHERE num = 4", "the head of the run with number 4"},
		{"the columns", "DELETE FROM runs WHERE num = 4", "the columns of the run with number 4"},
		{"the ID", "UPDATE runs SET id = 'run-3x' WHERE num = 4", "the name of the run with number 4"},
		{"the tenant in heads", "UPDATE heads SET tenant = 'x' WHERE num = 4", "the name of the run with number 4"},
		{"the state", "UPDATE runs SET state = 77 WHERE num = 4", "the state of the run with number 4"},
		{"the type of the state", "UPDATE runs SET state = 'x' WHERE num = 4", "the columns of the run with number 4"},
		{"the type of a time", "UPDATE runs SET wake = x'00' WHERE num = 4", "the columns of the run with number 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			refold(t, dir, all)
			execSQL(t, dir, c.sql)
			s := open(t, dir)
			reported := func(what string, err error) {
				t.Helper()
				if c.want == "" && err != nil || c.want != "" && (value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s = %v, want %q", what, err, c.want)
				}
			}
			row, err := s.Find(ctx, "", "run-3")
			if c.name == "the ID" { // under the other name
				row, err = s.Find(ctx, "", "run-3x")
			}
			reported("Find", err)
			if row.Num != 4 {
				t.Fatalf("Find returns run %d, want 4", row.Num)
			}
			st, err := s.Load(ctx, 4)
			reported("Load", err)
			if len(st.Frames) < damageFrames-1 || len(st.Inbox) != 1 {
				t.Errorf("Load returns %d frames and %d messages", len(st.Frames), len(st.Inbox))
			}
			n, listErr := 0, error(nil)
			for r, err := range s.List(ctx, journal.Filter{}) {
				if listErr = err; err == nil {
					n++
				}
				if r.Num == 4 && len(r.First) == 0 {
					t.Error("List yields it without frames")
				}
			}
			reported("List", listErr)
			if n != damageRuns {
				t.Errorf("List yields %d runs", n)
			}
			for range s.List(ctx, journal.Filter{Tenant: "other"}) {
				t.Error("another tenant sees a damaged run")
				break
			}
		})
	}
}

// TestDamagedIsReadOnly opens a database that was cut off.
// writeAll calls each method that writes, and returns their errors.
func writeAll(s *Store) map[string]error {
	ctx := context.Background()
	_, sendErr := s.Send(ctx, 1, journal.Message{Kind: "k"})
	_, _, takeErr := s.Take(ctx, 1, "k", "")
	return map[string]error{
		"Commit":  s.Commit(ctx, []*journal.Write{{Num: 1, Head: []byte("x")}}),
		"Delete":  s.Delete(ctx, 1),
		"Send":    sendErr,
		"Take":    takeErr,
		"PutBlob": s.PutBlob(ctx, sum("x"), []byte("x")),
	}
}

func TestDamagedIsReadOnly(t *testing.T) {
	t.Parallel()
	ctx, dir, all := context.Background(), t.TempDir(), damageFolder(t, false)
	cut := all["journal.db"][:len(all["journal.db"])-5*4096]
	refold(t, dir, replaced(all, "journal.db", cut))
	f := inspect(t, "cut", dir, true)
	if !f.opened || len(f.listed) == 0 || value.KindOf(f.listErr) != value.Failed || !strings.Contains(f.listErr.Error(), "damaged") {
		t.Errorf("opened %v, %d runs, %v", f.opened, len(f.listed), f.listErr)
	}
	intact := 0
	for _, ok := range f.intact {
		if ok {
			intact++
		}
	}
	if intact == 0 {
		t.Error("no run can be read, though only the end is missing")
	}
	s := open(t, dir)
	named := func() (map[string]bool, error) { t.Error("named is called"); return nil, nil }
	refusals := writeAll(s)
	refusals["SweepBlobs"] = s.SweepBlobs(ctx, now().AddDate(1, 0, 0), named)
	refusals["EachFrame"] = s.EachFrame(ctx, func(int64, int64, []byte) error { return nil })
	for what, err := range refusals {
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Failed || !strings.Contains(e.Hint, "you can still read undamaged runs") {
			t.Errorf("%s in a damaged journal = %v", what, err)
		}
	}
	check(t, s.Close())
	if files(t, dir)["journal.db"] != cut {
		t.Error("the damaged file was changed")
	}
}
