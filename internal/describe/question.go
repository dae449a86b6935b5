package describe

import (
	"strings"

	"github.com/cassidy-run/cassidy/internal/forms"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// QuestionLine describes on a line what a question waits for.
func QuestionLine(q *history.Asked) string {
	rest := " at step " + q.StepPath.String() + ": " + q.Text
	switch {
	case q.Answer != nil:
		return "was answered " + answerText(q) + rest
	case q.Kind == tool.QuestionAsk:
		return "waits for an answer" + rest
	}
	return "waits for yes or no" + rest
}

// AnswerHint is the command that answers a question.
func AnswerHint(run string, q *history.Asked) string {
	if form, err := forms.Parse(q.Form); q.Form != nil && err == nil {
		text := `{"NAME": VALUE}`
		if example := form.Example(); !strings.Contains(example, ";") { // which separates the parts of a hint
			text = example
		}
		return "cassidy runs answer " + run + " --text " + hint.Quote(text) + "; to decline: cassidy runs answer " + run + " no"
	}
	if q.Kind == tool.QuestionAsk {
		return "cassidy runs answer " + run + ` --text "…"`
	}
	if q.TakesDone() {
		return "cassidy runs answer " + run + " yes|no|done"
	}
	return "cassidy runs answer " + run + " yes|no"
}

// questionList is a list of questions as --json prints them.
func questionList(list []history.Asked) value.List {
	return value.Map(list, func(q history.Asked) value.Value { return Question(&q) })
}

// Question is a question as --json prints it. Its review is what a person is shown, with
// marks as data.
func Question(q *history.Asked) *value.Dict {
	d := value.NewDict("id", q.ID, "place", q.StepPath.String(), "kind", string(q.Kind), "text", q.Text, "confirm", q.Kind != tool.QuestionAsk,
		"asked", stamp(q.Asked), "data", questionData(q),
		"review", review.Of(&q.Question, &review.About{}).Dict(), "answer", nil)
	if q.Form != nil {
		d.Put("form", q.Form)
	}
	if a := q.Answer; a != nil {
		d.Put("answer", AnswerValue(q))
		d.Put("answered", stamp(a.At))
		if a.Done {
			d.Put("result", a.Value)
		}
		d.Put("why", a.Why)
		d.Put("by", a.By)
		d.Put("always", a.Always)
		d.Put("args", OrNil(a.Args))
	}
	return d
}

// Given is the answer to a question, as runs answer --json prints it.
func Given(q *history.Asked) *value.Dict {
	a := q.Answer
	return value.NewDict("id", q.Run, "question_id", q.ID, "place", q.StepPath.String(), "question", q.Text,
		"answer", AnswerValue(q), "why", a.Why, "by", a.By, "always", a.Always, "args", OrNil(a.Args), "result", AnswerResult(q))
}

// questionData is what is shown with a question, as --json prints it. The changes are
// there as hashes, by path, and as files with their contents.
func questionData(q *history.Asked) value.Value {
	d := &value.Dict{}
	for name, v := range q.Data.All() {
		d.Put(name.(string), v)
	}
	for _, part := range []struct{ name, text string }{{"tool", q.Tool}, {"func", q.Func}, {"why", q.Why}, {"reasoning", q.Reasoning}} {
		if part.text != "" {
			d.Put(part.name, part.text)
		}
	}
	if q.Args != nil {
		d.Put("args", q.Args)
	}
	if len(q.Capabilities) > 0 {
		d.Put("capabilities", texts(q.Capabilities))
	}
	if len(q.Changes) > 0 {
		files := value.Map(q.Changes, func(c tool.Change) value.Value {
			return value.NewDict("path", c.Path, "before", stateData(&c.Before), "after", stateData(&c.After), "diff", c.Diff)
		})
		d.Put("changes", tool.ChangeSums(q.Changes))
		d.Put("files", value.List(files))
	}
	if d.Len() == 0 {
		return nil
	}
	return d
}

// stateData is the content of a file, or nil if it was not recorded.
func stateData(s *tool.FileState) value.Value {
	if s.Data == nil && (!s.Exists || s.Dir || s.Hash != tool.HashBytes(nil)) {
		return nil
	}
	return s.Data
}

// AnswerValue is an answer as a bool or a string.
func AnswerValue(q *history.Asked) value.Value {
	switch {
	case q.Kind == tool.QuestionAsk:
		return q.Answer.Value
	case q.Answer.Done:
		return "done"
	}
	return q.Answer.Yes
}

// AnswerResult is the result that the answer done reports, or nil.
func AnswerResult(q *history.Asked) value.Value {
	if !q.Answer.Done {
		return nil
	}
	return q.Answer.Value
}

// AnswerText is an answer as it was typed.
func AnswerText(q *history.Asked) string {
	text := valueText(AnswerValue(q))
	if q.Answer != nil && q.Answer.Args != nil {
		text += ", with " + q.Answer.Args.String()
	}
	if q.Answer != nil && q.Answer.Done {
		text += ", with the result " + value.FormatJSON(q.Answer.Value, "")
	}
	return text
}

// answerText returns an answer, with who gave it, and why.
func answerText(q *history.Asked) string {
	text := AnswerText(q)
	if q.Answer.By != "" {
		text += " by " + q.Answer.By
	}
	if q.Answer.Why != "" {
		text += " (" + q.Answer.Why + ")"
	}
	return text
}

func valueText(v value.Value) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return value.FormatJSON(v, "")
}
