package model_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of POST /responses as OpenAI documents it.
var responsesRequest = fields{
	"model": "string!", "input": "array!", "instructions": "string", "tools": "array", "tool_choice": "string|object",
	"parallel_tool_calls": "boolean", "reasoning": "object", "include": "array", "store": "boolean!", "max_output_tokens": "integer",
	"text": "object", "prompt_cache_key": "string", "stream": "boolean", "stream_options": "object", "temperature": "number",
	"top_p": "number", "service_tier": "string", "metadata": "object", "truncation": "string", "previous_response_id": "string",
	"safety_identifier": "string", "background": "boolean", "max_tool_calls": "integer", "context_management": "array",
}

// The items of an input, by their type, or their role if they have none.
var responsesItem = map[string]fields{
	"user":                 {"role": "string!", "content": "string|array!"},
	"assistant":            {"role": "string!", "content": "string|array!"},
	"message":              {"type": "string!", "id": "string!", "role": "string!", "status": "string!", "content": "array!", "phase": "string"},
	"function_call":        {"type": "string!", "id": "string", "call_id": "string!", "name": "string!", "arguments": "string!", "status": "string"},
	"function_call_output": {"type": "string!", "call_id": "string!", "output": "string|array!"},
	"reasoning":            {"type": "string!", "id": "string!", "summary": "array!", "encrypted_content": "string!", "content": "array", "status": "string"},
}

var responsesPart = map[string]fields{
	"input_text":  {"type": "string!", "text": "string!"},
	"input_image": {"type": "string!", "detail": "string!", "image_url": "string", "file_id": "string"},
	"input_file":  {"type": "string!", "filename": "string", "file_data": "string", "file_url": "string", "file_id": "string"},
	"output_text": {"type": "string!", "text": "string!", "annotations": "array!", "logprobs": "array"},
	"refusal":     {"type": "string!", "refusal": "string!"},
}

// A fakeResponses is a server for the Responses API. It reasons before each reply, and wants that
// back with what followed.
type fakeResponses struct {
	fakeOpenAI
	mu    sync.Mutex
	n     int
	items []string // what it has sent, in order
}

func (v *fakeResponses) check(f *fake, q request) bool {
	t := f.t
	if q.method != "POST" || q.path != "/v1/responses" || q.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s, %q", q.method, q.path, q.header.Get("Content-Type"))
	}
	strict(t, "the request", q.body, responsesRequest)
	if q.body.Bool("store") {
		t.Errorf("store is true")
	}
	if q.body.Has("stream_options") {
		strict(t, "stream_options", inner(q.body, "stream_options"), fields{"include_obfuscation": "boolean"})
	}
	if q.body.Has("reasoning") {
		strict(t, "reasoning", inner(q.body, "reasoning"), fields{"effort": "string", "summary": "string", "context": "string"})
	}
	checkTextFormat(t, q.body)
	for _, d := range dicts(t, q.body, "tools") {
		strict(t, "a tool", d, fields{"type": "string!", "name": "string!", "description": "string", "parameters": "object!", "strict": "boolean!"})
	}
	if n := q.body.Int("max_output_tokens"); q.body.Has("max_output_tokens") && n < 16 {
		t.Errorf("max_output_tokens is %d, want at least 16", n)
	}
	v.checkInput(t, dicts(t, q.body, "input"))
	return true
}

func checkTextFormat(t *testing.T, body *value.Dict) {
	t.Helper()
	text := inner(body, "text")
	if text == nil {
		return
	}
	strict(t, "text", text, fields{"format": "object", "verbosity": "string"})
	if format := inner(text, "format"); format.Text("type") == "json_schema" {
		strict(t, "text.format", format, fields{"type": "string!", "name": "string!", "schema": "object!", "strict": "boolean", "description": "string"})
	}
}

