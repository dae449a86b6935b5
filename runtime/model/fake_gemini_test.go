package model_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The request of generateContent as the API documents it.
var geminiRequest = fields{
	"contents": "array!", "tools": "array", "toolConfig": "object", "safetySettings": "array", "systemInstruction": "object",
	"generationConfig": "object", "cachedContent": "string", "serviceTier": "string", "store": "boolean",
}

var geminiGeneration = fields{
	"stopSequences": "array", "responseMimeType": "string", "responseSchema": "object", "responseJsonSchema": "object",
	"responseModalities": "array", "candidateCount": "integer", "maxOutputTokens": "integer", "temperature": "number", "topP": "number",
	"topK": "integer", "seed": "integer", "presencePenalty": "number", "frequencyPenalty": "number", "thinkingConfig": "object",
}

var geminiPart = fields{
	"text": "string", "inlineData": "object", "fileData": "object", "functionCall": "object", "functionResponse": "object",
	"thought": "boolean", "thoughtSignature": "string",
}

// geminiName is a valid name of a function.
var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

const (
	geminiSignature = "c2lnbmVk"
	geminiDummy     = "skip_thought_signature_validator"
)

// A fakeGemini is the API with a model of Gemini 3, or 2.
type fakeGemini struct {
	three bool // it thinks, signs its calls, gives them IDs, and wants the signatures back
}

func (v fakeGemini) model() string {
	if v.three {
		return "gemini-3-flash-preview"
	}
	return "gemini-2.0-flash"
}

func (fakeGemini) authorized(q request) bool { return q.header.Get("X-Goog-Api-Key") == testKey }

func (fakeGemini) fail(status int) string {
	if status == 400 {
		return `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`
	}
	return `{"error":{"code":` + value.FormatJSON(int64(status), "") + `,"message":"it went wrong","status":"UNKNOWN"}}`
}

func (v fakeGemini) check(f *fake, q request) bool {
	t := f.t
	path := "/v1beta/models/" + v.model()
	if q.method != "POST" || q.path != path+":generateContent" && q.path != path+":streamGenerateContent?alt=sse" {
		t.Errorf("%s %s", q.method, q.path)
	}
	strict(t, "the request", q.body, geminiRequest)
	if d := inner(q.body, "systemInstruction"); d != nil {
		strict(t, "the instruction", d, fields{"parts": "array!", "role": "string"})
	}
	v.checkGeneration(t, q)
	names := v.checkTools(t, q.body)
	if d := inner(q.body, "toolConfig"); d != nil {
		strict(t, "toolConfig", d, fields{"functionCallingConfig": "object!"})
		config := inner(d, "functionCallingConfig")
		strict(t, "functionCallingConfig", config, fields{"mode": "string!", "allowedFunctionNames": "array"})
		if !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, config.Text("mode")) || names == nil {
			t.Errorf("toolConfig is %s, tools: %v", d, names)
		}
		for _, name := range config.Elements("allowedFunctionNames") {
			if !slices.Contains(names, name.(string)) {
				t.Errorf("%s is allowed, the tools are %q", name, names)
			}
		}
	}
	v.checkContents(t, q.body)
	return true
}

func (v fakeGemini) checkGeneration(t *testing.T, q request) {
	d := inner(q.body, "generationConfig")
	if d == nil {
		return
	}
	strict(t, "generationConfig", d, geminiGeneration)
	if d.Has("responseJsonSchema") && d.Text("responseMimeType") != "application/json" {
		t.Errorf("a schema without its type: %s", d)
	}
	if d.Has("responseMimeType") && q.body.Has("tools") && !v.three {
		t.Errorf("a format together with tools: %s", d)
	}
	thinking := inner(d, "thinkingConfig")
	if thinking == nil {
		return
	}
	strict(t, "thinkingConfig", thinking, fields{"includeThoughts": "boolean", "thinkingLevel": "string", "thinkingBudget": "integer"})
	if !v.three || thinking.Has("thinkingBudget") || thinking.Has("thinkingLevel") && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, thinking.Text("thinkingLevel")) {
		t.Errorf("%s is asked for %s", v.model(), thinking)
	}
}

func (v fakeGemini) checkTools(t *testing.T, body *value.Dict) []string {
	var names []string
	for _, d := range dicts(t, body, "tools") {
		strict(t, "a tool", d, fields{"functionDeclarations": "array!"})
		for _, fn := range dicts(t, d, "functionDeclarations") {
			strict(t, "a function", fn, fields{"name": "string!", "description": "string!", "parameters": "object", "parametersJsonSchema": "object"})
			if !geminiName.MatchString(fn.Text("name")) {
				t.Errorf("the name %q is invalid", fn.Text("name"))
			}
			names = append(names, fn.Text("name"))
		}
	}
	return names
}

