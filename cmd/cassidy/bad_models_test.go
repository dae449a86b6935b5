package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/internal/testutil"
)

// badModels is a server of models, each of which does one thing wrong, until it is reminded.
func badModels(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // the sizes of the model
			http.NotFound(w, r)
			return
		}
		var q struct {
			Model    string
			Messages []json.RawMessage
			Tools    []json.RawMessage
			Format   json.RawMessage `json:"response_format"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.Header().Set("Content-Type", "application/json")
		say := func(text, more string) {
			said, _ := json.Marshal(text)
			fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": %s%s}}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}`, said, more)
		}
		refuse := func(said string) {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error": {"message": %q, "type": "invalid_request_error"}}`, said)
		}
		switch reminded := len(q.Messages) > 2; {
		case q.Model == "calls" && !reminded:
			say("", `, "tool_calls": [`+list(testutil.Times(400, 4000), `{"id": "c%d", "type": "function", "function": {"name": "read_file", "arguments": "{\"filepath\": \"a.txt\", \"offset\": %[1]d}"}}`)+`]`)
		case q.Model == "text" && !reminded:
			say(list(10_000, `{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt", "offset": %d}, "reasoning": "x", "status": "continue"}}`), "")
		case q.Model == "sources":
			say("TASK COMPLETE: 42", `, "annotations": [`+list(90_000, `{"type": "url_citation", "url_citation": {"url": "https://example.com/`+strings.Repeat("x", testutil.Times(1, 1000))+`%d"}}`)+`]`)
		case q.Model == "few-sources":
			say("TASK COMPLETE: 42", `, "annotations": [`+list(5000, `{"type": "url_citation", "url_citation": {"url": "https://example.com/`+strings.Repeat("x", 3000)+`%d"}}`)+`]`)
		case q.Model == "plain":
			say("I will not call anything.", "")
		case q.Model == "strict" && q.Format != nil:
			refuse("Invalid schema for response_format: 'oneOf' is not permitted")
		case q.Model == "strict-tools" && q.Tools != nil:
			refuse("Invalid schema for function 'read_file': 'minimum' is not permitted")
		case q.Model == "strict":
			say("[1]", "")
		case q.Model == "stalls":
			_, _ = io.WriteString(w, `{"choices": [`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			say("TASK COMPLETE: 42", "")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestResumeWaits checks that a run which a silent model has parked can be resumed with another idle
// timeout.
func TestResumeWaits(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, nil)
	env := map[string]string{"CASSIDY_HOME": p.Home, "OPENAI_BASE_URL": badModels(t), "OPENAI_API_KEY": "k", "OPENAI_API": "chat"}
	for _, tt := range []struct{ args, says string }{
		{"task hello --model openai:stalls --run-id r --timeout 200ms", "for 200ms (idle timeout)"},
		{"runs resume r --timeout 300ms", "for 300ms (idle timeout)"},
		{"runs resume r", "for 200ms (idle timeout)"},
	} {
		_, stderr, code := apptest.Run(t, p.Dir, env, p.Commands, strings.Fields(tt.args)...)
		if code != 4 || !strings.Contains(stderr, tt.says) || !strings.Contains(stderr, "cassidy runs resume r") {
			t.Errorf("%s ended with %d and reports\n%s\nwant %q", tt.args, code, stderr, tt.says)
		}
	}
	if _, stderr, code := apptest.Run(t, p.Dir, env, p.Commands, "runs", "resume", "r", "--timeout", "-1s"); code != 2 || !strings.Contains(stderr, "--timeout must be a positive duration") {
		t.Errorf("a negative timeout ended with %d and reports\n%s", code, stderr)
	}
}

// list writes n items with their numbers, from 1.
func list(n int, item string) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, item, i+1)
	}
	return b.String()
}

