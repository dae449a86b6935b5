package gemini_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// recordings is the folder of real traffic that others recorded; see its README.
const recordings = "../../../../shared/data/model-recordings"

type (
	object = map[string]any
	list   = []any
)

// A recording is a request for content with its response.
type recording struct {
	model    string
	streamed bool
	request  object
	status   int
	kind     string // of the response's content
	body     []byte // of the response
}

// readRecordings returns the recordings of content by their file.
func readRecordings(t *testing.T) map[string][]recording {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(recordings, "*", "*.yaml"))
	if len(names) == 0 {
		t.Skipf("SKIPPED: the recordings are not in %s", recordings)
	}
	model := regexp.MustCompile(`/models/([^/:]+):(stream)?[gG]enerateContent`)
	files := map[string][]recording{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("enerateContent")) {
			continue
		}
		var file struct {
			Interactions []struct {
				Request struct {
					URI        string
					ParsedBody object `yaml:"parsed_body"`
				}
				Response struct {
					Headers    map[string][]string
					Status     struct{ Code int }
					ParsedBody any `yaml:"parsed_body"`
					Body       struct{ String string }
				}
			}
		}
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, i := range file.Interactions {
			found := model.FindStringSubmatch(i.Request.URI)
			if found == nil {
				continue
			}
			r := recording{model: found[1], streamed: found[2] != "", request: plain(t, i.Request.ParsedBody), status: i.Response.Status.Code,
				kind: strings.Join(i.Response.Headers["content-type"], ","), body: []byte(i.Response.Body.String)}
			if i.Response.ParsedBody != nil {
				r.body = encode(t, i.Response.ParsedBody)
			}
			short := filepath.Base(name)
			files[short] = append(files[short], r)
		}
	}
	return files
}

// plain returns an object as encoding/json reads it.
func plain(t *testing.T, v any) object {
	t.Helper()
	var d object
	if err := json.Unmarshal(encode(t, v), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// get returns what is at a path of names in an object, or nil. A name may be in camel case
// or, as some clients send it, with underscores.
func get(v any, path ...string) any {
	for _, name := range path {
		d, _ := v.(object)
		v = d[name]
		if v == nil {
			v = d[regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })]
		}
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := get(v, path...).(string)
	return s
}

func items(v any, path ...string) list {
	l, _ := get(v, path...).(list)
	return l
}

func number(v any, path ...string) int {
	f, _ := get(v, path...).(float64)
	return int(f)
}

// A reading is what a response means, read independently of the package.
type reading struct {
	Text, Reasoning, Stop string
	Calls                 []string
	Sources               []string
	Signatures            []string
	Input, Output, Cached int
	Empty                 bool
}

// readResponse reads a recorded response.
func readResponse(t *testing.T, r recording) reading {
	t.Helper()
	chunks := [][]byte{r.body}
	if r.streamed {
		chunks = nil
		for _, event := range regexp.MustCompile(`\r?\n\r?\n`).Split(string(r.body), -1) {
			if event = strings.TrimSpace(event); event != "" {
				chunks = append(chunks, []byte(strings.TrimPrefix(event, "data: ")))
			}
		}
	}
	var got reading
	reason := ""
	for _, data := range chunks {
		var chunk object
		if err := json.Unmarshal(data, &chunk); err != nil {
			t.Fatalf("a chunk: %v\n%s", err, data)
		}
		if u := get(chunk, "usageMetadata"); u != nil {
			// The total is the sum of all kinds: what is not output is input.
			got.Output = number(u, "candidatesTokenCount") + number(u, "thoughtsTokenCount")
			got.Input, got.Cached = number(u, "totalTokenCount")-got.Output, number(u, "cachedContentTokenCount")
		}
		for _, c := range items(chunk, "candidates") {
			for _, p := range items(c, "content", "parts") {
				if s := text(p, "thoughtSignature"); s != "" {
					got.Signatures = append(got.Signatures, s)
				}
				switch {
				case get(p, "functionCall") != nil:
					got.Calls = append(got.Calls, text(p, "functionCall", "name")+string(encode(t, get(p, "functionCall", "args"))))
				case get(p, "thought") == true:
					got.Reasoning += text(p, "text")
				default:
					got.Text += text(p, "text")
				}
			}
			for _, g := range items(c, "groundingMetadata", "groundingChunks") {
				for _, kind := range []string{"web", "retrievedContext"} {
					if source := text(g, kind, "uri") + text(g, kind, "fileSearchStore"); source != "" && !slices.Contains(got.Sources, source) {
						got.Sources = append(got.Sources, source)
					}
				}
			}
			if s := text(c, "finishReason"); s != "" {
				reason = s
			}
		}
	}
	switch {
	case reason == "MAX_TOKENS":
		got.Stop = "length"
	case reason == "SAFETY" || reason == "MODEL_ARMOR":
		got.Stop = "refuse"
	case reason != "STOP":
		t.Fatalf("the reading does not know the reason %q", reason)
	case len(got.Calls) > 0:
		got.Stop = "calls"
	default:
		got.Stop = "end"
		got.Empty = strings.TrimSpace(got.Text) == ""
	}
	return got
}

// A transport answers with one recorded response, and keeps what was sent.
type transport struct {
	r    recording
	path string
	sent object
}

func (tr *transport) RoundTrip(q *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	tr.sent, tr.path = nil, q.URL.RequestURI()
	if err := json.Unmarshal(data, &tr.sent); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: tr.r.status, Header: http.Header{"Content-Type": {tr.r.kind}}, Body: io.NopCloser(bytes.NewReader(tr.r.body)), Request: q}, nil
}

