package model_test

import (
	"io"
	"net/http"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of POST /api/chat as Ollama documents it.
var ollamaRequest = fields{
	"model": "string!", "messages": "array!", "tools": "array", "stream": "boolean!", "format": "string|object", "options": "object",
	"keep_alive": "string|integer", "think": "boolean|string",
}

var ollamaMessage = map[string]fields{
	"system":    {"role": "string!", "content": "string!"},
	"user":      {"role": "string!", "content": "string!", "images": "array"},
	"assistant": {"role": "string!", "content": "string!", "thinking": "string", "tool_calls": "array"},
	"tool":      {"role": "string!", "content": "string!", "tool_name": "string!"},
}

type fakeOllama struct {
	text int // how often the arguments are encoded as a string
}

func (fakeOllama) authorized(q request) bool {
	return q.header.Get("Authorization") == "Bearer "+testKey
}

func (fakeOllama) fail(status int) string {
	return `{"error":"it went wrong: exceeds the context length"}`
}

func (fakeOllama) check(f *fake, q request) bool {
	t := f.t
	if q.method != "POST" || q.path != "/api/chat" {
		t.Errorf("%s %s", q.method, q.path)
	}
	strict(t, "the request", q.body, ollamaRequest)
	if q.body.Has("options") {
		strict(t, "the options", inner(q.body, "options"), fields{"num_predict": "integer", "num_ctx": "integer", "temperature": "number", "seed": "integer"})
	}
	for _, d := range dicts(t, q.body, "tools") {
		strict(t, "a tool", d, fields{"type": "string!", "function": "object!"})
		strict(t, "a function", inner(d, "function"), fields{"name": "string!", "description": "string!", "parameters": "object!"})
		checkParameters(t, inner(inner(d, "function"), "parameters"))
	}
	var open []string // the names, in the order of the calls
	for _, m := range dicts(t, q.body, "messages") {
		role := m.Text("role")
		strict(t, "a message of "+role, m, ollamaMessage[role])
		if role == "tool" {
			if len(open) == 0 || open[0] != m.Text("tool_name") {
				t.Errorf("a result of %q, open calls: %q", m.Text("tool_name"), open)
			} else {
				open = open[1:]
			}
			continue
		}
		if len(open) > 0 {
			t.Errorf("%s speaks before all calls are answered", role)
		}
		for _, c := range dicts(t, m, "tool_calls") {
			strict(t, "a call", c, fields{"function": "object!"})
			strict(t, "a call's function", inner(c, "function"), fields{"name": "string!", "arguments": "object!"})
			open = append(open, inner(c, "function").Text("name"))
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
	return true
}

func (v fakeOllama) play(f *fake, w http.ResponseWriter, q request, t turn) {
	var calls value.List
	for _, c := range t.calls {
		var args value.Value = c.args
		switch v.text {
		case 0:
			args = parse(f.t, c.args)
		case 2:
			args = value.FormatJSON(c.args, "")
		}
		calls = append(calls, value.NewDict("function", value.NewDict("name", c.tool, "arguments", args)))
	}
	message := value.NewDict("role", "assistant", "content", "")
	if calls != nil {
		message.Put("tool_calls", calls)
	}
	reason := "stop"
	if t.length {
		reason = "length"
	}
	end := []value.Value{"model", "m", "created_at", "2026-01-01T00:00:00Z", "message", message, "done", true, "done_reason", reason,
		"total_duration", 9, "load_duration", 1, "prompt_eval_count", 12, "prompt_eval_duration", 1, "eval_count", 5, "eval_duration", 1}
	if !q.body.Bool("stream") {
		message.Put("content", t.text)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, js(end...))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	stream(w, t, nil, func(p string) string {
		return js("model", "m", "created_at", "2026-01-01T00:00:00Z", "message", value.NewDict("role", "assistant", "content", p), "done", false) + "\n"
	}, []string{js(end...) + "\n"})
}