func (v *fakeResponses) checkInput(t *testing.T, items []*value.Dict) {
	open := map[string]bool{}
	for i, item := range items {
		kind := item.Text("type")
		if kind == "" {
			kind = item.Text("role")
		}
		table, known := responsesItem[kind]
		if !known {
			t.Errorf("an input item of type %q", kind)
		}
		strict(t, "an item "+kind, item, table)
		for _, name := range []string{"content", "output"} {
			if list, _ := item.Get(name); value.TypeOf(list) == "array" {
				for _, part := range dicts(t, item, name) {
					strict(t, "a part of "+kind, part, responsesPart[part.Text("type")])
				}
			}
		}
		switch kind {
		case "function_call":
			open[item.Text("call_id")] = true
		case "function_call_output":
			if !open[item.Text("call_id")] {
				t.Errorf("the output %q answers no call", item.Text("call_id"))
			}
			delete(open, item.Text("call_id"))
		case "user":
			if len(open) > 0 {
				t.Errorf("the user speaks before all calls are answered")
			}
		}
		v.checkKept(t, items, i)
	}
	if len(open) > 0 {
		t.Errorf("calls without outputs: %v", open)
	}
}

// checkKept fails the test for an item that is not as it was sent, or for reasoning without the
// item that followed it.
func (v *fakeResponses) checkKept(t *testing.T, items []*value.Dict, i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !items[i].Has("id") {
		return
	}
	at := slices.Index(v.items, items[i].String())
	if at < 0 {
		t.Errorf("the item %s is not as it was sent", items[i])
		return
	}
	if items[i].Text("type") == "reasoning" && (i+1 == len(items) || at+1 == len(v.items) || items[i+1].String() != v.items[at+1]) {
		t.Errorf("Item '%s' of type 'reasoning' was provided without its required following item", items[i].Text("id"))
	}
}

// output returns the items of a reply: reasoning, the text and the calls.
func (v *fakeResponses) output(q request, t turn) []*value.Dict {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	n := strconv.Itoa(v.n)
	reasoning := value.NewDict("id", "rs_"+n, "type", "reasoning", "summary", value.List{value.NewDict("type", "summary_text", "text", "I think.")})
	if include, _ := q.body.Get("include"); value.Equal(include, value.List{"reasoning.encrypted_content"}) {
		reasoning.Put("encrypted_content", "enc-"+n)
	}
	items := []*value.Dict{reasoning}
	if t.text != "" {
		part := value.NewDict("type", "output_text", "annotations", value.List{}, "logprobs", value.List{}, "text", t.text)
		if t.refuse {
			part = value.NewDict("type", "refusal", "refusal", t.text)
		}
		items = append(items, value.NewDict("id", "msg_"+n, "type", "message", "status", "completed", "content", value.List{part}, "role", "assistant"))
	}
	for _, c := range t.calls {
		items = append(items, value.NewDict("id", "fc_"+c.id, "type", "function_call", "status", "completed", "arguments", c.args, "call_id", c.id, "name", c.tool))
	}
	for _, item := range items {
		v.items = append(v.items, item.String())
	}
	return items
}

func (v *fakeResponses) play(f *fake, w http.ResponseWriter, q request, t turn) {
	items := v.output(q, t)
	list := value.List(value.Map(items, func(d *value.Dict) value.Value { return d }))
	status, details := "completed", value.Value(nil)
	if t.length {
		status, details = "incomplete", value.NewDict("reason", "max_output_tokens")
	}
	response := value.NewDict("id", "resp_1", "object", "response", "created_at", 1, "status", status, "error", nil, "incomplete_details", details,
		"model", "m", "output", list, "store", false, "usage", value.NewDict("input_tokens", 12, "input_tokens_details", value.NewDict("cached_tokens", 4),
			"output_tokens", 5, "output_tokens_details", value.NewDict("reasoning_tokens", 2), "total_tokens", 17))
	if q.body.Bool("stream") {
		v.stream(w, t, response, items)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, response.String())
}

