package history

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Log is the [Record] of a run in a journal, held exclusively. Its methods are safe
// for concurrent use. It is open until the run parks or ends, or the Log or its Journal
// is closed. A log of [Journal.Read] is read-only.
type Log struct {
	j      *Journal
	w      *writer
	run    Run
	script tool.Script
	waited time.Duration // how long the run waited for a repair before it was resumed

	asking sync.Mutex // held while a question is numbered and recorded

	events    sync.Mutex // held while an event is numbered, recorded and delivered
	lastEvent uint64     // the number of the last event

	mu      sync.Mutex
	lease   journal.Lease    // nil for a read-only log, and before the run is stored
	renewed time.Time        // when the lease was renewed
	steps   map[string]*step // by place
	earlier []*step          // those of earlier processes, sorted; nil until Inside is called
	why     error            // why it accepts no more records, or nil
	// completed stands for the steps that this process has completed.
	completed step

	acting atomic.Int64 // the effects in progress that must not be interrupted

	num  atomic.Int64 // of the run in the store; 0: it is not stored yet
	head head         // the durable progress of the run; only the writer uses it
	unit *unit        // of the current batch; only the writer uses it

	// Guarded by the writer's lock.
	ending  bool      // its last record is being written
	dropped bool      // it is closed
	unknown time.Time // until then, its records are not written before somebody waits for one of them
}

// Run returns the run as of when the log was opened.
func (l *Log) Run() Run { return l.run }

// Script returns the script of the run, as of when the run began.
func (l *Log) Script() tool.Script { return l.script }

// Key returns the idempotency key of an effect, for services that support them. It is
// NONCE/STEP, the same for each try.
func (l *Log) Key(p tool.StepPath) string { return key(&l.run, p.String()) }

// Recorded returns the entry of a step as of when this log was opened, and whether
// there is one: a new run has none. It fails with kind Failed if a value was lost.
func (l *Log) Recorded(p tool.StepPath) (Entry, bool, error) {
	l.mu.Lock()
	s := l.steps[p.String()]
	l.mu.Unlock()
	if s == nil || s.records == nil {
		return Entry{}, false, nil
	}
	e, err := s.entry(&l.run, l.j.store)
	return e, true, err
}

// Inside implements [Record].
func (l *Log) Inside(at tool.StepPath) (numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.earlier == nil {
		l.earlier = slices.DeleteFunc(sorted(l.steps), func(s *step) bool { return s.records == nil })
	}
	for next := 0; ; next++ {
		i, _ := slices.BinarySearchFunc(l.earlier, at.Child(next), func(s *step, p tool.StepPath) int { return slices.Compare(s.place, p) })
		if i == len(l.earlier) || len(l.earlier[i].place) <= len(at) || !slices.Equal(l.earlier[i].place[:len(at)], at) {
			return numbers
		}
		next = l.earlier[i].place[len(at)]
		numbers = append(numbers, next)
	}
}

