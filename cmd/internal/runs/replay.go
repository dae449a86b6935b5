package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func replayCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "repeat a run from its record, without effects or questions", ArgsUsage: "ID",
		Description: "The recorded scripts run again. Each effect returns its recorded outcome, so nothing is changed. The replay ends\n" +
			"at the first difference from the record, and prints the difference.\n" +
			"You cannot replay an undo, or a call that was made with \"cassidy tool run\".\n" +
			"To test a change of a script, replace the recorded script with a file: --with FILE. This replay continues\n" +
			"after a difference: it prints each result that differs from the record, and each new write. It ends at a read,\n" +
			"a request or a command that the record does not have.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "with", Usage: "use `FILE` instead of the recorded tool, policy or workflow with the same name"},
			&cli.StringFlag{Name: "from", Usage: "with --with, use the recorded script before `STEP`, such as 3.1, and FILE from there on"},
		},
		Action: func(ctx *cli.Context) error {
			r, err := c.recorded(ctx, ctx.Args().First())
			if err != nil {
				return err
			}
			if _, err := os.Stat(c.Dir); err != nil && c.Dir == r.Project {
				c.Dir = "" // the project was moved or deleted; a replay needs nothing of it
			}
			return c.WithHost(func(ctx *cli.Context, h *host.Host) error { return c.replay(ctx, h, r) })(ctx)
		},
	}
}

func (c *command) replay(ctx *cli.Context, h *host.Host, r *host.Recorded) error {
	o, err := replacement(ctx, r)
	if err != nil {
		return err
	}
	var out *host.Replayed
	c.Replays = true
	switch r.Kind {
	case host.WorkflowKind:
		if o.Program, err = host.ResumedWorkflow(&r.Run); err == nil {
			c.Model = r.Options.Text("model")
			if err = agents.Register(ctx.Context, c.App, h, false, o.Program.Options); err == nil {
				out, err = h.Replay(ctx.Context, o)
			}
		}
	case host.UndoKind, host.CallKind:
		err = value.Errorf(value.Invalid, "replay run '%s': the run has no script", r.ID).WithHint("to see its steps: cassidy runs show %s", r.ID)
	default:
		if err = agent.RegisterKinds(h, agents.Opener(c.App, h, false, agent.Options{})); err == nil {
			out, err = agent.Replay(ctx.Context, h, *r, o)
		}
	}
	if err != nil {
		return err
	}
	if o.With != nil && !out.Used && !out.Ended {
		from := ""
		if o.From != nil {
			from = " from step " + o.From.String() + " on"
		}
		return value.Errorf(value.Invalid, "the run '%s' does not use %s%s", r.ID, ctx.String("with"), from).
			WithHint("use a file with the name of a tool, policy or workflow of the run; list the steps of the run: cassidy runs show %s", r.ID)
	}
	return c.printReplay(r, out, o.With != nil)
}

