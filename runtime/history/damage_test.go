package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

const (
	damageRuns  = 12
	damageSteps = 30
)

// damageFolder makes a journal of some runs, with its records in the database
// or still in the log beside it, and returns a copy of its files and what is
// in it.
func damageFolder(t *testing.T, inLog bool) (files map[string][]byte, truth map[string]map[string]string) {
	t.Helper()
	dir, ctx := t.TempDir(), context.Background()
	j := open(t, dir)
	if inLog {
		defer j.Close()
	}
	for r := range damageRuns {
		l := begin(t, j, fmt.Sprintf("run-%d", r))
		for n := 1; n <= damageSteps; n++ {
			p := tool.Place{n}
			check(t, l.Intend(ctx, Intent{Place: p, Func: "fs.write", Args: stepArgs(n), Kind: tool.Write}))
			if n == 10 {
				check(t, l.Note(ctx, p, tool.NewDict("approved", true)))
			}
			check(t, l.Settle(ctx, p, tool.Outcome{Value: stepValue(n)}, nil))
		}
		switch r % 3 {
		case 0:
			check(t, l.End(ctx, "final", tool.Outcome{Value: "the end"}, nil))
		case 1:
			check(t, l.Ask(ctx, Question{Place: tool.Place{damageSteps + 1}, Text: "go on?", Confirm: true}))
			check(t, l.Park(ctx, "a question"))
		case 2:
			check(t, l.Close())
		}
	}
	truth = map[string]map[string]string{}
	runs, err := j.Runs(ctx, Filter{})
	check(t, err)
	for _, r := range runs {
		entries, err := readAll(j, r.ID)
		check(t, err)
		truth[r.ID] = entries
	}
	if !inLog {
		j.Close()
	}
	files = map[string][]byte{}
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		files[rel], err = os.ReadFile(path)
		return err
	}))
	delete(files, "journal.db-shm") // of no use to another process
	return files, truth
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readAll reads the entries of a run as texts by place, and all its errors.
func readAll(j *Journal, run string) (map[string]string, error) {
	got := map[string]string{}
	var errs []error
	for e, err := range j.Entries(context.Background(), run) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		got[e.Place.String()] = entryText(e)
	}
	return got, errors.Join(errs...)
}

func entryText(e Entry) string {
	out, _ := tool.Append(nil, e.Outcome.Value)
	return fmt.Sprint(e.Func, e.Args, e.Kind, e.Intended, e.Settled, tool.HashBytes(out), e.Err, e.Notes, e.Question, e.Answer)
}

// unfold writes files into a new folder.
func unfold(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	check(t, err)
	for name, data := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, data, 0o600))
	}
	return dir
}

// refold puts the database's files of a folder back, with others in their place.
func refold(t *testing.T, dir string, files map[string][]byte) string {
	t.Helper()
	for _, name := range []string{"journal.db", "journal.db-wal", "journal.db-shm"} {
		path := filepath.Join(dir, name)
		os.Remove(path)
		if data, ok := files[name]; ok {
			check(t, os.WriteFile(path, data, 0o600))
		}
	}
	return dir
}

// A finding is what is left of a damaged journal.
type finding struct {
	opened   bool
	listed   map[string]bool
	whole    map[string]bool // runs of which all is there
	reported map[string]error
	listErr  error
}

// inspect reads all that is left, and fails the test for anything that was not
// recorded. Where records were only cut off, an entry may stand as it once stood.
func inspect(t *testing.T, what, dir string, truth map[string]map[string]string, cut bool) finding {
	t.Helper()
	f := finding{listed: map[string]bool{}, whole: map[string]bool{}, reported: map[string]error{}}
	j, err := Open(dir, nil)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: Open = %v, want an error with a hint", what, err)
		}
		return f
	}
	defer j.Close()
	f.opened = true
	runs, err := j.Runs(context.Background(), Filter{})
	f.listErr = err
	for _, r := range runs {
		if r.Damage == nil {
			if truth[r.ID] == nil {
				t.Errorf("%s: a run %q that never was", what, r.ID)
			}
			if r.Title != "a test" || !cut && r.State == Done && r.Result != "the end" {
				t.Errorf("%s: the run is changed: %+v", what, r)
			}
		}
		f.listed[r.ID] = true
	}
	for run, want := range truth {
		got, err := readAll(j, run)
		if err != nil {
			f.reported[run] = err
		}
		for place, text := range got {
			if text != want[place] && (!cut && err == nil || !plausible(text, want[place])) {
				t.Errorf("%s: run %s, step %s holds %s, want %s", what, run, place, text, want[place])
			}
		}
		f.whole[run] = err == nil && len(got) == len(want)
		if err == nil && !cut && !f.whole[run] {
			t.Errorf("%s: run %s has lost %d steps without a word", what, run, len(want)-len(got))
		}
	}
	return f
}

