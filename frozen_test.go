package cassidy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/lockfile"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Each folder in testdata/frozen but project was written by the version of cassidy that it is
// named after: a journal, what its runs become when they go on, a fixture and a lock. Every later
// version must read it. If these tests fail, the code is wrong, not the files: they are never
// written again. A version with another form adds a folder: go test . -run TestFreeze -freeze NAME
var freeze = flag.String("freeze", "", "write the folder testdata/frozen/`NAME`, which must be new")

const frozenDir = "testdata/frozen"

// A frozenRun is what is recorded of a run.
type frozenRun struct {
	State  string
	Head   string `json:",omitempty"`
	Result string `json:",omitempty"` // of a run that is done, as JSON
	Error  string `json:",omitempty"` // of one that failed
}

// frozenRuns are the runs of a folder, by ID.
type frozenRuns struct {
	Recorded map[string]frozenRun
	Later    map[string]frozenRun // after all were answered with yes and resumed, without heads
}

// A frozenWorld is a host on a copy of the frozen project and on a journal.
type frozenWorld struct {
	*cassidy.Host
	t     *testing.T
	dir   string // of the project
	store *sqlite.Store
	close func()
}

// openFrozen opens a world on a copy of the project in the empty folder dir, with the files that the
// recorded runs left, and on the journal in the folder state.
func openFrozen(t *testing.T, dir, state string, files map[string]string) *frozenWorld {
	t.Helper()
	w := &frozenWorld{t: t, dir: dir}
	must(t, os.CopyFS(w.dir, os.DirFS(frozenDir+"/project")))
	var long strings.Builder // it is recorded in several parts
	for i := range 9_000 {
		fmt.Fprintf(&long, "line %d\n", i*i)
	}
	putFile(t, filepath.Join(w.dir, "long.txt"), long.String())
	for name, text := range files {
		putFile(t, filepath.Join(w.dir, name), text)
	}
	var err error
	w.store, err = sqlite.Open(state)
	must(t, err)
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: w.store})
	must(t, err)
	w.close = func() { must(t, errors.Join(r.Close(), w.store.Close())) }
	w.Host, err = r.Open(cassidy.Dir(w.dir), &cassidy.Options{Dir: w.dir, TrustSource: true})
	must(t, err)
	m := script.New("frozen", true, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
		if turn == 0 {
			return value.NewDict("tool_calls", value.List{value.NewDict("name", "note", "arguments", value.NewDict("text", "from a model"))}), nil
		}
		last, _ := messages[len(messages)-1].(*value.Dict)
		return "TASK COMPLETE: " + last.Text("content"), nil
	})
	must(t, agent.Register(w.Host, func() (*agent.Options, error) {
		return &agent.Options{WorkDir: w.dir, Model: m, Tools: []string{"note"}}, nil
	}))
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer answers the questions of a run.
func (w *frozenWorld) answer(id string, a cassidy.Answer) {
	w.t.Helper()
	for q, err := range w.Waiting(context.Background()) {
		if err == nil && q.Run == id {
			err = w.Answer(context.Background(), q.ID, a)
		}
		must(w.t, err)
	}
}

// goOn resumes a run until it has ended, and answers its questions with yes.
func (w *frozenWorld) goOn(id string) {
	w.t.Helper()
	for range 9 {
		if _, err := w.Resume(context.Background(), id); !errors.Is(err, cassidy.ErrParked) {
			return
		}
		w.answer(id, cassidy.Answer{Yes: true, By: "lena"})
	}
	w.t.Fatalf("the run %s does not end", id)
}

// runs verifies all runs, and returns what is recorded of each.
func (w *frozenWorld) runs(heads bool) map[string]frozenRun {
	w.t.Helper()
	runs := map[string]frozenRun{}
	for r, err := range w.Runs(context.Background(), cassidy.RunFilter{}) {
		must(w.t, err)
		v, err := w.VerifyRun(context.Background(), r.ID, "")
		must(w.t, err)
		f := frozenRun{State: r.State.String()}
		if heads {
			f.Head = v.Head
		}
		if r.State == cassidy.RunDone {
			f.Result = value.FormatJSON(r.Result, "")
		}
		if r.Err != nil {
			f.Error = r.Err.Message()
		}
		runs[r.ID] = f
	}
	return runs
}

// later continues all runs, and returns what is recorded of them then.
func (w *frozenWorld) later() map[string]frozenRun {
	w.t.Helper()
	_, err := w.Undo(context.Background(), "done")
	must(w.t, err)
	if _, err := os.Stat(filepath.Join(w.dir, "notes.md")); !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("after the undo, the file that the run made is there: %v", err)
	}
	for _, id := range []string{"agent", "answered", "parked"} {
		w.goOn(id)
	}
	runs := w.runs(false)
	maps.DeleteFunc(runs, func(id string, _ frozenRun) bool { return frozenIDs()[id] == "" }) // the undo
	return runs
}

// frozenIDs returns the workflow of each run.
func frozenIDs() map[string]string {
	return map[string]string{"done": "plan", "refused": "plan", "parked": "plan", "answered": "plan", "agent": "delegate"}
}

