package gate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ask parks the run with a question, or returns otherwise if the run cannot wait or why is "". The other
// parts of the run continue until they end or wait too.
func (r *Run) ask(ctx context.Context, q history.Asked, why value.LimitName, otherwise error) error {
	if why == "" || !r.Parks || !r.record.Keeps() {
		return otherwise
	}
	recorded, err := r.record.Ask(ctx, q)
	if err != nil {
		return Unrecorded(err)
	}
	return r.waits.Add(r.ID, why, &recorded.Question, recorded.Expires)
}

// identify returns a question with its ID and its time, as somebody is asked.
func (r *Run) identify(asked history.Asked) (tool.Question, error) {
	asked, err := r.record.Identify(asked)
	if asked.Asked.IsZero() {
		asked.Asked = r.gate.Clock().UTC()
	}
	return asked.Question, Unrecorded(err)
}

// answer returns the answer to a question, from this process or an earlier one, or nil. same
// selects the question among those of its step.
func (r *Run) answer(ctx context.Context, at tool.StepPath, same func(*history.Asked) bool) (*history.Answered, *history.Asked, error) {
	entry, _, err := r.record.Recorded(at)
	if err != nil {
		return nil, nil, Unrecorded(err)
	}
	for i := len(entry.Questions) - 1; i >= 0; i-- {
		q := &entry.Questions[i]
		if !same(q) {
			continue
		}
		if q.Answer != nil {
			return q.Answer, q, nil
		}
		a, err := r.record.Answer(ctx, at, q.N)
		if err != nil {
			return nil, nil, Unrecorded(err)
		}
		return a, q, nil
	}
	return nil, nil, nil
}

// maxSleep is how long a run may sleep without being parked.
const maxSleep = time.Minute

// sleep is the Sleep of the [tool.Grant]. The time at which it ends is recorded, so that a
// resumed run sleeps for the rest.
func (s *step) sleep(ctx context.Context, d time.Duration) error {
	r := s.of.Run
	until := r.gate.Clock().Add(d)
	if r.record.Keeps() {
		var err error
		if until, err = r.until(ctx, s.effect.StepPath, until, d); err != nil {
			return err
		}
		rest := max(0, until.Sub(r.gate.Clock()))
		if s.counts(d) {
			s.of.wall.Spend(d - rest)
		}
		if rest > maxSleep && r.Parks {
			if left := s.of.wall.Left(); s.counts(d) && rest > left {
				return value.Errorf(value.Timeout, "cannot sleep for %v: the call times out in %v", d, left.Round(time.Second)).WithLimit(value.LimitWall).
					WithHint("declare a longer timeout, or sleep in a workflow")
			}
			return r.waits.Add(r.ID, reasonSleep, nil, until)
		}
	}
	timer := time.NewTimer(until.Sub(r.gate.Clock()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// The names in the note of a sleep: when it ends, and its nanoseconds.
const noteUntil, noteFor = "until", "for"

// counts reports whether a sleep of d counts as time of its call. One that parks the run does
// if the tool declares a timeout: the default is for calls that keep a process.
func (s *step) counts(d time.Duration) bool {
	return d <= maxSleep || !s.of.Run.Parks || s.of.tool.Timeout > 0
}

// spend takes what a recorded effect has used from the bounds of its call: its time, and one of the HTTP requests if it
// made any. Waiting for a person, a model or another call takes no time.
func (s *step) spend(entry *history.Entry) {
	if strings.HasPrefix(s.effect.Func, "http.") && value.KindOf(entryError(entry)) != value.Limit {
		s.of.quota.requests.Add(1)
	}
	takes, _ := targets(s.fn, s.effect)
	if s.fn.MakesCalls() || len(entry.Questions) > 0 || slices.ContainsFunc(takes, isModel) {
		return
	}
	took := entry.Settled.Sub(entry.Intended)
	for _, n := range entry.Notes {
		if n.Has(noteUntil) { // its process may have ended meanwhile
			if took = time.Duration(n.Int(noteFor)); !s.counts(took) {
				return
			}
		}
	}
	s.of.wall.Spend(took)
}

// until returns when a sleep of d ends: the recorded time, or else t, which it records.
func (r *Run) until(ctx context.Context, at tool.StepPath, t time.Time, d time.Duration) (time.Time, error) {
	entry, _, err := r.record.Recorded(at)
	if err != nil {
		return t, Unrecorded(err)
	}
	for _, n := range entry.Notes {
		if noted, err := time.Parse(time.RFC3339Nano, n.Text(noteUntil)); err == nil {
			return noted, nil
		}
	}
	return t, r.note(ctx, at, value.NewDict(noteUntil, t.UTC().Format(time.RFC3339Nano), noteFor, int64(d)))
}
