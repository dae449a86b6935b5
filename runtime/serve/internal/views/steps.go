package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Trail is what a run did, step by step.
type Trail struct {
	*describe.Steps
	Run     *history.Run
	At      time.Time   // when it was read
	Held    bool        // a process executes it
	Undone  bool        // somebody has undone it
	Tree    []page.Step // nested
	Sources []page.Source
	Count   int       // of the steps
	Fails   int       // that failed
	Last    page.Path // the newest step, or ""
	Failed  page.Path // the last step of the first level that failed, or ""
	deepest page.Path // the step inside it that failed first, or ""
	answers []waited
	failed  []time.Time // when steps failed
	Undoes  bool        // some of it can be undone
	changed map[page.Path]time.Time
}

// A waited is a wait for a person.
type waited struct {
	by       string
	from, to time.Time
}

// leastWait is how long a wait is that has a row of its own.
const leastWait = time.Minute

// Read reads the steps of a run. The error means that nothing can be read.
func Read(ctx context.Context, j *history.Journal, r *history.Run, undone bool) (*Trail, error) {
	record := describe.RecordOf(ctx, j, r)
	t := &Trail{Run: r, At: time.Now(), Held: record.Live, Undone: undone, changed: map[page.Path]time.Time{}}
	var extra []extra
	all, err := record.Steps(func(e *history.Entry) { extra = append(extra, t.note(e)) })
	if err != nil {
		return nil, err
	}
	t.Steps = all
	t.build(extra)
	return t, nil
}

// An extra is what a page shows of a step, besides what describe does.
type extra struct {
	at      tool.StepPath
	began   time.Time
	took    time.Duration
	settled bool
	sleeps  bool
	note    string
	wait    string // that it has caused
}