// TestRecordings serves each recorded response, and compares the reply with an independent
// reading. The conversations of the recorded requests are sent: what they have of earlier
// replies comes from our own reader, so signatures must survive that. The requests are counted
// without Options.Extra and with it: a user of the command sets it with extra in an entry of
// providers in config.yaml.
func TestRecordings(t *testing.T) {
	files := readRecordings(t)
	var exchanges, hosted, equal, extra, signed, returned int
	for name, file := range files {
		var before []*model.Reply
		for i, r := range file {
			exchanges++
			where := fmt.Sprintf("%s, request %d", name, i+1)
			tr := &transport{r: r}
			more := extraOf(t, r.request)
			m, err := gemini.New(&gemini.Options{Model: r.model, Key: "k", HTTP: model.HTTP{Client: &http.Client{Transport: tr}}, Extra: more})
			if err != nil {
				t.Fatal(err)
			}
			q := requestOf(t, r, before)
			pieces := ""
			if r.streamed {
				q.Text = func(p string) { pieces += p }
			}
			reply, err := m.Ask(t.Context(), q)
			want := readResponse(t, r)
			if err != nil {
				t.Errorf("%s: %v, want %+v", where, err, want)
				continue
			}
			compareReply(t, where, reply, want)
			if r.streamed && pieces != reply.Text {
				t.Errorf("%s: the pieces are %q, the text is %q", where, pieces, reply.Text)
			}
			sent := tr.first(t, m, q)
			returned += compareSignatures(t, where, r.request, sent)
			signed += checkSentBack(t, where, m, tr, q, reply, want)
			before = append(before, reply)
			switch diff := cmp.Diff(canonical(t, r.request), canonical(t, sent)); {
			case isHosted(r.request):
				hosted++
			case diff != "":
				t.Logf("%s cannot be expressed:\n%s", where, lines(diff))
			case more.Len() > 0:
				extra++
				t.Logf("%s needs Options.Extra: %s", where, more)
			default:
				equal++
			}
		}
	}
	own := exchanges - hosted
	t.Logf("%d files, %d exchanges: %d with tools that the vendor runs; of %d others %d can be expressed (%d %%), and %d more with extra: %d %%",
		len(files), exchanges, hosted, own, equal, 100*equal/own, extra, 100*(equal+extra)/own)
	t.Logf("%d signatures of recorded requests came from our reader, and %d of replies came back", returned, signed)
	if exchanges < 45 || signed < 15 || returned < 7 {
		t.Errorf("%d exchanges with %d signatures, and %d in requests; want at least 45, 15 and 7", exchanges, signed, returned)
	}
	if 100*equal < 80*own || 100*(equal+extra) < 94*own { // two of 37: foreign thoughts, and frames of a video
		t.Errorf("of %d requests %d can be expressed, and %d more with extra; want 80 and 94 %%", own, equal, extra)
	}
}