func (v *fakeResponses) stream(w http.ResponseWriter, t turn, response *value.Dict, items []*value.Dict) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	event := func(kind string, pairs ...any) string {
		return "event: response." + kind + "\ndata: " + js(append([]any{"type", "response." + kind, "sequence_number", unnumbered}, pairs...)...) + "\n\n"
	}
	begun := response.Clone(0)
	begun.Put("status", "in_progress")
	begun.Put("output", value.List{})
	begun.Put("usage", nil)
	first := []string{event("created", "response", begun), event("in_progress", "response", begun)}
	delta, speaks := "output_text.delta", -1
	var last []string
	for i, item := range items {
		added := item.Clone(0)
		added.Put("status", "in_progress")
		switch item.Text("type") {
		case "reasoning":
			added.Put("encrypted_content", "not ready")
			added.Put("summary", value.List{})
			first = append(first, event("output_item.added", "output_index", i, "item", added),
				event("reasoning_summary_part.added", "output_index", i, "item_id", item.Text("id"), "summary_index", 0, "part", value.NewDict("type", "summary_text", "text", "")),
				event("reasoning_summary_text.delta", "output_index", i, "item_id", item.Text("id"), "summary_index", 0, "delta", "I "),
				event("reasoning_summary_text.delta", "output_index", i, "item_id", item.Text("id"), "summary_index", 0, "delta", "think."),
				event("reasoning_summary_text.done", "output_index", i, "item_id", item.Text("id"), "summary_index", 0, "text", "I think."),
				event("reasoning_summary_part.done", "output_index", i, "item_id", item.Text("id"), "summary_index", 0, "part", value.NewDict("type", "summary_text", "text", "I think.")),
				event("output_item.done", "output_index", i, "item", item))
		case "message":
			added.Put("content", value.List{})
			id, part, field := item.Text("id"), dictsIn(item, "content")[0], "text"
			if part.Text("type") == "refusal" {
				delta, field = "refusal.delta", "refusal"
			}
			begun := part.Clone(0)
			begun.Put(field, "")
			speaks = i
			first = append(first, event("output_item.added", "output_index", i, "item", added),
				event("content_part.added", "item_id", id, "output_index", i, "content_index", 0, "part", begun))
			last = append(last, event(strings.TrimSuffix(delta, "delta")+"done", "item_id", id, "output_index", i, "content_index", 0, field, t.text),
				event("content_part.done", "item_id", id, "output_index", i, "content_index", 0, "part", part), event("output_item.done", "output_index", i, "item", item))
		case "function_call":
			added.Put("arguments", "")
			args := item.Text("arguments")
			last = append(last, event("output_item.added", "output_index", i, "item", added),
				event("function_call_arguments.delta", "output_index", i, "item_id", item.Text("id"), "delta", args[:len(args)/2]),
				event("function_call_arguments.delta", "output_index", i, "item_id", item.Text("id"), "delta", args[len(args)/2:]),
				event("function_call_arguments.done", "output_index", i, "item_id", item.Text("id"), "arguments", args),
				event("output_item.done", "output_index", i, "item", item))
		}
	}
	last = append(last, event(response.Text("status"), "response", response))
	id := "msg"
	if speaks >= 0 {
		id = items[speaks].Text("id")
	}
	stream(&numbered{ResponseWriter: w}, t, first, func(p string) string {
		return event(delta, "output_index", max(speaks, 1), "content_index", 0, "item_id", id, "delta", p, "obfuscation", "xyz")
	}, last)
}

// unnumbered is the number of an event that was not sent yet.
const unnumbered = -1

// A numbered writer numbers the events in the order in which they are sent.
type numbered struct {
	http.ResponseWriter
	n int
}

func (w *numbered) Write(event []byte) (int, error) {
	text := strings.Replace(string(event), `"sequence_number":-1`, `"sequence_number":`+strconv.Itoa(w.n), 1)
	w.n++
	_, err := io.WriteString(w.ResponseWriter, text)
	return len(event), err
}

// Unwrap is for [http.ResponseController].
func (w *numbered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func dictsIn(d *value.Dict, name string) []*value.Dict {
	var list []*value.Dict
	for _, v := range d.Elements(name) {
		c, _ := v.(*value.Dict)
		list = append(list, c)
	}
	return list
}
