package models

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

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
	auth     model.Auth
	version  string // of Anthropic's API
	headers  map[string]config.Header
	extra    *value.Dict
}

// vendor returns the built-in provider with a name, and whether there is one.
func (o *Opener) vendor(name string) (*provider, bool) {
	p := &provider{name: name, needsKey: true}
	switch name {
	case "cassidy":
		p.api, p.at, p.keys = "cassidyai", "CASSIDY_BASE_URL", []string{"CASSIDY_API_KEY"}
		p.fallback, p.auth = o.variable("CASSIDY_ASSISTANT_ID"), model.Auth(o.variable("CASSIDY_AUTH_STYLE"))
	case "openai":
		p.at, p.keys, p.fallback = "OPENAI_BASE_URL", []string{"OPENAI_API_KEY"}, defaultOpenAI
		p.needsKey = o.variable(p.at) == "" // other servers may need no key
	case "anthropic":
		p.api, p.at, p.keys, p.fallback = "anthropic", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, defaultAnthropic
		p.version = o.variable("ANTHROPIC_VERSION")
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
	} else if err := o.checkVariables(p); err != nil {
		return nil, err
	}
	for _, variable := range p.keys {
		var err error
		if p.key, err = o.key(c, variable); err != nil {
			return nil, err
		}
		if p.key != "" {
			p.keys = []string{variable}
			break
		}
	}
	return p, nil
}

// checkVariables checks the environment variables that choose how a built-in provider is asked,
// and sets its API if one does.
func (o *Opener) checkVariables(p *provider) error {
	switch p.name {
	case "openai":
		p.api = o.variable("OPENAI_API")
		if known := []string{"responses", "chat"}; p.api != "" && !slices.Contains(known, p.api) {
			return value.Errorf(value.Invalid, "unknown API %q in OPENAI_API%s", p.api, value.DidYouMean(p.api, known)).WithHint(`use "responses" or "chat"`)
		}
	case "cassidy":
		style := string(p.auth)
		if known := []string{"x-api-key", "bearer", "auto"}; style != "" && !slices.Contains(known, style) {
			return value.Errorf(value.Invalid, "unknown value %q in CASSIDY_AUTH_STYLE%s", style, value.DidYouMean(style, known)).
				WithHint(`use "x-api-key", "bearer" or "auto"`)
		}
	}
	return nil
}

// replace sets what the user's config says about a provider. Without an address the key is by
// default that of the vendor. A key of the vendor is not sent to another address.
func (p *provider) replace(name string, entry *config.Provider) {
	p.name, p.added, p.api = name, true, cmp.Or(entry.API, p.api)
	p.base, p.at = entry.BaseURL, "providers."+name+".base_url in your config.yaml"
	p.needsKey = p.api != "ollama"
	p.auth, p.version, p.headers, p.extra = model.Auth(entry.Auth), entry.Version, entry.Headers, entry.Extra
	if p.base != "" {
		p.keys, p.fallback, p.needsKey = nil, "", false
	}
	if entry.KeyEnv != "" {
		p.keys, p.needsKey = []string{entry.KeyEnv}, true
	}
}

// maxListed is how many of the user's providers an error lists.
const maxListed = 10

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
	if own := slices.Sorted(maps.Keys(c.Providers)); len(own) > maxListed {
		hint += fmt.Sprintf(". Your config.yaml has %d, such as %s", len(own), strings.Join(own[:maxListed], ", "))
	} else if len(own) > 0 {
		hint += ". Your config.yaml has " + strings.Join(own, ", ")
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
	return value.Errorf(value.Unavailable, "the provider %s needs a key: %s is not set", p.name, p.keys[0]).WithHint("cassidy secret set %[1]s; or export %[1]s=…", p.keys[0])
}

// keyHint is the hint for a wrong key.
func (p *provider) keyHint() string {
	if len(p.keys) == 0 {
		return "add key_env: to providers." + p.name + " in your config.yaml, with the name of the variable that has the key"
	}
	hint := "check " + strings.Join(p.keys, " or ")
	switch {
	case p.auth != "" || p.api != "cassidyai":
		return hint
	case p.added:
		return hint + ", or add auth: bearer to providers." + p.name + " in your config.yaml"
	}
	return hint + ", or set CASSIDY_AUTH_STYLE=bearer"
}

// nameMissing returns the error of a provider without the name of a model.
func (p *provider) nameMissing() error {
	e := value.Errorf(value.Invalid, "the name of the model is missing after %s:", p.name)
	switch {
	case p.api == "cassidyai" && !p.added:
		e = value.Errorf(value.Unavailable, "the provider cassidy needs an assistant: CASSIDY_ASSISTANT_ID is not set")
		return e.WithHint("export CASSIDY_ASSISTANT_ID=…, or use --model cassidy:ASSISTANT_ID")
	case p.api == "cassidyai":
		return e.WithHint("use --model %s:ASSISTANT_ID", p.name)
	}
	return e.WithHint("use --model %s:NAME; list the names with: cassidy models %s", p.name, p.name)
}

