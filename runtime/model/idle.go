package model

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// WithIdleTimeout returns a model that is given up with an error of kind Timeout
// once it has sent no piece of text for a time.
func WithIdleTimeout(m Model, idle time.Duration) Model { return &idleModel{m, idle} }

type idleModel struct {
	Model
	idle time.Duration
}

// Ask implements [Model].
func (m *idleModel) Ask(ctx context.Context, r *Request) (*Reply, error) {
	late := value.Errorf(value.Timeout, "the model %s has said nothing for %s", m.Name(), m.idle).WithHint("--timeout gives it more time")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(m.idle, func() { cancel(late) })
	defer timer.Stop()
	heard := *r
	if r.Text != nil {
		heard.Text = func(piece string) {
			timer.Reset(m.idle)
			r.Text(piece)
		}
	}
	reply, err := m.Model.Ask(ctx, &heard)
	if err != nil && context.Cause(ctx) == error(late) {
		return nil, late
	}
	return reply, err
}
