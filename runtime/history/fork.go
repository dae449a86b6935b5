package history

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Fork is a new run that continues the record of another one from a step.
type Fork struct {
	ID     string        // of the new run; "" makes one up
	From   tool.StepPath // the first step that is not taken from the record
	Script tool.Script   // of the new run
	// Options are those of the new run, without the step.
	Options *value.Dict
	// Drops reports whether a decision at an earlier step is not taken. Nil takes all.
	Drops func(note *value.Dict) bool
}

// optionForkedAt is the name of the first step of its own in the options of a forked run.
const optionForkedAt = "forked_at"

// ForkedAt returns the first step that a forked run has done itself. It is nil for a run that
// continues no other one.
func (r *Run) ForkedAt() tool.StepPath {
	at, _ := ParseStepPath(r.Options.Text(optionForkedAt))
	return at
}

// Fork begins a run with all that l, a log of [Journal.Read], has of the steps before
// Fork.From: those whose paths are smaller, and the step 0 in it, which is done before it,
// unless that has failed. Of the calls that From is in, it takes the decisions and the answers, but not the outcome. The
// new run is parked ([Interrupted]), and recorded completely or not at all.
func (j *Journal) Fork(ctx context.Context, l *Log, f Fork) (Run, error) {
	r := l.Run()
	r.ForkedFrom, r.ID, r.Options = r.ID, cmp.Or(f.ID, newID(j.clock.now())), &value.Dict{}
	for k, v := range f.Options.All() {
		_ = r.Options.Set(k, v)
	}
	r.Options.Put(optionForkedAt, f.From.String())
	if r.Session != "" { // the run that it is forked from stays the turn of its session
		r.Session = r.ID
	}
	r.Nonce, r.Version, r.Started = rand.Text(), j.version, j.clock.now()
	var taken [][]byte
	for _, at := range slices.Sorted(maps.Keys(l.steps)) {
		records, err := l.taken(l.steps[at], &f)
		if err != nil {
			return Run{}, err
		}
		taken = append(taken, records...)
	}
	forked, err := j.begin(ctx, r, f.Script, taken...)
	if err != nil {
		return Run{}, err
	}
	return forked.Run(), forked.Park(ctx, Interrupted, time.Time{})
}

// taken returns the records of a step that a fork takes.
func (l *Log) taken(s *step, f *Fork) (taken [][]byte, err error) {
	at, within := s.place, max(0, len(s.place)-1)
	above := len(at) < len(f.From) && slices.Equal(at, f.From[:len(at)])
	if len(at) > 0 && within <= len(f.From) && at[within] == 0 && slices.Equal(at[:within], f.From[:within]) {
		if e, err := s.entry(&l.run, l.j.store); err != nil || e.Err != nil || e.Settled.IsZero() {
			return nil, err // it is done again with the step that it is in
		}
	} else if slices.Compare(at, f.From) >= 0 {
		return nil, nil
	}
	for _, r := range s.records {
		fields := &fields{rest: r.fields, store: l.j.store}
		switch r.kind {
		case effectIntended, effectSettled:
			if above {
				continue
			}
		case placeNoted:
			fields.raw() // the place
			fields.time()
			if note := fields.dict(); fields.err != nil {
				return nil, damaged(l.run.ID, "step "+s.name, fields.err)
			} else if f.Drops != nil && f.Drops(note.OrEmpty()) {
				continue
			}
		}
		taken = append(taken, r.bytes())
	}
	return taken, nil
}
