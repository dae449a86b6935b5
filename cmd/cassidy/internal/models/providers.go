package models

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A provider is where models are asked, and how.
type provider struct {
	name     string   // in PROVIDER:MODEL
	api      string   // one of [config.APIs], or "" for openai, where the address decides
	base     string   // the address of the API, or "" for that of the vendor
	at       string   // the variable or the field of the config that has base
	keys     []string // the variables of the key; only the first that is set, if one is
	key      string
	needsKey bool
	fallback string // the model if only the provider is named, or ""
	added    bool   // it is from the user's config
}

// vendor returns the built-in provider with a name, and whether there is one.
func (o *Opener) vendor(name string) (*provider, bool) {
	p := &provider{name: name, needsKey: true}
	switch name {
	case "cassidy":
		p.api, p.at, p.keys = "cassidyai", "CASSIDY_BASE_URL", []string{"CASSIDY_API_KEY"}
		p.fallback = o.variable("CASSIDY_ASSISTANT_ID")
	case "openai":
		p.at, p.keys, p.fallback = "OPENAI_BASE_URL", []string{"OPENAI_API_KEY"}, defaultOpenAI
		p.needsKey = o.variable(p.at) == "" // other servers may need no key
	case "anthropic":
		p.api, p.at, p.keys, p.fallback = "anthropic", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, defaultAnthropic
	case "gemini":
		p.api, p.at, p.keys, p.fallback = "gemini", "GEMINI_BASE_URL", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, defaultGemini
	case "ollama":
		p.api, p.at, p.needsKey = "ollama", "OLLAMA_HOST", false
	default:
		return nil, false
	}
	p.base = o.variable(p.at)
	return p, true
}

// vendorOf returns the built-in provider of an API.
func vendorOf(api string) string {
	switch api {
	case "responses", "chat":
		return "openai"
	case "cassidyai":
		return "cassidy"
	}
	return api
}

// provider returns the provider with a name: that of the user's config, or else the built-in
// one. Its key may be missing, see [provider.check].
func (o *Opener) provider(c *config.Config, name string) (*provider, error) {
	entry, added := c.Providers[name]
	p, found := o.vendor(name)
	if added {
		p, found = o.vendor(cmp.Or(vendorOf(entry.API), name))
	}
	if !found {
		return nil, unknownProvider(c, name)
	}
	if added {
		p.replace(name, &entry)
	} else if name == "openai" {
		p.api = o.variable("OPENAI_API")
		if known := []string{"responses", "chat"}; p.api != "" && !slices.Contains(known, p.api) {
			return nil, value.Errorf(value.Invalid, "unknown API %q in OPENAI_API%s", p.api, value.DidYouMean(p.api, known)).WithHint("use responses or chat")
		}
	}
	for _, variable := range p.keys {
		if p.key = o.variable(variable); p.key != "" {
			p.keys = []string{variable}
			break
		}
	}
	return p, nil
}

// replace sets what the user's config says about a provider. Without an address the key is by
// default that of the vendor. A key of the vendor is not sent to another address.
func (p *provider) replace(name string, entry *config.Provider) {
	p.name, p.added, p.api = name, true, cmp.Or(entry.API, p.api)
	p.base, p.at = entry.BaseURL, "providers."+name+".base_url in your config.yaml"
	p.needsKey = p.api != "ollama"
	if p.base != "" {
		p.keys, p.fallback, p.needsKey = nil, "", false
	}
	if entry.KeyEnv != "" {
		p.keys, p.needsKey = []string{entry.KeyEnv}, true
	}
}

// unknownProvider returns the error for a provider that is neither built in nor in the config.
func unknownProvider(c *config.Config, name string) error {
	known := slices.Concat(config.BuiltinProviders(), []string{"script"}, slices.Sorted(maps.Keys(c.Providers)))
	meant := value.DidYouMean(name, known)
	for _, vendor := range []string{"openai", "anthropic", "gemini"} {
		if catalog.Find(vendor, name).Context > 0 {
			meant = `; did you mean "` + vendor + ":" + name + `"?`
		}
	}
	hint := "use " + Choices
	if len(c.Providers) > 0 {
		hint += ". It has " + strings.Join(slices.Sorted(maps.Keys(c.Providers)), ", ")
	}
	return value.Errorf(value.Invalid, "unknown provider of models %q%s", name, meant).WithHint("%s", hint)
}

