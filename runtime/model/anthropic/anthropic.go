// Package anthropic asks models of Anthropic.
//
// Source: https://platform.claude.com/docs/en/api/messages
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// Version is the default version of the Messages API. It has no sampling
	// parameters: Request.Temperature is ignored.
	Version = "2026-10-21"
	// Version2023 is the version for older gateways. Models up to 4.6 take a temperature.
	Version2023 = "2023-06-01"
	// mostPauses is how often a turn is continued that the API has paused.
	mostPauses = 8
)

// Options configure the connection to a model of Anthropic. Model is required.
type Options struct {
	Model   string
	BaseURL string // without /v1; default https://api.anthropic.com
	Key     string
	Auth    model.Auth // AuthAuto, the default, AuthKey or AuthBearer
	Version string     // of the API; default Version
	// MaxTokens is the limit of a reply if the request has none. The default is what the model
	// can write, at most 64,000 and a quarter of its context, or 16,000 if it is not known.
	MaxTokens int
	// Strict are the names of the tools whose arguments the API guarantees. It accepts 20, with
	// schemas that it can enforce, and is slower when it sees a schema for the first time.
	Strict  []string
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
	// Extra are further fields of each request, as the API documents them, such as metadata.
	// They replace the fields of this package; objects are merged, lists joined, and nil removes
	// a field. See [model.CheckExtra] for those that it cannot have. It must not change after New.
	// What is in beta also needs the header anthropic-beta, see [model.HTTP].
	Extra *value.Dict
}

type client struct {
	o      Options
	w      *wire.Wire
	family family
	bearer atomic.Bool // the key is sent as a bearer token
}

// New returns a model of Anthropic's Messages API. It fails if the model is
// missing, or the key or the address is invalid.
func New(opts *Options) (model.Model, error) {
	if opts == nil || opts.Model == "" {
		return nil, wire.NoModel("anthropic", "claude-sonnet-5-5")
	}
	m, err := connect(opts, "anthropic:"+opts.Model)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(m.w, true, m.ask, m.lookUp), nil
}

// connect returns a client whose errors begin with a name.
func connect(opts *Options, name string) (*client, error) {
	o := *opts
	auth, err := wire.CheckAuth("anthropic", o.Auth, model.AuthAuto, model.AuthKey, model.AuthBearer)
	if err != nil {
		return nil, err
	}
	o.Auth = auth
	if err := model.CheckExtra(o.Extra); err != nil {
		return nil, err
	}
	o.Version = cmp.Or(o.Version, Version)
	o.MaxTokens = cmp.Or(o.MaxTokens, defaultLength(catalog.Find("anthropic", plainName(o.Model))))
	base := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1") // some users add it
	w, err := wire.New(name, cmp.Or(base, "https://api.anthropic.com"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	m := &client{o: o, w: w, family: familyOf(o.Model)}
	m.bearer.Store(o.Auth == model.AuthBearer)
	w.Instructs = m.family.system
	w.Dialect = dialect()
	return m, nil
}

// dialect is what the API accepts: its errors state these patterns.
func dialect() wire.Dialect {
	return wire.Dialect{Names: wire.Form{Also: "_-", Max: 128}, IDs: wire.Form{Also: "_-", Max: 128}, Keys: wire.Form{Also: "_.-", Max: 64}}
}

// defaultLength returns the default limit of a model's reply, in tokens.
func defaultLength(known model.Info) int {
	if known.MaxOutput == 0 {
		return defaultMaxTokens
	}
	return min(known.MaxOutput, mostMaxTokens, cmp.Or(known.Context/4, mostMaxTokens))
}

// authorized sends a request. If the key is refused in its header, it is sent as a bearer token
// from then on, if that works: the vendor's own clients do so since the version 2026-10-21, while
// gateways may know only the header.
func (m *client) authorized(send func() *wire.Failure) *wire.Failure {
	was := m.bearer.Load()
	f := send()
	if f == nil || f.Status != 401 || m.o.Auth != model.AuthAuto || m.o.Key == "" || was {
		return f
	}
	m.bearer.Store(true)
	other := send()
	if other != nil && other.Status == 401 {
		m.bearer.Store(false)
		return f
	}
	return other
}

// ask sends a request, and once more with each fix that the server's answer calls for.
func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	fix := fixOf(r.Messages)
	for {
		var reply *model.Reply
		f := m.authorized(func() (f *wire.Failure) {
			reply, f = m.complete(ctx, r, fix)
			return f
		})
		next, again := fix.after(f, r.Schema != nil)
		if again {
			if r.Notice != nil {
				r.Notice(model.Notice{Retry: f.Err})
			}
			fix = next
			continue
		}
		return reply, f
	}
}

// complete asks for a reply, in several parts if the API pauses.
func (m *client) complete(ctx context.Context, r *model.Request, fix fix) (*model.Reply, *wire.Failure) {
	fix = m.family.suited(fix, r.Effort)
	body, prefix, f := m.body(r, fix)
	if f != nil {
		return nil, f
	}
	var done turn
	for part := 0; ; part++ {
		var next turn
		q := &wire.Query{Path: "/v1/messages", Header: m.header(fix), Body: done.continued(body), Stream: m.streams(r)}
		reply, f := m.w.Reply(ctx, done.heard(r), q, func(res *wire.Response) (*model.Reply, *wire.Failure) {
			s := &reader{Draft: wire.Draft{W: m.w, OnText: r.Text}, turn: done}
			reply, f := s.read(res)
			if f == nil {
				next = s.turn
				reply.Opaque = (&kept{blocks: next.blocks, prefix: prefix, fix: fix}).opaque()
			}
			return reply, f
		})
		if f != nil || !next.paused || part == mostPauses {
			return reply, f
		}
		done, done.paused = next, false
	}
}

func (m *client) header(fix fix) http.Header {
	auth := model.AuthKey
	if m.bearer.Load() {
		auth = model.AuthBearer
	}
	h := wire.KeyHeader(auth, m.o.Key)
	if h == nil { // for a gateway that has its own key
		h = http.Header{}
	}
	h.Set("Anthropic-Version", m.o.Version)
	betas := slices.Clip(m.o.HTTP.Header.Values("Anthropic-Beta"))
	if fix.drop {
		betas = append(betas, dropBeta)
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}

// failureIn returns the failure in an event or a body.
func failureIn(w *wire.Wire, body *value.Dict) *wire.Failure {
	e := wire.Child(body, "error")
	if e == nil && body.Text("type") != "error" {
		return nil
	}
	status := 500
	switch e.Text("type") {
	case "invalid_request_error":
		status = 400
	case "authentication_error":
		status = 401
	case "billing_error":
		status = 402
	case "permission_error":
		status = 403
	case "not_found_error":
		status = 404
	case "request_too_large":
		status = 413
	case "rate_limit_error":
		status = 429
	case "timeout_error":
		status = 504
	case "overloaded_error":
		status = 529
	}
	return w.FailStatus(status, w.Short(wire.ErrorText(body)+" ("+e.Text("type")+")"))
}
