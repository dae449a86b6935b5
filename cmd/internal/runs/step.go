package runs

import (
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// one returns the lines of everything that is recorded about a step, with the steps inside it.
func (v *view) one(e *history.Entry, s *describe.Step, below []describe.Step) []string {
	cost := s.Cost
	if s.Mark == describe.Unknown {
		cost = s.Mark.State()
	}
	title := v.Paint(draw.Bold, s.StepPath.String()) + "  " + ui.VisibleLine(s.Name)
	lines := v.Head(stepMark(s), title, v.Paint(draw.Dim, v.Own(cost)))
	fact := func(label, text string) {
		if text != "" {
			lines = append(lines, v.Fact(draw.None, draw.Pad(label, 8, false), ui.VisibleLine(text))...)
		}
	}
	if e.Func != s.Name {
		fact("effect", e.Func)
	}
	fact("began", describe.Moment(e.Intended))
	fact("key", e.Key)
	for _, n := range e.Notes {
		fact("decided", describe.NoteText(n))
	}
	block := func(name string, of value.Value) {
		lines = append(append(lines, ""), v.block(name, of)...)
	}
	args, because, outcome, failure := describe.Parts(e)
	if v.all {
		args, because, outcome, failure = describe.Args(e), "", e.Outcome.Value, ""
	}
	if args.Len() > 0 {
		block("arguments", args)
	}
	if because != "" {
		block("because", because)
	}
	if e.Change != nil {
		block("change", e.Change)
	}
	for i := range e.Questions {
		q := &e.Questions[i]
		block("question", q.Text)
		if q.Data.Len() > 0 && (v.all || q.Kind != tool.QuestionApproval) {
			block("with", q.Data)
		}
		fact("asked", describe.Moment(q.Asked))
		if a := q.Answer; a != nil {
			block("answer", describe.AnswerText(q))
			fact("answered", describe.Moment(a.At))
			fact("by", a.By)
			fact("why", a.Why)
		}
	}
	if len(below) > 0 {
		all := *v
		all.all = true
		rows, _ := all.rowsOf(below)
		lines = append(append(lines, ""), all.steps(rows, 0)...)
	}
	switch {
	case e.Err != nil:
		lines = append(append(lines, ""), v.Failure(v.Screen, "", e.Err)...)
	case failure != "":
		lines = append(append(lines, ""), v.Quoted(draw.Failed, ui.Visible(failure))...)
	case !e.Settled.IsZero() && outcome != nil:
		block("outcome", outcome)
	}
	if u := e.Outcome.Undo; u != nil {
		block("undo", value.NewDict("func", u.Func, "args", describe.OrNil(u.Args)))
	}
	return lines
}
