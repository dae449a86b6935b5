package runs

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// followEvery is the least time between two readings of a followed run. A long record,
// which takes longer to read, is read less often.
const followEvery = 300 * time.Millisecond

// A follower shows a run while it is executed.
type follower struct {
	*command
	j     *history.Journal
	shown map[string]bool // the steps that were shown, and the questions
}

// follow shows a run: each step once it has ended, and each question, until the run ends
// or is found to have no process. With --json each step is a line, and the run is the last.
func (c *command) follow(ctx context.Context, j *history.Journal, r *history.Run) error {
	f := &follower{c, j, map[string]bool{}}
	switch {
	case c.JSON:
	case ui.IsTerminal(c.Out):
		v := c.view(r, nil)
		v.PrintLines(append(v.head(agent.Usage{}, undosOf(ctx, j, r.ID), nil), ""))
	default:
		page{c.App}.head(r, agent.Usage{}, undosOf(ctx, j, r.ID), nil)
	}
	for died := false; ; {
		began := time.Now()
		now, err := j.Run(ctx, r.ID) // before its steps, to miss none
		if err != nil {
			return err
		}
		damage, err := f.update(ctx, &now)
		if err != nil {
			return err
		}
		// A process ends its run a moment before it releases it, so one look is not enough.
		wasDead := died
		died = now.State == history.Running && !j.Held(r.ID)
		if now.State.Ended() || now.State == history.Stuck || damage != nil || died && wasDead {
			return f.end(&now, damage)
		}
		select {
		case <-time.After(max(followEvery, 10*time.Since(began))):
		case <-ctx.Done():
			return value.AsError(context.Cause(ctx), value.Canceled)
		}
	}
}

// update shows what is new. It returns the damage of the record, or an error if nothing can
// be read.
func (f *follower) update(ctx context.Context, r *history.Run) (damage, err error) {
	if f.JSON {
		times := describe.TimesOf(ctx, f.j, r)
		return describe.EachStep(ctx, f.j, r, func(e *history.Entry, damage error) {
			if damage == nil && (!e.Settled.IsZero() || r.State.Ended()) && f.isNew(e.StepPath.String()) {
				f.Print(ui.JSONText(describe.JSON(describe.StepDict(e, times))) + "\n")
			}
		})
	}
	all, err := describe.StepsOf(ctx, f.j, r, nil)
	if err != nil {
		return nil, err
	}
	steps, w, damage := all.Steps, all.Wait, all.Damage
	if ui.IsTerminal(f.Out) {
		f.draw(r, steps, w)
		return damage, nil
	}
	p, width := page{f.App}, placeWidth(steps)
	for i := range steps {
		s := &steps[i]
		open := s.Mark == describe.Waits || s.Mark == describe.Unknown
		if (!open || r.State.Ended()) && f.isNew(s.StepPath.String()) && (!s.Internal || f.Verbose) {
			p.step(s, width)
		}
	}
	if w != nil && !f.hasShown(w.Questions) && f.isNew(w.Todo()+w.Text()) {
		p.wait(w)
	}
	return damage, nil
}

// draw draws what is new on a terminal.
func (f *follower) draw(r *history.Run, steps []describe.Step, w *describe.Wait) {
	v := f.view(r, w)
	rows, _ := v.rowsOf(steps)
	l := v.layout(rows)
	for i := range rows {
		open := rows[i].Mark == describe.Waits || rows[i].Mark == describe.Unknown
		if (!open || r.State.Ended()) && f.isNew(rows[i].StepPath.String()) {
			v.PrintLines(v.step(&rows[i], l))
		}
	}
	if w != nil && !f.hasShown(w.Questions) && f.isNew(w.Todo()+w.Text()) {
		v.PrintLines(v.wait(nil))
	}
}

// hasShown reports whether the steps that asked the questions have ended and were shown. The steps
// are read after the questions, so a question can be out of date.
func (f *follower) hasShown(questions []history.Asked) bool {
	return len(questions) > 0 && !slices.ContainsFunc(questions, func(q history.Asked) bool { return !f.shown[q.StepPath.String()] })
}

// isNew reports whether something was not shown before.
func (f *follower) isNew(what string) bool {
	if f.shown[what] {
		return false
	}
	f.shown[what] = true
	return true
}

// end shows how the run has ended.
func (f *follower) end(r *history.Run, damage error) error {
	describe.MarkBroken(f.j, r)
	if f.JSON {
		f.Print(ui.JSONText(describe.JSON(r.Dict())) + "\n")
		return reportDamage(f.App, damage)
	}
	if ui.IsTerminal(f.Out) {
		v := f.view(r, nil)
		v.PrintLines(slices.Concat([]string{""}, v.Message(markOf(r, nil), v.state()), v.outcome()))
		return reportDamage(f.App, damage)
	}
	p := page{f.App}
	p.Print("\n")
	p.line("state", stateText(r))
	p.outcome(r)
	p.todo(r)
	return reportDamage(f.App, damage)
}
