package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Provider is where models are asked, and how. The fields that are "" or nil have defaults.
type Provider struct {
	API     string // one of [APIs]; "" only if the name is one of [BuiltinProviders]
	BaseURL string // the address of the API; default: that of its vendor
	KeyEnv  string // the environment variable with the key
	Auth    string // the header with the key, such as "api-key", or "bearer"; or "auto"
	Version string // of the API of Anthropic
	// Headers are further headers of each request.
	Headers map[string]Header
	// Extra are further fields of each request. They are not those of the model, the
	// conversation and the tools, but may have a list of further tools.
	Extra *value.Dict
}

// A Header is the value of a header. Exactly one field is set.
type Header struct {
	Text string
	Env  string // the environment variable with the value, which may be a secret
}

// APIs returns the values of the field api of a provider.
func APIs() []string {
	return []string{"responses", "chat", "anthropic", "gemini", "ollama", "cassidyai"}
}

// BuiltinProviders returns the providers that need no entry in a config.
func BuiltinProviders() []string {
	return []string{"cassidy", "openai", "anthropic", "gemini", "ollama"}
}

// auths returns the ways in which an API accepts its key, the default first.
func auths(api string) []string {
	switch api {
	case "anthropic":
		return []string{"auto", "x-api-key", "bearer"}
	case "gemini":
		return []string{"x-goog-api-key", "bearer"}
	case "ollama":
		return []string{"bearer"}
	case "cassidyai":
		return []string{"x-api-key", "bearer", "auto"}
	}
	return []string{"bearer", "api-key", "x-api-key"}
}

// providerName matches the name of a provider. A colon would end it.
var providerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })

// variableName matches the name of an environment variable.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// apiVersion matches a version of Anthropic's API.
var apiVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`) })

func (r *reader) providers(v value.Value) error {
	entries, ok := v.(*value.Dict)
	if !ok {
		return wrongType("providers", "an object, as in {local: {api: chat, base_url: \"http://127.0.0.1:8080/v1\"}},", v)
	}
	r.to.Providers = map[string]Provider{}
	for k, v := range entries.All() {
		name, _ := k.(string)
		r.at = []string{"providers", name}
		if !providerName().MatchString(name) || name == "script" {
			return value.Errorf(value.Invalid, "invalid name of a provider in 'providers': %s", quoted(name)).
				WithHint("begin with a letter or a digit, followed by letters, digits or any of - _ . (for example: 'local'); the name 'script' is reserved")
		}
		p, err := r.provider(name, v)
		if err != nil {
			return err
		}
		r.to.Providers[name] = p
	}
	return nil
}

// provider reads the entry of a provider.
func (r *reader) provider(name string, v value.Value) (p Provider, err error) {
	at := "providers." + name
	fields, err := object(at, "an object, as in {api: chat, base_url: \"http://127.0.0.1:8080/v1\"},", v,
		"api", "base_url", "key_env", "auth", "version", "headers", "extra")
	if err != nil {
		return p, err
	}
	if p.API, err = providerAPI(name, fields); err != nil {
		return p, err
	}
	for k, v := range fields.All() {
		field, _ := k.(string)
		r.at = []string{"providers", name, field}
		text, isText := v.(string)
		switch {
		case field == "headers":
			p.Headers, err = r.headers(at+".headers", v)
		case field == "extra":
			p.Extra, err = r.extra(at+".extra", p.apiOf(name), v)
		case !isText:
			err = wrongType(at+"."+field, "a string", v)
		case text == "":
			err = value.Errorf(value.Invalid, "'%s.%s' is empty", at, field).WithHint("remove %s:, or give it a value", field)
		default:
			err = p.set(at+"."+field, name, field, text)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// providerAPI returns the API of an entry, which may be "" for a built-in provider.
func providerAPI(name string, fields *value.Dict) (string, error) {
	at, known := "providers."+name, strings.Join(APIs(), `", "`)
	v, given := fields.Get("api")
	api, ok := v.(string)
	switch {
	case given && !ok:
		return "", wrongType(at+".api", "a string", v)
	case given && api == "":
		return "", value.Errorf(value.Invalid, "'%s.api' is empty", at).WithHint("write one of: \"%s\"", known)
	case api == "" && !slices.Contains(BuiltinProviders(), name):
		return "", value.Errorf(value.Invalid, "the field '%s.api' is missing", at).WithHint("add the field api with one of: \"%s\"", known)
	case api != "" && !slices.Contains(APIs(), api):
		return "", value.Errorf(value.Invalid, "unknown API %s in '%s.api'%s", quoted(api), at, value.DidYouMean(api, APIs())).
			WithHint("use one of: \"%s\"; for a server that is compatible with OpenAI, chat usually works", known)
	}
	return api, nil
}

// apiOf returns the API of the provider with a name.
func (p *Provider) apiOf(name string) string {
	switch {
	case p.API != "":
		return p.API
	case name == "cassidy":
		return "cassidyai"
	case name == "openai":
		return "responses"
	}
	return name
}

// set sets a field with a text.
func (p *Provider) set(at, name, field, text string) error {
	api := p.apiOf(name)
	switch field {
	case "base_url":
		p.BaseURL = text
	case "key_env":
		if !variableName().MatchString(text) { // perhaps the key, which is not repeated
			return value.Errorf(value.Invalid, "'%s' should be the name of an environment variable", at).
				WithHint(`write "key_env: MY_API_KEY", and set the key in the environment: export MY_API_KEY=…`)
		}
		p.KeyEnv = text
	case "auth":
		if words := auths(api); !slices.Contains(words, text) {
			return value.Errorf(value.Invalid, "the API %s does not support %s in '%s'%s", api, quoted(text), at, value.DidYouMean(text, words)).
				WithHint(`write "auth: %s"`, strings.Join(words, `" or "auth: `))
		}
		p.Auth = text
	case "version":
		if api != "anthropic" {
			return value.Errorf(value.Invalid, "'%s' is only for the API anthropic, not for %s", at, api).WithHint("remove the field version")
		}
		if !apiVersion().MatchString(text) {
			return value.Errorf(value.Invalid, "'%s' should be a date but got %s", at, quoted(text)).WithHint(`for example: version: "2023-06-01"`)
		}
		p.Version = text
	}
	return nil
}

// headerName matches the name of a header, https://www.rfc-editor.org/rfc/rfc9110#name-tokens.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// ownHeaders returns the headers that the client writes itself.
func ownHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Transfer-Encoding"}
}

// secretHeader matches the names of headers whose values are secrets.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)auth|cookie|key|passw|secret|token`)
})

