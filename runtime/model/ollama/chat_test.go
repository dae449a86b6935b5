package ollama_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const four = `{"message":{"role":"assistant","content":"Four."},"done":true,"done_reason":"stop"}`

// A server answers /api/show with one body, and chats in turn with others. A body that begins
// with a number and a space has that status.
type server struct {
	*httptest.Server
	show  string
	chats []string
	sent  []string // the bodies of the chats
	paths []string
	slept int
}

func serve(t *testing.T, show string, chats ...string) *server {
	s := &server{show: show, chats: chats}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		s.paths = append(s.paths, r.Method+" "+r.URL.Path)
		body := s.show
		if r.URL.Path != "/api/show" {
			s.sent = append(s.sent, string(data))
			body = s.chats[0]
			if len(s.chats) > 1 {
				s.chats = s.chats[1:]
			}
		}
		if status, rest, ok := strings.Cut(body, " "); ok && len(status) == 3 {
			w.WriteHeader(map[string]int{"400": 400, "401": 401, "404": 404, "500": 500, "503": 503}[status])
			body = rest
		}
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) open(t *testing.T, o ollama.Options) model.Model {
	t.Helper()
	o.BaseURL = s.URL
	o.HTTP.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	o.HTTP.Sleep = func(context.Context, time.Duration) error {
		s.slept++
		return nil
	}
	m, err := ollama.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// card is an answer of /api/show.
func card(length string, capabilities ...string) string {
	d := value.NewDict("capabilities", value.List(value.Map(capabilities, func(s string) value.Value { return s })))
	return strings.TrimSuffix(d.String(), "}") + `,"details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.attention.head_count":32,"qwen3.context_length":` + length + `}}`
}

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }

func readFile() tool.Tool {
	return tool.Tool{Name: "read_file", Description: "Read a file.", Params: []tool.Param{{Name: "path", Type: tool.Type{Name: tool.TypeString}, Required: true}}}
}

// TestContext checks the num_ctx of requests, which is also the context that is reported.
func TestContext(t *testing.T) {
	for _, test := range []struct {
		name, show string
		given      int
		want       string
		source     string
		asked      int // requests to /api/show, for two chats and two calls of Info
	}{
		{"short model", card("40960", "completion"), 0, "40960", "server", 1},
		{"long model", card("262144", "completion"), 0, "65536", "server", 1},
		{"given", card("40960", "completion"), 131072, "131072", "user", 1},
		{"not reported", `{"capabilities":["completion"]}`, 0, "65536", "server", 1},
		{"broken", card("-1", "completion"), 0, "65536", "server", 1},
		{"no such API", `404 {"error":"not found"}`, 0, "65536", "", 3},
	} {
		s := serve(t, test.show, four)
		m := s.open(t, ollama.Options{Model: "m", Context: test.given})
		for range 2 {
			if _, err := m.Ask(t.Context(), &model.Request{Messages: []model.Message{user("Hi.")}}); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			info := model.InfoOf(t.Context(), m)
			if got := value.FormatJSON(int64(info.Context), ""); got != test.want || info.Source != test.source {
				t.Errorf("%s: Info = %+v, want %s tokens from %q", test.name, info, test.want, test.source)
			}
		}
		want := `{"model":"m","messages":[{"role":"user","content":"Hi."}],"stream":false,"truncate":false,"shift":false,"options":{"num_ctx":` + test.want + `}}`
		if d := cmp.Diff(want, s.sent[1]); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
		asked := 0
		for _, path := range s.paths {
			if path == "POST /api/show" {
				asked++
			}
		}
		if asked != test.asked {
			t.Errorf("%s: /api/show is asked %d times, want %d", test.name, asked, test.asked)
		}
	}
}

// TestInfo checks what a model reads, and that one on the own machine costs nothing.
func TestInfo(t *testing.T) {
	for _, test := range []struct {
		name, show string
		media      []string
		free       bool
	}{
		{"m", card("4096", "completion"), []string{}, true},
		{"m", card("4096", "completion", "vision"), []string{"image/png", "image/jpeg", "image/webp"}, true},
		{"m", `503 {"error":"busy"}`, nil, true},
		{"gpt-oss:120b-cloud", `404 {}`, nil, false},
		{"big:cloud", card("4096", "completion"), []string{}, false},
		{"m", `{"remote_host":"https://ollama.com","capabilities":["completion"]}`, []string{}, false},
	} {
		s := serve(t, test.show, four)
		got := model.InfoOf(t.Context(), s.open(t, ollama.Options{Model: test.name}))
		if d := cmp.Diff(test.media, got.Media); d != "" {
			t.Errorf("%s %s: media (-want +got):\n%s", test.name, test.show, d)
		}
		if free := got.Price != nil && got.Price.Cost(model.Usage{InputTokens: 1e6, OutputTokens: 1e6}) == 0; free != test.free || !free && got.Price != nil {
			t.Errorf("%s %s: price %+v, want free: %t", test.name, test.show, got.Price, test.free)
		}
		if s.slept > 0 {
			t.Errorf("%s: waited for /api/show", test.show)
		}
	}
}

