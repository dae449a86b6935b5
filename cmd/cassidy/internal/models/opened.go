package models

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An opened model has the name of its provider, also in its errors. An error of a connection
// names the proxy.
type opened struct {
	model.Model
	name  string // PROVIDER:MODEL
	proxy string // the environment variable of the proxy, or ""
}

// Name implements [model.Model].
func (m *opened) Name() string { return m.name }

// Info is for [model.InfoOf].
func (m *opened) Info(ctx context.Context) model.Info { return model.InfoOf(ctx, m.Model) }

// Ask implements [model.Model].
func (m *opened) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	own := *r
	if r.Notice != nil {
		own.Notice = func(n model.Notice) {
			n.Retry = m.named(n.Retry)
			r.Notice(n)
		}
	}
	reply, err := m.Model.Ask(ctx, &own)
	return reply, m.named(err)
}

// named returns an error with the name of the model, and with the proxy in its hint if that may
// be the reason.
func (m *opened) named(err error) error {
	e, ok := err.(*value.Error)
	if !ok {
		return err
	}
	own := *e
	if own.Op == m.Model.Name() {
		own.Op = m.name
	}
	own.Hint = withProxy(&own, m.proxy)
	return &own
}

// withProxy returns the hint of an error of a request that went through the proxy of an
// environment variable, or "".
func withProxy(e *value.Error, proxy string) string {
	if proxy == "" || e.Kind != value.Unavailable && e.Kind != value.Timeout {
		return e.Hint
	}
	hint := "the request went through the proxy in " + proxy + "; to connect directly, add the host to NO_PROXY"
	if e.Hint != "" {
		hint = e.Hint + "; " + hint
	}
	return hint
}