// headers reads the further headers of a provider's requests.
func (r *reader) headers(at string, v value.Value) (map[string]Header, error) {
	const want = "an object, as in {X-Title: my-project, X-Tenant: {env: TENANT}},"
	fields, ok := v.(*value.Dict)
	if !ok {
		return nil, wrongType(at, want, v)
	}
	headers := map[string]Header{}
	path := r.at
	for k, v := range fields.All() {
		name, _ := k.(string)
		r.at = append(slices.Clip(path), name)
		switch {
		case !headerName().MatchString(name):
			return nil, value.Errorf(value.Invalid, "invalid name of a header in '%s': %s", at, quoted(name)).WithHint("use letters, digits and -, as in X-Title")
		case slices.ContainsFunc(ownHeaders(), func(own string) bool { return strings.EqualFold(own, name) }):
			return nil, value.Errorf(value.Invalid, "'%s' has the header %s, which cassidy writes itself", at, name).WithHint("remove %s", name)
		}
		h, err := header(at+"."+name, name, v)
		if err != nil {
			return nil, err
		}
		headers[name] = h
	}
	return headers, nil
}

// header reads the value of a header: a text that is not a secret, or the name of a variable.
func header(at, name string, v value.Value) (Header, error) {
	fields, isObject := v.(*value.Dict)
	text, isText := v.(string)
	switch {
	case isObject && fields.Len() == 1 && variableName().MatchString(fields.Text("env")):
		return Header{Env: fields.Text("env")}, nil
	case isText && secretHeader().MatchString(name): // which is not repeated
		return Header{}, value.Errorf(value.Invalid, "'%s' should be the name of an environment variable, since the header may be a secret", at).
			WithHint("write %s: {env: MY_VARIABLE}, and set the value in the environment: export MY_VARIABLE=…", name)
	case isText && text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Header{Text: text}, nil
	}
	got := value.TypeOf(v)
	if isText {
		got = quoted(value.Cut(text, 40))
	}
	return Header{}, value.Errorf(value.Invalid, "'%s' should be a non-empty string of printable ASCII characters, or {env: VARIABLE}, but got %s", at, got).
		WithHint("write %s: \"VALUE\", or %s: {env: MY_VARIABLE} for a secret", name, name)
}

// ownFields returns the fields of requests, in any API, that extra cannot have. The clients in
// runtime/model refuse them too.
func ownFields() []string {
	return []string{"model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction", "stream"}
}

// extra reads the further fields of a provider's requests.
func (r *reader) extra(at, api string, v value.Value) (*value.Dict, error) {
	fields, ok := v.(*value.Dict)
	if !ok {
		return nil, wrongType(at, "an object with fields of requests, as in {top_p: 0.9},", v)
	}
	path := r.at
	if api == "cassidyai" {
		return nil, value.Errorf(value.Invalid, "'%s' is not for the API cassidyai: its requests have no further fields", at).WithHint("remove the field extra")
	}
	for k, v := range fields.All() {
		name, _ := k.(string)
		_, isList := v.(value.List)
		r.at = append(slices.Clip(path), name)
		switch {
		case slices.Contains(ownFields(), name):
			return nil, value.Errorf(value.Invalid, "'%s' has the field '%s', which cassidy writes itself", at, name).WithHint("remove %s:", name)
		case name == "tools" && !isList:
			return nil, wrongType(at+".tools", "a list of the provider's own tools, as in [{type: web_search}],", v)
		}
	}
	return fields, nil
}
