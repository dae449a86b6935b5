package model

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// WithIdleTimeout returns a model whose requests fail with an error of kind Timeout if
// no text arrives for the duration idle.
func WithIdleTimeout(m Model, idle time.Duration) Model { return &idleModel{m, idle} }

type idleModel struct {
	Model
	idle time.Duration
}

// Ask implements [Model].
func (m *idleModel) Ask(ctx context.Context, r *Request) (*Reply, error) {
	late := value.Errorf(value.Timeout, "no data from the model %s for %s (idle timeout)", m.Name(), m.idle).WithHint("ask for less at a time, or use a longer idle timeout")
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
