package serve

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// runRoutes are the pages of one run.
func (s *Server) runRoutes() []route {
	return []route{
		{pattern: "GET /runs/{id}", role: View, page: true, serve: (*request).runPage},
		{pattern: "GET /live/run/{id}", role: View, page: true, stream: true, serve: (*request).liveRun},
	}
}

// runPage shows a run.
func (r *request) runPage() error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	t, err := r.s.trails.read(r.Context(), p, run.ID, time.Now())
	if err != nil {
		return err
	}
	f, err := r.frame(views.Title(t.Run), page.SectionRuns)
	if err != nil {
		return err
	}
	v, err := r.runView(p, t)
	if err != nil {
		return err
	}
	f.Live = with("/live"+page.URL(strings.Replace(r.URL.EscapedPath(), "/runs/", "/run/", 1)), "at", stamp(t.At))
	if step := r.URL.Query().Get("step"); step != "" {
		f.Live = with(f.Live, "step", step)
	}
	return r.page("run", f, v)
}

// runView returns the page of a run, whose pane is what the query names, or else what needs attention.
func (r *request) runView(p *project, t *views.Trail) (*page.Run, error) {
	v := t.Head(r.zone())
	query := r.URL.Query()
	path, named := page.Path(query.Get("step")), query.Has("step")
	var err error
	if v.Pane, path, err = r.pane(p, t, path, named); err != nil {
		return nil, err
	}
	v.Tree = page.NewTree(t.Run.ID, t.Tree, path, page.Path(query.Get("from")))
	v.SetButtons(page.RunRights{May: mayAct(r.user, t.Run), Failed: t.Failed, Undo: t.Undoes && !t.Undone && t.Run.Kind != "undo" || t.Undoes && t.Run.Kind == "undo", Replay: mayAct(r.user, t.Run) && mayReplay(t.Run), Record: -1}, agent.NewID())
	return v, nil
}

// pane returns what stands beside the tree, and its step. A run that waits opens at its question.
func (r *request) pane(p *project, t *views.Trail, path page.Path, named bool) (page.Pane, page.Path, error) {
	if t.Wait != nil {
		for i := range t.Wait.Questions {
			q := &t.Wait.Questions[i]
			if at := page.Path(q.StepPath.String()); !named && q.Answer == nil || named && at == path {
				v := r.questionView(p, t, q)
				v.Nth, v.Of = i+1, len(t.Wait.Questions)
				return page.Pane{Question: v}, at, nil
			}
		}
	}
	if !named {
		path = t.Opens()
	}
	q := r.valueQuery(p, t, path)
	if path == "" {
		return page.Pane{Step: t.Result(q, r.zone())}, "", nil
	}
	e, err := r.entry(p, t.Run, path)
	if err != nil {
		return page.Pane{}, "", err
	}
	return page.Pane{Step: t.Step(e, q, r.zone())}, path, nil
}

// entry returns the record of a step, or of a call of a reply.
func (r *request) entry(p *project, run *history.Run, path page.Path) (*history.Entry, error) {
	at, err := history.ParseStepPath(string(path))
	if err != nil {
		return nil, err
	}
	if e := views.Entry(p.op.Steps(r.Context(), run.ID), at); e != nil {
		return e, nil
	}
	return nil, &pageProblem{&page.Problem{Code: http.StatusNotFound, Heading: "There is no step " + value.Clean(string(path), 40) + " in this run", Links: []page.Link{{Text: "The run", Href: views.RunURL(run.ID)}}},
		value.Errorf(value.NotFound, "the run '%s' has no step %q", run.ID, at)}
}

// valueQuery returns how the value of a step is shown.
func (r *request) valueQuery(p *project, t *views.Trail, path page.Path) page.ValueQuery {
	at := views.RunURL(t.Run.ID)
	q := page.ReadValueQuery(at, r.URL.Query())
	q.Keep.Del("at")
	q.Keep.Del("after")
	if path == "" {
		path = "result"
	}
	q.Media, q.Raw = at+"/media/", at+"/steps/"+page.URL(path)+"/value"
	q.CSV = q.Raw + "?form=csv"
	return q
}

// trails are what some runs did, for all who look at them now.
type trails struct {
	mu   sync.Mutex
	kept map[feedKey]*keptTrail
}

// A keptTrail is read by one at a time.
type keptTrail struct {
	mu    sync.Mutex
	took  time.Duration
	trail *views.Trail
}

// mostTrails is how many are kept.
const mostTrails = 64

// read returns what a run has done, as of a time or later.
func (s *trails) read(ctx context.Context, p *project, id string, notBefore time.Time) (*views.Trail, error) {
	k := s.keep(feedKey{p, id})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trail != nil && !k.trail.At.Before(notBefore) {
		return k.trail, nil
	}
	j, err := p.op.Journal()
	if err != nil {
		return nil, err
	}
	run, err := j.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := views.Read(ctx, j, &run, p.undone.has(ctx, p, id))
	if err != nil {
		return nil, err
	}
	k.took, k.trail = time.Since(t.At), t
	return t, nil
}

