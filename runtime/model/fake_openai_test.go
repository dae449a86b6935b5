package model_test

import (
	"io"
	"net/http"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of POST /chat/completions as OpenAI documents it.
var openAIRequest = fields{
	"model": "string!", "messages": "array!", "tools": "array", "tool_choice": "string|object", "parallel_tool_calls": "boolean",
	"max_completion_tokens": "integer", "stream": "boolean", "stream_options": "object", "stop": "string|array", "n": "integer",
	"temperature": "number", "top_p": "number", "seed": "integer", "user": "string", "store": "boolean", "metadata": "object",
	"response_format": "object", "reasoning_effort": "string", "service_tier": "string", "verbosity": "string", "prompt_cache_key": "string",
}

var openAIMessage = map[string]fields{
	"system":    {"role": "string!", "content": "string!", "name": "string"},
	"user":      {"role": "string!", "content": "string|array!", "name": "string"},
	"assistant": {"role": "string!", "content": "string|null!", "name": "string", "refusal": "string|null", "tool_calls": "array"},
	"tool":      {"role": "string!", "content": "string!", "tool_call_id": "string!"},
}

var openAIPart = map[string]fields{
	"text":        {"type": "string!", "text": "string!"},
	"image_url":   {"type": "string!", "image_url": "object!"},
	"file":        {"type": "string!", "file": "object!"},
	"input_audio": {"type": "string!", "input_audio": "object!"},
}

type fakeOpenAI struct{}

func (fakeOpenAI) authorized(q request) bool {
	return q.header.Get("Authorization") == "Bearer "+testKey && q.header.Get("X-Api-Key") == ""
}

func (fakeOpenAI) fail(status int) string {
	if status == 400 {
		return `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	}
	return `{"error":{"message":"it went wrong","type":"server_error","param":null,"code":null}}`
}

func (fakeOpenAI) check(f *fake, q request) bool {
	t := f.t
	if q.method != "POST" || q.path != "/v1/chat/completions" || q.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s, %q", q.method, q.path, q.header.Get("Content-Type"))
	}
	strict(t, "the request", q.body, openAIRequest)
	if q.body.Bool("stream") != q.body.Has("stream_options") {
		t.Errorf("stream_options go with stream alone")
	}
	if q.body.Has("stream_options") {
		strict(t, "stream_options", inner(q.body, "stream_options"), fields{"include_usage": "boolean", "include_obfuscation": "boolean"})
	}
	for _, d := range dicts(t, q.body, "tools") {
		strict(t, "a tool", d, fields{"type": "string!", "function": "object!"})
		fn := inner(d, "function")
		strict(t, "a function", fn, fields{"name": "string!", "description": "string", "parameters": "object", "strict": "boolean"})
	}
	if format := inner(q.body, "response_format"); format != nil {
		strict(t, "response_format", format, fields{"type": "string!", "json_schema": "object"})
		strict(t, "json_schema", inner(format, "json_schema"), fields{"name": "string!", "schema": "object!", "strict": "boolean", "description": "string"})
	}
	open := map[string]bool{}
	for _, m := range dicts(t, q.body, "messages") {
		role := m.Text("role")
		strict(t, "a message of "+role, m, openAIMessage[role])
		if content, _ := m.Get("content"); value.TypeOf(content) == "array" {
			for _, part := range dicts(t, m, "content") {
				strict(t, "a part", part, openAIPart[part.Text("type")])
			}
		}
		if role == "tool" {
			if id := m.Text("tool_call_id"); !open[id] {
				t.Errorf("the result %q answers no call", id)
			}
			delete(open, m.Text("tool_call_id"))
			continue
		}
		if len(open) > 0 {
			t.Errorf("%s speaks before all calls are answered", role)
		}
		if v, _ := m.Get("content"); v == nil && !m.Has("tool_calls") {
			t.Errorf("a message of %s without content or calls", role)
		}
		for _, c := range dicts(t, m, "tool_calls") {
			strict(t, "a call", c, fields{"id": "string!", "type": "string!", "function": "object!"})
			strict(t, "a call's function", inner(c, "function"), fields{"name": "string!", "arguments": "string!"})
			open[c.Text("id")] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
	return true
}

func (fakeOpenAI) finish(t turn) string {
	switch {
	case t.length:
		return "length"
	case t.refuse:
		return "content_filter"
	case len(t.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (v fakeOpenAI) play(f *fake, w http.ResponseWriter, q request, t turn) {
	usage := value.NewDict("prompt_tokens", 12, "completion_tokens", 5, "total_tokens", 17, "prompt_tokens_details", value.NewDict("cached_tokens", 4))
	if q.body.Bool("stream") {
		v.stream(w, t, usage)
		return
	}
	message := value.NewDict("role", "assistant", "content", t.text, "refusal", nil)
	var calls value.List
	for _, c := range t.calls {
		calls = append(calls, value.NewDict("id", c.id, "type", "function", "function", value.NewDict("name", c.tool, "arguments", c.args)))
	}
	if calls != nil {
		message.Put("tool_calls", calls)
		if t.text == "" {
			message.Put("content", nil)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, js("id", "chatcmpl-1", "object", "chat.completion", "created", 1, "model", "m", "usage", usage,
		"choices", value.List{value.NewDict("index", 0, "message", message, "finish_reason", v.finish(t), "logprobs", nil)}))
}

func (v fakeOpenAI) stream(w http.ResponseWriter, t turn, usage *value.Dict) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	chunk := func(delta *value.Dict, finish value.Value) string {
		return "data: " + js("id", "chatcmpl-1", "object", "chat.completion.chunk", "created", 1, "model", "m", "usage", nil,
			"choices", value.List{value.NewDict("index", 0, "delta", delta, "finish_reason", finish)}) + "\n\n"
	}
	var last []string
	for i, c := range t.calls { // the name, then the arguments in halves, interleaved
		last = append(last, chunk(value.NewDict("tool_calls", value.List{value.NewDict("index", i, "id", c.id, "type", "function",
			"function", value.NewDict("name", c.tool, "arguments", ""))}), nil))
	}
	for half := range 2 {
		for i, c := range t.calls {
			part := c.args[:len(c.args)/2]
			if half == 1 {
				part = c.args[len(c.args)/2:]
			}
			last = append(last, chunk(value.NewDict("tool_calls", value.List{value.NewDict("index", i, "function", value.NewDict("arguments", part))}), nil))
		}
	}
	last = append(last, chunk(value.NewDict(), v.finish(t)),
		"data: "+js("id", "chatcmpl-1", "object", "chat.completion.chunk", "choices", value.List{}, "usage", usage)+"\n\n", "data: [DONE]\n\n")
	stream(w, t, []string{": a comment\n\n", chunk(value.NewDict("role", "assistant", "content", ""), nil)},
		func(p string) string { return chunk(value.NewDict("content", p), nil) }, last)
}