// plausible reports whether an entry may be what another was before it had an
// outcome.
func plausible(got, want string) bool {
	i := strings.Index(want, "UTC") // the end of the time of the intent
	return i > 0 && strings.HasPrefix(got, want[:i])
}

func TestFlippedBits(t *testing.T) {
	for _, inLog := range []bool{false, true} {
		t.Run(fmt.Sprintf("log=%v", inLog), func(t *testing.T) {
			files, truth := damageFolder(t, inLog)
			name := "journal.db"
			if inLog {
				name = "journal.db-wal"
			}
			random := rand.New(rand.NewPCG(1, 2))
			opened, whole, reported, unlisted := 0, 0, 0, 0
			const flips = 150
			dir := unfold(t, files)
			for range flips {
				data := bytes.Clone(files[name])
				at, bit := random.IntN(len(data)), random.IntN(8)
				data[at] ^= 1 << bit
				f := inspect(t, fmt.Sprintf("bit %d of byte %d", bit, at), refold(t, dir, replaced(files, name, data)), truth, inLog)
				if !f.opened {
					continue
				}
				opened++
				reported += len(f.reported)
				for run := range truth {
					if f.whole[run] {
						whole++
					}
					if !f.listed[run] && f.listErr == nil && !inLog {
						unlisted++
						t.Errorf("bit %d of byte %d: run %s is listed no more", bit, at, run)
					}
				}
			}
			t.Logf("%d flips: %d opened, %.1f of %d runs whole on average, %d runs reported", flips, opened, float64(whole)/float64(opened), damageRuns, reported)
		})
	}
}

func replaced(files map[string][]byte, name string, data []byte) map[string][]byte {
	other := map[string][]byte{}
	for n, d := range files {
		other[n] = d
	}
	other[name] = data
	return other
}

func TestCutFiles(t *testing.T) {
	for _, inLog := range []bool{false, true} {
		t.Run(fmt.Sprintf("log=%v", inLog), func(t *testing.T) {
			files, truth := damageFolder(t, inLog)
			name := "journal.db"
			if inLog {
				name = "journal.db-wal"
			}
			random := rand.New(rand.NewPCG(3, 4))
			dir := unfold(t, files)
			opened, whole := 0, 0
			for range 100 {
				n := random.IntN(len(files[name]))
				f := inspect(t, fmt.Sprintf("cut at %d", n), refold(t, dir, replaced(files, name, files[name][:n])), truth, inLog)
				if f.opened {
					opened++
					whole += len(truth) - len(f.reported)
				}
			}
			t.Logf("100 cuts: %d opened, %.1f of %d runs whole on average", opened, float64(whole)/float64(opened), damageRuns)
		})
	}
}

// TestFlippedRecord flips bits where a record of one run is, and wants to hear
// which run and which step, to read what came before, and all other runs.
func TestFlippedRecord(t *testing.T) {
	files, truth := damageFolder(t, false)
	db := files["journal.db"]
	const victim = "run-4"
	frame := frameOf(t, unfold(t, files), victim, 20)
	start := bytes.Index(db, frame)
	if start < 0 {
		t.Fatal("the frame is not in one piece")
	}
	dir := unfold(t, files)
	for at := start; at < start+len(frame); at += 3 {
		data := bytes.Clone(db)
		data[at] ^= 0x10
		refold(t, dir, replaced(files, "journal.db", data))
		f := inspect(t, fmt.Sprintf("byte %d of the frame", at-start), dir, truth, false)
		err := f.reported[victim]
		if err == nil || !strings.Contains(err.Error(), victim) || !strings.Contains(err.Error(), "after step 19") {
			t.Fatalf("byte %d: the damage is told as %v", at-start, err)
		}
		j := open(t, dir)
		got, _ := readAll(j, victim)
		if len(got) != 19 || got["18"] != truth[victim]["18"] {
			t.Errorf("byte %d: %d steps before the damage, want 19", at-start, len(got))
		}
		if _, err := j.Resume(context.Background(), victim); tool.KindOf(err) != tool.Failed {
			t.Errorf("Resume of a damaged run = %v", err)
		}
		for run := range truth {
			if run != victim && !f.whole[run] {
				t.Errorf("byte %d: run %s is lost too", at-start, run)
			}
		}
		j.Close()
	}
}

