package gate

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askPerson is the Ask of the [tool.Grant]: the effect asks a question while it runs.
func (s *step) askPerson(ctx context.Context, text string, confirm bool, timeout time.Duration) (value.Value, error) {
	kind, who := tool.QuestionAsk, "the tool asks for an answer in words"
	if confirm {
		kind, who = tool.QuestionConfirm, "the tool asks for yes or no"
	}
	q := tool.Question{Kind: kind, Text: text, Why: who, Capabilities: s.takes}
	return s.askQuestion(ctx, q, s.of.Run.gate.Ask, reasonQuestion, timeout)
}

// liveKey is the key of the [askFunc] that is asked what cannot wait.
type liveKey struct{}

// WithLive returns a context for calls whose forms ask answers if they cannot wait and nobody else answers
// them.
func WithLive(ctx context.Context, ask askFunc) context.Context {
	return context.WithValue(ctx, liveKey{}, ask)
}

// liveAsker returns who is asked what cannot wait, or nil: the asker of the host, and then the one of the
// context.
func liveAsker(ctx context.Context, first askFunc) askFunc {
	then, _ := ctx.Value(liveKey{}).(askFunc)
	if first == nil || then == nil {
		if first == nil {
			return then
		}
		return first
	}
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		answer, err := first(ctx, q)
		if unanswered(err) {
			return then(ctx, q)
		}
		return answer, err
	}
}

// forms returns the Form of the [tool.Grant]: nil if nobody can be asked and the run cannot wait.
func (s *step) forms(ctx context.Context) func(ctx context.Context, text string, form *value.Dict, live bool) (*value.Dict, error) {
	r := s.of.Run
	waits := r.Parks && r.record.Keeps()
	if !waits && liveAsker(ctx, r.gate.Ask) == nil {
		return nil
	}
	return func(ctx context.Context, text string, form *value.Dict, live bool) (*value.Dict, error) {
		q := tool.Question{Kind: tool.QuestionAsk, Text: text, Form: form, Why: "the tool asks for a form", Capabilities: s.takes}
		ask, why := r.gate.Ask, reasonQuestion
		if live || !waits {
			ask, why = liveAsker(ctx, ask), ""
		}
		if live { // here, so that an approval ends with the context, too
			if err := s.check(ctx, tool.Capability{Name: "human"}); err != nil {
				return nil, err
			}
		}
		answer, err := s.askQuestion(ctx, q, ask, why, 0)
		if err != nil {
			return nil, err
		}
		filled, _ := answer.(string)
		response := &value.Dict{}
		return response, response.UnmarshalJSON([]byte(filled))
	}
}

// mayRepeat asks whether to repeat an effect that may have been carried out before the run
// was interrupted, unless a repetition does no harm. If the answer is no, the effect fails. If it is that the
// effect was carried out, done is true, and out has the result that the answer reports. An answer holds for one
// attempt. Done is a word of the answer and not a flag of the command, as it is the third answer to one question.
func (s *step) mayRepeat(ctx context.Context) (out tool.Outcome, done bool, err error) {
	if s.fn.MakesCalls() || s.fn.Kind != tool.External || s.of.tool.Hints.Idempotent && s.of.program == nil {
		return out, false, nil
	}
	e := s.effect
	q := tool.Question{Kind: tool.QuestionUnknown, Why: "the run was interrupted during this effect",
		Text: "the run was interrupted during " + clip(e.Func+"("+e.Args.String()+")") + ", which may have completed: do it again?"}
	if s.fn.Target != nil {
		s.takes, _ = targets(s.fn, e) // the grant reports an error
		if err := s.of.rights.Refusal(s.takes, s.own); err != nil && !s.isReported(ctx) {
			return out, false, value.Errorf(value.KindOf(err), "%s may have completed before the run was interrupted, and cannot be repeated: %w", e.Func, s.failed(s.takes, err)).
				WithLimit(value.ErrorOf(err, value.Denied).Limit)
		}
		q.Capabilities = s.takes
	}
	for tries := 1; ; tries++ {
		answer, err := s.askQuestion(ctx, q, s.of.Run.gate.Ask, reasonUnknownOutcome, 0)
		said, is := answer.(reported)
		switch {
		case err != nil || answer == true:
			return out, false, err
		case !is:
			return out, false, value.Errorf(value.Failed, "%s may have completed before the run was interrupted, and was not repeated", e.Func)
		}
		if out.Value, err = said.result(s.fn); err == nil {
			s.of.allowed(decision{what: e.Func, at: e.StepPath, takes: s.takes, by: said.By, pos: e.Pos, why: strings.TrimSuffix("it was reported as done: "+said.Why, ": ")})
			return out, true, s.mark(ctx, out, nil)
		}
		q.Why = "the reported result is invalid: " + value.ErrorOf(err, value.Invalid).Message()
		if tries > 1 { // each is a question of its own
			q.Why += fmt.Sprintf(" (answer %d)", tries)
		}
	}
}

