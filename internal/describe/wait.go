package describe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Wait is what a run waits for: answers, or a time.
type Wait struct {
	run       string
	Questions []history.Asked
	until     time.Time // of a sleep; else zero
	err       error     // of reading it
}

// WaitOf returns what a run waits for, or nil.
func WaitOf(ctx context.Context, j *history.Journal, r *history.Run) *Wait {
	if r.State.Ended() || r.State == history.Stuck || r.Damage != nil {
		return nil
	}
	w := &Wait{run: r.ID, until: r.Wake}
	if history.Repair(r.Reason) != "" {
		w.until = time.Time{} // it tries again by itself, but waits for a repair
	}
	w.Questions, w.err = j.QuestionsOf(ctx, r)
	if len(w.Questions) == 0 && w.until.IsZero() && w.err == nil {
		return nil
	}
	return w
}

// Repair is what to type for a run that is stuck, is parked by a fault, was interrupted or has failed, or
// "".
func Repair(r *history.Run) string {
	repair := history.Repair(r.Reason)
	switch {
	case r.State == history.Stuck:
		return r.Unstick()
	case r.Damage != nil || r.Reason == history.Interrupted && r.State.Ended():
	case r.State == history.Parked && r.Reason == ceiling:
		return "to continue: cassidy runs resume " + r.ID + " with a higher --max-tokens, --max-cost, --max-requests or --max-iterations"
	case r.State == history.Parked && repair != "":
		return repair + "; then: cassidy runs resume " + r.ID
	case r.State == history.Parked && r.Reason == history.Interrupted, r.State == history.Running && r.Reason == BrokenOff:
		return "to continue: cassidy runs resume " + r.ID
	case r.State == history.Failed && r.Kind == undoKind:
		return "to try again: cassidy runs undo " + r.Options.Text("run")
	case r.State == history.Failed:
		return "to try again: cassidy runs retry " + r.ID
	}
	return ""
}

// Command returns the command of a text such as "to continue: cassidy …", or else the text.
func Command(text string) string {
	if aim, command, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(aim, "to ") && strings.HasPrefix(command, "cassidy ") {
		return command
	}
	return text
}

// ceiling is the reason of a run that has used of models what it may use.
const ceiling = "ceiling"

// undoKind is the kind of a run that undoes another.
const undoKind = "undo"

// Sleep is the reason of a run that waits for a time.
const Sleep = "sleep"

// BrokenOff is the reason of a run that has neither parked nor ended, and that no process
// executes: its process died.
const BrokenOff = "broken off"

// Text describes it on a line.
func (w *Wait) Text() string {
	switch {
	case w.err != nil:
		return "parked; the record of its questions is damaged"
	case len(w.Questions) > 1 && w.Open() == 0:
		return "has all its answers"
	case len(w.Questions) > 1:
		return "waits for " + count(w.Open(), "answer")
	case len(w.Questions) == 1:
		return QuestionLine(&w.Questions[0])
	}
	return "sleeps until " + w.until.Local().Format(TimeLayout)
}

// Open counts the questions that have no answer yet.
func (w *Wait) Open() (n int) {
	for i := range w.Questions {
		if w.Questions[i].Answer == nil {
			n++
		}
	}
	return n
}

// Sent describes the answers to the open questions at a step, which the run has not used
// yet. w may be nil.
func (w *Wait) Sent(at tool.StepPath) (lines []string) {
	if w == nil {
		return nil
	}
	for i := range w.Questions {
		if q := &w.Questions[i]; q.Answer != nil && slices.Equal(q.StepPath, at) {
			lines = append(lines, "answered: "+FirstLine(answerText(q)))
		}
	}
	return lines
}

// Todo is the command to type.
func (w *Wait) Todo() string {
	switch {
	case w.err != nil:
		return "cassidy runs show " + w.run
	case len(w.Questions) == 0:
		return "to continue after this time: cassidy runs resume " + w.run
	}
	var open *history.Asked
	for i := range w.Questions {
		if q := &w.Questions[i]; q.Answer == nil && open == nil {
			open = q
		} else if q.Answer != nil {
			return "cassidy runs resume " + w.run
		}
	}
	if len(w.Questions) > 1 {
		return AnswerHint(w.run+" "+open.StepPath.String(), open)
	}
	return AnswerHint(w.run, open)
}

// Next is the command that goes on: a label, and what to type on a terminal, where it asks for the answer. It is "" if there
// are several questions, and none has an answer.
func (w *Wait) Next() (label, command string) {
	switch n := w.Open(); {
	case n == 1 && len(w.Questions) == 1:
		return "answer", "cassidy runs answer " + w.run
	case n > 0 && n == len(w.Questions):
		return "", ""
	}
	return "run", Command(w.Todo())
}

// Dict is the wait as --json prints it. The first question is there a second time, as
// most runs have only one.
func (w *Wait) Dict() *value.Dict {
	d := value.NewDict("place", "", "question", "", "confirm", false, "until", stamp(w.until), "answer", nil)
	if len(w.Questions) > 0 {
		q := Question(&w.Questions[0])
		for _, name := range []string{"place", "confirm", "answer"} {
			v, _ := q.Get(name)
			d.Put(name, v)
		}
		d.Put("question", q.Text("text"))
	}
	d.Put("questions", questionList(w.Questions))
	if w.err != nil {
		d.Put("error", value.ErrorOf(w.err, value.Failed).Message())
	}
	return d
}
