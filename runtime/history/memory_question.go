package history

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Ask implements [Record].
func (m *Memory) Ask(ctx context.Context, q Question) (int, error) {
	q.Text = utf8Text(q.Text)
	m.mu.Lock()
	s, recorded := m.steps[q.Place.String()], m.opened[q.Place.String()]
	same := recorded.asked(&q)
	again := m.open == m && same != nil && s.isOpen() && s.questions == same.N
	m.mu.Unlock()
	if again {
		return same.N, nil
	}
	return m.ask(ctx, q, nil)
}

// Answered implements [Record].
func (m *Memory) Answered(ctx context.Context, q Question, a Answer) error {
	a.At = m.clock().now()
	_, err := m.ask(ctx, q, &a)
	return err
}

// ask records a question, and its answer if there is one.
func (m *Memory) ask(ctx context.Context, q Question, a *Answer) (n int, err error) {
	r := about(q.Place, nil, m.clock())
	if r.question(1, &q); a != nil {
		r.answer(1, a)
		a = a.plain()
	}
	err = m.add(ctx, addition{kind: questionAsked, place: q.Place}, r, func(e *Entry) {
		q.Run, q.N, q.Asked, q.Answer, q.Spent = m.run.ID, len(e.Questions)+1, m.clock().now(), a, false
		q.Text = utf8Text(q.Text)
		e.Questions = append(e.Questions, q)
		n = q.N
		if a != nil {
			m.steps[q.Place.String()].note(questionAnswered, n)
		}
	})
	return n, err
}

// plain returns a copy of an answer as it is read back.
func (a *Answer) plain() *Answer {
	b := *a
	b.Why, b.By = utf8Text(b.Why), utf8Text(b.By)
	return &b
}

// Answer implements [Record].
func (m *Memory) Answer(ctx context.Context, at tool.Place, n int) (*Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open != m {
		return nil, errClosed(&m.run)
	}
	if err := observed(ctx, questionAnswered); err != nil {
		return nil, err
	}
	a := m.sent[answerKey(at, n)]
	if a == nil {
		return nil, nil
	}
	return a, m.addLocked(addition{kind: questionAnswered, place: at, answers: n}, func(e *Entry) { e.Questions[n-1].Answer = a })
}

// Send answers a question of the run that is open, as [Journal.Answer] does.
func (m *Memory) Send(at tool.Place, n int, a Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s *step
	found := m.steps[at.String()]
	if found != nil && !m.current.State.Ended() {
		s = &found.step
	}
	name := answerKey(at, n)
	if err := s.answerable(m.run.ID, at, n); err != nil {
		return err
	}
	if err := found.entry.Questions[n-1].accepts(&a); err != nil {
		return err
	}
	a.At = m.clock().now()
	if _, err := a.body(m.run.ID, name); err != nil {
		return err
	}
	m.sent[name] = a.plain()
	return nil
}

// Questions implements [Record].
func (m *Memory) Questions(context.Context) ([]Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []Question
	for _, s := range m.steps {
		if !s.isOpen() || m.current.State.Ended() {
			continue
		}
		q := s.entry.Questions[len(s.entry.Questions)-1]
		q.Answer = m.sent[answerKey(q.Place, q.N)]
		open = append(open, q)
	}
	slices.SortFunc(open, func(a, b Question) int { return slices.Compare(a.Place, b.Place) })
	return open, nil
}

// Cancel asks for the end of the run. One whose record is closed is ended.
func (m *Memory) Cancel() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancels++
	if r := &m.current; m.open == nil && !r.State.Ended() {
		r.State, r.Reason, r.Wake, r.Ended, r.Err = Cancelled, "cancelled", time.Time{}, m.clock().now(), errRunCancelled()
	}
}

// CancelRequested implements [Record].
func (m *Memory) CancelRequested(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cancels > m.seen, nil
}