// TestRequests compares parts of what is sent.
func TestRequests(t *testing.T) {
	cold := 0.0
	schema := value.NewDict("type", "object")
	png := []model.Media{{Type: "image/png", Data: []byte("png")}}
	thinking, seeing, plain := card("4096", "completion", "thinking"), card("4096", "completion", "vision"), card("4096", "completion")
	const no = `"stream":false,"truncate"`
	for _, test := range []struct {
		name, show string
		r          model.Request
		want       string
	}{
		{"temperature and length", plain, model.Request{Temperature: &cold, MaxTokens: 9}, `"options":{"num_ctx":4096,"num_predict":9,"temperature":0.0}`},
		{"a schema", plain, model.Request{Schema: schema}, `],"format":{"type":"object"},"stream"`},
		{"any JSON", plain, model.Request{Schema: value.NewDict()}, `],"format":"json","stream"`},
		{"a schema with tools, which the format would exclude", plain, model.Request{Schema: schema, Tools: []tool.Tool{readFile()}}, `"additionalProperties":false}}}],"stream"`},
		{"a schema with tools that cannot be called", plain, model.Request{Schema: schema, ToolChoice: model.ToolNone, Tools: []tool.Tool{readFile()}}, `],"format":{"type":"object"},"stream"`},
		{"no tools to choose from", plain, model.Request{ToolChoice: model.ToolNone, Tools: []tool.Tool{readFile()}}, `"content":"Hi."}],"stream"`},
		{"no effort", thinking, model.Request{}, no},
		{"effort none", thinking, model.Request{Effort: "none"}, `"think":false`},
		{"effort minimal", thinking, model.Request{Effort: "minimal"}, `"think":"low"`},
		{"effort low", thinking, model.Request{Effort: "low"}, `"think":"low"`},
		{"effort medium", thinking, model.Request{Effort: "medium"}, `"think":"medium"`},
		{"effort xhigh", thinking, model.Request{Effort: "xhigh"}, `"think":"high"`},
		{"effort max", thinking, model.Request{Effort: "max"}, `"think":"max"`},
		{"a model without reasoning", plain, model.Request{Effort: "high"}, no},
		{"the user's image", seeing, model.Request{Messages: []model.Message{{Role: model.User, Text: "See.", Media: png}}}, `{"role":"user","content":"See.","images":["cG5n"]}`},
		{"a tool's image", seeing, model.Request{Messages: []model.Message{user("See."), {Role: model.Assistant, Calls: []model.Call{{ID: "c", Tool: "look", Args: value.NewDict()}}},
			{Role: model.ToolRole, Tool: "look", CallID: "c", Text: "Here.", Media: png}}},
			`{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"index":0,"name":"look","arguments":{}}}]},{"role":"tool","content":"Here.","images":["cG5n"],"tool_name":"look","tool_call_id":"c"}]`},
	} {
		s := serve(t, test.show, four)
		if test.r.Messages == nil {
			test.r.Messages = []model.Message{user("Hi.")}
		}
		if _, err := s.open(t, ollama.Options{Model: "m"}).Ask(t.Context(), &test.r); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !strings.Contains(s.sent[0], test.want) {
			t.Errorf("%s: sent %s, want %s in it", test.name, s.sent[0], test.want)
		}
	}
}

// TestMemory has a server without the memory for a long context: shorter ones are tried, and
// the one that fits is kept.
func TestMemory(t *testing.T) {
	const full = `500 {"error":"model requires more system memory (9.0 GiB) than is available (7.6 GiB)"}`
	hi := &model.Request{Messages: []model.Message{user("Hi.")}}
	s := serve(t, card("131072", "completion"), full, full, four)
	m := s.open(t, ollama.Options{Model: "m"})
	for range 2 {
		if _, err := m.Ask(t.Context(), hi); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"65536", "32768", "16384", "16384"} {
		if i >= len(s.sent) || !strings.Contains(s.sent[i], `"num_ctx":`+want+`}`) {
			t.Fatalf("sent %q, want num_ctx %s in request %d", s.sent, want, i+1)
		}
	}
	if info := model.InfoOf(t.Context(), m); info.Context != 16384 || s.slept > 0 {
		t.Errorf("Info = %+v, waited %d times", info, s.slept)
	}
	for _, test := range []struct{ given, requests int }{{0, 4}, {65536, 1}} {
		s := serve(t, card("131072", "completion"), full)
		_, err := s.open(t, ollama.Options{Model: "m", Context: test.given}).Ask(t.Context(), hi)
		if e := value.ErrorOf(err, value.Failed); err == nil || e.Kind != value.Unavailable || !strings.Contains(e.Hint, "smaller context") || len(s.sent) != test.requests {
			t.Errorf("a context of %d: %v, hint %q, after %d requests", test.given, err, e.Hint, len(s.sent))
		}
	}
}