// extraOf returns the fields of a recorded request for which this package has no options.
func extraOf(t *testing.T, q object) *value.Dict {
	t.Helper()
	extra, generation := object{}, object{}
	for name, v := range q {
		if !strings.Contains(" contents systemInstruction tools toolConfig generationConfig ", " "+name+" ") {
			extra[name] = v
		}
	}
	for name, v := range plainOf(get(q, "generationConfig")) {
		if !strings.Contains(" maxOutputTokens temperature responseMimeType responseJsonSchema responseModalities thinkingConfig ", " "+name+" ") {
			generation[name] = v
		}
	}
	if len(generation) > 0 {
		extra["generationConfig"] = generation
	}
	v, err := value.ParseJSON(encode(t, extra))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Dict)
}

// compareSignatures checks that the signatures of a recorded request are in ours, each in the
// same entry, and returns their number. The recorded ones may be in the other alphabet of
// base64.
func compareSignatures(t *testing.T, where string, recorded, sent object) (n int) {
	t.Helper()
	ours := items(sent, "contents")
	for i, content := range items(recorded, "contents") {
		for _, p := range items(content, "parts") {
			want := strings.NewReplacer("-", "+", "_", "/").Replace(text(p, "thoughtSignature"))
			if want == "" {
				continue
			}
			n++
			if i >= len(ours) || !slices.ContainsFunc(items(ours[i], "parts"), func(p any) bool { return text(p, "thoughtSignature") == want }) {
				t.Errorf("%s: the signature %.30s… of entry %d is not sent", where, want, i+1)
			}
		}
	}
	return n
}

// first sends a request again, and returns what was sent.
func (tr *transport) first(t *testing.T, m model.Model, q *model.Request) object {
	t.Helper()
	if _, err := m.Ask(t.Context(), q); err != nil {
		t.Error(err)
	}
	return tr.sent
}

// lines returns the changed lines of a diff.
func lines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if trimmed := strings.TrimLeft(line, " \u00a0"); strings.HasPrefix(trimmed, "-") || strings.HasPrefix(trimmed, "+") {
			b.WriteString(line[:min(len(line), 300)])
		}
	}
	return b.String()
}

func compareReply(t *testing.T, where string, reply *model.Reply, want reading) {
	t.Helper()
	got := reading{Text: reply.Text, Reasoning: reply.Reasoning, Stop: string(reply.Stop), Sources: want.Sources, Signatures: want.Signatures,
		Input: reply.Usage.InputTokens, Output: reply.Usage.OutputTokens, Cached: reply.Usage.CachedTokens}
	for _, c := range reply.Calls {
		var args any
		if err := json.Unmarshal([]byte(value.FormatJSON(c.Args, "")), &args); err != nil {
			t.Errorf("%s: the arguments of %s: %v", where, c.Tool, err)
		}
		got.Calls = append(got.Calls, c.Tool+string(encode(t, args)))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", where, d)
	}
	if len(reply.References) != len(want.Sources) {
		t.Errorf("%s: references %q, want %q", where, reply.References, want.Sources)
	}
	for _, source := range want.Sources {
		if !slices.ContainsFunc(reply.References, func(line string) bool { return strings.Contains(line, source) }) {
			t.Errorf("%s: the source %s is not in the references %q", where, source, reply.References)
		}
	}
}

// checkSentBack continues a conversation after its reply, and checks that all signatures of the
// reply are in the next request, in their order and on the same kind of part. It returns their
// number.
func checkSentBack(t *testing.T, where string, m model.Model, tr *transport, q *model.Request, reply *model.Reply, want reading) int {
	t.Helper()
	if reply.Stop == model.StopRefuse {
		return 0
	}
	next := *q
	next.Messages = append(slices.Clone(q.Messages), reply.Message())
	for _, c := range reply.Calls {
		next.Messages = append(next.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "done"})
	}
	next.Messages = append(next.Messages, model.Message{Role: model.User, Text: "And?"})
	sent := tr.first(t, m, &next)
	contents := items(sent, "contents")
	var got []string
	for _, p := range items(contents[len(contents)-2], "parts") {
		if s := text(p, "thoughtSignature"); s != "" {
			got = append(got, s)
		}
	}
	if d := cmp.Diff(want.Signatures, got); d != "" {
		t.Errorf("%s: signatures in the next request (-want +got):\n%s", where, d)
	}
	return len(got)
}

