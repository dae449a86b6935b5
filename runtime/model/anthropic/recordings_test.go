package anthropic_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An exchange is a recorded request to /v1/messages with its response.
type exchange struct {
	file    string
	request *value.Dict
	status  int
	kind    string // the content type of the response
	body    []byte
}

// recordings returns all exchanges with Anthropic's API.
func recordings(t *testing.T) (list []exchange) {
	t.Helper()
	const dir = "../../../../shared/data/model-recordings"
	names, _ := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if len(names) == 0 {
		t.Skip("SKIPPED: the recordings are not beside the project: ../shared/data/model-recordings")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Interactions []struct {
				Request struct {
					URI        string `yaml:"uri"`
					ParsedBody any    `yaml:"parsed_body"`
				} `yaml:"request"`
				Response struct {
					Headers    map[string][]string `yaml:"headers"`
					Status     struct{ Code int }  `yaml:"status"`
					ParsedBody any                 `yaml:"parsed_body"`
					Body       struct{ String string }
				} `yaml:"response"`
			}
		}
		if !bytes.Contains(data, []byte("/v1/messages")) {
			continue
		}
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, i := range file.Interactions {
			if !strings.Contains(i.Request.URI, "/v1/messages") || strings.Contains(i.Request.URI, "count_tokens") {
				continue
			}
			e := exchange{file: filepath.Base(name), request: asDict(t, i.Request.ParsedBody), status: i.Response.Status.Code, body: []byte(i.Response.Body.String)}
			e.kind = strings.Join(i.Response.Headers["content-type"], "")
			if i.Response.ParsedBody != nil {
				e.body = []byte(asDict(t, i.Response.ParsedBody).String())
			}
			list = append(list, e)
		}
	}
	return list
}

// asDict converts what the YAML reader returns.
func asDict(t *testing.T, v any) *value.Dict {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := value.ParseJSON(data)
	d, ok := parsed.(*value.Dict)
	if err != nil || !ok {
		t.Fatalf("%s: %v", data, err)
	}
	return d
}

// A recorded is a transport that answers as recorded, and keeps what was sent.
type recorded struct {
	exchange
	sent []*value.Dict
}

func (r *recorded) RoundTrip(q *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	v, _ := value.ParseJSON(data)
	r.sent = append(r.sent, v.(*value.Dict))
	return &http.Response{StatusCode: r.status, Header: http.Header{"Content-Type": {r.kind}}, Body: io.NopCloser(bytes.NewReader(r.body)), Request: q}, nil
}

func (r *recorded) open(t *testing.T, o anthropic.Options) model.Model {
	t.Helper()
	o.Model, o.HTTP.Client = r.request.Text("model"), &http.Client{Transport: r}
	m, err := anthropic.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func objects(d *value.Dict, name string) (list []*value.Dict) {
	for _, v := range d.Elements(name) {
		if one, ok := v.(*value.Dict); ok {
			list = append(list, one)
		}
	}
	return list
}

// A reading is what a response says, read without the code that is tested.
type reading struct {
	content   []*value.Dict
	text      string
	calls     []string
	reasoning string
	sources   []string // addresses and titles
	stop      model.Stop
	usage     [4]int // input, of it written to the cache, of it read from it, output
}

// readEvents puts the events of a stream together as one response.
func readEvents(t *testing.T, body []byte) *value.Dict {
	t.Helper()
	message := value.NewDict()
	var content value.List
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if !ok {
			continue
		}
		v, err := value.ParseJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		e := v.(*value.Dict)
		switch e.Text("type") {
		case "message_start":
			message = e.Dict("message").Clone(0)
		case "content_block_start":
			content = append(content, e.Dict("content_block").Clone(0))
		case "content_block_delta":
			b, d := content[e.Int("index")].(*value.Dict), e.Dict("delta")
			switch d.Text("type") {
			case "text_delta":
				b.Put("text", b.Text("text")+d.Text("text"))
			case "thinking_delta":
				b.Put("thinking", b.Text("thinking")+d.Text("thinking"))
			case "signature_delta":
				b.Put("signature", b.Text("signature")+d.Text("signature"))
			case "input_json_delta":
				b.Put("json", b.Text("json")+d.Text("partial_json"))
			case "citations_delta":
				c, _ := d.Get("citation")
				b.Put("citations", append(value.List(b.Elements("citations")), c))
			default:
				t.Fatalf("unknown delta %s", d)
			}
		case "message_delta":
			message.Put("stop_reason", e.Dict("delta").Text("stop_reason"))
			usage := message.Dict("usage").Clone(0)
			for k, v := range e.Dict("usage").All() {
				usage.Put(k.(string), v)
			}
			message.Put("usage", usage)
		}
	}
	for _, v := range content {
		b := v.(*value.Dict)
		if text := b.Text("json"); text != "" {
			input, err := value.ParseJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			b.Put("input", input)
		}
	}
	message.Put("content", content)
	return message
}

