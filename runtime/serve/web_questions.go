package serve

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/views"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// questionView returns a question of a run as the user sees it.
func (r *request) questionView(p *project, t *views.Trail, q *history.Asked) *page.Question {
	var info *toolset.Info
	if found, err := p.Host.Tool(q.Tool); err == nil {
		info = &found
	}
	v := views.Question(q, t.Run, info, t.Sources, r.zone())
	switch {
	case q.Answer != nil:
		used := q.Sent == 0
		v.State, v.Given = page.Answered, views.Given(q, r.user.Name, used, r.zone())
		if used {
			v.State = page.Used
		}
	case t.Run.State.Ended():
		v.State = page.Withdrawn
	case !q.Expires.IsZero() && !r.s.now().Before(q.Expires):
		v.State = page.Expired
	}
	r.fillRights(v, p, t.Run, q)
	return v
}

// fillRights fills in what the user may do about a question.
func (r *request) fillRights(v *page.Question, p *project, run *history.Run, q *history.Asked) {
	err := r.s.mayAnswer(r.user, run, q, &tool.Answer{})
	if v.May = err == nil; err != nil {
		if r.user.Role >= Approve && r.s.opts.ForbidOwn && run.By() == r.user.Name {
			v.MayNot = "You began this run, and here nobody answers for their own."
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
