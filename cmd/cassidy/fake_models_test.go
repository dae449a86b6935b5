package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeProviders starts a server with a folder for each API of models: /chat, /anthropic,
// /gemini and /ollama. It knows the model small, and the key right. The key poor has no quota.
// As a proxy it answers with a page.
func fakeProviders(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "api.test" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><head><title>Blocked by the firewall</title></head></html>")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if status, said := refusal(r); status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, said)
			return
		}
		if list, ok := fakeLists[r.URL.Path]; ok {
			_, _ = io.WriteString(w, list)
			return
		}
		answerAs(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// fakeLists are the lists of models, as the APIs return them.
var fakeLists = map[string]string{
	"/chat/models": `{"object": "list", "data": [{"id": "small", "object": "model"}, {"id": "large", "context_length": 262144,
		"top_provider": {"max_completion_tokens": 32768}, "pricing": {"prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0.00000025"}}]}`,
	"/anthropic/v1/models": `{"data": [{"type": "model", "id": "claude-haiku-4-5", "display_name": "Haiku"}, {"type": "model", "id": "claude-new", "display_name": "New"}],
		"has_more": false, "first_id": "claude-haiku-4-5", "last_id": "claude-new"}`,
	"/gemini/models":   `{"models": [{"name": "models/gemini-3-pro", "inputTokenLimit": 1000000, "outputTokenLimit": 60000, "supportedGenerationMethods": ["generateContent"]}]}`,
	"/ollama/api/tags": `{"models": [{"name": "small:latest", "model": "small:latest", "size": 1, "details": {"family": "llama"}}]}`,
	"/ollama/api/show": `{"capabilities": ["completion", "tools"], "model_info": {"general.architecture": "llama", "llama.context_length": 8192}}`,
}

// refusal returns the answer to a wrong key, and to one without quota, or 0.
func refusal(r *http.Request) (status int, said string) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	switch key {
	case "", "right":
		return 0, ""
	case "poor":
		return 429, `{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}`
	}
	return 401, `{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}`
}

// answerAs answers a request to a model in the chat API or in that of Ollama.
func answerAs(w http.ResponseWriter, r *http.Request) {
	var q struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&q)
	const text = "TASK COMPLETE: hello from "
	switch {
	case r.URL.Path == "/chat/chat/completions" && q.Model == "small":
		fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": "%schat"}, "finish_reason": "stop"}]}`, text)
	case r.URL.Path == "/ollama/api/chat" && strings.HasPrefix(q.Model, "small"):
		fmt.Fprintf(w, `{"message": {"role": "assistant", "content": "%sollama"}, "done": true}`, text)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"error": {"message": "The model '%s' does not exist", "code": "model_not_found"}}`, q.Model)
	}
}
