package history

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Asked is a question as a run has recorded it.
type Asked struct {
	tool.Question            // its ID, Run, Step and Asked are set when it is recorded
	Place         tool.Place // the Step of the question
	N             int        // its number among the questions at its step, from 1; set when it is recorded
	// Data is what else is compared when the question is asked again; it may be nil.
	Data *value.Dict

	// Answer is what was answered, or nil. Of an open question it can still be
	// corrected, until the run uses it.
	Answer *Answered
	// Spent reports that the effect that asked was begun again after the answer
	// was used: another try needs another answer.
	Spent bool
}

// Answered is an answer as it was recorded.
type Answered struct {
	tool.Answer
	At time.Time
}

// put sets what the question gets when it is recorded. One that was put to somebody
// before keeps the time of that.
func (q *Asked) put(run string, n int, c clock) {
	if q.Asked.IsZero() {
		q.Asked = c.now()
	}
	q.identify(run, n, q.Asked)
}

// identify sets what the question gets when it is recorded.
func (q *Asked) identify(run string, n int, at time.Time) {
	q.N, q.Asked = n, at
	q.Run, q.Step, q.ID = run, q.Place.String(), questionID(run, q.Place, n)
}

// questionID names a question among all of a journal, as RUN:STEP:N.
func questionID(run string, at tool.Place, n int) string {
	return run + ":" + answerKey(at, n)
}

// content is what is recorded of a question: all but what identify sets.
func (q *Asked) content() *value.Dict {
	plain := q.Question
	plain.ID, plain.Run, plain.Step, plain.Asked = "", "", "", time.Time{}
	return plain.Dict()
}

// answerKind is the kind of messages that are answers. Their key is STEP:N.
const answerKind = "answer"

func answerKey(at tool.Place, n int) string { return at.String() + ":" + strconv.Itoa(n) }

// value is the answer as it is kept.
func (a *Answered) value() value.Value {
	return value.NewDict("yes", a.Yes, "always", a.Always, "value", a.Value, "args", orNil(a.Args), "why", utf8Text(a.Why), "by", utf8Text(a.By), "at", nanos(a.At))
}

func readAnswer(v value.Value) (*Answered, error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, errRecord
	}
	a := &Answered{At: moment(d.Int("at"))}
	a.Yes, a.Always, a.Why, a.By = d.Bool("yes"), d.Bool("always"), d.Text("why"), d.Text("by")
	a.Value, _ = d.Get("value")
	args, _ := d.Get("args")
	a.Args, _ = args.(*value.Dict)
	return a, nil
}

// body is the answer as a message of the inbox: it is not part of the chain of
// the run's frames, so it has a checksum of its own, over which question it is
// for too.
func (a *Answered) body(run, key string) ([]byte, error) {
	b, err := value.Append(make([]byte, len(sum{})), value.Tuple{run, key, a.value()})
	if err != nil {
		return nil, value.Errorf(value.Invalid, "the answer: %w", err)
	}
	return seal(b), nil
}

func openBody(m journal.Message, run string) (*Answered, error) {
	v, err := unseal(m.Body)
	if err != nil {
		return nil, errChanged
	}
	list, _ := v.(value.Tuple)
	p := parts{list: list}
	if part[string](&p) != run || part[string](&p) != m.Key || p.bad {
		return nil, errRecord
	}
	return readAnswer(part[value.Value](&p))
}

// Questions returns the open questions of a run, by step: those that have no
// answer which the run has used. The Answer of one is the last that somebody
// gave, or nil. Where a part of the record or of the inbox is damaged, it
// returns what can be read together with an error.
func (j *Journal) Questions(ctx context.Context, run string) ([]Asked, error) {
	h, err := j.history(ctx, run)
	if err != nil {
		return nil, err
	}
	if h.head.state.Ended() {
		return nil, h.damage
	}
	sent, err := h.answers()
	if h.damage != nil {
		err = h.damage
	}
	var open []Asked
	for _, s := range h.sorted() {
		if !s.isOpen() {
			continue
		}
		e, e2 := s.entry(&h.run, j.store)
		if e2 != nil {
			err = e2
			continue
		}
		q := e.Questions[len(e.Questions)-1]
		q.Answer = sent[answerKey(q.Place, q.N)]
		open = append(open, q)
	}
	return open, err
}

// answers returns the last answer of the inbox to each question, by key. One
// that cannot be read is an error, and hides those before it.
func (h *history) answers() (map[string]*Answered, error) {
	sent := map[string]*Answered{}
	var damage error
	for _, m := range h.inbox {
		if m.Kind != answerKind {
			continue
		}
		a, err := openBody(m, h.run.ID)
		if err != nil {
			damage = damaged(h.run.ID, "the answer "+strconv.Quote(value.Clean(m.Key, 80)), err)
		}
		sent[m.Key] = a
	}
	return sent, damage
}

