package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A CallFunc makes a call. If it fails, the result contains the error too.
type CallFunc func(ctx context.Context, c *tool.Call) (tool.Result, error)

// A Middleware wraps the calls of a host: those of programs, scripts and models, nested calls,
// and the calls of a resumed run that the record does not answer. [New] calls it once. The
// function that it returns is called concurrently, in the order of [Options].Middleware, the
// first outermost.
//
// That function may change the tool, the arguments and the reasoning of a call, answer the
// call without next, and pass a context that is derived from its own. It cannot change the
// ID and the step of a call. In a resumed run it must make the same changes again. A panic is
// an error of kind Internal.
//
// It may call next several times, for example to retry; each time makes a new call. In a
// recorded run the call is made only once, and next returns the same result again. There next
// fails with kind Invalid for another call than the first one, and before that has returned.
type Middleware func(next CallFunc) CallFunc

// wrap sets the middleware of a host.
func (h *Host) wrap(list []Middleware) error {
	if len(list) == 0 {
		return nil
	}
	next := CallFunc(h.gate.Innermost)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == nil {
			return value.Errorf(value.Invalid, "Options.Middleware contains nil")
		}
		if next = list[i](next); next == nil {
			return value.Errorf(value.Invalid, "a middleware of Options.Middleware returned nil")
		}
	}
	h.gate.Middleware = next
	return nil
}

// An Executor carries out an effect that was admitted, granted and recorded. Wrap [Execute] to
// fake effects in tests, to trace them, or to carry them out elsewhere. An Executor is called
// concurrently. Its error is that of the effect; one without a kind is of kind Failed.
type Executor func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error)

// Execute is the default [Executor]: it calls f.Do.
func Execute(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	return f.Do(ctx, e, g)
}
