// Package describe describes recorded runs for people and for programs: their steps,
// the questions that they asked, and what they wait for.
package describe

import (
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Step is one line about a step, and the lines below it.
type Step struct {
	StepPath tool.StepPath
	Mark     Mark
	What     string   // the effect, with the arguments that matter
	Cost     string   // how long it took, and how much it returned
	Result   string   // its outcome
	Below    []string // what was asked and decided there
	Internal bool     // bookkeeping that succeeded

	// The same in parts.
	Name    string   // what it does, such as a tool
	About   string   // the argument that matters most, or the question
	Brief   string   // the outcome in a few words, such as an exit code, or ""
	Figures []string // how much it returned, and how long it took if that was long
	Notes   []string // Below without the calls
	Calls   []Step   // of a reply of a model
	Called  bool     // it is one of them
	Asks    bool     // it waits for a person
	Own     bool     // what it asks is in About
}

// A Mark is the state of a step, as people see it.
type Mark string

const (
	Done    Mark = "✓"
	Failed  Mark = "✗"
	Unknown Mark = "?" // it may have happened
	Waits   Mark = "…" // for an answer, or for the calls that it made
	NotDone Mark = "·" // it was not done
)

// State returns the state in words.
func (m Mark) State() string { return states[m] }

var states = map[Mark]string{
	Done: "done", Failed: "failed", Unknown: "unknown: the step began, but no outcome is recorded", Waits: "waits", NotDone: "not done",
}

// StepOf describes a step of a run in some state, which used these tokens. live says that a
// process executes the run. times are those of the run, or nil.
func StepOf(e *history.Entry, run history.State, live bool, tokens Tokens, times *history.Times) Step {
	w := wordsOf(e)
	s := Step{StepPath: e.StepPath, What: w.what, Result: w.result, Name: w.name, About: w.about, Brief: w.brief}
	settled := !e.Settled.IsZero()
	worked, waited := times.Step(e)
	switch {
	case e.Err != nil:
		s.Mark, s.Result = Failed, FirstLine(e.Err.Message())
	case settled && w.failed:
		s.Mark = Failed
	case settled:
		s.Mark = Done
	case (isOpen(e) || e.Func == "time.sleep") && !run.Ended():
		s.Mark, s.Result = Waits, ""
	case isOpen(e) && e.Questions[len(e.Questions)-1].Kind != tool.QuestionUnknown:
		s.Mark, s.Result = Failed, "nobody answered"
	case e.Unknown() && live:
		s.Mark, s.Result = Waits, "in progress for "+Duration(worked)
	case e.Unknown() && e.NotDone():
		s.Mark = NotDone
	case e.Unknown() && !run.Ended() && slices.ContainsFunc(e.Notes, func(n *value.Dict) bool { return n.Has("failed") }):
		s.Mark = Waits // for what its note names
	case e.Unknown():
		s.Mark, s.Result = Unknown, "the step began, but its outcome is unknown"
	default:
		s.Mark = NotDone
	}
	var cost []string
	if settled {
		cost = append(cost, Took(worked, waited))
	}
	if n := size(w.value); n > 0 {
		cost = append(cost, bytesText(n))
	}
	if tokens != (Tokens{}) {
		cost = append(cost, tokens.String()+" tokens")
	}
	s.Cost = strings.Join(cost, " · ")
	for i, call := range w.calls {
		call.StepPath, call.Called = e.StepPath.Child(i+1), true
		s.Below = append(s.Below, strings.TrimSpace(string(call.Mark)+" "+call.What+"  "+call.Result))
		s.Calls = append(s.Calls, call)
	}
	for _, n := range e.Notes {
		text := NoteText(n)
		if text == "" {
			continue
		}
		s.Below = append(s.Below, text)
		if s.Mark != Done || !n.Has("until") { // else it is over
			s.Notes = append(s.Notes, text)
		}
	}
	questions := questionLines(e, w.asks, settled)
	s.Below = append(s.Below, questions...)
	if s.Asks = s.Mark == Waits && isOpen(e); s.Asks {
		last := &e.Questions[len(e.Questions)-1]
		s.Own = w.asks && isPlain(last)
		questions = slices.DeleteFunc(questions, func(text string) bool { return text == "asked: "+last.Text }) // it is shown in full
	}
	s.Notes = append(s.Notes, questions...)
	s.Figures = figures(size(w.value), w.brief, tokens)
	if settled && worked >= longTime {
		s.Figures = append(s.Figures, Duration(worked))
	}
	s.Internal = len(s.Below) == 0 && (e.Func == "" && len(e.Questions) == 0 || s.Mark == Done && slices.Contains([]string{"agent.limits", "agent.note", "agent.result_text", "agent.decide", "random.seed"}, e.Func))
	return s
}

// longTime is how long a step takes that a person may want to know about.
const longTime = time.Second

// figures describes how much a step returned, unless that is said already.
func figures(bytes int, brief string, tokens Tokens) (list []string) {
	if bytes > 0 && brief == "" {
		list = append(list, bytesText(bytes))
	}
	if tokens != (Tokens{}) {
		list = append(list, tokens.String()+" tokens")
	}
	return list
}

// isOpen reports whether a step waits for an answer that it can use.
func isOpen(e *history.Entry) bool {
	return len(e.Questions) > 0 && e.Questions[len(e.Questions)-1].Answer == nil
}

// isPlain reports whether a question is only its text.
func isPlain(q *history.Asked) bool {
	return (q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm) && q.Form == nil && q.Data.Len() == 0 && len(q.Changes) == 0
}

// questionLines describes the questions of a step and their answers. The question of an
// effect that asks a person is in the line of the step itself.
func questionLines(e *history.Entry, asks, settled bool) (lines []string) {
	for i := range e.Questions {
		q := &e.Questions[i]
		own := asks && (q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm)
		by, why := "", ""
		if q.Answer != nil && q.Answer.By != "" {
			by = " by " + q.Answer.By
		}
		if q.Answer != nil && q.Answer.Why != "" {
			why = ": " + q.Answer.Why
		}
		switch {
		case q.Kind == tool.QuestionApproval && q.Answer != nil && q.Answer.Yes && q.Answer.Args != nil:
			lines = append(lines, "approved"+by+" with the arguments "+FirstLine(value.FormatJSON(q.Answer.Args, ""))+why)
			continue
		case q.Kind == tool.QuestionApproval && q.Answer != nil && q.Answer.Yes:
			lines = append(lines, "approved"+by+why)
			continue
		case q.Kind == tool.QuestionApproval && q.Answer != nil:
			lines = append(lines, "refused"+by+why)
			continue
		case !own:
			lines = append(lines, "asked: "+q.Text)
		}
		if q.Answer != nil && !(own && settled) {
			lines = append(lines, "answered: "+FirstLine(answerText(q)))
		}
	}
	return lines
}
