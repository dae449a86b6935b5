package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// open opens the journal of a folder until the test ends.
func open(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(dir, &Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// begin begins a run.
func begin(t testing.TB, j *Journal, id string) *Log {
	t.Helper()
	l, err := j.Begin(context.Background(), Run{ID: id, Kind: "run", Title: "a test"}, script())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func script() tool.Script {
	return tool.Script{Name: "main", Path: "main.star", Source: "def main(): pass", Libs: map[string]string{"lib/a.star": "A = 1"}}
}

// did records an effect and its outcome.
func did(t testing.TB, l *Log, p tool.Place, kind tool.EffectKind, v tool.Value) {
	t.Helper()
	check(t, l.Intend(context.Background(), Intent{Place: p, Func: "f", Kind: kind}))
	check(t, l.Settle(context.Background(), p, tool.Outcome{Value: v}, nil))
}

// TestEffectKinds checks that each kind is read as it was recorded, under the
// number that it has had from the first record on.
func TestEffectKinds(t *testing.T) {
	codes := map[tool.EffectKind]int64{tool.Pure: 0, tool.Recorded: 1, tool.Read: 2, tool.Write: 3, tool.External: 4, tool.Repeatable: 5, tool.Notice: 6}
	if len(codes) != int(tool.LastEffectKind) {
		t.Errorf("%d kinds have a number, want %d", len(codes), tool.LastEffectKind)
	}
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	for kind, code := range codes {
		if got := kindCode(kind); got != code {
			t.Errorf("the number of %s is %d, want %d", kind, got, code)
		}
		did(t, l, tool.Place{int(kind)}, kind, "x")
	}
	check(t, l.End(context.Background(), "", tool.Outcome{}, nil))
	for e, err := range j.Entries(context.Background(), "r") {
		if err != nil || e.Kind != tool.EffectKind(e.Place[0]) {
			t.Errorf("step %s is of kind %s, %v, want %s", e.Place, e.Kind, err, tool.EffectKind(e.Place[0]))
		}
	}
}

// place reads a place as it is written.
func place(text string) tool.Place {
	p, err := ParsePlace(text)
	if err != nil {
		panic(err)
	}
	return p
}

// one returns the only run that a filter chooses.
func one(t *testing.T, j *Journal, id string) Run {
	t.Helper()
	runs, err := j.Runs(context.Background(), Filter{ID: id})
	if err != nil || len(runs) != 1 {
		t.Fatalf("Runs(%s) = %v, %v", id, runs, err)
	}
	check(t, runs[0].Damage)
	return runs[0]
}

// TestValues records each type of value, small and too large for the database,
// and reads it back through a second journal.
func TestValues(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	huge, _ := new(big.Int).SetString(strings.Repeat("9", 40), 10)
	dict := tool.NewDict("b", 1, "a", 2.0)
	check(t, dict.Set(tool.Tuple{int64(1), "x"}, nil))
	values := []tool.Value{nil, true, int64(math.MinInt64), huge, 1.0, math.Inf(-1), "ü", []byte{0, 255}, tool.List{}, tool.Tuple{int64(1), 1.0},
		tool.Set{"b", "a"}, dict, strings.Repeat("large", 20_000), tool.List{bytes.Repeat([]byte{1}, 100_000), "and more"}}
	j := open(t, dir)
	l, err := j.Begin(ctx, Run{Kind: "task", Args: tool.NewDict("goal", strings.Repeat("long", 20_000)), Options: tool.NewDict("model", "script:x")}, script())
	check(t, err)
	for i, v := range values {
		p := tool.Place{i + 1}
		check(t, l.Intend(ctx, Intent{Place: p, Func: "f", Args: tool.NewDict("v", v), Kind: tool.External, Change: tool.NewDict("was", v)}))
		check(t, l.Settle(ctx, p, tool.Outcome{Value: v, Undo: &tool.Effect{Func: "u", Args: tool.NewDict("v", v), Place: p.Child(2)},
			Usage: tool.Usage{Steps: 5, Effects: 1, Wall: time.Second}}, nil))
	}
	id := l.Run().ID
	check(t, l.Close())

	l, err = open(t, dir).Resume(ctx, id)
	check(t, err)
	r := l.Run()
	if r.Kind != "task" || r.Version != "test" || r.Args.Text("goal") != strings.Repeat("long", 20_000) || r.Options.Text("model") != "script:x" {
		t.Errorf("the run is %+v", r)
	}
	want := script()
	want.Hash = want.Sum()
	if diff := cmp.Diff(want, l.Script()); diff != "" || r.Script != want.Hash {
		t.Errorf("the script (-want +got):\n%s", diff)
	}
	for i, v := range values {
		p := tool.Place{i + 1}
		e, ok, err := l.Recorded(p)
		if err != nil || !ok {
			t.Fatalf("Recorded(%s) = %v, %v", p, ok, err)
		}
		for what, got := range map[string]tool.Value{"argument": arg(e.Args), "change": arg(&tool.Dict{}, e.Change), "outcome": e.Outcome.Value, "undo": arg(e.Outcome.Undo.Args)} {
			if what != "change" && !tool.Equal(got, v) {
				t.Errorf("%s %s = %v, want %v", what, p, got, v)
			}
		}
		if was, _ := e.Change.Get("was"); !tool.Equal(was, v) {
			t.Errorf("change %s = %v, want %v", p, was, v)
		}
		if e.Func != "f" || e.Kind != tool.External || e.Outcome.Undo.Func != "u" || e.Outcome.Undo.Place.String() != p.Child(2).String() ||
			e.Key != id+"/"+p.String() || e.Outcome.Usage != (tool.Usage{Steps: 5, Effects: 1, Wall: time.Second}) || e.Unknown() {
			t.Errorf("entry %s = %+v", p, e)
		}
	}
}

// arg returns the argument v.
func arg(d *tool.Dict, _ ...*tool.Dict) tool.Value {
	v, _ := d.Get("v")
	return v
}

func TestErrorsAreKeptWhole(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	j := open(t, dir)
	l := begin(t, j, "r")
	full := &tool.Error{Kind: tool.Command, Op: "shell.run", Err: errors.New("exit 3"), Hint: "look", Limit: "wall",
		Pos: tool.Position{File: "a.star", Line: 3, Col: 4}, Trace: []string{"a.star:1:1: in main", "a.star:3:4: in f"}}
	for i, err := range []error{full, errors.New("plain"), context.Canceled, &tool.Error{Err: errors.New("not \xff UTF-8")}} {
		p := tool.Place{i + 1}
		check(t, l.Intend(ctx, Intent{Place: p, Func: "f", Kind: tool.Read}))
		check(t, l.Settle(ctx, p, tool.Outcome{Usage: tool.Usage{Steps: 7}}, err))
	}
	check(t, l.End(ctx, "error", tool.Outcome{}, full))
	var got []*tool.Error
	for e, err := range j.Entries(ctx, "r") {
		check(t, err)
		if e.Outcome.Usage.Steps != 7 {
			t.Errorf("usage = %+v", e.Outcome.Usage)
		}
		got = append(got, e.Err)
	}
	texts := cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })
	want := []*tool.Error{full, {Kind: tool.Failed, Err: errors.New("plain")}, {Kind: tool.Canceled, Err: context.Canceled}, {Err: errors.New("not \ufffd UTF-8")}}
	for i := range want {
		if diff := cmp.Diff(*want[i], *got[i], cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Err" }, texts)); diff != "" {
			t.Errorf("error %d (-want +got):\n%s", i, diff)
		}
	}
	if r := one(t, j, "r"); r.State != Failed || r.Reason != "error" || r.Err.Error() != full.Error() || r.Ended.IsZero() {
		t.Errorf("the run is %+v", r)
	}
}

func TestPlacesAreInOrder(t *testing.T) {
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	for _, p := range []string{"10", "2", "3.1.2", "3.1", "3.10", "3.0", "", "3", "3.2", "0", "2147483647"} {
		did(t, l, place(p), tool.Read, p)
	}
	var got []string
	for e, err := range j.Entries(context.Background(), "r") {
		check(t, err)
		got = append(got, e.Place.String())
	}
	if diff := cmp.Diff([]string{"", "0", "2", "3", "3.0", "3.1", "3.1.2", "3.2", "3.10", "10", "2147483647"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	j := open(t, dir)
	l := begin(t, j, "r")
	check(t, l.Intend(ctx, Intent{Place: place("3.1"), Func: "fs.read", Args: tool.NewDict("path", "a", "n", 1), Kind: tool.Read}))
	check(t, l.Close())
	l, err := j.Resume(ctx, "r")
	check(t, err)
	e, _, err := l.Recorded(place("3.1"))
	check(t, err)
	if !e.Unknown() {
		t.Error("an intent without an outcome is not unknown")
	}
	for _, c := range []struct {
		got  tool.Effect
		want string
	}{
		{tool.Effect{Func: "fs.read", Args: tool.NewDict("path", "a", "n", 1)}, ""},
		{tool.Effect{Func: "fs.read", Args: tool.NewDict("path", "a", "n", 1.0)}, `step 3.1 is not what was recorded: the record has fs.read({"path":"a","n":1}), and now it is fs.read({"path":"a","n":1.0})`},
		{tool.Effect{Func: "fs.read", Args: tool.NewDict("n", 1, "path", "a")}, "step 3.1"},
		{tool.Effect{Func: "fs.read"}, "now it is fs.read({})"},
		{tool.Effect{Func: "fs.stat", Args: tool.NewDict("path", "a", "n", 1)}, "now it is fs.stat("},
	} {
		c.got.Place = place("3.1")
		err := e.Matches(c.got)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || tool.KindOf(err) != tool.Conflict) {
			t.Errorf("Matches(%v) = %v, want %q", c.got, err, c.want)
		}
	}
}

// TestQuestion parks a run on a question, answers it from another journal of
// the same folder, and goes on.
func TestQuestion(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	j, other := open(t, dir), open(t, dir)
	l := begin(t, j, "r")
	p := place("2")
	check(t, l.Note(ctx, p, tool.NewDict("approved", false, "by", "a rule")))
	check(t, l.Intend(ctx, Intent{Place: p, Func: "human.confirm", Kind: tool.External}))
	check(t, l.Ask(ctx, Question{Place: p, Text: "Delete it?", Confirm: true, Data: tool.NewDict("diff", "-a")}))
	if _, ok, err := l.Answer(ctx, p); ok || err != nil {
		t.Errorf("Answer before anybody said anything = %v, %v", ok, err)
	}
	check(t, l.Park(ctx, "a question"))
	if err := l.Intend(ctx, Intent{Place: place("3"), Kind: tool.Read}); err == nil {
		t.Error("a parked run goes on")
	}
	if r := one(t, other, "r"); r.State != Parked || r.Reason != "a question" || r.Waits.String() != "2" || !r.Wake.IsZero() {
		t.Errorf("the parked run is %+v", r)
	}
	due := func() int {
		runs, err := j.Due(ctx, time.Now())
		check(t, err)
		return len(runs)
	}
	if n := due(); n != 0 {
		t.Errorf("%d runs are due before the answer", n)
	}
	for _, c := range []struct {
		run, place string
		said       tool.Value
		want       tool.Kind
	}{
		{"none", "2", true, tool.NotFound},
		{"r", "3", true, tool.NotFound},
		{"r", "", true, tool.NotFound},
		{"r", "2", "maybe", tool.Invalid},
		{"r", "2", int64(1), tool.Invalid},
	} {
		if err := other.Answer(ctx, c.run, place(c.place), c.said); err == nil || tool.KindOf(err) != c.want {
			t.Errorf("Answer(%s, %s, %v) = %v, want %v", c.run, c.place, c.said, err, c.want)
		}
	}
	check(t, other.Answer(ctx, "r", p, true))
	if err := j.Answer(ctx, "r", p, false); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second answer = %v, want a conflict", err)
	}
	if n := due(); n != 1 {
		t.Errorf("%d runs are due after the answer, want 1", n)
	}

	l, err := other.Resume(ctx, "r")
	check(t, err)
	e, _, err := l.Recorded(p)
	check(t, err)
	if e.Answer != true || e.Answered.IsZero() || e.Question.Text != "Delete it?" || e.Question.Data.Text("diff") != "-a" || len(e.Notes) != 1 || e.Notes[0].Text("by") != "a rule" {
		t.Errorf("the entry is %+v", e)
	}
	if said, ok, err := l.Answer(ctx, p); said != true || !ok || err != nil {
		t.Errorf("Answer = %v, %v, %v", said, ok, err)
	}
	check(t, l.Settle(ctx, p, tool.Outcome{Value: true}, nil))
	until := time.Now().Add(time.Hour)
	check(t, l.Ask(ctx, Question{Place: place("3"), Until: until}))
	check(t, l.Park(ctx, "sleeps"))
	if r := one(t, j, "r"); !r.Wake.Equal(until) || due() != 0 {
		t.Errorf("a sleeper wakes at %v, want %v", r.Wake, until)
	}
	if runs, err := j.Due(ctx, until); len(runs) != 1 || err != nil {
		t.Errorf("Due at its time = %v, %v", runs, err)
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, nil)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		name string
		err  error
		want tool.Kind
	}{
		{"the same run again", second(j.Begin(ctx, Run{ID: "r", Kind: "run"}, script())), tool.Conflict},
		{"no kind", second(j.Begin(ctx, Run{}, script())), tool.Invalid},
		{"an ID that is a path", second(j.Begin(ctx, Run{ID: "../r", Kind: "run"}, script())), tool.Invalid},
		{"resume of a run in hand", second(j.Resume(ctx, "r")), tool.Conflict},
		{"resume of no run", second(j.Resume(ctx, "none")), tool.NotFound},
		{"resume of a path", second(j.Resume(ctx, "../r")), tool.NotFound},
		{"a second outcome", l.Settle(ctx, place("1"), tool.Outcome{}, nil), tool.Internal},
		{"an outcome of nothing", l.Settle(ctx, place("9"), tool.Outcome{}, nil), tool.Internal},
		{"a question at no place", l.Ask(ctx, Question{Text: "?"}), tool.Internal},
		{"an intent after its outcome", l.Intend(ctx, Intent{Place: place("1"), Func: "f", Kind: tool.Read}), tool.Internal},
		{"a caller who has given up", l.Intend(gone, Intent{Place: place("2"), Func: "f", Kind: tool.Write}), tool.Canceled},
		{"a value that is none", l.Intend(ctx, Intent{Place: place("2"), Kind: tool.Read, Args: tool.NewDict("x", "\xff")}), tool.Invalid},
		{"an intent without a kind", l.Intend(ctx, Intent{Place: place("2"), Func: "f"}), tool.Invalid},
		{"an intent of no kind", l.Intend(ctx, Intent{Place: place("2"), Func: "f", Kind: tool.LastEffectKind + 1}), tool.Invalid},
	} {
		if c.err == nil || tool.KindOf(c.err) != c.want {
			t.Errorf("%s: %v, want an error of kind %v", c.name, c.err, c.want)
		}
	}
	check(t, l.End(ctx, "final", tool.Outcome{Value: "x"}, nil))
	if err := second(j.Resume(ctx, "r")); tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "done") {
		t.Errorf("resume of a run that has ended = %v", err)
	}
	if err := second(j.Begin(ctx, Run{ID: "r", Kind: "run"}, script())); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second run of a name = %v", err)
	}
	if got, err := readAll(j, "r"); len(got) != 1 || err != nil {
		t.Errorf("%d entries, %v; want the one that was allowed", len(got), err)
	}
	check(t, l.Close())
	check(t, j.Close())
	check(t, j.Close())
	if err := second(j.Begin(ctx, Run{Kind: "run"}, script())); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a run in a closed journal = %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRuns(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	for _, id := range []string{"a", "b", "c", "d"} {
		l, err := j.Begin(ctx, Run{ID: id, Kind: map[bool]string{true: "task", false: "chat"}[id < "c"]}, tool.Script{})
		check(t, err)
		switch id {
		case "a":
			check(t, l.End(ctx, "final", tool.Outcome{Value: "the answer"}, nil))
		case "b":
			check(t, l.End(ctx, "cancelled", tool.Outcome{}, context.Canceled))
		case "c":
			check(t, l.Park(ctx, "memory"))
		}
	}
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "d running, c parked, b cancelled, a done"},
		{Filter{Limit: 2}, "d running, c parked"},
		{Filter{Kind: "task"}, "b cancelled, a done"},
		{Filter{States: []State{Done, Parked}}, "c parked, a done"},
		{Filter{ID: "b"}, "b cancelled"},
		{Filter{ID: "e"}, ""},
	} {
		runs, err := j.Runs(ctx, c.filter)
		check(t, err)
		var got []string
		for _, r := range runs {
			got = append(got, r.ID+" "+r.State.String())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("Runs(%+v) = %v, want %s", c.filter, got, c.want)
		}
	}
	if r := one(t, j, "a"); r.Result != "the answer" || r.Reason != "final" {
		t.Errorf("a = %+v", r)
	}
}