// Notes yields the decisions of the run as of when this log was opened, by step. It
// fails if a value was lost.
func (l *Log) Notes() iter.Seq2[*value.Dict, error] {
	return func(yield func(*value.Dict, error) bool) {
		noted := func(s *step) bool {
			return slices.ContainsFunc(s.records, func(r record) bool { return r.kind == placeNoted })
		}
		for e, err := range l.entries(noted, func(*Entry) bool { return true }) {
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

// Changes implements [Record].
func (l *Log) Changes(unknown bool) iter.Seq2[Entry, error] {
	return l.entries(func(s *step) bool { return s.isWrite() && !(unknown && s.settled) }, func(e *Entry) bool { return e.Change.Len() > 0 })
}

// entries yields the entries of earlier processes whose steps and whose decoded entries are wanted, by step.
func (l *Log) entries(wanted func(*step) bool, decoded func(*Entry) bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l.mu.Lock()
		steps := make([]*step, 0, len(l.steps))
		for _, s := range l.steps {
			if wanted(s) {
				steps = append(steps, s)
			}
		}
		l.mu.Unlock()
		slices.SortFunc(steps, func(a, b *step) int { return slices.Compare(a.place, b.place) })
		for _, s := range steps {
			e, err := s.entry(&l.run, l.j.store)
			if (err != nil || decoded(&e)) && !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Intend records that an effect is about to be executed. If its kind is Write or
// External and it is not staged, or if it is Sync, the record is durable when Intend returns,
// and the effect must not be executed if Intend fails. An effect without an outcome may be
// intended again; one with an outcome must not be.
func (l *Log) Intend(ctx context.Context, i Intent) error {
	r := about(i.StepPath, l.j.store, l.j.clock)
	r.intent(&i)
	acts := !i.Staged && (i.Kind == tool.Write || i.Kind == tool.External)
	durable := i.Sync || acts
	if durable {
		if err := l.yield(ctx); err != nil {
			return err
		}
	}
	return l.add(ctx, addition{kind: effectIntended, place: i.StepPath, durable: durable, acts: acts && !i.Sync, sync: i.Sync || i.Costly}, r)
}

// Settle records the outcome of an intended effect, or its error together with the
// usage of the outcome. The record is durable immediately if the intent was Sync or Costly, or
// is that of a write of an earlier process; else before the next durable intent, before the run parks
// or ends, and otherwise shortly afterwards, or as soon as the store can be written again.
func (l *Log) Settle(ctx context.Context, p tool.StepPath, out tool.Outcome, failure error) error {
	r := about(p, l.j.store, l.j.clock)
	r.outcome(&out, failure)
	return l.add(ctx, addition{kind: effectSettled, place: p}, r)
}

// Note records a fact about a step, such as an approval, a refusal or what it used. It is durable
// before a later durable intent is, and immediately if the intent of the step was Sync or Costly.
func (l *Log) Note(ctx context.Context, p tool.StepPath, d *value.Dict) error {
	r := about(p, l.j.store, l.j.clock)
	r.note(d)
	return l.add(ctx, addition{kind: placeNoted, place: p}, r)
}

// How long a run waits for a repair until it is tried again.
const (
	leastBackoff = time.Minute
	mostBackoff  = time.Hour
)

// Park records that the run waits, why, and when it continues: in the year 2262 at the
// latest; zero means never. A run that waits for a repair, see [Repair], continues by itself
// at that time, or if it is less than a minute away, after a minute, and after twice the time for
// each further attempt, up to an hour. Park closes the log: the run is not held until it is resumed.
func (l *Log) Park(ctx context.Context, reason string, wake time.Time) error {
	at := l.j.clock.now()
	if wake.Before(at.Add(leastBackoff)) && Repair(reason) != "" {
		wake = at.Add(min(max(2*l.waited, leastBackoff), mostBackoff))
	}
	wake = wakeTime(wake)
	r := newRecorder(l.j.store, l.j.clock)
	r.parked(reason, at, wake)
	due := wake
	if reason == Interrupted || reason == Queued || wake.IsZero() && !l.asks() {
		due = at
	}
	return l.finish(addition{kind: runParked, head: func(h *head) {
		h.stand(Parked, at)
		h.wake = due
	}}, r)
}

// asks reports whether the run has an open question.
func (l *Log) asks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.steps {
		if s.isOpen() {
			return true
		}
	}
	return false
}

// Stick records that nobody can continue the run, since a step differs from its record or its
// record cannot be read, and why. The run is Stuck: [Journal.Due] leaves it out, and
// [Journal.Resume] tries again. Stick closes the log.
func (l *Log) Stick(ctx context.Context, p tool.StepPath, why string) error {
	at := l.j.clock.now()
	why = stuckText(why)
	r := about(p, l.j.store, l.j.clock)
	r.note(value.NewDict(noteStuck, why))
	return l.finish(addition{kind: placeNoted, head: func(h *head) { h.stick(why, at) }}, r)
}

// End records the end of the run and closes the log. The state is Done if failure is
// nil, Cancelled if its kind is Canceled, else Failed.
func (l *Log) End(ctx context.Context, reason string, out tool.Outcome, failure error) error {
	at, state := l.j.clock.now(), endState(failure)
	r := newRecorder(l.j.store, l.j.clock)
	r.ended(state, reason, at, &out, failure)
	return l.finish(addition{kind: runEnded, head: func(h *head) { h.stand(state, at) }}, r)
}

// Close releases the run in its state, so that it can be resumed. Records are durable
// when Close returns. After Park or End it does nothing.
func (l *Log) Close() error {
	if l.closed() != nil {
		return nil
	}
	err := l.w.wait(&job{log: l, last: true})
	l.shut(l.errClosed())
	return err
}

// shut closes the log and releases the lock of its run.
func (l *Log) shut(why error) {
	l.mu.Lock()
	first, lease := l.why == nil, l.lease
	if first {
		l.why = why
	}
	l.mu.Unlock()
	if first {
		l.j.mu.Lock()
		delete(l.j.logs, l)
		l.j.mu.Unlock()
		l.w.drop(l)
		if lease != nil {
			_ = lease.Release() // it ends with the process at the latest
		}
	}
}

// An addition describes a new record for its log.
type addition struct {
	kind    recordKind
	place   tool.StepPath
	durable bool        // stored before the caller continues
	sync    bool        // its outcome too
	acts    bool        // it is of an effect that must not be interrupted: others are part of one, or consist of some
	answers int         // the number of the answered question
	head    func(*head) // changes the run's head, or nil
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
	if a.durable || a.kind == effectSettled && (was.sync || s.isWrite()) || a.kind == placeNoted && was.sync {
		err = l.w.wait(j)
	} else {
		err = l.w.later(j)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		s.progress = was
		return err
	case a.acts && !s.acts:
		s.acts = true
		l.acting.Add(1)
	case a.kind == effectSettled && s.acts:
		s.acts = false
		l.acting.Add(-1)
	}
	if a.kind == effectSettled && s.records == nil { // a long run stays small
		l.steps[s.name] = &l.completed
	}
	return nil
}

// observed returns the error of a context that has ended. It is ignored for outcomes,
// which are always recorded.
func observed(ctx context.Context, k recordKind) error {
	if err := ctx.Err(); err != nil && k != effectSettled {
		return value.AsError(err, value.Canceled)
	}
	return nil
}

// admit checks that a record is valid now, and counts it at its step. was is the step's
// progress before that.
func (l *Log) admit(a addition) (s *step, was progress, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return nil, was, l.why
	}
	at := a.place.String()
	s = l.steps[at]
	if s == nil || s == &l.completed {
		s = &step{place: a.place, name: at, progress: progress{intended: s != nil, settled: s != nil}}
	}
	if err := s.refusal(a.kind); err != nil {
		return nil, was, misused(&l.run, a.place, err)
	}
	l.steps[at] = s
	was = s.progress
	s.note(a.kind, a.answers)
	s.sync = s.sync || a.sync
	return s, was, nil
}

func misused(r *Run, at tool.StepPath, why error) error {
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
	if err := l.w.wait(&job{log: l, record: rec, last: true, head: a.head}); err != nil {
		return err
	}
	l.shut(l.errClosed())
	return nil
}

// closed returns why the log accepts no more records, or nil.
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
func (l *Log) Recall(e tool.Effect, f *tool.Func) (*Entry, Recollection, error) {
	return recall(l, e, f)
}
