package serve

import (
	"cmp"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// actionRoutes are what is done with runs, and the pages before that.
func (s *Server) actionRoutes() []route {
	return []route{
		{pattern: "GET /runs/{id}/cancel", role: Run, page: true, serve: (*request).confirmCancel},
		{pattern: "POST /runs/{id}/cancel", role: Run, page: true, serve: (*request).cancelPage},
		{pattern: "POST /runs/{id}/resume", role: Run, page: true, serve: (*request).resumePage},
		{pattern: "GET /runs/{id}/retry", role: Run, page: true, serve: (*request).confirmRetry},
		{pattern: "POST /runs/{id}/retry", role: Run, page: true, serve: (*request).retryPage},
		{pattern: "GET /runs/{id}/replay", role: View, page: true, serve: (*request).replayedPage},
		{pattern: "POST /runs/{id}/replay", role: Run, page: true, serve: (*request).replayPage},
		{pattern: "GET /runs/{id}/undo", role: Run, page: true, serve: (*request).confirmUndo},
		{pattern: "POST /runs/{id}/undo", role: Run, page: true, serve: (*request).undoPage},
	}
}

// confirmed shows the page before something is done with a run that the user may do.
func (r *request) confirmed(make func(p *project, v *page.Run, run *history.Run) (*page.Confirm, error)) error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	if _, _, err := r.own(); err != nil {
		return err
	}
	t, err := r.s.trails.read(r.Context(), p, run.ID, time.Now().Add(-runPolls))
	if err != nil {
		return err
	}
	c, err := make(p, t.Head(r.zone()), run)
	if err != nil {
		return err
	}
	f, err := r.frame(c.Heading, page.SectionRuns)
	if err != nil {
		return err
	}
	return r.page("confirm", f, c)
}

// confirmCancel shows what it means to cancel a run.
func (r *request) confirmCancel() error {
	return r.confirmed(func(_ *project, v *page.Run, run *history.Run) (*page.Confirm, error) {
		c := v.Cancel(agent.NewID())
		if run.State.Ended() {
			c.NoWay = "The run has ended already."
		}
		return c, nil
	})
}

func (r *request) cancelPage() error {
	form, err := r.fields("why")
	if err != nil {
		return err
	}
	run, err := r.cancel(form.Text("why"))
	if err != nil {
		return err
	}
	return r.seeOther(string(views.RunURL(run.ID)))
}

func (r *request) resumePage() error {
	_, run, err := r.resume()
	if err != nil {
		return err
	}
	return r.seeOther(string(views.RunURL(run.ID)))
}

// confirmRetry shows what it means to do a run again from a step.
func (r *request) confirmRetry() error {
	return r.confirmed(func(_ *project, v *page.Run, run *history.Run) (*page.Confirm, error) {
		step := cmp.Or(r.URL.Query().Get("step"), "1")
		if _, err := history.ParseStepPath(step); err != nil {
			return nil, err
		}
		c := v.Retry(page.Path(step), agent.NewID())
		if !run.State.Ended() && run.State != history.Stuck {
			c.NoWay = "The run has not ended yet."
		}
		return c, nil
	})
}

func (r *request) retryPage() error {
	form, err := r.fields("step")
	if err != nil {
		return err
	}
	_, id, err := r.retry(form.Text("step"))
	if err != nil {
		return err
	}
	return r.seeOther(string(views.RunURL(id)))
}

// confirmUndo shows what an undo of a run does.
func (r *request) confirmUndo() error {
	return r.confirmed(func(p *project, v *page.Run, run *history.Run) (*page.Confirm, error) {
		plan, err := p.op.PlanUndo(r.Context(), run.ID)
		if value.KindOf(err) == value.Conflict && err != nil {
			c := v.Undo(0, nil, nil, "")
			c.NoWay = problemText(r.refusalOf(err))
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		files, points := views.Undo(plan, p.op.Steps(r.Context(), run.ID))
		return v.Undo(len(plan.Left), files, points, agent.NewID()), nil
	})
}

func (r *request) undoPage() error {
	if _, err := r.fields(); err != nil {
		return err
	}
	_, id, err := r.undo()
	if err != nil {
		return err
	}
	return r.seeOther(string(views.RunURL(id)))
}
