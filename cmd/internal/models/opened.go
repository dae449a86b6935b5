package models

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An opened model has the name of its provider, also in its errors. An error of a connection
// names what to set.
type opened struct {
	model.Model
	name     string // PROVIDER:MODEL
	provider *provider
	proxy    string // the environment variable of the proxy, or ""
	longest  int    // tokens of a reply that the user's config allows, or 0
}

// Name implements [model.Model].
func (m *opened) Name() string { return m.name }

// Info is for [model.InfoOf].
func (m *opened) Info(ctx context.Context) model.Info { return model.InfoOf(ctx, m.Model) }

// Ask implements [model.Model].
func (m *opened) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	own := *r
	if m.longest > 0 && (own.MaxTokens == 0 || own.MaxTokens > m.longest) {
		own.MaxTokens = m.longest
	}
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
	own.Hint = m.provider.hint(&own, m.proxy)
	return &own
}

// hint returns the hint of an error of a request, which went through the proxy of an environment
// variable, or of none if that is "".
func (p *provider) hint(e *value.Error, proxy string) string {
	const directly = "; to connect directly, add the host to NO_PROXY"
	lost := e.Err != nil && strings.HasPrefix(e.Err.Error(), "connect to ")
	switch {
	case lost && proxy != "":
		return "check the network, and the proxy in " + proxy + directly
	case lost:
		return p.downHint()
	case proxy == "" || e.Kind != value.Unavailable && e.Kind != value.Timeout:
		return e.Hint
	}
	own := hint.For(e.Hint, hint.People)
	return strings.TrimPrefix(own+"; the request went through the proxy in "+proxy+directly, "; ")
}

// downHint is the hint for a server to which there is no connection.
func (p *provider) downHint() string {
	switch {
	case p.base != "":
		return "check that the server runs, and its address in " + p.at
	case p.api == "ollama":
		return "start the server with: ollama serve; for one on another machine, set OLLAMA_HOST"
	}
	return "check the network"
}
