package meter

import (
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

// Ask asks a model with a price, which is nil if it is not known, and counts the request.
func (m *Meter) Ask(ctx context.Context, of model.Model, p *model.Price, r *model.Request) (*model.Reply, Usage, error) {
	if err := m.begin(of.Name(), p); err != nil {
		return nil, Usage{}, err
	}
	reply, err := of.Ask(ctx, r)
	u, err := m.measured(of, p, r, reply, err)
	return reply, u, err
}

// measured counts the reply of a model. It is separate so that a waiting agent does not carry
// its frame.
func (m *Meter) measured(of model.Model, p *model.Price, r *model.Request, reply *model.Reply, err error) (u Usage, _ error) {
	if err == nil && reply == nil {
		err = value.Errorf(value.Internal, "the model %s returned neither a reply nor an error", of.Name())
	}
	switch {
	case err == nil:
		u = Reported(reply.Usage, guess(r, reply), p)
	case errors.Is(err, model.ErrEmpty): // which has no usage
		u = Reported(model.Usage{}, guess(r, &model.Reply{}), p)
	default:
		m.done(nil)
		return u, err
	}
	m.done(&u)
	return u, err
}

// guess estimates the usage of a reply.
func guess(r *model.Request, reply *model.Reply) (u model.Usage) {
	if reply.Usage.InputTokens+reply.Usage.OutputTokens > 0 {
		return u
	}
	u.InputTokens = tool.EstimateTokens(r.System)
	for i := range r.Messages {
		u.InputTokens += tool.EstimateTokens(r.Messages[i].Text)
	}
	u.OutputTokens = tool.EstimateTokens(reply.Text)
	return u
}