// keep returns the place of a trail.
func (s *trails) keep(key feedKey) *keptTrail {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[key] == nil {
		if s.kept == nil || len(s.kept) >= mostTrails {
			s.kept = map[feedKey]*keptTrail{}
		}
		s.kept[key] = &keptTrail{}
	}
	return s.kept[key]
}

const (
	runEvery = 200 * time.Millisecond // how often a page of a run changes at most
	runShare = 5                      // and how much longer than it takes to read the run
	runPolls = 2 * time.Second        // how often a run is read of which no event came
	runSlack = 5 * time.Second        // by which the clocks of two processes may differ
)

// liveRun streams what changes in the page of a run.
func (r *request) liveRun() error {
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	since, err := time.Parse(time.RFC3339Nano, lastID(r, r.URL.Query().Get("at")))
	return r.live(func(l *live) error {
		w := &runWatch{live: l, p: p, id: run.ID}
		if err != nil { // it is no time of ours
			if err := w.resync(""); err != nil {
				return err
			}
		}
		if err := w.first(since); err != nil {
			return err
		}
		feed, events := r.s.feeds.join(p, run.ID)
		defer r.s.feeds.leave(feed, events)
		go w.listen(events)
		tick := time.NewTicker(runEvery)
		defer tick.Stop()
		return each(l, tick.C, func(now time.Time) error { return w.look(now) })
	})
}

// A runWatch sends what changes in the page of a run.
type runWatch struct {
	*live
	p     *project
	id    string
	trail *views.Trail // that was sent
	parts map[string]string
	next  time.Time // not before it is the run read again

	mu    sync.Mutex
	heard time.Time // when the last event came
}

// listen notes when events come.
func (w *runWatch) listen(events *follower) {
	for range events.events {
		w.mu.Lock()
		w.heard = time.Now()
		w.mu.Unlock()
	}
}

// first remembers what the page has, and sends what has changed since it was made.
func (w *runWatch) first(since time.Time) error {
	t, err := w.r.s.trails.read(w.r.Context(), w.p, w.id, time.Now().Add(-runPolls))
	if err != nil {
		return err
	}
	w.trail, w.parts = t, map[string]string{}
	if t.At.Equal(since) {
		return w.rest(nil)
	}
	if err := w.steps(t.Changed(nil, since.Add(-runSlack))); err != nil {
		return err
	}
	return w.rest(w.sendPart)
}

// sendPart sends a part of the page.
func (w *runWatch) sendPart(html string) error { return w.send("part", stamp(w.trail.At), html) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// look sends what has changed, if something may have.
func (w *runWatch) look(now time.Time) error {
	w.mu.Lock()
	heard := w.heard
	w.mu.Unlock()
	kept := w.r.s.trails.keep(feedKey{w.p, w.id})
	since := now.Add(-runPolls)
	if heard.After(w.next.Add(-runEvery)) {
		since = heard
	}
	if now.Before(w.next) {
		return nil
	}
	t, err := w.r.s.trails.read(w.r.Context(), w.p, w.id, since)
	if err != nil {
		return err
	}
	w.next = time.Now().Add(max(runEvery, runShare*kept.took))
	if t == w.trail {
		return nil
	}
	old := w.trail
	w.trail = t
	if err := w.steps(t.Changed(old, time.Time{})); err != nil {
		return err
	}
	if old.Run.State != t.Run.State && t.Run.State.Ended() {
		if err := w.say("The run is " + t.Run.State.String()); err != nil {
			return err
		}
	}
	return w.rest(w.sendPart)
}

// mostRow is how many steps are sent with one in which they are.
const mostRow = 500

// steps sends the rows of steps.
func (w *runWatch) steps(list []*page.Step) error {
	for _, s := range list {
		if page.CountSteps(s) > mostRow {
			continue
		}
		row := page.StepRow(w.id, s)
		if err := w.part("step-row", &row, stamp(w.trail.At)); err != nil {
			return err
		}
	}
	return nil
}

// rest sends the parts of the page that are no steps, if they have changed. If send is nil, the page has them.
func (w *runWatch) rest(send func(html string) error) error {
	v, err := w.r.runView(w.p, w.trail)
	if err != nil {
		return err
	}
	name, pane := "step", any(v.Pane.Step)
	if v.Pane.Question != nil {
		name, pane = "question", v.Pane.Question
	}
	labels := ""
	for _, b := range append(v.Buttons[:len(v.Buttons):len(v.Buttons)], v.Menu...) {
		labels += b.Label + "\n"
	}
	for _, part := range []struct {
		name string
		view any
		text string // that decides whether it has changed; "" is the part itself
	}{{"run-head", v, ""}, {"run-notes", v, ""}, {name, pane, ""}, {"run-acts", v, labels}} {
		html, err := w.r.s.pages.RenderPart(part.name, part.view)
		if err != nil {
			return err
		}
		text := html
		if part.text != "" {
			text = part.text
		}
		id := part.name
		if part.view == pane {
			id = "pane"
		}
		if w.parts[id] == text {
			continue
		}
		if w.parts[id] = text; send == nil {
			continue
		}
		if err := send(html); err != nil {
			return err
		}
	}
	return nil
}
