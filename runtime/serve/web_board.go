package serve

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
)

const (
	boardEvery = 500 * time.Millisecond // how often the lists are compared, while somebody looks at one
	boardRuns  = 200                    // of each project, the newest
	boardKept  = 4_000                  // changes that are remembered
)

// A board has what changes in the lists of runs, once for all who look at one.
type board struct {
	mu     sync.Mutex
	epoch  string // of this process, in the IDs of changes
	rev    uint64 // of the last change
	log    []change
	known  map[summaryKey]boardRow
	begun  map[*project]bool // those whose runs are known
	looked time.Time         // when the lists were compared
}

// A change is a run that changed in a list.
type change struct {
	rev     uint64
	project *project
	run     history.Run
	was     history.State // before; 0 for a new run
}

// A boardRow is what a list says of a run, to compare it.
type boardRow struct {
	state history.State
	text  string
}

func (b *board) begin() {
	b.epoch, b.known, b.begun = rand.Text()[:8], map[summaryKey]boardRow{}, map[*project]bool{}
}

// at returns the ID of the last change.
func (b *board) at(ctx context.Context, s *Server) string {
	b.look(ctx, s)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id(b.rev)
}

func (b *board) id(rev uint64) string { return b.epoch + "-" + strconv.FormatUint(rev, 10) }

// look compares the lists with what they were, unless that was done a moment ago.
func (b *board) look(ctx context.Context, s *Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.looked) < boardEvery {
		return
	}
	for _, p := range s.projects {
		b.compare(context.WithoutCancel(ctx), s, p)
	}
	b.looked = time.Now()
	b.log = b.log[max(0, len(b.log)-boardKept):]
}

// compare notes the runs of a project that have changed.
func (b *board) compare(ctx context.Context, s *Server, p *project) {
	var runs []history.Run
	for run, err := range p.Host.Runs(ctx, history.Filter{Project: p.op.Project(), Limit: boardRuns}) {
		if err != nil {
			return
		}
		runs = append(runs, run)
	}
	now := map[summaryKey]bool{}
	slices.Reverse(runs) // the newest last, as it becomes the first of the list
	for i := range runs {
		run := &runs[i]
		key := summaryKey{project: p, run: run.ID}
		now[key] = true
		row := boardRow{run.State, b.text(ctx, s, p, run)}
		old, known := b.known[key]
		if b.known[key] = row; known && row == old || !b.begun[p] {
			continue
		}
		b.rev++
		b.log = append(b.log, change{b.rev, p, *run, old.state})
	}
	b.begun[p] = true
	for key := range b.known {
		if key.project == p && !now[key] {
			delete(b.known, key)
		}
	}
}

// text is what a list says of a run, as far as it can change.
func (b *board) text(ctx context.Context, s *Server, p *project, run *history.Run) string {
	text := strings.Join([]string{run.Reason, run.Wake.String(), run.Stuck, strconv.FormatBool(p.undone.has(ctx, p, run.ID))}, "\n")
	if !run.State.Ended() && run.Reason != history.Queued && run.Reason != "sleep" {
		sum := s.summary(ctx, p, run)
		text += "\n" + sum.Ask + "\n" + sum.Why
	}
	return text
}

// after returns the changes after one, and the ID of the last. It is not known if the log has it no longer.
func (b *board) after(id string) (list []change, last string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last = b.id(b.rev)
	text, found := strings.CutPrefix(id, b.epoch+"-")
	rev, err := strconv.ParseUint(text, 10, 64)
	if !found || err != nil || rev > b.rev || b.rev-rev > uint64(len(b.log)) {
		return nil, last, false
	}
	return b.log[len(b.log)-int(b.rev-rev):], last, true
}

// liveRuns streams what changes in a list of runs.
func (r *request) liveRuns() error {
	q, err := r.runsQuery()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	oldest, _ := time.Parse(time.RFC3339Nano, query.Get("oldest"))
	last := lastID(r, query.Get("at"))
	return r.live(func(l *live) error {
		w := listWatch{live: l, q: &q, oldest: oldest, last: last}
		if err := w.send(); err != nil {
			return err
		}
		tick := time.NewTicker(boardEvery)
		defer tick.Stop()
		return each(l, tick.C, func(time.Time) error {
			r.s.board.look(r.Context(), r.s)
			return w.send()
		})
	})
}

// lastID returns the ID of the last event that the page has: of its stream, or of itself.
func lastID(r *request, at string) string {
	for _, id := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if id != "" {
			return id
		}
	}
	return at
}

// A listWatch sends what changes in a list.
type listWatch struct {
	*live
	q      *runsQuery
	oldest time.Time // when the last run of the list began; zero: it has all of them
	last   string    // the ID of the last change that was sent
	waits  string    // what was said of open questions
}

// send sends what has changed.
func (w *listWatch) send() error {
	list, last, known := w.r.s.board.after(w.last)
	switch {
	case !known:
		if err := w.resync(last); err != nil {
			return err
		}
	case last != w.last:
		if err := w.rows(list, last); err != nil {
			return err
		}
	}
	w.last = last
	return w.sendWaits()
}

// rows sends the rows of changes.
func (w *listWatch) rows(list []change, last string) error {
	zone := w.r.zone()
	newest := map[summaryKey]uint64{} // the last change of a run has all
	for i := range list {
		newest[summaryKey{project: list[i].project, run: list[i].run.ID}] = list[i].rev
	}
	for i := range list {
		c := &list[i]
		if newest[summaryKey{project: c.project, run: c.run.ID}] != c.rev || !w.shows(c) {
			continue
		}
		if err := w.part("run-row", w.r.s.row(w.r.Context(), c.project, &c.run, zone), last); err != nil {
			return err
		}
		if c.run.State != history.Failed || c.was == c.run.State {
			continue
		}
		if err := w.say(views.Title(&c.run) + " has failed"); err != nil {
			return err
		}
	}
	return nil
}

// shows reports whether a list has the run of a change, or had it before.
func (w *listWatch) shows(c *change) bool {
	f := &w.q.listing.filter
	of := func(s history.State) bool { return len(f.States) == 0 || slices.Contains(f.States, s) }
	return slices.Contains(w.q.projects, c.project) && !c.run.Started.Before(w.oldest) && !c.run.Started.Before(w.q.since) &&
		(f.Kind == "" || f.Kind == c.run.Kind) && w.q.says(&c.run) && (of(c.run.State) || c.was != 0 && of(c.was))
}

// sendWaits sends how many questions are open, if that has changed.
func (w *listWatch) sendWaits() error {
	open, err := waits(w.r.Context(), w.q.projects, w.r.zone())
	if err != nil {
		return err
	}
	text := ""
	if open != nil {
		text = strconv.Itoa(open.Count) + string(open.Oldest.Href)
	}
	if first := w.waits == ""; text == w.waits || first && text == "" {
		return nil
	}
	w.waits = text
	return w.part("waits", open, "")
}
