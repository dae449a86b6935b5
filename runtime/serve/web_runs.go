package serve

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// runPageRoutes are the pages of runs.
func (s *Server) runPageRoutes() []route {
	return []route{
		{pattern: "GET /runs", role: View, page: true, serve: (*request).runsPage},
		{pattern: "GET /live/runs", role: View, page: true, stream: true, serve: (*request).liveRuns},
	}
}

// A runsQuery is which runs a page lists.
type runsQuery struct {
	listing
	filter page.Filter
	all    map[page.State]int // how many runs of the kind there are, by state; "" is all
}

// runsPage shows the list of runs.
func (r *request) runsPage() error {
	if q := r.URL.Query(); q.Has("project") {
		r.prefer(projectCookie, r.chosen())
	}
	q, err := r.runsQuery()
	if err != nil {
		return err
	}
	f, err := r.frame("Runs", page.SectionRuns)
	if err != nil {
		return err
	}
	v := &page.Runs{Today: r.s.now().In(f.Zone), Filter: q.filter, Tabs: page.RunTabs(q.filter, q.all)}
	at := r.s.board.at(r.Context(), r.s)
	if q.all[""] == 0 && q.filter == (page.Filter{}) {
		v.First, err = r.first(q.projects)
	} else {
		err = r.fillRuns(v, q)
	}
	if err != nil {
		return err
	}
	if r.user.Role >= Run {
		v.New = "/tools"
	}
	if v.Live() {
		f.Live = q.live(at, v)
	}
	return r.page("runs", f, v)
}

// runsQuery reads the query of the list of runs. What it does not know selects everything.
func (r *request) runsQuery() (q runsQuery, err error) {
	get := r.URL.Query().Get
	q.filter = page.Filter{State: page.State(get("state")), Query: strings.TrimSpace(get("q")), Kind: page.Kind(get("kind")), Since: page.Since(get("since"))}
	q.projects, q.limit, q.q = r.shown(), listed, strings.ToLower(q.filter.Query)
	q.listing.filter.Kind, q.listing.filter.States = views.Kinds[q.filter.Kind], views.States[q.filter.State]
	if q.listing.filter.Kind == "" {
		q.filter.Kind = ""
	}
	if q.listing.filter.States == nil {
		q.filter.State = ""
	}
	today := r.s.now().In(r.zone())
	today = time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, today.Location())
	switch q.filter.Since {
	case page.Today:
		q.since = today
	case page.SevenDays:
		q.since = today.AddDate(0, 0, -6)
	case page.Month:
		q.since = today.AddDate(0, 0, -29)
	default:
		q.filter.Since = ""
	}
	if err := q.begin(r, get("before")); err != nil {
		return q, err
	}
	q.all, err = countRuns(r.Context(), q.projects, q.listing.filter.Kind)
	return q, err
}

// countRuns counts the runs of a kind, by the states of the tabs.
func countRuns(ctx context.Context, projects []*project, kind string) (map[page.State]int, error) {
	all := map[page.State]int{}
	for _, p := range projects {
		n, err := p.Host.CountRuns(ctx, history.Filter{Project: p.op.Project(), Kind: kind})
		if err != nil {
			return nil, err
		}
		for tab, states := range views.States {
			for _, s := range states {
				all[tab] += n[s]
				all[""] += n[s]
			}
		}
	}
	return all, nil
}

// fillRuns fills the list.
func (r *request) fillRuns(v *page.Runs, q runsQuery) error {
	runs, next, err := q.find(r.Context())
	if err != nil {
		return err
	}
	zone := r.zone()
	for i := range runs {
		row := r.s.row(r.Context(), runs[i].project, &runs[i].Run, zone)
		if n := len(v.Days); n == 0 || !sameDay(v.Days[n-1].Date, row.Started) {
			v.Days = append(v.Days, page.Day{Date: row.Started})
		}
		d := &v.Days[len(v.Days)-1]
		d.Rows = append(d.Rows, row)
	}
	if len(runs) == 0 {
		v.NoMatch = &page.NoMatch{Filter: q.filter, Among: q.all[q.filter.State], All: q.all[""]}
	}
	if !q.filter.Any() || q.filter.Query == "" && q.filter.Since == "" {
		v.Total = q.all[q.filter.State]
	}
	if next != "" {
		v.Older = with(q.filter.URL(), "before", next)
	}
	if len(q.after) > 0 {
		v.Newest = q.filter.URL()
	}
	v.Waits, err = waits(r.Context(), q.projects, zone)
	return err
}

func sameDay(a, b time.Time) bool { return a.Year() == b.Year() && a.YearDay() == b.YearDay() }

// with returns an address with another parameter.
func with(u page.URL, name, text string) page.URL {
	join := "?"
	if strings.Contains(string(u), "?") {
		join = "&"
	}
	return u + page.URL(join+url.Values{name: {text}}.Encode())
}

