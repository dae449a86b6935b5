package describe

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ListedRun returns a run as runs list --json prints it. undone says that it was undone.
func ListedRun(ctx context.Context, j *history.Journal, r *history.Run, undone bool) *value.Dict {
	MarkBroken(j, r)
	d := r.Dict()
	d.Put("undone", undone)
	if w := WaitOf(ctx, j, r); w != nil {
		d.Put("waits", w.Dict())
	}
	return d
}

// WriteRun writes a run as runs show --json prints it, step by step: a long run has more steps than
// one value may hold. It returns the damage of the record, or an error if nothing was written.
func WriteRun(ctx context.Context, j *history.Journal, r *history.Run, write func(text string)) (damage, err error) {
	var tokens Tokens
	var used agent.Usage
	began, times := false, TimesOf(ctx, j, r)
	begin := func() {
		if !began {
			began = true
			write(strings.TrimSuffix(JSON(runHead(j, r, times)), "}") + `,"steps":[`)
		}
	}
	comma := ""
	damage, err = EachStep(ctx, j, r, func(e *history.Entry, damage error) {
		begin()
		d := StepDict(e, times)
		if damage != nil {
			d = value.NewDict("place", e.StepPath.String(), "damage", damage.Error())
		} else {
			tokens.Count(e)
			used.Add(agent.StepUsage(e.Outcome.Value, e.Notes))
		}
		write(comma + JSON(d))
		comma = ","
	})
	if err != nil && !began {
		return nil, err
	}
	begin()
	if damage == nil {
		damage = err
	}
	end := value.NewDict("input_tokens", tokens.In, "output_tokens", tokens.Out, "usage", used.Dict(), "waits", nil)
	if w := WaitOf(ctx, j, r); w != nil {
		end.Put("waits", w.Dict())
	}
	if damage != nil {
		end.Put("damage", damage.Error())
	}
	write("]," + strings.TrimPrefix(JSON(end), "{"))
	return damage, nil
}

// runHead returns what WriteRun writes before the steps.
func runHead(j *history.Journal, r *history.Run, times *history.Times) *value.Dict {
	MarkBroken(j, r)
	head := *r
	head.Damage = nil // written last, with the damage of the steps
	d := head.Dict()
	if times != nil {
		PutTimes(d)(times.Run())
	}
	if r.Err != nil {
		PutError(d, r.Err)
	}
	return d
}

// EachStep calls do with each step of a run, and with the error of one whose record is
// damaged but whose step path is known. It returns the damage of the run, or an error if
// nothing can be read.
func EachStep(ctx context.Context, j *history.Journal, r *history.Run, do func(e *history.Entry, damage error)) (damage, err error) {
	for e, err := range j.Entries(ctx, r.ID) {
		if err != nil && value.KindOf(err) != value.Failed {
			return nil, err
		}
		breaksOff := err != nil && len(e.StepPath) == 0
		if breaksOff || err != nil && damage == nil {
			damage = err
		}
		if !breaksOff {
			do(&e, err)
		}
	}
	if damage == nil {
		damage = r.Damage // less precise about where it is
	}
	return damage, nil
}

// MarkBroken sets the reason of a run whose process died.
func MarkBroken(j *history.Journal, r *history.Run) {
	if r.State == history.Running && r.Damage == nil && !j.Held(r.ID) {
		r.Reason = BrokenOff
	}
}

// TimesOf returns the times of a run, or nil if they cannot be read.
func TimesOf(ctx context.Context, j *history.Journal, r *history.Run) *history.Times {
	times, err := j.Times(ctx, r.ID)
	if err != nil {
		return nil // the steps say why
	}
	return times
}

// Undone returns the runs that were undone, without those whose undo was undone too.
func Undone(ctx context.Context, j *history.Journal) map[string]bool {
	undone := map[string]bool{}
	for u, err := range j.Runs(ctx, history.Filter{Kind: undoKind}) { // the newest first: an undo may be undone itself
		if err != nil {
			break // a damaged one is reported where it is shown
		}
		if u.State == history.Done && !undone[u.ID] {
			undone[u.Options.Text("run")] = true
		}
	}
	return undone
}
