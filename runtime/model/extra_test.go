package model_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A setup is what the options of all providers have in common.
type setup struct {
	url   string
	auth  model.Auth
	extra *value.Dict
	http  model.HTTP
}

// makers make a model of each API.
var makers = map[string]func(s *setup) (model.Model, error){
	"chat": func(s *setup) (model.Model, error) {
		return openai.New(&openai.Options{API: "chat", Model: "m", BaseURL: s.url, Key: "k-123456", Auth: s.auth, Extra: s.extra, HTTP: s.http})
	},
	"responses": func(s *setup) (model.Model, error) {
		return openai.New(&openai.Options{API: "responses", Model: "m", BaseURL: s.url, Key: "k-123456", Auth: s.auth, Extra: s.extra, HTTP: s.http})
	},
	"anthropic": func(s *setup) (model.Model, error) {
		return anthropic.New(&anthropic.Options{Model: "m", BaseURL: s.url, Key: "k-123456", Auth: s.auth, Extra: s.extra, HTTP: s.http})
	},
	"gemini": func(s *setup) (model.Model, error) {
		return gemini.New(&gemini.Options{Model: "m", BaseURL: s.url, Key: "k-123456", Auth: s.auth, Extra: s.extra, HTTP: s.http})
	},
	"ollama": func(s *setup) (model.Model, error) {
		return ollama.New(&ollama.Options{Model: "m", BaseURL: s.url, Key: "k-123456", Context: 1000, Extra: s.extra, HTTP: s.http})
	},
	"cassidyai": func(s *setup) (model.Model, error) {
		return cassidyai.New(&cassidyai.Options{Assistant: "m", BaseURL: s.url, Key: "k-123456", Auth: s.auth, HTTP: s.http})
	},
}

// TestHeaders checks in which header each API carries the key, that further headers are sent, and
// that errors contain neither the key nor another secret.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var sent http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": {"message": "wrong: k-123456, other-secret"}}`)
	}))
	defer server.Close()
	for _, tt := range []struct {
		api, auth, header, want string
	}{
		{"chat", "", "Authorization", "Bearer k-123456"}, {"chat", "bearer", "Authorization", "Bearer k-123456"},
		{"chat", "api-key", "Api-Key", "k-123456"}, {"responses", "api-key", "Api-Key", "k-123456"}, {"responses", "x-api-key", "X-Api-Key", "k-123456"},
		{"anthropic", "", "X-Api-Key", "k-123456"}, {"anthropic", "bearer", "Authorization", "Bearer k-123456"},
		{"gemini", "", "X-Goog-Api-Key", "k-123456"}, {"gemini", "bearer", "Authorization", "Bearer k-123456"},
		{"ollama", "", "Authorization", "Bearer k-123456"},
		{"cassidyai", "", "X-Api-Key", "k-123456"}, {"cassidyai", "bearer", "Authorization", "Bearer k-123456"},
	} {
		more := http.Header{"X-Tenant": {"blue"}, "Authorization": {"Basic x"}, "anthropic-beta": {"b1,b2"}}
		if tt.header != "Authorization" {
			delete(more, "Authorization")
		}
		m, err := makers[tt.api](&setup{url: server.URL, auth: model.Auth(tt.auth), http: model.HTTP{Header: more, Secrets: []string{"other-secret"}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}})
		if err == nil || strings.Contains(err.Error(), "123456") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error is %v", tt.api, err)
		}
		if got := sent.Values(tt.header); len(got) != 1 || got[0] != tt.want || sent.Get("X-Tenant") != "blue" || sent.Get("Anthropic-Beta") != "b1,b2" {
			t.Errorf("%s with auth %q: the headers are %v, want %s: %s", tt.api, tt.auth, sent, tt.header, tt.want)
		}
		for _, header := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
			if header != tt.header && sent.Get(header) != "" {
				t.Errorf("%s with auth %q: the key is also in %s", tt.api, tt.auth, header)
			}
		}
	}
}

