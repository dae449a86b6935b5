package history

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Log is the [Record] of a run in a journal, held by its caller alone. Its
// methods may be called from many goroutines. It is open until the run parks
// or ends, or the Log or its Journal is closed; one of [Journal.Read] only answers.
type Log struct {
	j      *Journal
	run    Run
	script tool.Script
	lease  journal.Lease // nil for one that only reads

	asking sync.Mutex // held while a question is numbered and recorded

	events    sync.Mutex // held while an event is numbered, recorded and delivered
	lastEvent uint64     // the number of the last one

	mu    sync.Mutex
	steps map[string]*step // by place
	why   error            // it takes no more, or nil

	num  int64 // of the run in the store
	seen int64 // the last message of the inbox when the log was opened
	head head  // how far the run has come on disk; only the writer uses it
	unit *unit // of the batch that is being written; likewise

	// Guarded by the writer's lock.
	ending  bool // its last record is being written
	dropped bool // it is closed
}

// Run returns the run as it stood when the log was opened.
func (l *Log) Run() Run { return l.run }

// Script returns what the run executes, as it was when the run began.
func (l *Log) Script() tool.Script { return l.script }

// Key names an effect of the run, the same for each try: NONCE/STEP. Services that
// do a thing once per key get it as their idempotency key.
func (l *Log) Key(p tool.Place) string { return key(&l.run, p.String()) }

// Recorded returns what the run had recorded at a place when this log was
// opened, and whether that is anything: of a new run it never is. It fails, of
// kind Failed, where a value was lost.
func (l *Log) Recorded(p tool.Place) (Entry, bool, error) {
	l.mu.Lock()
	s := l.steps[p.String()]
	l.mu.Unlock()
	if s == nil || s.records == nil {
		return Entry{}, false, nil
	}
	e, err := s.entry(&l.run, l.j.store)
	return e, true, err
}

// Notes yields what had been decided anywhere in the run when this log was
// opened, by place. It fails where a value was lost.
func (l *Log) Notes() iter.Seq2[*value.Dict, error] {
	return func(yield func(*value.Dict, error) bool) {
		l.mu.Lock()
		steps := make([]*step, 0, len(l.steps))
		for _, s := range l.steps {
			if slices.ContainsFunc(s.records, func(r record) bool { return r.kind == placeNoted }) {
				steps = append(steps, s)
			}
		}
		l.mu.Unlock()
		slices.SortFunc(steps, func(a, b *step) int { return slices.Compare(a.place, b.place) })
		for _, s := range steps {
			e, err := s.entry(&l.run, l.j.store)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, n := range e.Notes {
				if !yield(n, nil) {
					return
				}
			}
		}
	}
}

// Intend records that an effect is about to be done. Where its kind is Write
// or External and it is not staged, the record is on disk when Intend returns, and the effect must
// not be done if it fails. An effect without an outcome may be intended again;
// one that has an outcome must not be.
func (l *Log) Intend(ctx context.Context, i Intent) error {
	r := about(i.Place, l.j.store, l.j.clock)
	r.intent(&i)
	durable := !i.Staged && (i.Kind == tool.Write || i.Kind == tool.External)
	return l.add(ctx, addition{kind: effectIntended, place: i.Place, durable: durable}, r)
}

// Settle records what came of an effect that was intended: an outcome, or an
// error together with the usage of the outcome. The record is on disk before the
// next durable intent, before the run parks or ends, and in any case a moment
// later, or as soon as the store can write again.
func (l *Log) Settle(ctx context.Context, p tool.Place, out tool.Outcome, failure error) error {
	r := about(p, l.j.store, l.j.clock)
	r.outcome(&out, failure)
	return l.add(ctx, addition{kind: effectSettled, place: p}, r)
}

// Note records what was decided at a place, as an approval or a refusal. It is
// on disk when a later durable intent is.
func (l *Log) Note(ctx context.Context, p tool.Place, d *value.Dict) error {
	r := about(p, l.j.store, l.j.clock)
	r.note(d)
	return l.add(ctx, addition{kind: placeNoted, place: p}, r)
}

// Park records that the run waits, why, and when it continues by itself: in
// the year 2262 at the latest; zero means never. It closes the log: nobody holds
// the run until it is resumed.
func (l *Log) Park(ctx context.Context, reason string, wake time.Time) error {
	at := l.j.clock.now()
	wake = wakeTime(wake)
	r := newRecorder(l.j.store, l.j.clock)
	r.parked(reason, at, wake)
	return l.finish(addition{kind: runParked, head: func(h *head) {
		h.stand(Parked, at)
		h.wake = wake
	}}, r)
}

