package gate

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

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
