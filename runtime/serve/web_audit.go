package serve

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// keptDecisions is how many decisions a server remembers that has no Options.Decisions.
const keptDecisions = 1000

// decisions are the newest ones, for a server that cannot read them from where Audit records them.
type decisions struct {
	mu   sync.Mutex
	list []Decision
}

func (d *decisions) add(one Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) >= keptDecisions {
		d.list = slices.Delete(d.list, 0, keptDecisions/10)
	}
	d.list = append(d.list, one)
}

// all yields them, the newest first.
func (d *decisions) all(context.Context) iter.Seq2[Decision, error] {
	d.mu.Lock()
	list := slices.Clone(d.list)
	d.mu.Unlock()
	return func(yield func(Decision, error) bool) {
		for _, one := range slices.Backward(list) {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// auditPage lists decisions, the newest first.
func (r *request) auditPage() error {
	f, err := r.frame("Audit", page.SectionAudit)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	v := &page.Audit{Query: q.Get("q")}
	before, _ := time.Parse(time.RFC3339Nano, q.Get("before")) // of another text, the newest are shown
	if !before.IsZero() {
		v.Newest = "/audit?" + page.URL(url.Values{"q": {v.Query}}.Encode())
	}
	read := r.s.opts.Decisions
	if read == nil {
		read = r.s.decisions.all
	}
	var last time.Time
	for d, err := range read(r.Context()) {
		switch {
		case err != nil:
			return err
		case !before.IsZero() && !d.Time.Before(before), !r.sees(&d), !finds(v.Query, d.User, d.Action, d.Project, d.Run, d.Of, d.Question, d.Answer, d.Why, d.From):
			continue
		case len(v.Rows) >= listed && d.Time.Before(last): // those of one moment stay together
			v.Older = "/audit?" + page.URL(url.Values{"q": {v.Query}, "before": {last.Format(time.RFC3339Nano)}}.Encode())
			return r.page("audit", f, v)
		}
		v.Rows, last = append(v.Rows, r.auditRow(&d)), d.Time
	}
	return r.page("audit", f, v)
}

// sees reports whether the user sees the project of a decision.
func (r *request) sees(d *Decision) bool {
	return d.Project == "" || r.user.Projects == nil || slices.Contains(r.user.Projects, d.Project)
}

// did are actions, in the words of the list.
var did = map[string]string{
	"sign-in": "signed in", "sign-out": "signed out", "begin": "began a run", "resume": "continued a run", "cancel": "cancelled a run",
	"undo": "undid a run", "retry": "retried a run",
}

// auditRow is a decision in the list.
func (r *request) auditRow(d *Decision) page.AuditRow {
	row := page.AuditRow{At: d.Time.In(r.zone()), Who: d.User, From: d.From, Why: d.Why, Refused: d.Refused, What: did[d.Action]}
	switch {
	case d.Action == "answer":
		row.What = map[string]string{"yes": "approved", "no": "refused", "done": "gave the result", "value": "answered"}[d.Answer]
	case row.What == "":
		row.What = d.Action
	}
	if len(d.Rules) > 0 {
		row.What += ", and added " + strings.Join(d.Rules, ", ")
	}
	if d.Refused {
		row.What = "was refused: " + value.Cut(d.Action, 120)
	}
	if row.Who == "" {
		row.Who = "somebody"
	}
	switch {
	case d.Question != "":
		row.On = r.runLink(d.Run)
		row.On.Href = (&page.QuestionRow{ID: d.Question}).URL()
	case d.Of != "":
		row.On = r.runLink(d.Of)
	case d.Run != "":
		row.On = r.runLink(d.Run)
	}
	return row
}

// runLink leads to a run by its title, or by its ID if it is not there anymore.
func (r *request) runLink(id string) page.Link {
	link := page.Link{Text: id, Href: views.RunURL(id)}
	if _, run, err := r.run(id); err == nil {
		link.Text = value.Cut(views.Title(run), 60)
	}
	return link
}

// DecisionOf returns the decision of an object as [Decision.Dict] makes it, and reports whether it is one: it has the time
// and an action.
func DecisionOf(d *value.Dict) (one Decision, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, d.Text("time"))
	one = Decision{
		Time: at, Action: d.Text("action"), Refused: d.Bool("refused"), User: d.Text("user"), Role: d.Text("role"), From: d.Text("from"), Project: d.Text("project"),
		Run: d.Text("run"), Of: d.Text("of"), Question: d.Text("question"), Answer: d.Text("answer"), Why: d.Text("why"),
	}
	for _, rule := range d.Elements("rules") {
		if text, ok := rule.(string); ok {
			one.Rules = append(one.Rules, text)
		}
	}
	return one, err == nil && one.Action != ""
}