// Answer answers a question of a run that is open. It is for anybody: the run
// may be parked, or wait in another process. An answer can be corrected by
// another until the run uses it. Answer fails with NotFound if nothing is asked
// there, with Invalid for an answer of the wrong kind, and with Conflict if the
// answer was used already.
func (j *Journal) Answer(ctx context.Context, run string, at tool.Place, n int, given tool.Answer) error {
	h, err := j.history(ctx, run)
	if err != nil {
		return err
	}
	s := h.steps[at.String()]
	if err := s.answerable(&h.run, at, n, h.head.state.Ended()); err != nil {
		return err
	}
	e, err := s.entry(&h.run, j.store)
	if err != nil {
		return err
	}
	a, err := e.Questions[n-1].accepts(given)
	if err != nil {
		return err
	}
	a.At = j.clock.now()
	m := journal.Message{Kind: answerKind, Key: answerKey(at, n)}
	if m.Body, err = a.body(run, m.Key); err != nil {
		return err
	}
	_, err = j.store.Send(ctx, h.num, m)
	if value.KindOf(err) == value.Conflict {
		return alreadyAnswered(run, at)
	}
	return err
}

// answerable returns why nobody can answer a question of the step, or nil. The
// step is nil where nothing was asked.
func (s *step) answerable(run *Run, at tool.Place, n int, ended bool) error {
	switch {
	case s == nil || n < 1 || n > s.questions || ended && n == s.questions && !s.answered:
		return value.Errorf(value.NotFound, "the run '%s' has no open question at step %q", run.ID, at.String()).WithHint("list what is open: cassidy runs show %s; a program calls Host.Waiting", run.ID)
	case n < s.questions:
		return value.Errorf(value.Conflict, "question %d of run '%s' at step %q was replaced by another one", n, run.ID, at.String()).
			WithHint("list what is open: cassidy runs show %s; a program calls Host.Waiting", run.ID)
	case !s.isOpen():
		return alreadyAnswered(run.ID, at)
	}
	return nil
}

func alreadyAnswered(run string, at tool.Place) error {
	return value.Errorf(value.Conflict, "the question of run '%s' at step %q was answered, and the answer was used", run, at.String()).
		WithHint("list what is open: cassidy runs show %s; a program calls Host.Waiting", run)
}

// accepts returns an answer as it is recorded, but for the time, or why it does not fit the
// question.
func (q *Asked) accepts(given tool.Answer) (*Answered, error) {
	a, err := q.Accepts(given)
	if text, _ := a.Value.(string); err == nil && max(len(text), len(a.Why), len(a.By)) > inlineMost {
		err = value.Errorf(value.Limit, "an answer, its reason and who gave it have at most %d KB each", inlineMost>>10)
	}
	return &Answered{Answer: a}, err
}

// Ask records a question and returns it as it is recorded. It is durable when
// Ask returns, and can be answered from then on. One that an earlier process
// recorded and that is open and asked again unchanged stays the same; any
// other question replaces the one that is open at its step.
func (l *Log) Ask(ctx context.Context, q Asked) (Asked, error) {
	if err := l.closed(); err != nil {
		return q, err
	}
	same, err := l.same(&q)
	if same != nil || err != nil {
		return *cmp.Or(same, &q), err
	}
	return l.ask(ctx, q, true)
}

// same returns the open question that an earlier process has recorded, if another
// one is the same; else nil.
func (l *Log) same(q *Asked) (*Asked, error) {
	entry, _, err := l.Recorded(q.Place)
	if err != nil {
		return nil, err
	}
	if same := entry.asked(q); same != nil && l.isOpen(same) {
		return same, nil
	}
	return nil, nil
}

// Identify implements [Record].
func (l *Log) Identify(q Asked) (Asked, error) {
	same, err := l.same(&q)
	if same != nil {
		q.identify(l.run.ID, same.N, same.Asked)
		return q, nil
	}
	q.identify(l.run.ID, l.next(q.Place), l.j.clock.now())
	return q, err
}

// next returns the number of the next question at a step.
func (l *Log) next(at tool.Place) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.steps[at.String()]; s != nil {
		return s.questions + 1
	}
	return 1
}

// isOpen reports whether a recorded question still waits for an answer.
func (l *Log) isOpen(q *Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.steps[q.Place.String()]
	return s.isOpen() && s.questions == q.N
}

func (l *Log) ask(ctx context.Context, q Asked, durable bool) (Asked, error) {
	l.asking.Lock()
	defer l.asking.Unlock()
	q.put(l.run.ID, l.next(q.Place), l.j.clock)
	r := about(q.Place, l.j.store, l.j.clock)
	r.question(&q)
	return q, l.add(ctx, addition{kind: questionAsked, place: q.Place, durable: durable}, r)
}