// TestLevelsInParallel has a server that rejects levels of two requests at the same time: both are
// sent again.
func TestLevelsInParallel(t *testing.T) {
	var both, done sync.WaitGroup
	both.Add(2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/api/show":
			io.WriteString(w, card("4096", "thinking"))
		case strings.Contains(string(data), `"think":"low"`):
			both.Done()
			both.Wait()
			w.WriteHeader(400)
			io.WriteString(w, `{"error":"think value \"low\" is not supported for this model"}`)
		default:
			io.WriteString(w, four)
		}
	}))
	defer server.Close()
	m, err := ollama.New(&ollama.Options{Model: "m", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		done.Go(func() {
			if _, err := m.Ask(t.Context(), &model.Request{Effort: "low", Messages: []model.Message{user("Hi.")}}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// TestLevels has a server that knows reasoning only as on and off.
func TestLevels(t *testing.T) {
	s := serve(t, card("4096", "thinking"), `400 {"error":"think value \"low\" is not supported for this model"}`, four)
	m := s.open(t, ollama.Options{Model: "m"})
	for range 2 {
		if _, err := m.Ask(t.Context(), &model.Request{Effort: "low", Messages: []model.Message{user("Hi.")}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []bool
	for _, body := range s.sent {
		got = append(got, strings.Contains(body, `"think":true`))
	}
	if !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("sent %q", s.sent)
	}
}

func TestErrors(t *testing.T) {
	image := func(kind string) *model.Request {
		return &model.Request{Messages: []model.Message{{Role: model.User, Text: "See.", Media: []model.Media{{Type: kind, Name: "a.bin", Data: []byte("x")}}}}}
	}
	hi := &model.Request{Messages: []model.Message{user("Hi.")}, Tools: []tool.Tool{readFile()}}
	for _, test := range []struct {
		name, show, chat string
		r                *model.Request
		kind             value.Kind
		words, hint      string
	}{
		{"no tools", card("4096", "completion"), `400 {"error":"registry.ollama.ai/library/m:latest does not support tools"}`, hi, value.Invalid, "does not support tools", "use --format pure_json"},
		{"a PDF", card("4096", "vision"), four, image("application/pdf"), value.Invalid, "cannot read a.bin (application/pdf)", "attach a PNG, JPEG or WebP image"},
		{"a blind model", card("4096", "completion"), four, image("image/png"), value.Invalid, "cannot read a.bin (image/png)", "vision"},
		{"a wrong key", `401 {"error":"unauthorized"}`, four, hi, value.Unavailable, "HTTP 401: unauthorized", "check the key"},
		{"an unknown model", `404 {"error":"model 'm' not found"}`, `404 {"error":"model 'm' not found"}`, hi, value.Unavailable, "not found", "ollama pull m"},
		{"too long", card("4096", "completion"), `400 {"error":"the input length exceeds the context length"}`, hi, value.Limit, "exceeds the context length", "begin a new conversation"},
	} {
		s := serve(t, test.show, test.chat)
		_, err := s.open(t, ollama.Options{Model: "m"}).Ask(t.Context(), test.r)
		if e := value.ErrorOf(err, value.Failed); err == nil || e.Kind != test.kind || !strings.Contains(e.Error(), test.words) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%s: %v, hint %q, of kind %s; want %q, %q, %s", test.name, err, e.Hint, e.Kind, test.words, test.hint, test.kind)
		}
	}
}

// TestReasoning checks that reasoning is shown, and goes back with the message.
func TestReasoning(t *testing.T) {
	s := serve(t, card("4096", "thinking"), `{"message":{"content":"","thinking":"I "},"done":false}`+"\n"+`{"message":{"content":"Four.","thinking":"add."},"done":true,"done_reason":"length","prompt_eval_count":7,"eval_count":3}`+"\n", four)
	m := s.open(t, ollama.Options{Model: "m"})
	r := &model.Request{Messages: []model.Message{user("2+2?")}, Text: func(string) {}}
	got, err := m.Ask(t.Context(), r)
	if err != nil || got.Reasoning != "I add." || got.Text != "Four." || got.Stop != model.StopLength || got.Usage.InputTokens != 7 || got.Usage.OutputTokens != 3 {
		t.Fatalf("Ask = %+v, %v", got, err)
	}
	r.Text, r.Messages = nil, append(r.Messages, got.Message(), user("And?"))
	if _, err := m.Ask(t.Context(), r); err != nil || !strings.Contains(s.sent[1], `{"role":"assistant","content":"Four.","thinking":"I add."}`) {
		t.Errorf("%v, sent %s", err, s.sent[1])
	}
}

func TestList(t *testing.T) {
	s := serve(t, card("4096", "completion", "vision"), `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":5},{"model":"gpt-oss:20b-cloud"}]}`)
	got, err := ollama.List(t.Context(), &ollama.Options{BaseURL: s.URL, HTTP: model.HTTP{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}})
	if err != nil || len(got) != 2 || got[0].Name != "qwen3:8b" || got[0].Context != 4096 || got[0].Price == nil || len(got[0].Media) != 3 ||
		got[1].Name != "gpt-oss:20b-cloud" || got[1].Price != nil {
		t.Errorf("List = %+v, %v", got, err)
	}
	if want := []string{"GET /api/tags", "POST /api/show", "POST /api/show"}; !slices.Equal(s.paths, want) {
		t.Errorf("requests %q, want %q", s.paths, want)
	}
}
