package model_test

import (
	"cmp"
	"io"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

type fakeAnthropic struct {
	version  string // that is wanted
	thinking bool   // it thinks before it answers, and wants that back
}

func (fakeAnthropic) authorized(q request) bool {
	key, bearer := q.header.Get("X-Api-Key"), q.header.Get("Authorization")
	return key == testKey && bearer == "" || key == "" && bearer == "Bearer "+testKey
}

func (fakeAnthropic) fail(status int) string {
	if status == 400 {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"req_1"}`
	}
	kinds := map[int]string{401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
	return js("type", "error", "error", value.NewDict("type", cmp.Or(kinds[status], "api_error"), "message", "it went wrong"), "request_id", "req_1")
}

func (v fakeAnthropic) check(f *fake, q request) bool {
	t := f.t
	if q.method != "POST" || q.path != "/v1/messages" {
		t.Errorf("%s %s", q.method, q.path)
	}
	for _, problem := range anthropicProblems(v.version, q) {
		t.Error(problem)
	}
	for _, m := range dicts(t, q.body, "messages") {
		v.checkThinking(f, m)
	}
	return true
}

// checkThinking checks that the reasoning of the fake comes back.
func (v fakeAnthropic) checkThinking(f *fake, m *value.Dict) {
	used, thought := false, false
	for _, b := range dicts(f.t, m, "content") {
		switch b.Text("type") {
		case "tool_use": // of this model
			used = used || strings.HasPrefix(b.Text("id"), "toolu_") && len(b.Text("id")) <= len("toolu_99")
		case "thinking":
			thought = true
			if b.Text("thinking") != "I should look." || b.Text("signature") != "c2lnbmVk" {
				f.t.Errorf("the reasoning came back changed: %s", b)
			}
		case "redacted_thinking":
			if b.Text("data") != "cmVkYWN0ZWQ=" {
				f.t.Errorf("the hidden reasoning came back changed: %s", b)
			}
		}
	}
	if used && v.thinking && !thought {
		f.t.Errorf("the reasoning before a call did not come back")
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