// isHosted reports whether a request uses tools that the vendor runs.
func isHosted(q object) bool {
	return slices.ContainsFunc(items(q, "tools"), func(one any) bool { return get(one, "functionDeclarations") == nil })
}

// requestOf reads a recorded request as one of ours, as far as it can be expressed. The
// messages of earlier replies are our own.
func requestOf(t *testing.T, r recording, before []*model.Reply) *model.Request {
	t.Helper()
	q := &model.Request{}
	for _, p := range items(r.request, "systemInstruction", "parts") {
		q.System += text(p, "text")
	}
	var open []model.Call
	for _, content := range items(r.request, "contents") {
		if text(content, "role") == "model" {
			m := assistant(t, content, before)
			q.Messages, open = append(q.Messages, m), m.Calls
			continue
		}
		for _, p := range items(content, "parts") {
			response := get(p, "functionResponse")
			if response == nil {
				q.Messages = withPart(t, q.Messages, p)
				continue
			}
			m := model.Message{Role: model.ToolRole, Tool: text(response, "name"), CallID: open[0].ID, Text: result(t, response)}
			open = open[1:]
			q.Messages = append(q.Messages, m)
		}
	}
	for _, one := range items(r.request, "tools") {
		for _, fn := range items(one, "functionDeclarations") {
			q.Tools = append(q.Tools, tool.Tool{Name: text(fn, "name"), Description: text(fn, "description"), Schema: encode(t, schemaOf(fn))})
		}
	}
	config := get(r.request, "toolConfig", "functionCallingConfig")
	switch names := items(config, "allowedFunctionNames"); text(config, "mode") {
	case "ANY":
		q.ToolChoice = model.ToolRequired
		if len(names) == 1 && len(q.Tools) > 1 {
			q.ToolChoice = names[0].(string)
		}
	case "NONE":
		q.ToolChoice = model.ToolNone
	}
	generation := get(r.request, "generationConfig")
	q.MaxTokens = number(generation, "maxOutputTokens")
	if temperature, ok := get(generation, "temperature").(float64); ok {
		q.Temperature = &temperature
	}
	if text(generation, "responseMimeType") == "application/json" {
		q.Schema = value.NewDict()
		if schema := get(generation, "responseJsonSchema"); schema != nil {
			v, err := value.ParseJSON(encode(t, schema))
			if err != nil {
				t.Fatal(err)
			}
			q.Schema = v.(*value.Dict)
		}
	}
	if budget := get(generation, "thinkingConfig", "thinkingBudget"); budget == 0.0 {
		q.Effort = "none"
	}
	return q
}

// withPart adds a part of the user's to the messages.
func withPart(t *testing.T, messages []model.Message, p any) []model.Message {
	t.Helper()
	data, file := get(p, "inlineData"), get(p, "fileData")
	if data == nil && file == nil {
		return append(messages, model.Message{Role: model.User, Text: text(p, "text")})
	}
	media := model.Media{Type: text(file, "mimeType"), URL: text(file, "fileUri")}
	if data != nil {
		raw, err := base64.StdEncoding.DecodeString(text(data, "data"))
		if err != nil {
			t.Fatal(err)
		}
		media = model.Media{Type: text(data, "mimeType"), Data: raw}
	}
	if n := len(messages); n > 0 && messages[n-1].Role == model.User {
		messages[n-1].Media = append(messages[n-1].Media, media)
		return messages
	}
	return append(messages, model.Message{Role: model.User, Media: []model.Media{media}})
}

// assistant returns the message of a recorded entry: that of an earlier reply, or a new one.
func assistant(t *testing.T, content any, before []*model.Reply) model.Message {
	t.Helper()
	m := model.Message{Role: model.Assistant}
	for _, p := range items(content, "parts") {
		if get(p, "thought") != true {
			m.Text += text(p, "text")
		}
		if call := get(p, "functionCall"); call != nil {
			args, err := value.ParseJSON(encode(t, get(call, "args")))
			if err != nil {
				t.Fatal(err)
			}
			m.Calls = append(m.Calls, model.Call{ID: text(call, "id"), Tool: text(call, "name"), Args: args.(*value.Dict)})
		}
	}
	same := func(a, b model.Call) bool { return a.Tool == b.Tool && value.EqualJSON(a.Args, b.Args) }
	for _, reply := range before {
		if reply.Text == m.Text && slices.EqualFunc(reply.Calls, m.Calls, same) {
			return reply.Message()
		}
	}
	return m
}

