package history

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Log is a run in hand: what was recorded of it, and where more is recorded.
// Its methods may be called from many goroutines. It is open until the run parks
// or ends, or the Log or its Journal is closed; one of [Journal.Read] only answers.
type Log struct {
	j      *Journal
	run    Run
	script tool.Script
	lock   *lock

	mu    sync.Mutex
	steps map[string]*step // by place
	why   error            // it takes no more, or nil

	// How far the run has come on disk. The writer's alone.
	num  int64
	head head
}

// Run returns the run as it stood when the log was opened.
func (l *Log) Run() Run { return l.run }

// Script returns what the run executes, as it was when the run began.
func (l *Log) Script() tool.Script { return l.script }

// Key names an effect of the run, the same for each try: RUN/PLACE. Services that
// do a thing once per key get it as their idempotency key.
func (l *Log) Key(p tool.Place) string { return key(l.run.ID, p) }

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
	e, err := s.entry(l.run.ID, l.j.blobs.get)
	return e, true, err
}

// Notes yields what had been decided anywhere in the run when this log was
// opened, by place. It fails where a value was lost.
func (l *Log) Notes() iter.Seq2[*tool.Dict, error] {
	return func(yield func(*tool.Dict, error) bool) {
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
			e, err := s.entry(l.run.ID, l.j.blobs.get)
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
	if !i.Kind.Valid() {
		return tool.Errorf(tool.Invalid, "the intent of %s has no valid Kind", i.Func)
	}
	r := l.recorder(i.Place)
	r.put(tool.Tuple{nanos(now()), i.Func, kindCode(i.Kind)}, orNil(i.Args), orNil(i.Change))
	return l.add(ctx, addition{kind: effectIntended, place: i.Place, durable: !i.Staged && (i.Kind == tool.Write || i.Kind == tool.External)}, r)
}

// Settle records what came of an effect that was intended: an outcome, or an
// error, of which the usage is kept too. The record is on disk before the next
// durable intent, before the run parks or ends, and in any case a moment later.
func (l *Log) Settle(ctx context.Context, p tool.Place, out tool.Outcome, failure error) error {
	r := l.recorder(p)
	parts := append(tool.Tuple{nanos(now())}, usageParts(out.Usage)...)
	if u := out.Undo; u != nil {
		r.put(append(parts, u.Func, u.Place.String()), orNil(u.Args))
	} else {
		r.put(parts, nil)
	}
	r.put(errorValue(failure), out.Value)
	at := p.String()
	return l.add(ctx, addition{kind: effectSettled, place: p, head: func(h *head) {
		if h.waits == at {
			h.waits, h.wake = "", time.Time{}
		}
	}}, r)
}

// Note records what was decided at a place, as an approval or a refusal. It is
// on disk when a later durable intent is.
func (l *Log) Note(ctx context.Context, p tool.Place, d *tool.Dict) error {
	r := l.recorder(p)
	r.put(nanos(now()), orNil(d))
	return l.add(ctx, addition{kind: placeNoted, place: p}, r)
}

// Ask records a question, or a sleep. It is on disk when Ask returns, and can be
// answered from then on, whether the run is then parked or goes on waiting. The
// last question that was asked is the one that wakes a parked run.
func (l *Log) Ask(ctx context.Context, q Question) error {
	if len(q.Place) == 0 {
		return tool.Errorf(tool.Internal, "a question at no step of run '%s'", l.run.ID)
	}
	r := l.recorder(q.Place)
	r.put(nanos(now()), q.Text, q.Confirm, nanos(q.Until), orNil(q.Data))
	return l.add(ctx, addition{kind: questionAsked, place: q.Place, durable: true, head: func(h *head) {
		h.waits, h.wake = q.Place.String(), q.Until
	}}, r)
}

// Answer returns what was answered at a place, a bool or a string, and whether
// it was answered.
func (l *Log) Answer(ctx context.Context, p tool.Place) (tool.Value, bool, error) {
	a, err := l.j.answerOf(ctx, l.run.ID, p)
	if err != nil || a == nil {
		return nil, false, err
	}
	if a.err != nil {
		return nil, false, damaged(l.run.ID, "the answer at step "+p.String(), a.err)
	}
	return a.value, true, nil
}

// Park records that the run waits, and why, and closes the log: nobody has the
// run in hand until it is resumed.
func (l *Log) Park(ctx context.Context, reason string) error {
	r := &recorder{blobs: l.j.blobs}
	r.put(utf8Text(reason), nanos(now()))
	return l.finish(ctx, addition{kind: runParked, head: func(h *head) { h.state = Parked }}, r)
}

// End records how the run ended, and closes the log: Done if err is nil,
// Cancelled if its kind is Canceled, else Failed.
func (l *Log) End(ctx context.Context, reason string, out tool.Outcome, failure error) error {
	state := Done
	if failure != nil {
		if state = Failed; tool.KindOf(failure) == tool.Canceled {
			state = Cancelled
		}
	}
	at := now()
	r := &recorder{blobs: l.j.blobs}
	r.put(int64(state), utf8Text(reason), errorValue(failure), usageParts(out.Usage), nanos(at), out.Value)
	return l.finish(ctx, addition{kind: runEnded, head: func(h *head) {
		*h = head{frames: h.frames, last: h.last, state: state, ended: at}
	}}, r)
}

// Close gives the run up as it stands, so that it can be resumed. What was
// recorded is on disk when Close returns. After Park or End it does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	open := l.why == nil
	l.mu.Unlock()
	if !open {
		return nil
	}
	err := l.j.w.wait(&job{log: l})
	l.shut(tool.Errorf(tool.Internal, "the log of run '%s' is closed", l.run.ID))
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
		l.lock.release()
	}
}