// TestAnthropicAuth checks that a key that is refused in its header is sent as a bearer token, which
// is remembered, and that a wrong key is tried in both ways each time.
func TestAnthropicAuth(t *testing.T) {
	t.Parallel()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, cmp.Or(r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")))
		if r.Header.Get("Authorization") != "Bearer k-123456" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	}))
	defer server.Close()
	for _, tt := range []struct {
		auth model.Auth
		key  string
		want string // what is sent for two requests
	}{
		{"", "k-123456", "k-123456,Bearer k-123456,Bearer k-123456"},
		{model.AuthAuto, "wrong", "wrong,Bearer wrong,wrong,Bearer wrong"},
		{model.AuthKey, "k-123456", "k-123456,k-123456"},
		{model.AuthBearer, "k-123456", "Bearer k-123456,Bearer k-123456"},
		{"", "", ","},
	} {
		sent = nil
		m, err := anthropic.New(&anthropic.Options{Model: "m", BaseURL: server.URL, Key: tt.key, Auth: tt.auth})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}})
		}
		works := strings.HasSuffix(tt.want, "Bearer k-123456")
		if got := strings.Join(sent, ","); got != tt.want || (err == nil) != works {
			t.Errorf("auth %q with the key %q: sent %q, %v, want %q", tt.auth, tt.key, got, err, tt.want)
		}
	}
}

// TestWrongOptions checks that a wrong way to send the key, and further fields that would replace
// the conversation, are errors with a hint.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		api   string
		s     setup
		hints []string
	}{
		{"chat", setup{auth: "x-goog-api-key"}, []string{"bearer or api-key or x-api-key"}},
		{"anthropic", setup{auth: "api-key"}, []string{"auto or x-api-key or bearer"}},
		{"gemini", setup{auth: "auto"}, []string{"x-goog-api-key or bearer"}},
		{"cassidyai", setup{auth: "api-key"}, []string{"x-api-key or bearer or auto"}},
		{"chat", setup{extra: value.NewDict("messages", value.List{})}, []string{"remove 'messages'"}},
		{"responses", setup{extra: value.NewDict("input", "x")}, []string{"remove 'input'"}},
		{"anthropic", setup{extra: value.NewDict("model", "x")}, []string{"remove 'model'"}},
		{"gemini", setup{extra: value.NewDict("tools", "x")}, []string{"[{type: web_search}]"}},
		{"anthropic", setup{extra: value.NewDict("tools", value.List{"web_search"})}, []string{"[{type: web_search}]"}},
		{"anthropic", setup{extra: value.NewDict("tools", value.List{})}, []string{"[{type: web_search}]"}},
		{"ollama", setup{extra: value.NewDict("stream", true)}, []string{"remove 'stream'"}},
	} {
		_, err := makers[tt.api](&tt.s)
		e := value.ErrorOf(err, value.Failed)
		if e == nil || e.Kind != value.Invalid || !strings.Contains(e.Hint, tt.hints[0]) {
			t.Errorf("%s with %+v: %v with the hint %q, want Invalid and the hint %q", tt.api, tt.s, e, e.Hint, tt.hints[0])
		}
	}
}

// TestExtraMerges checks how further fields are merged with a request.
func TestExtraMerges(t *testing.T) {
	t.Parallel()
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		sent = string(data)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	warm := 0.5
	for _, tt := range []struct {
		api   string
		extra *value.Dict
		want  string // a part of the body
		gone  string // not a part
	}{
		{"chat", value.NewDict("temperature", 0.2), `"temperature":0.2`, "0.5"},
		{"chat", value.NewDict("provider", value.NewDict("order", value.List{"a"})), `"provider":{"order":["a"]}`, "never"},
		{"responses", value.NewDict("text", value.NewDict("verbosity", "low")), `"text":{"verbosity":"low"}`, "never"},
		{"responses", value.NewDict("include", nil), `"model":"m"`, "include"},
		{"anthropic", value.NewDict("stop_sequences", value.List{"END"}), `"stop_sequences":["END"]`, "never"},
		{"gemini", value.NewDict("generationConfig", value.NewDict("topP", 0.3)), `"generationConfig":{"temperature":0.5,"topP":0.3}`, "never"},
		{"ollama", value.NewDict("options", value.NewDict("seed", int64(7)), "keep_alive", "1h"), `"options":{"num_ctx":1000,"temperature":0.5,"seed":7},"keep_alive":"1h"`, "never"},
	} {
		m, err := makers[tt.api](&setup{url: server.URL, extra: tt.extra})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}, Temperature: &warm})
		if err == nil || !strings.Contains(sent, tt.want) || strings.Contains(sent, tt.gone) {
			t.Errorf("%s with %s: %v, sent %s, want %s without %q", tt.api, tt.extra, err, sent, tt.want, tt.gone)
		}
	}
}