// TestSharedByManyRuns has many runs at once in two journals of one folder, and
// readers between them. The race detector watches.
func TestSharedByManyRuns(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	journals := []*Journal{open(t, dir), open(t, dir)}
	const steps = 30
	var wg sync.WaitGroup
	for i := range 16 {
		j := journals[i%2]
		wg.Go(func() {
			l := begin(t, j, fmt.Sprint("run", i))
			var children sync.WaitGroup
			for n := range steps { // as the items of one call do
				children.Go(func() {
					p := tool.Place{1, n}
					kind := []tool.EffectKind{tool.Read, tool.Write}[n%2]
					if err := errors.Join(l.Intend(ctx, Intent{Place: p, Func: "f", Kind: kind}), l.Settle(ctx, p, tool.Outcome{Value: int64(n)}, nil)); err != nil {
						t.Error(err)
					}
				})
			}
			children.Wait()
			if err := l.End(ctx, "final", tool.Outcome{}, nil); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := journals[1-i%2].Runs(ctx, Filter{}); err != nil {
				t.Error(err)
			}
			if _, err := j.Prune(ctx, Keep{Most: 100}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 16 {
		if got, err := readAll(journals[0], fmt.Sprint("run", i)); len(got) != steps || err != nil {
			t.Errorf("run %d: %d entries, %v", i, len(got), err)
		}
	}
}

// TestOneFlushServesAll counts the transactions of many who wait at once.
func TestOneFlushServesAll(t *testing.T) {
	j := open(t, t.TempDir())
	var logs []*Log
	for i := range 20 {
		logs = append(logs, begin(t, j, fmt.Sprint("run", i)))
	}
	held, entered := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() { // somebody writes, and takes long
		j.w.wait(&job{do: func(context.Context, *sql.Conn) error { close(entered); <-held; return nil }})
	})
	<-entered
	for _, l := range logs {
		wg.Go(func() { did(t, l, place("1"), tool.Write, "x") })
	}
	for queued := 0; queued < len(logs); runtime.Gosched() {
		j.w.mu.Lock()
		queued = len(j.w.queue)
		j.w.mu.Unlock()
	}
	before := transactions(t, j)
	close(held)
	wg.Wait()
	if n := transactions(t, j) - before; n > 2 { // theirs, and perhaps one of the outcomes
		t.Errorf("%d transactions for %d runs that waited together", n, len(logs))
	}
}

// transactions returns how many transactions the log beside the database holds:
// the last page of each says how large the database is then.
func transactions(t *testing.T, j *Journal) (n int) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(j.dir, "journal.db-wal"))
	check(t, err)
	const head, pageHead, page = 32, 24, 4096
	for at := head; at+pageHead+page <= len(log); at += pageHead + page {
		if !bytes.Equal(log[at+4:at+8], []byte{0, 0, 0, 0}) {
			n++
		}
	}
	return n
}

// TestTroubleOfOne has a run that cannot be written among others that can.
func TestTroubleOfOne(t *testing.T) {
	j := open(t, t.TempDir())
	good, bad := begin(t, j, "good"), begin(t, j, "bad")
	if _, err := j.db.Exec("INSERT INTO frames (at, body) VALUES (?, x'00')", frameAt(bad.num, bad.head.frames)); err != nil {
		t.Fatal(err)
	}
	var jobs []*job
	for _, l := range []*Log{good, bad} {
		r := l.recorder(place("1"))
		r.put(nanos(now()), nil)
		rec, err := r.record(placeNoted)
		check(t, err)
		jobs = append(jobs, &job{log: l, record: rec})
	}
	j.w.write(jobs)
	if jobs[0].err != nil {
		t.Errorf("the good one failed: %v", jobs[0].err)
	}
	if tool.KindOf(jobs[1].err) != tool.Conflict {
		t.Errorf("the bad one = %v, want a conflict", jobs[1].err)
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of no account here")
	}
	dir := filepath.Join(t.TempDir(), "state", "a folder?#%20")
	j := open(t, dir)
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Write, strings.Repeat("x", 100_000))
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, st.Mode().Perm(), want)
		}
		return err
	}))
	if _, err := os.Stat(filepath.Join(dir, "journal.db-wal")); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft looks for goroutines and locks after Close.
