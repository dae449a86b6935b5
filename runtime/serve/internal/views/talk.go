package views

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Turn is a turn of a talk with an agent: what a person wrote, and what the agent did then.
type Turn struct {
	Run    *history.Run
	Agent  string // its name, for people
	Status page.Status
	Steps  []history.Entry
	Asks   []history.Asked // that are open
	Said   string          // of the reply that arrives now, or did not arrive
	// Question returns the view of a question that is open.
	Question func(q *history.Asked) *page.Question
}

// TurnNumber returns which turn of its talk a run is, from 1.
func TurnNumber(run string) int {
	_, text, _ := strings.Cut(run, "--")
	if i := strings.LastIndex(text, "--"); i >= 0 { // the ID of the talk has the mark, too
		text = text[i+2:]
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// ReplyID returns the element of the reply of a run.
func ReplyID(run string) page.ElementID {
	return page.ElementID("m-" + strconv.Itoa(TurnNumber(run)))
}

// Asked returns the message with which the turn began.
func (t *Turn) Asked(zone *time.Location) *page.Message {
	return &page.Message{ID: ReplyID(t.Run.ID) + "-ask", Who: cmp.Or(t.Run.By(), "in a terminal"), Person: true, At: t.Run.Started.In(zone), Text: t.Run.Args.Text("task")}
}

// Reply returns what the agent said and called.
func (t *Turn) Reply(zone *time.Location) *page.Message {
	m := &page.Message{ID: ReplyID(t.Run.ID), Who: t.Agent, At: t.Run.Ended, Run: t.Run.ID}
	if !m.At.IsZero() {
		m.At = m.At.In(zone)
	}
	for i := range t.Steps {
		t.add(m, &t.Steps[i])
	}
	switch {
	case t.Run.State == history.Done:
		t.end(m)
		return m
	case t.Run.Err != nil:
		say(m, t.Said)
		m.Failure = failureOf(t.Run.Err)
		m.Failure.Meaning = "The talk goes on from here."
	}
	if t.Status.State == page.Running {
		m.Parts = append(m.Parts, page.MessagePart{Text: t.Said, Stream: true})
	}
	m.Status = &t.Status
	return m
}

// add adds what a step of the first level says or calls.
func (t *Turn) add(m *page.Message, e *history.Entry) {
	if len(e.StepPath) != 1 {
		return
	}
	switch e.Func {
	case "agent.decide":
		list, _ := value.Elements(e.Outcome.Value)
		for i, v := range list {
			d, _ := v.(*value.Dict)
			text := d.Text("answer")
			if d.Text("kind") == "call" && i == 0 {
				text = d.Text("reasoning")
			}
			say(m, text)
		}
	case "agent.call":
		out, _ := e.Outcome.Value.(*value.Dict)
		call(m, t.row(e, e.StepPath, e.Args.Dict("decision"), out))
	case "agent.calls":
		out, _ := e.Outcome.Value.(*value.Dict)
		outcomes := out.Elements("outcomes")
		for i, v := range e.Args.Elements("decisions") {
			d, _ := v.(*value.Dict)
			var one *value.Dict
			if i < len(outcomes) {
				one, _ = outcomes[i].(*value.Dict)
			}
			call(m, t.row(e, e.StepPath.Child(i+1), d, one))
		}
	}
}

// end adds the answer with which the turn ended, unless it was said before.
func (t *Turn) end(m *page.Message) {
	result, ok := t.Run.Result.(*value.Dict)
	answer := strings.TrimSpace(result.Text("answer"))
	if !ok {
		answer, _ = t.Run.Result.(string)
	}
	if n := len(m.Parts); n > 0 && strings.TrimSpace(m.Parts[n-1].Text) == answer {
		return
	}
	if answer != "" {
		say(m, answer)
	} else if reason := result.Text("reason"); reason != "final" && reason != "" {
		m.Failure = &page.Failure{Message: "The agent stopped without an answer: " + reason, Meaning: "The talk goes on from here."}
	}
}

// say adds text of the agent.
func say(m *page.Message, text string) {
	if strings.TrimSpace(text) != "" {
		m.Parts = append(m.Parts, page.MessagePart{Text: text})
	}
}

// call adds a call to the message, below those that it follows.
func call(m *page.Message, row page.CallRow) {
	if n := len(m.Parts); n > 0 && len(m.Parts[n-1].Calls) > 0 {
		m.Parts[n-1].Calls = append(m.Parts[n-1].Calls, row)
		return
	}
	m.Parts = append(m.Parts, page.MessagePart{Calls: []page.CallRow{row}})
}

// The bounds of a call in a talk, in bytes.
const (
	mostCallArgs   = 200
	mostCallResult = 2000
)

// row is a call of the model, which stands at a step. out is its outcome, or nil.
func (t *Turn) row(e *history.Entry, at tool.StepPath, decision, out *value.Dict) page.CallRow {
	row := page.CallRow{
		ID: ReplyID(t.Run.ID) + page.ElementID("-"+strings.ReplaceAll(at.String(), ".", "-")), Name: decision.Text("action"), Status: page.Status{State: page.Running},
		Args: value.Cut(strings.TrimSpace(describe.ArgsText(decision.Dict("input"))), mostCallArgs), Href: page.URL("/runs/" + t.Run.ID + "?step=" + at.String()),
	}
	row.Took = t.took(e, at)
	switch {
	case out != nil && out.Bool("success"):
		row.Status.State = page.Done
		result, _ := out.Get("result")
		row.Result = value.Cut(value.Display(result), mostCallResult)
		row.Media = page.MediaIn(result, RunURL(t.Run.ID)+"/media/")
		t.addFiles(&row, at)
		return row
	case out != nil:
		row.Status.State, row.Result = page.Failed, value.Cut(out.Text("error"), mostCallResult)
		return row
	case e.Err != nil:
		row.Status.State, row.Result = page.Failed, value.Cut(e.Err.Message(), mostCallResult)
		return row
	case t.Run.State.Ended():
		row.Status = page.Status{State: page.Unknown, Word: "broken off"}
		return row
	}
	row.Since, row.Took = e.Intended, 0
	for i := range t.Asks {
		if q := &t.Asks[i]; q.Answer == nil && within(q.StepPath, at) {
			row.Status.State, row.Since = page.Waiting, time.Time{}
			if row.Question = t.Question(q); row.Question != nil {
				row.Added, row.Removed = row.Question.Added(), row.Question.Removed()
			}
			break
		}
	}
	return row
}

// addFiles adds the files that a call changed. Their contents are known if somebody was asked about them.
func (t *Turn) addFiles(row *page.CallRow, at tool.StepPath) {
	var list []tool.Change
	known := map[string]bool{}
	for i := range t.Steps {
		if !within(t.Steps[i].StepPath, at) {
			continue
		}
		for _, q := range t.Steps[i].Questions {
			if q.Answer == nil || !q.Answer.Yes {
				continue
			}
			for _, c := range q.Changes {
				known[c.Path] = true
				list = append(list, c)
			}
		}
	}
	for i := range t.Steps {
		if !within(t.Steps[i].StepPath, at) || t.Steps[i].Err != nil {
			continue
		}
		for k, v := range t.Steps[i].Change.All() {
			path, _ := k.(string)
			if d, _ := v.(*value.Dict); !known[path] {
				list = append(list, tool.Change{Path: path, Before: state(d.Text("before")), After: state(d.Text("after"))})
			}
		}
	}
	if list == nil {
		return
	}
	row.Files = page.Files(list)
	for i := range row.Files {
		row.Added, row.Removed = row.Added+row.Files[i].Added, row.Removed+row.Files[i].Removed
	}
}

// took returns how long a call took: of those that were made together, from its first step to its last.
func (t *Turn) took(e *history.Entry, at tool.StepPath) time.Duration {
	if slices.Equal(e.StepPath, at) {
		if e.Settled.IsZero() {
			return 0
		}
		return e.Settled.Sub(e.Intended)
	}
	var from, to time.Time
	for i := range t.Steps {
		s := &t.Steps[i]
		if !within(s.StepPath, at) || s.Intended.IsZero() {
			continue
		}
		if from.IsZero() || s.Intended.Before(from) {
			from = s.Intended
		}
		if s.Settled.After(to) {
			to = s.Settled
		}
	}
	return max(0, to.Sub(from))
}

// within reports whether a step is another one, or inside it.
func within(at, other tool.StepPath) bool {
	return len(at) >= len(other) && slices.Equal(at[:len(other)], other)
}

// Status returns the state of a run.
func Status(ctx context.Context, j *history.Journal, r *history.Run, zone *time.Location) page.Status {
	return status(r, r.State == history.Running && j.Held(r.ID), false, describe.WaitOf(ctx, j, r), zone)
}

// Failure returns an error as a page shows it.
func Failure(e *value.Error) *page.Failure { return failureOf(e) }
