package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func formatTestCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "format-test",
		Usage: "find out in which format a model writes its decisions best",
		Description: "The model does three small tasks in each format, each time in a fresh folder that is removed afterwards.\n" +
			"A try succeeds if the run ends with an answer and the right tool was called for the right thing.\n" +
			"It costs what the model's answers cost: about 2 for each task, format and repetition. The exit code is 1 if no try succeeded.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "who is tried: `MODEL` is cassidy, openai:NAME, anthropic:NAME, ollama:NAME or script:FILE.star"},
			&cli.StringSliceFlag{Name: "format", Usage: "only this one: `FORMAT` is pure_json, xml_json, markdown or native", DefaultText: "all that the model has"},
			&cli.StringFlag{Name: "repeat", Usage: "do each task `N` times", Value: "1"},
			&cli.StringFlag{Name: "max-iterations", Usage: "ask the model at most `N` times for a task", Value: "3"},
		},
		Action: c.withHost(c.testFormats),
	}
}

// maxRepeat is how often a task may be repeated: beyond, a slip of the finger
// would be dear.
const maxRepeat = 100

// A formatTest is what the flags of the command say.
type formatTest struct {
	model      model.Model
	formats    []decision.Format
	repeat     int
	iterations int
}

func (c *command) testFormats(ctx *cli.Context, h *host.Host) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	t, err := c.formatTest(ctx, h)
	if err != nil {
		return err
	}
	trials, err := c.tryAll(ctx.Context, t)
	if err != nil {
		return err
	}
	scores := agent.Scores(trials)
	if c.JSON {
		err = c.PrintJSON(trialsJSON(t, trials, scores))
	} else {
		c.printScores(t, scores)
	}
	if err == nil && agent.Preferred(scores) == "" {
		return ui.ErrSilent // the table says it
	}
	return err
}

// formatTest reads the flags.
func (c *command) formatTest(ctx *cli.Context, h *host.Host) (*formatTest, error) {
	t := &formatTest{}
	for _, name := range names(ctx.StringSlice("format")) {
		t.formats = append(t.formats, decision.Format(name))
	}
	var err error
	if t.repeat, err = countFlag(ctx, "repeat", maxRepeat); err != nil {
		return nil, err
	}
	if t.iterations, err = countFlag(ctx, "max-iterations", unlimited); err != nil {
		return nil, err
	}
	if t.model, err = c.openModel(ctx.Context, h, ctx.String("model"), slices.Contains(t.formats, decision.Native)); err != nil {
		return nil, err
	}
	known := agent.TrialFormats(t.model)
	for _, f := range t.formats {
		if !slices.Contains(known, f) {
			return nil, value.Errorf(value.Invalid, "there is no format %q for the model %s%s", f, t.model.Name(), value.DidYouMean(string(f), formatNames(known))).
				WithHint("it has %s", strings.Join(formatNames(known), ", "))
		}
	}
	if t.formats == nil {
		t.formats = known
	}
	return t, nil
}

// countFlag reads a flag that counts something, from 1 to most.
func countFlag(ctx *cli.Context, name string, most int) (int, error) {
	n, err := strconv.Atoi(ctx.String(name))
	if err != nil || n < 1 || n > most {
		return 0, value.Errorf(value.Invalid, "--%s must be a number from 1 to %d, not %q", name, most, ctx.String(name))
	}
	return n, nil
}

func formatNames(formats []decision.Format) []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return names
}

// tryAll makes all the tries. The formats take turns, so that a model that is
// worse for an hour is so in each of them.
func (c *command) tryAll(ctx context.Context, t *formatTest) ([]agent.Trial, error) {
	var trials []agent.Trial
	tasks := agent.TrialTasks()
	all := t.repeat * len(tasks) * len(t.formats)
	for range t.repeat {
		for i := range tasks {
			for _, f := range t.formats {
				trial, err := c.try(ctx, t, &tasks[i], f)
				if err != nil {
					return nil, err
				}
				trials = append(trials, trial)
				c.Note("%d/%d  %s %s %s", len(trials), all, ui.Pad(string(f), 9), ui.Pad(trial.Task, 8), trialText(&trial))
			}
		}
	}
	return trials, nil
}