func TestNothingIsLeft(t *testing.T) {
	j := open(t, t.TempDir())
	for range 3 {
		l, err := j.Begin(context.Background(), Run{Kind: "run"}, tool.Script{})
		check(t, err)
		did(t, l, place("1"), tool.Read, "x") // which waits for its flush
	}
	check(t, j.Close())
	left := func() []string {
		buf := make([]byte, 1<<20)
		var found []string
		for s := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if (strings.Contains(s, "runtime/history.(*") || strings.Contains(s, "database/sql")) && !strings.Contains(s, "TestNothingIsLeft") {
				found = append(found, s)
			}
		}
		return found
	}
	for end := time.Now().Add(10 * time.Second); len(left()) > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", strings.Join(left(), "\n\n"))
		}
	}
	locks, err := os.ReadDir(j.lockDir())
	check(t, err)
	if runtime.GOOS != "windows" && len(locks) > 0 {
		t.Errorf("locks are left: %v", locks)
	}
	again := open(t, j.dir)
	runs, err := again.Runs(context.Background(), Filter{})
	check(t, err)
	for _, r := range runs {
		if got, err := readAll(again, r.ID); len(got) != 1 || err != nil {
			t.Errorf("run %s: %d entries, %v", r.ID, len(got), err)
		}
		l, err := again.Resume(context.Background(), r.ID)
		check(t, err)
		check(t, l.Close())
	}
	if !slices.IsSortedFunc(runs, func(a, b Run) int { return b.Started.Compare(a.Started) }) {
		t.Error("the newest run is not the first")
	}
}

