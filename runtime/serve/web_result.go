package serve

import (
	"net/url"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// result returns the view of a run, beside the form that began it. The query of the page selects the part of the value
// that is shown.
func (d *deed) result(r *request, run *history.Run, query url.Values) (*page.ResultView, error) {
	j, err := d.op.Journal()
	if err != nil {
		return nil, err
	}
	v := &page.ResultView{
		Run: run.ID, By: views.By(run), At: run.Started.In(r.zone()), Status: views.Status(r.Context(), j, run, r.zone()), Again: d.url(r, "from", run.ID),
	}
	if times := describe.TimesOf(r.Context(), j, run); times != nil && run.State.Ended() {
		v.Took, _ = times.Run()
	}
	switch {
	case run.State == history.Done:
		return v, d.show(r, v, run, query)
	case run.Err != nil:
		v.Failure = views.Failure(run.Err)
	case run.State == history.Stuck:
		v.Failure = &page.Failure{Message: run.Stuck, Hint: run.Unstick()}
	case run.Damage != nil:
		v.Failure = views.Failure(value.ErrorOf(run.Damage, value.Failed))
	}
	if w := describe.WaitOf(r.Context(), j, run); w != nil {
		for i := range w.Questions {
			if w.Questions[i].Answer == nil {
				v.Asks = (&page.QuestionRow{ID: w.Questions[i].ID}).URL()
				break
			}
		}
	}
	return v, nil
}

// show shows the value of a run that is done.
func (d *deed) show(r *request, v *page.ResultView, run *history.Run, query url.Values) error {
	result, err := d.Host.Resume(r.Context(), run.ID) // which has ended
	if err != nil && result.Error == "" {
		return err
	}
	at := views.RunURL(run.ID)
	q := page.ReadValueQuery(page.URL("/"+string(d.section)+"/"+url.PathEscape(d.info.Name)), query)
	q.Keep.Set("run", run.ID)
	q.Keep.Del("from")
	if in := r.several(d.project); in != "" {
		q.Keep.Set("project", in)
	}
	q.Raw, q.Media = at+"/steps/result/value", at+"/media/"
	q.CSV = q.Raw + "?form=csv"
	v.Value = page.ShowValue(result.Value, q)
	v.Value.Notes = result.Notes
	return nil
}

// liveResult streams the result of a run to the page with the form that began it, until it has ended.
func (r *request) liveResult() error {
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	section, name := deedName(run)
	if section == "" {
		return value.Errorf(value.NotFound, "the run '%s' was not begun with a form", run.ID)
	}
	d, err := p.deed(r.Context(), section, name)
	if err != nil {
		return err
	}
	return r.live(func(l *live) error {
		shown := page.Status{}
		return l.watch(p, run.ID, func(now *history.Run, _ tool.Event) error {
			if now == nil {
				return nil
			}
			v, err := d.result(r, now, url.Values{})
			if err != nil || v.Status == shown {
				return err
			}
			if shown = v.Status; now.State.Ended() {
				_ = l.say(d.info.Name + " has ended") // the next write fails too
			}
			return l.part("result", v, "")
		})
	})
}
