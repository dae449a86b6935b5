package openai_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An answer is one response of a server.
type answer struct {
	status int    // 0 means 200
	body   string // a stream if it begins with "data:"
	cut    bool   // the connection breaks at the end of the body
}

// A server answers requests in order, the last answer again and again.
type server struct {
	answers []answer
	paths   []string
	bodies  []string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.paths = append(s.paths, r.Method+" "+r.URL.Path)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.bodies = append(s.bodies, string(body))
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	if a.status == 0 {
		a.status = 200
	}
	kind := "application/json"
	if strings.HasPrefix(a.body, "data:") {
		kind = "text/event-stream"
	}
	var reader io.Reader = strings.NewReader(a.body)
	if a.cut {
		reader = io.MultiReader(reader, broken{})
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(reader), Request: r}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// open returns a model that asks a server with some answers.
func open(t *testing.T, o openai.Options, answers ...answer) (model.Model, *server) {
	t.Helper()
	s := &server{answers: answers}
	if o.Model == "" {
		o.Model = "m"
	}
	if o.BaseURL == "" {
		o.BaseURL = "http://host/v1"
	}
	o.HTTP = model.HTTP{Client: &http.Client{Transport: s}, Sleep: noSleep}
	m, err := openai.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Text: "Hello."}}}
}

func withTool() *model.Request {
	r := hello()
	r.Tools = []tool.Tool{{Name: "f", Description: "Do it.", Params: []tool.Param{{Name: "a", Type: tool.Type{Name: tool.TypeInteger}, Required: true}}}}
	return r
}

func ask(t *testing.T, m model.Model, r *model.Request) *model.Reply {
	t.Helper()
	reply, err := m.Ask(t.Context(), r)
	if err != nil {
		t.Fatalf("Ask: %v", err)
	}
	return reply
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nmisses %s", text, part)
		}
	}
}

const (
	chatHi      = `{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}`
	responsesHi = `{"id":"resp_1","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}]}`
	noChat      = `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`
)

// TestDefaultAPI checks which API is used for which server.
func TestDefaultAPI(t *testing.T) {
	for _, test := range []struct{ base, api, want string }{
		{"https://api.openai.com/v1", "", "POST /v1/responses"},
		{"https://eu.api.openai.com/v1/", "", "POST /v1/responses"},
		{"https://API.openai.com:443/v1", "", "POST /v1/responses"},
		{"https://api.openai.com/v1", "chat", "POST /v1/chat/completions"},
		{"https://api.openai.com.example.com/v1", "", "POST /v1/chat/completions"},
		{"http://localhost:11434/v1", "", "POST /v1/chat/completions"},
		{"http://localhost:11434/v1", "responses", "POST /v1/responses"},
	} {
		body := chatHi
		if strings.HasSuffix(test.want, "responses") {
			body = responsesHi
		}
		m, s := open(t, openai.Options{BaseURL: test.base, API: test.api}, answer{body: body})
		if reply := ask(t, m, hello()); reply.Text != "Hi." || !slices.Equal(s.paths, []string{test.want}) {
			t.Errorf("%s, API %q: %q asked, reply %+v, want %s", test.base, test.api, s.paths, reply, test.want)
		}
	}
	if _, err := openai.New(&openai.Options{Model: "m", API: "respones"}); value.KindOf(err) != value.Invalid {
		t.Errorf("New = %v, want an error", err)
	}
}

// TestSwitch has chat completions refuse the tools of a model: Responses is used from then on.
func TestSwitch(t *testing.T) {
	m, s := open(t, openai.Options{Model: "gpt-5.6"}, answer{status: 400, body: noChat}, answer{body: responsesHi})
	for range 2 {
		if reply := ask(t, m, withTool()); reply.Text != "Hi." {
			t.Errorf("Ask = %+v", reply)
		}
	}
	if want := []string{"POST /v1/chat/completions", "POST /v1/responses", "POST /v1/responses"}; !slices.Equal(s.paths, want) {
		t.Errorf("%q asked, want %q", s.paths, want)
	}
	m, s = open(t, openai.Options{API: "chat"}, answer{status: 400, body: noChat})
	if _, err := m.Ask(t.Context(), withTool()); value.KindOf(err) != value.Invalid || len(s.paths) != 1 {
		t.Errorf("with API chat: %v after %q", err, s.paths)
	}
	m, s = open(t, openai.Options{}, answer{status: 400, body: noChat}, answer{status: 404, body: `{"error":"no such path"}`}, answer{body: chatHi})
	if _, err := m.Ask(t.Context(), withTool()); err == nil || !strings.Contains(err.Error(), "Function tools") {
		t.Errorf("a server without Responses: %v", err)
	}
	if reply := ask(t, m, hello()); reply.Text != "Hi." || s.paths[2] != "POST /v1/chat/completions" {
		t.Errorf("Ask = %+v after %q", reply, s.paths)
	}
}

