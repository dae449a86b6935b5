// Package eval has the command that measures how well models do the tasks of a file, and the one
// that compares the formats of tool calls, which is a preset of it. It also has the command that reads
// the decisions in a reply.
package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy eval.
type command struct{ *app.App }

// Command returns cassidy eval.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "eval", Usage: "measure how well models do the tasks of a file", ArgsUsage: "FILE.yaml",
		UsageText: "cassidy eval FILE.yaml [--model MODEL …] [--format FORMAT …] [--out REPORT.json] [--baseline REPORT.json]\n" +
			"cassidy eval diff OLD.json NEW.json",
		Description: "A case is a task with one model and one format of tool calls, such as native or pure_json. Each case runs in a new\n" +
			"temporary folder. The checks of the task decide whether the case passes. The command prints a table with a row for\n" +
			"each model and format. The row shows how many cases passed, and what all cases cost together. It also shows\n" +
			"averages per case: iterations (requests to the model), tokens and time.\n" +
			"The model's tools can change files in the folder of the case. Everything else that needs approval is refused,\n" +
			"unless you pass --yes. If checks run commands, you are asked once before the first case; --yes or\n" +
			"--allow-commands approves them. The exit code is 1 if a case fails.",
		Flags: append(approve.Flags(),
			&cli.BoolFlag{Name: "allow-commands", Usage: "approve the commands of the checks, and nothing else"},
			&cli.StringSliceFlag{Name: "model", Usage: "ask `MODEL` instead of the models in the file: " + models.Choices},
			&cli.StringSliceFlag{Name: "format", Usage: "use `FORMAT` instead of the formats in the file: pure_json, xml_json, markdown, native, code or all"},
			&cli.StringFlag{Name: "judge", Usage: "use `MODEL` to judge the answers in checks that ask a model"},
			&cli.StringSliceFlag{Name: "filter", Usage: "run only cases whose name contains `TEXT`; a case is named TASK/MODEL/FORMAT"},
			&cli.StringFlag{Name: "repeat", Usage: "run each case `N` times", DefaultText: "the field \"repeat\" of the file, else 1"},
			&cli.StringFlag{Name: "parallel", Usage: "run `N` cases in parallel", Value: "1"},
			&cli.StringFlag{Name: "out", Usage: "write the report as JSON to `FILE`, after each case"},
			&cli.StringFlag{Name: "baseline", Usage: "also show what differs from the earlier report in `FILE`"},
			&cli.DurationFlag{Name: "timeout", Value: app.ModelTimeout, Usage: "stop waiting if a model sends no data for `TIME`, such as 90s or 5m"},
		),
		Action:      c.WithHost(c.run),
		Subcommands: []*cli.Command{diffCommand(c)},
	}
}

// limits of the flags.
const maxParallel = 64

// A job is an eval file and the flags.
type job struct {
	suite    *eval.Suite
	dir      string // the folder of the file
	parallel int
	baseline *eval.Report // or nil
	given    bool         // the models are those of a flag
}

func (c *command) run(ctx *cli.Context, h *host.Host) error {
	j, err := c.job(ctx)
	if err != nil {
		return err
	}
	b, err := c.newBenches(ctx, j.dir)
	if err != nil {
		return err
	}
	defer b.close()
	defer c.Live.End(cases)
	report, err := j.suite.Run(ctx.Context, &eval.Options{
		Model: func(of context.Context, name string, native bool) (model.Model, error) {
			return c.model(of, h, j, name, native)
		},
		Open:     b.open,
		Policies: agents.Policies(c.App),
		Ready: func(list []*eval.Case) error {
			err := b.approve(ctx, eval.Commands(list))
			if err == nil {
				c.Live.Begin(cases, cases, "")
				c.Live.Progress(cases, cases, "", 0, float64(len(list)))
			}
			return err
		},
		Filter: ctx.StringSlice("filter"), Parallel: j.parallel, Idle: ctx.Duration("timeout"),
		Done: func(so *eval.Report, r *eval.Result) { c.done(so, r, ctx.String("out")) },
	})
	c.Live.End(cases)
	if report == nil {
		return c.faults(ctx.Args().First(), err)
	}
	return c.finish(ctx, j, report)
}

// job reads the file and the flags.
func (c *command) job(ctx *cli.Context) (*job, error) {
	name := ctx.Args().First()
	switch {
	case name == "":
		return nil, value.Errorf(value.Invalid, "FILE.yaml is missing").WithHint("cassidy eval FILE.yaml; docs/evals.md describes the file")
	case ctx.Args().Len() > 1:
		return nil, value.Errorf(value.Invalid, "unexpected argument %q", ctx.Args().Get(1)).WithHint("cassidy eval FILE.yaml")
	}
	file := c.inDir(name)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the eval file %s: %w", name, ui.FileError(err))
	}
	j := &job{dir: filepath.Dir(file)}
	if j.suite, err = eval.Parse(name, string(text)); err != nil {
		return nil, c.faults(name, err)
	}
	if j.suite.Name == "" {
		j.suite.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return j, c.readFlags(ctx, j)
}

