package meter

import (
	"cmp"
	"context"
	"errors"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Key is the key of the meter of a run in a context.
type Key struct{}

// With returns a context in which requests are counted by a meter.
func With(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, Key{}, m)
}

// Of returns the meter of a context, or nil.
func Of(ctx context.Context) *Meter {
	m, _ := ctx.Value(Key{}).(*Meter)
	return m
}

// Ask asks a model with a price, which is nil if it is not known, and counts the request. It waits
// while the requests in progress are expected to reach a ceiling of tokens or cost.
func (m *Meter) Ask(ctx context.Context, of model.Model, p *model.Price, r *model.Request) (*model.Reply, Usage, error) {
	x := m.expect(r, p)
	if err := m.begin(ctx, of.Name(), p, x); err != nil {
		return nil, Usage{}, err
	}
	reply, err := of.Ask(m.within(ctx), r)
	u, err := measured(of, p, r, reply, err)
	m.done(x, u)
	if u == nil {
		u = &Usage{}
	}
	return reply, *u, err
}

// measured returns the usage of the reply of a model, or nil if there is none. It is separate so
// that a waiting agent does not carry its frame.
func measured(of model.Model, p *model.Price, r *model.Request, reply *model.Reply, err error) (*Usage, error) {
	if err == nil && reply == nil {
		err = value.Errorf(value.Internal, "the model %s returned neither a reply nor an error", of.Name())
	}
	var u Usage
	switch {
	case err == nil:
		u = Reported(reply.Usage, guess(r, reply), p)
	case errors.Is(err, model.ErrEmpty): // which has no usage
		u = Reported(model.Usage{}, guess(r, &model.Reply{}), p)
	default:
		return nil, err
	}
	return &u, err
}

// askingKey is the key of the context of a request that has ceilings.
type askingKey struct{}

// within returns the context of a request. A request of the model itself, such as one that starts
// an agent, does not wait for it.
func (m *Meter) within(ctx context.Context) context.Context {
	if !m.bounded() {
		return ctx
	}
	return context.WithValue(ctx, askingKey{}, true)
}

// expectedOutput is the length of a reply that is expected if the request does not limit it, in
// tokens. Few replies of agents are longer.
const expectedOutput = 4096

// expect estimates what a request will use. It is zero if no ceiling needs it.
func (m *Meter) expect(r *model.Request, p *model.Price) (x amount) {
	if !m.bounded() {
		return x
	}
	u := model.Usage{InputTokens: input(r), OutputTokens: cmp.Or(r.MaxTokens, expectedOutput)}
	x.tokens = u.InputTokens + u.OutputTokens
	if p != nil {
		x.charge = p.Cost(u)
	}
	return x
}

// guess estimates the usage of a reply that does not report it.
func guess(r *model.Request, reply *model.Reply) (u model.Usage) {
	if reply.Usage.InputTokens+reply.Usage.OutputTokens > 0 {
		return u
	}
	return model.Usage{InputTokens: input(r), OutputTokens: tool.EstimateTokens(reply.Text) + callTokens(reply.Calls)}
}

// input estimates the tokens of a request, without its tools.
func input(r *model.Request) int {
	tokens := tool.EstimateTokens(r.System)
	for i := range r.Messages {
		tokens += tool.EstimateTokens(r.Messages[i].Text) + callTokens(r.Messages[i].Calls)
	}
	return tokens
}

func callTokens(calls []model.Call) (tokens int) {
	for i := range calls {
		tokens += tool.EstimateTokens(calls[i].Tool + calls[i].Raw)
		if calls[i].Args != nil {
			tokens += tool.EstimateTokens(value.FormatJSON(calls[i].Args, ""))
		}
	}
	return tokens
}
