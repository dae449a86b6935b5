package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lookTime is how long an answer waits for a run that looks at its files again.
const lookTime = 10 * time.Second

// listQuestions answers with the open questions of a run.
func (r *request) listQuestions() error {
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	list, err := r.questions(p, run)
	if err != nil {
		return err
	}
	return r.reply(http.StatusOK, value.NewDict("questions", list))
}

// questions returns the open questions of a run, as JSON has them.
func (r *request) questions(p *project, run *history.Run) (value.List, error) {
	open, err := r.openQuestions(p, run)
	return value.Map(open, func(q history.Asked) value.Value { return view(&q) }), err
}

// openQuestions returns the open questions of a run.
func (r *request) openQuestions(p *project, run *history.Run) ([]history.Asked, error) {
	j, err := p.op.Journal()
	if err != nil {
		return nil, err
	}
	return j.QuestionsOf(r.Context(), run)
}

// view returns a question as runs show --json prints it, with what an answer to it has to name.
func view(q *history.Asked) *value.Dict {
	d := describe.Question(q)
	d.Put("seen", seen(q))
	d.Put("rev", int64(q.Sent))
	return d
}

// seen returns the digest of what a person sees of a question.
func seen(q *history.Asked) string {
	asked := *q
	asked.Answer = nil
	sum := sha256.Sum256([]byte(describe.JSON(describe.Question(&asked))))
	return hex.EncodeToString(sum[:16])
}

// An answer is what a person answers, and what they had seen.
type answer struct {
	tool.Answer
	question string // its ID
	seen     string // of the question; "" is not compared
	rev      int64  // how many answers there were
}

// answerQuestion records an answer, and has the run continued.
func (r *request) answerQuestion() error {
	a, err := r.readAnswer()
	if err != nil {
		return err
	}
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	q, err := r.answer(p, run, a)
	if err != nil {
		return err
	}
	return r.reply(http.StatusOK, describe.Given(q))
}

// readAnswer reads the body of an answer.
func (r *request) readAnswer() (a answer, err error) {
	body, err := r.fields("yes", "value", "why", "args", "always", "done", "seen", "rev")
	if err != nil {
		return a, err
	}
	read := func(into func() error) {
		if err == nil {
			err = into()
		}
	}
	a.question = r.PathValue("qid")
	read(func() (err error) { a.Yes, err = typed[bool](body, "yes"); return err })
	read(func() (err error) { a.Always, err = typed[bool](body, "always"); return err })
	read(func() (err error) { a.Done, err = typed[bool](body, "done"); return err })
	read(func() (err error) { a.Why, err = typed[string](body, "why"); return err })
	read(func() (err error) { a.Args, err = typed[*value.Dict](body, "args"); return err })
	read(func() (err error) { a.seen, err = typed[string](body, "seen"); return err })
	read(func() (err error) { a.rev, err = typed[int64](body, "rev"); return err })
	yes, _ := body.Get("yes")
	a.Value, _ = body.Get("value")
	if err == nil && yes == nil && a.Value == nil && !a.Done { // null is not no
		err = value.Errorf(value.Invalid, "the answer is missing").WithHint(`send {"yes": true}, {"yes": false}, {"value": …} or {"done": true}`)
	}
	return a, err
}

// mayAnswer returns why a user may not answer a question of a run, or nil. It is the one rule of who answers, for the API
// and for pages.
func (s *Server) mayAnswer(u *User, run *history.Run, q *history.Asked, a *tool.Answer) error {
	switch {
	case u.Role < Approve:
		return value.Errorf(value.Denied, "the user '%s' with the role %s may not answer questions: it needs the role %s", u.Name, u.Role, Approve)
	case s.settings().forbidOwn && run.By() == u.Name:
		return value.Errorf(value.Denied, "the run '%s' was begun by '%s', who may not answer its questions", run.ID, u.Name).WithHint("somebody else has to answer")
	case u.Role < Admin && q.Kind == tool.QuestionUnknown:
		return value.Errorf(value.Denied, "whether an effect is repeated that may have happened is decided with the role %s", Admin)
	case u.Role < Admin && len(a.Rules) > 0:
		return value.Errorf(value.Denied, "rules are added with the role %s", Admin)
	}
	return nil
}

// AnswersOwn reports whether a user may answer the questions of runs that they began. A client that makes calls for
// somebody else must not be asked: see Unasked in the options of package runtime/mcp.
func (s *Server) AnswersOwn(u *User) bool { return u.Role >= Approve && !s.settings().forbidOwn }

