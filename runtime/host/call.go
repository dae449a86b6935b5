package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Call makes a call of a tool: it looks up the tool, checks the arguments, asks for approval,
// executes the call and checks the result. Every error is a *[value.Error]; the [tool.Result]
// then contains it too, for readers of its JSON.
//
// With the context of an effect or of a handler in Go, the call is nested: it may do no more
// than the call that makes it and the callers of that.
func (h *Host) Call(ctx context.Context, c tool.Call, opts ...CallOption) (tool.Result, error) {
	if err := h.valid(); err != nil {
		return gate.Failed(err)
	}
	o, err := readOptions(opts)
	if err != nil {
		return gate.Failed(err)
	}
	above, done := h.gate.EnterCall(ctx, &c)
	defer done()
	switch {
	case above == nil:
	case o.inside() != nil:
		return gate.Failed(o.inside())
	default:
		return above.Below(c).Make(ctx)
	}
	if err := h.inflight.Enter(); err != nil {
		return gate.Failed(err)
	}
	defer h.inflight.Leave()
	if o.durable {
		j, err := h.journal()
		if err != nil {
			return gate.Failed(err)
		}
		if j.Elsewhere("") {
			id, err := h.BeginCall(ctx, c, opts...)
			if err != nil {
				return gate.Failed(err)
			}
			return h.awaitResult(ctx, id)
		}
		return durable{h, j, o.run}.make(ctx, c, o.narrow)
	}
	if h.gate.Middleware != nil { // a middleware may wait, and must end with the host
		var done func()
		ctx, done = h.inflight.Until(ctx)
		defer done()
	}
	return h.gate.NewRun(c.ID, h.tools(ctx), o.narrow).Within(ctx).Root(c).Make(ctx)
}

// Conversation returns a context for the calls of one conversation with a model, for a program that
// makes the calls of the model itself: each call that sends or runs something asks after an earlier
// call has read untrusted text. Package agent needs no such context. The calls of people and scripts,
// see [tool.Call].Caller, are not affected.
func (h *Host) Conversation(ctx context.Context) context.Context { return gate.Conversation(ctx) }

// A CallOption changes how one call is made.
type CallOption func(*callOptions)

type callOptions struct {
	durable bool
	run     string
	narrow  []tool.Rule
}

// readOptions applies options and checks their rules.
func readOptions(opts []CallOption) (callOptions, error) {
	if len(opts) == 0 {
		return callOptions{}, nil
	}
	var o callOptions
	for _, opt := range opts {
		opt(&o)
	}
	var err error
	o.narrow, err = rights.CheckNarrow(o.narrow)
	return o, err
}

// inside fails for options that a nested call cannot have.
func (o *callOptions) inside() error {
	switch {
	case o.durable:
		return value.Errorf(value.Invalid, "the option Durable is not supported in a nested call").WithHint("pass cassidy.Durable with the outermost call")
	case o.narrow != nil:
		return value.Errorf(value.Invalid, "the option Narrow is not supported in a nested call").WithHint("pass cassidy.Narrow with the outermost call")
	}
	return nil
}

// Narrow adds rules for one call and everything that it calls. They can deny or ask for
// something that is allowed otherwise. They are recorded with a durable call, and hold when
// it is resumed. A rule that allows is an error of kind Invalid, and so is Narrow for a nested
// call.
func Narrow(rules ...tool.Rule) CallOption {
	return func(o *callOptions) { o.narrow = append(o.narrow, rules...) }
}

// Durable records a call as the run with an ID; "" makes up an ID. The run survives the end of
// the process: [Host.Resume] continues it. If nobody answers a question, the run is parked
// and the call fails with kind [value.Parked]. The same call with the same ID continues the
// run or returns its result; another call with that ID fails with kind Conflict. A nested
// call is part of the run of its caller, and fails with kind Invalid if it is durable.
//
// A call of an unknown tool, or with wrong arguments, is not recorded; with [Middleware],
// which may change a call, it ends the run instead. Arguments of more than 8 MB are not
// recorded, and fail with kind Limit.
func Durable(runID string) CallOption {
	return func(o *callOptions) { o.durable, o.run = true, runID }
}
