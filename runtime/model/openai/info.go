package openai

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// infoTimeout limits the requests about a model, which a first answer waits for.
const infoTimeout = 3 * time.Second

// List returns the models of a server, sorted by name. OpenAI reports only their names; the rest
// is from the table of well-known models. Options.Model is ignored.
func List(ctx context.Context, opts *Options) ([]model.Listing, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.Model = cmp.Or(o.Model, "models")
	m, err := newClient(&o)
	if err != nil {
		return nil, err
	}
	models, f := m.models(ctx, wire.Stateless)
	if f != nil {
		return nil, f.Err
	}
	var list []model.Listing
	for _, d := range models {
		l := model.Listing{Name: d.Text("id"), Info: infoOf(d)}
		if m.at("api.openai.com") {
			l.Info = catalog.Find("openai", l.Name)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b model.Listing) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// models returns what the server reports about its models.
func (m *client) models(ctx context.Context, retry func(*wire.Failure) bool) ([]*value.Dict, *wire.Failure) {
	d, f := m.w.Ask(ctx, &wire.Query{Method: "GET", Path: "/models", Header: wire.KeyHeader(m.o.Auth, m.o.Key), Retry: retry})
	if f != nil {
		return nil, f
	}
	if f := m.w.FailIn(d); f != nil {
		return nil, f
	}
	return wire.Children(d, "data"), nil
}

// info returns what is known about the model: from the table for OpenAI, which does not report
// it, and from other servers. Their failures are ignored: the rest is unknown.
func (m *client) info(ctx context.Context) model.Info {
	if m.at("api.openai.com") {
		return catalog.Find("openai", m.o.Model)
	}
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	once := func(*wire.Failure) bool { return false }
	var info model.Info
	models, _ := m.models(ctx, once)
	for _, d := range models {
		if d.Text("id") == m.o.Model {
			info = infoOf(d)
		}
	}
	if info.Context == 0 {
		root := *m.w // llama.cpp reports the context with which it was started
		root.Base = strings.TrimSuffix(root.Base, "/v1")
		props, _ := root.Ask(ctx, &wire.Query{Method: "GET", Path: "/props", Header: wire.KeyHeader(m.o.Auth, m.o.Key), Retry: once})
		if n := cmp.Or(wire.Child(props, "default_generation_settings").Int("n_ctx"), props.Int("n_ctx")); n > 0 {
			info.Context, info.Source = int(n), "server"
		}
	}
	return info
}

// infoOf reads one model of a list: of OpenRouter (context_length, pricing), vLLM
// (max_model_len), Groq (context_window) or Mistral (max_context_length).
func infoOf(d *value.Dict) model.Info {
	top := wire.Child(d, "top_provider")
	info := model.Info{
		Context:   int(max(0, cmp.Or(top.Int("context_length"), d.Int("context_length"), d.Int("max_model_len"), d.Int("context_window"), d.Int("max_context_length")))),
		MaxOutput: int(max(0, cmp.Or(top.Int("max_completion_tokens"), d.Int("max_completion_tokens")))),
		Price:     priceOf(wire.Child(d, "pricing")),
	}
	for _, kind := range wire.Child(d, "architecture").Elements("input_modalities") {
		switch kind {
		case "image":
			info.Media = append(info.Media, "image/*")
		case "file":
			info.Media = append(info.Media, pdfType)
		}
	}
	if info.Context > 0 || info.Price != nil {
		info.Source = "server"
	}
	return info
}

// priceOf reads the prices of OpenRouter: texts with US dollars for a token.
func priceOf(d *value.Dict) *model.Price {
	amount := func(name string) float64 {
		f, err := strconv.ParseFloat(d.Text(name), 64)
		if err != nil || !(f > 0) || f > 1 {
			return 0
		}
		return f * 1e6
	}
	if d.Text("prompt") == "" || d.Text("completion") == "" || strings.HasPrefix(d.Text("prompt"), "-") {
		return nil
	}
	return &model.Price{Input: amount("prompt"), Output: amount("completion"), CachedInput: amount("input_cache_read"), CacheWrite: amount("input_cache_write")}
}
