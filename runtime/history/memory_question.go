package history

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Ask implements [Record].
func (m *Memory) Ask(ctx context.Context, q Asked) (Asked, error) {
	if same := m.same(&q); same != nil {
		return *same, nil
	}
	return m.ask(ctx, q, nil)
}

// same returns the open question that was recorded before this record was opened,
// if another one is the same; else nil.
func (m *Memory) same(q *Asked) *Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, recorded := m.steps[q.Place.String()], m.opened[q.Place.String()]
	same := recorded.asked(q)
	if m.open == m && same != nil && s.isOpen() && s.questions == same.N {
		return same
	}
	return nil
}

// Identify implements [Record].
func (m *Memory) Identify(q Asked) (Asked, error) {
	if same := m.same(&q); same != nil {
		q.identify(m.run.ID, same.N, same.Asked)
		return q, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 1
	if s := m.steps[q.Place.String()]; s != nil {
		n += s.questions
	}
	q.identify(m.run.ID, n, m.clock().now())
	return q, nil
}

// Answered implements [Record].
func (m *Memory) Answered(ctx context.Context, q Asked, given tool.Answer) error {
	a := &Answered{given, m.clock().now()}
	same := m.same(&q)
	if same == nil {
		_, err := m.ask(ctx, q, a)
		return err
	}
	r := about(q.Place, nil, m.clock())
	r.answer(same.N, a)
	a = a.plain()
	return m.add(ctx, addition{kind: questionAnswered, place: q.Place, answers: same.N}, r, func(e *Entry) { e.Questions[same.N-1].Answer = a })
}

// ask records a question, and its answer if there is one.
func (m *Memory) ask(ctx context.Context, q Asked, a *Answered) (Asked, error) {
	r := about(q.Place, nil, m.clock())
	if r.question(&q); a != nil {
		r.answer(1, a)
		a = a.plain()
	}
	err := m.add(ctx, addition{kind: questionAsked, place: q.Place}, r, func(e *Entry) {
		plain, _ := tool.QuestionOf(q.content())
		plain.Asked = q.Asked
		q.Question, q.Answer, q.Spent = plain, a, false
		q.put(m.run.ID, len(e.Questions)+1, m.clock())
		e.Questions = append(e.Questions, q)
		if a != nil {
			m.steps[q.Place.String()].note(questionAnswered, q.N)
		}
	})
	q.Answer = nil
	return q, err
}

// plain returns a copy of an answer as it is read back.
func (a *Answered) plain() *Answered {
	b := *a
	b.Why, b.By = utf8Text(b.Why), utf8Text(b.By)
	return &b
}

// Answer implements [Record].
func (m *Memory) Answer(ctx context.Context, at tool.Place, n int) (*Answered, error) {
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
func (m *Memory) Send(at tool.Place, n int, given tool.Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s *step
	found := m.steps[at.String()]
	if found != nil {
		s = &found.step
	}
	name := answerKey(at, n)
	if err := s.answerable(&m.run, at, n, m.current.State.Ended()); err != nil {
		return err
	}
	a, err := found.entry.Questions[n-1].accepts(given)
	if err != nil {
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
func (m *Memory) Questions(context.Context) ([]Asked, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []Asked
	for _, s := range m.steps {
		if !s.isOpen() || m.current.State.Ended() {
			continue
		}
		q := s.entry.Questions[len(s.entry.Questions)-1]
		q.Answer = m.sent[answerKey(q.Place, q.N)]
		open = append(open, q)
	}
	slices.SortFunc(open, func(a, b Asked) int { return slices.Compare(a.Place, b.Place) })
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
