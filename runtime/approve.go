package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Question asks somebody to approve a call, an effect of it, or the writes
// that it has staged.
type Question struct {
	Tool tool.Tool
	// Call is what would run, with its arguments and the reasoning of who asks.
	Call tool.Call
	// Place is where in the run the question comes up.
	Place tool.Place
	// Effect is what the call wants to do now, where the question is about one
	// effect; else nil.
	Effect *tool.Effect
	// Takes are the capabilities that a yes would let it use.
	Takes []tool.Capability
	// Changes are what a yes would do to files, where the call has run and its
	// writes wait for it.
	Changes []tool.Change
	// Why says what asks for it: the tool's own word, a capability, or a rule.
	// Where arguments that somebody gave in an [Answer] were not right, it says
	// what is wrong with them.
	Why string
}

// An Answer is what somebody says to a [Question]. The zero value is no.
type Answer struct {
	Yes bool
	// Always approves also what the same tool, unchanged, asks for of the same
	// kind later, for as long as the host lives: its calls and what they change,
	// or an effect of the same name that takes the same.
	Always bool
	// Args are arguments to run with in place of those of the call, where the
	// question is about a call that has not run; they are checked again, and if
	// they are not right the question comes back. Nil keeps them.
	Args *tool.Dict
	// Why is returned to who asked, where the answer is no; "" gives no reason.
	Why string
	// By names who answered, for the record; "" where that is not known.
	By string

	how string // why it was allowed, for the audit; "" means by this answer
}

// An Approve decides on what needs approval. It is called concurrently, see
// [Serial], while the clock of the call stands still. It must not wait for a call
// that asks again. An error approves nothing; one of kind [tool.Unanswered] or
// [tool.Parked] says that nobody answers, and a run that can wait then parks.
type Approve func(ctx context.Context, q Question) (Answer, error)

// Serial returns an [Approve] that puts one question at a time, for terminals. A
// question that a permanent answer to an earlier one covers is not put.
func Serial(approve Approve) Approve {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, q Question) (Answer, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
		defer func() { <-turn }()
		if asked, _ := ctx.Value(askingKey{}).(*inquiry); asked != nil && asked.of.run.approvals.has(asked.approval()) {
			return Answer{Yes: true, how: approvedBefore}, nil // since another question was answered
		}
		return approve(ctx, q)
	}
}

// ApproveAll approves everything that is asked: for programs whose tools are
// all their own.
func ApproveAll(context.Context, Question) (Answer, error) { return Answer{Yes: true}, nil }
