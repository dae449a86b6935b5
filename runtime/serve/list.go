package serve

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	listed    = 50     // runs of a list, if the request does not say how many
	maxListed = 200    // at most
	maxRead   = 10_000 // runs of a project that a search reads
)

// A listing is which runs a request lists.
type listing struct {
	filter   history.Filter
	q        string // in the ID, the title or the error
	since    time.Time
	limit    int
	projects []*project
	after    map[string]string // by projects, the last run that was listed; none lists from the newest
	until    time.Time         // of the others, runs that began before; zero: all
}

// listRuns lists runs, the newest first.
func (r *request) listRuns() error {
	l, err := r.listing()
	if err != nil {
		return err
	}
	runs, next, err := l.find(r.Context())
	if err != nil {
		return err
	}
	undone := map[*project]map[string]bool{}
	list := value.List{}
	for _, f := range runs {
		if undone[f.project] == nil {
			if j, err := f.project.op.Journal(); err == nil {
				undone[f.project] = describe.Undone(r.Context(), j)
			}
		}
		list = append(list, r.listed(f.project, &f.Run, undone[f.project][f.ID]))
	}
	d := value.NewDict("runs", list, "next", nil)
	if next != "" {
		d.Put("next", next)
	}
	return r.reply(http.StatusOK, d)
}

// listing reads the query of a list.
func (r *request) listing() (l listing, err error) {
	q := r.URL.Query()
	l = listing{filter: history.Filter{Kind: q.Get("kind")}, q: strings.ToLower(q.Get("q")), limit: listed, projects: r.projects()}
	if name := q.Get("project"); name != "" {
		p, err := r.project(name)
		if err != nil {
			return l, err
		}
		l.projects = []*project{p}
	}
	for _, name := range strings.FieldsFunc(strings.Join(q["state"], ","), func(c rune) bool { return c == ',' }) {
		i := slices.Index(states(), name)
		if i < 0 {
			return l, value.Errorf(value.Invalid, "unknown state %q%s", value.Clean(name, 40), value.DidYouMean(name, states()))
		}
		l.filter.States = append(l.filter.States, history.Running+history.State(i))
	}
	if text := q.Get("limit"); text != "" {
		if l.limit, err = strconv.Atoi(text); err != nil || l.limit < 1 || l.limit > maxListed {
			return l, value.Errorf(value.Invalid, "limit should be a number from 1 to %d", maxListed)
		}
	}
	if text := q.Get("since"); text != "" {
		if l.since, err = time.Parse(time.RFC3339, text); err != nil {
			if l.since, err = time.Parse(time.DateOnly, text); err != nil {
				return l, value.Errorf(value.Invalid, "since should be a time such as 2026-11-28T15:04:05Z")
			}
		}
	}
	return l, l.begin(r, q.Get("before"))
}

// states are the names of the states of runs.
func states() (names []string) {
	for s := history.Running; s <= history.Stuck; s++ {
		names = append(names, s.String())
	}
	return names
}

// begin sets where a list continues: after the run of an ID, or after what the page before has as next.
func (l *listing) begin(r *request, before string) error {
	if before == "" {
		return nil
	}
	if p, run, err := r.run(before); err == nil {
		l.after, l.until = map[string]string{p.Name: run.ID}, run.Started
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(before)
	l.after = map[string]string{}
	for line := range strings.SplitSeq(string(data), "\n") {
		name, id, ok := strings.Cut(line, "\x00")
		if l.after[name] = id; err != nil || !ok {
			return value.Errorf(value.Invalid, "invalid value of before %q", value.Clean(before, 80)).WithHint("use the ID of a run, or the next of the page before")
		}
	}
	return nil
}

// A found is a run with its project.
type found struct {
	history.Run
	project *project
}

// find returns the runs that a request lists, and where the list continues, or "".
func (l *listing) find(ctx context.Context) (runs []found, next string, err error) {
	left, after := 0, map[string]string{}
	for _, p := range l.projects {
		list, last, err := l.of(ctx, p)
		if err != nil {
			return nil, "", err
		}
		if runs = append(runs, list...); last != "" {
			left++
		}
		if after[p.Name] = l.after[p.Name]; last != "" && len(list) == 0 {
			after[p.Name] = last
		}
	}
	slices.SortStableFunc(runs, func(a, b found) int { return b.Started.Compare(a.Started) })
	if len(runs) > l.limit {
		runs, left = runs[:l.limit], left+1
	}
	if left == 0 {
		return runs, "", nil
	}
	for _, f := range runs { // the last one of each project stays
		after[f.project.Name] = f.ID
	}
	var lines []string
	for name, id := range after {
		lines = append(lines, name+"\x00"+id)
	}
	slices.Sort(lines)
	return runs, base64.RawURLEncoding.EncodeToString([]byte(strings.Join(lines, "\n"))), nil
}

// of returns the runs of a project that a request lists: at most one more than the limit. last is the run at
// which a search stopped that read too many, or "".
func (l *listing) of(ctx context.Context, p *project) (list []found, last string, err error) {
	f := l.filter
	f.Project, f.Before = p.op.Project(), l.after[p.Name]
	if l.q == "" && l.until.IsZero() {
		f.Limit = l.limit + 1
	}
	read := 0
	for run, err := range p.Host.Runs(ctx, f) {
		switch {
		case err != nil:
			return nil, "", err
		case run.Started.Before(l.since) || len(list) > l.limit:
			return list, "", nil
		case read == maxRead:
			return list, last, nil
		}
		read, last = read+1, run.ID
		if f.Before == "" && !l.until.IsZero() && !run.Started.Before(l.until) {
			continue
		}
		if l.says(&run) {
			list = append(list, found{run, p})
		}
	}
	return list, "", nil
}

// says reports whether a run has what is searched: in its ID, its title or its error.
func (l *listing) says(run *history.Run) bool {
	text := run.ID + "\n" + run.Title
	if run.Err != nil {
		text += "\n" + run.Err.Message()
	}
	return strings.Contains(strings.ToLower(text), l.q)
}
