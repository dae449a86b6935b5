package views

import (
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// mostArgs is how many bytes of the arguments of a step its view has.
const mostArgs = 4_000

// Entry returns the record of a step of a run, or of a call of a reply, or nil.
func Entry(list func(yield func(history.Entry, error) bool), at tool.StepPath) *history.Entry {
	for e, err := range list {
		if err != nil {
			continue // the rest can be read
		}
		if slices.Equal(e.StepPath, at) {
			return &e
		}
		if call := describe.CallOf(&e, at); call != nil {
			return call
		}
	}
	return nil
}

// Step returns what a page shows of a step. The query has how its value is shown.
func (t *Trail) Step(e *history.Entry, q page.ValueQuery, zone *time.Location) *page.StepView {
	path := page.Path(e.StepPath.String())
	v := &page.StepView{Run: t.Run.ID, Path: path, Name: e.Func, Tries: e.Tries}
	if s := t.Find(path); s != nil {
		v.Status, v.Name, v.Args, v.Took = s.Status, s.Name, s.Args, s.Took
	}
	if !e.Intended.IsZero() {
		v.Began = e.Intended.In(zone)
	}
	args, because, outcome, failure := describe.Parts(e)
	switch {
	case e.Err != nil:
		v.Failure = failureOf(e.Err)
		v.Failure.Meaning = t.meaning(v)
	case failure != "":
		v.Failure = &page.Failure{Message: failure}
	case !e.Settled.IsZero():
		if e.Func == "agent.ask" {
			q.Prefer = page.AsMarkdown
		}
		v.Value = page.ShowValue(outcome, q)
	}
	if args.Len() > 0 {
		v.Full = shorten(value.FormatJSON(args, "  "), mostArgs)
	}
	if because != "" {
		v.Record = append(v.Record, page.Fact{Label: "Because", Text: because, Quote: true})
	}
	for i := range e.Questions {
		addQuestion(v, &e.Questions[i], zone)
	}
	record(v, e)
	return v
}

// shorten cuts a long text, and says so.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return value.Cut(text[:most], most) + "\n… (all of it is in the record)"
}

// failureOf returns an error as a page shows it.
func failureOf(e *value.Error) *page.Failure {
	shown := describe.ForUsers(e)
	return &page.Failure{Message: shown.Message(), Hint: shown.Hint, Frames: strings.Join(e.Trace, "\n")}
}

// meaning says what the failure of a step means for the run.
func (t *Trail) meaning(v *page.StepView) string {
	switch r := t.Run; {
	case r.State == history.Failed && r.Err != nil && strings.Contains(r.Err.Message(), v.Failure.Message):
		return "The run ended with this error."
	case r.State == history.Done:
		return "The script caught this error and went on: the run is done."
	case !r.State.Ended():
		return "The run has not ended."
	}
	return ""
}

// addQuestion adds a question that a step has asked, and the files that a yes has changed.
func addQuestion(v *page.StepView, q *history.Asked, zone *time.Location) {
	v.Record = append(v.Record, page.Fact{Label: "Question", Text: q.Text, Link: (&page.QuestionRow{ID: q.ID}).URL()})
	a := q.Answer
	if a == nil {
		return
	}
	text := describe.AnswerText(q)
	if a.By != "" {
		text = a.By + ": " + text
	}
	if text += " (" + a.At.In(zone).Format("Mon 2 Jan, 15:04") + ")"; a.Why != "" {
		text += "\n" + a.Why
	}
	v.Record = append(v.Record, page.Fact{Label: "Answer", Text: text})
	if a.Yes && len(q.Changes) > 0 {
		v.Files = page.Files(q.Changes)
	}
}

// record adds the facts of a step.
func record(v *page.StepView, e *history.Entry) {
	add := func(label, text string, code bool) {
		if text != "" {
			v.Record = append(v.Record, page.Fact{Label: label, Text: text, Code: code})
		}
	}
	if e.Func != v.Name {
		add("Effect", e.Func, true)
	}
	for _, n := range e.Notes {
		add("Decided", describe.NoteText(n), false)
	}
	add("Key", e.Key, true)
}

// Result returns the result of the run, as a pane shows it.
func (t *Trail) Result(q page.ValueQuery, zone *time.Location) *page.StepView {
	r := t.Run
	v := &page.StepView{Run: r.ID, Status: status(r, t.Held, t.Undone, t.Wait, zone), Began: r.Started.In(zone)}
	v.Took, _ = times(t.Steps)
	switch {
	case r.Err != nil:
		v.Failure = failureOf(r.Err)
		if t.Failed != "" {
			v.Failure.Kept = "To do it again with the current tools, retry from step " + string(t.Failed) + ": the steps before it keep their results, and are not done again."
		}
	case r.State == history.Done:
		if r.Kind == "task" || r.Kind == "chat" {
			q.Prefer = page.AsMarkdown
		}
		if v.Value = page.ShowValue(r.Result, q); v.Value.Heading == page.ResultHeading {
			v.Value.Heading = "" // the pane has it
		}
	}
	if r.Args.Len() > 0 {
		v.Full = shorten(value.FormatJSON(r.Args, "  "), mostArgs)
	}
	return v
}

// Opens returns the step that the pane of a run opens at: the one that failed, or the newest one while the run is
// executed. It is "" for the result.
func (t *Trail) Opens() page.Path {
	switch state := t.Run.State; {
	case state == history.Failed || state == history.Stuck:
		return t.deepest
	case state == history.Running:
		return t.Last
	}
	return ""
}