// lock returns the lock of the project.
func (w *frozenWorld) lock() *lockfile.Lock {
	w.t.Helper()
	review, err := project.Review(context.Background(), w.dir, &project.Options{Scope: trust.Scope{Trust: trust.New(w.t.TempDir())}, Describe: w.Describe})
	must(w.t, err)
	l, err := lockfile.Of(review)
	must(w.t, err)
	return l
}

// fixture returns the fixture of a run.
func (w *frozenWorld) fixture(id string) []byte {
	w.t.Helper()
	r, err := w.Recorded(context.Background(), id)
	must(w.t, err)
	f, err := fixture.Read(context.Background(), history.Open(w.store, nil), &r.Run)
	must(w.t, err)
	f.Entry = "main"
	return f.Format()
}

// TestFreeze writes the folder of a version.
func TestFreeze(t *testing.T) {
	if *freeze == "" {
		t.Skip("it only writes the files of a version that has another form: see the flag -freeze")
	}
	dir, state := filepath.Join(frozenDir, *freeze), t.TempDir()
	must(t, os.Mkdir(dir, 0o755))
	const at = "/tmp/frozen" // the same on each machine: it is recorded
	must(t, os.Mkdir(at, 0o755))
	defer os.RemoveAll(at)
	w := openFrozen(t, at, state, nil)
	begin := func(id string, a *cassidy.Answer) {
		t.Helper()
		args := value.NewDict()
		if id != "agent" {
			args.Put("who", "ann")
		}
		if _, err := w.Run(context.Background(), frozenIDs()[id], args, cassidy.Durable(id)); !errors.Is(err, cassidy.ErrParked) {
			t.Fatalf("the run %s gave %v, want that it waits", id, err)
		}
		if a != nil {
			w.answer(id, *a)
		}
	}
	yes := &cassidy.Answer{Yes: true, By: "lena", Why: "a good day"}
	begin("done", yes)
	w.goOn("done")
	begin("refused", &cassidy.Answer{By: "lena", Why: "not today"})
	w.goOn("refused")
	begin("parked", nil)
	begin("answered", yes)
	begin("agent", nil)

	runs := frozenRuns{Recorded: w.runs(true)}
	must(t, os.WriteFile(filepath.Join(dir, "fixture.json"), w.fixture("done"), 0o644))
	must(t, lockfile.Write(w.dir, w.lock()))
	lock, err := os.ReadFile(filepath.Join(w.dir, lockfile.Name))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "cassidy.lock"), lock, 0o644))
	w.close()
	must(t, os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(state)))

	w = openFrozen(t, t.TempDir(), state, frozenFiles())
	runs.Later = w.later()
	w.close()
	text, err := json.MarshalIndent(runs, "", "\t")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "runs.json"), append(text, '\n'), 0o644))
}

// frozenFiles are the files that the recorded runs have left.
func frozenFiles() map[string]string {
	return map[string]string{"notes.md": "good morning, ann\ntea\n"}
}

// TestFrozen reads, verifies, replays, undoes, answers and resumes the runs of other versions,
// and reads their fixtures and locks.
func TestFrozen(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(frozenDir + "/*/runs.json")
	must(t, err)
	if len(folders) == 0 {
		t.Fatal("there is no frozen version")
	}
	for _, file := range folders {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			var want frozenRuns
			text, err := os.ReadFile(file)
			must(t, err)
			must(t, json.Unmarshal(text, &want))
			state := t.TempDir()
			must(t, os.CopyFS(state, os.DirFS(filepath.Join(dir, "journal"))))
			w := openFrozen(t, t.TempDir(), state, frozenFiles())
			defer w.close()

			if diff := cmp.Diff(want.Recorded, w.runs(true)); diff != "" {
				t.Errorf("the recorded runs (-want +got):\n%s", diff)
			}
			done, err := w.Recorded(context.Background(), "done")
			must(t, err)
			p, err := host.ResumedWorkflow(&done.Run)
			must(t, err)
			if again, err := w.Replay(context.Background(), host.Replay{Program: p}); err != nil || again.Err != nil || value.FormatJSON(again.Outcome.Value, "") != want.Recorded["done"].Result {
				t.Errorf("the replay gave %+v: %v", again, err)
			}
			kept, err := os.ReadFile(filepath.Join(dir, "fixture.json"))
			must(t, err)
			f, err := fixture.Parse(kept)
			must(t, err)
			if !bytes.Equal(f.Format(), kept) || value.FormatJSON(f.End.Value, "") != want.Recorded["done"].Result || len(f.Steps) < 10 {
				t.Errorf("the fixture is read with %d steps, and is written as\n%s", len(f.Steps), f.Format())
			}
			lock, err := os.ReadFile(filepath.Join(dir, "cassidy.lock"))
			must(t, err)
			putFile(t, filepath.Join(w.dir, lockfile.Name), string(lock))
			locked, err := lockfile.Read(w.dir)
			must(t, err)
			if changes := locked.Compare(w.lock()); len(changes) > 0 {
				t.Errorf("the lock differs from the project, which is the same: %+v", changes)
			}
			if diff := cmp.Diff(want.Later, w.later()); diff != "" {
				t.Errorf("the runs that went on (-want +got):\n%s", diff)
			}
		})
	}
}
