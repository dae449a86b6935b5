package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A fakeModel plays the APIs of models on the loopback address, as far as clients of MCP need them. It calls the tools of a
// plan, one after the other, and notes what the client shows it.
type fakeModel struct {
	URL  string
	next func(results []shown) *planned // nil: all calls were made

	mu       sync.Mutex
	tools    []string // that were offered last
	shown    []shown  // the results of all calls, as they were sent last
	searches int      // for tools
	failed   []string // what the model could not do
}

// A planned call is one that the model makes.
type planned struct {
	tool string // its name in cassidy
	args string
}

// A shown result is what a model sees of the result of a call.
type shown struct {
	text   string
	images int
}

// newFakeModel starts a model, which ends with the test.
func newFakeModel(t *testing.T) *fakeModel {
	m := &fakeModel{}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

func (m *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if file := os.Getenv("CASSIDY_CLIENTS_LOG"); file != "" {
		f, _ := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintf(f, "%s %s\n%s\n", r.Method, r.URL, body)
		_ = f.Close()
	}
	var request map[string]any
	_ = json.Unmarshal(body, &request)
	stream, _ := request["stream"].(bool)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, map[string]any{"input_tokens": 1})
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, map[string]any{"totalTokens": 1})
	case strings.HasSuffix(path, "/messages"):
		m.anthropic(w, request, stream)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, request)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, request, stream)
	case strings.Contains(path, "enerateContent"):
		m.gemini(w, request, strings.Contains(path, ":stream"))
	case strings.HasSuffix(path, "/models"):
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake", "object": "model"}}, "models": []any{}})
	default:
		reply(w, map[string]any{})
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// event writes an event of a stream.
func event(w http.ResponseWriter, name string, v any) {
	w.Header().Set("Content-Type", "text/event-stream")
	text, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", text)
	w.(http.Flusher).Flush()
}

// choose returns the call that the model makes now, with the name and the namespace by which the client knows the tool. It is nil
// at the end, and for a request that offers no tools, such as one for a title.
func (m *fakeModel) choose(tools []string, results []shown) (call *planned, name, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(tools) == 0 || m.next == nil {
		return nil, "", ""
	}
	m.tools, m.shown = tools, results
	if call = m.next(results); call == nil {
		return nil, "", ""
	}
	for _, name := range tools {
		if name == call.tool || strings.HasSuffix(name, "_"+call.tool) || strings.HasSuffix(name, "/"+call.tool) {
			return call, name, fmt.Sprintf("call_%d", len(results))
		}
	}
	if m.searches++; m.searches < 50 && slices.Contains(tools, "tool_search") { // it shows only the names of tools until then
		search, _ := json.Marshal(map[string]any{"query": "select:mcp__cassidy__" + call.tool})
		return &planned{"tool_search", string(search)}, "tool_search", fmt.Sprintf("find_%d", m.searches)
	}
	m.failed = append(m.failed, fmt.Sprintf("the tool %s is not among %q", call.tool, tools))
	return nil, "", ""
}

// list returns the objects in a field of an object.
func list(v any, field string) (objects []map[string]any) {
	d, _ := v.(map[string]any)
	elements, _ := d[field].([]any)
	for _, e := range elements {
		if object, is := e.(map[string]any); is {
			objects = append(objects, object)
		}
	}
	return objects
}

func text(v any, field string) string {
	d, _ := v.(map[string]any)
	s, _ := d[field].(string)
	return s
}

// showing returns a result of text, or of blocks with a type.
func showing(v any) (s shown) {
	if only, is := v.(string); is {
		return shown{text: only}
	}
	var texts []string
	for _, block := range list(map[string]any{"": v}, "") {
		switch kind := text(block, "type"); {
		case strings.Contains(kind, "image"):
			s.images++
		default:
			texts = append(texts, text(block, "text"))
		}
	}
	s.text = strings.Join(texts, "\n")
	return s
}

