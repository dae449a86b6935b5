package models_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A request is what a model has sent.
type request struct {
	*http.Request
	body string
}

// serve starts a server that records requests and answers as given.
func serve(t *testing.T, answer http.HandlerFunc) (address string, last func() *request) {
	t.Helper()
	var sent *request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = &request{r, string(body)}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() *request {
		r := sent
		sent = nil
		return r
	}
}

// refuse answers with an error: what was sent is all that counts.
func refuse(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusBadRequest) }

// opener returns an opener with an environment, as "NAME=VALUE NAME=VALUE", and a config.
func opener(t *testing.T, env, config string) *models.Opener {
	t.Helper()
	variables := map[string]string{}
	for _, pair := range strings.Fields(env) {
		name, v, _ := strings.Cut(pair, "=")
		variables[name] = v
	}
	o := &models.Opener{Env: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }}
	if config != "" {
		o.Config = filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(o.Config, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// hello is a request to a model.
func hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

// TestVariables checks what each environment variable, and each field of a provider in the
// config, adds to the request of a model.
func TestVariables(t *testing.T) {
	url, sent := serve(t, refuse)
	for _, tt := range []struct {
		env    string // URL stands for the server
		config string
		word   string // the model; "" is the default
		path   string
		heads  string // "name: value" of the headers that it must have, separated by a comma
		body   string // a part of the body
	}{
		{"CASSIDY_API_KEY=k CASSIDY_ASSISTANT_ID=a CASSIDY_BASE_URL=URL", "", "", "/assistants/thread/create", "x-api-key: k", ""},
		{"CASSIDY_API_KEY=k CASSIDY_BASE_URL=URL CASSIDY_AUTH_STYLE=bearer", "", "cassidy:a", "/assistants/thread/create", "authorization: Bearer k", ""},
		{"OPENAI_API_KEY=k OPENAI_BASE_URL=URL/v1", "", "", "/v1/chat/completions", "authorization: Bearer k", `"model":"gpt-`},
		{"OPENAI_API=responses OPENAI_BASE_URL=URL/v1", "", "openai:small", "/v1/responses", "authorization: ", `"model":"small"`},
		{"OPENAI_API=responses", "providers: {openai: {base_url: URL/v2}}", "openai:a", "/v2/chat/completions", "", ""},
		{"K=k", "providers: {r: {api: responses, base_url: URL/v1, key_env: K}}", "r:a", "/v1/responses", "authorization: Bearer k", ""},
		{"OPENAI_BASE_URL=URL/v1", "", "openai:small", "/v1/chat/completions", "authorization: ", `"model":"small"`},
		{"ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=URL", "", "", "/v1/messages", "x-api-key: k,anthropic-version: " + anthropic.Version, ""},
		{"ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=URL ANTHROPIC_VERSION=2023-06-01", "", "", "/v1/messages", "anthropic-version: 2023-06-01", ""},
		{"GEMINI_API_KEY=k GEMINI_BASE_URL=URL", "", "", "/models/gemini-3-pro:generateContent", "x-goog-api-key: k", ""},
		{"GOOGLE_API_KEY=k GEMINI_BASE_URL=URL", "", "gemini:gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent", "x-goog-api-key: k", ""},
		{"K=other", "providers: {g: {api: gemini, base_url: URL, key_env: K}}", "g:gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent", "x-goog-api-key: other", ""},
		{"OLLAMA_HOST=URL", "", "ollama:small", "/api/chat", "", `"model":"small"`},
		{"K=k", "providers: {azure: {api: responses, base_url: URL/openai/v1, key_env: K, auth: api-key}}", "azure:a", "/openai/v1/responses", "api-key: k,authorization: ", ""},
		{"K=k", "providers: {work: {api: cassidyai, base_url: URL, key_env: K, auth: bearer}}", "work:a", "/assistants/thread/create", "authorization: Bearer k,x-api-key: ", ""},
		{"K=k", "providers: {old: {api: anthropic, base_url: URL, key_env: K, auth: bearer, version: '2023-06-01'}}", "old:a", "/v1/messages", "authorization: Bearer k,x-api-key: ,anthropic-version: 2023-06-01", ""},
		{"K=k", "providers: {vertex: {api: gemini, base_url: URL, key_env: K, auth: bearer}}", "vertex:a", "/models/a:generateContent", "authorization: Bearer k,x-goog-api-key: ", ""},
		{"T=blue", "providers: {r: {api: chat, base_url: URL, headers: {x-title: my project, X-Token: {env: T}}}}", "r:a", "/chat/completions", "x-title: my project,x-token: blue", ""},
		{"", "providers: {r: {api: chat, base_url: URL, extra: {top_p: 0.5, stop: [END]}}}", "r:a", "/chat/completions", "", `"top_p":0.5,"stop":["END"]`},
		{"", "providers: {r: {api: responses, base_url: URL, extra: {text: {verbosity: low}, tools: [{type: web_search}]}}}", "r:a", "/responses", "", `"text":{"verbosity":"low"},"tools":[{"type":"web_search"}]`},
		{"", "providers: {r: {api: gemini, base_url: URL, extra: {generationConfig: {topP: 0.5}}}}", "r:a", "/models/a:generateContent", "", `"generationConfig":{"topP":0.5}`},
		{"", "providers: {r: {api: anthropic, base_url: URL, headers: {anthropic-beta: b-1}, extra: {metadata: {user_id: u}}}}", "r:a", "/v1/messages", "anthropic-beta: b-1", `"metadata":{"user_id":"u"}`},
		{"", "{providers: {r: {api: ollama, base_url: URL, extra: {options: {seed: 7}}}}, models: {'r:a': {context: 4096}}}", "r:a", "/api/chat", "", `"options":{"num_ctx":4096,"seed":7}`},
		{"OPENAI_API_KEY=k", "providers: {local: {api: chat, base_url: URL/v1}}", "local:a:b", "/v1/chat/completions", "authorization: ", `"model":"a:b"`},
		{"K=other", "providers: {local: {api: chat, base_url: URL/v1, key_env: K}}", "local:a", "/v1/chat/completions", "authorization: Bearer other", ""},
		{"K=other", "{model: 'work:a', providers: {work: {api: anthropic, base_url: URL, key_env: K}}}", "", "/v1/messages", "x-api-key: other", `"model":"a"`},
		{"OPENAI_API_KEY=k OPENAI_BASE_URL=http://127.0.0.1:1", "providers: {openai: {base_url: URL/v2}}", "openai:a", "/v2/chat/completions", "authorization: ", ""},
		{"K=other", "providers: {work: {api: cassidyai, base_url: URL, key_env: K}}", "work:a", "/assistants/thread/create", "x-api-key: other", ""},
		{"K=other", "providers: {gpu: {api: ollama, base_url: URL, key_env: K}}", "gpu:a", "/api/chat", "authorization: Bearer other", ""},
		{"ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=URL", "models: {'anthropic:a': {max_output: 5000}}", "anthropic:a", "/v1/messages", "", `"max_tokens":5000`},
		{"OPENAI_BASE_URL=URL", "models: {'openai:a': {max_output: 5000}}", "openai:a", "/chat/completions", "", `"max_completion_tokens":5000`},
		{"OLLAMA_HOST=URL", "models: {'ollama:a:8b': {context: 65536}}", "ollama:a:8b", "/api/chat", "", `"num_ctx":65536`},
	} {
		here := strings.NewReplacer("=URL", "="+url, ": URL", ": "+url)
		o := opener(t, here.Replace(tt.env), here.Replace(tt.config))
		name := tt.env + " " + tt.config + " " + tt.word
		m, err := o.Open(t.Context(), nil, tt.word, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = m.Ask(t.Context(), hello())
		r := sent()
		if err == nil || r == nil {
			t.Errorf("%s: error %v, request %v", name, err, r)
			continue
		}
		if r.URL.Path != tt.path {
			t.Errorf("%s: the request goes to %s, want %s", name, r.URL.Path, tt.path)
		}
		if !strings.Contains(r.body, tt.body) {
			t.Errorf("%s: the body is %s, want %s in it", name, r.body, tt.body)
		}
		for pair := range strings.SplitSeq(tt.heads, ",") {
			if name, want, ok := strings.Cut(pair, ": "); ok && r.Header.Get(name) != want {
				t.Errorf("%s: header %s is %q, want %q", tt.env, name, r.Header.Get(name), want)
			}
		}
	}
}

// TestProviders checks that two providers with the same API are two models: in names, in
// errors, and in what is known about them.
func TestProviders(t *testing.T) {
	a, _ := serve(t, refuse)
	b, _ := serve(t, refuse)
	o := opener(t, "", "providers:\n  one: {api: chat, base_url: "+a+"}\n  two: {api: chat, base_url: "+b+"}\n"+
		"models:\n  'two:m': {context: 1000, max_output: 100, max_tools: 64, input_price: 0, output_price: 2.5}\n  'one:p': {input_price: 1, output_price: 2, cached_input_price: 0.5, cache_write_price: 3}\n")
	for word, want := range map[string]model.Info{
		"one:m": {MaxTools: 128},
		"one:p": {MaxTools: 128, Price: &model.Price{Input: 1, Output: 2, CachedInput: 0.5, CacheWrite: 3}},
		"two:m": {Context: 1000, MaxOutput: 100, MaxTools: 64, Price: &model.Price{Output: 2.5}, Source: "user"},
	} {
		m, err := o.Open(t.Context(), nil, word, false)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name() != word {
			t.Errorf("the model %s has the name %s", word, m.Name())
		}
		if diff := cmp.Diff(want, model.InfoOf(t.Context(), m)); diff != "" {
			t.Errorf("what is known of %s (-want +got):\n%s", word, diff)
		}
		_, err = m.Ask(t.Context(), hello())
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Op != word {
			t.Errorf("the error of %s is %v", word, err)
		}
	}
}

// TestProxy checks which requests go through a proxy, and what is reported if the proxy is the
// reason of an error.
func TestProxy(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><head><title>Blocked by policy</title></head></html>")
	}
	proxy, proxied := serve(t, html)
	server, direct := serve(t, html)
	const through = "the request went through the proxy in "
	for _, tt := range []struct{ env, via, want, hint string }{
		{"HTTP_PROXY=PROXY OPENAI_BASE_URL=http://api.test/v1", "proxy", "expected JSON but got: Server error: Blocked by policy", through + "HTTP_PROXY"},
		{"http_proxy=PROXY OPENAI_BASE_URL=http://api.test/v1", "proxy", "Blocked by policy", through + "http_proxy"},
		{"HTTPS_PROXY=http://127.0.0.1:1 HTTP_PROXY=PROXY OPENAI_BASE_URL=http://api.test/v1", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
		{"HTTP_PROXY=PROXY NO_PROXY=other.test,0.0.0.0 OPENAI_BASE_URL=NETWORK/v1", "server", "Blocked by policy", ""},
		{"HTTP_PROXY=PROXY NO_PROXY=other.test OPENAI_BASE_URL=NETWORK/v1", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
		{"HTTP_PROXY=http://127.0.0.1:1 OPENAI_BASE_URL=http://api.test/v1", "", "connect to http://api.test/v1", "check the network, and the proxy in HTTP_PROXY; to connect directly"},
		{"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "", "connect to http://127.0.0.1:1/v1", "check that the server runs, and its address in OPENAI_BASE_URL"},
		{"HTTP_PROXY=PROXY OPENAI_BASE_URL=SERVER/v1", "server", "Blocked by policy", ""}, // this machine
		{"HTTP_PROXY=PROXY ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=http://api.test", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
		{"HTTP_PROXY=PROXY GEMINI_API_KEY=k GEMINI_BASE_URL=http://api.test", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
		{"HTTP_PROXY=PROXY OLLAMA_HOST=http://api.test", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
		{"HTTP_PROXY=PROXY CASSIDY_API_KEY=k CASSIDY_BASE_URL=http://api.test", "proxy", "Blocked by policy", through + "HTTP_PROXY"},
	} {
		env := strings.NewReplacer("=PROXY", "="+proxy, "=SERVER", "="+server, "=NETWORK", "="+strings.Replace(server, "127.0.0.1", "0.0.0.0", 1)).Replace(tt.env)
		word := "openai:m"
		for _, kind := range []string{"anthropic", "gemini", "ollama", "cassidy"} {
			if strings.Contains(env, strings.ToUpper(kind)+"_") {
				word = kind + ":m"
			}
		}
		m, err := opener(t, env, "").Open(t.Context(), nil, word, false)
		if err != nil {
			t.Errorf("%s: %v", tt.env, err)
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := hello()
		var lost error
		r.Notice = func(n model.Notice) { // a connection that cannot be made is not waited for
			if n.Retry != nil {
				lost = n.Retry
				cancel()
			}
		}
		_, err = m.Ask(ctx, r)
		cancel()
		if lost != nil {
			err = lost
		}
		e := value.ErrorOf(err, value.Failed)
		if e == nil || !strings.Contains(e.Message(), tt.want) || !strings.Contains(e.Hint, tt.hint) || !strings.Contains(tt.hint, through) && strings.Contains(e.Hint, through) {
			t.Errorf("%s: %v with the hint %q, want %q with %q", tt.env, err, e.Hint, tt.want, tt.hint)
		}
		if p, d := proxied() != nil, direct() != nil; p != (tt.via == "proxy") || d != (tt.via == "server") {
			t.Errorf("%s: the proxy was asked: %v, the server: %v, want %q", tt.env, p, d, tt.via)
		}
	}
}

// TestWrongModels checks that errors name the variables, fields and models to set.
func TestWrongModels(t *testing.T) {
	const local = "providers: {local: {api: chat, base_url: 'http://127.0.0.1:1', key_env: LOCAL_KEY}}"
	for _, tt := range []struct{ env, config, word, want, hint string }{
		{"OPENAI_BASE_URL=localhost:1", "", "openai:x", "OPENAI_BASE_URL is invalid", "use a URL with http://"},
		{"OLLAMA_HOST=http://a?b", "", "ollama:x", "OLLAMA_HOST contains ? or #", "remove the ? or #"},
		{"OPENAI_BASE_URL=http://localhost:1", "", "", "no model is configured", "openai:NAME with OPENAI_BASE_URL"},
		{"", local, "", "no model is configured", "your config.yaml has the providers local: use --model local:NAME"},
		{"", "", "opnai:x", `unknown provider of models "opnai"; did you mean "openai"?`, "cassidy models"},
		{"", local, "locl:x", `unknown provider of models "locl"; did you mean "local"?`, "a provider of your config.yaml; to list models: cassidy models. Your config.yaml has local"},
		{"", "", "gpt-5", `unknown provider of models "gpt-5"; did you mean "openai:gpt-5"?`, ""},
		{"OPENAI_API_KEY=k OPENAI_API=response", "", "openai:x", `unknown API "response" in OPENAI_API; did you mean "responses"?`, `use "responses" or "chat"`},
		{"OPENAI_API_KEY=k OPENAI_API=anthropic", "", "openai:x", `unknown API "anthropic" in OPENAI_API`, ""},
		{"", "", "openai:x", "the provider openai needs a key: OPENAI_API_KEY is not set", "export OPENAI_API_KEY=…"},
		{"CASSIDY_API_KEY=k CASSIDY_AUTH_STYLE=token", "", "cassidy:x", `unknown value "token" in CASSIDY_AUTH_STYLE`, `use "x-api-key", "bearer" or "auto"`},
		{"", "providers: {x: {api: chat, base_url: 'http://h', headers: {X-Token: {env: TOKEN}}}}", "x:m", "the provider x needs the header X-Token: TOKEN is not set", "export TOKEN=…"},
		{"TOKEN=é", "providers: {x: {api: chat, base_url: 'http://h', headers: {X-Token: {env: TOKEN}}}}", "x:m", "openai:m: the header X-Token contains a line break or another invalid character", "copy its value again"},
		{"", local, "local:x", "the provider local needs a key: LOCAL_KEY is not set", "export LOCAL_KEY=…"},
		{"LOCAL_KEY=k", local, "local", "the name of the model is missing after local:", "use --model local:NAME; list the names with: cassidy models local"},
		{"", "providers: {work: {api: anthropic}}", "work:x", "the provider work needs a key: ANTHROPIC_API_KEY is not set", ""},
		{"", "providers: {x: {api: chat, base_url: 'localhost:1'}}", "x:m", "providers.x.base_url in your config.yaml is invalid", "use a URL with http://"},
		{"", "providers: {x: {api: chat, base_url: 'http://me:hunter2@h'}}", "x:m", "providers.x.base_url in your config.yaml has a user name or a password", "remove the part before the @"},
		{"", "providers: {x: {api: cassidyai, base_url: 'http://h'}}", "x:m", "the provider x needs a key", "add key_env: to providers.x"},
		{"CASSIDY_API_KEY=k", "", "cassidy", "the provider cassidy needs an assistant: CASSIDY_ASSISTANT_ID is not set", "cassidy:ASSISTANT_ID"},
		{"", "", "ollama", "the name of the model is missing after ollama:", "cassidy models ollama"},
		{"HTTPS_PROXY=ftp://me:hunter2@proxy OPENAI_API_KEY=k", "", "openai:x", "HTTPS_PROXY is not the URL of a proxy", "HTTPS_PROXY=http://proxy.example.com:3128"},
		{"https_proxy=http:// OPENAI_API_KEY=k", "", "openai:x", "https_proxy is not the URL of a proxy", ""},
	} {
		_, err := opener(t, tt.env, tt.config).Open(t.Context(), nil, tt.word, false)
		e := value.ErrorOf(err, value.Failed)
		if e == nil || e.Message() != tt.want || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s, %s, %q: %v, want %s with the hint %s", tt.env, tt.config, tt.word, e, tt.want, tt.hint)
		} else if strings.Contains(e.Error()+e.Hint, "hunter2") {
			t.Errorf("%s, %q: the error repeats a password: %v", tt.env, tt.word, e)
		}
	}
	for _, env := range []string{"HTTPS_PROXY=ftp://x OLLAMA_HOST=127.0.0.1", "HTTPS_PROXY=:: NO_PROXY=* OPENAI_API_KEY=k", "HTTP_PROXY=ftp://x OPENAI_API_KEY=k", "HTTPS_PROXY=proxy:3128 OPENAI_API_KEY=k"} {
		word := "openai:x"
		if strings.Contains(env, "OLLAMA") {
			word = "ollama:x"
		}
		if _, err := opener(t, env, "").Open(t.Context(), nil, word, false); err != nil {
			t.Errorf("%s: %v, although the wrong proxy is not used", env, err)
		}
	}
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for provider, key := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"} {
		o := opener(t, key+"=k", "")
		m, err := o.Open(t.Context(), nil, "", false)
		if err != nil || !bytes.Contains(page, []byte("`"+provider+"` alone means `"+m.Name()+"`")) {
			t.Errorf("docs/agents.md does not name the model of %s without a name: %v", provider, err)
		}
	}
}

// TestDocsProviders checks that the example of docs/agents.md is a config, and that its comments
// name models of it.
func TestDocsProviders(t *testing.T) {
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\nproviders:")
	example, _, _ = strings.Cut(example, "```")
	words := regexp.MustCompile(`# --model (\S+)`).FindAllStringSubmatch(example, -1)
	if len(words) != 2 {
		t.Fatalf("the example of docs/agents.md names %d models, want 2:\n%s", len(words), example)
	}
	o := opener(t, "ROUTER_KEY=k WORK_ANTHROPIC_KEY=k", "providers:"+example)
	for _, word := range []string{words[0][1], words[1][1], "anthropic"} {
		if _, err := o.Open(t.Context(), nil, word, false); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	_, second, _ := strings.Cut(string(page), "providers:\n  azure:")
	second, _, _ = strings.Cut(second, "```")
	o = opener(t, "AZURE_OPENAI_API_KEY=k ROUTER_KEY=k TEAM_TOKEN=t OPENAI_API_KEY=k ANTHROPIC_API_KEY=k GEMINI_API_KEY=k", "providers:\n  azure:"+second)
	for _, word := range []string{"azure:a", "router:a", "openai", "anthropic", "gemini", "ollama:a"} {
		if _, err := o.Open(t.Context(), nil, word, false); err != nil {
			t.Errorf("the second example, %s: %v", word, err)
		}
	}
}

// TestFieldsOfCassidy checks that a config cannot replace what a client writes, and that the clients
// check the same.
func TestFieldsOfCassidy(t *testing.T) {
	for _, name := range []string{"model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction", "stream", "tools", "top_p"} {
		_, err := opener(t, "", "providers: {x: {api: chat, base_url: 'http://h', extra: {"+name+": 1}}}").Open(t.Context(), nil, "x:m", false)
		if direct := model.CheckExtra(value.NewDict(name, int64(1))); (err == nil) != (name == "top_p") || (direct == nil) != (name == "top_p") {
			t.Errorf("extra with %s: %v, and in Go: %v", name, err, direct)
		}
	}
}

// TestVariablesAreDocumented checks that docs/agents.md lists the variables that are
// read here.
func TestVariablesAreDocumented(t *testing.T) {
	var source []byte
	for _, file := range []string{"models.go", "providers.go", "proxy.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"([A-Z]+(?:_[A-Z]+)+)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 10 {
		t.Fatalf("the sources have %d variables, want at least 10", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name[1]+"`") {
			t.Errorf("docs/agents.md does not list %s", name[1])
		}
	}
}
