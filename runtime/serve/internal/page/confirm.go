package page

import (
	"cmp"
	"net/url"
	"time"
)

// Confirm is a page with the consequences of what somebody is about to do.
type Confirm struct {
	Crumbs  []Link
	Heading string
	Lead    string
	Points  []Point
	Notes   []Note
	Files   []File
	Action  URL
	Deed    string // on the button: "Undo: restore 4 files"
	Danger  bool
	Hidden  []Hidden
	Reason  string // the label of the field for a reason; "" has none
	Entry   *TextEntry
	Back    Link
	NoWay   string // why it cannot be done, instead of the button
}

// A Point is a consequence.
type Point struct {
	Status Status
	Text   string
	Detail string
	Link   Link // to what it is about
}

// Hidden is a field of a form that nobody sees.
type Hidden struct{ Name, Value string }

// A TextEntry is a field for a text.
type TextEntry struct {
	Name, Label, Help, Value, Error string
	Code                            bool
}

// URL returns the address of the run.
func (r *Run) URL() URL { return URL("/runs/" + url.PathEscape(r.ID)) }

// title returns the name of a run with its arguments.
func (r *Run) title() string {
	if r.Args == "" {
		return r.Name
	}
	return r.Name + " " + r.Args
}

// A RunRights is what the user may do with a run, and what can be done with it.
type RunRights struct {
	May    bool  // cancel, retry and undo it
	Failed Path  // the step to retry from; "" is none
	Undo   bool  // it has changed something that can be undone
	Replay bool  // it can be replayed
	Record int64 // the size of its record, in bytes; -1 is unknown
}

// SetButtons fills in what can be done with a run, as its state is.
func (r *Run) SetButtons(rights RunRights, key string) {
	r.Buttons, r.Menu = nil, nil
	add := func(list *[]Button, applies bool, b Button) {
		if applies {
			*list = append(*list, b)
		}
	}
	at, state := r.URL(), r.Status.State
	unfinished := (&StepView{Status: r.Status}).Unfinished()
	retry := rights.May && rights.Failed != "" && !unfinished
	add(&r.Buttons, rights.May && state == Broken, Button{Label: "Continue now", Href: at + "/resume", Post: true, Key: key, Look: Primary})
	add(&r.Buttons, retry, Button{Label: "Retry from step " + string(rights.Failed) + "…", Href: at + "/retry?step=" + URL(rights.Failed)})
	add(&r.Buttons, rights.May && rights.Undo && !unfinished, Button{Label: "Undo…", Href: at + "/undo"})
	add(&r.Buttons, rights.Replay && state == Done, Button{Label: "Replay", Href: at + "/replay", Post: true, Key: key})
	cancel := Button{Label: "Cancel the run…", Href: at + "/cancel", Look: Danger}
	add(&r.Buttons, rights.May && (state == Running || state == Queued), cancel)
	cancel.Look = Ordinary
	add(&r.Menu, rights.May && (state == Waiting || state == Sleeping || state == Broken), cancel)
	add(&r.Menu, rights.May && !retry && !unfinished, Button{Label: "Run it again…", Href: at + "/retry?step=1"})
	record := Button{Label: "Record as JSON", Href: "/v1" + at}
	if rights.Record > 0 {
		record.Label += " (" + size(rights.Record) + ")"
	}
	add(&r.Menu, rights.Record != 0, record)
	add(&r.Menu, true, Button{Label: "Copy: cassidy runs show " + r.ID, Copy: "cassidy runs show " + r.ID})
}

// confirm returns the beginning of a page about what is done with a run.
func (r *Run) confirm(word string, key string) Confirm {
	return Confirm{
		Crumbs: []Link{{"Runs", "/runs"}, {r.title(), r.URL()}, {Text: word}},
		Hidden: []Hidden{{"_key", key}},
		Back:   Link{"Back to the run", r.URL()},
	}
}

// Cancel returns the page before a run is cancelled.
func (r *Run) Cancel(key string) *Confirm {
	c := r.confirm("Cancel", key)
	c.Heading, c.Lead = "Cancel "+r.title()+"?", "What it has done stays done, and can be undone afterwards. What it is doing now is stopped. It does not continue."
	c.Action, c.Deed, c.Danger, c.Reason = r.URL()+"/cancel", "Cancel the run", true, "Reason"
	return &c
}

// Retry returns the page before a run is done again from a step.
func (r *Run) Retry(from Path, key string) *Confirm {
	c := r.confirm("Retry", key)
	c.Heading, c.Lead = "Retry "+r.title()+" from step "+string(from)+"?", "A new run begins, with the tools as they are now. This one stays as it is."
	if from != "1" {
		c.Points = append(c.Points, Point{Status: Status{Done, "kept"}, Text: "The steps before " + string(from) + " keep their results", Detail: "they are not done again"})
	}
	c.Points = append(c.Points, Point{Status: Status{Queued, "again"}, Text: "Step " + string(from) + " and later ones are done again", Detail: "what asked for an answer may ask again"})
	c.Action, c.Deed = r.URL()+"/retry", "Retry from step "+string(from)
	c.Hidden = append(c.Hidden, Hidden{"step", string(from)})
	return &c
}

// Replay returns the page before a run is replayed.
func (r *Run) Replay(key string) *Confirm {
	c := r.confirm("Replay", key)
	c.Heading, c.Lead = "Replay "+r.title()+"?", "The recorded scripts run again, and each of their steps returns its recorded outcome. So nothing is done and nobody is asked; the first step that differs from the record is shown."
	c.Action, c.Deed = r.URL()+"/replay", "Replay"
	return &c
}