// recorder begins a record about a place.
func (l *Log) recorder(p tool.Place) *recorder {
	r := &recorder{blobs: l.j.blobs}
	r.put(p.String())
	return r
}

// An addition is what a record means for the log that gets it.
type addition struct {
	kind    recordKind
	place   tool.Place
	durable bool        // it is on disk before anybody goes on
	head    func(*head) // how it changes the run's head, if it does
}

// add records something at a place.
func (l *Log) add(ctx context.Context, a addition, r *recorder) error {
	if err := ctx.Err(); err != nil && a.kind != effectSettled { // an outcome counts, whoever has given up
		return tool.AsError(err, tool.Canceled)
	}
	rec, err := r.record(a.kind)
	if err != nil {
		return err
	}
	undo, err := l.admit(a)
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
		undo()
	}
	return err
}

// admit checks that a record may come now, and notes it; undo forgets it.
func (l *Log) admit(a addition) (undo func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return nil, l.why
	}
	at := a.place.String()
	s := l.steps[at]
	if s == nil {
		s = &step{place: a.place}
		l.steps[at] = s
	}
	switch {
	case a.kind == effectIntended && s.settled:
		return nil, tool.Errorf(tool.Internal, "step %s of run '%s' is done already", at, l.run.ID)
	case a.kind == effectSettled && s.settled:
		return nil, tool.Errorf(tool.Internal, "step %s of run '%s' has an outcome already", at, l.run.ID)
	case a.kind == effectSettled && !s.intended:
		return nil, tool.Errorf(tool.Internal, "step %s of run '%s' was not intended", at, l.run.ID)
	}
	was := *s
	s.note(a.kind)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.intended, s.settled, s.questions = was.intended, was.settled, was.questions
	}, nil
}

// finish writes the last record of this log and closes it.
func (l *Log) finish(ctx context.Context, a addition, r *recorder) error {
	rec, err := r.record(a.kind)
	if err != nil {
		return err
	}
	l.mu.Lock()
	err = l.why
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if err := l.j.w.wait(&job{log: l, record: rec, head: a.head}); err != nil {
		return err
	}
	l.shut(tool.Errorf(tool.Internal, "the run '%s' is %s", l.run.ID, "parked or has ended"))
	return nil
}

// Live implements [Record].
func (l *Log) Live() bool { return true }

// Keeps implements [Record].
func (l *Log) Keeps() bool { return true }

// Recall implements [Record].
func (l *Log) Recall(e tool.Effect, _ *tool.Func) (*Entry, Recollection, error) { return recall(l, e) }
