package runtime

import (
	"context"
	"time"

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

// Why a run is parked: the Limit of the error, and the reason in its record.
const (
	waitsQuestion tool.LimitName = "question"
	waitsApproval tool.LimitName = "approval"
	waitsSleep    tool.LimitName = "sleep"
	waitsUnknown  tool.LimitName = "unknown_outcome"

	parkedUnavailable tool.LimitName = "unavailable" // only the reason: the error keeps its kind
	parkedLimit       tool.LimitName = "limit"       // likewise
)

// askPerson is the Grant's Ask: a question of the effect while it is done.
func (s *step) askPerson(ctx context.Context, text string, confirm bool) (tool.Value, error) {
	at := s.effect.Place
	switch entry, _, err := s.of.run.record.Recorded(at); {
	case err != nil:
		return nil, unrecorded(err)
	case entry.Question != nil && entry.Question.Data.Text(noteApproval) != "": // which has its answer there
		at = at.Child(0).Child(1)
	}
	return s.of.askPerson(ctx, Asked{Place: at, Text: text, Confirm: confirm}, waitsQuestion)
}

// askRepeat asks whether an effect is to be done that may have been done
// already: it was begun, the last time, at the time that is given. A no is its
// failure.
func (p *pass) askRepeat(ctx context.Context, e tool.Effect, begun time.Time) error {
	text := "when the run broke off, " + clip(e.Func+"("+e.Args.String()+")") + " had begun and may have been done: do it again?"
	// Its own place may have a question about an approval, and the one below an
	// answer that let it be done once, when the run broke off again.
	at := e.Place.Child(0).Child(0)
	for {
		earlier, _, err := p.run.record.Recorded(at)
		if err != nil {
			return unrecorded(err)
		}
		if earlier.Answered.IsZero() || earlier.Answered.After(begun) {
			break
		}
		at = at.Child(0)
	}
	said, err := p.askPerson(ctx, Asked{Place: at, Text: text, Confirm: true, Unknown: &e}, waitsUnknown)
	if err != nil || said == true {
		return err
	}
	return tool.Errorf(tool.Failed, "it is not known whether %s was done before the run broke off, and it was not done again", e.Func)
}

// askPerson puts a question to whoever is there. It parks the run where nobody is.
func (p *pass) askPerson(ctx context.Context, q Asked, why tool.LimitName) (tool.Value, error) {
	q.By = p.tool.Name
	if p.run.record.Keeps() {
		q.Run = p.run.id
	}
	if v, ok, err := p.run.record.Answer(ctx, q.Place); err != nil {
		return nil, unrecorded(err)
	} else if ok {
		return asText(v, q.Confirm), nil
	}
	nobody := tool.Errorf(tool.Denied, "there is nobody to answer: %s", q.Text).WithHint("run it where somebody can be asked")
	switch {
	case ctx.Value(askingKey{}) != nil:
		return nil, nobody
	case p.run.host.opts.Ask == nil:
		return nil, p.run.parkOr(ctx, history.Question{Place: q.Place, Text: q.Text, Confirm: q.Confirm}, why, nobody)
	}
	p.wall.pause()
	defer p.wall.resume()
	v, err := p.run.host.opts.Ask(context.WithValue(ctx, askingKey{}, (*inquiry)(nil)), q)
	if unanswered(err) {
		return nil, p.run.parkOr(ctx, history.Question{Place: q.Place, Text: q.Text, Confirm: q.Confirm}, why, nobody)
	}
	if err == nil {
		_, isBool := v.(bool)
		_, isText := v.(string)
		if q.Confirm && !isBool || !q.Confirm && !isText {
			err = tool.Errorf(tool.Internal, "Options.Ask answered with %s", tool.TypeOf(v))
		}
	}
	return v, err
}

// asText makes a yes or no the answer to a question that wants a text.
func asText(v tool.Value, confirm bool) tool.Value {
	yes, isBool := v.(bool)
	switch {
	case confirm || !isBool:
		return v
	case yes:
		return "yes"
	}
	return "no"
}

// awake is how long a run sleeps in place; for longer it is parked.
const awake = time.Minute

// sleep is the Grant's Sleep. The time at which it ends is recorded, so that a
// resumed run waits for what is left.
func (s *step) sleep(ctx context.Context, d time.Duration) error {
	p, at := s.of, s.effect.Place
	until := time.Now().Add(d)
	if p.run.record.Keeps() {
		var err error
		if until, err = p.run.until(ctx, at, until); err != nil {
			return err
		}
		p.wall.pause()
		defer p.wall.resume()
		if time.Until(until) > awake && p.run.parks {
			return p.run.parkOr(ctx, history.Question{Place: at, Text: "sleep", Until: until}, waitsSleep, nil)
		}
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return tool.AsError(context.Cause(ctx), tool.Canceled)
	}
}
