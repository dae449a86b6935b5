package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const four = `{"candidates":[{"content":{"parts":[{"text":"Four."}]},"finishReason":"STOP"}]}`

// A server answers with bodies in turn, the last one again and again. A body that begins with
// a number and a space has that status.
type server struct {
	*httptest.Server
	bodies []string
	sent   []string // the bodies of the requests
	paths  []string
	slept  []time.Duration
}

func serve(t *testing.T, bodies ...string) *server {
	s := &server{bodies: bodies}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		s.sent, s.paths = append(s.sent, string(data)), append(s.paths, r.URL.RequestURI())
		body := s.bodies[0]
		if len(s.bodies) > 1 {
			s.bodies = s.bodies[1:]
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(body, "data: ") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if status, rest, ok := strings.Cut(body, " "); ok && len(status) == 3 {
			code := map[string]int{"400": 400, "404": 404, "429": 429, "500": 500, "503": 503}[status]
			w.WriteHeader(code)
			body = rest
		}
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) open(t *testing.T, o gemini.Options) model.Model {
	t.Helper()
	o.BaseURL, o.Key = s.URL, "AIza-test"
	o.HTTP.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	o.HTTP.Sleep = func(_ context.Context, d time.Duration) error {
		s.slept = append(s.slept, d)
		return nil
	}
	m, err := gemini.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }

func readFile() tool.Tool {
	return tool.Tool{Name: "read_file", Description: "Read a file.", Params: []tool.Param{{Name: "path", Type: tool.Type{Name: tool.TypeString}, Required: true}}}
}

func TestNew(t *testing.T) {
	for _, name := range []string{"", "models/", "gemini?key=1", "a b", "../x"} {
		if _, err := gemini.New(&gemini.Options{Model: name}); value.KindOf(err) != value.Invalid {
			t.Errorf("New(%q): %v, want an error", name, err)
		}
	}
	m, err := gemini.New(&gemini.Options{Model: "models/gemini-2.5-pro", Plain: true})
	if err != nil || m.Name() != "gemini:gemini-2.5-pro" || m.Native() {
		t.Errorf("New = %v, %v", m, err)
	}
}

// TestRequests compares what is sent, byte by byte.
func TestRequests(t *testing.T) {
	warm := 0.5
	schema := value.NewDict("type", "object")
	called := []model.Message{user("Read."), {Role: model.Assistant, Text: "Well.", Calls: []model.Call{{ID: "a", Tool: "read_file", Args: value.NewDict("path", "x")}, {ID: "b", Tool: "read_file", Raw: "{"}}},
		{Role: model.ToolRole, CallID: "b", Tool: "read_file", Text: "broken", Failed: true},
		{Role: model.ToolRole, CallID: "a", Tool: "read_file", Text: "X", Media: []model.Media{{Type: "image/png", Data: []byte("png")}}}, user("Go.")}
	const hi = `"contents":[{"role":"user","parts":[{"text":"Hi."}]}]`
	const tools = `"tools":[{"functionDeclarations":[{"name":"read_file","description":"Read a file.","parametersJsonSchema":` +
		`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}]}]`
	const responses = `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read_file","response":{"output":"X"}}},` +
		`{"functionResponse":{"id":"b","name":"read_file","response":{"error":"broken"}}},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"Go."}]}`
	tests := []struct {
		name, model string
		r           model.Request
		want        string
	}{
		{"as little as possible", "gemini-2.0-flash", model.Request{}, `{` + hi + `}`},
		{"everything", "gemini-2.0-flash", model.Request{System: "Be brief.", MaxTokens: 9, Temperature: &warm, Schema: schema, Effort: "high"},
			`{"systemInstruction":{"parts":[{"text":"Be brief."}]},` + hi + `,"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`},
		{"any JSON", "gemini-2.0-flash", model.Request{Schema: value.NewDict()}, `{` + hi + `,"generationConfig":{"responseMimeType":"application/json"}}`},
		{"no schema with tools before 3", "gemini-2.0-flash", model.Request{Schema: schema, Tools: []tool.Tool{readFile()}}, `{` + hi + `,` + tools + `}`},
		{"a schema with tools", "gemini-3-flash-preview", model.Request{Schema: schema, Tools: []tool.Tool{readFile()}},
			`{` + hi + `,` + tools + `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"},"thinkingConfig":{"includeThoughts":true}}}`},
		{"no call", "gemini-2.0-flash", model.Request{ToolChoice: model.ToolNone, Tools: []tool.Tool{readFile()}}, `{` + hi + `,` + tools + `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`},
		{"any call", "gemini-2.0-flash", model.Request{ToolChoice: model.ToolRequired, Tools: []tool.Tool{readFile()}}, `{` + hi + `,` + tools + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`},
		{"one call", "gemini-2.0-flash", model.Request{ToolChoice: "read_file", Tools: []tool.Tool{readFile()}},
			`{` + hi + `,` + tools + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read_file"]}}}`},
		{"no tools to choose from", "gemini-2.0-flash", model.Request{ToolChoice: model.ToolRequired}, `{` + hi + `}`},
		{"calls of another model", "gemini-3-flash-preview", model.Request{Messages: called}, `{"contents":[{"role":"user","parts":[{"text":"Read."}]},` +
			`{"role":"model","parts":[{"text":"Well."},{"functionCall":{"id":"a","name":"read_file","args":{"path":"x"}},"thoughtSignature":"skip_thought_signature_validator"},` +
			`{"functionCall":{"id":"b","name":"read_file","args":{"INVALID_JSON":"{"}}}]},` + responses + `],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`},
		{"calls of another model before 3", "gemini-2.0-flash", model.Request{Messages: called}, `{"contents":[{"role":"user","parts":[{"text":"Read."}]},` +
			`{"role":"model","parts":[{"text":"Well."},{"functionCall":{"id":"a","name":"read_file","args":{"path":"x"}}},` +
			`{"functionCall":{"id":"b","name":"read_file","args":{"INVALID_JSON":"{"}}}]},` + responses + `]}`},
		{"media", "gemini-2.0-flash", model.Request{Messages: []model.Message{{Role: model.User, Media: []model.Media{{Type: "application/pdf", Data: []byte("%PDF")}, {Type: "text/plain", Data: []byte("a")}}}}},
			`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}},{"inlineData":{"mimeType":"text/plain","data":"YQ=="}}]}]}`},
		{"an empty reply", "gemini-2.0-flash", model.Request{Messages: []model.Message{user("Hi."), {Role: model.Assistant}, user("Well?")}},
			`{"contents":[{"role":"user","parts":[{"text":"Hi."}]},{"role":"model","parts":[{"text":""}]},{"role":"user","parts":[{"text":"Well?"}]}]}`},
	}
	for _, test := range tests {
		s := serve(t, four)
		if test.r.Messages == nil {
			test.r.Messages = []model.Message{user("Hi.")}
		}
		if _, err := s.open(t, gemini.Options{Model: test.model}).Ask(t.Context(), &test.r); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if d := cmp.Diff(test.want, s.sent[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
}

// TestPlain checks that calls are text for a model without tools.
func TestPlain(t *testing.T) {
	s := serve(t, four)
	_, err := s.open(t, gemini.Options{Model: "gemma-3-27b-it", Plain: true}).Ask(t.Context(), &model.Request{Tools: []tool.Tool{readFile()}, ToolChoice: model.ToolRequired,
		Messages: []model.Message{user("Read."), {Role: model.Assistant, Calls: []model.Call{{ID: "a", Tool: "read_file", Args: value.NewDict()}}},
			{Role: model.ToolRole, CallID: "a", Tool: "read_file", Text: "X"}}})
	want := `{"contents":[{"role":"user","parts":[{"text":"Read."}]},{"role":"model","parts":[{"text":"CALL (read_file): {}"}]},{"role":"user","parts":[{"text":"RESULT (read_file):\nX"}]}]}`
	if err != nil || s.sent[0] != want {
		t.Errorf("%v, sent %s\nwant %s", err, s.sent[0], want)
	}
}

func TestEffort(t *testing.T) {
	for _, test := range []struct{ model, efforts, want string }{
		{"gemini-3-flash-preview", "none minimal low medium high xhigh max", "MINIMAL MINIMAL LOW MEDIUM HIGH HIGH HIGH"},
		{"gemini-3.5-flash", "none medium", "MINIMAL MEDIUM"},
		{"gemini-3-pro-preview", "none minimal low medium high max", "LOW LOW LOW HIGH HIGH HIGH"},
		{"gemini-3.1-pro-preview", "none low medium high", "LOW LOW MEDIUM HIGH"},
		{"gemini-flash-latest", "low", "LOW"},
		{"gemini-2.5-flash", "none minimal low medium high xhigh max", "0 512 1024 8192 24576 24576 24576"},
		{"gemini-2.5-pro", "none low high xhigh", "128 1024 24576 32768"},
		{"gemini-2.0-flash", "high", "-"},
		{"gemma-3-27b-it", "high", "-"},
		{"gemini-2.5-flash-image", "high", "-"},
	} {
		var got []string
		for _, effort := range strings.Fields(test.efforts) {
			s := serve(t, four)
			if _, err := s.open(t, gemini.Options{Model: test.model}).Ask(t.Context(), &model.Request{Effort: effort, Messages: []model.Message{user("Hi.")}}); err != nil {
				t.Error(err)
			}
			var sent object
			if err := json.Unmarshal([]byte(s.sent[0]), &sent); err != nil {
				t.Fatal(err)
			}
			word := "-"
			if thinking := get(sent, "generationConfig", "thinkingConfig"); thinking != nil {
				word = strings.Trim(string(encode(t, get(thinking, "thinkingLevel"))), `"`)
				if budget := get(thinking, "thinkingBudget"); budget != nil {
					word = string(encode(t, budget))
				}
				if get(thinking, "includeThoughts") != true {
					t.Errorf("%s: thoughts are not included", test.model)
				}
			}
			got = append(got, word)
		}
		if all := strings.Join(got, " "); all != test.want {
			t.Errorf("%s: efforts %s become %s, want %s", test.model, test.efforts, all, test.want)
		}
	}
}

// signedCall is a reply with a signed call.
func signedCall(signature string) string {
	return `{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"functionCall":{"id":"x1","name":"read_file","args":{"path":"a"}},"thoughtSignature":"` + signature + `"}]},"finishReason":"STOP"}]}`
}

const missing = `400 {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Function call is missing a thought_signature in functionCall parts. ` +
	`This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance."}}`

// TestSignatures has the API reject the signatures of a conversation: the dummy is sent, then
// none, and the next request begins with what has worked.
func TestSignatures(t *testing.T) {
	s := serve(t, signedCall("czE="))
	m := s.open(t, gemini.Options{Model: "gemini-3-flash-preview"})
	r := &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.")}}
	ask := func(bodies ...string) (sent []string) {
		t.Helper()
		s.bodies, s.sent = bodies, nil
		reply, err := m.Ask(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, reply.Message())
		for _, c := range reply.Calls {
			r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "A"})
		}
		for _, body := range s.sent {
			var signatures []string
			var d object
			if err := json.Unmarshal([]byte(body), &d); err != nil {
				t.Fatal(err)
			}
			for _, content := range items(d, "contents") {
				for _, p := range items(content, "parts") {
					if get(p, "functionCall") != nil {
						signatures = append(signatures, text(p, "thoughtSignature"))
					}
				}
			}
			sent = append(sent, strings.Join(signatures, " "))
		}
		return sent
	}
	const dummy = "skip_thought_signature_validator"
	if got := ask(signedCall("czE=")); !slices.Equal(got, []string{""}) {
		t.Errorf("sent %q", got)
	}
	if got := ask(signedCall("czI=")); !slices.Equal(got, []string{"czE="}) {
		t.Errorf("sent %q", got)
	}
	if got := ask(missing, missing, signedCall("czM=")); !slices.Equal(got, []string{"czE= czI=", dummy + " " + dummy, " "}) {
		t.Errorf("sent %q", got)
	}
	if got := ask(signedCall("czQ=")); !slices.Equal(got, []string{"  czM="}) {
		t.Errorf("sent %q", got)
	}
	if strings.Contains(s.sent[0], `"thought":true`) != true {
		t.Errorf("the thought with the valid signature is not sent: %s", s.sent[0])
	}
	s.bodies, s.sent = []string{missing}, nil
	if _, err := m.Ask(t.Context(), r); value.KindOf(err) != value.Invalid || len(s.sent) != 2 {
		t.Errorf("Ask = %v after %d requests", err, len(s.sent))
	}
}

// TestOlderModel checks that a model before 3 that wants signatures all the same gets the
// dummy.
func TestOlderModel(t *testing.T) {
	s := serve(t, missing, four)
	_, err := s.open(t, gemini.Options{Model: "gemini-2.5-flash"}).Ask(t.Context(), &model.Request{Messages: []model.Message{user("Read."),
		{Role: model.Assistant, Calls: []model.Call{{ID: "a", Tool: "f", Args: value.NewDict()}}}, {Role: model.ToolRole, CallID: "a", Tool: "f", Text: "X"}}})
	if err != nil || len(s.sent) != 2 || strings.Contains(s.sent[0], "skip_") || !strings.Contains(s.sent[1], "skip_thought_signature_validator") {
		t.Errorf("%v, sent %q", err, s.sent)
	}
}

// TestChanged edits a reply, or sends it to another model: its signature is not sent.
func TestChanged(t *testing.T) {
	s := serve(t, signedCall("czE="))
	reply, err := s.open(t, gemini.Options{Model: "gemini-3-flash-preview"}).Ask(t.Context(), &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.")}})
	if err != nil {
		t.Fatal(err)
	}
	edited := reply.Message()
	edited.Calls = []model.Call{{ID: "x1", Tool: "read_file", Args: value.NewDict("path", "b")}}
	said := reply.Message()
	said.Text = "I read."
	for name, test := range map[string]struct {
		model string
		m     model.Message
		kept  bool
	}{
		"unchanged": {"gemini-3-flash-preview", reply.Message(), true},
		"arguments": {"gemini-3-flash-preview", edited, false},
		"text":      {"gemini-3-flash-preview", said, false},
		"model":     {"gemini-3-pro-preview", reply.Message(), false},
	} {
		s := serve(t, four)
		_, err := s.open(t, gemini.Options{Model: test.model}).Ask(t.Context(), &model.Request{Messages: []model.Message{user("Read."), test.m,
			{Role: model.ToolRole, CallID: "x1", Tool: "read_file", Text: "A"}}})
		if err != nil || strings.Contains(s.sent[0], "czE=") != test.kept || strings.Contains(s.sent[0], "skip_thought") == test.kept {
			t.Errorf("%s: %v, sent %s", name, err, s.sent[0])
		}
	}
}

// TestMalformed tests calls that the API could not read: it is asked once more, and then the
// reply is a call that fails, or empty.
func TestMalformed(t *testing.T) {
	bad := func(reason, message string) string {
		return `{"candidates":[{"content":{},"finishReason":"` + reason + `","finishMessage":` + value.FormatJSON(message, "") + `}]}`
	}
	r := &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.")}}
	const message = "Malformed function call: print(default_api.read_file(path='a'))"
	s := serve(t, bad("MALFORMED_FUNCTION_CALL", message), four)
	if got, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r); err != nil || got.Text != "Four." {
		t.Errorf("Ask = %+v, %v", got, err)
	}
	s = serve(t, bad("MALFORMED_FUNCTION_CALL", message))
	got, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r)
	if err != nil || got.Stop != model.StopCalls || len(got.Calls) != 1 || got.Calls[0].Tool != "read_file" || got.Calls[0].Args != nil || got.Calls[0].Raw != message || got.Calls[0].ID == "" {
		t.Errorf("Ask = %+v, %v", got, err)
	}
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"} {
		s := serve(t, bad(reason, "read_files is not a tool"))
		_, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r)
		if !errors.Is(err, model.ErrEmpty) || len(s.sent) != 2 || !strings.Contains(err.Error(), "invalid call: "+reason+": read_files is not a tool") {
			t.Errorf("%s: %v after %d requests", reason, err, len(s.sent))
		}
	}
}