// TestLearns has a server refuse what is optional: it is left out from then on.
func TestLearns(t *testing.T) {
	refusal := func(message, param string) answer {
		return answer{status: 400, body: value.NewDict("error", value.NewDict("message", message, "type", "invalid_request_error", "param", param, "code", nil)).String()}
	}
	m, s := open(t, openai.Options{API: "responses"}, refusal("Encrypted content is not supported with this model.", "include"),
		refusal("Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary"), answer{body: responsesHi})
	for range 2 {
		ask(t, m, hello())
	}
	if len(s.bodies) != 4 || strings.Contains(s.bodies[1], "include") || !strings.Contains(s.bodies[1], "summary") || strings.Contains(s.bodies[3], "reasoning") {
		t.Errorf("sent %q", s.bodies)
	}
	for api, hi := range map[string]string{"chat": chatHi, "responses": responsesHi} {
		r := hello()
		r.Schema = value.NewDict("type", "object", "properties", value.NewDict("a", value.NewDict("type", "string")))
		param := map[string]string{"chat": "response_format", "responses": "text.format"}[api]
		m, s = open(t, openai.Options{API: api}, refusal("This response_format type is unavailable now", param), answer{body: hi})
		ask(t, m, r)
		if len(s.bodies) != 2 || strings.Contains(s.bodies[1], "json_schema") || !strings.Contains(s.bodies[1], `matches this JSON Schema`) {
			t.Errorf("%s: sent %q", api, s.bodies)
		}
		m, s = open(t, openai.Options{API: api}, refusal("Invalid schema for response_format 'reply': x is not supported", param), answer{body: hi})
		if _, err := m.Ask(t.Context(), r); value.KindOf(err) != value.Invalid || len(s.bodies) != 1 {
			t.Errorf("%s: an invalid schema: %v after %d requests", api, err, len(s.bodies))
		}
	}
	m, s = open(t, openai.Options{API: "responses"}, refusal("Invalid value: 'max'.", "reasoning.effort"))
	r := hello()
	r.Effort = "max"
	if _, err := m.Ask(t.Context(), r); value.KindOf(err) != value.Invalid || len(s.bodies) != 1 {
		t.Errorf("an effort that was asked for: %v after %d requests", err, len(s.bodies))
	}
}

// TestOptions checks what is sent for the fields of a request.
func TestOptions(t *testing.T) {
	hot := 0.5
	r := withTool()
	r.System, r.ToolChoice, r.Effort, r.Temperature, r.MaxTokens, r.Conversation = "Be brief.", "f", "high", &hot, 7, strings.Repeat("long", 30)
	r.Schema = value.NewDict("title", "A city!", "type", "object", "properties", value.NewDict("a", value.NewDict("type", "string")),
		"required", value.List{"a"}, "additionalProperties", false)
	m, s := open(t, openai.Options{BaseURL: "https://api.openai.com/v1", API: "chat"}, answer{body: chatHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `"tool_choice":{"type":"function","function":{"name":"f"}}`, `"reasoning_effort":"high"`, `"temperature":0.5`, `"max_completion_tokens":7`,
		`"response_format":{"type":"json_schema","json_schema":{"name":"A_city_","schema":{"title":"A city!",`, `"additionalProperties":false},"strict":true}}`,
		`"prompt_cache_key":"cassidy-`, `"required":["a"],"additionalProperties":false},"strict":true}}]`)
	m, s = open(t, openai.Options{BaseURL: "https://api.openai.com/v1"}, answer{body: responsesHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `"instructions":"Be brief."`, `"tool_choice":{"type":"function","name":"f"}`, `"reasoning":{"effort":"high","summary":"auto"}`, `"temperature":0.5`,
		`"max_output_tokens":16`, `"text":{"format":{"type":"json_schema","name":"A_city_"`, `"strict":true}}`, `"prompt_cache_key":"cassidy-`,
		`"tools":[{"type":"function","name":"f","description":"Do it.","parameters":{`, `"store":false`)

	plain := hello()
	plain.ToolChoice, plain.Conversation = model.ToolRequired, "c"
	plain.Schema = value.NewDict("type", "array")
	m, s = open(t, openai.Options{}, answer{body: chatHi})
	ask(t, m, plain)
	for _, absent := range []string{"tool_choice", "prompt_cache_key", "response_format", "reasoning_effort", "temperature", "tools", "max_"} {
		if strings.Contains(s.bodies[0], absent) {
			t.Errorf("%s is sent: %s", absent, s.bodies[0])
		}
	}
	contains(t, s.bodies[0], `{"role":"system","content":"Reply only with a JSON value that matches this JSON Schema`, `{\"type\":\"array\"}`)
}

// TestInstructions sends an instruction in mid-conversation, which other servers get as a part of
// the user's message.
func TestInstructions(t *testing.T) {
	r := hello()
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "Hi."}, model.Message{Role: model.SystemRole, Text: "Hurry."}, model.Message{Role: model.User, Text: "Go."})
	for _, test := range []struct{ base, api, body, want string }{
		{"https://api.openai.com/v1", "", responsesHi, `{"role":"system","content":"Hurry."},{"role":"user"`},
		{"https://api.openai.com/v1", "chat", chatHi, `{"role":"system","content":"Hurry."},{"role":"user"`},
		{"http://host/v1", "", chatHi, `{"role":"user","content":"<system>\nHurry.\n</system>"},{"role":"user"`},
	} {
		m, s := open(t, openai.Options{BaseURL: test.base, API: test.api}, answer{body: test.body})
		ask(t, m, r)
		contains(t, s.bodies[0], test.want)
	}
}