// asked returns the last question at a step if it is the same as another, or
// nil.
func (e *Entry) asked(q *Asked) *Asked {
	if len(e.Questions) == 0 {
		return nil
	}
	last := &e.Questions[len(e.Questions)-1]
	if !value.Equal(last.content(), q.content()) || !value.Equal(orEmpty(last.Data), orEmpty(q.Data)) {
		return nil
	}
	return last
}

// Answered records a question together with its answer, which was given in this
// process.
func (l *Log) Answered(ctx context.Context, q Asked, given tool.Answer) error {
	a := &Answered{given, l.j.clock.now()}
	r := newRecorder(nil, l.j.clock)
	r.answer(1, a)
	if err := r.discard(); err != nil { // before the question is recorded
		return err
	}
	if err := l.closed(); err != nil {
		return err
	}
	same, err := l.same(&q)
	if err == nil && same == nil {
		q, err = l.ask(ctx, q, false)
		same = &q
	}
	if err != nil {
		return err
	}
	return l.use(ctx, q.Place, same.N, a)
}

// Answer uses the last answer that was sent to a question, and records it. It is
// nil where there is none; once it was used, it cannot be corrected any more.
func (l *Log) Answer(ctx context.Context, at tool.Place, n int) (*Answered, error) {
	if err := l.closed(); err != nil { // before the answer is taken
		return nil, err
	}
	m, ok, err := l.j.store.Take(ctx, l.num, answerKind, answerKey(at, n))
	if err != nil || !ok {
		return nil, err
	}
	a, err := openBody(m, l.run.ID)
	if err != nil {
		return nil, damaged(l.run.ID, "the answer at step "+at.String(), err)
	}
	return a, l.use(ctx, at, n, a)
}

// use records that an answer is used.
func (l *Log) use(ctx context.Context, at tool.Place, n int, a *Answered) error {
	r := about(at, l.j.store, l.j.clock)
	r.answer(n, a)
	return l.add(ctx, addition{kind: questionAnswered, place: at, answers: n}, r)
}

// cancelKind is the kind of messages that ask for the end of a run.
const cancelKind = "cancel"

// cancelTries is how often Cancel looks who executes a run, where that changes.
const cancelTries = 3

// Cancel ends a run that nobody executes, and asks whoever executes it to end it
// otherwise; ended reports which. It fails with NotFound if there is no such
// run, and with Conflict if it has ended.
func (j *Journal) Cancel(ctx context.Context, run string) (ended bool, err error) {
	for range cancelTries {
		var l *Log
		if l, err = j.Resume(ctx, run); err == nil {
			err = l.End(ctx, "cancelled", tool.Outcome{}, errRunCancelled())
			return err == nil, errors.Join(err, l.Close())
		}
		if value.KindOf(err) != value.Conflict {
			return false, err
		}
		if r, e := j.Run(ctx, run); e != nil || r.State.Ended() {
			return false, err
		}
		if err := j.requestCancel(ctx, run); err != nil {
			return false, err
		}
		if j.Held(run) {
			return false, nil
		}
		// Whoever executed it has given it up, perhaps without seeing the request.
	}
	return false, err
}

func errRunCancelled() *value.Error { return value.Errorf(value.Canceled, "the run was cancelled") }

func (j *Journal) requestCancel(ctx context.Context, run string) error {
	num, err := j.find(ctx, run)
	if err == nil {
		_, err = j.store.Send(ctx, num, journal.Message{Kind: cancelKind})
	}
	return err
}

// CancelRequested reports whether somebody asked for the end of the run since it
// was resumed.
func (l *Log) CancelRequested(ctx context.Context) (bool, error) {
	list, err := l.j.store.Inbox(ctx, l.num, l.seen)
	for _, m := range list {
		if m.Kind == cancelKind {
			return true, nil
		}
	}
	return false, err
}

// ParseQuestionID reads the ID of a question. It fails, with kind Invalid,
// for any other text.
func ParseQuestionID(id string) (run string, at tool.Place, n int, err error) {
	invalid := value.Errorf(value.Invalid, "%q is not the ID of a question", value.Clean(id, 120)).WithHint("it reads RUN:STEP:N")
	parts := strings.Split(id, ":")
	if len(parts) != 3 || !journal.ValidID(parts[0]) {
		return "", nil, 0, invalid
	}
	if at, err = ParsePlace(parts[1]); err != nil {
		return "", nil, 0, err
	}
	if n, err = strconv.Atoi(parts[2]); err != nil || n < 1 || strconv.Itoa(n) != parts[2] {
		return "", nil, 0, invalid
	}
	return parts[0], at, n, nil
}