func TestStops(t *testing.T) {
	candidate := func(reason, parts string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `]},"finishReason":"` + reason + `"}]}`
	}
	const call = `{"functionCall":{"name":"f","args":{"a":1}}}`
	for _, test := range []struct{ body, want string }{
		{candidate("STOP", `{"text":"A"}`), "A end"},
		{candidate("STOP", `{"text":"A"},`+call), "A f call_1 calls"},
		{candidate("MAX_TOKENS", `{"text":"A"}`), "A length"},
		{candidate("MAX_TOKENS", call), " f call_1 length"},
		{candidate("SAFETY", ``), " refuse"},
		{candidate("PROHIBITED_CONTENT", `{"text":"A"}`), "A refuse"},
		{candidate("RECITATION", ``), " refuse"},
		{candidate("SOMETHING_NEW", `{"text":"A"}`), "A end"},
		{candidate("UNEXPECTED_TOOL_CALL", call), " f call_1 calls"},
		{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}`, " refuse"},
		{"data: " + `{"promptFeedback":{"blockReason":"OTHER"}}` + "\n\n", " refuse"},
	} {
		s := serve(t, test.body)
		r := &model.Request{Messages: []model.Message{user("Hi.")}}
		if strings.HasPrefix(test.body, "data") {
			r.Text = func(string) {}
		}
		got, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v", test.body, err)
			continue
		}
		said := got.Text
		for _, c := range got.Calls {
			said += " " + c.Tool + " " + c.ID
		}
		if said += " " + string(got.Stop); said != test.want {
			t.Errorf("%s: %q, want %q", test.body, said, test.want)
		}
	}
}

// TestErrors tests what is special about the errors of this API.
func TestErrors(t *testing.T) {
	r := &model.Request{Messages: []model.Message{user("Hi.")}}
	s := serve(t, `400 {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`)
	_, err := s.open(t, gemini.Options{Model: "m", KeyHint: "set THE_KEY"}).Ask(t.Context(), r)
	if e := value.ErrorOf(err, value.Failed); e.Kind != value.Unavailable || e.Hint != "set THE_KEY" || len(s.sent) != 1 {
		t.Errorf("a wrong key: %v, hint %q", err, e.Hint)
	}

	s = serve(t, `429 [{"error":{"code":429,"message":"Slow down.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}]`, four)
	if _, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r); err != nil || len(s.slept) != 1 || s.slept[0] < 34500*time.Millisecond {
		t.Errorf("a limit with a delay: %v after %v", err, s.slept)
	}
	s = serve(t, `429 {"error":{"code":429,"message":"Quota.","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`)
	if _, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), r); value.KindOf(err) != value.Limit || len(s.sent) != 1 {
		t.Errorf("the quota of a day: %v after %d requests", err, len(s.sent))
	}
	const refused = `400 {"error":{"code":400,"message":"Thinking is not enabled for this model","status":"INVALID_ARGUMENT"}}`
	s = serve(t, refused, four)
	if _, err := s.open(t, gemini.Options{Model: "gemini-flash-latest"}).Ask(t.Context(), r); err != nil || strings.Contains(s.sent[1], "thinking") {
		t.Errorf("a model that does not reason: %v, sent %q", err, s.sent)
	}
	s = serve(t, refused)
	_, err = s.open(t, gemini.Options{Model: "gemini-3-flash"}).Ask(t.Context(), &model.Request{Effort: "low", Messages: r.Messages})
	if e := value.ErrorOf(err, value.Failed); e.Kind != value.Invalid || !strings.Contains(e.Hint, "effort") || len(s.sent) != 1 {
		t.Errorf("an effort that the model does not have: %v, hint %q", err, e.Hint)
	}
	const noLevel = `400 {"error":{"code":400,"message":"Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.","status":"INVALID_ARGUMENT"}}`
	s = serve(t, noLevel, four)
	_, err = s.open(t, gemini.Options{Model: "gemini-3.8-flash"}).Ask(t.Context(), &model.Request{Effort: "none", Messages: r.Messages})
	if err != nil || len(s.sent) != 2 || !strings.Contains(s.sent[0], `"thinkingLevel":"MINIMAL"`) || !strings.Contains(s.sent[1], `"thinkingLevel":"LOW"`) {
		t.Errorf("a level that the model does not have: %v, sent %q", err, s.sent)
	}
	s = serve(t, noLevel)
	_, err = s.open(t, gemini.Options{Model: "gemini-3.8-flash"}).Ask(t.Context(), &model.Request{Effort: "none", Messages: r.Messages})
	if value.KindOf(err) != value.Invalid || len(s.sent) != 4 {
		t.Errorf("a model without levels: %v after %d requests", err, len(s.sent))
	}
	_, err = s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Media: []model.Media{{Type: "image/gif", Name: "a.gif"}}}}})
	if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "cannot read a.gif (image/gif)") {
		t.Errorf("an image of another kind: %v", err)
	}
}