// readResponse reads a response independently.
func readResponse(t *testing.T, e *exchange) *reading {
	t.Helper()
	var d *value.Dict
	if strings.HasPrefix(e.kind, "text/event-stream") {
		d = readEvents(t, e.body)
	} else {
		v, err := value.ParseJSON(e.body)
		if err != nil {
			t.Fatal(err)
		}
		d = v.(*value.Dict)
	}
	r := &reading{content: objects(d, "content"), stop: map[string]model.Stop{"end_turn": model.StopEnd, "tool_use": model.StopCalls, "max_tokens": model.StopLength, "refusal": model.StopRefuse}[d.Text("stop_reason")]}
	var thoughts []string
	for _, b := range r.content {
		switch b.Text("type") {
		case "text":
			r.text += b.Text("text")
			for _, c := range objects(b, "citations") {
				source := c.Text("title") + c.Text("document_title") + " " + c.Text("url")
				if !slices.Contains(r.sources, source) {
					r.sources = append(r.sources, source)
				}
			}
		case "thinking":
			if text := strings.TrimSpace(b.Text("thinking")); text != "" {
				thoughts = append(thoughts, text)
			}
		case "tool_use":
			r.calls = append(r.calls, b.Text("id")+" "+b.Text("name")+" "+sorted(b.Dict("input")))
		}
	}
	r.reasoning = strings.Join(thoughts, "\n\n")
	u := d.Dict("usage")
	written, read := int(u.Int("cache_creation_input_tokens")), int(u.Int("cache_read_input_tokens"))
	r.usage = [4]int{int(u.Int("input_tokens")) + written + read, written, read, int(u.Int("output_tokens"))}
	return r
}