// TestPlain sends a conversation with calls to a model without tools.
func TestPlain(t *testing.T) {
	r := withTool()
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c", Tool: "f", Args: value.NewDict("a", 1)}}},
		model.Message{Role: model.ToolRole, CallID: "c", Tool: "f", Text: "done"})
	m, s := open(t, openai.Options{API: "responses", Plain: true}, answer{body: responsesHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `{"role":"assistant","content":"CALL (f): {\"a\":1}"},{"role":"user","content":"RESULT (f):\ndone"}`)
	if strings.Contains(s.bodies[0], "tools") || m.Native() {
		t.Errorf("sent %s, native %t", s.bodies[0], m.Native())
	}
}

// TestQuota checks that a request is not repeated when the account is empty.
func TestQuota(t *testing.T) {
	for _, body := range []string{`{"status":"failed","output":[],"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`,
		`data: {"type":"error","code":"insufficient_quota","message":"You exceeded your current quota"}` + "\n\n"} {
		m, s := open(t, openai.Options{API: "responses"}, answer{body: body})
		r := hello()
		r.Text = func(string) {}
		_, err := m.Ask(t.Context(), r)
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != value.LimitRate || !strings.Contains(e.Hint, "balance") || len(s.paths) != 1 {
			t.Errorf("%v after %d requests", err, len(s.paths))
		}
	}
}