// Replayed returns the page of a replay: what came of it, and what differs from the record.
func (r *Run) Replayed(note Note, points []Point) *Confirm {
	c := r.confirm("Replay", "")
	c.Heading, c.Notes, c.Points, c.NoWay = "Replay of "+r.title(), []Note{note}, points, "A replay does nothing, and is not recorded."
	return &c
}

// Undo returns the page before a run is undone: how many steps that takes, the changes that it makes, and what cannot be
// undone.
func (r *Run) Undo(steps int, files []File, points []Point, key string) *Confirm {
	c := r.confirm("Undo", key)
	c.Heading, c.Lead = "Undo "+r.title()+"?", "Undoing restores what the run has changed, unless it was changed again since. It is a run of its own, and stays in the list."
	c.Files, c.Points, c.Action, c.Danger, c.Back.Text = files, points, r.URL()+"/undo", true, "Keep everything"
	c.Deed = "Undo: restore " + count(len(files), "file")
	if len(files) == 0 {
		c.Deed = "Undo " + count(steps, "step")
	}
	if steps == 0 {
		c.NoWay = "There is nothing left to restore."
	}
	return &c
}

// confirm returns the beginning of a page with another way to answer a question.
func (q *Question) confirm(word, how string) Confirm {
	c := Confirm{
		Crumbs: []Link{{"Questions", "/questions"}, {q.Heading, q.URL()}, {Text: word}},
		Action: q.URL(), Back: Link{"Back to the question", q.URL()},
		Hidden: []Hidden{{"seen", q.Seen()}, {"rev", num(q.Rev)}, {"how", how}, {"answer", "yes"}},
	}
	if q.Key != "" {
		c.Hidden = append(c.Hidden, Hidden{"_key", q.Key})
	}
	return c
}

// ChangeArgs returns the page with the arguments of a call, as JSON, to approve it with others. Problem is why the
// last ones were refused, or "".
func (q *Question) ChangeArgs(json, problem string) *Confirm {
	c := q.confirm("Other arguments", "args")
	c.Heading, c.Lead = "Approve with other arguments", "The call runs with these arguments instead of its own. They are checked, and its caller is told of them."
	c.Entry = &TextEntry{Name: "value", Label: "Arguments", Help: "As JSON.", Value: json, Error: problem, Code: true}
	c.Deed = "Approve with these arguments"
	return &c
}

// GiveResult returns the page for the result of an effect that was carried out although nobody knew.
func (q *Question) GiveResult(json, problem string) *Confirm {
	c := q.confirm("The result", "done")
	c.Hidden[3].Value = "done"
	c.Heading, c.Lead = "It was done: with which result?", "The effect is not repeated. The run continues as if it had returned this result."
	c.Entry = &TextEntry{Name: "value", Label: "Result", Help: "As JSON. Left empty: null.", Value: json, Error: problem, Code: true}
	c.Deed = "Record this result"
	return &c
}

// AddRules returns the page before a question is answered with rules: what they allow from now on, and how the
// config changes.
func (q *Question) AddRules(rules []string, config []File) *Confirm {
	c := q.confirm("A rule", "rule")
	c.Heading, c.Lead = "Approve, and add "+count(len(rules), "rule"), "From now on nobody is asked for exactly this. Everything else asks as before."
	for _, r := range rules {
		c.Points = append(c.Points, Point{Status: Status{Done, "allowed"}, Text: r})
	}
	c.Files, c.Deed = config, "Approve, and add "+count(len(rules), "rule")
	return &c
}

// Problem is a page instead of the one that was asked for.
type Problem struct {
	Code    int
	Heading string // "There is no run “aprl”"
	Text    string
	Command string // what to type
	Links   []Link
	Request string // its ID, for the log
}

// problems are the headings of problems, by the status code.
var problems = map[int]string{
	400: "This cannot be done as it was asked",
	403: "Not allowed",
	404: "There is nothing here",
	409: "It has changed in the meantime",
	413: "This is too large",
	429: "Too many requests",
	500: "This page could not be made",
	503: "The server is restarting",
	504: "This took too long",
}

// NewProblem returns the page of a status code, with what is known of it.
func NewProblem(code int, text string) *Problem {
	return &Problem{Code: code, Heading: cmp.Or(problems[code], "This did not work"), Text: text, Links: []Link{{"Runs", "/runs"}}}
}

// Kept is which runs that have ended are kept; zero is all.
type Kept struct {
	For  time.Duration
	Most int // the newest
}

// NoRun returns the page of a run that is not there, with the runs whose IDs are near. old says that a run of the ID would
// not be kept any longer.
func NoRun(id string, kept Kept, old bool, near []string) *Problem {
	p := &Problem{Code: 404, Heading: "There is no run “" + id + "”"}
	days := count(int(kept.For.Hours()/24), "day")
	switch {
	case kept.For > 0 && old:
		p.Heading = "The run “" + id + "” was pruned after " + days
		p.Text = "Runs are deleted " + days + " after they have ended, as runs.keep_for in the server's config says. What this one changed stays, and the audit still has who began it and who answered."
	case kept.For > 0:
		p.Text = "It may have been pruned: runs are kept for " + days + "."
	case kept.Most > 0:
		p.Text = "It may have been pruned: the newest " + num(kept.Most) + " runs are kept."
	}
	for _, n := range near {
		p.Links = append(p.Links, Link{n, URL("/runs/" + url.PathEscape(n))})
	}
	p.Links = append(p.Links, Link{"All runs", "/runs"})
	return p
}
