package agent_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tries makes trials of one format: each a number of iterations, negative for
// one that failed, and how many of its two calls were as they were asked for.
func tries(f decision.Format, asAsked int, iterations ...int) []agent.Trial {
	var list []agent.Trial
	for _, n := range iterations {
		list = append(list, agent.Trial{Format: f, Task: "simple", Success: n > 0, Iterations: max(n, -n), Calls: 2, AsAsked: asAsked})
	}
	return list
}

func TestPreferredFormat(t *testing.T) {
	cases := []struct {
		name string
		a, b []agent.Trial // the first and the second format
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
		if got := agent.Preferred(agent.Scores(append(c.a, c.b...))); got != c.want {
			t.Errorf("%s: preferred %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScores(t *testing.T) {
	s := agent.Scores(append(tries("a", 1, 2, 3, -1), agent.Trial{Format: "a", Task: "complex", Success: true, Iterations: 4}))
	if len(s) != 1 || s[0].Trials != 4 || s[0].Successes != 3 || s[0].Iterations != 3 || s[0].Rate() != 0.75 || s[0].Calls != 6 || s[0].AsAsked != 3 {
		t.Fatalf("scores = %+v", s)
	}
	want := []agent.TaskScore{{Task: "simple", Trials: 3, Successes: 2, Iterations: 2.5}, {Task: "complex", Trials: 1, Successes: 1, Iterations: 4}}
	if len(s[0].Tasks) != 2 || s[0].Tasks[0] != want[0] || s[0].Tasks[1] != want[1] {
		t.Errorf("tasks = %+v, want %+v", s[0].Tasks, want)
	}
}

// TestTry checks that what a try succeeds or fails by is what the model did.
func TestTry(t *testing.T) {
	task := agent.TrialTasks()[1]
	right, wrong := call("read_file", "filepath", "./my script.R"), call("read_file", "filepath", "my_script.R")
	cases := []struct {
		name    string
		replies play
		success bool
		why     string
	}{
		{"it does it", play{right, done}, true, ""},
		{"after a mistake", play{wrong, right, done}, true, ""},
		{"it reads another file", play{wrong, done}, false, `read_file was called for something else: {"filepath":"my_script.R"}`},
		{"there is no such file", play{call("read_file", "filepath", "script.R"), done}, false, "read_file failed: read_file(filepath=\"script.R\"): File not found: script.R"},
		{"it guesses", play{done}, false, "read_file was not called"},
		{"it takes another tool", play{call("search_files", "pattern", "tangerine"), done}, false, "read_file was not called"},
		{"it does not end", play{right, call("list_files"), call("list_files", "path", ".")}, false, "the run ended with the reason max_iterations"},
		{"it fails", play{value.Errorf(value.Limit, "too much was asked")}, false, "too much was asked"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: task.Files})
			trial, err := task.Try(context.Background(), s.Host, decision.PureJSON, agent.Options{Model: s.model(false, c.replies), WorkDir: s.dir, Iterations: 3})
			if err != nil || trial.Success != c.success || trial.Why != c.why || trial.AsAsked != trial.Calls || trial.Format != decision.PureJSON || trial.Task != "moderate" {
				t.Errorf("trial = %+v, %v, want success %v, why %q", trial, err, c.success, c.why)
			}
		})
	}
	s := newStage(t, setting{files: task.Files})
	away := agent.Options{Model: s.model(false, play{value.Errorf(value.Unavailable, "no network")})}
	if _, err := task.Try(context.Background(), s.Host, decision.PureJSON, away); value.KindOf(err) != value.Unavailable {
		t.Errorf("without a model: %v, want it unavailable", err)
	}
	if _, err := task.Try(context.Background(), s.Host, decision.Native, away); value.KindOf(err) != value.Invalid {
		t.Errorf("in a format that the model has not: %v, want it refused", err)
	}
	if got := agent.TrialFormats(model.NewScript("x", true, nil)); len(got) != 4 || got[0] != decision.Native {
		t.Errorf("formats of a model with calls of its own = %q", got)
	}
}
