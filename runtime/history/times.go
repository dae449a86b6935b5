package history

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Times are the times of a run and of its steps: how long they worked, and how long they waited.
// A run waits while no process executes it, and while a person is asked, even if a parallel part
// of it works meanwhile. A step waits with its run, and for the questions at it and inside it.
// Nil knows of no waiting.
type Times struct {
	began, ended time.Time // of the run; an open one ends now
	away         []span    // when no process executed it
	asked        []question

	run   Took
	steps map[string]Took // by step paths; not nil: the times were measured elsewhere
}

// A Took is how long something worked and waited.
type Took struct{ Worked, Waited time.Duration }

// TimesFrom returns times that were measured elsewhere: that of a run, and those of its steps with an outcome, by
// their step paths.
func TimesFrom(run Took, steps map[string]Took) *Times {
	return &Times{ended: now(), run: run, steps: steps}
}

// A span is a time from one moment to another.
type span struct{ from, to time.Time }

// A question is when a question of a step waited for its answer.
type question struct {
	at tool.StepPath
	span
}

// Times returns the times of a run, as far as its record can be read.
func (j *Journal) Times(ctx context.Context, run string) (*Times, error) {
	h, err := j.history(ctx, run)
	if err != nil {
		return nil, err
	}
	t := &Times{began: h.run.Started, ended: h.run.Ended}
	if t.ended.IsZero() {
		t.ended = j.clock.now()
		if s := h.run.State; s != Running || !j.Held(run) { // since its last record
			h.leave(h.prev, t.ended)
		}
	}
	t.away = h.away
	for _, s := range sorted(h.steps) {
		if s.questions == 0 {
			continue
		}
		e, err := s.entry(&h.run, j.store)
		if err != nil {
			continue // it is damaged
		}
		for i := range e.Questions {
			q := question{e.StepPath, span{e.Questions[i].Asked, t.ended}}
			switch next := i + 1; {
			case e.Questions[i].Answer != nil:
				q.to = e.Questions[i].Answer.At
			case next < len(e.Questions): // it was replaced
				q.to = e.Questions[next].Asked
			case !e.Settled.IsZero(): // it was given up
				q.to = e.Settled
			}
			t.asked = append(t.asked, q)
		}
	}
	return t, nil
}

// Run returns how long the run worked and waited, until now if it has not ended.
func (t *Times) Run() (worked, waited time.Duration) {
	if t.steps != nil {
		return t.run.Worked, t.run.Waited
	}
	return t.between(t.began, t.ended, nil)
}

// Step returns how long a step worked and waited, until now if it has no outcome. Both are 0 for
// one that has not begun.
func (t *Times) Step(e *Entry) (worked, waited time.Duration) {
	if e.Intended.IsZero() {
		return 0, 0
	}
	if t != nil {
		if took, measured := t.steps[e.StepPath.String()]; measured {
			return took.Worked, took.Waited
		}
	}
	to := e.Settled
	switch {
	case to.IsZero() && t == nil:
		to = now()
	case to.IsZero():
		to = t.ended
	}
	if t == nil {
		return max(0, to.Sub(e.Intended)), 0
	}
	return t.between(e.Intended, to, e.StepPath)
}

// between divides a time of a step, or of the run if that is nil.
func (t *Times) between(from, to time.Time, at tool.StepPath) (worked, waited time.Duration) {
	for _, w := range t.waits(from, to, at) {
		waited += w.to.Sub(w.from)
	}
	return max(0, to.Sub(from)-waited), waited
}

// waits returns when a step waited, or the run if that is nil, one after the other.
func (t *Times) waits(from, to time.Time, at tool.StepPath) (list []span) {
	waits := slices.Clone(t.away)
	for _, q := range t.asked {
		if len(q.at) >= len(at) && slices.Equal(q.at[:len(at)], at) {
			waits = append(waits, q.span)
		}
	}
	slices.SortFunc(waits, func(a, b span) int { return a.from.Compare(b.from) })
	for _, w := range waits {
		w = span{latest(w.from, from), earliest(w.to, to)}
		switch n := len(list); {
		case !w.to.After(w.from):
			continue
		case n > 0 && !list[n-1].to.Before(w.from):
			list[n-1].to = latest(list[n-1].to, w.to)
		default:
			list = append(list, w)
		}
	}
	return list
}

// A Spell is a time in which a run worked, or waited.
type Spell struct {
	From, To time.Time
	Waited   bool
}

// Spells returns what the run did, one after the other, until now if it has not ended.
func (t *Times) Spells() (list []Spell) {
	if t == nil {
		return nil
	}
	from := t.began
	for _, w := range t.waits(t.began, t.ended, nil) {
		if w.from.After(from) {
			list = append(list, Spell{from, w.from, false})
		}
		list = append(list, Spell{w.from, w.to, true})
		from = w.to
	}
	if t.ended.After(from) {
		list = append(list, Spell{from, t.ended, false})
	}
	return list
}

// leave notes that no process executed the run from its last record until it was resumed.
func (h *history) leave(last record, until time.Time) {
	from := last.time()
	if last.kind == runBegun {
		from = h.run.Started
	}
	if !from.IsZero() {
		h.away = append(h.away, span{from, until})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// time returns when a record was made, or the zero time if it does not say that.
func (r record) time() time.Time {
	f := &fields{rest: r.fields}
	switch r.kind {
	case effectIntended:
		f.raw() // the place
		var h intentHead
		f.unpack(&h)
		return moment(h.At)
	case effectSettled:
		f.raw() // the place
		var h outcomeHead
		f.unpack(&h)
		return moment(h.At)
	case placeNoted, runParked, runResumed:
		f.raw() // the place, the reason, or the version
		return f.time()
	case questionAsked:
		f.raw() // the place
		f.small(math.MaxInt32)
		return f.time()
	case questionAnswered:
		f.raw() // the place
		f.small(math.MaxInt32)
		if a, err := readAnswer(f.value()); err == nil {
			return a.At
		}
	}
	return time.Time{}
}
