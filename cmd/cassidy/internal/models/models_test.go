package models_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/models"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestVariables checks what each environment variable adds to the request of a model.
func TestVariables(t *testing.T) {
	var sent *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r
		body, _ = io.ReadAll(r.Body)
		http.Error(w, "{}", http.StatusBadRequest) // what was sent is all that counts
	}))
	defer server.Close()
	for _, tt := range []struct {
		env   string // URL stands for the server
		word  string // the model; "" is the first whose key is set
		path  string
		heads string // "name: value" of the headers that it must have, separated by a comma
		body  string // a part of the body
	}{
		{"CASSIDY_API_KEY=k CASSIDY_ASSISTANT_ID=a CASSIDY_BASE_URL=URL", "", "/assistants/thread/create", "x-api-key: k", ""},
		{"CASSIDY_API_KEY=k CASSIDY_BASE_URL=URL CASSIDY_AUTH_STYLE=bearer", "cassidy:a", "/assistants/thread/create", "authorization: Bearer k", ""},
		{"OPENAI_API_KEY=k OPENAI_BASE_URL=URL/v1", "", "/v1/chat/completions", "authorization: Bearer k", `"model":"gpt-5"`},
		{"OPENAI_BASE_URL=URL/v1", "openai:small", "/v1/chat/completions", "authorization: ", `"model":"small"`},
		{"ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=URL", "", "/v1/messages", "x-api-key: k,anthropic-version: " + anthropic.Version, ""},
		{"ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=URL ANTHROPIC_VERSION=2023-06-01", "", "/v1/messages", "anthropic-version: 2023-06-01", ""},
		{"OLLAMA_HOST=URL", "ollama:small", "/api/chat", "", `"model":"small"`},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(tt.env) {
			name, v, _ := strings.Cut(pair, "=")
			if path, ok := strings.CutPrefix(v, "URL"); ok {
				v = server.URL + path
			}
			env[name] = v
		}
		sent = nil
		o := models.Opener{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
		m, err := o.Open(t.Context(), nil, tt.word, false)
		if err != nil {
			t.Errorf("%s: %v", tt.env, err)
			continue
		}
		if _, err := m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}); err == nil || sent == nil {
			t.Errorf("%s: error %v, request %v", tt.env, err, sent)
			continue
		}
		if sent.URL.Path != tt.path {
			t.Errorf("%s: the request goes to %s, want %s", tt.env, sent.URL.Path, tt.path)
		}
		if !bytes.Contains(body, []byte(tt.body)) {
			t.Errorf("%s: the body is %s, want %s in it", tt.env, body, tt.body)
		}
		for pair := range strings.SplitSeq(tt.heads, ",") {
			if name, want, ok := strings.Cut(pair, ": "); ok && sent.Header.Get(name) != want {
				t.Errorf("%s: header %s is %q, want %q", tt.env, name, sent.Header.Get(name), want)
			}
		}
	}
}

// TestWrongModels checks that errors name the variables and models to set.
func TestWrongModels(t *testing.T) {
	for _, tt := range []struct{ env, word, want, hint string }{
		{"OPENAI_BASE_URL=localhost:1", "openai:x", "OPENAI_BASE_URL is invalid", "use a URL with http://"},
		{"OLLAMA_HOST=http://a?b", "ollama:x", "OLLAMA_HOST has a password, a query or a fragment", ""},
		{"OPENAI_BASE_URL=http://localhost:1", "", "no model is configured", "openai:NAME with OPENAI_BASE_URL"},
	} {
		name, v, _ := strings.Cut(tt.env, "=")
		o := only(name, v)
		_, err := o.Open(t.Context(), nil, tt.word, false)
		e := value.ErrorOf(err, value.Failed)
		if e == nil || e.Message() != tt.want || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s, %q: %v with the hint %q, want %s with %s", tt.env, tt.word, e, e.Hint, tt.want, tt.hint)
		}
	}
	page, err := os.ReadFile("../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for provider, key := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"} {
		o := only(key, "k")
		m, err := o.Open(t.Context(), nil, "", false)
		if err != nil || !bytes.Contains(page, []byte("`"+provider+"` alone means `"+m.Name()+"`")) {
			t.Errorf("docs/agents.md does not name the model of %s without a name: %v", provider, err)
		}
	}
}

// only returns an opener whose environment has one variable.
func only(name, v string) *models.Opener {
	return &models.Opener{Env: func(asked string) (string, bool) {
		if asked != name {
			return "", false
		}
		return v, true
	}}
}

// TestVariablesAreDocumented checks that docs/agents.md lists the variables that are
// read here.
func TestVariablesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("models.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"([A-Z]+(?:_[A-Z]+)+)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 10 {
		t.Fatalf("models.go has %d variables, want at least 10", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name[1]+"`") {
			t.Errorf("docs/agents.md does not list %s", name[1])
		}
	}
}
