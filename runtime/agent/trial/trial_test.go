package trial_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/trial"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tries makes trials of one format: each a number of iterations, negative for
// one that failed, and how many of its two calls were as they were asked for.
func tries(f decision.Format, asAsked int, iterations ...int) []trial.Result {
	var list []trial.Result
	for _, n := range iterations {
		list = append(list, trial.Result{Format: f, Task: "simple", Success: n > 0, Iterations: max(n, -n), Calls: 2, AsAsked: asAsked})
	}
	return list
}

func TestPreferredFormat(t *testing.T) {
	cases := []struct {
		name string
		a, b []trial.Result // the first and the second format
		want decision.Format
	}{
		{"nothing was tried", nil, nil, ""},
		{"nothing succeeded", tries("a", 2, -1, -2), tries("b", 2, -1), ""},
		{"one succeeds more often", tries("a", 2, 2, -2), tries("b", 0, 3, 3), "b"},
		{"more in number, less in rate", tries("a", 2, 2, 2, -2), tries("b", 2, 2), "b"},
		{"one is kept to", tries("a", 0, 2), tries("b", 2, 3), "b"},
		{"one is quicker", tries("a", 2, 3, 3), tries("b", 2, 2, 3), "b"},
		{"both alike", tries("a", 2, 2), tries("b", 2, 2), "a"},
	}
	for _, c := range cases {
		if got := trial.Preferred(trial.Scores(append(c.a, c.b...))); got != c.want {
			t.Errorf("%s: preferred %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScores(t *testing.T) {
	s := trial.Scores(append(tries("a", 1, 2, 3, -1), trial.Result{Format: "a", Task: "complex", Success: true, Iterations: 4}))
	if len(s) != 1 || s[0].Trials != 4 || s[0].Successes != 3 || s[0].Iterations != 3 || s[0].Rate() != 0.75 || s[0].Calls != 6 || s[0].AsAsked != 3 {
		t.Fatalf("scores = %+v", s)
	}
	want := []trial.TaskScore{{Task: "simple", Trials: 3, Successes: 2, Iterations: 2.5}, {Task: "complex", Trials: 1, Successes: 1, Iterations: 4}}
	if len(s[0].Tasks) != 2 || s[0].Tasks[0] != want[0] || s[0].Tasks[1] != want[1] {
		t.Errorf("tasks = %+v, want %+v", s[0].Tasks, want)
	}
}

// call is a decision in JSON.
func call(name string, args ...value.Value) string {
	return value.FormatJSON(value.NewDict("tool_decision",
		value.NewDict("action", name, "input", value.NewDict(args...), "reasoning", "it is needed", "status", "continue")), "")
}

// replies is a model that gives each reply once: a text or an error.
func replies(list ...any) model.Model {
	return script.New("replies", false, func(context.Context, value.List, int) (value.Value, error) {
		if len(list) == 0 {
			return nil, value.Errorf(value.Failed, "the model has no more replies")
		}
		next := list[0]
		list = list[1:]
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next, nil
	})
}

// open opens a host over a folder with the files of a task.
func open(t *testing.T, task *trial.Task) (h *cassidy.Host, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range task.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, dir
}

// TestTry checks that success and failure of a try depend on what the model did.
func TestTry(t *testing.T) {
	const done = "TASK COMPLETE: done"
	task := trial.Tasks()[1]
	right, wrong := call("read_file", "filepath", "./my script.R"), call("read_file", "filepath", "my_script.R")
	cases := []struct {
		name    string
		replies []any
		success bool
		why     string
	}{
		{"it does it", []any{right, done}, true, ""},
		{"after a mistake", []any{wrong, right, done}, true, ""},
		{"it reads another file", []any{wrong, done}, false, `read_file was called with other arguments: {"filepath":"my_script.R"}`},
		{"there is no such file", []any{call("read_file", "filepath", "script.R"), done}, false, "read_file failed: read_file(filepath=\"script.R\"): File not found: script.R"},
		{"it guesses", []any{done}, false, "read_file was not called"},
		{"it takes another tool", []any{call("search_files", "pattern", "tangerine"), done}, false, "read_file was not called"},
		{"it does not end", []any{right, call("list_files"), call("list_files", "path", ".")}, false, "the run ended with the reason max_iterations"},
		{"it fails", []any{value.Errorf(value.Limit, "too much was asked")}, false, "too much was asked"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, dir := open(t, &task)
			r, err := task.Try(context.Background(), h, decision.PureJSON, agent.Options{Model: replies(c.replies...), WorkDir: dir, Iterations: 3})
			if err != nil || r.Success != c.success || r.Why != c.why || r.AsAsked != r.Calls || r.Format != decision.PureJSON || r.Task != "moderate" {
				t.Errorf("result = %+v, %v, want success %v, why %q", r, err, c.success, c.why)
			}
			if calls := len(slices.DeleteFunc(c.replies, func(v any) bool { text, ok := v.(string); return !ok || text == done })); r.Calls != calls {
				t.Errorf("%d calls were counted, want %d", r.Calls, calls)
			}
		})
	}
	h, _ := open(t, &task)
	away := agent.Options{Model: replies(value.Errorf(value.Unavailable, "no network"))}
	if _, err := task.Try(context.Background(), h, decision.PureJSON, away); value.KindOf(err) != value.Unavailable {
		t.Errorf("without a model: %v, want it unavailable", err)
	}
	if _, err := task.Try(context.Background(), h, decision.Native, away); value.KindOf(err) != value.Invalid {
		t.Errorf("in a format that the model has not: %v, want it refused", err)
	}
	if got := trial.Formats(script.New("x", true, nil)); len(got) != 4 || got[0] != decision.Native {
		t.Errorf("formats of a model with calls of its own = %q", got)
	}
}