// answer records the answer of the user to a question of a run, has the run continued, and returns the question
// with the answer. If the user has not seen the question as it is, or the answers before theirs, it fails with
// the question as it is now.
func (r *request) answer(p *project, run *history.Run, a answer) (*history.Asked, error) {
	q, err := r.openQuestion(p, run, a.question)
	if err != nil {
		return nil, err
	}
	if err := r.s.mayAnswer(r.user, run, q, &a.Answer); err != nil {
		return nil, r.refused(p.Name, run.ID, err)
	}
	if a.Yes && len(q.Changes) > 0 {
		if err := r.lookAgain(p, run, q); err != nil {
			return nil, err
		}
	}
	p.answering.Lock()
	defer p.answering.Unlock()
	if q, err = r.openQuestion(p, run, a.question); err != nil {
		return nil, err
	}
	a.By = r.user.Name
	given, err := q.Accepts(a.Answer)
	if err != nil {
		return nil, err
	}
	switch {
	case a.seen != "" && a.seen != seen(q):
		return nil, conflict(value.NewDict("question", view(q)), "the question has changed since you saw it", "look at it again, and send its new seen")
	case q.Answer != nil && sameAnswer(&q.Answer.Answer, &given): // the request was sent again
		return q, nil
	case a.rev != int64(q.Sent):
		return nil, conflict(value.NewDict("question", view(q)), answeredBy(q), "to answer otherwise, send its new rev")
	}
	err = p.Host.Answer(context.WithoutCancel(r.Context()), q.ID, a.Answer)
	if p.writes.tried(err); err != nil {
		return nil, err
	}
	q.Answer, q.Sent = &history.Answered{Answer: given, At: r.s.now()}, q.Sent+1
	d := Decision{Action: "answer", Project: p.Name, Run: run.ID, Question: q.ID, Answer: word(&given), Why: a.Why}
	for i := range given.Rules {
		d.Rules = append(d.Rules, given.Rules[i].String())
	}
	r.decided(d)
	p.inbox.changed(run.ID)
	p.lookSoon()
	return q, nil
}

// lookAgain has a parked run look at the files that a yes would change. If they are no longer what the person has seen, the
// run asks about other changes, and lookAgain fails with that question.
func (r *request) lookAgain(p *project, run *history.Run, q *history.Asked) error {
	next := p.jobs.next(run.ID)
	defer p.jobs.leave(run.ID, next)
	if run.State == history.Parked && p.jobs.take(run.ID) {
		select {
		case r.s.slots <- struct{}{}:
			go r.s.execute(context.WithoutCancel(r.Context()), p, run.ID, p.resume)
		default: // the gate looks again before it changes them
			p.jobs.done(run.ID, tool.Result{}, nil, r.s.now())
			return nil
		}
		late := time.NewTimer(lookTime)
		defer late.Stop()
		select {
		case <-next.done:
		case <-late.C:
		case <-r.Context().Done():
		}
	}
	list, err := r.openQuestions(p, run)
	if err != nil || slices.ContainsFunc(list, func(other history.Asked) bool { return other.ID == q.ID }) {
		return err
	}
	for i := range list {
		if now := &list[i]; now.Tool == q.Tool && len(now.Changes) > 0 {
			paths := strings.Join(value.Map(q.Changes, func(c tool.Change) string { return c.Path }), ", ")
			return conflict(value.NewDict("question", view(now)), "not approved: the files have changed since you saw the question: "+value.Clean(paths, 200), "look at the new changes, and answer the new question")
		}
	}
	return nil // whatever it became, it is not open
}

// word is an answer in one word.
func word(a *tool.Answer) string {
	switch {
	case a.Done:
		return "done"
	case a.Value != nil:
		return "value"
	case a.Yes:
		return "yes"
	}
	return "no"
}

// sameAnswer reports whether two answers are the same, of the same person.
func sameAnswer(a, b *tool.Answer) bool {
	x, errX := a.MarshalJSON()
	y, errY := b.MarshalJSON()
	return errX == nil && errY == nil && string(x) == string(y)
}

// answeredBy says who has answered a question.
func answeredBy(q *history.Asked) string {
	if q.Answer == nil {
		return "the question has no answer, but the request expects one"
	}
	text := "the question was answered: " + describe.AnswerText(q)
	if q.Answer.By != "" {
		text = q.Answer.By + " has answered the question: " + describe.AnswerText(q)
	}
	if q.Answer.Why != "" {
		text += " (" + q.Answer.Why + ")"
	}
	return text
}

// openQuestion returns an open question of a run. For one whose answer was used already, it fails with the question.
func (r *request) openQuestion(p *project, run *history.Run, id string) (*history.Asked, error) {
	open, err := r.openQuestions(p, run)
	if err != nil {
		return nil, err
	}
	for i := range open {
		if open[i].ID == id {
			return &open[i], nil
		}
	}
	for e, err := range p.op.Steps(r.Context(), run.ID) {
		if err != nil {
			continue // the rest can be read
		}
		for i := range e.Questions {
			if q := &e.Questions[i]; q.ID == id && q.Answer != nil {
				return nil, conflict(value.NewDict("question", describe.Question(q)), answeredBy(q), "the run has used the answer")
			} else if q.ID == id {
				return nil, value.Errorf(value.Conflict, "the question '%s' can no longer be answered", value.Clean(id, 120)).WithHint("list the open questions: GET /v1/runs/%s/questions", run.ID)
			}
		}
	}
	return nil, value.Errorf(value.NotFound, "the run '%s' has no question '%s'", run.ID, value.Clean(id, 120)).WithHint("list the open questions: GET /v1/runs/%s/questions", run.ID)
}
