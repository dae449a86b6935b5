package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/runs/describe"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func showCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show what happened in a run, step by step", ArgsUsage: "ID",
		Description: "Internal steps, which only prepare other steps, are hidden if they succeeded. To show all steps: --verbose.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "step", Usage: "show one `STEP` in full, such as 3.1"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "show each new step when it ends, until the run ends"},
		},
		Action: c.withRun(c.show),
	}
}

func (c *command) show(ctx *cli.Context, j *history.Journal, r *history.Run) error {
	switch place := ctx.String("step"); {
	case ctx.IsSet("step") && ctx.Bool("follow"):
		return value.Errorf(value.Invalid, "--step and --follow are mutually exclusive").WithHint("use only one of --step and --follow")
	case ctx.IsSet("step"):
		return c.showStep(ctx.Context, j, r, place)
	case ctx.Bool("follow"):
		return c.follow(ctx.Context, j, r)
	case c.JSON:
		return c.showJSON(ctx.Context, j, r)
	}
	return c.showPage(ctx.Context, j, r)
}

// steps describes the steps of a run, and what it waits for. damage is that of its record;
// err means that nothing can be read.
func (c *command) steps(ctx context.Context, j *history.Journal, r *history.Run) (steps []describe.Step, w *describe.Wait, used agent.Usage, damage, err error) {
	live := r.State == history.Running && j.Held(r.ID)
	w = describe.WaitOf(ctx, j, r)
	times := timesOf(ctx, j, r)
	var tokens describe.Tokens
	damage, err = eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		s := describe.Step{StepPath: e.StepPath, Mark: describe.Failed, What: "this step", Result: "its record is damaged"}
		if damage == nil {
			used.Add(agent.StepUsage(e.Outcome.Value, e.Notes))
			s = describe.StepOf(e, r.State, live, tokens.Count(e), times)
		}
		// The outcome of a step that made calls is known from theirs.
		if last := len(steps) - 1; last >= 0 && steps[last].Mark == describe.Unknown && inside(s.StepPath, steps[last].StepPath) {
			steps[last].Mark, steps[last].Result = describe.Waits, ""
		}
		s.Below = append(s.Below, w.Sent(e.StepPath)...)
		steps = append(steps, s)
	})
	return steps, w, used, damage, err
}

// timesOf returns the times of a run, or nil if they cannot be read.
func timesOf(ctx context.Context, j *history.Journal, r *history.Run) *history.Times {
	times, err := j.Times(ctx, r.ID)
	if err != nil {
		return nil // the steps say why
	}
	return times
}

// showPage shows a run to a person.
func (c *command) showPage(ctx context.Context, j *history.Journal, r *history.Run) error {
	steps, w, used, damage, err := c.steps(ctx, j, r)
	if err != nil {
		return err
	}
	p := page{c.App}
	markBroken(j, r)
	if r.Damage == nil {
		r.Damage = damage
	}
	p.head(r, used, undosOf(ctx, j, r.ID), timesOf(ctx, j, r))
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

// showStep shows everything that is recorded about a step.
func (c *command) showStep(ctx context.Context, j *history.Journal, r *history.Run, place string) error {
	at, err := history.ParseStepPath(place)
	if err != nil {
		return err
	}
	var found bool
	times := timesOf(ctx, j, r)
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
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
		return value.Errorf(value.NotFound, "the run '%s' has no step %q", r.ID, place).WithHint("list the steps: cassidy runs show %s", r.ID)
	}
	return reportDamage(c.App, damage)
}

// showJSON prints a run as one JSON value, step by step: a long run has more steps than
// one value may hold.
func (c *command) showJSON(ctx context.Context, j *history.Journal, r *history.Run) error {
	var tokens describe.Tokens
	var used agent.Usage
	began, times := false, timesOf(ctx, j, r)
	begin := func() {
		if !began {
			began = true
			markBroken(j, r)
			head := *r
			head.Damage = nil // printed last, with the damage of the steps
			d := head.Dict()
			if times != nil {
				describe.PutTimes(d)(times.Run())
			}
			if r.Err != nil {
				ui.PutError(d, r.Err)
			}
			c.Print(ui.JSONText(strings.TrimSuffix(describe.JSON(d), "}")) + `,"steps":[`)
		}
	}
	comma := ""
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		begin()
		d := describe.StepDict(e, times)
		if damage != nil {
			d = value.NewDict("place", e.StepPath.String(), "damage", damage.Error())
		} else {
			tokens.Count(e)
			used.Add(agent.StepUsage(e.Outcome.Value, e.Notes))
		}
		c.Print(comma + ui.JSONText(describe.JSON(d)))
		comma = ","
	})
	if err != nil && !began {
		return err
	}
	begin()
	end := value.NewDict("input_tokens", tokens.In, "output_tokens", tokens.Out, "usage", used.Dict(), "waits", nil)
	if w := describe.WaitOf(ctx, j, r); w != nil {
		end.Put("waits", w.Dict())
	}
	if damage == nil {
		damage = err
	}
	if damage != nil {
		end.Put("damage", damage.Error())
	}
	c.Print("]," + ui.JSONText(strings.TrimPrefix(describe.JSON(end), "{")) + "\n")
	return reportDamage(c.App, damage)
}