// TestStrict checks which schemas are strict.
func TestStrict(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"object","properties":{},"additionalProperties":false}`:                                                                                                   true,
		`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}},"required":["a"],"additionalProperties":false}`:                                  true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/x"}}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"type":"string"}}}`: true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`:                                 true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`:                                                                false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                          false,
		`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`:                                               false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                                               false,
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                                                            false,
		`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`:                                                              false,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}},"required":["a"],"additionalProperties":false}`:       false,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:                                                 false,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                                                                                       false,
	} {
		m, s := open(t, openai.Options{API: "responses"}, answer{body: responsesHi})
		r := hello()
		r.Tools = []tool.Tool{{Name: "f", Schema: []byte(text)}}
		ask(t, m, r)
		if got := strings.Contains(s.bodies[0], `"strict":true`); got != want {
			t.Errorf("%s: strict is %t, want %t", text, got, want)
		}
	}
}

// TestExtra adds further fields to requests.
func TestExtra(t *testing.T) {
	extra := value.NewDict("service_tier", "flex", "store", nil, "reasoning", value.NewDict("context", "all_turns", "summary", "detailed"),
		"include", value.List{"message.output_text.logprobs", "reasoning.encrypted_content"}, "tools", value.List{value.NewDict("type", "web_search")})
	m, s := open(t, openai.Options{API: "responses", Extra: extra}, answer{body: responsesHi})
	for range 2 { // the options are not changed
		ask(t, m, withTool())
		contains(t, s.bodies[len(s.bodies)-1], `"model":"m"`, `"service_tier":"flex"`, `"reasoning":{"summary":"detailed","context":"all_turns"}`,
			`"include":["reasoning.encrypted_content","message.output_text.logprobs"]`, `,{"type":"web_search"}]`)
		if body := s.bodies[len(s.bodies)-1]; strings.Contains(body, `"store"`) {
			t.Errorf("a field that Extra removes is sent: %s", body)
		}
	}
}

// TestMedia sends images, documents and audio, also of results.
func TestMedia(t *testing.T) {
	image, pdf := model.Media{Type: "image/png", Data: []byte("PNG")}, model.Media{Type: "application/pdf", Name: "a.pdf", Data: []byte("PDF")}
	r := &model.Request{Messages: []model.Message{
		{Role: model.User, Text: "Look.", Media: []model.Media{image, pdf}},
		{Role: model.Assistant, Calls: []model.Call{{ID: "c1", Tool: "f", Args: &value.Dict{}}, {ID: "c2", Tool: "g", Args: &value.Dict{}}}},
		{Role: model.ToolRole, CallID: "c1", Tool: "f", Text: "one", Media: []model.Media{image}},
		{Role: model.ToolRole, CallID: "c2", Tool: "g", Text: "two"},
	}}
	m, s := open(t, openai.Options{}, answer{body: chatHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}},`+
		`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,UERG"}}]}`,
		`{"role":"tool","content":"one","tool_call_id":"c1"},{"role":"tool","content":"two","tool_call_id":"c2"},`+
			`{"role":"user","content":[{"type":"text","text":"The files of the result of f (call c1):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]}]`)
	m, s = open(t, openai.Options{API: "responses"}, answer{body: responsesHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `{"role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,UE5H"},`+
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,UERG"}]}`,
		`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,UE5H"}]},`+
			`{"type":"function_call_output","call_id":"c2","output":"two"}]`)
	m, s = open(t, openai.Options{Plain: true}, answer{body: chatHi})
	ask(t, m, r)
	contains(t, s.bodies[0], `{"type":"text","text":"RESULT (f):\none"},{"type":"image_url"`)
	m, s = open(t, openai.Options{}, answer{body: chatHi})
	ask(t, m, &model.Request{Messages: []model.Message{{Role: model.User, Media: []model.Media{{Type: "audio/mpeg", Data: []byte("MP3")}}}}})
	contains(t, s.bodies[0], `{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"TVAz","format":"mp3"}}]}`)
	for _, api := range []string{"chat", "responses"} {
		m, s = open(t, openai.Options{API: api}, answer{body: chatHi})
		_, err := m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "x", Media: []model.Media{{Type: "video/mp4", Data: []byte("x")}}}}})
		if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "cannot read an attachment (video/mp4)") || len(s.bodies) > 0 {
			t.Errorf("%s: a video: %v", api, err)
		}
	}
}

// TestNoTools checks the error of a model that cannot call tools.
func TestNoTools(t *testing.T) {
	for _, a := range []answer{
		{status: 400, body: `{"error":{"message":"registry.ollama.ai/library/gemma does not support tools"}}`},
		{status: 404, body: `{"error":{"message":"No endpoints found that support tool use.","code":404}}`},
		{status: 400, body: `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`},
		{status: 500, body: `{"error":{"code":500,"message":"tools param requires --jinja flag"}}`},
	} {
		m, _ := open(t, openai.Options{}, a)
		_, err := m.Ask(t.Context(), withTool())
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Invalid || !strings.Contains(e.Hint, "pure_json") || !strings.Contains(e.Hint, "Plain") {
			t.Errorf("%s: %v, hint %q", a.body, err, e.Hint)
		}
	}
}

