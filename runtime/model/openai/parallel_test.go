package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestParallel has a server that refuses a part of two requests at the same time: both are sent
// again without it.
func TestParallel(t *testing.T) {
	const needs = `{"error":{"message":"Function tools with reasoning_effort are not supported. Use /v1/responses."}}`
	for _, tt := range []struct{ name, api, path, part, refusal string }{
		{"summary", "responses", "/responses", `"summary"`, `{"error":{"message":"no","param":"reasoning.summary"}}`},
		{"encrypted reasoning", "responses", "/responses", `"include"`, `{"error":{"message":"no","param":"include"}}`},
		{"schema", "chat", "/chat/completions", `"response_format"`, `{"error":{"message":"response_format is not supported"}}`},
		{"chat completions", "", "/chat/completions", "", needs},
	} {
		var both, done sync.WaitGroup
		both.Add(2)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == tt.path && strings.Contains(string(body), tt.part):
				both.Done()
				both.Wait()
				w.WriteHeader(400)
				io.WriteString(w, tt.refusal)
			case r.URL.Path == "/responses":
				io.WriteString(w, responsesHi)
			default:
				io.WriteString(w, chatHi)
			}
		}))
		m, err := openai.New(&openai.Options{API: tt.api, Model: "m", BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			done.Go(func() {
				r := &model.Request{Messages: hello().Messages, Schema: value.NewDict("type", "object")}
				if _, err := m.Ask(t.Context(), r); err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
			})
		}
		done.Wait()
		server.Close()
	}
}