// TestBadModels checks that what a model or its server does wrong is one error with the next step,
// or is corrected, and how the run can continue.
func TestBadModels(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, nil)
	p.Write("a.txt", "one\n")
	p.Write("list.json", `{"type": "array", "items": {"type": "integer"}}`)
	for _, name := range []string{"huge.png", "huge.txt"} {
		p.Write(name, "")
		if err := os.Truncate(filepath.Join(p.Dir, name), 100<<20); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"CASSIDY_HOME": p.Home, "OPENAI_BASE_URL": badModels(t), "OPENAI_API_KEY": "k", "OPENAI_API": "chat"}
	for i, tt := range []struct {
		model string
		args  []string
		code  int
		out   string
		says  []string
		state string // of the run, if it is recorded
	}{
		{"calls", []string{"--tools", "read_file"}, 0, "42", []string{"too many calls: limit 64. Nothing was called", "used 2 requests"}, "done"},
		{"text", []string{"--tools", "read_file", "--format", "pure_json"}, 0, "42", []string{"too many calls: limit 64. Nothing was called", "compacted the conversation"}, "done"},
		{"sources", nil, 5, "", []string{"invalid response: invalid JSON", "the text has more than 100000 values", "hint: "}, "parked"},
		{"few-sources", []string{"--format", "pure_json"}, 0, "42\n\n[1] https://example.com/xxx", nil, "done"},
		{"plain", []string{"--tools", "read_file", "--tool-choice", "required"}, 1, "", []string{"did not call a tool, even after 2 reminders (tool choice: \"required\")", "hint: not every server supports a tool choice"}, "failed"},
		{"plain", []string{"--tools", "read_file,list_files", "--tool-choice", "list_files"}, 1, "", []string{`did not call a tool, even after 2 reminders (tool choice: "list_files")`}, "failed"},
		{"plain", []string{"--tools", "read_file", "--format", "pure_json"}, 1, "", []string{"the last replies of the model have neither a valid call nor an answer, even after reminders", "hint: "}, "done"},
		{"strict", []string{"--schema", filepath.Join(p.Dir, "list.json")}, 0, "[1]\n", nil, "done"},
		{"strict-tools", []string{"--tools", "read_file"}, 1, "", []string{"HTTP 400: Invalid schema for function 'read_file'", "hint: "}, "failed"},
		{"stalls", []string{"--timeout", "300ms"}, 4, "", []string{"no data from the model openai:stalls for 300ms (idle timeout)", "hint: ", "--timeout", "then: cassidy runs resume stalls-9"}, "parked"},
		{"good", []string{"--attach", filepath.Join(p.Dir, "huge.png")}, 4, "", []string{"attach " + filepath.Join(p.Dir, "huge.png"), "the file is too long: 100.0 MB, limit 20 MB", "hint: "}, ""},
		{"good", []string{"--attach", filepath.Join(p.Dir, "huge.txt")}, 4, "", []string{"the file is too long: 100.0 MB, limit 20 MB"}, ""},
	} {
		t.Run(tt.model+" "+strings.Join(tt.args, " "), func(t *testing.T) {
			id := fmt.Sprintf("%s-%d", tt.model, i)
			args := append([]string{"task", "What is it?", "--model", "openai:" + tt.model, "--run-id", id}, tt.args...)
			stdout, stderr, code := apptest.Run(t, p.Dir, env, p.Commands, args...)
			if code != tt.code || !strings.Contains(stdout, tt.out) || len(stdout) > 500_000 || len(stderr) > 5000 {
				t.Errorf("it ended with %d after %d bytes of output: %.300q\n%.2000s\nwant %d and %q", code, len(stdout), stdout, stderr, tt.code, tt.out)
			}
			for _, says := range tt.says {
				if !strings.Contains(stderr, says) {
					t.Errorf("it reports\n%.2000s\nwant %q", stderr, says)
				}
			}
			if strings.Contains(stdout, "https") && !strings.HasSuffix(stdout, "\n… more sources\n") {
				t.Errorf("the sources end with %q", stdout[len(stdout)-100:])
			}
			if tt.state == "" {
				return
			}
			if list, _, _ := p.Run("runs", "list"); !strings.Contains(strings.Join(strings.Fields(list), " "), id+" task "+tt.state) {
				t.Errorf("runs list shows\n%s\nwant the run %s", list, tt.state)
			}
		})
	}
}