// TestRefusedCall has Groq refuse what the model wrote.
func TestRefusedCall(t *testing.T) {
	refused := func(generated string) answer {
		return answer{status: 400, body: value.NewDict("error", value.NewDict("message", "Tool call validation failed", "code", "tool_use_failed", "failed_generation", generated)).String()}
	}
	m, s := open(t, openai.Options{}, refused(`{"name":"f","arguments":{"b":1}}`))
	reply := ask(t, m, withTool())
	if len(reply.Calls) != 1 || reply.Calls[0].Tool != "f" || reply.Calls[0].Args.String() != `{"b":1}` || reply.Calls[0].ID == "" || reply.Stop != model.StopCalls || len(s.paths) != 1 {
		t.Errorf("Ask = %+v after %d requests", reply, len(s.paths))
	}
	for _, generated := range []string{"maybe", `{"name":"other","arguments":{}}`} {
		m, s = open(t, openai.Options{}, refused(generated))
		if reply := ask(t, m, withTool()); reply.Text != generated || reply.Stop != model.StopEnd || len(s.paths) != 2 {
			t.Errorf("Ask = %+v after %d requests, want %q after 2", reply, len(s.paths), generated)
		}
		m, s = open(t, openai.Options{}, refused(generated), answer{body: chatHi})
		if reply := ask(t, m, withTool()); reply.Text != "Hi." || len(s.paths) != 2 {
			t.Errorf("Ask = %+v after %d requests", reply, len(s.paths))
		}
	}
	r, told := withTool(), ""
	r.Text = func(piece string) { told += piece }
	m, _ = open(t, openai.Options{}, answer{body: `data: {"choices":[{"delta":{"content":"Let me. ","reasoning":"I think."}}]}` + "\n\n" +
		`data: {"error":{"message":"bad","code":"tool_use_failed","failed_generation":"[{\"name\":\"f\",\"arguments\":\"{}\"}]","status_code":400}}` + "\n\n"})
	reply = ask(t, m, r)
	if reply.Text != "Let me. " || told != reply.Text || len(reply.Calls) != 1 || reply.Reasoning != "I think." || reply.Opaque == nil {
		t.Errorf("Ask = %+v, streamed %q", reply, told)
	}
}

// TestThoughts reads <think>…</think>, streamed in two pieces at each position.
func TestThoughts(t *testing.T) {
	for _, test := range []struct{ in, finish, text, thought string }{
		{"<think>a < b</think>\n\nYes.", "stop", "Yes.", "a < b"},
		{"\n <think>\nwell\n</think>Yes </think>.", "stop", "Yes </think>.", "well"},
		{"Yes <think>no</think>", "stop", "Yes <think>no</think>", ""},
		{"<thin", "stop", "<thin", ""},
		{" <b>Yes.", "stop", " <b>Yes.", ""},
		{"<think>not ended", "stop", "<think>not ended", ""},
		{"<think>not ended", "length", "", "not ended"},
		{"<think></think>Yes.", "stop", "Yes.", ""},
	} {
		for i := range len(test.in) + 1 {
			var body string
			for _, piece := range []string{test.in[:i], test.in[i:]} {
				body += "data: " + value.NewDict("choices", value.List{value.NewDict("delta", value.NewDict("content", piece))}).String() + "\n\n"
			}
			body += `data: {"choices":[{"delta":{},"finish_reason":"` + test.finish + `"}]}` + "\n\n"
			m, _ := open(t, openai.Options{}, answer{body: body})
			told := ""
			r := hello()
			r.Text = func(piece string) { told += piece }
			reply := ask(t, m, r)
			if reply.Text != test.text || reply.Reasoning != test.thought || told != test.text {
				t.Errorf("%q, cut at %d: text %q, reasoning %q, streamed %q, want %q and %q", test.in, i, reply.Text, reply.Reasoning, told, test.text, test.thought)
			}
		}
	}
}

// replied returns a conversation after a reply to one body, with results and a question.
func replied(t *testing.T, o openai.Options, body string) (*model.Request, model.Message) {
	t.Helper()
	m, _ := open(t, o, answer{body: body})
	r := hello()
	if strings.HasPrefix(body, "data:") {
		r.Text = func(string) {}
	}
	reply := ask(t, m, r)
	message := reply.Message()
	next := hello()
	next.Messages = append(next.Messages, message)
	for _, c := range reply.Calls {
		next.Messages = append(next.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "done"})
	}
	next.Messages = append(next.Messages, model.Message{Role: model.User, Text: "And?"})
	return next, message
}

