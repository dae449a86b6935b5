package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// FormatTest returns cassidy format-test.
func FormatTest(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "format-test", Usage: "find out which formats of tool calls a model writes correctly",
		Description: "The model tries three small tasks in each format. Each try has a new temporary folder.\n" +
			"A try succeeds if the model calls the right tool with the right arguments and then answers.\n" +
			"Each try takes about two requests to the model. The exit code is 1 if no try succeeds.\n" +
			"To measure tasks of your own: cassidy eval.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "ask `MODEL`: " + models.Choices, DefaultText: models.Default},
			&cli.StringSliceFlag{Name: "format", Usage: "test only `FORMAT`: pure_json, xml_json, markdown or native", DefaultText: "all formats of the model"},
			&cli.StringFlag{Name: "repeat", Usage: "do each task `N` times", Value: "1"},
			&cli.StringFlag{Name: "max-iterations", Usage: "send at most `N` requests to the model in each try", Value: "3"},
		},
		Action: c.WithHost(c.testFormats),
	}
}

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
	results, err := c.tryAll(ctx.Context, t)
	if err != nil {
		return err
	}
	scores := eval.Scores(results)
	if c.JSON {
		err = c.PrintJSON(triesJSON(t, results, scores))
	} else if ui.IsTerminal(c.Out) {
		c.drawScores(t, scores)
	} else {
		c.printScores(t, scores)
	}
	if err == nil && eval.Preferred(scores) == "" {
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
	if t.repeat, err = countFlag(ctx, "repeat", eval.MaxRepeat); err != nil {
		return nil, err
	}
	if t.iterations, err = countFlag(ctx, "max-iterations", agents.Unlimited); err != nil {
		return nil, err
	}
	if t.model, err = c.Models().Open(ctx.Context, h, ctx.String("model"), slices.Contains(t.formats, decision.Native)); err != nil {
		return nil, err
	}
	known := eval.Formats(t.model)
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

// tryAll tries each task in each format, without the user's tools and settings. If the model is
// unreachable, nothing can be said about its formats.
func (c *command) tryAll(ctx context.Context, t *formatTest) ([]eval.Result, error) {
	// Only built-in tools are used, which need no worker.
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &benches{command: c, runtime: r, bare: true}
	c.Live.Begin(cases, cases, "")
	defer c.Live.End(cases)
	report, err := eval.FormatTest(t.model.Name(), t.formats, t.repeat, t.iterations).Run(ctx, &eval.Options{
		Model: func(context.Context, string, bool) (model.Model, error) { return t.model, nil },
		Open:  b.open,
		Done: func(so *eval.Report, r *eval.Result) {
			if r.Unreachable != nil {
				cancel(r.Unreachable)
				return
			}
			if c.Live.Shown() {
				c.Live.Progress(cases, cases, string(r.Format)+" "+r.Task, float64(len(so.Results)), float64(so.Cases))
				return
			}
			c.Note("%d/%d  %-9s %-8s %s", len(so.Results), so.Cases, r.Format, r.Task, tryText(r))
		},
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	return report.Results, nil
}

func tryText(r *eval.Result) string {
	if r.Success {
		return "succeeded after " + ui.Count(r.Iterations, "request")
	}
	return "failed: " + ui.CutShown(r.Why, draw.MaxText)
}

// printScores prints a line for each format, and the best one.
func (c *command) printScores(t *formatTest, scores []eval.Score) {
	head := draw.Pad("format", 11, false) + draw.Pad("success", 9, false) + draw.Pad("iterations", 12, false) + draw.Pad("as asked", 10, false)
	for _, task := range scores[0].Tasks {
		head += draw.Pad(task.Task, 10, false)
	}
	c.Print(c.ScreenOf(c.Out).Paint(draw.Bold, strings.TrimRight(head, " ")) + "\n")
	for _, s := range scores {
		line := draw.Pad(string(s.Format), 11, false) + draw.Pad(fmt.Sprintf("%.0f %%", 100*s.Rate()), 9, false) +
			draw.Pad(meanText(s.Iterations), 12, false) + draw.Pad(fmt.Sprintf("%d of %d", s.AsAsked, s.Calls), 10, false)
		for _, task := range s.Tasks {
			line += draw.Pad(fmt.Sprintf("%d of %d", task.Successes, task.Trials), 10, false)
		}
		c.Print(strings.TrimRight(line, " ") + "\n")
	}
	best := eval.Preferred(scores)
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

// triesJSON returns all results as --json prints them.
func triesJSON(t *formatTest, results []eval.Result, scores []eval.Score) *value.Dict {
	formats := ui.Map(scores, func(s eval.Score) value.Value {
		tasks := ui.Map(s.Tasks, func(k eval.TaskScore) value.Value {
			return value.NewDict("task", k.Task, "trials", int64(k.Trials), "successes", int64(k.Successes), "mean_iterations", meanOrNil(k.Iterations))
		})
		return value.NewDict("format", string(s.Format), "trials", int64(s.Trials), "successes", int64(s.Successes), "success_rate", s.Rate(),
			"mean_iterations", meanOrNil(s.Iterations), "calls", int64(s.Calls), "as_asked", int64(s.AsAsked), "tasks", value.List(tasks))
	})
	tries := ui.Map(results, func(r eval.Result) value.Value {
		return value.NewDict("format", string(r.Format), "task", r.Task, "success", r.Success, "why", r.Why, "reason", string(r.Reason),
			"iterations", int64(r.Iterations), "calls", int64(r.CallsRead), "as_asked", int64(r.AsAsked), "wall_ms", r.Seconds*1000)
	})
	var preferred value.Value
	if best := eval.Preferred(scores); best != "" {
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