// result returns the text of a response, which clients wrap in different ways.
func result(t *testing.T, response any) string {
	t.Helper()
	for _, key := range []string{"output", "error", "return_value"} {
		if v := get(response, "response", key); v != nil {
			if s, ok := v.(string); ok {
				return s
			}
			return string(encode(t, v))
		}
	}
	t.Fatalf("a response of unknown form: %v", response)
	return ""
}

// schemaOf returns the parameters of a function as a JSON Schema. The older field has the types
// of OpenAPI in capitals.
func schemaOf(fn any) any {
	if schema := get(fn, "parametersJsonSchema"); schema != nil {
		return schema
	}
	var lower func(v any) any
	lower = func(v any) any {
		switch v := v.(type) {
		case object:
			d := object{}
			for name, item := range v {
				if d[name] = lower(item); name == "type" {
					d[name] = strings.ToLower(fmt.Sprint(item))
				}
			}
			return d
		case list:
			l := list{}
			for _, item := range v {
				l = append(l, lower(item))
			}
			return l
		}
		return v
	}
	return lower(get(fn, "parameters"))
}

// canonical returns what a request means, without what has no effect: the role of the
// instruction, the modality TEXT, the mode AUTO, IDs of calls, which clients add, signatures,
// which checkSentBack compares, whether thoughts are included, and how a text is divided.
func canonical(t *testing.T, q object) object {
	t.Helper()
	d := object{}
	for name, v := range q {
		switch name {
		case "contents", "systemInstruction", "tools", "toolConfig", "generationConfig":
		default:
			d[name] = v
		}
	}
	var turns list
	for _, content := range items(q, "contents") {
		turns = append(turns, object{"role": text(content, "role"), "parts": canonicalParts(t, content)})
	}
	d["contents"] = turns
	for _, p := range items(q, "systemInstruction", "parts") {
		d["system"] = text(d, "system") + text(p, "text")
	}
	var tools list
	for _, one := range items(q, "tools") {
		for _, fn := range items(one, "functionDeclarations") {
			tools = append(tools, object{"name": text(fn, "name"), "description": text(fn, "description"), "schema": schemaOf(fn)})
		}
	}
	d["tools"] = tools
	if config := get(q, "toolConfig", "functionCallingConfig"); text(config, "mode") != "AUTO" {
		d["mode"] = text(config, "mode")
		if names := items(config, "allowedFunctionNames"); len(names) > 0 && len(names) < len(tools) {
			d["allowed"] = names
		}
	}
	generation := object{}
	for name, v := range plainOf(get(q, "generationConfig")) {
		generation[name] = v
	}
	if s, ok := generation["responseModalities"].(list); ok && len(s) == 1 && s[0] == "TEXT" {
		delete(generation, "responseModalities")
	}
	if thinking := get(generation, "thinkingConfig"); thinking != nil {
		delete(generation, "thinkingConfig")
		for _, name := range []string{"thinkingBudget", "thinkingLevel"} {
			if v := get(thinking, name); v != nil {
				generation[name] = v
			}
		}
	}
	d["generation"] = generation
	return d
}

func plainOf(v any) object {
	d, _ := v.(object)
	return d
}

func canonicalParts(t *testing.T, content any) list {
	t.Helper()
	var parts list
	for _, p := range items(content, "parts") {
		d := object{}
		for name, v := range p.(object) {
			d[name] = v
		}
		delete(d, "thoughtSignature")
		if file, ok := d["fileData"].(object); ok && len(file) == 2 { // in either spelling
			d["fileData"] = object{"mimeType": text(file, "mimeType"), "fileUri": text(file, "fileUri")}
		}
		if call := get(p, "functionCall"); call != nil {
			d["functionCall"] = object{"name": text(call, "name"), "args": get(call, "args")}
		}
		if response := get(p, "functionResponse"); response != nil {
			d["functionResponse"] = object{"name": text(response, "name"), "result": result(t, response)}
		}
		s, isText := d["text"].(string)
		if n := len(parts); n > 0 && isText && len(d) == 1 {
			if last := parts[n-1].(object); len(last) == 1 && last["text"] != nil {
				last["text"] = last["text"].(string) + s
				continue
			}
		}
		parts = append(parts, d)
	}
	return parts
}
