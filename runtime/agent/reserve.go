package agent

import (
	"context"
	"sync/atomic"
)

// A reservation is what is known of a sub-agent before the call that starts it.
type reservation struct {
	number int
	model  string
	taken  atomic.Bool
}

type reservationKey struct{}

// reserve returns a context for the call that starts a sub-agent with a number and a model. "" is
// the model of the caller.
func reserve(ctx context.Context, number int, model string) context.Context {
	return context.WithValue(ctx, reservationKey{}, &reservation{number: number, model: model})
}

// reserved returns the number and the model of the sub-agent that is started with a context, once:
// agents that this one starts have others. The number is 0 if none is reserved.
func reserved(ctx context.Context) (number int, model string) {
	if r, ok := ctx.Value(reservationKey{}).(*reservation); ok && !r.taken.Swap(true) {
		return r.number, r.model
	}
	return 0, ""
}

// outside returns a context that ends with ctx, but has none of its values: what is done with it is
// not a part of a run.
func outside(ctx context.Context) context.Context { return outsideContext{ctx} }

type outsideContext struct{ context.Context }

// Value implements [context.Context].
func (outsideContext) Value(any) any { return nil }