// inDir returns the path of a file that a person names: relative to the current folder, or else to
// the working folder.
func (c *command) inDir(name string) string {
	if filepath.IsAbs(name) || c.Dir == "" {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		return name
	}
	return filepath.Join(c.Dir, name)
}

// faults reports the faults of an eval file.
func (c *command) faults(file string, err error) error {
	var faults eval.Faults
	if !errors.As(err, &faults) || len(faults) == 1 {
		return err
	}
	c.ReportAll(faults)
	if c.JSON {
		_ = c.PrintJSON(value.NewDict("success", false, "errors", describe.ErrorList(faults)))
	}
	return ui.Reported(value.Errorf(value.Invalid, "%s has %d faults", file, len(faults)))
}

// readFlags replaces what the file says by what the flags say.
func (c *command) readFlags(ctx *cli.Context, j *job) (err error) {
	if j.parallel, err = countFlag(ctx, "parallel", maxParallel); err != nil {
		return err
	}
	if ctx.IsSet("repeat") {
		if j.suite.Repeat, err = countFlag(ctx, "repeat", eval.MaxRepeat); err != nil {
			return err
		}
	}
	if ctx.Duration("timeout") <= 0 {
		return value.Errorf(value.Invalid, "--timeout must be a positive duration, not %s", ctx.Duration("timeout")).WithHint("for example: --timeout 90s")
	}
	if words := app.Words(ctx.StringSlice("model")); len(words) > 0 {
		j.suite.Models, j.given = words, true
	}
	if len(j.suite.Models) == 0 {
		name, err := c.Models().Name("")
		if err != nil {
			return err
		}
		j.suite.Models, j.given = []string{name}, true
	}
	if words := app.Words(ctx.StringSlice("format")); len(words) > 0 {
		j.suite.Formats = ui.Map(words, func(word string) decision.Format { return decision.Format(word) })
	}
	if judge := ctx.String("judge"); judge != "" {
		j.suite.Judge = c.Models().Lasting(judge)
	}
	if baseline := ctx.String("baseline"); baseline != "" {
		j.baseline, err = readReport(c.inDir(baseline))
	}
	return err
}

// countFlag reads a flag with a number from 1 to most.
func countFlag(ctx *cli.Context, name string, most int) (int, error) {
	n, err := strconv.Atoi(ctx.String(name))
	if err != nil || n < 1 || n > most {
		return 0, value.Errorf(value.Invalid, "--%s must be a number from 1 to %d, not %q", name, most, ctx.String(name))
	}
	return n, nil
}

// model opens a model. The file of a scripted model that the eval file names is relative to the
// eval file.
func (c *command) model(ctx context.Context, h *host.Host, j *job, name string, native bool) (model.Model, error) {
	script, isScript := strings.CutPrefix(name, "script:")
	if isScript && script != "" && !filepath.IsAbs(script) && !j.given {
		abs, err := filepath.Abs(filepath.Join(j.dir, filepath.FromSlash(script)))
		if err != nil {
			return nil, value.Errorf(value.Failed, "find the folder of the eval file: %w", err)
		}
		name = "script:" + abs
	}
	return c.Models().Open(ctx, h, name, native)
}

// cases is what the live line shows while cases are tried.
const cases = "eval"

// done reports the end of a case, and writes the report so far.
func (c *command) done(so *eval.Report, r *eval.Result, out string) {
	if c.Live.Shown() {
		c.Live.Progress(cases, cases, r.Name(), float64(len(so.Results)), float64(so.Cases))
	} else {
		c.Note("%d/%d  %s  %s", len(so.Results), so.Cases, r.Name(), resultText(r))
	}
	if out == "" {
		return
	}
	if err := writeReport(out, so); err != nil {
		c.Log("%v", err)
	}
}

func resultText(r *eval.Result) string {
	if r.Success {
		return "passed after " + ui.Count(r.Iterations, "iteration")
	}
	return "failed: " + ui.CutShown(r.Why, draw.MaxText)
}

// finish prints the report, and returns the error of the command.
func (c *command) finish(ctx *cli.Context, j *job, report *eval.Report) error {
	for _, skipped := range report.Skipped {
		c.Note("skipped: %s", skipped)
	}
	var failed error
	if out := ctx.String("out"); out != "" {
		failed = writeReport(out, report)
	}
	var changes []eval.Change
	if j.baseline != nil {
		changes = eval.Diff(j.baseline, report)
	}
	if err := c.print(report, j.baseline != nil, changes); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failed
	case !report.Complete:
		c.Alert("interrupted: %d of %s have ended", len(report.Results), ui.Count(report.Cases, "case"))
		return ui.Reported(value.Errorf(value.Canceled, "interrupted"))
	case !report.Success():
		return ui.ErrSilent // the table shows it
	}
	return nil
}
