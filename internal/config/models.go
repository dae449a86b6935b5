package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Provider is where models are asked, and how. The fields that are "" have defaults.
type Provider struct {
	API     string // one of [APIs]; "" only if the name is one of [BuiltinProviders]
	BaseURL string // the address of the API; default: that of its vendor
	KeyEnv  string // the environment variable with the key
}

// APIs returns the values of the field api of a provider.
func APIs() []string {
	return []string{"responses", "chat", "anthropic", "gemini", "ollama", "cassidyai"}
}

// BuiltinProviders returns the providers that need no entry in a config.
func BuiltinProviders() []string {
	return []string{"cassidy", "openai", "anthropic", "gemini", "ollama"}
}

// A Model is what the user knows about a model. A field that is not known is zero.
type Model struct {
	Context   int // tokens of a conversation with its reply
	MaxOutput int // tokens of a reply
	Price     *Price
}

// A Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Output           float64
	CachedInput, CacheWrite float64 // 0 is as Input
}

// providerName matches the name of a provider. A colon would end it.
var providerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// variableName matches the name of an environment variable.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *reader) providers(v value.Value) error {
	entries, ok := v.(*value.Dict)
	if !ok {
		return wrongType("providers", "an object, as in {local: {api: chat, base_url: \"http://127.0.0.1:8080/v1\"}},", v)
	}
	r.to.Providers = map[string]Provider{}
	for k, v := range entries.All() {
		name, _ := k.(string)
		if !providerName.MatchString(name) || name == "script" {
			return value.Errorf(value.Invalid, "invalid name of a provider in 'providers': %s", quoted(name)).
				WithHint("use letters, digits, -, _ and ., as in local; script is the name of models that are scripts")
		}
		p, err := provider(name, v)
		if err != nil {
			return err
		}
		r.to.Providers[name] = p
	}
	return nil
}

// provider reads the entry of a provider.
func provider(name string, v value.Value) (Provider, error) {
	at := "providers." + name
	fields, err := object(at, "an object, as in {api: chat, base_url: \"http://127.0.0.1:8080/v1\"},", v, "api", "base_url", "key_env")
	if err != nil {
		return Provider{}, err
	}
	for k, v := range fields.All() {
		if text, ok := v.(string); !ok || text == "" {
			return Provider{}, wrongType(at+"."+value.Display(k), "a text", v)
		}
	}
	p := Provider{API: fields.Text("api"), BaseURL: fields.Text("base_url"), KeyEnv: fields.Text("key_env")}
	switch known := strings.Join(APIs(), ", "); {
	case p.API == "" && !slices.Contains(BuiltinProviders(), name):
		return p, value.Errorf(value.Invalid, "'%s' has no field 'api'", at).WithHint("add api: with one of %s", known)
	case p.API != "" && !slices.Contains(APIs(), p.API):
		return p, value.Errorf(value.Invalid, "unknown API %s in '%s.api'%s", quoted(p.API), at, value.DidYouMean(p.API, APIs())).
			WithHint("the APIs are %s; most compatible servers have chat", known)
	case p.KeyEnv != "" && !variableName.MatchString(p.KeyEnv): // perhaps the key, which is not repeated
		return p, value.Errorf(value.Invalid, "'%s.key_env' should be the name of an environment variable", at).
			WithHint("write key_env: MY_API_KEY, and set the key in the environment: export MY_API_KEY=…")
	}
	return p, nil
}

func (r *reader) models(v value.Value) error {
	entries, ok := v.(*value.Dict)
	if !ok {
		return wrongType("models", `an object, as in {"openai:my-model": {context: 131072}},`, v)
	}
	r.to.Models = map[string]Model{}
	for k, v := range entries.All() {
		name, _ := k.(string)
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
		"context", "max_output", "input_price", "output_price", "cached_input_price", "cache_write_price")
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
		return m, value.Errorf(value.Invalid, "'%s' has only a part of the price", at).WithHint("write input_price and output_price, in US dollars for a million tokens")
	}
	if m.Context > 0 && m.MaxOutput > m.Context {
		return m, value.Errorf(value.Invalid, "'%s.max_output' should be at most %d, which is context, but got %d", at, m.Context, m.MaxOutput)
	}
	return m, nil
}

// tokens reads a number of tokens.
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
		if provider, _, _ := strings.Cut(name, ":"); !slices.Contains(known, provider) {
			return value.Errorf(value.Invalid, "unknown provider %s in 'models.%s'%s", quoted(provider), name, value.DidYouMean(provider, known)).
				WithHint("the providers are %s; to add one, use the field 'providers'", strings.Join(known, ", "))
		}
	}
	return nil
}