func (m *fakeModel) anthropic(w http.ResponseWriter, request map[string]any, stream bool) {
	var tools []string
	for _, t := range list(request, "tools") {
		tools = append(tools, text(t, "name"))
	}
	var results []shown
	for _, message := range list(request, "messages") {
		for _, block := range list(message, "content") {
			if text(block, "type") == "tool_result" {
				results = append(results, showing(block["content"]))
			}
		}
	}
	call, name, id := m.choose(tools, results)
	block, stop := map[string]any{"type": "text", "text": "done"}, "end_turn"
	if call != nil {
		block, stop = map[string]any{"type": "tool_use", "id": "toolu_" + id, "name": name, "input": json.RawMessage(call.args)}, "tool_use"
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1}
	message := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []any{}, "stop_reason": nil, "usage": usage}
	if !stream {
		message["content"], message["stop_reason"] = []any{block}, stop
		reply(w, message)
		return
	}
	event(w, "message_start", map[string]any{"type": "message_start", "message": message})
	delta := map[string]any{"type": "text_delta", "text": "done"}
	if call != nil {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": call.args}
	} else {
		block["text"] = ""
	}
	event(w, "content_block_start", map[string]any{"type": "content_block_start", "index": 0, "content_block": block})
	event(w, "content_block_delta", map[string]any{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", map[string]any{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}, "usage": usage})
	event(w, "message_stop", map[string]any{"type": "message_stop"})
}

func (m *fakeModel) responses(w http.ResponseWriter, request map[string]any) {
	var tools []string
	spaces := map[string]string{}
	for _, t := range list(request, "tools") {
		if text(t, "type") == "namespace" {
			for _, inner := range list(t, "tools") {
				full := text(t, "name") + "/" + text(inner, "name")
				tools, spaces[full] = append(tools, full), text(t, "name")
			}
			continue
		}
		tools = append(tools, text(t, "name"))
	}
	var results []shown
	for _, item := range list(request, "input") {
		if text(item, "type") == "function_call_output" {
			results = append(results, showing(item["output"]))
		}
	}
	call, name, id := m.choose(tools, results)
	item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "done"}}}
	if call != nil {
		item = map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": name, "arguments": call.args}
		if space := spaces[name]; space != "" {
			item["namespace"], item["name"] = space, strings.TrimPrefix(name, space+"/")
		}
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
	event(w, "response.created", map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_1"}})
	event(w, "response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", map[string]any{"type": "response.completed", "response": map[string]any{"id": "resp_1", "output": []any{item}, "usage": usage}})
}

func (m *fakeModel) chat(w http.ResponseWriter, request map[string]any, stream bool) {
	var tools []string
	for _, t := range list(request, "tools") {
		tools = append(tools, text(t["function"], "name"))
	}
	var results []shown
	for _, message := range list(request, "messages") {
		switch text(message, "role") {
		case "tool":
			if strings.HasPrefix(text(message, "tool_call_id"), "find_") {
				continue
			}
			results = append(results, showing(message["content"]))
		case "user":
			if n := len(results); n > 0 { // images of a result follow it
				results[n-1].images += showing(message["content"]).images
			}
		}
	}
	call, name, id := m.choose(tools, results)
	delta, finish := map[string]any{"role": "assistant", "content": "done"}, "stop"
	if call != nil {
		function := map[string]any{"name": name, "arguments": call.args}
		delta, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"index": 0, "id": id, "type": "function", "function": function}}}, "tool_calls"
	}
	usage := map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	if !stream {
		reply(w, map[string]any{"id": "1", "object": "chat.completion", "model": "fake", "usage": usage, "choices": []any{map[string]any{"index": 0, "message": delta, "finish_reason": finish}}})
		return
	}
	chunk := func(delta, finish, usage any) {
		event(w, "", map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "fake", "usage": usage, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(delta, nil, nil)
	chunk(map[string]any{}, finish, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (m *fakeModel) gemini(w http.ResponseWriter, request map[string]any, stream bool) {
	var tools []string
	for _, t := range list(request, "tools") {
		for _, f := range list(t, "functionDeclarations") {
			tools = append(tools, text(f, "name"))
		}
	}
	var results []shown
	for _, content := range list(request, "contents") {
		for _, part := range list(content, "parts") {
			if response, is := part["functionResponse"].(map[string]any); is {
				body, _ := json.Marshal(response["response"])
				s := shown{text: string(body)}
				if d, is := response["response"].(map[string]any); is && len(d) == 1 && text(d, "output") != "" {
					s.text = text(d, "output")
				}
				s.images = strings.Count(jsonText(response["parts"]), `"inlineData"`)
				results = append(results, s)
			} else if n := len(results); n > 0 && part["inlineData"] != nil {
				results[n-1].images++
			}
		}
	}
	call, name, _ := m.choose(tools, results)
	part := map[string]any{"text": `{"done": true}`}
	if call != nil {
		part = map[string]any{"functionCall": map[string]any{"name": name, "args": json.RawMessage(call.args)}}
	}
	answer := map[string]any{
		"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
	if !stream {
		reply(w, answer)
		return
	}
	event(w, "", answer)
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
