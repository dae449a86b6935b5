package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Question and Answer are the same wherever a question comes up; see
// [tool.Question].
type (
	Question = tool.Question
	Answer   = tool.Answer
)

// An Approver decides on what needs approval: questions of the kind
// [tool.QuestionApproval].
//
// Approve is called concurrently, see [Serial], while the clock of the call
// stands still. It must not wait for a call that asks again. An error approves
// nothing and is the reason of the refusal. One for which errors.Is(err,
// [value.ErrUnanswered]) holds parks a durable call, and denies another. A panic
// is a refusal of kind Internal.
//
// Approve should return when ctx ends, which it does with the call. The call does
// not wait for it for more than a second then, and the answer is lost.
type Approver interface {
	Approve(ctx context.Context, q Question) (Answer, error)
}

// An Asker answers what scripts and resumed runs ask: questions of the kinds
// [tool.QuestionAsk], [tool.QuestionConfirm] and [tool.QuestionUnknown]. What
// holds for an [Approver] holds for it. An error is that of the effect that asks.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// An ApproverFunc is a function as an [Approver].
type ApproverFunc func(ctx context.Context, q Question) (Answer, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }

// An AskerFunc is a function as an [Asker].
type AskerFunc func(ctx context.Context, q Question) (Answer, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }

// ApproveAll returns an [Approver] that approves everything: for programs whose
// tools are all their own.
func ApproveAll() Approver {
	return ApproverFunc(func(context.Context, Question) (Answer, error) { return Answer{Yes: true}, nil })
}

// Serial returns an [Approver] that asks a one question at a time, for terminals.
// A question that a permanent answer to an earlier one covers is not asked. Of
// nil it returns nil.
func Serial(a Approver) Approver {
	if a == nil {
		return nil
	}
	return &serial{turn: make(chan struct{}, 1), of: a}
}

type serial struct {
	turn chan struct{} // held while a question is open
	of   Approver
}

func (s *serial) Approve(ctx context.Context, q Question) (Answer, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	asked, _ := ctx.Value(askingKey{}).(*asking)
	if asked.approved() {
		return Answer{Yes: true}, nil // since another question was answered
	}
	answer, err := s.of.Approve(ctx, q)
	if err == nil {
		asked.answered(&answer) // before the next question has its turn
	}
	return answer, err
}

// askingKey marks the context in which a question is put, with its *asking.
type askingKey struct{}

// asking is a question while it is put.
type asking struct {
	tool    *tool.Tool
	call    tool.Call
	inquiry *inquiry // nil where it is not about approval
	covered atomic.Bool
}

// answered notes a permanent yes.
func (a *asking) answered(answer *Answer) {
	if a == nil || a.inquiry == nil || !answer.Yes || !answer.Always || answer.Args != nil {
		return
	}
	a.inquiry.of.run.approvals.wider().add(a.inquiry.approval())
}

// approved reports whether a permanent answer covers the question now.
func (a *asking) approved() bool {
	if a == nil || a.inquiry == nil || !a.inquiry.of.run.approvals.has(a.inquiry.approval()) {
		return false
	}
	a.covered.Store(true)
	return true
}

// AskedCall returns the call that a question is about, with its tool, in the
// context that an [Approver] or [Asker] gets: for those who show more of it than
// the question has, such as who makes the call. The arguments that the host fills
// in are left out. ok is false in any other context.
func AskedCall(ctx context.Context) (t tool.Tool, c tool.Call, ok bool) {
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a == nil {
		return t, c, false
	}
	return *a.tool, a.call, true
}

// askGrace is how long a call whose context has ended waits for who is asked, for
// whom that ends too.
const askGrace = 500 * time.Millisecond

// put asks an [Approver] or [Asker]. It returns soon after ctx has ended, whatever
// that does; what comes later is lost.
func (a *asking) put(ctx context.Context, q Question, ask func(context.Context, Question) (Answer, error)) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok {
		q.Expires = deadline.UTC().Round(0)
	}
	type reply struct {
		answer Answer
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		var r reply
		defer func() {
			if p := recover(); p != nil {
				r = reply{err: value.Errorf(value.Internal, "the %s panicked: %v", answeredBy(q.Kind), p)}
			}
			replies <- r
		}()
		r.answer, r.err = ask(context.WithValue(ctx, askingKey{}, a), q)
	}()
	var r reply
	select {
	case r = <-replies:
	case <-ctx.Done():
		grace := time.NewTimer(askGrace)
		defer grace.Stop()
		select {
		case r = <-replies:
		case <-grace.C:
		}
	}
	if ended := ctx.Err(); ended != nil && (r.err == nil || unanswered(r.err) || errors.Is(r.err, ended)) {
		return Answer{}, context.Cause(ctx)
	}
	if r.err != nil {
		return Answer{}, r.err
	}
	return q.Accepts(r.answer)
}

// answeredBy names who is asked a question of a kind.
func answeredBy(k tool.QuestionKind) string {
	if k == tool.QuestionApproval {
		return "approver"
	}
	return "asker"
}