func trialText(t *agent.Trial) string {
	if t.Success {
		return "succeeded, asked " + ui.Times(t.Iterations)
	}
	return "failed: " + ui.Clip(ui.OneLine(t.Why), ui.LineWidth)
}

// try makes one try, in a folder of its own and with nothing of the user's.
func (c *command) try(ctx context.Context, t *formatTest, task *agent.TrialTask, f decision.Format) (trial agent.Trial, err error) {
	dir, err := os.MkdirTemp("", "cassidy-format-test-")
	if err != nil {
		return trial, value.Errorf(value.Failed, "cannot make a folder to try it in: %w", ui.FileError(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range task.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return trial, value.Errorf(value.Failed, "cannot write the files to try it with: %w", err)
		}
	}
	// Only built-in tools are offered, and those need no worker.
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		return trial, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, Cache: c.cache()})
	if err != nil {
		return trial, err
	}
	return task.Try(ctx, h, f, agent.Options{Model: t.model, WorkDir: dir, Iterations: t.iterations})
}

// printScores prints a line for each format, and which of them to take.
func (c *command) printScores(t *formatTest, scores []agent.FormatScore) {
	paint := c.Paint()
	head := ui.Pad("format", 11) + ui.Pad("success", 9) + ui.Pad("iterations", 12) + ui.Pad("as asked", 10)
	for _, task := range scores[0].Tasks {
		head += ui.Pad(task.Task, 10)
	}
	c.Print(paint(ui.Bold, strings.TrimRight(head, " ")) + "\n")
	for _, s := range scores {
		line := ui.Pad(string(s.Format), 11) + ui.Pad(fmt.Sprintf("%.0f %%", 100*s.Rate()), 9) +
			ui.Pad(meanText(s.Iterations), 12) + ui.Pad(fmt.Sprintf("%d of %d", s.AsAsked, s.Calls), 10)
		for _, task := range s.Tasks {
			line += ui.Pad(fmt.Sprintf("%d of %d", task.Successes, task.Trials), 10)
		}
		c.Print(strings.TrimRight(line, " ") + "\n")
	}
	best := agent.Preferred(scores)
	if best == "" {
		c.Print("\nNo try succeeded: " + t.model.Name() + " calls tools in none of these formats.\n")
		return
	}
	c.Print("\nPrefer " + string(best) + " for " + t.model.Name() + ":  cassidy task --model " + t.model.Name() + " --format " + string(best) + " \"…\"\n")
}

// meanText writes a mean of iterations; 0 is that of no try.
func meanText(mean float64) string {
	if mean == 0 {
		return "-"
	}
	return strconv.FormatFloat(mean, 'f', 1, 64)
}

// trialsJSON gives all that was found out as one object.
func trialsJSON(t *formatTest, trials []agent.Trial, scores []agent.FormatScore) *value.Dict {
	formats, tries := value.List{}, value.List{}
	for _, s := range scores {
		tasks := value.List{}
		for _, k := range s.Tasks {
			tasks = append(tasks, value.NewDict("task", k.Task, "trials", int64(k.Trials), "successes", int64(k.Successes), "mean_iterations", meanOrNil(k.Iterations)))
		}
		formats = append(formats, value.NewDict("format", string(s.Format), "trials", int64(s.Trials), "successes", int64(s.Successes), "success_rate", s.Rate(),
			"mean_iterations", meanOrNil(s.Iterations), "calls", int64(s.Calls), "as_asked", int64(s.AsAsked), "tasks", tasks))
	}
	for _, r := range trials {
		tries = append(tries, value.NewDict("format", string(r.Format), "task", r.Task, "success", r.Success, "why", r.Why, "reason", string(r.Reason),
			"iterations", int64(r.Iterations), "calls", int64(r.Calls), "as_asked", int64(r.AsAsked), "wall_ms", float64(r.Wall.Microseconds())/1000))
	}
	var preferred value.Value
	if best := agent.Preferred(scores); best != "" {
		preferred = string(best)
	}
	return value.NewDict("model", t.model.Name(), "repeat", int64(t.repeat), "max_iterations", int64(t.iterations),
		"preferred", preferred, "formats", formats, "trials", tries)
}

func meanOrNil(mean float64) value.Value {
	if mean == 0 {
		return nil
	}
	return mean
}
