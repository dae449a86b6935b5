package gate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askingKey is the key of the *asking in the context of a question.
type askingKey struct{}

// An asking is a question while somebody is asked.
type asking struct {
	tool    *Callee
	call    tool.Call
	inquiry *inquiry    // nil for a question that is not about approval
	covered atomic.Bool // a permanent answer to another question covers it
}

// Approved reports whether a permanent answer covers the question of a context now.
func Approved(ctx context.Context) bool {
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a == nil || a.inquiry == nil || !a.inquiry.of.Run.approvals.Has(a.inquiry.approval()) {
		return false
	}
	a.covered.Store(true)
	return true
}

// NoteAnswer keeps the answer to the question of a context, if it is permanent, before the
// call itself gets it.
func NoteAnswer(ctx context.Context, given *tool.Answer) {
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a != nil && a.inquiry != nil && given.Yes && given.Always && given.Args == nil {
		a.inquiry.of.Run.approvals.Wider().Add(a.inquiry.approval())
	}
}

// AskedCall returns the call that the question of a context is about.
func AskedCall(ctx context.Context) (t *Callee, c tool.Call, ok bool) {
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a == nil {
		return nil, c, false
	}
	return a.tool, a.call, true
}

// AskedRules returns the narrowest rules that would answer the question of a context, or nil
// if none would.
func AskedRules(ctx context.Context) []tool.Rule {
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a == nil || a.inquiry == nil {
		return nil
	}
	return a.inquiry.rules()
}

// put asks the question with ask, see [askOnce].
func (a *asking) put(ctx context.Context, q tool.Question, ask askFunc) (tool.Answer, error) {
	return askOnce(context.WithValue(ctx, askingKey{}, a), q, ask)
}

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

// expiry returns when a question that can be answered for a timeout expires, or zero if the
// timeout is 0. open is the same question as an earlier process has asked it, or nil: a
// resumed run does not wait longer. The question whether to repeat an effect never expires.
func expiry(kind tool.QuestionKind, open *history.Asked, timeout time.Duration, now time.Time) time.Time {
	switch {
	case open != nil:
		return open.Expires
	case timeout == 0 || kind == tool.QuestionUnknown:
		return time.Time{}
	}
	return now.Add(timeout).UTC().Round(0)
}

// expired returns the error of a question that nobody has answered in time, or nil.
func expired(q *tool.Question, now time.Time) error {
	if q.Expires.IsZero() || now.Before(q.Expires) {
		return nil
	}
	return errExpired(q)
}

// untilExpiry returns a context that ends when a question expires, with the error of
// [expired] as its cause.
func untilExpiry(ctx context.Context, q *tool.Question, now time.Time) (context.Context, context.CancelFunc) {
	if q.Expires.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, time.Now().Add(q.Expires.Sub(now)), errExpired(q))
}

func errExpired(q *tool.Question) *value.Error {
	return value.Errorf(value.Timeout, "no answer by %s: %s", q.Expires.Format(time.RFC3339), q.Text).WithLimit(reasonQuestion)
}
