package host

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Why a run is parked: the Limit of the error, and the reason in its record.
const (
	waitsQuestion value.LimitName = "question"
	waitsApproval value.LimitName = "approval"
	waitsSleep    value.LimitName = "sleep"
	waitsUnknown  value.LimitName = "unknown_outcome"

	parkedUnavailable value.LimitName = "unavailable"       // only the reason: the error keeps its kind
	parkedRate        value.LimitName = value.LimitRate     // likewise
	parkedLimit       value.LimitName = "limit"             // likewise
	parkedInterrupted value.LimitName = history.Interrupted // likewise, unless it was stopped
)

// A ParkedError is why a run waits in no process, see [errors.As]. The error around
// it is of kind [value.Parked], or of kind Unavailable or Limit where the run can be
// resumed when what it found is over.
type ParkedError struct {
	Run string `json:"run"`
	// Reason is that of the first thing that it waits for: approval, question,
	// unknown_outcome, sleep, unavailable, rate or limit.
	Reason    string     `json:"reason"`
	Questions []Question `json:"questions"` // that are open; any answer makes the run due
	Until     time.Time  `json:"until"`     // when it continues by itself; zero means never

	cause error // of reason unavailable, rate or limit
}

// parkedBy returns the error of a run that can be resumed when the cause of e is over.
func parkedBy(run string, why value.LimitName, e *value.Error) *value.Error {
	parked := *e
	parked.Err = &ParkedError{Run: run, Reason: string(why), cause: e.Err}
	return &parked
}

// MarshalJSON gives the object of what a run waits for: run, reason, questions and
// until, which is null where it does not continue by itself.
func (e *ParkedError) MarshalJSON() ([]byte, error) {
	questions := make(value.List, len(e.Questions))
	for i := range e.Questions {
		questions[i] = e.Questions[i].Dict()
	}
	d := value.NewDict("run", e.Run, "reason", e.Reason, "questions", questions, "until", nil)
	if !e.Until.IsZero() {
		d.Put("until", e.Until.UTC().Format(time.RFC3339Nano))
	}
	return []byte(value.FormatJSON(d, "")), nil
}

// Unwrap returns the error that parked the run, where it waits for nobody.
func (e *ParkedError) Unwrap() error { return e.cause }

// Error says what the run waits for.
func (e *ParkedError) Error() string {
	switch n := len(e.Questions); {
	case e.cause != nil:
		return e.cause.Error()
	case n == 1:
		return fmt.Sprintf("the run %s waits for an answer: %s", e.Run, e.Questions[0].Text)
	case n > 1:
		texts := make([]string, n)
		for i := range e.Questions {
			texts[i] = e.Questions[i].Text
		}
		return fmt.Sprintf("the run %s waits for %d answers: %s", e.Run, n, clip(strings.Join(texts, "; ")))
	}
	return fmt.Sprintf("the run %s sleeps until %s", e.Run, e.Until.Local().Format("2006-01-02 15:04:05"))
}

// hint says what to type.
func (e *ParkedError) hint() string {
	switch n := len(e.Questions); {
	case n > 1:
		return fmt.Sprintf("cassidy runs show %s lists the questions; cassidy runs answer %s STEP yes", e.Run, e.Run)
	case n == 0:
		return fmt.Sprintf("cassidy runs resume %s", e.Run)
	case e.Questions[0].Kind == tool.QuestionAsk:
		return fmt.Sprintf("cassidy runs answer %s --text \"…\"", e.Run)
	}
	return fmt.Sprintf("cassidy runs answer %s yes", e.Run)
}

// waits is what a run waits for in no process: questions, and times.
type waits struct {
	mu    sync.Mutex
	error *ParkedError // nil while it waits for nothing
}

// add notes something that the run waits for, and returns the error with which
// the effect that waits ends.
func (w *waits) add(run string, why value.LimitName, q *Question, until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &ParkedError{Run: run, Reason: string(why), Until: until}
	if q != nil {
		one.Questions = []Question{*q}
	}
	if w.error == nil {
		w.error = &ParkedError{Run: run}
	}
	all := w.error
	if all.Reason == "" || all.Reason == string(waitsSleep) {
		all.Reason = one.Reason // a question is what somebody can do something about
	}
	all.Questions = append(all.Questions, one.Questions...)
	if !until.IsZero() && (all.Until.IsZero() || until.Before(all.Until)) {
		all.Until = until
	}
	return one.asError()
}

func (e *ParkedError) asError() *value.Error {
	return &value.Error{Kind: value.Parked, Err: e, Limit: value.LimitName(e.Reason), Hint: e.hint()}
}

// parked returns the error of all that the run waits for, or nil.
func (w *waits) parked() *value.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.error == nil {
		return nil
	}
	all := *w.error
	return all.asError()
}

// wake is when the run continues by itself; zero means never.
func (w *waits) wake() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.error == nil {
		return time.Time{}
	}
	return w.error.Until
}

// ask parks the run with a question, or where it cannot wait returns another
// error. The other parts of the run continue until they end or wait too.
func (r *run) ask(ctx context.Context, q history.Asked, why value.LimitName, otherwise error) error {
	if !r.parks || !r.record.Keeps() {
		return otherwise
	}
	recorded, err := r.record.Ask(ctx, q)
	if err != nil {
		return unrecorded(err)
	}
	return r.waits.add(r.id, why, &recorded.Question, time.Time{})
}

// answer returns what somebody has answered to a question, in this process or
// an earlier one, or nil. same says which of the questions at its step it is.
func (r *run) answer(ctx context.Context, at tool.Place, same func(*history.Asked) bool) (*history.Answered, *history.Asked, error) {
	entry, _, err := r.record.Recorded(at)
	if err != nil {
		return nil, nil, unrecorded(err)
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
			return nil, nil, unrecorded(err)
		}
		return a, q, nil
	}
	return nil, nil, nil
}

// awake is how long a run sleeps in place; for longer it is parked.
const awake = time.Minute

// sleep is the Grant's Sleep. The time at which it ends is recorded, so that a
// resumed run waits for what is left.
func (s *step) sleep(ctx context.Context, d time.Duration) error {
	r := s.of.run
	until := r.host.now().Add(d)
	if r.record.Keeps() {
		var err error
		if until, err = r.until(ctx, s.effect.Place, until); err != nil {
			return err
		}
		s.of.wall.Pause()
		defer s.of.wall.Resume()
		if until.Sub(r.host.now()) > awake && r.parks {
			return r.waits.add(r.id, waitsSleep, nil, until)
		}
	}
	timer := time.NewTimer(until.Sub(r.host.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// until returns when a sleep ends: as it is recorded, else as it is given now,
// which it records.
func (r *run) until(ctx context.Context, at tool.Place, t time.Time) (time.Time, error) {
	const name = "until"
	entry, _, err := r.record.Recorded(at)
	if err != nil {
		return t, unrecorded(err)
	}
	for _, n := range entry.Notes {
		if noted, err := time.Parse(time.RFC3339Nano, n.Text(name)); err == nil {
			return noted, nil
		}
	}
	return t, r.note(ctx, at, value.NewDict(name, t.UTC().Format(time.RFC3339Nano)))
}
