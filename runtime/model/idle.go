package model

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// WithIdleTimeout returns a model whose requests fail with an error of kind Timeout if
// no data arrives for the duration idle. Models of this module report all data, also that of
// reasoning and of calls; others only text, see [Request]. With 0 it returns the model as it is.
func WithIdleTimeout(m Model, idle time.Duration) Model {
	if idle == 0 {
		return m
	}
	return &idleModel{m, idle}
}

type idleModel struct {
	Model
	idle time.Duration
}

// Info is for [InfoOf].
func (m *idleModel) Info(ctx context.Context) Info { return InfoOf(ctx, m.Model) }

// Ask implements [Model].
func (m *idleModel) Ask(ctx context.Context, r *Request) (*Reply, error) {
	late := value.Errorf(value.Timeout, "no data from the model %s for %s (idle timeout)", m.Name(), m.idle).
		WithHint("check that the server of the model works; to wait longer, add --timeout 30m; in Go, use a longer idle timeout").WithLimit(value.LimitHTTP)
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
	heard.Notice = func(n Notice) {
		timer.Reset(m.idle + n.Wait)
		if r.Notice != nil {
			r.Notice(n)
		}
	}
	reply, err := m.Model.Ask(ctx, &heard)
	if err != nil && context.Cause(ctx) == error(late) {
		return nil, late
	}
	return reply, err
}