// A reported is the answer that an effect was carried out.
type reported struct{ *tool.Answer }

// result returns the result of an effect of f that the answer reports.
func (r reported) result(f *tool.Func) (value.Value, error) {
	v, err := value.FromGo(r.Value)
	if err == nil && f.Reported != nil {
		v, err = f.Reported(v)
	}
	return v, err
}

// isReported reports whether somebody has answered that the effect was carried out. No rule is above that, as
// nothing is done.
func (s *step) isReported(ctx context.Context) bool {
	answer, _, err := s.of.Run.answer(ctx, s.effect.StepPath, func(asked *history.Asked) bool { return asked.Kind == tool.QuestionUnknown && !asked.Spent })
	return err == nil && answer != nil && answer.Done
}

// askQuestion asks a question of an effect with asker, which may be nil, and parks the run for the reason
// why if nobody answers; without a reason it fails. After the timeout, which is that of the host if it is
// 0, the error is of kind Timeout.
func (s *step) askQuestion(ctx context.Context, q tool.Question, asker askFunc, why value.LimitName, timeout time.Duration) (value.Value, error) {
	p, at := s.of, s.effect.StepPath
	q.Tool, q.Func, q.Args, q.Reasoning = p.tool.Name, s.effect.Func, s.effect.Args, p.call.Reasoning
	answer, open, err := p.Run.answer(ctx, at, func(asked *history.Asked) bool {
		return asked.Kind == q.Kind && asked.Text == q.Text && (q.Kind != tool.QuestionUnknown || !asked.Spent && asked.Why == q.Why)
	})
	if err != nil {
		return nil, err
	}
	if answer != nil {
		return answerValue(q.Kind, &answer.Answer), nil
	}
	now := p.Run.gate.Clock()
	q.Expires = expiry(q.Kind, open, cmp.Or(timeout, p.Run.gate.look().Bounds.Question), now)
	if err := expired(&q, now); err != nil {
		return nil, err
	}
	asked := history.Asked{StepPath: at, Question: q}
	nobody := value.Errorf(value.Denied, "no asker is configured for the question: %s", q.Text).WithHint("run the command in a terminal; in Go, set Options.Asker")
	switch {
	case ctx.Value(askingKey{}) != nil:
		return nil, nobody
	case asker == nil && why == "":
		return nil, value.Errorf(value.Unanswered, "no user can answer now")
	case asker == nil:
		return nil, p.Run.ask(ctx, asked, why, nobody)
	}
	defer p.waitForPerson()()
	live, err := p.Run.identify(asked)
	if err != nil {
		return nil, err
	}
	asked.Asked = live.Asked
	ctx, cancel := untilExpiry(ctx, &q, now)
	defer cancel()
	given, err := (&asking{tool: p.tool, call: p.shown()}).put(ctx, live, asker)
	switch {
	case unanswered(err) && why == "":
		return nil, value.Errorf(value.Unanswered, "%s", value.ErrorOf(err, value.Unanswered).Message()) // not Parked: nothing waits
	case unanswered(err):
		return nil, p.Run.ask(ctx, asked, why, nobody)
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, value.AsError(err, value.Denied)
	}
	if failure := p.Run.record.Answered(ctx, asked, given); failure != nil {
		return nil, Unrecorded(failure)
	}
	return answerValue(q.Kind, &given), nil
}

// answerValue returns an answer as the script gets it.
func answerValue(k tool.QuestionKind, a *tool.Answer) value.Value {
	switch {
	case k == tool.QuestionAsk:
		return a.Value
	case a.Done:
		return reported{a}
	}
	return a.Yes
}
