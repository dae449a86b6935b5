package model

import (
	"cmp"
	"context"
)

// Info is what is known about a model. A field that is not known is zero.
type Info struct {
	Context   int      // tokens of a conversation with its reply
	MaxOutput int      // tokens of a reply
	MaxTools  int      // tools of a request
	Threads   bool     // the API keeps conversations, which have an ID: see [Request].Thread
	Media     []string // MIME types that it can read, such as "image/png" or "image/*"
	Price     *Price
	// Source says where the sizes are from: "server", "table", "user", or "".
	Source string
}

// A Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Output           float64
	CachedInput, CacheWrite float64 // of input that is read from or written to a cache; 0 is as Input
	// Tiers are the prices of requests with a longer input, the shortest first.
	Tiers []Tier
}

// A Tier is the price of requests with more than Above tokens of input.
type Tier struct {
	Above                                  int
	Input, Output, CachedInput, CacheWrite float64
}

// Cost returns the price of one request, in US dollars.
func (p *Price) Cost(u Usage) float64 {
	t := Tier{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if u.InputTokens > tier.Above {
			t = tier
		}
	}
	plain := max(0, u.InputTokens-u.CachedTokens-u.CacheWriteTokens) // some gateways do not count cached tokens as input
	return (float64(plain)*t.Input + float64(u.CachedTokens)*cmp.Or(t.CachedInput, t.Input) +
		float64(u.CacheWriteTokens)*cmp.Or(t.CacheWrite, t.Input) + float64(u.OutputTokens)*t.Output) / 1e6
}

// A Listing is a model of a provider.
type Listing struct {
	Name string // without the provider
	Info
}

// InfoOf returns what is known about a model: the result of its method Info, if it has one. The
// method may ask the server once.
func InfoOf(ctx context.Context, m Model) Info {
	if known, ok := m.(interface{ Info(context.Context) Info }); ok {
		return known.Info(ctx)
	}
	return Info{}
}

// WithInfo returns a model about which more is known: the fields of info that are not zero
// replace those of the model.
func WithInfo(m Model, info Info) Model { return &informed{m, info} }

type informed struct {
	Model
	info Info
}

// Info is for [InfoOf].
func (m *informed) Info(ctx context.Context) Info {
	i := InfoOf(ctx, m.Model)
	i.Source = cmp.Or(m.info.Source, i.Source)
	i.Context, i.MaxOutput = cmp.Or(m.info.Context, i.Context), cmp.Or(m.info.MaxOutput, i.MaxOutput)
	i.MaxTools = cmp.Or(m.info.MaxTools, i.MaxTools)
	i.Threads = i.Threads || m.info.Threads
	i.Price = cmp.Or(m.info.Price, i.Price)
	if m.info.Media != nil {
		i.Media = m.info.Media
	}
	return i
}
