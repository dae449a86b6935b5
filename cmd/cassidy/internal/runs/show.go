package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func showCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show what happened in a run, step by step", ArgsUsage: "ID [STEP]",
		Description: "Internal steps, which only prepare other steps, are hidden if they succeeded. To show all steps: --verbose.\n" +
			"With STEP, such as 3.1, everything that is recorded about this step is shown.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "on a terminal, show all steps, and all of the result", Destination: &c.All},
			&cli.StringFlag{Name: "step", Usage: "show one `STEP` in full, such as 3.1"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "show each new step when it ends, until the run ends"},
		},
		Action: c.withRun(c.show),
	}
}

func (c *command) show(ctx *cli.Context, j *history.Journal, r *history.Run) error {
	place := cmp.Or(ctx.String("step"), ctx.Args().Get(1))
	switch one := ctx.IsSet("step") || ctx.NArg() > 1; {
	case one && ctx.Bool("follow"):
		return value.Errorf(value.Invalid, "--step and --follow are mutually exclusive").WithHint("use only one of --step and --follow")
	case one:
		return c.showStep(ctx.Context, j, r, place)
	case ctx.Bool("follow"):
		return c.follow(ctx.Context, j, r)
	case c.JSON:
		return c.showJSON(ctx.Context, j, r)
	}
	return c.showPage(ctx.Context, j, r)
}

// showPage shows a run to a person.
func (c *command) showPage(ctx context.Context, j *history.Journal, r *history.Run) error {
	all, err := describe.StepsOf(ctx, j, r, nil)
	if err != nil {
		return err
	}
	steps, w, used, damage := all.Steps, all.Wait, all.Used, all.Damage
	describe.MarkBroken(j, r)
	if r.Damage == nil {
		r.Damage = damage
	}
	if ui.IsTerminal(c.Out) {
		c.draw(ctx, j, r, steps, w, used)
		return reportDamage(c.App, damage)
	}
	p := page{c.App}
	p.head(r, used, undosOf(ctx, j, r.ID), describe.TimesOf(ctx, j, r))
	hidden := 0
	width := placeWidth(steps)
	for i := range steps {
		if steps[i].Internal && !c.Verbose {
			hidden++
			continue
		}
		p.step(&steps[i], width)
	}
	if w != nil {
		p.wait(w)
	}
	p.todo(r)
	if hidden > 0 {
		c.Note("%s hidden (use --verbose)", ui.Count(hidden, "internal step"))
	}
	return reportDamage(c.App, damage)
}

// draw draws a run on a terminal.
func (c *command) draw(ctx context.Context, j *history.Journal, r *history.Run, steps []describe.Step, w *describe.Wait, used agent.Usage) {
	v := c.view(r, w)
	rows, hidden := v.rowsOf(steps)
	lines := append(v.head(used, undosOf(ctx, j, r.ID), describe.TimesOf(ctx, j, r)), "")
	lines = append(lines, v.steps(rows, hidden)...)
	if w != nil {
		lines = append(lines, v.wait(rows)...)
	}
	if end := v.outcome(); len(end) > 0 {
		lines = append(append(lines, ""), end...)
	}
	v.PrintLines(lines)
}

// showStep shows everything that is recorded about a step.
func (c *command) showStep(ctx context.Context, j *history.Journal, r *history.Run, place string) error {
	at, err := history.ParseStepPath(place)
	if err != nil {
		return err
	}
	var found bool
	times := describe.TimesOf(ctx, j, r)
	if ui.IsTerminal(c.Out) && !c.JSON {
		return c.drawStep(ctx, j, r, at, times)
	}
	damage, err := describe.EachStep(ctx, j, r, func(e *history.Entry, damage error) {
		if found = found || slices.Equal(e.StepPath, at); !slices.Equal(e.StepPath, at) || damage != nil {
			return
		}
		if c.JSON {
			c.Print(ui.JSONText(describe.JSON(describe.StepDict(e, times))) + "\n")
		} else {
			page{c.App}.fullStep(e, r.State, r.State == history.Running && j.Held(r.ID), times)
		}
	})
	switch {
	case err != nil:
		return err
	case !found && damage == nil:
		return noStep(r, at)
	}
	return reportDamage(c.App, damage)
}

func noStep(r *history.Run, at tool.StepPath) error {
	return value.Errorf(value.NotFound, "the run '%s' has no step %q", r.ID, at).WithHint("list the steps: cassidy runs show %s", r.ID)
}

// drawStep draws a step of a run, or a call of a reply, on a terminal.
func (c *command) drawStep(ctx context.Context, j *history.Journal, r *history.Run, at tool.StepPath, times *history.Times) error {
	live := r.State == history.Running && j.Held(r.ID)
	var found *history.Entry
	var below []describe.Step
	damage, err := describe.EachStep(ctx, j, r, func(e *history.Entry, damage error) {
		switch {
		case damage != nil:
		case found == nil && slices.Equal(e.StepPath, at):
			found = e
		case describe.Inside(e.StepPath, at):
			below = append(below, describe.StepOf(e, r.State, live, describe.Tokens{}, times))
		case found == nil:
			found = describe.CallOf(e, at)
		}
	})
	switch {
	case err != nil:
		return err
	case found == nil && damage == nil:
		return noStep(r, at)
	case found != nil:
		v := c.view(r, nil)
		s := describe.StepOf(found, r.State, live, describe.Tokens{}, times)
		if s.Mark == describe.Unknown && len(below) > 0 { // it is known from theirs
			s.Mark, s.Result = describe.Waits, ""
		}
		v.PrintLines(v.one(found, &s, append(s.Calls, below...)))
	}
	return reportDamage(c.App, damage)
}

// showJSON prints a run as one JSON value.
func (c *command) showJSON(ctx context.Context, j *history.Journal, r *history.Run) error {
	damage, err := describe.WriteRun(ctx, j, r, func(text string) { c.Print(ui.JSONText(text)) })
	if err != nil {
		return err
	}
	c.Print("\n")
	return reportDamage(c.App, damage)
}
