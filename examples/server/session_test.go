package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model/openai"
)

// modelServer serves a model that answers "count" with a call of bump, then with its
// result, and everything else with the number of messages that it was sent.
func modelServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		last := q.Messages[len(q.Messages)-1]
		answer := map[string]any{"role": "assistant", "content": fmt.Sprintf("read %d messages", len(q.Messages))}
		switch {
		case last.Role == "tool":
			answer["content"] = "counted: " + last.Content
		case strings.HasSuffix(strings.TrimSpace(last.Content), "count"):
			call := map[string]any{"name": "bump", "arguments": "{}"}
			answer["content"], answer["tool_calls"] = "", []any{map[string]any{"id": "c1", "type": "function", "function": call}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": answer}}})
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func (c client) says(session, text string) (answer string) {
	c.t.Helper()
	var reply struct{ Answer string }
	c.decode(c.do("POST", "/sessions/"+session, "", fmt.Sprintf(`{"text": %q}`, text), http.StatusOK), &reply)
	return reply.Answer
}

// TestSessions checks that a session remembers what was said, that it is not another
// one's or another tenant's, and how errors of the model are answered.
func TestSessions(t *testing.T) {
	t.Parallel()
	config := testConfig(testData(t))
	config.Model = &openai.Options{Model: "stand-in", BaseURL: modelServer(t)}
	_, c := open(t, config)
	o := c.as("oz")
	for _, test := range []struct {
		client
		session, want string
	}{{c, "s", "read 1 messages"}, {c, "s", "read 3 messages"}, {c, "t", "read 1 messages"}, {o, "s", "read 1 messages"}} {
		if got := test.says(test.session, "hi"); got != test.want {
			t.Errorf("session %s of %s: %q, want %q", test.session, test.user, got, test.want)
		}
	}
	if text := c.do("POST", "/sessions/s", "", `{"text": " "}`, http.StatusBadRequest); !strings.Contains(text, "empty") {
		t.Errorf("an empty message gave %s", text)
	}
	c.do("POST", "/sessions/s", "", `{`, http.StatusBadRequest)
}
