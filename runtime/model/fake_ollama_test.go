package model_test

import (
	"io"
	"net/http"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of POST /api/chat as Ollama documents it.
var ollamaRequest = fields{
	"model": "string!", "messages": "array!", "tools": "array", "stream": "boolean!", "format": "string|object", "options": "object",
	"keep_alive": "string|integer", "think": "boolean|string", "truncate": "boolean!", "shift": "boolean!",
}

var ollamaMessage = map[string]fields{
	"system":    {"role": "string!", "content": "string!"},
	"user":      {"role": "string!", "content": "string!", "images": "array"},
	"assistant": {"role": "string!", "content": "string!", "thinking": "string", "tool_calls": "array"},
	"tool":      {"role": "string!", "content": "string!", "tool_name": "string!", "tool_call_id": "string!", "images": "array"},
}

type fakeOllama struct {
	text  int  // how often the arguments are encoded as a string
	shown bool // the context is that of /api/show
}

func (fakeOllama) authorized(q request) bool {
	return q.header.Get("Authorization") == "Bearer "+testKey
}

func (fakeOllama) fail(status int) string {
	return `{"error":"it went wrong: exceeds the context length"}`
}

func (v fakeOllama) check(f *fake, q request) bool {
	t := f.t
	if q.method == "POST" && q.path == "/api/show" {
		strict(t, "the request", q.body, fields{"model": "string!", "verbose": "boolean"})
		if !v.shown {
			t.Error("the model is looked up although the context is known")
		}
		return false
	}
	if q.method != "POST" || q.path != "/api/chat" {
		t.Errorf("%s %s", q.method, q.path)
	}
	strict(t, "the request", q.body, ollamaRequest)
	options := inner(q.body, "options")
	strict(t, "the options", options, fields{"num_predict": "integer", "num_ctx": "integer!", "temperature": "number", "seed": "integer"})
	if want := map[bool]int64{false: 8192, true: 40960}[v.shown]; options.Int("num_ctx") != want {
		t.Errorf("num_ctx is %d, want %d", options.Int("num_ctx"), want)
	}
	if q.body.Bool("truncate") || q.body.Bool("shift") {
		t.Error("the server may drop messages")
	}
	for _, d := range dicts(t, q.body, "tools") {
		strict(t, "a tool", d, fields{"type": "string!", "function": "object!"})
		strict(t, "a function", inner(d, "function"), fields{"name": "string!", "description": "string!", "parameters": "object!"})
	}
	open := map[string]string{} // the names of the calls by their IDs
	for _, m := range dicts(t, q.body, "messages") {
		role := m.Text("role")
		strict(t, "a message of "+role, m, ollamaMessage[role])
		if role == "tool" {
			if name, ok := open[m.Text("tool_call_id")]; !ok || name != m.Text("tool_name") {
				t.Errorf("a result of %q for %q, open calls: %q", m.Text("tool_name"), m.Text("tool_call_id"), open)
			}
			delete(open, m.Text("tool_call_id"))
			continue
		}
		if len(open) > 0 {
			t.Errorf("%s speaks before all calls are answered", role)
		}
		for i, c := range dicts(t, m, "tool_calls") {
			strict(t, "a call", c, fields{"id": "string!", "function": "object!"})
			function := inner(c, "function")
			strict(t, "a call's function", function, fields{"index": "integer!", "name": "string!", "arguments": "object!"})
			if function.Int("index") != int64(i) {
				t.Errorf("call %d has the index %d", i, function.Int("index"))
			}
			open[c.Text("id")] = function.Text("name")
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
	return true
}

func (v fakeOllama) play(f *fake, w http.ResponseWriter, q request, t turn) {
	if q.path == "/api/show" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, js("capabilities", value.List{"completion", "tools"}, "model_info", value.NewDict("general.architecture", "qwen3", "qwen3.context_length", 40960)))
		return
	}
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
