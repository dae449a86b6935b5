package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askPerson is the Grant's Ask: a question of the effect while it is done.
func (s *step) askPerson(ctx context.Context, text string, confirm bool) (value.Value, error) {
	kind, who := tool.QuestionAsk, "the tool asks for a text"
	if confirm {
		kind, who = tool.QuestionConfirm, "the tool asks for a yes or no"
	}
	return askQuestion(ctx, s, Question{Kind: kind, Text: text, Why: who, Capabilities: s.takes}, waitsQuestion)
}

// mayRepeat asks whether the effect is to be done that may have been done already,
// when the run was interrupted, unless doing it twice does no harm. A no is its
// failure. An answer holds for one try.
func (s *step) mayRepeat(ctx context.Context) error {
	if s.fn.Calls || s.fn.Kind != tool.External || s.of.tool.Hints.Idempotent && s.of.program == nil {
		return nil
	}
	e := s.effect
	q := Question{Kind: tool.QuestionUnknown, Why: "the run was interrupted during this effect",
		Text: "when the run broke off, " + clip(e.Func+"("+e.Args.String()+")") + " had begun and may have been done: do it again?"}
	if s.fn.Target != nil {
		s.takes, _ = targets(s.fn, e) // an error is that of the grant
		if err := s.rights().refusal(s.takes); err != nil {
			return value.Errorf(value.KindOf(err), "it is not known whether %s was done before the run broke off, and it is not done again: %w", e.Func, s.failed(s.takes, err))
		}
		q.Capabilities = s.takes
	}
	answer, err := askQuestion(ctx, s, q, waitsUnknown)
	if err != nil || answer == true {
		return err
	}
	return value.Errorf(value.Failed, "it is not known whether %s was done before the run broke off, and it was not done again", e.Func)
}

// askQuestion puts a question of an effect to the [Asker]. It parks the run where
// nobody answers.
func askQuestion(ctx context.Context, s *step, q Question, why value.LimitName) (value.Value, error) {
	p, at := s.of, s.effect.Place
	q.Tool, q.Func, q.Args, q.Reasoning = p.tool.Name, s.effect.Func, s.effect.Args, p.call.Reasoning
	answer, _, err := p.run.answer(ctx, at, func(asked *history.Asked) bool {
		return asked.Kind == q.Kind && asked.Text == q.Text && !(asked.Spent && q.Kind == tool.QuestionUnknown)
	})
	if err != nil {
		return nil, err
	}
	if answer != nil {
		return answerValue(q.Kind, &answer.Answer), nil
	}
	asked := history.Asked{Place: at, Question: q}
	nobody := value.Errorf(value.Denied, "there is nobody to answer: %s", q.Text).WithHint("run it where somebody can be asked; a program sets Options.Asker")
	asker := p.run.host.opts.Asker
	switch {
	case ctx.Value(askingKey{}) != nil:
		return nil, nobody
	case asker == nil:
		return nil, p.run.ask(ctx, asked, why, nobody)
	}
	p.wall.Pause()
	defer p.wall.Resume()
	identified, err := p.run.record.Identify(asked)
	if err != nil {
		return nil, unrecorded(err)
	}
	if identified.Asked.IsZero() {
		identified.Asked = p.run.host.now().UTC()
	}
	asked.Asked = identified.Asked
	put := &asking{tool: p.tool, call: p.shown()}
	given, err := put.put(ctx, identified.Question, asker.Ask)
	switch {
	case unanswered(err):
		return nil, p.run.ask(ctx, asked, why, nobody)
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, value.AsError(err, value.Denied)
	}
	if failure := p.run.record.Answered(ctx, asked, given); failure != nil {
		return nil, unrecorded(failure)
	}
	return answerValue(q.Kind, &given), nil
}

// answerValue is an answer as the script gets it.
func answerValue(k tool.QuestionKind, a *Answer) value.Value {
	if k == tool.QuestionAsk {
		return a.Value
	}
	return a.Yes
}
