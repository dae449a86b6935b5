package models

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// listTimeout is the idle timeout of a list: a person waits for it.
	listTimeout = 20 * time.Second
	// listWait is the longest delay between two attempts to get a list.
	listWait = 250 * time.Millisecond
)

// A Group is the models of one provider.
type Group struct {
	Provider string
	Models   []model.Listing // by name; the names are without the provider
	Err      *value.Error    // why there is no list, or nil
	Unset    string          // what to set, if the provider is not configured
	Example  string          // what to type, if the API has no list
}

// List lists the models of a provider, or of all providers if name is "". Then those are asked
// that are configured, all at the same time. The models have what the user's config, the server
// and the catalog know about them, in this order.
func (o *Opener) List(ctx context.Context, name string) ([]Group, error) {
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if name == "" {
		names = config.BuiltinProviders()
		for _, added := range slices.Sorted(maps.Keys(c.Providers)) {
			if !slices.Contains(names, added) {
				names = append(names, added)
			}
		}
	}
	groups := make([]Group, len(names))
	var wait sync.WaitGroup
	for i, one := range names {
		p, err := o.provider(&c, one)
		if err != nil {
			return nil, err
		}
		wait.Go(func() { groups[i] = o.group(ctx, &c, p, name != "") })
	}
	wait.Wait()
	return groups, ctx.Err()
}

// group lists the models of a provider. asked means that it is asked also if nothing is set.
func (o *Opener) group(ctx context.Context, c *config.Config, p *provider, asked bool) Group {
	g := Group{Provider: p.name}
	if !asked && !p.added && p.key == "" && p.base == "" {
		g.Unset = p.unset()
		return g
	}
	list, err := o.list(ctx, c, p)
	if err != nil {
		g.Err = value.ErrorOf(err, value.Unavailable)
		return g
	}
	if len(list) == 0 && p.api == "cassidyai" {
		g.Example = p.name + ":ASSISTANT_ID"
	}
	for i := range list {
		list[i].Info = known(c, p, &list[i])
	}
	slices.SortFunc(list, func(a, b model.Listing) int { return strings.Compare(a.Name, b.Name) })
	g.Models = slices.CompactFunc(list, func(a, b model.Listing) bool { return a.Name == b.Name })
	return g
}

// unset describes what to set to use a built-in provider.
func (p *provider) unset() string {
	switch p.name {
	case "cassidy":
		return "set CASSIDY_API_KEY and CASSIDY_ASSISTANT_ID"
	case "ollama":
		return "set OLLAMA_HOST, or for a server on this machine: cassidy models ollama"
	}
	return "set " + strings.Join(p.keys, " or ")
}

// list asks the server for its models.
func (o *Opener) list(ctx context.Context, c *config.Config, p *provider) ([]model.Listing, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	h, proxy, err := o.transport(c, p)
	if err != nil {
		return nil, err
	}
	h.Timeout, h.Sleep = listTimeout, sleepShortly
	var list []model.Listing
	switch p.api {
	case "cassidyai":
		return p.assistants(c), nil
	case "anthropic":
		list, err = anthropic.List(ctx, p.anthropic("", h))
	case "gemini":
		list, err = gemini.List(ctx, p.gemini("", h))
	case "ollama":
		list, err = ollama.List(ctx, p.ollama("", h))
	default:
		list, err = openai.List(ctx, p.openai("", h))
	}
	if err == nil {
		return list, nil
	}
	err = p.named(err)
	if e, ok := err.(*value.Error); ok {
		own := *e
		own.Op, own.Hint = "", p.hint(e, proxy)
		err = &own
	}
	return nil, err
}

// assistants returns the assistants of CassidyAI that the environment or the config names: its
// API has no list of them.
func (p *provider) assistants(c *config.Config) []model.Listing {
	var list []model.Listing
	if p.fallback != "" {
		list = append(list, model.Listing{Name: p.fallback})
	}
	for name := range c.Models {
		if name, ok := strings.CutPrefix(name, p.name+":"); ok {
			list = append(list, model.Listing{Name: name})
		}
	}
	return list
}

// known returns what is known about a listed model.
func known(c *config.Config, p *provider, l *model.Listing) model.Info {
	i, table := l.Info, model.Info{}
	if p.base == "" || p.api == "anthropic" || p.api == "gemini" { // other servers may have other models of that name
		table = catalog.Find(cmp.Or(vendorOf(p.api), "openai"), l.Name)
	}
	if i.Context == 0 && i.MaxOutput == 0 && i.Price == nil {
		i.Source = table.Source
	}
	i.Context, i.MaxOutput, i.Price = cmp.Or(i.Context, table.Context), cmp.Or(i.MaxOutput, table.MaxOutput), cmp.Or(i.Price, table.Price)
	if own, ok := c.Models[p.name+":"+l.Name]; ok {
		u := infoOf(own)
		i.Context, i.MaxOutput, i.Price, i.Source = cmp.Or(u.Context, i.Context), cmp.Or(u.MaxOutput, i.MaxOutput), cmp.Or(u.Price, i.Price), cmp.Or(u.Source, i.Source)
	}
	return i
}

// sleepShortly waits between two attempts to get a list, but not as long as a task would.
func sleepShortly(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, listWait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
