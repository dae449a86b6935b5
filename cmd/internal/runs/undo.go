package runs

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func undoCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "undo the file changes of a run, and other effects that can be undone", ArgsUsage: "ID",
		Description: "The last step is undone first. Without --skip, the undo stops at the first step that it cannot undo, such as a file that was changed later.\n" +
			"An effect outside the project is listed if it cannot be undone. The exit code is 7 if a part of the run is not\n" +
			"undone. To continue an interrupted undo, repeat the command. An undo is a run and can be undone too.",
		Flags: append(approve.Flags(),
			&cli.StringFlag{Name: "to", Usage: "undo `STEP`, such as 3.1, and all later steps, but no earlier steps"},
			&cli.BoolFlag{Name: "skip", Usage: "do not stop at changes that cannot be undone: list them, and undo the others"}),
		Action: func(ctx *cli.Context) error {
			r, err := c.recorded(ctx, ctx.Args().First())
			if err != nil {
				return err
			}
			return c.Parking(func(ctx *cli.Context, h *host.Host) error {
				return c.undo(ctx, h, operate.Undo{Run: r.ID, Skip: ctx.Bool("skip"), Parks: !ctx.Bool("deny")}, ctx.String("to"))
			})(ctx)
		},
	}
}

// undo undoes a run, and prints the outcome.
func (c *command) undo(ctx *cli.Context, h *host.Host, u operate.Undo, to string) error {
	if to != "" {
		var err error
		if u.To, err = history.ParseStepPath(to); err != nil {
			return err
		}
	}
	out, err := host.Operate(h).UndoRun(ctx.Context, u)
	if out == nil || value.KindOf(err) == value.Parked {
		return err
	}
	return c.printUndo(u.Run, out, err)
}

// printUndo prints the outcome of the undo of a run, and returns the error of the command.
func (c *command) printUndo(run string, out *operate.Undone, err error) error {
	if c.JSON {
		if e := c.PrintJSON(undoneDict(run, out, err)); e != nil {
			return e
		}
	} else {
		printUndone(c.App, run, out)
	}
	if err != nil {
		failure := value.ErrorOf(err, value.Failed)
		c.Report(failure)
		if failure.Kind != value.Conflict {
			return ui.Reported(failure)
		}
	}
	if !out.Complete() {
		return ui.ErrPartly
	}
	return nil
}

// printUndone prints for people what was undone, and what was not.
func printUndone(a *app.App, run string, out *operate.Undone) {
	calls.EachUndone(run, out, a.Say)
	if slices.ContainsFunc(out.Done, func(s operate.UndoneStep) bool { return !s.Already() }) {
		a.Note("to undo this undo: cassidy runs undo %s", out.ID)
	}
}

// undoneDict is the outcome of an undo as --json prints it.
func undoneDict(run string, out *operate.Undone, err error) *value.Dict {
	steps := func(list []operate.UndoneStep) value.List {
		return ui.Map(list, func(s operate.UndoneStep) value.Value {
			return value.NewDict("place", s.StepPath.String(), "what", s.What, "value", s.Value)
		})
	}
	d := value.NewDict("run", run, "undo", out.ID, "success", err == nil, "done", steps(out.Done), "failed", nil, "left", steps(out.Left), "skipped", skipped(out.Skipped), "lasting", steps(out.Lasting))
	if out.Failed != nil {
		d.Put("failed", value.NewDict("place", out.Failed.StepPath.String(), "what", out.Failed.What))
	}
	if err != nil {
		describe.PutError(d, value.ErrorOf(err, value.Failed))
	}
	return d
}

// skipped is the steps that an undo has skipped as --json prints them.
func skipped(list []operate.UndoneStep) value.List {
	return value.Map(list, func(s operate.UndoneStep) value.Value {
		return value.NewDict("place", s.StepPath.String(), "what", s.What, "error", value.ErrorOf(s.Err, value.Failed).Message())
	})
}

// undosOf returns which runs undid a run, at least in part, with their states.
func undosOf(ctx context.Context, j *history.Journal, run string) (texts []string) {
	undos, _ := all(ctx, j, history.Filter{Kind: host.UndoKind}) // a damaged one is reported where it is shown
	for i := range undos {
		if u := &undos[i]; u.Options.Text("run") == run && u.State != history.Cancelled {
			texts = append(texts, "by "+u.ID+" ("+u.State.String()+")")
		}
	}
	return texts
}
