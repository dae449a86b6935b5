package ollama

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// defaultContext bounds the context of a model if the options have none. Ollama advises 64k
// tokens for agents. More does not fit into the memory of ordinary machines: a model of 8
// billion parameters takes some 8 GB for them.
const defaultContext = 65_536

// A card is what the server knows about a model.
type card struct {
	context      int // tokens; 0 if the server does not report it
	capabilities []value.Value
	hosted       bool // it runs on ollama.com
}

func (c *card) can(capability string) bool {
	return slices.Contains(c.capabilities, value.Value(capability))
}

// show returns what the server knows about the model, or nil. It asks until it has succeeded
// once. It fails only where the next request would, too; the other failures of that request are
// retried.
// Source: https://docs.ollama.com/api/show
func (m *client) show(ctx context.Context) (*card, *wire.Failure) {
	if c := m.card.Load(); c != nil {
		return c, nil
	}
	d, f := m.w.Ask(ctx, &wire.Query{Path: "/api/show", Header: wire.Bearer(m.o.Key), Body: value.NewDict("model", m.o.Model),
		Retry: func(*wire.Failure) bool { return false }})
	switch {
	case f == nil:
	case ctx.Err() != nil, f.Slow, f.Status == 401, f.Status == 403:
		return nil, f
	default:
		return nil, nil
	}
	c := &card{hosted: d.Text("remote_host") != "", capabilities: d.Elements("capabilities")}
	for k, v := range wire.Child(d, "model_info").All() {
		name, _ := k.(string)
		if n, ok := v.(int64); ok && n > 0 && n < 1<<31 && strings.HasSuffix(name, ".context_length") {
			c.context = int(n)
		}
	}
	if len(c.capabilities) > 0 || c.context > 0 { // else the server does not have this API
		m.card.Store(c)
	}
	return c, nil
}

// context returns the num_ctx of requests.
func (m *client) context(c *card) int {
	switch {
	case m.o.Context > 0:
		return m.o.Context
	case m.fits.Load() > 0:
		return int(m.fits.Load())
	case c != nil && c.context > 0:
		return min(c.context, defaultContext)
	}
	return defaultContext
}

// minContext is the smallest context that is tried if memory is short. Below it, an agent with
// tools has no space to work.
const minContext = 8192

// noMemory reports whether the server has too little memory for the model with its context.
func noMemory(f *wire.Failure) bool {
	said := f.Err.Error()
	return f.Status == 500 && (strings.Contains(said, "more system memory") || strings.Contains(said, "out of memory") || strings.Contains(said, "cannot be allocated"))
}

// shrink halves the context after one of window tokens did not fit, and reports whether to ask
// again. A context of the options stays.
func (m *client) shrink(c *card, window int) bool {
	if m.o.Context > 0 || window/2 < minContext {
		return false
	}
	if m.context(c) == window { // else another request has done it
		m.fits.Store(int64(window / 2))
	}
	return true
}

// infoTimeout limits the request about a model, which a first answer waits for.
const infoTimeout = 5 * time.Second

// info returns the context that requests use. A model on the own machine costs nothing.
func (m *client) info(ctx context.Context) model.Info {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	c, _ := m.show(ctx)
	i := model.Info{Context: m.context(c)}
	if c != nil {
		i.Source = "server"
	}
	if m.o.Context > 0 {
		i.Source = "user"
	}
	if c != nil && len(c.capabilities) > 0 {
		i.Media = []string{}
		if c.can("vision") {
			i.Media = []string{"image/png", "image/jpeg", "image/webp"}
		}
	}
	if hosted := c != nil && c.hosted || isHosted(m.o.Model, m.w.Base); !hosted {
		i.Price = &model.Price{}
	}
	return i
}

// isHosted reports whether a model runs on ollama.com, which is not free.
func isHosted(name, base string) bool {
	return strings.HasSuffix(name, "-cloud") || strings.HasSuffix(name, ":cloud") || strings.HasPrefix(base, "https://ollama.com")
}

// maxShown is the number of models whose sizes [List] asks for: a request for each.
const maxShown = 100

// List returns the models of the server. Options.Model is not needed. The sizes and prices are
// those of the models that New returns.
// Source: https://docs.ollama.com/api/tags
func List(ctx context.Context, opts *Options) ([]model.Listing, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	m, err := connect(o)
	if err != nil {
		return nil, err
	}
	d, f := m.w.Ask(ctx, &wire.Query{Method: "GET", Path: "/api/tags", Header: wire.Bearer(o.Key)})
	if f != nil {
		return nil, f.Err
	}
	var list []model.Listing
	for i, one := range wire.Children(d, "models") {
		name := one.Text("name")
		if name == "" {
			name = one.Text("model")
		}
		l := model.Listing{Name: name}
		if i < maxShown {
			o.Model = name
			l.Info = (&client{o: o, w: m.w}).info(ctx)
		}
		list = append(list, l)
	}
	if ctx.Err() != nil {
		return nil, m.w.Ended(ctx, ctx.Err()).Err
	}
	return list, nil
}