// checkContents checks that roles alternate, and that each entry with calls is followed by
// as many responses.
func (v fakeGemini) checkContents(t *testing.T, body *value.Dict) {
	last := ""
	var open []*value.Dict
	for _, content := range dicts(t, body, "contents") {
		strict(t, "content", content, fields{"role": "string!", "parts": "array!"})
		role := content.Text("role")
		if role == last || role != "user" && role != "model" {
			t.Errorf("an entry of %q after one of %q", role, last)
		}
		last = role
		parts := dicts(t, content, "parts")
		if len(parts) == 0 {
			t.Error("an entry without parts")
		}
		var calls, responses []*value.Dict
		for _, p := range parts {
			strict(t, "a part", p, geminiPart)
			v.checkPart(t, p, role, len(calls))
			if c := inner(p, "functionCall"); c != nil {
				calls = append(calls, c)
			}
			if r := inner(p, "functionResponse"); r != nil {
				responses = append(responses, r)
			}
		}
		if len(responses) != len(open) {
			t.Errorf("%d responses to %d calls", len(responses), len(open))
		}
		for i, r := range responses {
			strict(t, "a response", r, fields{"id": "string", "name": "string!", "response": "object!"})
			strict(t, "a response's content", inner(r, "response"), fields{"output": "string", "error": "string"})
			if i < len(open) && (r.Text("name") != open[i].Text("name") || r.Text("id") != open[i].Text("id")) {
				t.Errorf("the response %s to the call %s", r, open[i])
			}
		}
		open = calls
	}
	if last != "user" || len(open) > 0 {
		t.Errorf("the last entry is of %q, with %d calls", last, len(open))
	}
}

func (v fakeGemini) checkPart(t *testing.T, p *value.Dict, role string, calls int) {
	kinds := 0
	for _, kind := range []string{"text", "inlineData", "functionCall", "functionResponse"} {
		if p.Has(kind) {
			kinds++
		}
	}
	if kinds != 1 || (role == "user") != (!p.Has("functionCall") && !p.Has("thought") && !p.Has("thoughtSignature")) && p.Text("text") == "" && !p.Has("text") {
		t.Errorf("the part %s of %s", p, role)
	}
	if c := inner(p, "functionCall"); c != nil {
		strict(t, "a call", c, fields{"id": "string", "name": "string!", "args": "object!"})
		if s := p.Text("thoughtSignature"); v.three && calls == 0 && s != geminiSignature && s != geminiDummy {
			t.Errorf("the first call has the signature %q", s)
		}
	}
	if p.Bool("thought") && p.Text("text") != "I should look." {
		t.Errorf("the reasoning came back changed: %s", p)
	}
	if d := inner(p, "inlineData"); d != nil {
		strict(t, "inlineData", d, fields{"mimeType": "string!", "data": "string!"})
	}
}

// parts are the parts of a turn, without its text and what comes before it.
func (v fakeGemini) parts(f *fake, t turn) (calls value.List) {
	for i, c := range t.calls {
		call := value.NewDict("name", c.tool, "args", parse(f.t, c.args))
		part := value.NewDict("functionCall", call)
		if v.three {
			call.Put("id", c.id)
			if i == 0 { // of parallel calls
				part.Put("thoughtSignature", geminiSignature)
			}
		}
		calls = append(calls, part)
	}
	return calls
}

func (fakeGemini) reason(t turn) string {
	switch {
	case t.length:
		return "MAX_TOKENS"
	case t.refuse:
		return "SAFETY"
	}
	return "STOP" // also with calls
}

func (v fakeGemini) chunk(parts value.List, reason string) string {
	candidate := value.NewDict("content", value.NewDict("role", "model", "parts", parts), "index", 0)
	usage := value.NewDict("promptTokenCount", 12, "cachedContentTokenCount", 4, "totalTokenCount", 12)
	if reason != "" {
		candidate.Put("finishReason", reason)
		usage = value.NewDict("promptTokenCount", 12, "cachedContentTokenCount", 4, "candidatesTokenCount", 3, "thoughtsTokenCount", 2, "totalTokenCount", 17)
	}
	return js("candidates", value.List{candidate}, "usageMetadata", usage, "modelVersion", v.model(), "responseId", "r1")
}

func (v fakeGemini) play(f *fake, w http.ResponseWriter, q request, t turn) {
	var thought value.List
	if v.three {
		thought = value.List{value.NewDict("text", "I should look.", "thought", true)}
	}
	calls := v.parts(f, t)
	if !strings.HasSuffix(q.path, "alt=sse") {
		parts := append(value.List{}, thought...)
		if t.text != "" {
			parts = append(parts, value.NewDict("text", t.text))
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		io.WriteString(w, v.chunk(append(parts, calls...), v.reason(t)))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(parts value.List, reason string) string { return "data: " + v.chunk(parts, reason) + "\r\n\r\n" }
	var first []string
	if thought != nil {
		first = []string{event(value.List{value.NewDict("text", "I should ", "thought", true)}, ""), event(value.List{value.NewDict("text", "look.", "thought", true)}, "")}
	}
	var last []string
	for _, c := range calls {
		last = append(last, event(value.List{c}, ""))
	}
	end := value.NewDict("text", "")
	if v.three && calls == nil {
		end.Put("thoughtSignature", geminiSignature)
	}
	stream(w, t, first, func(p string) string { return event(value.List{value.NewDict("text", p)}, "") }, append(last, event(value.List{end}, v.reason(t))))
}
