package history

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Memory is the [Log] of a run that is alone in a journal in memory. It is for tests,
// and for executing a script elsewhere with a copy of its record: [Memory.Load] loads
// the entries of another journal, and [Memory.Entries] returns all entries. Its events
// are not recorded.
type Memory struct {
	*Log
	*memoryRun
}

// A memoryRun is shared by the records of one run.
type memoryRun struct {
	// Clock returns the times to record. It must be set before the record is used. Nil
	// means time.Now.
	Clock func() time.Time

	opening sync.Mutex
	open    *Log // the last record that was opened
}

// NewMemory returns the record of a new run. Missing ID, nonce and start time are
// generated. The fields of r for the state of the run are ignored. s is the script of
// the run. If the run cannot be recorded, for example because of its ID, everything
// that is added to the record fails with that error.
func NewMemory(r Run, s tool.Script) *Memory {
	m := &Memory{memoryRun: &memoryRun{}}
	j := Open(journal.Memory(), &Options{Clock: func() time.Time {
		if m.Clock == nil {
			return time.Now()
		}
		return m.Clock()
	}})
	r.ID, r.Nonce = cmp.Or(r.ID, newID(now())), cmp.Or(r.Nonce, rand.Text())
	if r.Started.IsZero() {
		r.Started = now()
	}
	l, err := j.begin(context.Background(), r, s)
	if err != nil {
		r.Script = s.Sum()
		l = &Log{j: j, w: j.writer(), run: r, script: s, steps: map[string]*step{}, why: err}
	}
	m.Log, m.open = l, l
	return m
}

// Load adds entries of an earlier process, with their questions and notes. It returns
// the first error. It fails with kind Invalid for an impossible entry, or if the step
// already has one.
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
	l, s := m.Log, &step{place: e.StepPath, name: e.StepPath.String()}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return l.why
	case l.steps[s.name] != nil:
		return value.Errorf(value.Invalid, "load the record of run '%s': step %s already exists", l.run.ID, s.name)
	case !e.Settled.IsZero() && e.Intended.IsZero():
		return value.Errorf(value.Invalid, "load the record of run '%s': step %s has an outcome but no intent", l.run.ID, s.name)
	}
	var err error
	add := func(kind recordKind, at time.Time, put func(*recorder)) {
		if err != nil {
			return
		}
		r := about(e.StepPath, l.j.store, func() time.Time { return at })
		put(r)
		var data []byte
		if data, err = r.record(kind); err == nil {
			err = l.w.wait(&job{log: l, record: data})
		}
		if err == nil {
			added, _, _ := nextRecord(data)
			err = s.add(added)
		}
	}
	questions := func(spent bool) {
		for i := range e.Questions {
			q, a := e.Questions[i], e.Questions[i].Answer
			if q.N = i + 1; q.Spent != spent {
				continue
			}
			add(questionAsked, q.Asked, func(r *recorder) { r.question(&q) })
			if a != nil {
				add(questionAnswered, a.At, func(r *recorder) { r.answer(q.N, a) })
			}
		}
	}
	questions(true)
	if !e.Intended.IsZero() {
		add(effectIntended, e.Intended, func(r *recorder) { r.intent(&e.Intent) })
	}
	questions(false)
	for _, n := range e.Notes {
		add(placeNoted, now(), func(r *recorder) { r.note(n) })
	}
	if !e.Settled.IsZero() {
		var failure error
		if e.Err != nil {
			failure = e.Err
		}
		add(effectSettled, e.Settled, func(r *recorder) { r.outcome(&e.Outcome, failure) })
	}
	l.steps[s.name], l.earlier = s, nil
	return err
}

// Resume closes the record and returns a new one of the same run. For it, all entries
// are those of an earlier process. If the run has ended the new record accepts nothing.
func (m *Memory) Resume() *Memory {
	m.opening.Lock()
	defer m.opening.Unlock()
	ctx, j, id := context.Background(), m.j, m.run.ID
	_ = m.open.Close() // writing to memory does not fail
	l, err := j.Resume(ctx, id)
	if err != nil {
		l, err = j.Read(ctx, id)
	}
	if err != nil { // it could not be recorded
		l = m.Log
	}
	m.open = l
	return &Memory{l, m.memoryRun}
}

// Current returns the run in its current state.
func (m *Memory) Current() Run {
	r, err := m.j.Run(context.Background(), m.run.ID)
	if err != nil { // it could not be recorded
		return m.run
	}
	return r
}

// Entries yields all entries, by step, as [Journal.Entries] does.
func (m *Memory) Entries() iter.Seq2[Entry, error] {
	return m.j.Entries(context.Background(), m.run.ID)
}

// AddEvent implements [Record]: the event has no number.
func (m *Memory) AddEvent(_ *tool.Event, deliver func()) { deliver() }

// Send answers a question of the run that is open, as [Journal.Answer] does.
func (m *Memory) Send(at tool.StepPath, n int, given tool.Answer) error {
	return m.j.Answer(context.Background(), m.run.ID, at, n, given)
}

// Cancel requests the end of the run. If its record is closed the run ends now.
func (m *Memory) Cancel() { _, _ = m.j.Cancel(context.Background(), m.run.ID) }
