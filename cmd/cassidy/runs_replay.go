package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func (c *command) replayCommand() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "run a run again from its record: nothing is done, nobody is asked", ArgsUsage: "ID",
		Description: "The scripts run again, and the record answers for all else. An exact replay ends with the same result, or says at\n" +
			"which step something else came. With --with FILE a changed tool, policy or workflow takes the place of the\n" +
			"recorded one of the same name, and what then comes out otherwise is told.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "with", Usage: "use `FILE` in place of the tool, policy or workflow of its name"},
			&cli.StringFlag{Name: "from", Usage: "use it from the step at `PLACE` on, as 3.1"},
		},
		Action: func(ctx *cli.Context) error {
			words, err := exactly(ctx, "ID")
			if err != nil {
				return err
			}
			r, err := c.recordedRun(ctx, words[0])
			if err != nil {
				return err
			}
			return c.withHost(func(ctx *cli.Context, h *host.Host) error { return c.replayRun(ctx, h, r) })(ctx)
		},
	}
}

func (c *command) replayRun(ctx *cli.Context, h *host.Host, r *host.Recorded) error {
	o, err := c.replacement(ctx, r)
	if err != nil {
		return err
	}
	var out *host.Replayed
	switch r.Kind {
	case host.WorkflowKind:
		if o.Program, err = host.ResumedWorkflow(&r.Run); err == nil {
			c.model = r.Options.Text("model")
			c.registerAgents(ctx.Context, h, false)
			out, err = h.Replay(ctx.Context, o)
		}
	case undoKind, toolKind:
		err = value.Errorf(value.Invalid, "the run '%s' is not replayed: it has no script of its own", r.ID).WithHint("cassidy runs show %s", r.ID)
	default:
		if err = agent.RegisterKinds(h, c.openAgent(h, false)); err == nil {
			out, err = agent.Replay(ctx.Context, h, *r, o)
		}
	}
	if err != nil {
		return err
	}
	if o.With != nil && !out.Used && !out.Ended {
		return value.Errorf(value.Invalid, "the run '%s' does not use %s%s", r.ID, ctx.String("with"), fromText(o.From)).
			WithHint("name the file as the tool, the policy or the workflow is named; cassidy runs show %s lists the steps", r.ID)
	}
	return c.tellReplayed(r, out, o.With != nil)
}

func fromText(from tool.Place) string {
	if from == nil {
		return ""
	}
	return " from step " + from.String() + " on"
}

// replacement reads what is to take the place of a recorded script: of the
// program where it has its name or its file's, else of the tool of its name.
func (c *command) replacement(ctx *cli.Context, r *host.Recorded) (o host.Replay, err error) {
	if from := ctx.String("from"); from != "" {
		if o.From, err = history.ParsePlace(from); err != nil {
			return o, err
		}
		if ctx.String("with") == "" {
			return o, value.Errorf(value.Invalid, "--from says where --with FILE begins, and there is none")
		}
	}
	file := ctx.String("with")
	if file == "" {
		return o, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return o, value.Errorf(value.Invalid, "cannot read %s: %w", file, ui.FileError(err))
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	o.Root = tool.Key(name) == tool.Key(strings.TrimSuffix(filepath.Base(r.Script.Path), filepath.Ext(r.Script.Path)))
	o.With = &tool.Script{Name: name, Path: filepath.ToSlash(filepath.Base(file)), Source: string(text), Libs: map[string]string{}}
	if o.Root {
		o.With.Libs = r.Script.Libs
	}
	return o, nil
}

// tellReplayed tells what came of a replay.
func (c *command) tellReplayed(r *host.Recorded, out *host.Replayed, changed bool) error {
	same := r.Ended.IsZero() || !out.Ended && value.Equal(out.Outcome.Value, r.Result) && (out.Err == nil) == (r.Err == nil)
	parked := out.Ended && r.Ended.IsZero() && len(out.Differences) == 0 // as far as the run had come
	exact := !changed && len(out.Differences) == 0 && (same && !out.Ended || parked)
	if c.JSON {
		return c.printReplayed(r, out, exact)
	}
	for _, d := range out.Differences {
		c.Print(fmt.Sprintf("step %s  %s\n  recorded  %s\n  now       %s\n", d.Place, ui.VisibleLine(ui.Clip(d.Call, ui.LineWidth)),
			ui.VisibleLine(ui.Clip(outcomeLine(d.Was, d.WasFailed), ui.LineWidth)), ui.VisibleLine(ui.Clip(outcomeLine(d.Is, value.ErrorOf(d.IsFailed, value.Failed)), ui.LineWidth))))
	}
	for _, e := range out.Would {
		c.Print(fmt.Sprintf("step %s  would do %s\n", e.Place, ui.VisibleLine(ui.Clip(e.Func+callArgs(e.Args), ui.LineWidth))))
	}
	steps := ui.Count(out.Steps, "step") + " answered from the record"
	switch {
	case exact && parked:
		c.Print("The replay is exact as far as the run has come: " + steps + "\n")
	case exact:
		c.Print("The replay is exact: " + steps + "\n")
	case out.Ended:
		c.Print("The replay ended: " + steps + "\n")
		return out.Err
	case same && len(out.Differences) == 0 && len(out.Would) == 0:
		c.Print("Nothing came out otherwise: " + steps + "\n")
	default:
		c.Print("The run ends otherwise: " + ui.VisibleLine(ui.Clip(outcomeLine(out.Outcome.Value, value.ErrorOf(out.Err, value.Failed)), ui.LineWidth)) + " (" + steps + ")\n")
		if !changed {
			return ui.Reported(value.Errorf(value.Conflict, "the replay differs"))
		}
	}
	return nil
}

func outcomeLine(v value.Value, err *value.Error) string {
	if err != nil {
		return "failed: " + ui.OneLine(err.Message())
	}
	if text, ok := v.(string); ok {
		return ui.OneLine(text)
	}
	return value.FormatJSON(v, "")
}

// printReplayed is the same for programs.
func (c *command) printReplayed(r *host.Recorded, out *host.Replayed, exact bool) error {
	outcome := func(v value.Value, err *value.Error) *value.Dict {
		if err != nil {
			return value.NewDict("success", false, "error", err.Message())
		}
		return value.NewDict("success", true, "value", v)
	}
	differences, would := value.List{}, value.List{}
	for _, d := range out.Differences {
		differences = append(differences, value.NewDict("place", d.Place.String(), "call", d.Call,
			"recorded", outcome(d.Was, d.WasFailed), "now", outcome(d.Is, value.ErrorOf(d.IsFailed, value.Failed))))
	}
	for _, e := range out.Would {
		would = append(would, value.NewDict("place", e.Place.String(), "func", e.Func, "args", e.Args))
	}
	err := c.PrintJSON(value.NewDict("run", r.ID, "exact", exact, "ended", out.Ended, "steps", int64(out.Steps),
		"outcome", outcome(out.Outcome.Value, value.ErrorOf(out.Err, value.Failed)), "differences", differences, "would", would))
	if err == nil && !exact && out.Ended {
		err = ui.Reported(value.ErrorOf(out.Err, value.Failed))
	}
	return err
}