// TestKept sends replies back: as they were, or without what belongs to the old text.
func TestKept(t *testing.T) {
	items := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary",` +
		`"content":[{"type":"output_text","text":"Well.","annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{ \"a\": 1 }"}`
	tail := `,{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"f"}`
	chat := `{"choices":[{"message":{"content":"Well.","reasoning":"I think.","reasoning_details":[{"type":"reasoning.encrypted","data":"e","index":0}],` +
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`
	for _, test := range []struct{ api, body, kept, plain string }{
		{"responses", `{"status":"completed","output":[` + items + tail + `]}`, items + `,{"type":"function_call_output"`,
			`{"role":"assistant","content":"Well."},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output"`},
		{"responses", "data: " + `{"type":"response.output_item.done","output_index":0,"item":` + strings.ReplaceAll(items, `},{"type":"`,
			"}}\n\ndata: "+`{"type":"response.output_item.done","output_index":9,"item":{"type":"`), items, ""},
		{"chat", chat, `"reasoning":"I think.","reasoning_details":[{"type":"reasoning.encrypted","data":"e","index":0}]`,
			`{"role":"assistant","content":"Well.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`},
	} {
		if strings.HasPrefix(test.body, "data:") { // number the items
			test.body = strings.Replace(strings.Replace(test.body, `:9,`, `:1,`, 1), `:9,`, `:2,`, 1) + "}\n\ndata: " +
				`{"type":"response.completed","response":{"status":"completed"}}` + "\n\n"
		}
		o := openai.Options{API: test.api}
		r, reply := replied(t, o, test.body)
		sent := func(o openai.Options) string {
			m, s := open(t, o, answer{body: chatHi})
			_, _ = m.Ask(t.Context(), r)
			return s.bodies[0]
		}
		contains(t, sent(o), test.kept)
		if test.plain == "" {
			continue
		}
		other := o
		other.Model = "other"
		contains(t, sent(other), test.plain)
		switched := o
		switched.API = map[string]string{"chat": "responses", "responses": "chat"}[o.API]
		if body := sent(switched); strings.Contains(body, "I think.") || strings.Contains(body, "encrypted_content\":\"e") {
			t.Errorf("the other API gets the reasoning: %s", body)
		}
		for name, changed := range map[string]model.Message{
			"text":  {Role: model.Assistant, Text: "Changed.", Calls: reply.Calls, Opaque: reply.Opaque},
			"calls": {Role: model.Assistant, Text: reply.Text, Calls: []model.Call{{ID: "c", Tool: "f", Args: value.NewDict("a", 2)}}, Opaque: reply.Opaque},
		} {
			r.Messages[1] = changed
			if body := sent(o); strings.Contains(body, "rs_1") || strings.Contains(body, "msg_1") || strings.Contains(body, "reasoning_details") {
				t.Errorf("%s: changed %s, and the reasoning is sent: %s", test.api, name, body)
			}
		}
	}
}