// sorted writes a value with its keys in order.
func sorted(v value.Value) string {
	switch v := v.(type) {
	case *value.Dict:
		var parts []string
		for k, v := range v.All() {
			parts = append(parts, fmt.Sprintf("%q:%s", k, sorted(v)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case value.List:
		return "[" + strings.Join(value.Map(v, sorted), ",") + "]"
	}
	return value.FormatJSON(v, "")
}

// TestRecordings serves each recorded response, compares the reply with an independent reading,
// and looks what of it goes back in the next request.
func TestRecordings(t *testing.T) {
	all, streams, read, empty := recordings(t), 0, 0, 0
	for _, e := range all {
		r := &recorded{exchange: e}
		m := r.open(t, anthropic.Options{})
		pieces := ""
		asked := &model.Request{Messages: []model.Message{{Role: model.User, Text: "a"}}, Text: func(p string) { pieces += p }}
		got, err := m.Ask(t.Context(), asked)
		if e.status != 200 {
			if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Invalid {
				t.Errorf("%s: status %d = %+v, %v", r.file, r.status, got, err)
			}
			continue
		}
		want := readResponse(t, &e)
		if want.text == "" && want.calls == nil {
			if empty++; err == nil || !strings.Contains(err.Error(), model.ErrEmpty.Error()) {
				t.Errorf("%s: an empty reply = %+v, %v", e.file, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.file, err)
			continue
		}
		if read++; strings.HasPrefix(e.kind, "text/event-stream") {
			streams++
		}
		calls := value.Map(got.Calls, func(c model.Call) string { return c.ID + " " + c.Tool + " " + sorted(c.Args) })
		if got.Text != want.text || pieces != want.text || !slices.Equal(calls, want.calls) || got.Reasoning != want.reasoning || got.Stop != want.stop {
			t.Errorf("%s: the reply is %+v, want %+v", e.file, got, want)
		}
		if u := got.Usage; [4]int{u.InputTokens, u.CacheWriteTokens, u.CachedTokens, u.OutputTokens} != want.usage {
			t.Errorf("%s: usage %+v, want %v", e.file, u, want.usage)
		}
		for _, source := range want.sources {
			if !slices.ContainsFunc(got.References, func(line string) bool { return strings.HasSuffix(line, "] "+strings.TrimSpace(source)) }) {
				t.Errorf("%s: the references %q lack %q", e.file, got.References, source)
			}
		}
		if len(got.References) != len(want.sources) {
			t.Errorf("%s: the references are %q, want %q", e.file, got.References, want.sources)
		}
		checkBack(t, r, m, asked, got, want)
	}
	t.Logf("%d exchanges: %d replies read, %d of them streamed, %d empty", len(all), read, streams, empty)
	if len(all) < 70 || read < 65 || streams < 8 {
		t.Errorf("%d exchanges, %d replies, %d streams: fewer than recorded", len(all), read, streams)
	}
}

// checkBack sends the next request, and compares the turn in it with what was received.
func checkBack(t *testing.T, r *recorded, m model.Model, asked *model.Request, got *model.Reply, want *reading) {
	t.Helper()
	next := &model.Request{Messages: append(asked.Messages, got.Message()), Tools: []tool.Tool{{Name: "other", Description: "Other."}}}
	for _, c := range got.Calls {
		next.Messages = append(next.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "x"})
	}
	next.Messages = append(next.Messages, model.Message{Role: model.User, Text: "b"})
	asked.Tools = next.Tools // what was before the reply must be the same
	got2, err := m.Ask(t.Context(), asked)
	if err != nil {
		t.Errorf("%s: %v", r.file, err)
		return
	}
	next.Messages[1] = got2.Message()
	_, _ = m.Ask(t.Context(), next)
	turns := objects(r.sent[len(r.sent)-1], "messages")
	if len(turns) != 3 || !slices.Equal(plainBlocks(objects(turns[1], "content")), plainBlocks(want.content)) {
		t.Errorf("%s: what goes back is %v\nwant %v", r.file, turns, plainBlocks(want.content))
	}
}

// plainBlocks writes blocks as texts: without what has no meaning, and texts that follow each
// other as one.
func plainBlocks(blocks []*value.Dict) (list []string) {
	text := ""
	flush := func() {
		if strings.TrimSpace(text) != "" {
			list = append(list, "text "+text)
		}
		text = ""
	}
	for _, b := range blocks {
		d := value.NewDict()
		for k, v := range b.All() {
			one, _ := v.(*value.Dict)
			empty, _ := v.(value.List)
			if k == "cache_control" || k == "json" || k == "caller" && one.Text("type") == "direct" || k == "citations" && (v == nil || len(empty) == 0) || k == "is_error" && v == false {
				continue
			}
			d.Put(k.(string), v)
		}
		parts := objects(d, "content")
		if d.Text("type") == "tool_result" && len(parts) == 1 && parts[0].Text("type") == "text" {
			d.Put("content", parts[0].Text("text"))
		}
		if d.Text("type") == "text" && !d.Has("citations") {
			text += d.Text("text")
			continue
		}
		flush()
		list = append(list, sorted(d))
	}
	flush()
	return list
}

// A rendering converts a recorded request to ours, and collects what it cannot express.
type rendering struct {
	r      *model.Request
	o      anthropic.Options
	hosted []string // tools that the vendor runs, and what belongs to them
	lacks  []string
	notes  []string // what is expressed by something similar
}

func (x *rendering) lack(format string, args ...any) {
	x.lacks = append(x.lacks, fmt.Sprintf(format, args...))
}

// convert converts a recorded request.
func convert(t *testing.T, d *value.Dict) *rendering {
	t.Helper()
	x := &rendering{r: &model.Request{MaxTokens: int(d.Int("max_tokens"))}}
	x.o.Extra = value.NewDict()
	for k, v := range d.All() {
		switch k {
		case "model", "max_tokens", "tools", "messages", "cache_control": // the cache is always used
		case "stream":
			if v == true {
				x.r.Text = func(string) {}
			}
		case "system":
			x.r.System, _ = v.(string)
			for _, b := range objects(d, "system") {
				x.r.System = strings.TrimPrefix(x.r.System+"\n\n"+b.Text("text"), "\n\n")
			}
		case "tool_choice":
			x.choice(d.Dict("tool_choice"))
		case "thinking":
			x.thinking(d)
		case "output_config":
			x.output(d)
		case "mcp_servers", "container", "context_management":
			x.hosted = append(x.hosted, k.(string))
		case "metadata":
			x.o.Extra.Put(k.(string), v)
		default:
			x.lack("the field %s", k)
		}
	}
	x.tools(t, d)
	for _, m := range objects(d, "messages") {
		x.message(m)
	}
	return x
}

func (x *rendering) choice(d *value.Dict) {
	if d.Bool("disable_parallel_tool_use") {
		x.lack("disable_parallel_tool_use")
	}
	x.r.ToolChoice = map[string]string{"auto": model.ToolAuto, "any": model.ToolRequired, "none": model.ToolNone, "tool": d.Text("name")}[d.Text("type")]
}

func (x *rendering) thinking(d *value.Dict) {
	if x.r.Effort != "" {
		return
	}
	switch think := d.Dict("thinking"); think.Text("type") {
	case "enabled":
		x.r.Effort = "low"
		if think.Int("budget_tokens") == 1024 {
			x.r.Effort = "minimal"
		} else {
			x.notes = append(x.notes, fmt.Sprintf("a budget of %d tokens as the effort low", think.Int("budget_tokens")))
		}
	case "adaptive":
		x.r.Effort = "high" // the vendor's default
	default:
		x.lack("thinking %s", think.Text("type"))
	}
}

func (x *rendering) output(d *value.Dict) {
	for k, v := range d.Dict("output_config").All() {
		switch k {
		case "effort":
			x.r.Effort = v.(string)
		case "format":
			x.r.Schema = d.Dict("output_config").Dict("format").Dict("schema")
		case "task_budget":
			x.o.Extra.Put("output_config", value.NewDict(k, v))
		default:
			x.lack("output_config.%s", k)
		}
	}
}

func (x *rendering) tools(t *testing.T, d *value.Dict) {
	for _, one := range objects(d, "tools") {
		switch {
		case cmp.Or(one.Text("type"), "custom") != "custom":
			x.hosted = append(x.hosted, one.Text("type"))
		case one.Bool("defer_loading"):
			x.hosted = append(x.hosted, "defer_loading")
		case one.Bool("strict"):
			x.o.Strict = append(x.o.Strict, one.Text("name"))
		}
		if one.Has("input_schema") {
			tools, err := toolfile.Parse([]byte(one.String()))
			if err != nil {
				t.Fatalf("%s: %v", one, err)
			}
			x.r.Tools = append(x.r.Tools, tools...)
		}
	}
}

func (x *rendering) message(m *value.Dict) {
	blocks := objects(m, "content")
	if text, _ := m.Get("content"); text != nil && blocks == nil {
		blocks = []*value.Dict{value.NewDict("type", "text", "text", text)}
	}
	switch m.Text("role") {
	case "assistant":
		x.reply(blocks)
	case "user":
		for _, b := range blocks {
			x.block(b)
		}
	default:
		for _, b := range blocks {
			if b.Text("type") != "text" {
				x.hosted = append(x.hosted, b.Text("type"))
			}
			x.r.Messages = append(x.r.Messages, model.Message{Role: model.SystemRole, Text: b.Text("text")})
		}
	}
}

// reply adds a reply of the model.
func (x *rendering) reply(blocks []*value.Dict) {
	m, other := model.Message{Role: model.Assistant}, false
	var kept value.List
	for _, b := range blocks {
		kept = append(kept, b)
		switch kind := b.Text("type"); kind {
		case "text":
			m.Text += b.Text("text")
		case "tool_use":
			m.Calls = append(m.Calls, model.Call{ID: b.Text("id"), Tool: b.Text("name"), Args: b.Dict("input")})
		case "thinking", "redacted_thinking":
			other = true
		default:
			x.hosted, other = append(x.hosted, kind), true
		}
	}
	if other { // what our reader would have kept
		m.Opaque = []byte(value.FormatJSON(kept, ""))
	}
	x.r.Messages = append(x.r.Messages, m)
}

// block adds a block of the user.
func (x *rendering) block(b *value.Dict) {
	m := model.Message{Role: model.User, Text: b.Text("text")}
	switch kind := b.Text("type"); kind {
	case "text":
	case "image", "document":
		x.media(&m, b)
	case "tool_result":
		m = model.Message{Role: model.ToolRole, CallID: b.Text("tool_use_id"), Tool: "t", Text: b.Text("content"), Failed: b.Bool("is_error")}
		for _, part := range objects(b, "content") {
			switch part.Text("type") {
			case "text":
				m.Text += part.Text("text")
			case "image", "document":
				x.media(&m, part)
			default:
				x.hosted = append(x.hosted, part.Text("type"))
			}
		}
	default:
		x.lack("a block %s", kind)
	}
	x.r.Messages = append(x.r.Messages, m)
}

func (x *rendering) media(m *model.Message, b *value.Dict) {
	source := b.Dict("source")
	one := model.Media{Type: source.Text("media_type"), Name: b.Text("title"), Data: []byte(source.Text("data"))}
	switch source.Text("type") {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(source.Text("data"))
		if err != nil {
			x.lack("base64: %v", err)
		}
		one.Data = data
	case "text":
	case "url":
		one.Type, one.Data, one.URL = map[string]string{"image": "image/jpeg", "document": "application/pdf"}[b.Text("type")], nil, source.Text("url")
	default:
		x.lack("%s by %s", b.Text("type"), source.Text("type"))
		return
	}
	m.Media = append(m.Media, one)
}

// TestRenderings expresses each recorded request as ours, and compares what is sent with it. It
// counts those without Options.Extra, those with it, which a user of the command sets with extra
// in an entry of providers in config.yaml, and those with Options.Strict, which only a program sets.
func TestRenderings(t *testing.T) {
	all, hosted, refused, same, extra, strict := recordings(t), 0, 0, 0, 0, 0
	reasons, notes := map[string]int{}, map[string]int{}
	for _, e := range all {
		x := convert(t, e.request)
		if x.hosted != nil {
			hosted++
			continue
		}
		if e.status != 200 {
			refused++
			continue
		}
		r := &recorded{exchange: e}
		if x.lacks == nil {
			_, err := r.open(t, x.o).Ask(t.Context(), x.r)
			if len(r.sent) == 0 {
				x.lack("%v", err)
			} else {
				x.lacks = differences(e.request, r.sent[0])
			}
		}
		switch {
		case x.lacks != nil:
		case x.o.Strict != nil:
			strict++
		case x.o.Extra.Len() > 0:
			extra++
		default:
			same++
		}
		for _, why := range x.lacks {
			reasons[why]++
		}
		for _, why := range x.notes {
			notes[why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("not expressed, %d times: %s", reasons[why], why)
	}
	for _, why := range slices.Sorted(maps.Keys(notes)) {
		t.Logf("expressed by something similar, %d times: %s", notes[why], why)
	}
	own := len(all) - hosted - refused
	t.Logf("%d requests, %d with tools that the vendor runs, %d that it refused; of the other %d, %d can be expressed (%.1f %%), %d more with extra (%.1f %%), and %d more with Options.Strict: %.1f %%",
		len(all), hosted, refused, own, same, 100*float64(same)/float64(own), extra, 100*float64(same+extra)/float64(own), strict, 100*float64(same+extra+strict)/float64(own))
	if own < 38 || float64(same+extra) < 0.9*float64(own) || same+extra+strict < own {
		t.Errorf("%d, %d and %d of %d requests can be expressed, want 90 %% without Options.Strict, and all with it", same, extra, strict, own)
	}
}

// differences compares a recorded request with ours.
func differences(want, got *value.Dict) (list []string) {
	differ := func(what string, a, b value.Value) {
		if sorted(a) != sorted(b) {
			list = append(list, fmt.Sprintf("%s: %s is sent as %s", what, value.Cut(sorted(a), 200), value.Cut(sorted(b), 200)))
		}
	}
	for _, name := range []string{"model", "max_tokens", "metadata"} {
		a, _ := want.Get(name)
		b, _ := got.Get(name)
		differ(name, a, b)
	}
	differ("task_budget", want.Dict("output_config").Dict("task_budget"), got.Dict("output_config").Dict("task_budget"))
	differ("system", systemOf(want), systemOf(got))
	differ("effort", want.Dict("output_config").Text("effort"), wantedEffort(want, got))
	if kind := want.Dict("thinking").Text("type"); kind != "" {
		differ("thinking", kind, got.Dict("thinking").Text("type"))
	}
	if c := want.Dict("tool_choice"); c.Text("type") != "auto" {
		differ("tool_choice", c, got.Dict("tool_choice"))
	}
	differ("tools", value.List(value.Map(objects(want, "tools"), outline)), value.List(value.Map(objects(got, "tools"), outline)))
	differ("messages", turnsOf(want), turnsOf(got))
	return list
}

// wantedEffort returns the effort that was sent; that of adaptive thinking alone is the default.
func wantedEffort(want, got *value.Dict) string {
	effort := got.Dict("output_config").Text("effort")
	if !want.Dict("output_config").Has("effort") && effort == "high" {
		return ""
	}
	return effort
}

func systemOf(d *value.Dict) string {
	text := d.Text("system")
	for _, b := range objects(d, "system") {
		text = strings.TrimPrefix(text+"\n\n"+b.Text("text"), "\n\n")
	}
	return text
}

// outline returns the parts of a tool that a model cannot do without.
func outline(d *value.Dict) value.Value {
	schema := d.Dict("input_schema")
	var names, required value.List
	for name := range schema.Dict("properties").All() {
		names = append(names, name)
	}
	for _, name := range schema.Elements("required") {
		required = append(required, name)
	}
	byText := func(a, b value.Value) int { return strings.Compare(a.(string), b.(string)) }
	slices.SortFunc(names, byText)
	slices.SortFunc(required, byText)
	return value.List{d.Bool("strict"), d.Text("name"), strings.TrimSpace(d.Text("description")), names, required}
}

// turnsOf writes the messages as texts, those of one role that follow each other as one.
func turnsOf(d *value.Dict) (list value.List) {
	last, blocks := "", []*value.Dict(nil)
	flush := func() {
		if last != "" {
			list = append(list, last+" "+strings.Join(plainBlocks(blocks), "\n"))
		}
		blocks = nil
	}
	for _, m := range objects(d, "messages") {
		if m.Text("role") != last {
			flush()
			last = m.Text("role")
		}
		more := objects(m, "content")
		if text := m.Text("content"); text != "" {
			more = []*value.Dict{value.NewDict("type", "text", "text", text)}
		}
		blocks = append(blocks, more...)
	}
	flush()
	return list
}
