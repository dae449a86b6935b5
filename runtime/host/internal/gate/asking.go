package gate

import (
	"context"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/tool"
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
	if a == nil || a.inquiry == nil || !a.inquiry.of.Run.approvals.Has(a.inquiry.Approval()) {
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
		a.inquiry.of.Run.approvals.Wider().Add(a.inquiry.Approval())
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
	return a.inquiry.Rules(&a.inquiry.of.rights)
}

// put asks the question with ask, see [askOnce].
func (a *asking) put(ctx context.Context, q tool.Question, ask askFunc) (tool.Answer, error) {
	return askOnce(context.WithValue(ctx, askingKey{}, a), q, ask)
}
