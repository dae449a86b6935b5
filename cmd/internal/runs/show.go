package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
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
	read := func(ctx context.Context) (*describe.Record, error) {
		now, err := j.Run(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		shown := describe.RecordOf(ctx, j, &now)
		shown.Undos = func() []string { return undosOf(ctx, j, r.ID) }
		return shown, nil
	}
	return c.showRecord(ctx, &follower{command: c, read: read, changed: waitAWhile}, func() error { return c.showJSON(ctx.Context, j, r) })
}

// showRecord shows the run that f reads, as the flags say. printJSON prints it as JSON.
func (c *command) showRecord(ctx *cli.Context, f *follower, printJSON func() error) error {
	place := cmp.Or(ctx.String("step"), ctx.Args().Get(1))
	one := ctx.IsSet("step") || ctx.NArg() > 1
	switch {
	case one && ctx.Bool("follow"):
		return value.Errorf(value.Invalid, "--step and --follow are mutually exclusive").WithHint("use only one of --step and --follow")
	case ctx.Bool("follow"):
		return f.follow(ctx.Context)
	case c.JSON && !one:
		return printJSON()
	}
	r, err := f.read(ctx.Context)
	switch {
	case err != nil:
		return err
	case one:
		return c.showStep(r, place)
	}
	return c.showPage(r)
}

// showPage shows a run to a person.
func (c *command) showPage(r *describe.Record) error {
	all, err := r.Steps(nil)
	if err != nil {
		return err
	}
	steps, used, damage := all.Steps, all.Used, all.Damage
	r.MarkBroken()
	if r.Run.Damage == nil {
		r.Run.Damage = damage
	}
	if ui.IsTerminal(c.Out) {
		c.draw(r, steps, used)
		return reportDamage(c.App, damage)
	}
	p := page{c.App}
	p.head(r.Run, used, r.Undos(), r.Times)
	hidden := 0
	width := placeWidth(steps)
	for i := range steps {
		if steps[i].Internal && !c.Verbose {
			hidden++
			continue
		}
		p.step(&steps[i], width)
	}
	if r.Wait != nil {
		p.wait(r.Wait)
	}
	p.todo(r.Run)
	if hidden > 0 {
		c.Note("%s hidden (use --verbose)", ui.Count(hidden, "internal step"))
	}
	return reportDamage(c.App, damage)
}

// draw draws a run on a terminal.
func (c *command) draw(r *describe.Record, steps []describe.Step, used agent.Usage) {
	v := c.view(r.Run, r.Wait)
	rows, hidden := v.rowsOf(steps)
	lines := append(v.head(used, r.Undos(), r.Times), "")
	lines = append(lines, v.steps(rows, hidden)...)
	if r.Wait != nil {
		lines = append(lines, v.wait(rows)...)
	}
	if end := v.outcome(); len(end) > 0 {
		lines = append(append(lines, ""), end...)
	}
	v.PrintLines(lines)
}

// showStep shows everything that is recorded about a step.
func (c *command) showStep(r *describe.Record, place string) error {
	at, err := history.ParseStepPath(place)
	if err != nil {
		return err
	}
	if ui.IsTerminal(c.Out) && !c.JSON {
		return c.drawStep(r, at)
	}
	var found bool
	damage, err := r.Each(func(e *history.Entry, damage error) {
		if found = found || slices.Equal(e.StepPath, at); !slices.Equal(e.StepPath, at) || damage != nil {
			return
		}
		if c.JSON {
			c.Print(ui.JSONText(describe.JSON(describe.StepDict(e, r.Times))) + "\n")
		} else {
			page{c.App}.fullStep(e, r.Run.State, r.Live, r.Times)
		}
	})
	switch {
	case err != nil:
		return err
	case !found && damage == nil:
		return noStep(r.Run, at)
	}
	return reportDamage(c.App, damage)
}

func noStep(r *history.Run, at tool.StepPath) error {
	return value.Errorf(value.NotFound, "the run '%s' has no step %q", r.ID, at).WithHint("list the steps: cassidy runs show %s", r.ID)
}

// drawStep draws a step of a run, or a call of a reply, on a terminal.
func (c *command) drawStep(r *describe.Record, at tool.StepPath) error {
	var found *history.Entry
	var below []describe.Step
	damage, err := r.Each(func(e *history.Entry, damage error) {
		switch {
		case damage != nil:
		case found == nil && slices.Equal(e.StepPath, at):
			found = e
		case describe.Inside(e.StepPath, at):
			below = append(below, describe.StepOf(e, r.Run.State, r.Live, describe.Tokens{}, r.Times))
		case found == nil:
			found = describe.CallOf(e, at)
		}
	})
	switch {
	case err != nil:
		return err
	case found == nil && damage == nil:
		return noStep(r.Run, at)
	case found != nil:
		v := c.view(r.Run, nil)
		s := describe.StepOf(found, r.Run.State, r.Live, describe.Tokens{}, r.Times)
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
