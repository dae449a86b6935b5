// Package openai asks models of OpenAI, and of servers with a compatible API.
//
// It uses one of two APIs: Responses, which current models of OpenAI need for tools
// (https://platform.openai.com/docs/api-reference/responses), and chat completions, which most
// compatible servers have (https://platform.openai.com/docs/api-reference/chat).
package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const defaultBase = "https://api.openai.com/v1"

// Options configure the connection to an OpenAI model, or to a server with a
// compatible API. Model is required.
type Options struct {
	Model   string
	BaseURL string // default https://api.openai.com/v1
	Key     string // "" for servers that require none
	// Auth is how the key is sent: AuthBearer, the default, AuthAzure or AuthKey.
	Auth model.Auth
	// API is the API: "responses" or "chat". The default is Responses for api.openai.com, and
	// chat completions for other servers until one refuses tools there and asks for Responses.
	API string
	// OldMaxTokens sends the limit of a reply as max_tokens, for servers that do not
	// support max_completion_tokens. It is ignored by Responses.
	OldMaxTokens bool
	// Plain says that the model does not support tools: calls are part of its text.
	Plain bool
	// Extra are further fields of each request, as the API documents them, such as service_tier, or provider
	// of OpenRouter.
	// They replace the fields of this package; objects are merged, lists joined, and nil removes
	// a field. See [model.CheckExtra] for those that it cannot have. It must not change after New.
	Extra   *value.Dict
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
}

// A client asks one model. What a server refuses is remembered, so that only the first requests
// are sent twice.
type client struct {
	o Options
	w *wire.Wire
	// responses says that Responses is used.
	responses atomic.Bool
	// These optional parts of a request are not sent to a server that has refused them.
	noSummary, noEncrypted, noSchema atomic.Bool
}

// New returns a model of OpenAI, or of a server with a compatible API. It fails with kind
// Invalid if the model is missing, or the key, the address or the API is invalid.
func New(opts *Options) (model.Model, error) {
	m, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(m.w, !m.o.Plain, m.ask, m.info), nil
}

func newClient(opts *Options) (*client, error) {
	m := &client{}
	if opts != nil {
		m.o = *opts
	}
	if m.o.Model == "" {
		return nil, wire.NoModel("openai", "gpt-5")
	}
	if !slices.Contains([]string{"", "responses", "chat"}, m.o.API) {
		return nil, value.Errorf(value.Invalid, "openai: unknown API %q", m.o.API).WithHint(`use "responses", "chat" or ""`)
	}
	var err error
	if m.o.Auth, err = wire.CheckAuth("openai", m.o.Auth, model.AuthBearer, model.AuthAzure, model.AuthKey); err != nil {
		return nil, err
	}
	if err := model.CheckExtra(m.o.Extra); err != nil {
		return nil, err
	}
	m.w, err = wire.New("openai:"+m.o.Model, cmp.Or(m.o.BaseURL, defaultBase), m.o.Key, m.o.KeyHint, m.o.HTTP)
	if err != nil {
		return nil, err
	}
	m.w.Instructs = m.at("api.openai.com") // the templates of many other models have one instruction
	m.w.Dialect = m.dialect()
	m.responses.Store(m.o.API == "responses" || m.o.API == "" && m.at("api.openai.com"))
	if !reasons(m.o.Model) {
		m.noSummary.Store(true)
		m.noEncrypted.Store(true)
	}
	return m, nil
}

// dialect is what the server accepts. The IDs of calls are longer in Responses than in chat completions;
// those of Mistral have nine letters and digits. Other servers took over the limit of tools.
func (m *client) dialect() wire.Dialect {
	d := wire.Dialect{Names: wire.Form{Also: "_-", Max: 64}, IDs: wire.Form{Also: "_-.:", Max: 64}, Tools: 128}
	switch {
	case m.o.API == "chat" && m.at("api.openai.com"):
		d.IDs.Max = 40
	case m.at("api.mistral.ai"):
		d.IDs = wire.Form{Max: 9, Exact: true}
	}
	return d
}

// at reports whether the server is a host or below it, as eu.api.openai.com is.
func (m *client) at(host string) bool { return isAt(m.w.Base, host) }

func isAt(base, host string) bool {
	_, rest, _ := strings.Cut(base, "://")
	name, _, _ := strings.Cut(rest, "/")
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	return name == host || strings.HasSuffix(name, "."+host)
}

