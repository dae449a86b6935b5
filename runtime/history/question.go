package history

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Asked is a recorded question of a run.
type Asked struct {
	tool.Question               // its ID, Run, Step and Asked are set when it is recorded
	StepPath      tool.StepPath // the Step of the question
	N             int           // its number at its step, from 1; set when it is recorded
	// Data is also compared when the question is asked again; it may be nil.
	Data *value.Dict

	// Answer is the answer, or nil. While the question is open it can still be
	// corrected.
	Answer *Answered
	// Sent counts the answers that were sent while it is open, of which Answer is the last. Only
	// [Journal.Questions] sets it.
	Sent int
	// Spent reports that the effect was begun again after the answer was used: another
	// try needs another answer.
	Spent bool
}

// Answered is a recorded answer.
type Answered struct {
	tool.Answer
	At time.Time
}

// put sets the fields of a question that is being recorded. A question that was already
// shown keeps its time.
func (q *Asked) put(run string, n int, c clock) {
	if q.Asked.IsZero() {
		q.Asked = c.now()
	}
	q.identify(run, n, q.Asked)
}

// identify sets the fields that a question gets when it is recorded.
func (q *Asked) identify(run string, n int, at time.Time) {
	q.N, q.Asked = n, at
	q.Run, q.Step, q.ID = run, q.StepPath.String(), questionID(run, q.StepPath, n)
}

// questionID returns the ID of a question in a journal: RUN:STEP:N.
func questionID(run string, at tool.StepPath, n int) string {
	return run + ":" + answerKey(at, n)
}

// content returns the recorded part of a question: all fields that identify does not
// set.
func (q *Asked) content() *value.Dict {
	plain := q.Question
	plain.ID, plain.Run, plain.Step, plain.Asked = "", "", "", time.Time{}
	return plain.Dict()
}

// compared returns what a question is recognized by when it is asked again: all of its content but
// the rules that would answer it, as the user can change those meanwhile.
func (q *Asked) compared() *value.Dict {
	plain := *q
	plain.Rules, plain.NoRule, plain.Sources, plain.Each = nil, "", nil, false
	return plain.content()
}

// answerKind is the kind of answers in the inbox. Their key is STEP:N.
const answerKind = "answer"

func answerKey(at tool.StepPath, n int) string { return at.String() + ":" + strconv.Itoa(n) }

// value encodes the answer.
func (a *Answered) value() value.Value {
	d := value.NewDict("yes", a.Yes, "always", a.Always, "value", a.Value, "args", orNil(a.Args), "why", utf8Text(a.Why), "by", utf8Text(a.By), "at", nanos(a.At))
	if a.Done {
		d.Put("done", true)
	}
	a.PutRules(d)
	return d
}

func readAnswer(v value.Value) (*Answered, error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, errRecord
	}
	a := &Answered{At: moment(d.Int("at"))}
	a.Yes, a.Always, a.Why, a.By = d.Bool("yes"), d.Bool("always"), d.Text("why"), d.Text("by")
	a.Done = d.Bool("done")
	a.ReadRules(d)
	a.Value, _ = d.Get("value")
	args, _ := d.Get("args")
	a.Args, _ = args.(*value.Dict)
	return a, nil
}

// An answerForm is an answer as a message for the inbox.
type answerForm struct {
	Run, Key string
	Answer   value.Value
}

// body encodes the answer as a message for the inbox. It is not in the chain of the
// run's frames, so it has its own checksum, which covers the question too.
func (a *Answered) body(run, key string) ([]byte, error) {
	b, err := pack.Append(make([]byte, len(sum{})), &answerForm{run, key, a.value()})
	if err != nil {
		return nil, value.Errorf(value.Invalid, "encode the answer: %w", err)
	}
	return seal(b), nil
}

func openBody(m journal.Message, run string) (*Answered, error) {
	var f answerForm
	if err := unseal(m.Body, &f); err != nil {
		return nil, errChanged
	}
	if f.Run != run || f.Key != m.Key {
		return nil, errRecord
	}
	return readAnswer(f.Answer)
}

// Questions returns the open questions of a run, by step: those without an answer that
// the run has used. The Answer of a question is the last one that was sent, or nil. If
// the record or the inbox is damaged, it returns what can be read together with an
// error.
func (j *Journal) Questions(ctx context.Context, run string) ([]Asked, error) {
	open, lost, err := j.questions(ctx, run)
	return open, cmp.Or(lost, err)
}

