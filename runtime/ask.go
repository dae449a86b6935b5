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

// An Ask puts a question to a person. It is asked one question at a time, while
// the time of the call stands still. An error of kind [tool.Parked] says that
// nobody is there after all: a run that can wait then does.
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

// askFor is the Grant's Ask: a question of the effect under way.
func (g *gate) askFor(ctx context.Context, text string, confirm bool) (tool.Value, error) {
	at := g.doing.Place
	if r := g.root().record; r != nil {
		switch entry, _, err := r.log.Recorded(at); {
		case err != nil:
			return nil, unrecorded(err)
		case entry.Question != nil && entry.Question.Data.Text(noteApproval) != "": // which has its answer there
			at = at.Child(0).Child(1)
		}
	}
	return g.askPerson(ctx, Asked{Place: at, Text: text, Confirm: confirm}, waitsQuestion)
}

// askRepeat asks whether an effect is to be done that may have been done
// already: it was begun, the last time, at the time that is given. A no is its
// failure.
func (g *gate) askRepeat(ctx context.Context, e tool.Effect, begun time.Time) error {
	text := "when the run broke off, " + clip(e.Func+"("+e.Args.String()+")") + " had begun and may have been done: do it again?"
	// Its own place may have a question about an approval, and the one below an
	// answer that let it be done once, when the run broke off again.
	at := e.Place.Child(0).Child(0)
	if r := g.root().record; r != nil {
		for {
			earlier, _, err := r.log.Recorded(at)
			if err != nil {
				return unrecorded(err)
			}
			if earlier.Answered.IsZero() || earlier.Answered.After(begun) {
				break
			}
			at = at.Child(0)
		}
	}
	said, err := g.askPerson(ctx, Asked{Place: at, Text: text, Confirm: true, Unknown: &e}, waitsUnknown)
	if err != nil || said == true {
		return err
	}
	return tool.Errorf(tool.Failed, "it is not known whether %s was done before the run broke off, and it was not done again", e.Func)
}

// askPerson puts a question to whoever is there, after those that others ask. It
// parks the run where nobody is.
func (g *gate) askPerson(ctx context.Context, q Asked, why tool.LimitName) (tool.Value, error) {
	r := g.root().record
	q.By = g.tool.Name
	if r != nil {
		q.Run = g.root().call.ID
		if v, ok, err := r.log.Answer(ctx, q.Place); err != nil {
			return nil, unrecorded(err)
		} else if ok {
			return asText(v, q.Confirm), nil
		}
	}
	nobody := tool.Errorf(tool.Denied, "there is nobody to answer: %s", q.Text).WithHint("run it where somebody can be asked")
	switch {
	case ctx.Value(askingKey{}) != nil:
		return nil, nobody
	case g.host.opts.Ask == nil:
		return nil, g.parkOr(ctx, history.Question{Place: q.Place, Text: q.Text, Confirm: q.Confirm}, why, nobody)
	}
	g.wall.pause()
	defer g.wall.resume()
	done, err := g.host.askNext(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	v, err := g.host.opts.Ask(context.WithValue(ctx, askingKey{}, true), q)
	if tool.KindOf(err) == tool.Parked {
		return nil, g.parkOr(ctx, history.Question{Place: q.Place, Text: q.Text, Confirm: q.Confirm}, why, nobody)
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

// askNext waits until nobody else is asked.
func (h *Host) askNext(ctx context.Context) (done func(), err error) {
	select {
	case h.asking <- struct{}{}:
		return func() { <-h.asking }, nil
	case <-ctx.Done():
		return nil, tool.AsError(context.Cause(ctx), tool.Canceled)
	}
}

// parkOr parks the run with a question, or where it cannot wait returns another
// error.
func (g *gate) parkOr(ctx context.Context, q history.Question, why tool.LimitName, otherwise error) error {
	r := g.root().record
	if r == nil || !r.parks || len(q.Place) == 0 {
		return otherwise
	}
	id := g.root().call.ID
	e := tool.Errorf(tool.Parked, "the run %s waits for an answer: %s", id, q.Text).WithHint("cassidy runs answer %s yes", id)
	switch {
	case !q.Until.IsZero():
		e = tool.Errorf(tool.Parked, "the run %s sleeps until %s", id, q.Until.Local().Format("2006-01-02 15:04:05")).WithHint("cassidy runs resume %s", id)
	case !q.Confirm:
		e = e.WithHint("cassidy runs answer %s --text \"…\"", id)
	}
	e.Limit = why
	r.mu.Lock()
	first := r.waits
	if first == nil {
		r.waits = e
	}
	r.mu.Unlock()
	if first != nil {
		return first
	}
	if err := r.log.Ask(ctx, q); err != nil {
		return unrecorded(err)
	}
	return e
}

// awake is how long a run sleeps in place; for longer it is parked.
const awake = time.Minute

// sleep is the Grant's Sleep. The time at which it ends is noted, so that a run
// that is taken up again waits for what is left.
func (g *gate) sleep(ctx context.Context, d time.Duration) error {
	r, at := g.root().record, g.doing.Place
	until := time.Now().Add(d)
	if r != nil {
		var err error
		if until, err = r.until(ctx, at, until); err != nil {
			return err
		}
		g.wall.pause()
		defer g.wall.resume()
		if time.Until(until) > awake && r.parks {
			return g.parkOr(ctx, history.Question{Place: at, Text: "sleep", Until: until}, waitsSleep, nil)
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

// until returns when a sleep ends: as it is noted, else as it is said now, which
// it notes.
func (r *recording) until(ctx context.Context, at tool.Place, t time.Time) (time.Time, error) {
	const name = "until"
	entry, _, err := r.log.Recorded(at)
	if err != nil {
		return t, unrecorded(err)
	}
	for _, n := range entry.Notes {
		if noted, err := time.Parse(time.RFC3339Nano, n.Text(name)); err == nil {
			return noted, nil
		}
	}
	if err := r.log.Note(ctx, at, tool.NewDict(name, t.UTC().Format(time.RFC3339Nano))); err != nil {
		return t, unrecorded(err)
	}
	return t, nil
}