// TestResponses reads outputs of the Responses API.
func TestResponses(t *testing.T) {
	message := func(id, text string) string {
		return `{"type":"message","id":"` + id + `","role":"assistant","content":[{"type":"output_text","text":"` + text + `","annotations":[{"type":"url_citation","url":"http://a","title":"A  b"}]}]}`
	}
	done := func(status, rest string) string {
		return `data: {"type":"response.` + status + `","response":{"status":"` + status + `"` + rest + `}}` + "\n\n"
	}
	delta := func(index, text string) string {
		return `data: {"type":"response.output_text.delta","output_index":` + index + `,"delta":"` + text + `"}` + "\n\n"
	}
	for _, test := range []struct{ name, body, want string }{
		{"two messages", `{"output":[` + message("a", "One.") + `,` + message("b", "Two.") + `]}`, "One.\n\nTwo. | end | A b: http://a"},
		{"two messages in pieces", delta("0", "One.") + delta("1", "Tw") + delta("1", "o.") + done("completed", ""), "One.\n\nTwo. | end | "},
		{"no pieces", done("completed", `,"output":[`+message("a", "One.")+`]`), "One. | end | A b: http://a"},
		{"too few pieces", delta("0", "On") + done("completed", `,"output":[`+message("a", "One.")+`]`), "One. | end | A b: http://a"},
		{"too long", done("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"},"output":[`+message("a", "One")+`]`), "One | length | A b: http://a"},
		{"filtered", done("incomplete", `,"incomplete_details":{"reason":"content_filter"},"output":[]`), " | refuse | "},
		{"a refusal", `{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`, "No. | refuse | "},
		{"a refusal in pieces", `data: {"type":"response.refusal.delta","output_index":0,"delta":"No."}` + "\n\n" + done("completed", ""), "No. | refuse | "},
		{"failed", done("failed", `,"error":{"code":"server_error","message":"oops"}`), "openai:m: HTTP 500: oops (server_error)"},
		{"failed for no reason", `{"status":"failed","error":null,"output":[]}`, "openai:m: HTTP 500: Unknown API error"},
		{"an image that is refused", done("failed", `,"error":{"code":"invalid_image","message":"no image"}`), "openai:m: HTTP 400: no image (invalid_image)"},
		{"a policy", done("failed", `,"error":{"code":"bio_policy","message":"no"}`), "openai:m: HTTP 400: no (bio_policy)"},
		{"a store that is slow", done("failed", `,"error":{"code":"vector_store_timeout","message":"slow"}`), "openai:m: HTTP 500: slow (vector_store_timeout)"},
		{"a status", `{"output":[],"error":{"code":503,"message":"busy"}}`, "openai:m: HTTP 503: busy"},
		{"an error without a code", `data: {"type":"error","code":null,"message":"oops"}` + "\n\n", "openai:m: HTTP 500: oops"},
		{"an error as text", `{"output":[],"error":"broken"}`, "openai:m: HTTP 500: broken"},
		{"too many requests", `data: {"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}` + "\n\n", "openai:m: HTTP 429: slow down (rate_limit_exceeded)"},
		{"an error inside", `data: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}` + "\n\n", "openai:m: HTTP 400: too long (context_length_exceeded)"},
		{"no end", delta("0", "One."), "openai:m: the connection was closed before the reply was complete"},
		{"not the API", `{"choices":[]}`, "openai:m: invalid response: the output is missing"},
	} {
		m, _ := open(t, openai.Options{API: "responses"}, answer{body: test.body})
		r, told := hello(), ""
		r.Text = func(piece string) { told += piece }
		r.Notice = func(n model.Notice) {
			if n.Retry != nil {
				told = ""
			}
		}
		reply, err := m.Ask(t.Context(), r)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = reply.Text + " | " + string(reply.Stop) + " | " + strings.Join(reply.References, ", ")
			if told != reply.Text {
				t.Errorf("%s: streamed %q, the text is %q", test.name, told, reply.Text)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestBackground waits for a response in the background, also after its stream has broken off.
func TestBackground(t *testing.T) {
	queued := answer{body: `{"id":"resp_1","status":"queued","output":[]}`}
	for _, first := range []answer{queued, {body: `data: {"type":"response.created","response":{"id":"resp_1","status":"queued"}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"delta":"H"}` + "\n\n", cut: true}} {
		m, s := open(t, openai.Options{API: "responses", Extra: value.NewDict("background", true)}, first, queued, answer{body: responsesHi})
		r, told := hello(), ""
		r.Text = func(piece string) { told += piece }
		if reply := ask(t, m, r); reply.Text != "Hi." || told != "Hi." {
			t.Errorf("Ask = %+v, streamed %q", reply, told)
		}
		if want := []string{"POST /v1/responses", "GET /v1/responses/resp_1", "GET /v1/responses/resp_1"}; !slices.Equal(s.paths, want) {
			t.Errorf("%q asked, want %q", s.paths, want)
		}
		contains(t, s.bodies[0], `"store":true`, `"background":true`)
	}
}

// TestUsage reads the usage of each kind of server.
func TestUsage(t *testing.T) {
	for body, want := range map[string]model.Usage{
		`"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}`: {InputTokens: 9, OutputTokens: 2, CachedTokens: 4, CacheWriteTokens: 3},
		`"usage":{"prompt_tokens":9,"completion_tokens":2,"num_cached_tokens":4}`:                                              {InputTokens: 9, OutputTokens: 2, CachedTokens: 4},
		`"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":5}`:                                        {InputTokens: 9, OutputTokens: 2, CachedTokens: 5},
		`"usage":null,"x_groq":{"usage":{"prompt_tokens":9,"completion_tokens":2}}`:                                            {InputTokens: 9, OutputTokens: 2},
	} {
		m, _ := open(t, openai.Options{}, answer{body: strings.TrimSuffix(chatHi, "}") + "," + body + "}"})
		got := ask(t, m, hello()).Usage
		got.Wall = 0
		if got != want {
			t.Errorf("%s: usage %+v, want %+v", body, got, want)
		}
	}
	m, _ := open(t, openai.Options{API: "responses"}, answer{body: strings.TrimSuffix(responsesHi, "}") +
		`,"usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}}`})
	got := ask(t, m, hello()).Usage
	if got.Wall = 0; got != (model.Usage{InputTokens: 9, OutputTokens: 2, CachedTokens: 4, CacheWriteTokens: 3}) {
		t.Errorf("usage %+v", got)
	}
}

// TestInfo reads what servers report about a model.
func TestInfo(t *testing.T) {
	router := `{"data":[{"id":"a/z"},{"id":"m","context_length":131072,"architecture":{"input_modalities":["text","image","file"]},` +
		`"pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000002"},"top_provider":{"context_length":128000,"max_completion_tokens":16384}}]}`
	for _, test := range []struct {
		name, base string
		answers    []answer
		want       model.Info
	}{
		{"OpenRouter", "", []answer{{body: router}}, model.Info{Context: 128000, MaxOutput: 16384, Media: []string{"image/*", "application/pdf"}, Source: "server",
			Price: &model.Price{Input: 2, Output: 10, CachedInput: 0.2}}},
		{"vLLM", "", []answer{{body: `{"object":"list","data":[{"id":"m","object":"model","max_model_len":32768}]}`}}, model.Info{Context: 32768, Source: "server"}},
		{"llama.cpp", "", []answer{{body: `{"data":[{"id":"m"}]}`}, {body: `{"default_generation_settings":{"n_ctx":8192}}`}}, model.Info{Context: 8192, Source: "server"}},
		{"silent", "", []answer{{status: 404, body: "no"}}, model.Info{}},
		{"wrong", "", []answer{{body: `{"data":[{"id":"m","context_length":-1,"pricing":{"prompt":"-1","completion":"-1"}}]}`}, {body: `[]`}}, model.Info{}},
	} {
		m, s := open(t, openai.Options{}, test.answers...)
		got := model.InfoOf(t.Context(), m)
		if got.Price != nil {
			got.Price.CachedInput = float64(int(got.Price.CachedInput*1000+0.5)) / 1000
		}
		test.want.MaxTools = 128
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
		if test.name == "llama.cpp" && !slices.Equal(s.paths, []string{"GET /v1/models", "GET /props"}) {
			t.Errorf("%q asked", s.paths)
		}
	}
	m, s := open(t, openai.Options{BaseURL: "https://api.openai.com/v1", Model: "gpt-5"}, answer{body: router})
	if got := model.InfoOf(t.Context(), m); got.Context != 400000 || got.Source != "table" || len(s.paths) > 0 {
		t.Errorf("gpt-5: %+v after %q", got, s.paths)
	}
}

// TestList lists the models of a server.
func TestList(t *testing.T) {
	s := &server{answers: []answer{{body: `{"data":[{"id":"unknown"},{"id":"gpt-5"}]}`}}}
	o := &openai.Options{Key: "k", HTTP: model.HTTP{Client: &http.Client{Transport: s}, Sleep: noSleep, Timeout: time.Second}}
	list, err := openai.List(t.Context(), o)
	if err != nil || len(list) != 2 || list[0].Name != "gpt-5" || list[0].Context != 400000 || list[1].Context != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	s.answers = []answer{{status: 401, body: `{"error":{"message":"Incorrect API key provided"}}`}}
	if _, err := openai.List(t.Context(), o); value.KindOf(err) != value.Unavailable || !strings.Contains(err.Error(), "Incorrect API key") {
		t.Errorf("List = %v", err)
	}
}

// TestDetails puts the pieces of OpenRouter's reasoning together, and reads its sources.
func TestDetails(t *testing.T) {
	var body string
	for _, delta := range []string{
		`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","index":0,"format":"x"}]}`,
		`{"reasoning":"think.","reasoning_details":[{"type":"reasoning.text","text":"think.","index":0,"signature":null}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","text":"More.","index":1},{"type":"reasoning.encrypted","data":"e","index":1},{"type":"reasoning.encrypted","data":"f","index":1}]}`,
		`{"content":"Yes.","annotations":[{"type":"url_citation","url_citation":{"url":"http://a","title":"A\n b"}}]}`,
		`{"annotations":[{"type":"url_citation","url_citation":{"url":"http://a","title":"A b"}},{"type":"url_citation","url_citation":{"url":"http://b"}}]}`,
	} {
		body += `data: {"choices":[{"delta":` + delta + `}]}` + "\n\n"
	}
	body += "data: [DONE]\n\n"
	m, _ := open(t, openai.Options{}, answer{body: body})
	r := hello()
	r.Text = func(string) {}
	reply := ask(t, m, r)
	if reply.Text != "Yes." || reply.Reasoning != "I think." || !slices.Equal(reply.References, []string{"A b: http://a", "http://b"}) {
		t.Errorf("Ask = %+v", reply)
	}
	next, _ := replied(t, openai.Options{}, body)
	m, s := open(t, openai.Options{}, answer{body: chatHi})
	ask(t, m, next)
	contains(t, s.bodies[0], `"reasoning":"I think.","reasoning_details":[{"type":"reasoning.text","text":"I think.","index":0,"format":"x","signature":"s"},`+
		`{"type":"reasoning.text","text":"More.","index":1},{"type":"reasoning.encrypted","data":"e","index":1},{"type":"reasoning.encrypted","data":"f","index":1}]`)
}