// waits says how many questions are open, or nil for none.
func waits(ctx context.Context, projects []*project, zone *time.Location) (*page.Waits, error) {
	var w openWaits
	for _, p := range projects {
		list, err := p.inbox.read(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, run := range list {
			for i := range run.asked {
				w.add(&run.Run, &run.asked[i], zone)
			}
		}
	}
	if w.Count == 0 {
		return nil, nil
	}
	return &w.Waits, nil
}

// openWaits are open questions, which are counted.
type openWaits struct{ page.Waits }

func (w *openWaits) add(run *history.Run, q *history.Asked, zone *time.Location) {
	if q.Answer != nil {
		return
	}
	if w.Count++; w.Count == 1 || q.Asked.Before(w.Asked) {
		w.Asked = q.Asked.In(zone)
		w.Oldest = page.Link{Text: views.Title(run) + ": " + views.Asks(&q.Question), Href: (&page.QuestionRow{ID: q.ID}).URL()}
	}
}

// first says how a first run can begin.
func (r *request) first(projects []*project) (*page.First, error) {
	v := &page.First{MayRun: r.user.Role >= Run, Command: "cassidy run NAME"}
	for _, p := range projects {
		for _, t := range p.Host.List() {
			switch t.State {
			case toolset.Ready:
				v.Tools++
			case toolset.Untrusted:
				v.Unreviewed++
			}
		}
		if p.Agent != nil {
			v.Setup = p.noModel(r.Context(), "")
			v.Model = v.Model || v.Setup == ""
		}
		flows, err := p.Workflows(r.Context())
		if err != nil {
			return nil, err
		}
		for i := range flows {
			if v.Workflow == "" && (flows[i].State == "" || flows[i].State == toolset.Ready) {
				v.Workflow, v.About = flows[i].Tool.Name, describe.FirstLine(flows[i].Tool.Description)
			}
		}
	}
	return v, nil
}

// summaries are those of the runs that have ended, which stay as they are, and of those that wait, for a moment.
type summaries struct {
	mu   sync.Mutex
	kept map[summaryKey]keptSummary
}

type keptSummary struct {
	*views.Summary
	at time.Time // when it was read
}

// waitTime is how long the summary of a run that waits is used, unless this process executes the run.
const waitTime = 5 * time.Second

type summaryKey struct {
	project *project
	run     string
	ended   time.Time
	state   history.State
}

// row returns a run as lists show it.
func (s *Server) row(ctx context.Context, p *project, run *history.Run, zone *time.Location) page.RunRow {
	undone := p.undone.has(ctx, p, run.ID)
	return views.Row(run, s.summary(ctx, p, run), undone, zone)
}

// summary returns what lists say of a run.
func (s *Server) summary(ctx context.Context, p *project, run *history.Run) *views.Summary {
	key := summaryKey{p, run.ID, run.Ended, run.State}
	s.summaries.mu.Lock()
	kept := s.summaries.kept[key]
	s.summaries.mu.Unlock()
	if kept.Summary != nil && (run.State.Ended() || time.Since(kept.at) < waitTime && kept.at.After(p.inbox.changedAt(run.ID))) {
		return kept.Summary
	}
	began := time.Now()
	j, err := p.op.Journal()
	if err != nil {
		return &views.Summary{Why: value.ErrorOf(err, value.Failed).Message()}
	}
	made := views.Summarize(ctx, j, run)
	if run.State == history.Running || ctx.Err() != nil {
		return made
	}
	s.summaries.mu.Lock()
	defer s.summaries.mu.Unlock()
	if len(s.summaries.kept) >= maxKept {
		clear(s.summaries.kept)
	}
	s.summaries.kept[key] = keptSummary{made, began}
	return made
}

// undos are the runs of a project that were undone, as of a second ago.
type undos struct {
	mu   sync.Mutex
	runs map[string]bool
	at   time.Time
}

// has reports whether a run was undone.
func (u *undos) has(ctx context.Context, p *project, run string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.at) > inboxTime {
		j, err := p.op.Journal()
		if err != nil {
			return false
		}
		u.runs, u.at = describe.Undone(ctx, j), time.Now()
	}
	return u.runs[run]
}

// live returns the address of the stream of a list: what it shows, and as of when.
func (q *runsQuery) live(at string, v *page.Runs) page.URL {
	u := "/live/runs" + strings.TrimPrefix(string(q.filter.URL()), "/runs")
	oldest := ""
	if n := len(v.Days); n > 0 && v.Older != "" {
		rows := v.Days[n-1].Rows
		oldest = rows[len(rows)-1].Started.UTC().Format(time.RFC3339Nano)
	}
	return with(with(page.URL(u), "at", at), "oldest", oldest)
}

// nearRuns returns the IDs of runs that are near one that is not there.
func (r *request) nearRuns(id string) []string {
	var ids []string
	for _, p := range r.projects() {
		for run, err := range p.Host.Runs(r.Context(), history.Filter{Project: p.op.Project(), Limit: maxListed}) {
			if err == nil {
				ids = append(ids, run.ID)
			}
		}
	}
	return value.Similar(id, ids)
}

// pageRun finds the run that a page is about.
func (r *request) pageRun() (*project, *history.Run, error) {
	id := r.PathValue("id")
	p, run, err := r.run(id)
	if value.KindOf(err) == value.NotFound && err != nil {
		return nil, nil, r.noRun(id, err)
	}
	return p, run, err
}

// noRun has a page for a run that is not there: it was pruned, or others have IDs that are near.
func (r *request) noRun(id string, err error) error {
	kept, old := r.kept(id)
	v := page.NoRun(value.Clean(id, 80), kept, old, r.nearRuns(id))
	if old && r.user.Role == Admin {
		v.Links = append([]page.Link{{Text: "The audit of it", Href: page.URL("/audit?q=" + queryText(id))}}, v.Links...)
	}
	return &pageProblem{v, err}
}

// kept returns which runs are kept, and whether a run of an ID would not be any longer.
func (r *request) kept(id string) (kept page.Kept, old bool) {
	if r.s.opts.Kept == nil {
		return kept, false
	}
	keep, _ := r.s.opts.Kept() // if it cannot be read, nothing is pruned
	began, err := time.Parse(idTime, id[:min(len(id), len(idTime))])
	return page.Kept{For: keep.For, Most: keep.Most}, keep.For > 0 && err == nil && began.Add(keep.For).Before(r.s.now())
}

// idTime begins the IDs that were not chosen by somebody.
const idTime = "20060102-150405"