// longestSilence is the idle timeout of a request. The timeout of --timeout is usually shorter.
const longestSilence = time.Hour

// connect opens a model of a provider; name may be "".
func (o *Opener) connect(c *config.Config, p *provider, name string) (model.Model, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if name = cmp.Or(name, p.fallback); name == "" {
		return nil, p.nameMissing()
	}
	h, proxy, err := o.transport(c, p)
	if err != nil {
		return nil, err
	}
	if p.api != "cassidyai" { // whose messages have a timeout of their own
		h.Timeout = longestSilence
	}
	info := c.Models[p.name+":"+name]
	m, err := o.newModel(p, name, info.Context, h)
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

// transport returns how the requests to a provider are sent, and the environment variable of the
// proxy, or "".
func (o *Opener) transport(c *config.Config, p *provider) (model.HTTP, string, error) {
	client, proxy, err := o.client(p.address())
	if err != nil {
		return model.HTTP{}, "", err
	}
	h := model.HTTP{Client: client, Header: http.Header{}}
	for _, name := range slices.Sorted(maps.Keys(p.headers)) {
		header := p.headers[name]
		if header.Env != "" {
			var err error
			if header.Text, err = o.key(c, header.Env); err != nil {
				return model.HTTP{}, "", err
			}
			if header.Text == "" {
				return model.HTTP{}, "", value.Errorf(value.Unavailable, "the provider %s needs the header %s: %s is not set", p.name, name, header.Env).
					WithHint("export %s=…", header.Env)
			}
			h.Secrets = append(h.Secrets, header.Text)
		}
		h.Header.Set(name, header.Text)
	}
	return h, proxy, nil
}

// newModel returns a model of the provider's API. context is the user's size of a
// conversation, or 0.
func (o *Opener) newModel(p *provider, name string, context int, h model.HTTP) (model.Model, error) {
	switch p.api {
	case "cassidyai":
		return cassidyai.New(&cassidyai.Options{BaseURL: p.base, Key: p.key, Assistant: name, Auth: p.auth, KeyHint: p.keyHint(), HTTP: h})
	case "anthropic":
		return anthropic.New(p.anthropic(name, h))
	case "gemini":
		return gemini.New(p.gemini(name, h))
	case "ollama":
		options := p.ollama(name, h)
		options.Context = context
		return ollama.New(options)
	}
	return openai.New(p.openai(name, h))
}

func (p *provider) anthropic(name string, h model.HTTP) *anthropic.Options {
	return &anthropic.Options{BaseURL: p.base, Key: p.key, Model: name, Auth: p.auth, Version: p.version, Extra: p.extra, KeyHint: p.keyHint(), HTTP: h}
}

func (p *provider) gemini(name string, h model.HTTP) *gemini.Options {
	return &gemini.Options{BaseURL: p.base, Key: p.key, Model: name, Auth: p.auth, Extra: p.extra, KeyHint: p.keyHint(), HTTP: h}
}

func (p *provider) ollama(name string, h model.HTTP) *ollama.Options {
	return &ollama.Options{BaseURL: p.base, Key: p.key, Model: name, Extra: p.extra, KeyHint: p.keyHint(), HTTP: h}
}

func (p *provider) openai(name string, h model.HTTP) *openai.Options {
	return &openai.Options{API: p.api, BaseURL: p.base, Key: p.key, Model: name, Auth: p.auth, Extra: p.extra, KeyHint: p.keyHint(), HTTP: h}
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
	i := model.Info{Context: m.Context, MaxOutput: m.MaxOutput, MaxTools: m.MaxTools}
	if m.Context > 0 || m.MaxOutput > 0 {
		i.Source = "user"
	}
	if p := m.Price; p != nil {
		i.Price = &model.Price{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite}
	}
	return i
}

// An Offer is a built-in provider, as it is offered to somebody who has none.
type Offer struct {
	Provider, Title string
	Key             string // the variable, and the secret, that has the key; "" for none
	Model           string // the default; "" if its user has to choose one
}

// Offers returns the offers.
func Offers() []Offer {
	return []Offer{
		{"anthropic", "Anthropic (Claude)", "ANTHROPIC_API_KEY", defaultAnthropic},
		{"openai", "OpenAI (GPT)", "OPENAI_API_KEY", defaultOpenAI},
		{"gemini", "Google (Gemini)", "GEMINI_API_KEY", defaultGemini},
		{"ollama", "Ollama: models on your own machine", "", ""},
		{"cassidy", "CassidyAI: an assistant of your workspace", "CASSIDY_API_KEY", ""},
	}
}

// Keyed reports whether a provider has a key, in the environment or as a secret.
func (o *Opener) Keyed(provider string) (bool, error) {
	c, err := o.config()
	if err != nil {
		return false, err
	}
	p, err := o.provider(&c, provider)
	return err == nil && p.key != "", err
}
