package gate

import (
	"context"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askGrace is how long a call whose context has ended waits for an Approver or Asker to
// return: their context has ended too.
const askGrace = 500 * time.Millisecond

// An askFunc is the Approve or the Ask of a host.
type askFunc func(ctx context.Context, q tool.Question) (tool.Answer, error)

// askOnce asks a question with ask. It returns soon after ctx has ended, even if ask does not; a later
// answer is dropped.
func askOnce(ctx context.Context, q tool.Question, ask askFunc) (tool.Answer, error) {
	if ctx.Err() != nil {
		return tool.Answer{}, context.Cause(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && (q.Expires.IsZero() || deadline.Before(q.Expires)) {
		q.Expires = deadline.UTC().Round(0)
	}
	type reply struct {
		answer tool.Answer
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
		r.answer, r.err = ask(ctx, q)
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
		return tool.Answer{}, context.Cause(ctx)
	}
	if r.err != nil {
		return tool.Answer{}, r.err
	}
	return q.Accepts(r.answer)
}

// answeredBy returns what answers the questions of a kind, for an error.
func answeredBy(k tool.QuestionKind) string {
	if k == tool.QuestionApproval {
		return "approver"
	}
	return "asker"
}

// unanswered reports whether an error means that nobody answers a question.
func unanswered(err error) bool {
	return errors.Is(err, value.ErrUnanswered) || errors.Is(err, value.ErrParked)
}