// frameOf returns a frame of a run.
func frameOf(t *testing.T, dir, run string, seq int64) []byte {
	t.Helper()
	j := open(t, dir)
	defer j.Close()
	num, err := j.find(context.Background(), run)
	check(t, err)
	var frame []byte
	check(t, j.db.QueryRow("SELECT body FROM frames WHERE at = ?", frameAt(num, seq)).Scan(&frame))
	return frame
}

// TestLostRows deletes and moves rows, as damage to a page may.
func TestLostRows(t *testing.T) {
	files, truth := damageFolder(t, false)
	for _, c := range []struct{ name, sql, want string }{
		{"a record in the middle", "DELETE FROM frames WHERE at = (4 << 32) + 7", "after step 6"},
		{"the last records", "DELETE FROM frames WHERE at >= (4 << 32) + 20 AND at < 5 << 32", "records are missing"},
		{"all records", "DELETE FROM frames WHERE at >= 4 << 32 AND at < 5 << 32", "records are missing"},
		{"the head", "DELETE FROM heads WHERE num = 4", "how far it has come"},
		{"a head of another run", "UPDATE heads SET body = (SELECT body FROM heads WHERE num = 5) WHERE num = 4", "is damaged"},
		{"a record of another run", "UPDATE frames SET body = (SELECT body FROM frames WHERE at = (5 << 32) + 7) WHERE at = (4 << 32) + 7", "after step 6"},
		{"records in another order", "UPDATE frames SET body = (SELECT body FROM frames WHERE at = (4 << 32) + 8) WHERE at = (4 << 32) + 7", "after step 6"},
		{"a record of another type", "UPDATE frames SET body = 12 WHERE at = (4 << 32) + 7", "after step 6"},
		{"an empty record", "UPDATE frames SET body = x'' WHERE at = (4 << 32) + 7", "after step 6"},
		{"the name", "DELETE FROM runs WHERE num = 4", ""},
		{"another name", "UPDATE runs SET id = 'run-3x' WHERE num = 4", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unfold(t, files)
			j := open(t, dir)
			if _, err := j.db.Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			j.Close()
			f := inspect(t, c.name, dir, truth, false)
			err := f.reported["run-3"]
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "run-3")) {
				t.Errorf("the damage is told as %v, want %q", err, c.want)
			}
			for run := range truth {
				if !f.listed[run] || run != "run-3" && !f.whole[run] {
					t.Errorf("run %s: listed %v, whole %v", run, f.listed[run], f.whole[run])
				}
			}
		})
	}
}

func TestLostBlob(t *testing.T) {
	files, truth := damageFolder(t, false)
	var name string
	for n := range files {
		if strings.HasPrefix(n, "blobs") && len(files[n]) > inlineMost {
			name = n
		}
	}
	missing := replaced(files, name, nil)
	delete(missing, name)
	changed := bytes.Clone(files[name])
	changed[len(changed)/2] ^= 1
	for what, files := range map[string]map[string][]byte{
		"missing": missing,
		"size":    replaced(files, name, files[name][1:]),
		"changed": replaced(files, name, changed),
	} {
		t.Run(what, func(t *testing.T) {
			j := open(t, unfold(t, files))
			got, err := readAll(j, "run-2")
			if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "step ") {
				t.Errorf("a blob that is %s is told as %v", what, err)
			}
			if len(got) != damageSteps-1 {
				t.Errorf("%d steps are left, want all but one", len(got))
			}
			for place, text := range got {
				if text != truth["run-2"][place] {
					t.Errorf("step %s is changed", place)
				}
			}
			l, err := j.Resume(context.Background(), "run-2")
			check(t, err) // the step that is lost may not be reached again
			lost := 0
			for n := 1; n <= damageSteps; n++ {
				if _, ok, err := l.Recorded(tool.Place{n}); err != nil && ok {
					lost++
				}
			}
			if lost != 1 {
				t.Errorf("%d steps cannot be read, want 1", lost)
			}
		})
	}
}