// TestNames sends tools whose names the API rejects, and reads calls of them.
func TestNames(t *testing.T) {
	long := strings.Repeat("long", 40)
	names := []string{"read_file", "spotify.play", "größe", "2fast", "", long, long + "er"}
	seen := map[string]bool{}
	for _, name := range names {
		s := serve(t, four)
		r := &model.Request{Messages: []model.Message{user("Hi.")}, Tools: []tool.Tool{{Name: name}}}
		m := s.open(t, gemini.Options{Model: "m"})
		if _, err := m.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		var d object
		if err := json.Unmarshal([]byte(s.sent[0]), &d); err != nil {
			t.Fatal(err)
		}
		sent := text(items(items(d, "tools")[0], "functionDeclarations")[0], "name")
		if seen[sent] || len(sent) > 128 || strings.Trim(sent[:1], "0123456789.:-") == "" || name == "spotify.play" && sent != "spotify__play" {
			t.Errorf("%q is sent as %q", name, sent)
		}
		seen[sent] = true
		s.bodies = []string{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"` + sent + `"}}]},"finishReason":"STOP"}]}`}
		got, err := m.Ask(t.Context(), r)
		if err != nil || tool.Key(got.Calls[0].Tool) != tool.Key(name) {
			t.Errorf("a call of %q: %+v, %v", name, got, err)
		}
		s.bodies = []string{four}
		r.Messages = append(r.Messages, got.Message(), model.Message{Role: model.ToolRole, CallID: got.Calls[0].ID, Tool: name, Text: "X"})
		if _, err := m.Ask(t.Context(), r); err != nil || strings.Count(s.sent[2], `"name":"`+sent+`"`) != 3 {
			t.Errorf("%q: %v, sent %s", name, err, s.sent[2])
		}
	}
}

func TestInfo(t *testing.T) {
	s := serve(t, `{"name":"models/gemini-2.5-flash","inputTokenLimit":1000,"outputTokenLimit":200}`)
	m := s.open(t, gemini.Options{Model: "gemini-2.5-flash"})
	for range 2 {
		got := model.InfoOf(t.Context(), m)
		if got.Context != 1000 || got.MaxOutput != 200 || got.Source != "server" || got.Price == nil || !slices.Contains(got.Media, "application/pdf") {
			t.Errorf("Info = %+v", got)
		}
	}
	if !slices.Equal(s.paths, []string{"/models/gemini-2.5-flash"}) {
		t.Errorf("requests %q", s.paths)
	}
	s = serve(t, `503 {"error":{"code":503,"message":"no"}}`)
	if got := model.InfoOf(t.Context(), s.open(t, gemini.Options{Model: "gemini-2.5-flash"})); got.Context != 1048576 || got.Source != "table" || len(s.paths) != 1 {
		t.Errorf("Info = %+v after %q", got, s.paths)
	}
}

func TestList(t *testing.T) {
	s := serve(t, `{"models":[{"name":"models/gemini-2.5-flash","inputTokenLimit":1000,"outputTokenLimit":200,"supportedGenerationMethods":["generateContent","countTokens"]},`+
		`{"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"a+/="}`,
		`{"models":[{"name":"models/new","inputTokenLimit":5,"supportedGenerationMethods":["generateContent"]}]}`)
	got, err := gemini.List(t.Context(), &gemini.Options{BaseURL: s.URL, Key: "k", HTTP: model.HTTP{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}})
	if err != nil || len(got) != 2 || got[0].Name != "gemini-2.5-flash" || got[0].Context != 1000 || got[0].Price == nil || got[1].Name != "new" || got[1].Context != 5 {
		t.Errorf("List = %+v, %v", got, err)
	}
	if want := []string{"/models?pageSize=1000", "/models?pageSize=1000&pageToken=a%2B%2F%3D"}; !slices.Equal(s.paths, want) {
		t.Errorf("requests %q, want %q", s.paths, want)
	}
	s = serve(t, `400 {"error":{"code":400,"message":"API key not valid."}}`)
	if _, err := gemini.List(t.Context(), &gemini.Options{BaseURL: s.URL, Key: "k", KeyHint: "set IT"}); value.ErrorOf(err, value.Failed).Hint != "set IT" {
		t.Errorf("List: %v", err)
	}
}

// TestSources has a source reported twice, at first without its title.
func TestSources(t *testing.T) {
	s := serve(t, `{"candidates":[{"content":{"parts":[{"text":"A"}]},"finishReason":"STOP","urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"https://b.c","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_SUCCESS"},`+
		`{"retrievedUrl":"https://lost","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_ERROR"}]},"citationMetadata":{"citationSources":[{"uri":"https://book"}]},`+
		`"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://b.c","title":"B"}},{"web":{"uri":"https://b.c","title":"B"}},{"retrievedContext":{"title":"notes.pdf"}},{"maps":{"uri":"https://m","title":"M"}}]}}]}`)
	got, err := s.open(t, gemini.Options{Model: "m"}).Ask(t.Context(), &model.Request{Messages: []model.Message{user("Hi.")}})
	if want := []string{"[1] B https://b.c", "[2] notes.pdf", "[3] M https://m", "[4] https://book"}; err != nil || !slices.Equal(got.References, want) {
		t.Errorf("References = %q, %v, want %q", got.References, err, want)
	}
}
