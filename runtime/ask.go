package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An Asked is a question to a person that is no matter of approval.
type Asked struct {
	Run     string     // the run in which it came up, or "" where none is recorded
	Place   tool.Place // where in the run
	By      string     // the tool or program that asks
	Text    string
	Confirm bool // the answer is a bool; else a text
	// Unknown is an effect that may have been done or not, since the run broke
	// off during it, where the question is whether to do it again; else nil.
	Unknown *tool.Effect
}

// An Ask puts a question to a person. It is called concurrently, while the clock
// of the call stands still. An error of kind [tool.Unanswered] or [tool.Parked]
// says that nobody answers: a run that can wait then parks.
type Ask func(ctx context.Context, q Asked) (tool.Value, error)

// askPerson is the Grant's Ask: a question of the effect while it is done.
func (s *step) askPerson(ctx context.Context, text string, confirm bool) (tool.Value, error) {
	q := Asked{Place: s.effect.Place, Text: text, Confirm: confirm}
	kind := history.QuestionAsk
	if confirm {
		kind = history.QuestionConfirm
	}
	return s.of.askPerson(ctx, q, kind, waitsQuestion)
}

// mayRepeat asks whether the effect is to be done that may have been done already,
// when the run was interrupted, unless doing it twice does no harm. A no is its
// failure. An answer holds for one try.
func (s *step) mayRepeat(ctx context.Context) error {
	if s.fn.Calls || s.fn.Kind != tool.External || s.of.tool.Hints.Idempotent && s.of.program == nil {
		return nil
	}
	e := s.effect
	text := "when the run broke off, " + clip(e.Func+"("+e.Args.String()+")") + " had begun and may have been done: do it again?"
	said, err := s.of.askPerson(ctx, Asked{Place: e.Place, Text: text, Confirm: true, Unknown: &e}, history.QuestionUnknown, waitsUnknown)
	if err != nil || said == true {
		return err
	}
	return tool.Errorf(tool.Failed, "it is not known whether %s was done before the run broke off, and it was not done again", e.Func)
}

// askPerson puts a question to whoever is there. It parks the run where nobody is.
func (p *pass) askPerson(ctx context.Context, q Asked, kind history.QuestionKind, why tool.LimitName) (tool.Value, error) {
	q.By = p.tool.Name
	if p.run.record.Keeps() {
		q.Run = p.run.id
	}
	said, _, err := p.run.answer(ctx, q.Place, func(asked *history.Question) bool {
		return asked.Kind == kind && asked.Text == q.Text && !(asked.Spent && kind == history.QuestionUnknown)
	})
	if err != nil {
		return nil, err
	}
	if said != nil {
		return answerValue(said, q.Confirm), nil
	}
	asked := history.Question{Place: q.Place, Kind: kind, Text: q.Text, Data: tool.NewDict(dataTool, q.By)}
	nobody := tool.Errorf(tool.Denied, "there is nobody to answer: %s", q.Text).WithHint("run it where somebody can be asked")
	switch {
	case ctx.Value(askingKey{}) != nil:
		return nil, nobody
	case p.run.host.opts.Ask == nil:
		return nil, p.run.ask(ctx, asked, why, nobody)
	}
	p.wall.pause()
	defer p.wall.resume()
	v, err := p.run.host.opts.Ask(context.WithValue(ctx, askingKey{}, (*inquiry)(nil)), q)
	if unanswered(err) {
		return nil, p.run.ask(ctx, asked, why, nobody)
	}
	if err != nil {
		return v, err
	}
	answer, err := valueAnswer(v, q.Confirm)
	if err == nil {
		if failure := p.run.record.Answered(ctx, asked, answer); failure != nil {
			err = unrecorded(failure)
		}
	}
	return v, err
}

// answerValue is an answer as the script gets it.
func answerValue(a *history.Answer, confirm bool) tool.Value {
	if confirm {
		return a.Yes
	}
	return a.Value
}

// valueAnswer is what an [Ask] returned, as an answer.
func valueAnswer(v tool.Value, confirm bool) (history.Answer, error) {
	yes, isBool := v.(bool)
	_, isText := v.(string)
	switch {
	case confirm && isBool:
		return history.Answer{Yes: yes}, nil
	case !confirm && isText:
		return history.Answer{Value: v}, nil
	}
	return history.Answer{}, tool.Errorf(tool.Internal, "Options.Ask answered with %s", tool.TypeOf(v))
}
