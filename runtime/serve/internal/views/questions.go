package views

import (
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Question returns a question of a run, without what the user may do. The tool that asks is as it is now, or nil. Sources
// are the untrusted texts that the run has read.
func Question(q *history.Asked, r *history.Run, t *toolset.Info, sources []page.Source, zone *time.Location) *page.Question {
	about := &review.About{}
	if r.Kind == "task" || r.Kind == "chat" {
		about.Caller = "a model"
	} else if r.Kind == host.WorkflowKind {
		about.Caller = "a script"
	}
	if t != nil {
		about.Tool, about.From = t.DisplayTitle()+" ("+t.Name+")", describe.Origin(t)
	}
	v := page.QuestionOf(&q.Question, about)
	v.RunName, v.RunArgs = Name(r)
	v.Asked, v.Rev = q.Asked.In(zone), q.Sent
	if !q.Expires.IsZero() {
		v.Expires = q.Expires.In(zone)
	}
	if q.Kind == tool.QuestionApproval {
		v.Sources = before(sources, q.StepPath)
	}
	return v
}

// before returns the sources that were read before a step.
func before(list []page.Source, at tool.StepPath) (some []page.Source) {
	for _, s := range list {
		if s.Step.Compare(page.Path(at.String())) < 0 {
			some = append(some, s)
		}
	}
	return some
}

// Given returns an answer as the user sees it.
func Given(q *history.Asked, user string, used bool, zone *time.Location) *page.Given {
	a := q.Answer
	g := &page.Given{Verb: "answered", By: a.By, Me: a.By == user, At: a.At.In(zone), Why: a.Why, Used: used}
	switch {
	case q.Kind == tool.QuestionApproval && a.Yes:
		g.Verb = "approved"
	case q.Kind == tool.QuestionApproval:
		g.Verb, g.No = "refused", true
	default:
		g.Value, g.No = value.Cut(describe.FirstLine(describe.AnswerText(q)), mostText), q.Kind == tool.QuestionConfirm && !a.Yes
	}
	if g.By == "" {
		g.By = "Somebody"
	}
	return g
}

// QuestionRow returns a question as the inbox shows it.
func QuestionRow(q *history.Asked, r *history.Run, zone *time.Location) page.QuestionRow {
	v := Question(q, r, nil, nil, zone)
	row := page.QuestionRow{ID: q.ID, Kind: q.Kind, Heading: v.Heading, Run: Title(r), Added: v.Added(), Removed: v.Removed(), Asked: v.Asked, Expires: v.Expires}
	switch q.Kind {
	case tool.QuestionAsk:
		row.Note = "an answer in words"
	case tool.QuestionUnknown:
		row.Note = "admin"
	}
	return row
}
