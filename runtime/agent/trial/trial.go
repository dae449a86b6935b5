// Package trial tries small tasks on a model, to compare the formats in which it can call
// tools.
package trial

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Task is a small task that shows whether a model can call tools in a format.
type Task struct {
	Name   string            // how hard it is: simple, moderate or complex
	Prompt string            // what the model is asked to do
	Tool   string            // the tool that does it
	Files  map[string]string // the files that the folder must contain, by path with slashes
	// Finds are texts that the tool's result contains if its arguments were right,
	// however the model wrote them.
	Finds []string
}

// Tasks returns the tasks with which formats are compared: one that needs no
// arguments, one whose argument has spaces and quotes around it, and one whose tool
// takes several.
func Tasks() []Task {
	files := map[string]string{
		"my script.R":  "# Marks the end of the report.\nclosing <- \"tangerine-41\"\nprint(closing)\n",
		"my_script.R":  "# Not this one: its name has no spaces.\nclosing <- \"none\"\n",
		"R/load.R":     "load_data <- function(path) {\n  utils::read.csv(path)\n}\n",
		"R/clean.R":    "clean_data <- function(table) {\n  table[stats::complete.cases(table), ]\n}\n",
		"R/plot.R":     "draw <- function(table) {\n  graphics::plot(table)\n}\n",
		"notes/log.md": "The data came on Monday.\n",
	}
	return []Task{{
		Name: "simple", Prompt: "List the R files in the working directory itself, and tell me their names.",
		Tool: "list_files", Files: files, Finds: []string{"my script.R", "my_script.R"},
	}, {
		Name: "moderate", Prompt: "Read the file 'my script.R' (its name has a space) and tell me the text that it prints.",
		Tool: "read_file", Files: files, Finds: []string{"tangerine-41"},
	}, {
		Name: "complex", Prompt: "Search the R files below the working directory for the functions whose names contain 'data', and tell me their names and files.",
		Tool: "search_files", Files: files, Finds: []string{"R/clean.R", "clean_data", "R/load.R", "load_data"},
	}}
}

// Formats returns the formats that a model can be tried in, in the order in which
// they are preferred if several work equally well.
func Formats(m model.Model) []decision.Format {
	all := []decision.Format{decision.PureJSON, decision.XMLJSON, decision.Markdown}
	if m.Native() {
		all = append([]decision.Format{decision.Native}, all...)
	}
	return all
}

// A Result is the outcome of one attempt at a task.
type Result struct {
	Format     decision.Format
	Task       string // its name
	Success    bool   // the run ended with an answer, and the right call was made
	Why        string // what was missing, if it did not succeed
	Reason     agent.Reason
	Iterations int // how often the model was asked
	Calls      int // how many calls were read in its replies
	AsAsked    int // and how many of them were in this format
	Wall       time.Duration
}

// Try has a model do the task once, in a format, over a folder that holds the
// task's Files and that the host was opened for. It reads Model, WorkDir,
// Iterations, NoInference and RepeatInstructions of the options. A failure of the
// model is part of the Result and not an error. The error is of kind Unavailable if
// the model is unreachable, and Canceled if ctx ends.
func (t *Task) Try(ctx context.Context, h *host.Host, f decision.Format, o agent.Options) (Result, error) {
	a, err := agent.New(h, &agent.Options{
		Model: o.Model, WorkDir: o.WorkDir, Iterations: o.Iterations, NoInference: o.NoInference, RepeatInstructions: o.RepeatInstructions,
		Format: f, Policy: "task", Tools: []string{"list_files", "read_file", "search_files"},
	})
	if err != nil {
		return Result{}, err
	}
	s, err := a.Session(ctx, agent.NewID())
	if err != nil {
		return Result{}, err
	}
	trial := Result{Format: f, Task: t.Name}
	counted := trial.count(ctx, h, s.ID())
	start := time.Now()
	r, err := s.Send(ctx, t.Prompt)
	trial.Wall = time.Since(start)
	counted()
	if kind := value.KindOf(err); err != nil && (kind == value.Unavailable || kind == value.Canceled) {
		return trial, err
	}
	trial.Reason, trial.Iterations = r.Reason, r.Iterations
	trial.Why = t.missing(&r, err)
	trial.Success = trial.Why == ""
	return trial, nil
}

