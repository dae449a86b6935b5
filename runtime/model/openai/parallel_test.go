package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestParallel has a server that refuses a part of two requests at the same time: both are sent
// again without it.
func TestParallel(t *testing.T) {
	const needs = `{"error":{"message":"Function tools with reasoning_effort are not supported. Use /v1/responses."}}`
	for _, tt := range []struct{ name, api, path, part, refusal string }{
		{"summary", "responses", "/responses", `"summary"`, `{"error":{"message":"no","param":"reasoning.summary"}}`},
		{"encrypted reasoning", "responses", "/responses", `"include"`, `{"error":{"message":"no","param":"include"}}`},
		{"schema", "chat", "/chat/completions", `"response_format"`, `{"error":{"message":"response_format is not supported"}}`},
		{"chat completions", "", "/chat/completions", "", needs},
	} {
		var both, done sync.WaitGroup
		both.Add(2)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == tt.path && strings.Contains(string(body), tt.part):
				both.Done()
				both.Wait()
				w.WriteHeader(400)
				io.WriteString(w, tt.refusal)
			case r.URL.Path == "/responses":
				io.WriteString(w, responsesHi)
			default:
				io.WriteString(w, chatHi)
			}
		}))
		m, err := openai.New(&openai.Options{API: tt.api, Model: "m", BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			done.Go(func() {
				r := &model.Request{Messages: hello().Messages, Schema: value.NewDict("type", "object")}
				if _, err := m.Ask(t.Context(), r); err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
			})
		}
		done.Wait()
		server.Close()
	}
}

// TestCallIdentity reads calls that have one index, or none. In chat completions, each word of
// pieces is INDEX/ID/NAME/ARGUMENTS; in responses, of items.
func TestCallIdentity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, api, pieces, want string }{
		{"own IDs", "chat", `0/c1/f/{"a":1} 0/c2/f/{"a":2}`, `c1 f {"a":1}; c2 f {"a":2}`},
		{"own IDs, without arguments", "chat", `0/c1/f/ 0/c2/f/`, `c1 f {}; c2 f {}`},
		{"pieces one after the other", "chat", `0/c1/f/ 0///{"a" 0///:1} 0/c2/f/ 0///{"a":2}`, `c1 f {"a":1}; c2 f {"a":2}`},
		{"pieces that alternate", "chat", `0/c1/f/{"a" 0/c2/g/{"b" 0/c1//:1} 0/c2/g/:2}`, `c1 f {"a":1}; c2 g {"b":2}`},
		{"pieces with the index of another call", "chat", `0/c1/f/{"a" 1/c2/g/{"b" 0/c2//:2} 0///:1}`, `c1 f {"a":1}; c2 g {"b":2}`},
		{"an ID in each piece", "chat", `0/c1/f/{"a" 0/c1/f/:1}`, `c1 f {"a":1}`},
		{"a new ID in each piece", "chat", `0/c1/f/{"a" 0/c2//:1} 1/c3/g/{"b" 1/c4//:2}`, `c1 f {"a":1}; c3 g {"b":2}`},
		{"an ID that comes later", "chat", `0//f/{"a" 0/c1//:1}`, `c1 f {"a":1}`},
		{"own indexes, one ID", "chat", `0/c/f/{"a":1} 1/c/f/{"a":2}`, `c f {"a":1}; call_2 f {"a":2}`},
		{"no IDs", "chat", `0//f/{"a":1} 0//f/{"a":2} 0//g/{}`, `call_1 f {"a":1}; call_2 f {"a":2}; call_3 g {}`},
		{"no indexes", "chat", `/c1/f/{"a" ///:1} /c2/f/{"a":2}`, `c1 f {"a":1}; c2 f {"a":2}`},
		{"no indexes and IDs", "chat", `//f/{"a":1} //f/{"a":2} //g/`, `call_1 f {"a":1}; call_2 f {"a":2}; call_3 g {}`},
		{"an index at the beginning only", "chat", `0/c1/f/{"a" ///:1} 1/c2/g/{"b" ///:2}`, `c1 f {"a":1}; c2 g {"b":2}`},
		{"own IDs", "responses", `0/c1/f/{"a":1} 0/c2/f/{"a":2}`, `c1 f {"a":1}; c2 f {"a":2}`},
		{"no indexes", "responses", `/c1/f/{"a":1} /c2/f/{"a":2}`, `c1 f {"a":1}; c2 f {"a":2}`},
		{"no IDs", "responses", `0//f/{"a":1} 0//f/{"a":2} 1//f/{"a":2}`, `call_1 f {"a":1}; call_2 f {"a":2}; call_3 f {"a":2}`},
		{"own indexes, one ID", "responses", `0/c/f/{"a":1} 1/c/f/{"a":2}`, `c f {"a":1}; call_2 f {"a":2}`},
	} {
		var body strings.Builder
		var items value.List
		for piece := range strings.FieldsSeq(test.pieces) {
			part := strings.SplitN(piece, "/", 4)
			event := &value.Dict{}
			if test.api == "chat" {
				function := value.NewDict("arguments", part[3])
				call := value.NewDict("function", function)
				put(call, "id", part[1])
				put(function, "name", part[2])
				if part[0] != "" {
					call.Put("index", int64(part[0][0]-'0'))
				}
				event.Put("choices", value.List{value.NewDict("delta", value.NewDict("tool_calls", value.List{call}))})
			} else {
				item := value.NewDict("type", "function_call", "name", part[2], "arguments", part[3])
				put(item, "call_id", part[1])
				event = value.NewDict("type", "response.output_item.done", "item", item)
				if part[0] != "" {
					event.Put("output_index", int64(part[0][0]-'0'))
				}
				items = append(items, item)
			}
			body.WriteString("data: " + event.String() + "\n\n")
		}
		if test.api == "chat" {
			body.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
		} else if items[0].(*value.Dict).Has("call_id") { // the end repeats the items
			body.WriteString("data: " + value.NewDict("type", "response.completed", "response", value.NewDict("status", "completed", "output", items)).String() + "\n\n")
		} else {
			body.WriteString(`data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n")
		}
		m, _ := open(t, openai.Options{API: test.api}, answer{body: body.String()})
		var got []string
		for _, c := range ask(t, m, withTool()).Calls {
			got = append(got, strings.TrimSpace(c.ID+" "+c.Tool+" "+c.Args.String()+c.Raw))
		}
		if got := strings.Join(got, "; "); got != test.want {
			t.Errorf("%s, %s: got %s, want %s", test.api, test.name, got, test.want)
		}
	}
}

func put(d *value.Dict, name, text string) {
	if text != "" {
		d.Put(name, text)
	}
}
