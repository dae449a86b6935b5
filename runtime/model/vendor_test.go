package model_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// answerOf returns the reply of a model to one body, of a content type.
func answerOf(t *testing.T, open func(base string) (model.Model, error), r *model.Request, kind, body string) (*model.Reply, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write([]byte(body))
	}))
	defer server.Close()
	m, err := open(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return m.Ask(t.Context(), r)
}

func closing() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func openAIAt(base string) (model.Model, error) {
	return openai.New(&openai.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
}

func anthropicAt(base string) (model.Model, error) {
	return anthropic.New(&anthropic.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
}

func ollamaAt(base string) (model.Model, error) {
	return ollama.New(&ollama.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
}

// says writes a reply as text: its text, and each call with its arguments.
func says(r *model.Reply, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	s := r.Text
	for _, c := range r.Calls {
		s += " " + c.ID + "=" + c.Tool
		if c.Args == nil {
			s += "!" + c.Raw
		} else {
			s += c.Args.String()
		}
	}
	return s + " " + string(r.Stop)
}

// TestServers tests servers whose API differs slightly from a vendor's.
func TestServers(t *testing.T) {
	t.Parallel()
	openAI := func(message, finish string) string {
		return `{"choices":[{"message":` + message + `,"finish_reason":` + finish + `}]}`
	}
	call := func(id, args string) string {
		return `{"tool_calls":[{"id":` + id + `,"function":{"name":"f","arguments":` + args + `}}]}`
	}
	delta := func(d, finish string) string {
		return `data: {"choices":[{"delta":` + d + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	const sse, plain, lines = "text/event-stream", "application/json", "application/x-ndjson"
	tests := []struct {
		name       string
		open       func(string) (model.Model, error)
		kind, body string
		want       string
	}{
		{"text in parts", openAIAt, plain, openAI(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `"stop"`), "ab end"},
		{"a refusal", openAIAt, plain, openAI(`{"content":null,"refusal":"No."}`, `"stop"`), "No. refuse"},
		{"a refusal without a word", openAIAt, plain, openAI(`{"content":null}`, `"content_filter"`), " refuse"},
		{"no finish reason", openAIAt, plain, openAI(`{"content":"a"}`, `null`), "a end"},
		{"calls that stop", openAIAt, plain, openAI(call(`"c"`, `"{}"`), `"stop"`), " c=f{} calls"},
		{"calls that are not there", openAIAt, plain, openAI(`{"content":"a"}`, `"tool_calls"`), "a end"},
		{"a call without an ID", openAIAt, plain, openAI(call(`""`, `"{\"a\":1}"`), `"tool_calls"`), ` call_1=f{"a":1} calls`},
		{"arguments as an object", openAIAt, plain, openAI(call(`"c"`, `{"a":1}`), `"tool_calls"`), ` c=f{"a":1} calls`},
		{"no arguments", openAIAt, plain, openAI(call(`"c"`, `""`), `"tool_calls"`), " c=f{} calls"},
		{"arguments that are null", openAIAt, plain, openAI(call(`"c"`, `"null"`), `"tool_calls"`), " c=f{} calls"},
		{"arguments encoded twice", openAIAt, plain, openAI(call(`"c"`, `"\"{\\\"a\\\":1}\""`), `"tool_calls"`), ` c=f{"a":1} calls`},
		{"arguments that are cut off", openAIAt, plain, openAI(call(`"c"`, `"{\"a\":"`), `"length"`), ` c=f!{"a": length`},
		{"arguments that are a list", openAIAt, plain, openAI(call(`"c"`, `"[1]"`), `"tool_calls"`), " c=f![1] calls"},
		{"no choice", openAIAt, plain, `{"choices":[]}`, "error: openai:m: invalid response: the message is missing"},
		{"an error with success", openAIAt, plain, `{"error":{"message":"no credit","code":402}}`, "error: openai:m: HTTP 402: no credit"},
		{"an error as text", openAIAt, plain, `{"error":"broken"}`, "error: openai:m: HTTP 500: broken"},
		{"no [DONE]", openAIAt, sse, delta(`{"content":"a"}`, `"stop"`), "a end"},
		{"no end", openAIAt, sse, delta(`{"content":"a"}`, `null`), "error: openai:m: the connection was closed before the reply was complete"},
		{"[DONE] alone", openAIAt, sse, delta(`{"content":"a"}`, `null`) + "data: [DONE]\n\n", "a end"},
		{"[DONE] and nothing else", openAIAt, sse, "data: [DONE]\n\n", "error: openai:m: the reply is empty"},
		{"the reason of a server behind the server", openAIAt, plain, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"no such tool\"}}","provider_name":"X"}}}`,
			"error: openai:m: HTTP 400: Provider returned error: no such tool"},
		{"a status in the stream", openAIAt, sse, `data: {"error":{"message":"bad","status_code":400}}` + "\n\n", "error: openai:m: HTTP 400: bad"},
		{"calls without numbers", openAIAt, sse, delta(call(`"c"`, `"{\"a\":"`), `null`) + delta(`{"tool_calls":[{"function":{"arguments":"1}"}}]}`, `null`) +
			delta(call(`"d"`, `{"b":2}`), `"tool_calls"`), ` c=f{"a":1} d=f{"b":2} calls`},
		{"the same ID twice", openAIAt, sse, delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}},{"index":1,"id":"c","function":{"name":"g"}}]}`,
			`"tool_calls"`), " c=f{} call_2=g{} calls"},
		{"a refusal in pieces", openAIAt, sse, delta(`{"refusal":"N"}`, `null`) + delta(`{"refusal":"o."}`, `"stop"`), "No. refuse"},

		{"a block of another kind", anthropicAt, plain, `{"content":[{"type":"new","x":1},{"type":"text","text":"a"}],"stop_reason":"end_turn"}`, "a end"},
		{"input as text", anthropicAt, plain, `{"content":[{"type":"tool_use","id":"c","name":"f","input":"{\"a\":1}"}],"stop_reason":"tool_use"}`, ` c=f{"a":1} calls`},
		{"input at once", anthropicAt, sse, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{"a":1}}}` +
			"\n\n" + `data: {"type":"message_stop"}` + "\n\n", ` c=f{"a":1} calls`},
		{"input that is cut off", anthropicAt, sse, `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}` +
			"\n\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n", ` c=f!{"a length`},
		{"a piece of nothing", anthropicAt, sse, `data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a"}}` + "\n\n",
			"error: anthropic:m: invalid response: content_block_delta without content_block_start"},
		{"a full context", anthropicAt, plain, `{"content":[{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded"}`,
			"error: anthropic:m: the context window of the model is full"},
		{"an error event", anthropicAt, sse, "event: error\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}` + "\n\n",
			"error: anthropic:m: HTTP 429: slow down (rate_limit_error)"},
		{"no content", anthropicAt, plain, `{"type":"message"}`, "error: anthropic:m: invalid response: the content is missing"},

		{"an error line", ollamaAt, lines, `{"message":{"content":"a"},"done":false}` + "\n" + `{"error":"out of memory"}` + "\n", "error: ollama:m: HTTP 500: out of memory"},
		{"no last line break", ollamaAt, lines, `{"message":{"content":"a"},"done":true}`, "a end"},
		{"no last line", ollamaAt, lines, `{"message":{"content":"a"},"done":false}` + "\n", "error: ollama:m: the connection was closed before the reply was complete"},
		{"a call with an ID", ollamaAt, lines, `{"message":{"tool_calls":[{"id":"c","function":{"index":0,"name":"f","arguments":"{"}}]},"done":true}`, " c=f!{ calls"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := hello()
			if test.kind != plain {
				r.Text = func(string) {}
			}
			if got := says(answerOf(t, test.open, r, test.kind, test.body)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestFreshIDs tests a server that gives all calls the same ID.
func TestFreshIDs(t *testing.T) {
	t.Parallel()
	r := &model.Request{Messages: []model.Message{user("a"), {Role: model.Assistant, Calls: []model.Call{{ID: "call_0", Tool: "f", Args: value.NewDict()}}},
		{Role: model.ToolRole, CallID: "call_0", Tool: "f", Text: "x"}}}
	got := says(answerOf(t, openAIAt, r, "application/json", `{"choices":[{"message":{"tool_calls":[{"id":"call_0","function":{"name":"f","arguments":"{}"}}]}}]}`))
	if got != " call_2=f{} calls" {
		t.Errorf("got %s", got)
	}
}

// bodyOf returns what a model sends.
func bodyOf(t *testing.T, open func(base string) (model.Model, error), r *model.Request) (string, http.Header) {
	t.Helper()
	var body strings.Builder
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		buf := make([]byte, 1<<16)
		for n, err := 0, error(nil); err == nil; {
			n, err = q.Body.Read(buf)
			body.Write(buf[:n])
		}
		header = q.Header
		w.Write([]byte(`{"choices":[{"message":{"content":"a"}}],"content":[{"type":"text","text":"a"}],"message":{"content":"a"},"done":true}`))
	}))
	defer server.Close()
	m, err := open(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return body.String(), header
}

// called is a conversation with a call whose arguments were not JSON.
func called() *model.Request {
	return &model.Request{Messages: []model.Message{user("Read."),
		{Role: model.Assistant, Text: "Well.", Calls: []model.Call{{ID: "c", Tool: "f", Raw: "{"}}, Opaque: []byte(`[{"type":"thinking"}]`)},
		{Role: model.ToolRole, CallID: "c", Tool: "f", Text: "broken", Failed: true}}}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	worded := `CALL (f): {"},{"role":"user","content":"ERROR (f):\nbroken"}`
	tools := called()
	tools.Tools = []tool.Tool{readFile()}
	asked := hello()
	asked.MaxTokens = 7
	tests := []struct {
		name  string
		open  func(string) (model.Model, error)
		r     *model.Request
		holds string
	}{
		{"openai wants an object as text", openAIAt, called(), `"function":{"name":"f","arguments":"{\"INVALID_JSON\":\"{\"}"}`},
		{"ollama wants an object", ollamaAt, called(), `"arguments":{"INVALID_JSON":"{"}`},
		{"anthropic wants an object, and not what others keep", anthropicAt, tools,
			`"content":[{"type":"text","text":"Well."},{"type":"tool_use","id":"c","name":"f","input":{"INVALID_JSON":"{"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"broken","is_error":true,`},
		{"anthropic without tools", anthropicAt, called(), `"text":"Well.\n\nCALL (f): {"}]},{"role":"user","content":[{"type":"text","text":"ERROR (f):\nbroken",`},
		{"openai without tools", func(base string) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base, Model: "m", Plain: true, HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
		}, tools, worded},
		{"ollama without tools", func(base string) (model.Model, error) {
			return ollama.New(&ollama.Options{BaseURL: base, Model: "m", Plain: true, HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
		}, tools, worded},
		{"openai's length", openAIAt, asked, `"max_completion_tokens":7`},
		{"the old name of the length", func(base string) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base, Model: "m", OldMaxTokens: true, HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
		}, asked, `"max_tokens":7`},
		{"anthropic's length", anthropicAt, hello(), `"max_tokens":16000`},
	}
	for _, test := range tests {
		body, header := bodyOf(t, test.open, test.r)
		if !strings.Contains(body, test.holds) {
			t.Errorf("%s: sent %s\nwant %s", test.name, body, test.holds)
		}
		if header.Get("Authorization") != "" || header.Get("X-Api-Key") != "" {
			t.Errorf("%s: a key is sent without a key: %v", test.name, header)
		}
	}
}

func TestAnthropicBearer(t *testing.T) {
	t.Parallel()
	_, header := bodyOf(t, func(base string) (model.Model, error) {
		return anthropic.New(&anthropic.Options{BaseURL: base, Model: "m", Key: testKey, Auth: model.AuthBearer, HTTP: model.HTTP{Client: closing(), Sleep: noSleep}})
	}, hello())
	if header.Get("Authorization") != "Bearer "+testKey || header.Get("X-Api-Key") != "" || header.Get("Anthropic-Version") != anthropic.Version {
		t.Errorf("headers %v", header)
	}
}

// TestChangedAnswer edits an answer: its reasoning, which is signed for the old text,
// is not sent back.
func TestChangedAnswer(t *testing.T) {
	t.Parallel()
	r := &model.Request{Messages: []model.Message{user("a"), {Role: model.Assistant, Text: "changed",
		Opaque: []byte(`[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"as it was"}]`)}, user("b")}}
	body, _ := bodyOf(t, anthropicAt, r)
	if strings.Contains(body, "thinking") || !strings.Contains(body, `{"role":"assistant","content":[{"type":"text","text":"changed"}]}`) {
		t.Errorf("sent %s", body)
	}
	r.Messages[1].Text = "as it was"
	if body, _ = bodyOf(t, anthropicAt, r); !strings.Contains(body, `{"type":"thinking","thinking":"t","signature":"s"}`) {
		t.Errorf("sent %s", body)
	}
}

// TestKept checks that servers of other vendors with OpenAI's API get back the data
// that they need with a call.
func TestKept(t *testing.T) {
	t.Parallel()
	call := `{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`
	for kind, body := range map[string]string{
		"application/json": `{"choices":[{"message":{"reasoning_content":"I think.","tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}`,
		"text/event-stream": `data: {"choices":[{"delta":{"reasoning_content":"I "}}]}` + "\n\n" + `data: {"choices":[{"delta":{"reasoning_content":"think."}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}` + "\n\n",
	} {
		r := hello()
		r.Text = func(string) {}
		reply, err := answerOf(t, openAIAt, r, kind, body)
		if err != nil {
			t.Fatal(err)
		}
		again := &model.Request{Messages: []model.Message{user("a"), reply.Message(), {Role: model.ToolRole, CallID: "c", Tool: "f", Text: "x"}}}
		want := `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},` +
			`"extra_content":{"google":{"thought_signature":"s"}}}],"reasoning_content":"I think."}`
		if sent, _ := bodyOf(t, openAIAt, again); !strings.Contains(sent, want) {
			t.Errorf("%s: sent %s\nwant %s", kind, sent, want)
		}
		for name, open := range map[string]func(string) (model.Model, error){"anthropic": anthropicAt, "ollama": ollamaAt} {
			if sent, _ := bodyOf(t, open, again); strings.Contains(sent, "I think.") || strings.Contains(sent, "thought_signature") {
				t.Errorf("%s: sent %s", name, sent)
			}
		}
	}
}

// TestEndlessCalls tests a stream with more and more calls and no text.
func TestEndlessCalls(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(string) (model.Model, error){
		`data: {"choices":[{"delta":{"tool_calls":[{"index":%}]}}]}` + "\n\n": func(base string) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{MaxReply: 100_000, Client: closing(), Sleep: noSleep}})
		},
		`data: {"type":"content_block_start","index":%,"content_block":{"type":"tool_use"}}` + "\n\n": func(base string) (model.Model, error) {
			return anthropic.New(&anthropic.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{MaxReply: 100_000, Client: closing(), Sleep: noSleep}})
		},
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f%"}}]}}]}` + "\n\n": func(base string) (model.Model, error) {
			return gemini.New(&gemini.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{MaxReply: 100_000, Client: closing(), Sleep: noSleep}})
		},
		`{"message":{"tool_calls":[{"function":{"index":%}}]},"done":false}` + "\n": func(base string) (model.Model, error) {
			return ollama.New(&ollama.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{MaxReply: 100_000, Client: closing(), Sleep: noSleep}})
		},
	} {
		var body strings.Builder
		for i := range 200 {
			body.WriteString(strings.ReplaceAll(name, "%", strconv.Itoa(i)))
		}
		r := hello()
		r.Text = func(string) {}
		if got := says(answerOf(t, open, r, "text/event-stream", body.String())); !strings.Contains(got, "too long: limit 100000 bytes") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