// QuestionsOf is Questions for a run that was listed, which need not be found again.
func (j *Journal) QuestionsOf(ctx context.Context, r *Run) ([]Asked, error) {
	if r.num == 0 {
		return j.Questions(ctx, r.ID)
	}
	h, err := j.load(ctx, r.ID, r.num)
	if err != nil {
		return nil, err
	}
	open, lost, err := h.questions(j)
	return open, cmp.Or(lost, err)
}

// questions is Questions with the damage of the record apart from that of the inbox and other
// errors.
func (j *Journal) questions(ctx context.Context, run string) (open []Asked, lost, err error) {
	h, err := j.history(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	return h.questions(j)
}

func (h *history) questions(j *Journal) (open []Asked, lost, err error) {
	if lost = h.damage; h.head.state.Ended() {
		return nil, lost, nil
	}
	sent, err := h.answers()
	for _, s := range sorted(h.steps) {
		if !s.isOpen() {
			continue
		}
		e, damage := s.entry(&h.run, j.store)
		if damage != nil {
			lost = cmp.Or(lost, damage)
			continue
		}
		q := e.Questions[len(e.Questions)-1]
		key := answerKey(q.StepPath, q.N)
		q.Answer, q.Sent = sent[key], h.sent(key)
		open = append(open, q)
	}
	return open, lost, err
}

// answers returns the last answer in the inbox to each question, by key. An unreadable
// answer is an error, and replaces earlier ones.
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

// sent counts the answers in the inbox to a question.
func (h *history) sent(key string) (n int) {
	for _, m := range h.inbox {
		if m.Kind == answerKind && m.Key == key {
			n++
		}
	}
	return n
}

// Answer answers an open question of a run. Any process may call it: the run may be
// parked, or wait in another process. Until the run uses the answer it can be corrected
// by another one. Answer fails with NotFound if there is no such question, with Invalid
// for an answer of the wrong kind, and with Conflict if an answer was already used or the
// question has expired.
func (j *Journal) Answer(ctx context.Context, run string, at tool.StepPath, n int, given tool.Answer) error {
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
	q := &e.Questions[n-1]
	if !q.Expires.IsZero() && !j.clock.now().Before(q.Expires) {
		return value.Errorf(value.Conflict, "the question of run '%s' at step %q expired at %s", run, at.String(), q.Expires.Format(time.RFC3339)).
			WithHint("to continue without an answer: cassidy runs resume %s; in Go, call Host.Resume", run)
	}
	a, err := q.accepts(given)
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

// answerable returns why a question of the step cannot be answered, or nil. The step is
// nil if it has no records.
func (s *step) answerable(run *Run, at tool.StepPath, n int, ended bool) error {
	switch {
	case s == nil || n < 1 || n > s.questions || ended && n == s.questions && !s.answered:
		return value.Errorf(value.NotFound, "the run '%s' has no open question at step %q", run.ID, at.String()).WithHint("list the open questions: cassidy runs show %s; in Go, call Host.Waiting", run.ID)
	case n < s.questions:
		return value.Errorf(value.Conflict, "question %d of run '%s' at step %q was replaced by a newer one", n, run.ID, at.String()).
			WithHint("list the open questions: cassidy runs show %s; in Go, call Host.Waiting", run.ID)
	case !s.isOpen():
		return alreadyAnswered(run.ID, at)
	}
	return nil
}

func alreadyAnswered(run string, at tool.StepPath) error {
	return value.Errorf(value.Conflict, "the answer to the question of run '%s' at step %q was already used", run, at.String()).
		WithHint("list the open questions: cassidy runs show %s; in Go, call Host.Waiting", run)
}

// accepts returns an answer in its recorded form, without the time, or why it is
// invalid for the question.
func (q *Asked) accepts(given tool.Answer) (*Answered, error) {
	a, err := q.Accepts(given)
	if text, _ := a.Value.(string); err == nil && max(len(text), len(a.Why), len(a.By)) > inlineMost {
		err = value.Errorf(value.Limit, "an answer, its reason and its author may have at most %d KB each", inlineMost>>10)
	}
	return &Answered{Answer: a}, err
}

// Ask records a question and returns it as recorded. It is durable when Ask returns,
// and can be answered from then on. If an open question of an earlier process is asked
// again unchanged, it stays; any other question replaces the open one at its step.
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

// same returns the open question of an earlier process if it is the same as q; else
// nil.
func (l *Log) same(q *Asked) (*Asked, error) {
	entry, _, err := l.Recorded(q.StepPath)
	if err != nil {
		return nil, err
	}
	if same := entry.sameQuestion(q); same != nil && l.isOpen(same) {
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
	q.identify(l.run.ID, l.next(q.StepPath), l.j.clock.now())
	return q, err
}

// next returns the number of the next question at a step.
func (l *Log) next(at tool.StepPath) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.steps[at.String()]; s != nil {
		return s.questions + 1
	}
	return 1
}

// isOpen reports whether a recorded question is still open.
func (l *Log) isOpen(q *Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.steps[q.StepPath.String()]
	return s.isOpen() && s.questions == q.N
}

func (l *Log) ask(ctx context.Context, q Asked, durable bool) (Asked, error) {
	l.asking.Lock()
	defer l.asking.Unlock()
	q.put(l.run.ID, l.next(q.StepPath), l.j.clock)
	r := about(q.StepPath, l.j.store, l.j.clock)
	r.question(&q)
	return q, l.add(ctx, addition{kind: questionAsked, place: q.StepPath, durable: durable}, r)
}

// sameQuestion returns the last question at a step if it is the same as q, else nil.
func (e *Entry) sameQuestion(q *Asked) *Asked {
	if len(e.Questions) == 0 {
		return nil
	}
	last := &e.Questions[len(e.Questions)-1]
	if !value.Equal(last.compared(), q.compared()) || !value.Equal(last.Data.OrEmpty(), q.Data.OrEmpty()) {
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
	return l.use(ctx, q.StepPath, same.N, a)
}

// Answer uses and records the last answer that was sent to a question, or returns nil.
// A used answer cannot be corrected.
func (l *Log) Answer(ctx context.Context, at tool.StepPath, n int) (*Answered, error) {
	if err := l.closed(); err != nil { // before the answer is taken
		return nil, err
	}
	m, ok, err := l.j.store.Take(ctx, l.num.Load(), answerKind, answerKey(at, n))
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
func (l *Log) use(ctx context.Context, at tool.StepPath, n int, a *Answered) error {
	r := about(at, l.j.store, l.j.clock)
	r.answer(n, a)
	return l.add(ctx, addition{kind: questionAnswered, place: at, answers: n}, r)
}

// cancelKind is the kind of requests to cancel in the inbox.
const cancelKind = "cancel"

// cancelTries is how often Cancel checks whether a run is executed, if that changes.
const cancelTries = 3

// Cancel ends a run that is not executed. Otherwise it requests the executing process
// to end it; ended reports which. It fails with NotFound if there is no such run, and
// with Conflict if it has ended.
func (j *Journal) Cancel(ctx context.Context, run string) (ended bool, err error) {
	for range cancelTries {
		var l *Log
		if l, err = j.acquire(ctx, run); err == nil {
			err = l.cancel(ctx)
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
		// The executing process has released it, perhaps without seeing the request.
	}
	return false, err
}

// cancel ends a run that nothing executes.
func (l *Log) cancel(ctx context.Context) error {
	return l.End(ctx, "cancelled", tool.Outcome{}, value.Errorf(value.Canceled, "the run was cancelled"))
}

func (j *Journal) requestCancel(ctx context.Context, run string) error {
	num, err := j.find(ctx, run)
	if err == nil {
		_, err = j.store.Send(ctx, num, journal.Message{Kind: cancelKind})
	}
	return err
}

// CancelRequested reports whether somebody has asked to cancel the run. It renews the lease of the run if that is
// time, and fails with Conflict if it was lost.
func (l *Log) CancelRequested(ctx context.Context) (bool, error) {
	if err := l.renew(ctx); err != nil {
		return false, err
	}
	num := l.num.Load()
	if num == 0 {
		return false, nil // nobody knows the run yet
	}
	list, err := l.j.store.Inbox(ctx, num, 0)
	for _, m := range list {
		if m.Kind == cancelKind {
			return true, nil
		}
	}
	return false, err
}

// ParseQuestionID parses the ID of a question. Any other text is an error of kind
// Invalid.
func ParseQuestionID(id string) (run string, at tool.StepPath, n int, err error) {
	invalid := value.Errorf(value.Invalid, "invalid question ID %q", value.Clean(id, 120)).WithHint("write the ID as RUN:STEP:N")
	parts := strings.Split(id, ":")
	if len(parts) != 3 || !journal.ValidID(parts[0]) {
		return "", nil, 0, invalid
	}
	if at, err = ParseStepPath(parts[1]); err != nil {
		return "", nil, 0, err
	}
	if n, err = strconv.Atoi(parts[2]); err != nil || n < 1 || strconv.Itoa(n) != parts[2] {
		return "", nil, 0, invalid
	}
	return parts[0], at, n, nil
}
