package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Model is what the user knows about a model. A field that is not known is zero.
type Model struct {
	Context   int // tokens of a conversation with its reply
	MaxOutput int // tokens of a reply
	MaxTools  int // tools of a request
	Price     *Price
}

// A Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Output           float64
	CachedInput, CacheWrite float64 // 0 is as Input
}

func (r *reader) models(v value.Value) error {
	entries, ok := v.(*value.Dict)
	if !ok {
		return wrongType("models", `an object, as in {"openai:my-model": {context: 131072}},`, v)
	}
	r.to.Models = map[string]Model{}
	for k, v := range entries.All() {
		name, _ := k.(string)
		r.at = []string{"models", name}
		if provider, model, ok := strings.Cut(name, ":"); !ok || provider == "" || model == "" {
			return value.Errorf(value.Invalid, "invalid name of a model in 'models': %s", quoted(name)).WithHint(`write PROVIDER:MODEL, as in "openai:my-model"`)
		}
		m, err := modelInfo("models."+name, v)
		if err != nil {
			return err
		}
		r.to.Models[name] = m
	}
	return nil
}

// modelInfo reads the entry of a model.
func modelInfo(at string, v value.Value) (m Model, err error) {
	fields, err := object(at, "an object, as in {context: 131072, max_output: 8192},", v,
		"context", "max_output", "max_tools", "input_price", "output_price", "cached_input_price", "cache_write_price")
	if err != nil {
		return m, err
	}
	price, seen := Price{}, map[string]bool{}
	for k, v := range fields.All() {
		name, _ := k.(string)
		field := at + "." + name
		seen[name] = true
		switch name {
		case "context":
			m.Context, err = tokens(field, v)
		case "max_output":
			m.MaxOutput, err = tokens(field, v)
		case "max_tools":
			m.MaxTools, err = tokens(field, v)
		case "input_price":
			price.Input, err = dollars(field, v)
		case "output_price":
			price.Output, err = dollars(field, v)
		case "cached_input_price":
			price.CachedInput, err = dollars(field, v)
		case "cache_write_price":
			price.CacheWrite, err = dollars(field, v)
		}
		if err != nil {
			return m, err
		}
	}
	switch {
	case seen["input_price"] && seen["output_price"]:
		m.Price = &price
	case seen["input_price"] || seen["output_price"] || seen["cached_input_price"] || seen["cache_write_price"]:
		missing := "input_price"
		if seen[missing] {
			missing = "output_price"
		}
		return m, value.Errorf(value.Invalid, "'%s' has a price, but '%s' is missing", at, missing).WithHint("write input_price and output_price, in US dollars for a million tokens")
	}
	if m.Context > 0 && m.MaxOutput > m.Context {
		return m, value.Errorf(value.Invalid, "'%s.max_output' should be at most 'context' (%d) but got %d", at, m.Context, m.MaxOutput)
	}
	return m, nil
}

// tokens reads a number of tokens or of tools.
func tokens(field string, v value.Value) (int, error) {
	n, err := positive(field, v)
	return int(min(n, 1<<31-1)), err // fits an int on all systems
}

// dollars reads a price for a million tokens.
func dollars(field string, v value.Value) (float64, error) {
	const most = 1e6 // a dollar for each token
	price, ok := v.(float64)
	if n, isInt := v.(int64); isInt {
		price, ok = float64(n), true
	}
	if !ok || !(price >= 0 && price <= most) {
		return 0, value.Errorf(value.Invalid, "'%s' should be a price from 0 to %.0f but got %s", field, most, value.FormatJSON(v, "")).
			WithHint("write US dollars for a million tokens, as in 1.25")
	}
	return price, nil
}

// checkModels checks that the providers of models are known. The order of fields does not
// matter, so it is done last.
func (r *reader) checkModels() error {
	known := append(BuiltinProviders(), slices.Sorted(maps.Keys(r.to.Providers))...)
	for _, name := range slices.Sorted(maps.Keys(r.to.Models)) {
		r.at = []string{"models", name}
		if provider, _, _ := strings.Cut(name, ":"); !slices.Contains(known, provider) {
			return value.Errorf(value.Invalid, "unknown provider %s in 'models.%s'%s", quoted(provider), name, value.DidYouMean(provider, known)).
				WithHint("the providers are %s; to add one, use the field 'providers'", strings.Join(known, ", "))
		}
	}
	return nil
}