// check returns the error of a key that is missing.
func (p *provider) check() error {
	if p.key == "" && len(p.keys) == 0 && p.api == "cassidyai" {
		return value.Errorf(value.Unavailable, "the provider %s needs a key", p.name).WithHint("%s", p.keyHint())
	}
	if p.key != "" || !p.needsKey {
		return nil
	}
	return value.Errorf(value.Unavailable, "the provider %s needs a key: %s is not set", p.name, p.keys[0]).WithHint("export %s=…", p.keys[0])
}

// keyHint is the hint for a wrong key.
func (p *provider) keyHint() string {
	if len(p.keys) == 0 {
		return "add key_env: to providers." + p.name + " in your config.yaml, with the name of the variable that has the key"
	}
	return "check " + strings.Join(p.keys, " or ")
}

// nameMissing returns the error of a provider without the name of a model.
func (p *provider) nameMissing() error {
	e := value.Errorf(value.Invalid, "the name of the model is missing: %s", p.name)
	switch {
	case p.api == "cassidyai" && !p.added:
		e = value.Errorf(value.Unavailable, "the provider cassidy needs an assistant: CASSIDY_ASSISTANT_ID is not set")
		return e.WithHint("export CASSIDY_ASSISTANT_ID=…, or use --model cassidy:ASSISTANT_ID")
	case p.api == "cassidyai":
		return e.WithHint("use --model %s:ASSISTANT_ID", p.name)
	}
	return e.WithHint("use --model %s:NAME; list the names with: cassidy models %s", p.name, p.name)
}

// connect opens a model of a provider; name may be "".
func (o *Opener) connect(c *config.Config, p *provider, name string) (model.Model, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if name = cmp.Or(name, p.fallback); name == "" {
		return nil, p.nameMissing()
	}
	client, proxy, err := o.client(p.address())
	if err != nil {
		return nil, err
	}
	info := c.Models[p.name+":"+name]
	m, err := o.newModel(p, name, info.Context, model.HTTP{Client: client})
	if err != nil {
		return nil, p.named(err)
	}
	opened := &opened{Model: m, name: m.Name(), provider: p, proxy: proxy, longest: info.MaxOutput}
	if p.added {
		opened.name = p.name + ":" + name
	}
	if info == (config.Model{}) {
		return opened, nil
	}
	return model.WithInfo(opened, infoOf(info)), nil
}

// newModel returns a model of the provider's API. context is the user's size of a
// conversation, or 0.
func (o *Opener) newModel(p *provider, name string, context int, http model.HTTP) (model.Model, error) {
	switch p.api {
	case "cassidyai":
		options := &cassidyai.Options{BaseURL: p.base, Key: p.key, Assistant: name, KeyHint: p.keyHint(), HTTP: http}
		if !p.added {
			options.Auth = model.Auth(o.variable("CASSIDY_AUTH_STYLE"))
		}
		return cassidyai.New(options)
	case "anthropic":
		options := &anthropic.Options{BaseURL: p.base, Key: p.key, Model: name, KeyHint: p.keyHint(), HTTP: http}
		if !p.added {
			options.Version = o.variable("ANTHROPIC_VERSION")
		}
		return anthropic.New(options)
	case "gemini":
		return gemini.New(&gemini.Options{BaseURL: p.base, Key: p.key, Model: name, KeyHint: p.keyHint(), HTTP: http})
	case "ollama":
		return ollama.New(&ollama.Options{BaseURL: p.base, Key: p.key, Model: name, Context: context, KeyHint: p.keyHint(), HTTP: http})
	}
	return openai.New(&openai.Options{API: p.api, BaseURL: p.base, Key: p.key, Model: name, KeyHint: p.keyHint(), HTTP: http})
}

// named replaces "the base URL" in an error by where it is set. The error does not contain the
// address, which may hold a password.
func (p *provider) named(err error) error {
	e := value.ErrorOf(err, value.Invalid)
	if rest, ok := strings.CutPrefix(e.Message(), "the base URL "); ok {
		return value.Errorf(e.Kind, "%s %s", p.at, rest).WithHint("%s", e.Hint)
	}
	return err
}

// infoOf returns what the user's config says about a model.
func infoOf(m config.Model) model.Info {
	i := model.Info{Context: m.Context, MaxOutput: m.MaxOutput}
	if m.Context > 0 || m.MaxOutput > 0 {
		i.Source = "user"
	}
	if p := m.Price; p != nil {
		i.Price = &model.Price{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite}
	}
	return i
}
