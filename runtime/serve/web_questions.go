package serve

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// questionRoutes are the pages of questions.
func (s *Server) questionRoutes() []route {
	return []route{
		{pattern: "GET /questions", role: View, page: true, serve: (*request).questionsPage},
		{pattern: "GET /questions/{qid}", role: View, page: true, serve: (*request).questionPage},
		{pattern: "GET /live/questions", role: View, page: true, stream: true, serve: (*request).liveQuestions},
		{pattern: "POST /questions/{qid}", role: Approve, page: true, serve: (*request).answerPage},
	}
}

// soon is how near the end of a question is that comes first in the inbox.
const soon = time.Hour

// An inboxItem is a question in the inbox.
type inboxItem struct {
	project *project
	run     *history.Run
	q       *history.Asked
	used    bool
}

// questionsPage shows the inbox.
func (r *request) questionsPage() error {
	tab := page.QuestionTab(r.URL.Query().Get("tab"))
	open, err := r.openItems()
	if err != nil {
		return err
	}
	mine := slices.DeleteFunc(slices.Clone(open), func(i inboxItem) bool { return r.s.mayAnswer(r.user, i.run, i.q, &tool.Answer{}) != nil })
	v := &page.Questions{Tab: tab, Tabs: page.QuestionTabs(tab, len(open), len(mine))}
	list := open
	switch tab {
	case page.TabMine:
		list = mine
	case page.TabAnswered, page.TabExpired:
		if list, v.Older, err = r.pastItems(tab); err != nil {
			return err
		}
	default:
		v.Tab = page.TabOpen
	}
	f, err := r.frame("Questions", page.SectionQuestions)
	if err != nil {
		return err
	}
	if v.Older == "" && len(list) > maxListed {
		list = list[:maxListed]
	}
	for i := range list {
		v.Rows = append(v.Rows, r.questionRow(&list[i]))
	}
	if len(list) > 0 && (v.Tab == page.TabOpen || v.Tab == page.TabMine) {
		if v.Pane, err = r.itemView(&list[0]); err != nil {
			return err
		}
		v.Pane.Shorten()
		v.Rows[0].Current = true
	}
	if v.Tab == page.TabOpen {
		f.Live = with("/live/questions", "at", openID(open))
	}
	return r.page("questions", f, v)
}

// openItems returns the open questions without an answer: first what expires soon, and then the oldest.
func (r *request) openItems() (list []inboxItem, err error) {
	now := r.s.now()
	for _, p := range r.shown() {
		runs, err := p.inbox.read(r.Context(), p)
		if err != nil {
			return nil, err
		}
		for _, w := range runs {
			for i := range w.asked {
				if q := &w.asked[i]; q.Answer == nil && (q.Expires.IsZero() || now.Before(q.Expires)) {
					list = append(list, inboxItem{project: p, run: &w.Run, q: q})
				}
			}
		}
	}
	hurries := func(i inboxItem) int {
		if e := i.q.Expires; !e.IsZero() && e.Sub(now) < soon {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b inboxItem) int { return cmp.Or(hurries(a)-hurries(b), a.q.Asked.Compare(b.q.Asked)) })
	return list, nil
}

// pastRuns is of how many runs a page shows the questions that are no longer open.
const pastRuns = 100

