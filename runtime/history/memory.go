package history

import (
	"context"
	"crypto/rand"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Memory is a [Record] in memory: it has no store, and nobody else sees it.
// It is for tests, and for executing a script elsewhere, against a record that
// is carried with it: [Memory.Load] makes it from the entries of a journal, and
// [Memory.Entries] returns all that was recorded.
//
// A Memory refuses what a [*Log] refuses, and reads back what a Log reads back.
// It keeps values as they are given: they must not be changed later.
type Memory struct {
	*memoryRun
	run    Run              // as it stood when this record was opened
	opened map[string]Entry // likewise, by place
	seen   int              // requests to cancel when this record was opened
}

// A memoryRun is what the records of one run have in common.
type memoryRun struct {
	// Clock gives the times that are recorded. It is set before the record is used.
	// Nil means time.Now.
	Clock  func() time.Time
	script tool.Script

	mu      sync.Mutex
	open    *Memory // the record that is open, or nil
	current Run
	steps   map[string]*memoryStep // by place
	sent    map[string]*Answered   // the last answer that was sent, by answerKey
	cancels int                    // requests to cancel
}

type memoryStep struct {
	step
	entry Entry
}

// NewMemory returns the record of a new run. The ID, the nonce, and the time at
// which it started are made up where they are not given. The fields of r
// for the state of the run are ignored. s is what the run executes.
func NewMemory(r Run, s tool.Script) *Memory {
	r.Script = s.Sum()
	s.Hash = r.Script
	if r.ID == "" {
		r.ID = newID(now())
	}
	if r.Nonce == "" {
		r.Nonce = rand.Text()
	}
	if r.Started.IsZero() {
		r.Started = now()
	}
	r.State, r.Reason, r.Wake, r.Ended = Running, "", time.Time{}, time.Time{}
	r.Result, r.Err, r.Usage, r.Damage = nil, nil, tool.Usage{}, nil
	m := &Memory{run: r, opened: map[string]Entry{}, memoryRun: &memoryRun{
		script: s, current: r, steps: map[string]*memoryStep{}, sent: map[string]*Answered{},
	}}
	m.open = m
	return m
}

func (m *Memory) clock() clock { return m.Clock }

// Load adds entries as if an earlier process had recorded them, with their
// questions and notes. It stops at the first error and returns it, and fails,
// with kind Invalid, for an entry that cannot be, or at a step that has one.
func (m *Memory) Load(entries iter.Seq2[Entry, error]) error {
	for e, err := range entries {
		if err == nil {
			err = m.load(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) load(e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := e.Place.String()
	switch {
	case m.open != m:
		return errClosed(&m.run)
	case m.steps[at] != nil || !e.Settled.IsZero() && e.Intended.IsZero():
		return value.Errorf(value.Invalid, "load the record of run '%s': step %s is there already, or has an outcome of nothing", m.run.ID, at)
	}
	e.Staged, e.Key, e.Questions = false, m.Key(e.Place), slices.Clone(e.Questions)
	s := &memoryStep{step: step{place: e.Place, name: at}}
	s.progress = progress{intended: !e.Intended.IsZero(), settled: !e.Settled.IsZero(), questions: len(e.Questions)}
	for i := range e.Questions {
		q := &e.Questions[i]
		q.Place = e.Place
		q.identify(m.run.ID, i+1, q.Asked)
		s.answered = q.Answer != nil
	}
	s.entry = e
	m.steps[at], m.opened[at] = s, s.snapshot()
	return nil
}

// snapshot returns the entry as it is now.
func (s *memoryStep) snapshot() Entry {
	e := s.entry
	e.Questions, e.Notes = slices.Clone(e.Questions), slices.Clip(e.Notes)
	return e
}

// Resume closes the record and returns a new one of the same run, for which all
// that was recorded is that of an earlier process. That of a run that has ended
// takes nothing more.
func (m *Memory) Resume() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := &Memory{memoryRun: m.memoryRun, opened: map[string]Entry{}, seen: m.cancels}
	for at, s := range m.steps {
		next.opened[at] = s.snapshot()
	}
	m.open = nil
	if !m.current.State.Ended() {
		m.current.State, m.current.Reason, m.current.Wake = Running, "", time.Time{}
		m.open = next
	}
	next.run = m.current
	return next
}

// Run returns the run as it stood when the record was opened.
func (m *Memory) Run() Run { return m.run }

// Current returns the run in its present state.
func (m *Memory) Current() Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// Script returns what the run executes.
func (m *Memory) Script() tool.Script { return m.script }

// Live implements [Record].
func (m *Memory) Live() bool { return true }

// Keeps implements [Record].
func (m *Memory) Keeps() bool { return true }

// Key implements [Record].
func (m *Memory) Key(at tool.Place) string { return key(&m.run, at.String()) }

// Recall implements [Record].
func (m *Memory) Recall(e tool.Effect, _ *tool.Func) (*Entry, Recollection, error) {
	return recall(m, e)
}

// Recorded implements [Record].
func (m *Memory) Recorded(at tool.Place) (Entry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.opened[at.String()]
	return e, ok, nil
}

// Notes implements [Record].
func (m *Memory) Notes() iter.Seq2[*value.Dict, error] {
	m.mu.Lock()
	entries := slices.SortedFunc(maps.Values(m.opened), byPlace)
	m.mu.Unlock()
	return func(yield func(*value.Dict, error) bool) {
		for _, e := range entries {
			for _, n := range e.Notes {
				if !yield(n, nil) {
					return
				}
			}
		}
	}
}

func byPlace(a, b Entry) int { return slices.Compare(a.Place, b.Place) }

// Entries yields all that is recorded, by place, as [Journal.Entries] does.
func (m *Memory) Entries() iter.Seq2[Entry, error] {
	var entries []Entry
	m.mu.Lock()
	for _, s := range m.steps {
		entries = append(entries, s.snapshot())
	}
	m.mu.Unlock()
	slices.SortFunc(entries, byPlace)
	return func(yield func(Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Intend implements [Record].
func (m *Memory) Intend(ctx context.Context, i Intent) error {
	r := about(i.Place, nil, m.clock())
	r.intent(&i)
	return m.add(ctx, addition{kind: effectIntended, place: i.Place}, r, func(e *Entry) {
		i.Staged = false
		e.begin(i, m.clock().now())
	})
}

// Settle implements [Record].
func (m *Memory) Settle(ctx context.Context, at tool.Place, out tool.Outcome, failure error) error {
	r := about(at, nil, m.clock())
	r.outcome(&out, failure)
	return m.add(ctx, addition{kind: effectSettled, place: at}, r, func(e *Entry) {
		if u := out.Undo; u != nil {
			out.Undo = &tool.Effect{Func: u.Func, Args: u.Args, Place: u.Place}
		}
		e.Settled, e.Outcome = m.clock().now(), out
		e.Err, _ = readError(errorValue(failure))
	})
}

// Note implements [Record].
func (m *Memory) Note(ctx context.Context, at tool.Place, d *value.Dict) error {
	r := about(at, nil, m.clock())
	r.note(d)
	return m.add(ctx, addition{kind: placeNoted, place: at}, r, func(e *Entry) {
		e.Notes = append(e.Notes, orEmpty(d))
	})
}

// add records something at a step. do changes its entry.
func (m *Memory) add(ctx context.Context, a addition, r *recorder, do func(*Entry)) error {
	if err := observed(ctx, a.kind); err != nil {
		return err
	}
	if err := r.discard(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addLocked(a, do)
}

func (m *Memory) addLocked(a addition, do func(*Entry)) error {
	if m.open != m {
		return errClosed(&m.run)
	}
	at := a.place.String()
	s := m.steps[at]
	if s == nil {
		s = &memoryStep{step: step{place: a.place, name: at}, entry: Entry{Intent: Intent{Place: a.place}, Key: m.Key(a.place)}}
	}
	if err := s.refusal(a.kind); err != nil {
		return misused(&m.run, a.place, err)
	}
	m.steps[at] = s
	s.note(a.kind, a.answers)
	do(&s.entry)
	return nil
}

// Park implements [Record].
func (m *Memory) Park(_ context.Context, reason string, wake time.Time) error {
	return m.finish(newRecorder(nil, m.clock()), func(r *Run) { r.State, r.Reason, r.Wake = Parked, utf8Text(reason), wakeTime(wake) })
}

// End implements [Record].
func (m *Memory) End(_ context.Context, reason string, out tool.Outcome, failure error) error {
	at, state := m.clock().now(), endState(failure)
	r := newRecorder(nil, m.clock())
	r.ended(state, reason, at, &out, failure)
	return m.finish(r, func(r *Run) {
		r.State, r.Reason, r.Ended, r.Result, r.Usage = state, utf8Text(reason), at, out.Value, out.Usage
		r.Err, _ = readError(errorValue(failure))
	})
}

// finish closes the record with a new state.
func (m *Memory) finish(r *recorder, do func(*Run)) error {
	if err := r.discard(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open != m {
		return errClosed(&m.run)
	}
	m.open = nil
	do(&m.current)
	return nil
}

// Close implements [Record].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == m {
		m.open = nil
	}
	return nil
}