// reasons reports whether a model may reason. The older ones refuse what concerns reasoning;
// this saves the requests to find out.
func reasons(name string) bool {
	return !slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-4"}, func(old string) bool { return strings.HasPrefix(name, old) })
}

func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	before := m.responses.Load()
	reply, f := m.adapting(ctx, r)
	if f != nil && m.o.API == "" && !before && wantsResponses(f) {
		reply, f = m.switched(ctx, r, f)
	}
	return reply, withoutTools(r, f)
}

// switched asks with Responses from now on, if the server has it.
func (m *client) switched(ctx context.Context, r *model.Request, refused *wire.Failure) (*model.Reply, *wire.Failure) {
	m.responses.Store(true)
	reply, f := m.adapting(ctx, r)
	if f != nil && (f.Status == 404 || f.Status == 405) {
		m.responses.Store(false)
		return nil, refused
	}
	return reply, f
}

// A known state is what is known about a server before a request. Other requests may learn more
// at the same time.
type known struct{ responses, noSummary, noEncrypted, noSchema bool }

func (m *client) known() known {
	return known{m.responses.Load(), m.noSummary.Load(), m.noEncrypted.Load(), m.noSchema.Load()}
}

// adapting asks, and asks again without a part of the request that the server has refused.
func (m *client) adapting(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	for {
		before, ask := m.known(), m.askChat
		if before.responses {
			ask = m.askResponses
		}
		reply, f := ask(ctx, r)
		if f == nil || !m.learns(before, r, f) {
			return reply, f
		}
	}
}

// learns reports whether a failure is about an optional part of the request that was not known
// to be refused.
func (m *client) learns(before known, r *model.Request, f *wire.Failure) bool {
	if f.Status != 400 && f.Status != 422 {
		return false
	}
	param, said := f.Body.Text("param"), strings.ToLower(wire.ErrorText(f.Body))
	if before.responses {
		switch {
		case strings.Contains(said, "encrypted content"), strings.HasPrefix(param, "include"):
			m.noEncrypted.Store(true)
			return !before.noEncrypted
		case param == "reasoning.summary", strings.Contains(said, "reasoning summar"), strings.Contains(said, "reasoning.summary"),
			r.Effort == "" && strings.HasPrefix(param, "reasoning"):
			m.noSummary.Store(true)
			return !before.noSummary
		}
	}
	// An invalid schema is an error of the caller; a server without schemas is asked in words.
	about := strings.Contains(said+param, "response_format") || strings.HasPrefix(param, "text.format") || strings.Contains(said, "json_schema")
	unknown := strings.Contains(said, "support") || strings.Contains(said, "unavailable") || strings.Contains(said, "unknown")
	if r.Schema == nil || !about || !unknown || strings.Contains(said, "invalid schema") {
		return false
	}
	m.noSchema.Store(true)
	return !before.noSchema
}

// wantsResponses reports whether chat completions refuses the tools of a model that needs
// Responses, as in "Function tools with reasoning_effort are not supported for gpt-5.6 in
// /v1/chat/completions. To use function tools, use /v1/responses …".
func wantsResponses(f *wire.Failure) bool {
	said := wire.ErrorText(f.Body)
	return f.Status == 400 && strings.Contains(said, "reasoning_effort") && strings.Contains(said, "/responses")
}

// noTools are what servers report if a model cannot call tools: Ollama, OpenRouter, vLLM,
// llama.cpp and others.
var noTools = []string{"does not support tools", "does not support tool", "doesn't support tool", "support tool use", "support function calling",
	"tools is not supported", "tools are not supported", "tool calling is not supported", "--enable-auto-tool-choice", "tools param requires"}

// withoutTools makes the failure of a model that cannot call tools clear.
func withoutTools(r *model.Request, f *wire.Failure) *wire.Failure {
	if f == nil || len(r.Tools) == 0 || f.Status < 400 || wantsResponses(f) {
		return f
	}
	said := strings.ToLower(f.Err.Message())
	if slices.ContainsFunc(noTools, func(words string) bool { return strings.Contains(said, words) }) {
		f.Err.Kind = value.Invalid // waiting does not help
		f.Err.Hint = "use --format pure_json, or a model that supports tools; in Go, set Options.Plain"
	}
	return f
}