// TestOutcomesDoNotWaitLong looks at an outcome that nothing follows.
func TestOutcomesDoNotWaitLong(t *testing.T) {
	dir := t.TempDir()
	j, other := open(t, dir), open(t, dir)
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, "x")
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		if got, err := readAll(other, "r"); len(got) == 1 && err == nil && strings.Contains(got["1"], "UTC") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the outcome never came to disk")
		}
	}
}

// TestRead looks at a run that has ended, and at one in hand.
func TestRead(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.External, "x")
	for range 2 {
		look, err := j.Read(ctx, "r")
		check(t, err)
		e, ok, err := look.Recorded(place("1"))
		if e.Outcome.Value != "x" || !ok || err != nil || look.Script().Source != script().Source {
			t.Errorf("Recorded = %+v, %v, %v", e, ok, err)
		}
		if err := look.Intend(ctx, Intent{Place: place("2"), Kind: tool.Read}); err == nil {
			t.Error("a log to be read takes an intent")
		}
		check(t, look.Close())
		l.End(ctx, "final", tool.Outcome{}, nil)
	}
	if _, err := j.Read(ctx, "none"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("Read of no run = %v", err)
	}
}

// TestReadsOnAFullDisk looks at a journal while an outcome has no place.
func TestReadsOnAFullDisk(t *testing.T) {
	ctx := context.Background()
	j := open(t, t.TempDir())
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Write, "x")
	check(t, j.w.flush())
	if _, err := j.w.conn.ExecContext(ctx, "PRAGMA query_only = 1"); err != nil { // nothing can be written at all
		t.Fatal(err)
	}
	var err error
	n := 2
	for ; err == nil && n < 2*queueMost; n++ { // reads wait for nobody, but not for ever
		if err = l.Intend(ctx, Intent{Place: tool.Place{n}, Func: "f", Kind: tool.Read}); err == nil {
			err = l.Settle(ctx, tool.Place{n}, tool.Outcome{}, nil)
		}
	}
	if err == nil || n > queueMost {
		t.Errorf("%d steps were taken that cannot be written, %v", n, err)
	}
	if got, err := readAll(j, "r"); len(got) != 1 || err != nil {
		t.Errorf("%d steps can be read, %v", len(got), err)
	}
	if err := l.Close(); err == nil {
		t.Error("Close says nothing of what is lost")
	}
	check(t, j.Close())
}
