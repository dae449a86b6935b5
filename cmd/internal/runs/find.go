package runs

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// all returns the runs that a filter selects. If some cannot be read, it returns the
// others and an error.
func all(ctx context.Context, j *history.Journal, f history.Filter) ([]history.Run, error) {
	return some(ctx, j, f, func(*history.Run) bool { return true })
}

// some returns those of all that in selects too.
func some(ctx context.Context, j *history.Journal, f history.Filter, in func(*history.Run) bool) (runs []history.Run, err error) {
	most := f.Limit
	f.Limit = 0
	for r, err := range j.Runs(ctx, f) {
		if err != nil {
			return runs, err
		}
		if !in(&r) {
			continue
		}
		if runs = append(runs, r); len(runs) == most {
			break
		}
	}
	return runs, nil
}

// withRun returns an action on the run that the argument names.
func (c *command) withRun(do func(*cli.Context, *history.Journal, *history.Run) error) cli.ActionFunc {
	return c.WithRuns(func(ctx *cli.Context, j *history.Journal) error {
		r, err := find(ctx.Context, j, ctx.Args().First())
		if err != nil {
			return err
		}
		return do(ctx, j, r)
	})
}

// find finds a run by its ID, by a unique prefix of it, or as the last one. Only for a run that is not
// found are all others read: to name similar IDs, and those whose record is damaged.
func find(ctx context.Context, j *history.Journal, id string) (*history.Run, error) {
	f := history.Filter{Prefix: id}
	if id == app.LastRun {
		f = history.Filter{Limit: 1}
	}
	if runs, err := all(ctx, j, f); err == nil && id != "" {
		for i := range runs {
			if len(runs) == 1 || runs[i].ID == id {
				return &runs[i], nil
			}
		}
	}
	runs, err := all(ctx, j, history.Filter{})
	if err != nil && len(runs) == 0 {
		return nil, err
	}
	var known []string
	var begins []*history.Run
	for i := range runs {
		if runs[i].ID == id || id == app.LastRun && i == 0 {
			return &runs[i], nil
		}
		if known = append(known, runs[i].ID); strings.HasPrefix(runs[i].ID, id) {
			begins = append(begins, &runs[i])
		}
	}
	switch {
	case id == "":
	case len(begins) == 1:
		return begins[0], nil
	case len(begins) > 1:
		return nil, value.Errorf(value.Invalid, "%q is a prefix of %d run IDs", id, len(begins)).WithHint("type a longer prefix, such as %s", begins[0].ID)
	}
	if err != nil {
		return nil, value.Errorf(value.Failed, "there is no run %q among those that can be read: %w", id, err)
	}
	return nil, value.Errorf(value.Invalid, "there is no run %q%s", id, value.DidYouMean(id, known)).WithHint("cassidy runs list")
}

// checkOpen refuses a run that has ended.
func checkOpen(r *history.Run) error {
	if !r.State.Ended() {
		return nil
	}
	hint := "to repeat the run from its record: cassidy runs replay " + r.ID
	if again := describe.Repair(r); again != "" {
		hint = again
	}
	return value.Errorf(value.Conflict, "the run '%s' has ended: %s", r.ID, r.State).WithHint("to see the steps: cassidy runs show %s; %s", r.ID, hint)
}

// reportDamage reports that a record is damaged, if it is, and returns the error that
// ends the command. What can be read was printed before.
func reportDamage(a *app.App, err error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	if e.Kind == value.Failed {
		e.Hint = "" // it is to look at what can be read
	}
	a.Report(&e)
	return ui.Reported(&e)
}
