package runs

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// defaultJobs is how many due runs are resumed at the same time.
const defaultJobs = 4

// resumeDue resumes all runs that can be resumed, several at the same time. A run that
// another process executes or has ended meanwhile is skipped. Each failure is reported; the
// first one is returned.
func (c *command) resumeDue(ctx *cli.Context) error {
	due, stuck, failures := c.due(ctx)
	if len(due) == 0 && len(failures) == 0 {
		c.Note("no run is due")
	}
	if stuck > 0 {
		c.Note("left out, because nobody can continue: %s; to list: cassidy runs list --state stuck", ui.Count(stuck, "run"))
	}
	if jobs := min(ctx.Int("jobs"), len(due)); jobs > 1 {
		failures = append(failures, c.resumeTogether(ctx, due, jobs)...)
	} else {
		for i := range due {
			failures = append(failures, c.resumeOne(ctx, &due[i], &app.World{In: c.In, Out: c.Out, Err: c.Err, Env: c.Env}))
		}
	}
	return cmp.Or(failures...)
}

// resumeTogether resumes runs, so many at the same time. Nobody is asked, and what each
// prints comes when it ends.
func (c *command) resumeTogether(ctx *cli.Context, due []history.Run, jobs int) []error {
	failures := make([]error, len(due))
	var printing sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, jobs)
	for i := range due {
		turns <- struct{}{}
		all.Go(func() {
			var out bytes.Buffer
			messages := ui.Held{Stream: c.Err}
			failures[i] = c.resumeOne(ctx, &due[i], &app.World{In: strings.NewReader(""), Out: &out, Err: &messages, Env: c.Env})
			printing.Lock()
			defer printing.Unlock()
			_, _ = messages.WriteTo(c.Err)
			c.Print(out.String())
			<-turns
		})
	}
	all.Wait()
	return failures
}

// due returns the runs that are due, the oldest first, but for turns of chats whose process
// died: their user is there, or has left. It also returns how many are stuck. Records that cannot be
// read are reported.
func (c *command) due(ctx *cli.Context) (due []history.Run, stuck int, failures []error) {
	err := c.WithRuns(func(ctx *cli.Context, j *history.Journal) error {
		for r, err := range j.Resumable(ctx.Context, time.Now()) {
			switch {
			case err != nil:
				failures = append(failures, c.ReportOnce(err))
			case r.Kind != "chat" || r.State != history.Running:
				due = append(due, r)
			}
		}
		left, err := all(ctx.Context, j, history.Filter{States: []history.State{history.Stuck}})
		if stuck = len(left); err != nil || !ctx.Bool("faults") {
			return err
		}
		parked, err := all(ctx.Context, j, history.Filter{States: []history.State{history.Parked}})
		for _, r := range parked {
			if history.Repair(r.Reason) != "" && time.Now().Before(r.Wake) {
				due = append(due, r)
			}
		}
		return err
	})(ctx)
	if err != nil {
		failures = append(failures, err)
	}
	slices.Reverse(due)
	return due, stuck, failures
}

// resumeOne resumes one of the due runs, as if it were the only one. Ctrl-C interrupts it
// and does not cancel it. A failure is reported before it is returned.
func (c *command) resumeOne(ctx *cli.Context, r *history.Run, w *app.World) error {
	one := &command{c.Fork(w)}
	if one.isTaken(ctx, r.ID) {
		return nil
	}
	one.About = "run " + r.ID + " (" + ui.CutShown(r.Title, draw.MaxText/2) + ")"
	err := one.resume(ctx, r.ID)
	if value.KindOf(err) == value.Conflict && one.isTaken(ctx, r.ID) {
		return nil // another process was faster
	}
	if err = one.ReportOnce(err); value.KindOf(err) == value.Parked {
		return nil
	}
	return err
}

// isTaken reports whether another process executes a run, or has ended it.
func (c *command) isTaken(ctx *cli.Context, id string) (taken bool) {
	_ = c.WithRuns(func(ctx *cli.Context, j *history.Journal) error {
		r, err := j.Run(ctx.Context, id)
		taken = err == nil && (r.State.Ended() || j.Held(id))
		return err
	})(ctx)
	return taken
}
