package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Approver decides on what needs approval: questions of the kind
// [tool.QuestionApproval].
//
// Approve is called concurrently, see [Serial]. The timeout of the call does not include it.
// It must not wait for another call that needs approval. An error is a refusal, with
// the error as the reason. If errors.Is(err, [value.ErrUnanswered]) holds, a durable call is
// parked and any other call is denied. A panic is a refusal of kind Internal.
//
// Approve should return when ctx ends, which it does with the call. After that the call
// waits for a moment, and drops later answers.
type Approver interface {
	Approve(ctx context.Context, q tool.Question) (tool.Answer, error)
}

// An Asker answers the questions of scripts and of resumed runs: those of the kinds
// [tool.QuestionAsk], [tool.QuestionConfirm] and [tool.QuestionUnknown]. Ask is called like
// the Approve of an [Approver]. Its error becomes that of the effect that asks.
type Asker interface {
	Ask(ctx context.Context, q tool.Question) (tool.Answer, error)
}

// An ApproverFunc is a function as an [Approver].
type ApproverFunc func(ctx context.Context, q tool.Question) (tool.Answer, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, q tool.Question) (tool.Answer, error) {
	return f(ctx, q)
}

// An AskerFunc is a function as an [Asker].
type AskerFunc func(ctx context.Context, q tool.Question) (tool.Answer, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) { return f(ctx, q) }

// ApproveAll returns an [Approver] that approves everything, for programs whose tools are all
// trusted; but no notes for later conversations (memory.add), which need a rule or another
// Approver. A run that was begun with it keeps that approval: when it is resumed, only
// [DenyAll] is asked instead.
func ApproveAll() Approver { return fixed{tool.Answer{Yes: true}} }

// DenyAll returns an [Approver] that refuses everything, with a reason.
func DenyAll(why string) Approver { return fixed{tool.Answer{Why: why}} }

// A fixed approver gives the same answer to everything.
type fixed struct{ answer tool.Answer }

// Approve implements [Approver].
func (f fixed) Approve(_ context.Context, q tool.Question) (tool.Answer, error) {
	if f.answer.Yes && gate.IsNote(&q) {
		return tool.Answer{Why: "a person or a rule must approve a note"}, nil
	}
	return f.answer, nil
}

// approved returns the options of a run that the host begins.
func (o *Options) approved(options *value.Dict) *value.Dict {
	if f, _ := o.Approver.(fixed); f.answer.Yes {
		return rights.Approved(options)
	}
	return options
}

// resumesApproved reports whether everything is approved in a run with these options.
func (o *Options) resumesApproved(options *value.Dict) bool {
	f, isFixed := o.Approver.(fixed)
	return rights.IsApproved(options) && (!isFixed || f.answer.Yes)
}

// Serial returns an [Approver] that asks a one question at a time, for terminals. It does not
// ask a question that a permanent answer to an earlier one covers. Serial(nil) is nil.
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

func (s *serial) Approve(ctx context.Context, q tool.Question) (tool.Answer, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if gate.Approved(ctx) {
		return tool.Answer{Yes: true}, nil // by the answer to another question
	}
	answer, err := s.of.Approve(ctx, q)
	if err == nil {
		gate.NoteAnswer(ctx, &answer) // before the next question has its turn
	}
	return answer, err
}

// AskedCall returns the call that a question is about, and its tool. ctx is the context that an
// [Approver] or [Asker] gets; for any other, ok is false. It is for showing more than the
// question contains, such as the caller. The arguments that the host fills in are left out.
func AskedCall(ctx context.Context) (t toolset.Info, c tool.Call, ok bool) {
	of, c, ok := gate.AskedCall(ctx)
	if !ok {
		return t, c, false
	}
	standing := toolset.Standing{Location: of.Location, Path: of.Path, Hash: of.Hash, State: toolset.Ready, Granted: of.Granted}
	return toolset.Info{Tool: *of.Tool, Standing: standing}, c, true
}

// AskedRules returns the narrowest rules with which the question of the context of an
// [Approver] would not be asked: they name the tool, and exactly what it uses. It is nil if no
// rule can answer the question, as when a rule of the user asks each time.
func AskedRules(ctx context.Context) []tool.Rule { return gate.AskedRules(ctx) }