// note reads the rest of a step.
func (t *Trail) note(e *history.Entry) extra {
	x := extra{at: e.StepPath, began: e.Intended, settled: !e.Settled.IsZero(), sleeps: e.Func == "time.sleep"}
	if x.settled && !e.Intended.IsZero() {
		x.took = e.Settled.Sub(e.Intended)
	}
	t.Undoes = t.Undoes || e.Outcome.Undo != nil || e.Change != nil
	last := latest(e.Intended, e.Settled)
	if e.Tries > 1 {
		x.note = num(e.Tries) + " tries"
	}
	if e.Err != nil {
		t.failed = append(t.failed, e.Settled)
	}
	for _, n := range e.Notes {
		if n.Has("untrusted") {
			x.note = "untrusted"
			if what := n.Text("what"); what != "" {
				t.Sources = append(t.Sources, page.Source{Text: what, Step: page.Path(e.StepPath.String()), Run: t.Run.ID})
			}
		}
	}
	for i := range e.Questions {
		a := e.Questions[i].Answer
		if last = latest(last, e.Questions[i].Asked); a == nil {
			continue
		}
		last = latest(last, a.At)
		w := waited{a.By, e.Questions[i].Asked, a.At}
		t.answers = append(t.answers, w)
		x.note = strings.TrimPrefix(w.by+": ", ": ") + describe.FirstLine(describe.AnswerText(&e.Questions[i]))
		if took := w.to.Sub(w.from); took >= leastWait {
			x.wait = "waited " + describe.Duration(took)
			if w.by != "" {
				x.wait += " for " + w.by
			}
			x.took = max(0, x.took-took)
		}
	}
	x.note = value.Cut(x.note, mostText)
	t.changed[page.Path(e.StepPath.String())] = last
	return x
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Changed returns the steps that a page has to show again which shows an older trail, or one as of a time if that is
// nil: those outside others that are shown again with them.
func (t *Trail) Changed(old *Trail, since time.Time) []*page.Step {
	return t.changes(t.Tree, func(s *page.Step) bool {
		if old == nil {
			return !t.changed[s.Path].Before(since)
		}
		was := old.Find(s.Path)
		return was == nil || was.Status != s.Status || was.Name != s.Name || was.Args != s.Args || was.Note != s.Note || was.Took != s.Took || !was.Since.Equal(s.Since)
	})
}

func (t *Trail) changes(list []page.Step, differs func(*page.Step) bool) (changed []*page.Step) {
	for i := range list {
		if s := &list[i]; differs(s) {
			changed = append(changed, s)
		} else {
			changed = append(changed, t.changes(s.Steps, differs)...)
		}
	}
	return changed
}

// build makes the tree of the steps.
func (t *Trail) build(extras []extra) {
	byPath := make(map[string]*extra, len(extras))
	for i := range extras {
		byPath[extras[i].at.String()] = &extras[i]
	}
	known := map[string]bool{}
	for i := range t.Steps.Steps {
		known[t.Steps.Steps[i].StepPath.String()] = true
	}
	var flat []page.Step
	wait := ""
	for i := range t.Steps.Steps {
		s := &t.Steps.Steps[i]
		if s.Internal {
			continue
		}
		p := t.step(s, byPath[s.StepPath.String()])
		if wait != "" && len(s.StepPath) == 1 {
			p.Wait, wait = wait, ""
		}
		if x := byPath[s.StepPath.String()]; x != nil && x.wait != "" {
			wait = x.wait
		}
		flat = append(flat, p)
		for k := range s.Calls {
			if c := &s.Calls[k]; !known[c.StepPath.String()] {
				flat = append(flat, t.step(c, nil))
			}
		}
	}
	t.Tree = nest(flat)
}

// step returns a step as a tree shows it.
func (t *Trail) step(s *describe.Step, x *extra) page.Step {
	p := page.Step{Path: page.Path(s.StepPath.String()), Name: s.Name, Args: value.Cut(describe.FirstLine(s.About), mostText)}
	p.Status = t.statusOf(s, x)
	if x != nil {
		p.Took, p.Note = x.took, x.note
	}
	switch p.Status.State {
	case page.Running:
		p.Since = x.began
	case page.Waiting:
		p.Note = "waits"
		if s.Asks {
			p.Note = "question"
		}
	case page.Failed:
		t.Fails++
		if t.Failed = p.Path.First(); t.deepest.First() != t.Failed || strings.HasPrefix(string(p.Path), string(t.deepest)+".") {
			t.deepest = p.Path
		}
	case page.Unknown:
		p.Note = "may have happened"
	}
	t.Count, t.Last = t.Count+1, p.Path
	return p
}

// statusOf returns the state of a step.
func (t *Trail) statusOf(s *describe.Step, x *extra) page.Status {
	switch s.Mark {
	case describe.Done:
		return page.Status{State: page.Done}
	case describe.Failed:
		return page.Status{State: page.Failed}
	case describe.Unknown:
		return page.Status{State: page.Unknown}
	case describe.NotDone:
		return page.Status{State: page.Skipped, Word: "Not done"}
	}
	switch {
	case s.Asks:
		return page.Status{State: page.Waiting, Word: "Waits for an answer"}
	case x != nil && x.sleeps:
		return page.Status{State: page.Sleeping}
	case t.Held && x != nil && !x.began.IsZero():
		return page.Status{State: page.Running}
	}
	return page.Status{State: page.Waiting, Word: "Waits"}
}

// nest puts steps inside each other. They come in the order of their paths.
func nest(flat []page.Step) []page.Step {
	slices.SortStableFunc(flat, func(a, b page.Step) int { return a.Path.Compare(b.Path) })
	var top []page.Step
	for i := 0; i < len(flat); {
		s := flat[i]
		end := i + 1
		for end < len(flat) && strings.HasPrefix(string(flat[end].Path), string(s.Path)+".") {
			end++
		}
		s.Steps = nest(flat[i+1 : end])
		top = append(top, s)
		i = end
	}
	return top
}

// Find returns a step of the tree, or nil.
func (t *Trail) Find(path page.Path) *page.Step { return find(t.Tree, path) }

func find(list []page.Step, path page.Path) *page.Step {
	for i := range list {
		switch s := &list[i]; {
		case s.Path == path:
			return s
		case strings.HasPrefix(string(path), string(s.Path)+"."):
			return find(s.Steps, path)
		}
	}
	return nil
}

// Each calls do with each step of the tree.
func (t *Trail) Each(do func(s *page.Step)) { eachStep(t.Tree, do) }

func eachStep(list []page.Step, do func(s *page.Step)) {
	for i := range list {
		do(&list[i])
		eachStep(list[i].Steps, do)
	}
}

// Head returns the page of the run without its pane.
func (t *Trail) Head(zone *time.Location) *page.Run {
	r := t.Run
	v := &page.Run{ID: r.ID, Status: status(r, t.Held, t.Undone, t.Wait, zone), By: By(r), Started: r.Started.In(zone), Steps: t.Count, Failed: t.Fails,
		Tokens: int(t.Tokens.In + t.Tokens.Out), Cost: t.Used.CostUSD, Line: t.line()}
	v.Name, v.Args = Name(r)
	v.Ran, v.Waited = times(t.Steps)
	if v.Status.State == page.Running {
		v.Since = runsSince(t.Steps)
		v.Ran -= max(0, time.Since(v.Since))
	}
	if r.ForkedFrom != "" {
		v.Links = append(v.Links, page.Related{Label: "Retry of", Link: page.Link{Text: r.ForkedFrom, Href: RunURL(r.ForkedFrom)}})
	}
	if of := r.Options.Text("run"); r.Kind == "undo" && of != "" {
		v.Links = append(v.Links, page.Related{Label: "Undoes", Link: page.Link{Text: of, Href: RunURL(of)}})
	}
	v.Notes = t.notes(v, zone)
	return v
}

// notes say what is unusual about a run.
func (t *Trail) notes(v *page.Run, zone *time.Location) (list []page.Note) {
	r := t.Run
	if damage := t.Damage; damage != nil {
		list = append(list, page.NoteDamaged(sentenceOf(damage)))
	}
	switch {
	case v.Status.State == page.Broken:
		list = append(list, page.NoteBroken(time.Now().In(zone)))
	case r.State == history.Stuck:
		list = append(list, page.NoteStuck(describe.FirstLine(r.Stuck)))
	case r.State == history.Parked && history.Repair(r.Reason) != "":
		list = append(list, page.Note{Tone: page.ToneWait, Strong: "Something has to be repaired.", Text: "The run continues by itself afterwards:", Quoted: history.Repair(r.Reason)})
	case r.State == history.Parked && r.Reason == "ceiling":
		list = append(list, page.Note{Tone: page.ToneWait, Strong: "The run has used of models what it may use.", Code: "cassidy runs resume " + r.ID + " --max-cost …"})
	}
	const long = 24 * time.Hour
	if w := t.Wait; w != nil && w.Open() > 0 {
		oldest, expires := w.Questions[0].Asked, time.Time{}
		for i := range w.Questions {
			if q := &w.Questions[i]; !q.Expires.IsZero() && (expires.IsZero() || q.Expires.Before(expires)) {
				expires = q.Expires.In(zone)
			}
		}
		if waited := time.Since(oldest); waited > long {
			list = append(list, page.NoteParked(waited, expires))
		}
	}
	return list
}

// line returns the time line of the run.
func (t *Trail) line() (line []page.Spell) {
	spells := t.Times.Spells()
	for i, s := range spells {
		p := page.Spell{Kind: page.Ran, Took: s.To.Sub(s.From), Open: i == len(spells)-1 && !t.Run.State.Ended()}
		if s.Waited {
			p.Kind = page.Waited
		}
		for _, a := range t.answers {
			if s.Waited && !a.to.Before(s.From) && !a.to.After(s.To.Add(time.Second)) {
				p.For = a.by
			}
		}
		for _, at := range t.failed {
			if !s.Waited && !at.Before(s.From) && !at.After(s.To) {
				p.Kind = page.RanFailed
			}
		}
		line = append(line, p)
	}
	return line
}