// count starts to count the calls that are read in a session. The returned function
// ends that and waits until the last one is counted.
func (r *Result) count(ctx context.Context, h *host.Host, session string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	events, done := h.Subscribe(ctx, host.EventFilter{Session: session, Buffer: 4096}), make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			if d, ok := e.Data.(tool.Decided); ok && d.Kind == string(decision.ToolCall) {
				r.Calls++
				if d.Format == string(r.Format) {
					r.AsAsked++
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

// missing returns why a run is not a success, or "".
func (t *Task) missing(r *agent.Reply, err error) string {
	if err != nil {
		return value.ErrorOf(err, value.Failed).Message()
	}
	if why := t.notCalled(r.Calls); why != "" {
		return why
	}
	if r.Reason != agent.ReasonFinal {
		return "the run ended with the reason " + string(r.Reason)
	}
	return ""
}

// notCalled returns why none of the calls was the right one, or "".
func (t *Task) notCalled(calls []agent.CallRecord) string {
	why := t.Tool + " was not called"
	for _, c := range calls {
		if tool.Key(c.Action) != t.Tool {
			continue
		}
		if !c.Success {
			why = t.Tool + " failed: " + c.Error
			continue
		}
		found, _ := c.Result.(string)
		lacks := slices.IndexFunc(t.Finds, func(s string) bool { return !strings.Contains(found, s) })
		if lacks < 0 {
			return ""
		}
		why = t.Tool + " was called with other arguments: " + prose.OneLine(c.Input.String())
	}
	return why
}

// A Score sums up the trials in one format.
type Score struct {
	Format     decision.Format
	Trials     int
	Successes  int
	Iterations float64 // mean of the trials that succeeded; 0 where none did
	Calls      int
	AsAsked    int
	Tasks      []TaskScore // in the order of the trials
}

// A TaskScore sums up the trials of one task in one format.
type TaskScore struct {
	Task       string
	Trials     int
	Successes  int
	Iterations float64
}

// Rate is the share of the trials that succeeded.
func (s *Score) Rate() float64 { return float64(s.Successes) / float64(max(s.Trials, 1)) }

// Scores sums up trials by format, in the order in which formats come first.
func Scores(trials []Result) []Score {
	var scores []Score
	for _, t := range trials {
		i := slices.IndexFunc(scores, func(s Score) bool { return s.Format == t.Format })
		if i < 0 {
			i = len(scores)
			scores = append(scores, Score{Format: t.Format})
		}
		scores[i].add(t)
	}
	return scores
}

func (s *Score) add(t Result) {
	i := slices.IndexFunc(s.Tasks, func(k TaskScore) bool { return k.Task == t.Task })
	if i < 0 {
		i = len(s.Tasks)
		s.Tasks = append(s.Tasks, TaskScore{Task: t.Task})
	}
	task := &s.Tasks[i]
	s.Trials++
	task.Trials++
	s.Calls += t.Calls
	s.AsAsked += t.AsAsked
	if t.Success {
		s.Iterations = addToMean(s.Iterations, t.Iterations, s.Successes)
		task.Iterations = addToMean(task.Iterations, t.Iterations, task.Successes)
		s.Successes++
		task.Successes++
	}
}

// addToMean returns the mean of n numbers and one more.
func addToMean(mean float64, more, n int) float64 {
	return (mean*float64(n) + float64(more)) / float64(n+1)
}

// Preferred returns the format to use, or "" where none succeeded: the one that
// succeeds most often, then the one that the model keeps to, then the one with
// the fewest iterations, then the first.
func Preferred(scores []Score) decision.Format {
	best := Score{}
	for _, s := range scores {
		if s.Successes > 0 && (best.Trials == 0 || better(s, best) > 0) {
			best = s
		}
	}
	return best.Format
}

func better(a, b Score) int {
	return cmp.Or(
		cmp.Compare(a.Rate(), b.Rate()),
		cmp.Compare(a.AsAsked*b.Calls, b.AsAsked*a.Calls),
		cmp.Compare(b.Iterations, a.Iterations),
	)
}
