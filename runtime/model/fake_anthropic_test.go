package model_test

import (
	"io"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of POST /v1/messages as Anthropic documents it for the version
// 2026-10-21, which has no sampling parameters.
var anthropicRequest = fields{
	"model": "string!", "max_tokens": "integer!", "messages": "array!", "system": "string|array", "tools": "array", "tool_choice": "object",
	"stream": "boolean", "stop_sequences": "array", "metadata": "object", "thinking": "object", "service_tier": "string",
	"output_config": "object", "container": "object", "inference_geo": "string",
}

var anthropicBlock = map[string]fields{
	"text":              {"type": "string!", "text": "string!", "cache_control": "object", "citations": "array|null"},
	"tool_use":          {"type": "string!", "id": "string!", "name": "string!", "input": "object!", "caller": "object", "cache_control": "object"},
	"tool_result":       {"type": "string!", "tool_use_id": "string!", "content": "string|array", "is_error": "boolean", "cache_control": "object"},
	"thinking":          {"type": "string!", "thinking": "string!", "signature": "string!"},
	"redacted_thinking": {"type": "string!", "data": "string!"},
}

type fakeAnthropic struct {
	version  string // that is wanted
	thinking bool   // it thinks before it answers, and wants that back
}

func (fakeAnthropic) authorized(q request) bool {
	return q.header.Get("X-Api-Key") == testKey && q.header.Get("Authorization") == ""
}

func (fakeAnthropic) fail(status int) string {
	if status == 400 {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"req_1"}`
	}
	return `{"type":"error","error":{"type":"api_error","message":"it went wrong"},"request_id":"req_1"}`
}

func (v fakeAnthropic) check(f *fake, q request) bool {
	t := f.t
	if q.method != "POST" || q.path != "/v1/messages" || q.header.Get("Anthropic-Version") != v.version {
		t.Errorf("%s %s, version %q", q.method, q.path, q.header.Get("Anthropic-Version"))
	}
	strict(t, "the request", q.body, anthropicRequest)
	for _, d := range dicts(t, q.body, "tools") {
		strict(t, "a tool", d, fields{"name": "string!", "description": "string", "input_schema": "object!", "type": "string", "strict": "boolean"})
		checkParameters(t, inner(d, "input_schema"))
	}
	open, want := map[string]bool{}, "user"
	for _, m := range dicts(t, q.body, "messages") {
		strict(t, "a message", m, fields{"role": "string!", "content": "array!"})
		if m.Text("role") != want {
			t.Errorf("a message of %s where one of %s must follow", m.Text("role"), want)
		}
		v.checkBlocks(f, m, open, q.body.Has("tools"))
		if want = "assistant"; m.Text("role") == "assistant" {
			want = "user"
		}
	}
	if want != "assistant" {
		t.Errorf("the last message is not the user's")
	}
	return true
}

func (v fakeAnthropic) checkBlocks(f *fake, m *value.Dict, open map[string]bool, tools bool) {
	t := f.t
	blocks := dicts(t, m, "content")
	if len(blocks) == 0 {
		t.Errorf("a message without content")
	}
	other, used, thought := false, false, false
	for _, b := range blocks {
		kind := b.Text("type")
		strict(t, "a block of "+kind, b, anthropicBlock[kind])
		switch kind {
		case "text":
			other = true
			if strings.TrimSpace(b.Text("text")) == "" {
				t.Errorf("a text block without text")
			}
		case "tool_use":
			used = true
			open[b.Text("id")] = true
			if m.Text("role") != "assistant" || !tools {
				t.Errorf("a call by %s, tools: %t", m.Text("role"), tools)
			}
		case "thinking":
			thought = true
			if b.Text("thinking") != "I should look." || b.Text("signature") != "c2lnbmVk" {
				t.Errorf("the reasoning came back changed: %s", b)
			}
		case "redacted_thinking":
			if b.Text("data") != "cmVkYWN0ZWQ=" {
				t.Errorf("the hidden reasoning came back changed: %s", b)
			}
		case "tool_result":
			if other || m.Text("role") != "user" || !open[b.Text("tool_use_id")] {
				t.Errorf("a result by %s, after other blocks: %t, of %q", m.Text("role"), other, b.Text("tool_use_id"))
			}
			delete(open, b.Text("tool_use_id"))
		}
	}
	if m.Text("role") == "user" && len(open) > 0 {
		t.Errorf("the user's message answers not all calls: %v", open)
	}
	if used && v.thinking && !thought {
		t.Errorf("the reasoning before a call did not come back")
	}
}

func (fakeAnthropic) stop(t turn) string {
	switch {
	case t.length:
		return "max_tokens"
	case t.refuse:
		return "refusal"
	case len(t.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (v fakeAnthropic) play(f *fake, w http.ResponseWriter, q request, t turn) {
	usage := value.NewDict("input_tokens", 6, "cache_creation_input_tokens", 2, "cache_read_input_tokens", 4, "output_tokens", 5)
	message := value.NewDict("id", "msg_1", "type", "message", "role", "assistant", "model", "m", "stop_reason", nil, "stop_sequence", nil, "usage", usage)
	if q.body.Bool("stream") {
		v.stream(w, t, message)
		return
	}
	content := value.List{}
	if v.thinking {
		content = append(content, value.NewDict("type", "thinking", "thinking", "I should look.", "signature", "c2lnbmVk"),
			value.NewDict("type", "redacted_thinking", "data", "cmVkYWN0ZWQ="))
	}
	if t.text != "" {
		content = append(content, value.NewDict("type", "text", "text", t.text))
	}
	for _, c := range t.calls {
		content = append(content, value.NewDict("type", "tool_use", "id", c.id, "name", c.tool, "input", parse(f.t, c.args)))
	}
	message.Put("content", content)
	message.Put("stop_reason", v.stop(t))
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, message.String())
}

func (v fakeAnthropic) stream(w http.ResponseWriter, t turn, message *value.Dict) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	event := func(name string, pairs ...value.Value) string {
		return "event: " + name + "\ndata: " + js(append([]value.Value{"type", name}, pairs...)...) + "\n\n"
	}
	index := 0
	block := func(begin *value.Dict, deltas ...*value.Dict) (list []string) {
		list = append(list, event("content_block_start", "index", index, "content_block", begin))
		for _, d := range deltas {
			list = append(list, event("content_block_delta", "index", index, "delta", d))
		}
		list = append(list, event("content_block_stop", "index", index))
		index++
		return list
	}
	message.Put("content", value.List{})
	first := []string{event("message_start", "message", message), event("ping")}
	if v.thinking {
		first = append(first, block(value.NewDict("type", "thinking", "thinking", "", "signature", ""),
			value.NewDict("type", "thinking_delta", "thinking", "I should "), value.NewDict("type", "thinking_delta", "thinking", "look."),
			value.NewDict("type", "signature_delta", "signature", "c2lnbmVk"))...)
		first = append(first, block(value.NewDict("type", "redacted_thinking", "data", "cmVkYWN0ZWQ="))...)
	}
	text := index
	first = append(first, event("content_block_start", "index", text, "content_block", value.NewDict("type", "text", "text", "")))
	index++
	last := []string{event("content_block_stop", "index", text)}
	for _, c := range t.calls {
		half := len(c.args) / 2
		last = append(last, block(value.NewDict("type", "tool_use", "id", c.id, "name", c.tool, "input", value.NewDict()),
			value.NewDict("type", "input_json_delta", "partial_json", ""),
			value.NewDict("type", "input_json_delta", "partial_json", c.args[:half]),
			value.NewDict("type", "input_json_delta", "partial_json", c.args[half:]))...)
	}
	last = append(last, event("message_delta", "delta", value.NewDict("stop_reason", v.stop(t), "stop_sequence", nil),
		"usage", value.NewDict("output_tokens", 5)), event("message_stop"))
	stream(w, t, first, func(p string) string {
		return event("content_block_delta", "index", text, "delta", value.NewDict("type", "text_delta", "text", p))
	}, last)
}