// pastItems returns the questions of the newest runs that were answered or have expired, and the address of older ones.
func (r *request) pastItems(tab page.QuestionTab) (list []inboxItem, older page.URL, err error) {
	l := listing{limit: pastRuns, projects: r.shown()}
	if err := l.begin(r, r.URL.Query().Get("before")); err != nil {
		return nil, "", err
	}
	runs, next, err := l.find(r.Context())
	if err != nil {
		return nil, "", err
	}
	for i := range runs {
		f := &runs[i]
		for e, err := range f.project.op.Steps(r.Context(), f.ID) {
			if err != nil {
				continue // its own page says so
			}
			for k := range e.Questions {
				q := &e.Questions[k]
				if (q.Answer != nil) == (tab == page.TabAnswered) && (q.Answer != nil || !q.Expires.IsZero() && !r.s.now().Before(q.Expires)) {
					list = append(list, inboxItem{f.project, &f.Run, q, q.Answer != nil})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b inboxItem) int { return b.q.Asked.Compare(a.q.Asked) })
	if next != "" {
		older = with(with("/questions", "tab", string(tab)), "before", next)
	}
	return list, older, nil
}

// questionRow returns a question as the inbox shows it.
func (r *request) questionRow(i *inboxItem) page.QuestionRow {
	row := views.QuestionRow(i.q, i.run, r.zone())
	if i.q.Answer != nil {
		row.Given = views.Given(i.q, r.user.Name, i.used, r.zone())
	}
	return row
}

// itemView returns a question with what the run has read.
func (r *request) itemView(i *inboxItem) (*page.Question, error) {
	t, err := r.s.trails.read(r.Context(), i.project, i.run.ID, time.Now())
	if err != nil {
		return nil, err
	}
	return r.questionView(i.project, t, i.q), nil
}

// openID stands for the questions that are open.
func openID(list []inboxItem) string {
	ids := value.Map(list, func(i inboxItem) string { return i.q.ID })
	slices.Sort(ids)
	return HashToken(strings.Join(ids, "\n"))[:16]
}

// asked finds the question that a page is about, open or not.
func (r *request) asked(id string) (*inboxItem, error) {
	none := &pageProblem{&page.Problem{Code: http.StatusNotFound, Heading: "There is no such question", Links: []page.Link{{Text: "Open questions", Href: "/questions"}}},
		value.Errorf(value.NotFound, "there is no question '%s'", value.Clean(id, 120))}
	run, at, n, err := history.ParseQuestionID(id)
	if err != nil {
		return nil, none
	}
	p, found, err := r.run(run)
	if err != nil {
		if value.KindOf(err) != value.NotFound {
			return nil, err
		}
		if _, old := r.kept(run); old {
			return nil, r.noRun(run, none.err)
		}
		return nil, none
	}
	open, err := r.openQuestions(p, found)
	if err != nil {
		return nil, err
	}
	for i := range open {
		if open[i].ID == id {
			return &inboxItem{project: p, run: found, q: &open[i]}, nil
		}
	}
	for e, err := range p.op.Steps(r.Context(), run) {
		if err != nil || !slices.Equal(e.StepPath, at) {
			continue
		}
		for i := range e.Questions {
			if q := &e.Questions[i]; q.N == n {
				return &inboxItem{p, found, q, q.Answer != nil}, nil
			}
		}
	}
	return nil, none
}

// questionPage shows a question, or the page before another way to answer it.
func (r *request) questionPage() error {
	i, err := r.asked(r.PathValue("qid"))
	if err != nil {
		return err
	}
	v, err := r.itemView(i)
	if err != nil {
		return err
	}
	if how := r.URL.Query().Get("how"); how != "" && v.MayAnswer() {
		return r.otherWay(http.StatusOK, i, v, how, "", "")
	}
	return r.showQuestion(http.StatusOK, v, r.URL.Query().Has("all"))
}

// showQuestion answers with the page of a question.
func (r *request) showQuestion(status int, v *page.Question, all bool) error {
	f, err := r.frame(v.Heading, page.SectionQuestions)
	if err != nil {
		return err
	}
	if v.OwnPage = true; !all {
		v.Shorten()
	}
	f.Live = with("/live/questions", "q", v.ID)
	f.Live = with(f.Live, "at", questionID(v))
	return r.pageAs(status, "question-page", f, v)
}

// otherWay shows the page before another way to answer a question, with what was typed and why it was not accepted.
func (r *request) otherWay(status int, i *inboxItem, v *page.Question, how, typed, problem string) error {
	var c *page.Confirm
	switch how {
	case "args":
		if typed == "" {
			typed = value.FormatJSON(describe.OrNil(i.q.Args), "  ")
		}
		c = v.ChangeArgs(typed, problem)
	case "done":
		c = v.GiveResult(typed, problem)
	case "rule":
		changes, err := r.ruleChanges(i)
		if err != nil {
			return err
		}
		c = v.AddRules(value.Map(i.q.Rules, func(rule tool.Rule) string { return rule.String() }), page.Files(changes))
		if i.project.AddRules == nil {
			c.Notes = append(c.Notes, page.Note{Tone: page.ToneWait, Text: "This program does not store rules: they hold until the server ends."})
		}
	default:
		return r.showQuestion(status, v, false)
	}
	f, err := r.frame(c.Heading, page.SectionQuestions)
	if err != nil {
		return err
	}
	return r.pageAs(status, "confirm", f, c)
}

// ruleChanges returns how the config changes if the rules of a question are added.
func (r *request) ruleChanges(i *inboxItem) ([]tool.Change, error) {
	if i.project.AddRules == nil {
		return nil, nil
	}
	return i.project.AddRules(r.Context(), i.q.Rules, false)
}

// answerPage records an answer from a page.
func (r *request) answerPage() error {
	form, err := r.fields("seen", "rev", "why", "answer", "value", "how")
	if err != nil {
		return err
	}
	i, err := r.asked(r.PathValue("qid"))
	if err != nil {
		return err
	}
	v, err := r.itemView(i)
	if err != nil {
		return err
	}
	if err := r.s.mayAnswer(r.user, i.run, i.q, &tool.Answer{}); err != nil {
		return r.refused(i.project.Name, i.run.ID, err)
	}
	a, problem := r.readForm(form, i, v)
	if problem != "" {
		return r.notAccepted(i, v, form, problem)
	}
	if files, changed := v.Changed(form.Text("seen")); changed && !r.mayShorten(&a, v, form.Text("seen")) {
		v.Conflict = &page.Conflict{Changed: files}
		return r.showQuestion(http.StatusConflict, v, true)
	}
	a.question, a.seen = i.q.ID, seen(i.q)
	if _, err := r.answer(i.project, i.run, a); err != nil {
		switch e := r.refusalOf(err); e.status {
		case http.StatusConflict:
			return r.tooLate(v, e, form.Text("seen"))
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			return r.notAccepted(i, v, form, e.message)
		}
		return err
	}
	if len(a.Rules) > 0 && i.project.AddRules != nil {
		if _, err := i.project.AddRules(r.Context(), a.Rules, true); err != nil {
			return err
		}
	}
	return r.seeOther(string(v.URL()) + "#answered")
}

// mayShorten reports whether an answer needs not the whole question: a no to one that was shown in part.
func (r *request) mayShorten(a *answer, v *page.Question, seen string) bool {
	if a.Yes || a.Value != nil || a.Done {
		return false
	}
	short := *v
	short.Blocks, short.Files = slices.Clone(v.Blocks), slices.Clone(v.Files)
	short.Shorten()
	return short.Seen() == seen
}

// readForm reads the answer of a form, or says what is wrong with it.
func (r *request) readForm(form *value.Dict, i *inboxItem, v *page.Question) (a answer, problem string) {
	a.Why, a.rev = form.Text("why"), -1
	if n, err := strconv.ParseInt(strings.ReplaceAll(form.Text("rev"), ",", ""), 10, 64); err == nil {
		a.rev = n
	}
	how, word := form.Text("how"), form.Text("answer")
	if word == "" && how == "run" {
		word = "yes"
	}
	parse := func() value.Value {
		got, err := value.ParseJSON([]byte(cmp.Or(strings.TrimSpace(form.Text("value")), "null")))
		if err != nil {
			problem = sentence(value.ErrorOf(err, value.Invalid).Message())
		}
		return got
	}
	switch word {
	case "yes":
		a.Yes, a.Always = true, how == "run"
		if how == "args" {
			args, ok := parse().(*value.Dict)
			if a.Args = args; !ok && problem == "" {
				problem = "The arguments should be a JSON object."
			}
		}
		if how == "rule" {
			a.Rules = i.q.Rules
		}
	case "no":
		if i.q.Kind == tool.QuestionAsk && i.q.Form == nil {
			problem = "The question expects an answer in words."
		}
	case "done":
		a.Done, a.Value = true, parse()
	case "value":
		if i.q.Form == nil {
			a.Value = form.Text("value")
			break
		}
		f := page.NewForm(i.q.Form, r.zone(), r.s.now())
		s := f.Submit(page.Input{Values: r.PostForm}, func(args *value.Dict) error {
			_, err := i.q.Accepts(tool.Answer{Value: args})
			return err
		})
		if a.Value = s.Args; !s.Run {
			fields := &page.FormView{}
			f.Show(fields, s)
			v.Fields, problem = fields, "The answer is not complete."
		}
	default:
		problem = "The answer is missing."
	}
	return a, problem
}

// notAccepted shows the question again, with why its answer was not accepted, and with what was typed.
func (r *request) notAccepted(i *inboxItem, v *page.Question, form *value.Dict, problem string) error {
	if how := form.Text("how"); how == "args" || how == "done" {
		return r.otherWay(http.StatusBadRequest, i, v, how, form.Text("value"), problem)
	}
	v.Error, v.Value = problem, form.Text("value")
	return r.showQuestion(http.StatusBadRequest, v, true)
}

// tooLate shows the question as it is now: what it is about has changed, or somebody else has answered it.
func (r *request) tooLate(old *page.Question, e *refusal, seen string) error {
	id := old.ID
	if e.more.Dict("question") != nil {
		id = cmp.Or(e.more.Dict("question").Text("id"), id)
	}
	i, err := r.asked(id)
	if err != nil {
		return err
	}
	v, err := r.itemView(i)
	if err != nil {
		return err
	}
	if v.Given != nil {
		v.Conflict = &page.Conflict{Given: v.Given}
	} else {
		files, changed := v.Changed(seen)
		v.Conflict = &page.Conflict{Changed: files}
		if !changed && v.State == page.Open {
			v.Conflict, v.Error = nil, sentence(e.message)
		}
	}
	return r.showQuestion(http.StatusConflict, v, true)
}

// questionView returns a question of a run as the user sees it.
func (r *request) questionView(p *project, t *views.Trail, q *history.Asked) *page.Question {
	var info *toolset.Info
	if found, err := p.Host.Tool(q.Tool); err == nil {
		info = &found
	}
	v := views.Question(q, t.Run, info, t.Sources, r.zone())
	r.fillState(v, t.Run, q)
	if q.Form != nil {
		fields := &page.FormView{}
		page.NewForm(q.Form, r.zone(), r.s.now()).Show(fields, nil)
		v.Fields = fields
	}
	r.fillRights(v, p, t.Run, q)
	return v
}

// fillState fills in how far a question is.
func (r *request) fillState(v *page.Question, run *history.Run, q *history.Asked) {
	switch {
	case q.Answer != nil:
		used := q.Sent == 0
		v.State, v.Given = page.Answered, views.Given(q, r.user.Name, used, r.zone())
		if used {
			v.State = page.Used
		}
	case run.State.Ended():
		v.State = page.Withdrawn
	case !q.Expires.IsZero() && !r.s.now().Before(q.Expires):
		v.State = page.Expired
	}
}

// fillRights fills in what the user may do about a question.
func (r *request) fillRights(v *page.Question, p *project, run *history.Run, q *history.Asked) {
	err := r.s.mayAnswer(r.user, run, q, &tool.Answer{})
	if v.May = err == nil; err != nil {
		if r.user.Role >= Approve && r.s.settings().forbidOwn && run.By() == r.user.Name {
			v.MayNot = "You began this run, and here nobody answers for their own."
		}
		if r.banner != nil {
			v.MayNot = r.banner.Strong
			return
		}
		v.Who = r.whoAnswers(p, run, q)
		return
	}
	if q.Kind != tool.QuestionApproval {
		return
	}
	v.Ways = append(v.Ways, page.Way{Label: "Approve, and do not ask again for " + q.Tool + " in this run", How: "run"})
	if q.Func == "" && len(q.Changes) == 0 && q.Args.Len() > 0 {
		v.Ways = append(v.Ways, page.Way{Label: "Change the arguments, then approve…", Href: with(v.URL(), "how", "args")})
	}
	if r.user.Role >= Admin && len(q.Rules) > 0 {
		v.Ways = append(v.Ways, page.Way{Label: "Approve, and add a rule…", Href: with(v.URL(), "how", "rule")})
	}
}

// whoAnswers returns the names of those who may answer a question.
func (r *request) whoAnswers(p *project, run *history.Run, q *history.Asked) (names []string) {
	users, err := r.s.users()
	if err != nil {
		return nil // the page can be shown without them
	}
	for i := range users {
		u := &users[i]
		if sees := u.Projects == nil || slices.Contains(u.Projects, p.Name); sees && r.s.mayAnswer(u, run, q, &tool.Answer{}) == nil {
			names = append(names, u.Name)
		}
	}
	return names
}
