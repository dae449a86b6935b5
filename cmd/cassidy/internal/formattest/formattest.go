// Package formattest has the command that finds out in which format a model writes its
// decisions best.
package formattest

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
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/models"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/trial"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy format-test.
type command struct{ *app.App }

// Command returns cassidy format-test.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "format-test", Usage: "find out which formats of tool calls a model writes correctly",
		Description: "The model tries three small tasks in each format. Each try has a new temporary folder.\n" +
			"A try succeeds if the model calls the right tool with the right arguments and then answers.\n" +
			"Each try takes about two requests to the model. The exit code is 1 if no try succeeds.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "ask `MODEL`: " + models.Choices},
			&cli.StringSliceFlag{Name: "format", Usage: "test only `FORMAT`: pure_json, xml_json, markdown or native", DefaultText: "all formats of the model"},
			&cli.StringFlag{Name: "repeat", Usage: "do each task `N` times", Value: "1"},
			&cli.StringFlag{Name: "max-iterations", Usage: "ask the model at most `N` times for each task", Value: "3"},
		},
		Action: c.WithHost(c.testFormats),
	}
}

// maxRepeat bounds the cost of a typo in --repeat.
const maxRepeat = 100

// A formatTest has the values of the flags.
type formatTest struct {
	model      model.Model
	formats    []decision.Format
	repeat     int
	iterations int
}

func (c *command) testFormats(ctx *cli.Context, h *host.Host) error {
	t, err := c.formatTest(ctx, h)
	if err != nil {
		return err
	}
	trials, err := c.tryAll(ctx.Context, t)
	if err != nil {
		return err
	}
	scores := trial.Scores(trials)
	if c.JSON {
		err = c.PrintJSON(trialsJSON(t, trials, scores))
	} else {
		c.printScores(t, scores)
	}
	if err == nil && trial.Preferred(scores) == "" {
		return ui.ErrSilent // the table shows it
	}
	return err
}

// formatTest reads the flags.
func (c *command) formatTest(ctx *cli.Context, h *host.Host) (*formatTest, error) {
	t := &formatTest{}
	for _, name := range app.Words(ctx.StringSlice("format")) {
		t.formats = append(t.formats, decision.Format(name))
	}
	var err error
	if t.repeat, err = countFlag(ctx, "repeat", maxRepeat); err != nil {
		return nil, err
	}
	if t.iterations, err = countFlag(ctx, "max-iterations", agents.Unlimited); err != nil {
		return nil, err
	}
	if t.model, err = c.Models().Open(ctx.Context, h, ctx.String("model"), slices.Contains(t.formats, decision.Native)); err != nil {
		return nil, err
	}
	known := trial.Formats(t.model)
	names := ui.Map(known, func(f decision.Format) string { return string(f) })
	for _, f := range t.formats {
		if !slices.Contains(known, f) {
			return nil, value.Errorf(value.Invalid, "the model %[2]s does not support the format %[1]q%[3]s", f, t.model.Name(), value.DidYouMean(string(f), names)).
				WithHint("it supports %s", ui.Join(names))
		}
	}
	if t.formats == nil {
		t.formats = known
	}
	return t, nil
}

// countFlag reads a flag with a number from 1 to most.
func countFlag(ctx *cli.Context, name string, most int) (int, error) {
	n, err := strconv.Atoi(ctx.String(name))
	if err != nil || n < 1 || n > most {
		return 0, value.Errorf(value.Invalid, "--%s must be a number from 1 to %d, not %q", name, most, ctx.String(name))
	}
	return n, nil
}

// tryAll tries each task in each format. The formats take turns, so that a temporary
// problem of the model affects all of them.
func (c *command) tryAll(ctx context.Context, t *formatTest) ([]trial.Result, error) {
	var trials []trial.Result
	tasks := trial.Tasks()
	all := t.repeat * len(tasks) * len(t.formats)
	for range t.repeat {
		for i := range tasks {
			for _, f := range t.formats {
				trial, err := c.try(ctx, t, &tasks[i], f)
				if err != nil {
					return nil, err
				}
				trials = append(trials, trial)
				c.Note("%d/%d  %-9s %-8s %s", len(trials), all, f, trial.Task, trialText(&trial))
			}
		}
	}
	return trials, nil
}

func trialText(t *trial.Result) string {
	if t.Success {
		return "succeeded, asked " + ui.Times(t.Iterations)
	}
	return "failed: " + ui.CutShown(t.Why, ui.LineWidth)
}

// try tries a task in a temporary folder, without the user's tools and settings.
func (c *command) try(ctx context.Context, t *formatTest, task *trial.Task, f decision.Format) (result trial.Result, err error) {
	dir, err := os.MkdirTemp("", "cassidy-format-test-")
	if err != nil {
		return result, value.Errorf(value.Failed, "create a temporary folder: %w", ui.FileError(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range task.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return result, value.Errorf(value.Failed, "write the files of the task: %w", err)
		}
	}
	// Only built-in tools are used, which need no worker.
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, Cache: c.Cache()})
	if err != nil {
		return result, err
	}
	return task.Try(ctx, h, f, agent.Options{Model: t.model, WorkDir: dir, Iterations: t.iterations})
}

// printScores prints a line for each format, and the best one.
func (c *command) printScores(t *formatTest, scores []trial.Score) {
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
	best := trial.Preferred(scores)
	if best == "" {
		c.Print("\nNo try succeeded: " + t.model.Name() + " does not call tools in any of these formats.\n")
		return
	}
	c.Print("\nPrefer " + string(best) + " for " + t.model.Name() + ":  cassidy task --model " + t.model.Name() + " --format " + string(best) + " \"…\"\n")
}

// meanText writes a mean number of iterations. 0 means that no try succeeded.
func meanText(mean float64) string {
	if mean == 0 {
		return "-"
	}
	return strconv.FormatFloat(mean, 'f', 1, 64)
}

// trialsJSON returns all results as --json prints them.
func trialsJSON(t *formatTest, trials []trial.Result, scores []trial.Score) *value.Dict {
	formats := ui.Map(scores, func(s trial.Score) value.Value {
		tasks := ui.Map(s.Tasks, func(k trial.TaskScore) value.Value {
			return value.NewDict("task", k.Task, "trials", int64(k.Trials), "successes", int64(k.Successes), "mean_iterations", meanOrNil(k.Iterations))
		})
		return value.NewDict("format", string(s.Format), "trials", int64(s.Trials), "successes", int64(s.Successes), "success_rate", s.Rate(),
			"mean_iterations", meanOrNil(s.Iterations), "calls", int64(s.Calls), "as_asked", int64(s.AsAsked), "tasks", value.List(tasks))
	})
	tries := ui.Map(trials, func(r trial.Result) value.Value {
		return value.NewDict("format", string(r.Format), "task", r.Task, "success", r.Success, "why", r.Why, "reason", string(r.Reason),
			"iterations", int64(r.Iterations), "calls", int64(r.Calls), "as_asked", int64(r.AsAsked), "wall_ms", float64(r.Wall.Microseconds())/1000)
	})
	var preferred value.Value
	if best := trial.Preferred(scores); best != "" {
		preferred = string(best)
	}
	return value.NewDict("model", t.model.Name(), "repeat", int64(t.repeat), "max_iterations", int64(t.iterations),
		"preferred", preferred, "formats", value.List(formats), "trials", value.List(tries))
}

func meanOrNil(mean float64) value.Value {
	if mean == 0 {
		return nil
	}
	return mean
}
