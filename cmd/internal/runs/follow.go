package runs

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
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
	read    func(ctx context.Context) (*describe.Record, error)
	changed func(ctx context.Context, took time.Duration) error // waits until the record may have changed, whose reading took so long
	shown   map[string]bool                                     // the steps that were shown, and the questions
}

// waitAWhile waits until a record in a journal is read again.
func waitAWhile(ctx context.Context, took time.Duration) error {
	select {
	case <-time.After(max(followEvery, 10*took)):
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// follow shows a run: each step once it has ended, and each question, until the run ends
// or is found to have no process. With --json each step is a line, and the run is the last.
func (f *follower) follow(ctx context.Context) error {
	for died := false; ; {
		began := time.Now()
		now, err := f.read(ctx) // the run before its steps, to miss none
		if err != nil {
			return err
		}
		if f.shown == nil {
			f.shown = map[string]bool{}
			f.begin(now)
		}
		damage, err := f.update(now)
		if err != nil {
			return err
		}
		// A process ends its run a moment before it releases it, so one look is not enough.
		wasDead, state := died, now.Run.State
		died = state == history.Running && !now.Live
		if state.Ended() || state == history.Stuck || damage != nil || died && wasDead {
			return f.end(now, damage)
		}
		if err := f.changed(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// begin shows what the run is.
func (f *follower) begin(r *describe.Record) {
	switch {
	case f.JSON:
	case ui.IsTerminal(f.Out):
		v := f.view(r.Run, nil)
		v.PrintLines(append(v.head(agent.Usage{}, r.Undos(), nil), ""))
	default:
		page{f.App}.head(r.Run, agent.Usage{}, r.Undos(), nil)
	}
}

// update shows what is new. It returns the damage of the record, or an error if nothing can
// be read.
func (f *follower) update(r *describe.Record) (damage, err error) {
	ended := r.Run.State.Ended()
	if f.JSON {
		return r.Each(func(e *history.Entry, damage error) {
			if damage == nil && (!e.Settled.IsZero() || ended) && f.isNew(e.StepPath.String()) {
				f.Print(ui.JSONText(describe.JSON(describe.StepDict(e, r.Times))) + "\n")
			}
		})
	}
	all, err := r.Steps(nil)
	if err != nil {
		return nil, err
	}
	steps, damage := all.Steps, all.Damage
	if ui.IsTerminal(f.Out) {
		f.draw(r, steps)
		return damage, nil
	}
	p, width := page{f.App}, placeWidth(steps)
	for i := range steps {
		s := &steps[i]
		open := s.Mark == describe.Waits || s.Mark == describe.Unknown
		if (!open || ended) && f.isNew(s.StepPath.String()) && (!s.Internal || f.Verbose) {
			p.step(s, width)
		}
	}
	if w := r.Wait; w != nil && !f.hasShown(w.Questions) && f.isNew(w.Todo()+w.Text()) {
		p.wait(w)
	}
	return damage, nil
}

// draw draws what is new on a terminal.
func (f *follower) draw(r *describe.Record, steps []describe.Step) {
	v := f.view(r.Run, r.Wait)
	rows, _ := v.rowsOf(steps)
	l := v.layout(rows)
	for i := range rows {
		open := rows[i].Mark == describe.Waits || rows[i].Mark == describe.Unknown
		if (!open || r.Run.State.Ended()) && f.isNew(rows[i].StepPath.String()) {
			v.PrintLines(v.step(&rows[i], l))
		}
	}
	if w := r.Wait; w != nil && !f.hasShown(w.Questions) && f.isNew(w.Todo()+w.Text()) {
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
func (f *follower) end(now *describe.Record, damage error) error {
	now.MarkBroken()
	r := now.Run
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