// replacement reads the script of --with, which replaces a recorded one: the program, if
// it has that name or file name, or else the tool with that name.
func replacement(ctx *cli.Context, r *host.Recorded) (o host.Replay, err error) {
	if from := ctx.String("from"); from != "" {
		if o.From, err = history.ParseStepPath(from); err != nil {
			return o, err
		}
		if ctx.String("with") == "" {
			return o, value.Errorf(value.Invalid, "--from needs --with FILE").
				WithHint("cassidy runs replay %s --with FILE --from %s", r.ID, from)
		}
	}
	file := ctx.String("with")
	if file == "" {
		return o, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return o, value.Errorf(value.Invalid, "%w", ui.FileError(err)).WithHint("use a script file, such as --with slug.star")
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	o.Root = tool.Key(name) == tool.Key(strings.TrimSuffix(filepath.Base(r.Script.Path), filepath.Ext(r.Script.Path)))
	o.With = &tool.Script{Name: name, Path: filepath.ToSlash(filepath.Base(file)), Source: string(text), Libs: map[string]string{}}
	if o.Root {
		o.With.Libs = r.Script.Libs
	}
	return o, nil
}

// printReplay prints the outcome of a replay.
func (c *command) printReplay(r *host.Recorded, out *host.Replayed, changed bool) error {
	v := describe.ReplayOf(&r.Run, out, changed)
	if c.JSON {
		return printReplayJSON(c.App, r, out, v.Exact)
	}
	short := func(text string) string { return cut(ui.VisibleLine(text), draw.MaxText) }
	screen := c.ScreenOf(c.Out)
	for _, d := range out.Differences {
		was, is := short(describe.OutcomeText(d.Was, d.WasFailed)), short(describe.OutcomeText(d.Is, value.ErrorOf(d.IsFailed, value.Failed)))
		c.Say(draw.Failed, fmt.Sprintf("step %s  %s", d.StepPath, short(d.Call)))
		if screen.Width > 0 {
			c.PrintLines(append(screen.Fact(draw.None, "recorded", was), screen.Fact(draw.None, "now     ", is)...))
		} else {
			c.Print("  recorded  " + was + "\n  now       " + is + "\n")
		}
	}
	for _, e := range out.Would {
		c.Say(draw.Risk, fmt.Sprintf("step %s  new effect: %s", e.StepPath, short(e.Func+describe.ArgsText(e.Args))))
	}
	for _, e := range out.Assumed {
		c.Say(draw.None, fmt.Sprintf("step %s  recorded outcome used after a difference: %s", e.StepPath, short(e.Func+describe.ArgsText(e.Args))))
	}
	steps := ui.Count(out.Steps, "step") + " answered from the record"
	switch {
	case v.Exact && v.Partial():
		c.Say(draw.Done, "The replay is exact up to the last recorded step: "+steps)
	case v.Exact:
		c.Say(draw.Done, "The replay is exact: "+steps)
	case out.Ended:
		c.Say(draw.Failed, "The replay ended early: "+steps)
		return out.Err
	case v.Same && len(out.Differences) == 0 && len(out.Would) == 0:
		c.Say(draw.Done, "No differences: "+steps)
	default:
		c.Say(draw.Failed, "The replay ends differently: "+short(describe.OutcomeText(out.Outcome.Value, value.ErrorOf(out.Err, value.Failed)))+" ("+steps+")")
		if len(out.Assumed) > 0 {
			c.Say(draw.None, "This result is uncertain: "+ui.Count(len(out.Assumed), "recorded outcome")+" could be different in a new run")
		}
		if !changed {
			return ui.Reported(value.Errorf(value.Conflict, "the replay differs from the record"))
		}
	}
	return nil
}

// printReplayJSON prints the outcome of a replay as JSON.
func printReplayJSON(a *app.App, r *host.Recorded, out *host.Replayed, exact bool) error {
	outcome := func(v value.Value, err *value.Error) *value.Dict {
		if err != nil {
			d := value.NewDict("success", false)
			describe.PutError(d, err)
			return d
		}
		return value.NewDict("success", true, "value", v)
	}
	differences := ui.Map(out.Differences, func(d history.Difference) value.Value {
		return value.NewDict("place", d.StepPath.String(), "call", d.Call,
			"recorded", outcome(d.Was, d.WasFailed), "now", outcome(d.Is, value.ErrorOf(d.IsFailed, value.Failed)))
	})
	would := ui.Map(out.Would, func(e tool.Effect) value.Value {
		return value.NewDict("place", e.StepPath.String(), "func", e.Func, "args", e.Args)
	})
	assumed := value.List{}
	for _, e := range out.Assumed {
		assumed = append(assumed, value.NewDict("place", e.StepPath.String(), "func", e.Func, "args", e.Args))
	}
	err := a.PrintJSON(value.NewDict("run", r.ID, "exact", exact, "certain", len(assumed) == 0, "assumed", assumed, "ended", out.Ended, "steps", int64(out.Steps),
		"outcome", outcome(out.Outcome.Value, value.ErrorOf(out.Err, value.Failed)), "differences", value.List(differences), "would", value.List(would)))
	if err == nil && !exact && out.Ended {
		err = ui.Reported(value.ErrorOf(out.Err, value.Failed))
	}
	return err
}
