package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The test binary is also the other process of TestKill: childEnv holds the
// folder in which it records.
const childEnv = "CASSIDY_HISTORY_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		childRecords(dir)
		os.Exit(0)
	}
	testutil.TempInMemory()
	os.Exit(m.Run())
}

// A storage is where the runs of a test are stored.
type storage struct {
	t     testing.TB
	store func() journal.Store // opens it, as one more process would
}

// eachStore runs a test over both stores.
func eachStore(t *testing.T, test func(t *testing.T, s storage)) {
	t.Run("sqlite", func(t *testing.T) { test(t, onDisk(t)) })
	t.Run("memory", func(t *testing.T) {
		m := journal.Memory()
		test(t, storage{t, func() journal.Store { return m }})
	})
}

// onDisk returns a storage in a new folder.
func onDisk(t testing.TB) storage { return inFolder(t, t.TempDir()) }

func inFolder(t testing.TB, dir string) storage {
	return storage{t, func() journal.Store {
		t.Helper()
		s, err := sqlite.Open(dir)
		check(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}}
}

// open opens a journal of its own until the test ends.
func (s storage) open() *Journal {
	s.t.Helper()
	return openOn(s.t, s.store())
}

// openOn opens a journal on a store until the test ends.
func openOn(t testing.TB, s journal.Store) *Journal {
	j := Open(s, &Options{Version: "test"})
	t.Cleanup(func() { j.Close() })
	return j
}

// begin begins a run.
func begin(t testing.TB, j *Journal, id string) *Log {
	t.Helper()
	l, err := j.Begin(context.Background(), Run{ID: id, Kind: "run", Title: "a test"}, script())
	check(t, err)
	return l
}

// resume resumes a run.
func resume(t testing.TB, j *Journal, id string) *Log {
	t.Helper()
	l, err := j.Resume(context.Background(), id)
	check(t, err)
	return l
}

func script() tool.Script {
	return tool.Script{Name: "main", Path: "main.star", Source: "def main(): pass", Libs: map[string]string{"lib/a.star": "A = 1"}}
}

// did records an effect and its outcome.
func did(t testing.TB, r Record, p tool.StepPath, kind tool.EffectKind, v value.Value) {
	t.Helper()
	check(t, r.Intend(context.Background(), Intent{StepPath: p, Func: "f", Kind: kind}))
	check(t, r.Settle(context.Background(), p, tool.Outcome{Value: v}, nil))
}

// place parses a place.
func place(text string) tool.StepPath {
	p, err := ParseStepPath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// one returns a run that has no damage.
func one(t *testing.T, j *Journal, id string) Run {
	t.Helper()
	r, err := j.Run(context.Background(), id)
	check(t, err)
	check(t, r.Damage)
	return r
}

// runs returns the runs that a filter selects, and the first error.
func runs(j *Journal, f Filter) (list []Run, err error) {
	for r, e := range j.Runs(context.Background(), f) {
		if e != nil {
			return list, e
		}
		list = append(list, r)
	}
	return list, nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails reports an error that is not of a kind, or whose text lacks a part.
func fails(t *testing.T, what string, err error, kind value.Kind, text string) {
	t.Helper()
	if err == nil || value.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want an error of kind %q with %q", what, err, kind, text)
	}
}

func second[T any](_ T, err error) error { return err }

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// readAll returns the entries of a run as texts by place, and all errors.
func readAll(j *Journal, run string) (map[string]string, error) {
	got := map[string]string{}
	var errs []error
	for e, err := range j.Entries(context.Background(), run) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		got[e.StepPath.String()] = entryText(&e)
	}
	return got, errors.Join(errs...)
}

// entryText returns all of an entry as a text.
func entryText(e *Entry) string {
	value, _ := value.Append(nil, e.Outcome.Value)
	text := fmt.Sprint(e.StepPath, e.Func, e.Args, e.Kind, e.Change, e.Key, e.Intended, e.Settled, tool.HashBytes(value), e.Outcome.Undo, e.Outcome.Usage, e.Err, e.Notes)
	for _, q := range e.Questions {
		text += fmt.Sprint(q.ID, q.Kind, q.Text, q.Data, q.Asked, q.Spent)
		if q.Answer != nil {
			text += fmt.Sprint(*q.Answer)
		}
	}
	return text
}

// Every seventh step has a value that is stored as a blob.
func stepValue(n int) string {
	if n%7 == 0 {
		return strings.Repeat(fmt.Sprint("step ", n, " "), 10_000)
	}
	return fmt.Sprint("value ", n)
}

func stepArgs(n int) *value.Dict { return value.NewDict("n", n, "text", strings.Repeat("a", n%300)) }