// End records how the run ended, and closes the log: Done if err is nil,
// Cancelled if its kind is Canceled, else Failed.
func (l *Log) End(ctx context.Context, reason string, out tool.Outcome, failure error) error {
	at, state := l.j.clock.now(), endState(failure)
	r := newRecorder(l.j.store, l.j.clock)
	r.ended(state, reason, at, &out, failure)
	return l.finish(addition{kind: runEnded, head: func(h *head) { h.stand(state, at) }}, r)
}

// Close gives the run up in its state, so that it can be resumed. What was
// recorded is on disk when Close returns. After Park or End it does nothing.
func (l *Log) Close() error {
	if l.closed() != nil {
		return nil
	}
	err := l.j.w.wait(&job{log: l, last: true})
	l.shut(l.errClosed())
	return err
}

// shut closes the log and gives up the lock of its run.
func (l *Log) shut(why error) {
	l.mu.Lock()
	first := l.why == nil
	if first {
		l.why = why
	}
	l.mu.Unlock()
	if first {
		l.j.mu.Lock()
		delete(l.j.logs, l)
		l.j.mu.Unlock()
		l.j.w.drop(l)
		if l.lease != nil {
			_ = l.lease.Release() // it ends with the process at the latest
		}
	}
}

// An addition is what a record means for the log that gets it.
type addition struct {
	kind    recordKind
	place   tool.Place
	durable bool        // it is stored before the caller continues
	answers int         // the number of the question that it answers
	head    func(*head) // how it changes the run's head, if it does
}

// add records something at a place.
func (l *Log) add(ctx context.Context, a addition, r *recorder) error {
	if err := observed(ctx, a.kind); err != nil {
		return err
	}
	rec, err := r.record(a.kind)
	if err != nil {
		return err
	}
	s, was, err := l.admit(a)
	if err != nil {
		return err
	}
	j := &job{log: l, record: rec, head: a.head}
	if a.durable {
		err = l.j.w.wait(j)
	} else {
		err = l.j.w.later(j)
	}
	if err != nil {
		l.mu.Lock()
		s.progress = was
		l.mu.Unlock()
	}
	return err
}

// observed returns the error of a context that has ended, unless it does not
// count: an outcome is recorded, whoever waits for it.
func observed(ctx context.Context, k recordKind) error {
	if err := ctx.Err(); err != nil && k != effectSettled {
		return value.AsError(err, value.Canceled)
	}
	return nil
}

// admit checks that a record may come now, and notes it at its step. was is the
// step's progress before that.
func (l *Log) admit(a addition) (s *step, was progress, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return nil, was, l.why
	}
	at := a.place.String()
	s = l.steps[at]
	if s == nil {
		s = &step{place: a.place, name: at}
		l.steps[at] = s
	}
	if err := s.refusal(a.kind); err != nil {
		return nil, was, misused(&l.run, a.place, err)
	}
	was = s.progress
	s.note(a.kind, a.answers)
	return s, was, nil
}

func misused(r *Run, at tool.Place, why error) error {
	return value.Errorf(value.Internal, "step %s of run '%s' %w", at, r.ID, why)
}

// finish writes the last record of this log and closes it.
func (l *Log) finish(a addition, r *recorder) error {
	rec, err := r.record(a.kind)
	if err != nil {
		return err
	}
	if err := l.closed(); err != nil {
		return err
	}
	if err := l.j.w.wait(&job{log: l, record: rec, last: true, head: a.head}); err != nil {
		return err
	}
	l.shut(l.errClosed())
	return nil
}

// closed returns why the log takes no more, or nil.
func (l *Log) closed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *Log) errClosed() error { return errClosed(&l.run) }

func errClosed(r *Run) error {
	return value.Errorf(value.Internal, "the record of run '%s' is closed", r.ID)
}

// Questions implements [Record].
func (l *Log) Questions(ctx context.Context) ([]Asked, error) {
	return l.j.Questions(ctx, l.run.ID)
}

// Live implements [Record].
func (l *Log) Live() bool { return true }

// Keeps implements [Record].
func (l *Log) Keeps() bool { return true }

// Recall implements [Record].
func (l *Log) Recall(e tool.Effect, _ *tool.Func) (*Entry, Recollection, error) { return recall(l, e) }
