package model_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A bench is a model of one kind with its fake.
type bench struct {
	t *testing.T
	m model.Model
	f *fake // nil for a script
	// next sets what the model does next.
	next func(turns ...turn)
}

// A kind is a kind of model.
type kind struct {
	name                    string
	native, streams, remote bool
	vendor                  func() vendor
	open                    func(base string, o options) (model.Model, error)
}

// options are those that all kinds share.
type options struct {
	key      string
	client   *http.Client
	timeout  time.Duration
	maxReply int64
	sleep    func(context.Context, time.Duration) error
}

func kinds() []kind {
	return []kind{{
		name: "cassidy", remote: true,
		vendor: func() vendor { return &fakeCassidy{} },
		open: func(base string, o options) (model.Model, error) {
			return cassidyai.New(&cassidyai.Options{BaseURL: base + "/api", Assistant: "asst-1",
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, {
		name: "openai", native: true, streams: true, remote: true,
		vendor: func() vendor { return fakeOpenAI{} },
		open: func(base string, o options) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base + "/v1/", Model: "m",
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, {
		name: "openai responses", native: true, streams: true, remote: true,
		vendor: func() vendor { return &fakeResponses{} },
		open: func(base string, o options) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base + "/v1", Model: "m", API: "responses",
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, {
		name: "anthropic", native: true, streams: true, remote: true,
		vendor: func() vendor { return fakeAnthropic{version: "2026-10-21"} },
		open: func(base string, o options) (model.Model, error) {
			return anthropic.New(&anthropic.Options{BaseURL: base, Model: "m",
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, {
		name: "anthropic always streaming", native: true, streams: true, remote: true,
		vendor: func() vendor { return fakeAnthropic{version: "2026-10-21", thinking: true} },
		open: func(base string, o options) (model.Model, error) {
			return anthropic.New(&anthropic.Options{BaseURL: base, Model: "claude-sonnet-5-5",
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, {
		name: "anthropic thinking", native: true, streams: true, remote: true,
		vendor: func() vendor { return fakeAnthropic{version: "2023-06-01", thinking: true} },
		open: func(base string, o options) (model.Model, error) {
			return anthropic.New(&anthropic.Options{BaseURL: base + "/v1", Model: "m", Version: anthropic.Version2023,
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}, geminiKind("gemini", true), geminiKind("gemini 2", false), ollamaKind("ollama", fakeOllama{}), ollamaKind("ollama shown", fakeOllama{shown: true}),
		ollamaKind("ollama text", fakeOllama{text: 1}), ollamaKind("ollama twice", fakeOllama{text: 2}), {
			name: "script", native: true,
		}}
}

func geminiKind(name string, three bool) kind {
	v := fakeGemini{three: three}
	return kind{
		name: name, native: true, streams: true, remote: true,
		vendor: func() vendor { return v },
		open: func(base string, o options) (model.Model, error) {
			return gemini.New(&gemini.Options{BaseURL: base + "/v1beta", Model: v.model(),
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}
}

func ollamaKind(name string, v fakeOllama) kind {
	window := 8192
	if v.shown {
		window = 0
	}
	return kind{
		name: name, native: true, streams: true, remote: true,
		vendor: func() vendor { return v },
		open: func(base string, o options) (model.Model, error) {
			return ollama.New(&ollama.Options{BaseURL: base, Model: "m", Context: window,
				Key: o.key, HTTP: model.HTTP{Client: o.client, Timeout: o.timeout, MaxReply: o.maxReply, Sleep: o.sleep}, KeyHint: "set THE_KEY"})
		},
	}
}

// start opens a model of a kind.
func (k kind) start(t *testing.T, o options) *bench {
	t.Helper()
	if !k.remote {
		return startScript(t)
	}
	f := newFake(t, k.vendor())
	if o.key == "" {
		o.key = testKey
	}
	if o.sleep == nil {
		o.sleep = f.sleep
	}
	if o.client == nil {
		o.client = &http.Client{Transport: &http.Transport{}}
		t.Cleanup(o.client.CloseIdleConnections)
	}
	m, err := k.open(f.server.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, m, f, f.next}
}

// startScript opens a model that a function plays.
func startScript(t *testing.T) *bench {
	var mu sync.Mutex
	var turns []turn
	play := func(ctx context.Context, messages value.List, n int) (value.Value, error) {
		answers := 0
		for _, m := range messages {
			d := m.(*value.Dict)
			strict(t, "a message", d, fields{"role": "string!", "content": "string!", "tool_calls": "array", "tool_call_id": "string", "name": "string"})
			for _, c := range dicts(t, d, "tool_calls") {
				strict(t, "a call", c, fields{"id": "string!", "name": "string!", "arguments": "object|string!"})
			}
			if d.Text("role") == "assistant" {
				answers++
			}
		}
		if n != answers {
			t.Errorf("turn %d after %d answers", n, answers)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(turns) == 0 {
			t.Error("asked once too often")
			return nil, nil
		}
		next := turns[0]
		turns = turns[1:]
		if len(next.calls) == 0 {
			return next.text, nil
		}
		var calls value.List
		for _, c := range next.calls {
			calls = append(calls, value.NewDict("name", c.tool, "arguments", parse(t, c.args)))
		}
		return value.NewDict("content", next.text, "tool_calls", calls), nil
	}
	return &bench{t, script.New("answers.star", true, play), nil, func(more ...turn) {
		mu.Lock()
		defer mu.Unlock()
		turns = append(turns, more...)
	}}
}

func (b *bench) ask(r *model.Request) *model.Reply {
	b.t.Helper()
	reply, err := b.m.Ask(context.Background(), r)
	if err != nil {
		b.t.Fatalf("Ask: %v", err)
	}
	return reply
}

// fails expects an error of a kind with some words in its text and hint, and returns
// it.
func (b *bench) fails(ctx context.Context, r *model.Request, want value.Kind, words ...string) *value.Error {
	b.t.Helper()
	reply, err := b.m.Ask(ctx, r)
	var e *value.Error
	if !errors.As(err, &e) {
		b.t.Fatalf("Ask = %+v, %v, want an error", reply, err)
	}
	if e.Kind != want {
		b.t.Errorf("Ask fails with %q, of kind %q, want %q", e, e.Kind, want)
	}
	if !strings.HasPrefix(e.Error(), b.m.Name()+": ") {
		b.t.Errorf("the error %q does not begin with the model's name", e)
	}
	noKey(b.t, e)
	for _, w := range words {
		if !strings.Contains(e.Error()+"\n"+e.Hint, w) {
			b.t.Errorf("the error %q, hint %q, does not say %q", e, e.Hint, w)
		}
	}
	return e
}

// noKey fails the test if an error contains the key.
func noKey(t *testing.T, e *value.Error) {
	t.Helper()
	all := e.Error() + e.Hint + e.Op + value.FormatJSON(e.Error(), "")
	for err := e.Err; err != nil; err = errors.Unwrap(err) {
		all += err.Error()
	}
	for _, form := range []string{testKey, testKey[:8], "0123456789-abcdefghij", base64.StdEncoding.EncodeToString([]byte(testKey))} {
		if strings.Contains(all, form) {
			t.Errorf("the error contains the key: %s", all)
		}
	}
}

// messages returns the requests for an answer.
func (f *fake) messages() []request {
	var list []request
	for _, q := range f.requests() {
		if !strings.Contains(q.path, "/thread/") && q.path != "/api/show" {
			list = append(list, q)
		}
	}
	return list
}

// A row is a guarantee of every kind.
type row struct {
	name  string
	needs string // "native", "streams" or "remote", or "" for all kinds
	run   func(t *testing.T, k kind)
}

func TestConformance(t *testing.T) {
	rows := append(append(append(answerRows(), failureRows()...), streamRows()...), cancelRows()...)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			for _, r := range rows {
				has := map[string]bool{"": true, "native": k.native, "streams": k.streams, "remote": k.remote}
				if has[r.needs] {
					t.Run(r.name, func(t *testing.T) { r.run(t, k) })
				}
			}
		})
	}
}

func answerRows() []row {
	return []row{{"plain answer", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: "It is four — vier, 四.\n"})
		got := b.ask(&model.Request{System: "Be brief.", Messages: []model.Message{user("What is 2+2?")}, MaxTokens: 50})
		if got.Text != "It is four — vier, 四.\n" || got.Stop != model.StopEnd || len(got.Calls) > 0 {
			t.Errorf("Ask = %+v", got)
		}
		if k.native && k.remote && (got.Usage.InputTokens != 12 || got.Usage.OutputTokens != 5 || got.Usage.Wall <= 0) {
			t.Errorf("usage = %+v, want 12 tokens of input and 5 of output", got.Usage)
		}
		if (k.name == "openai" || k.name == "anthropic" || k.name == "gemini") && got.Usage.CachedTokens != 4 {
			t.Errorf("%d cached tokens, want 4", got.Usage.CachedTokens)
		}
	}}, {"streamed answer", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: "One two three — 四 \n\n data: 五."})
		var pieces []string
		got := b.ask(&model.Request{Messages: []model.Message{user("Count.")}, Text: func(p string) { pieces = append(pieces, p) }})
		if all := strings.Join(pieces, ""); all != got.Text || got.Text != "One two three — 四 \n\n data: 五." {
			t.Errorf("the pieces are %q, the text is %q", all, got.Text)
		}
		if k.streams && len(pieces) < 3 {
			t.Errorf("%d pieces", len(pieces))
		}
	}}, {"calls", "native", testCalls}, {"odd calls and tools", "remote", func(t *testing.T, k kind) {
		if k.native {
			testOdd(t, k)
		}
	}}, {"stopped early", "remote", func(t *testing.T, k kind) {
		if !k.native {
			t.Skip("the API does not say it")
		}
		b := k.start(t, options{})
		b.next(turn{text: "It is", length: true}, turn{text: "No.", refuse: true})
		if got := b.ask(&model.Request{Messages: []model.Message{user("Go on.")}}); got.Stop != model.StopLength {
			t.Errorf("stop = %q, want %q", got.Stop, model.StopLength)
		}
		got := b.ask(&model.Request{Messages: []model.Message{user("Go on.")}})
		if !strings.HasPrefix(k.name, "ollama") && got.Stop != model.StopRefuse {
			t.Errorf("stop = %q, want %q", got.Stop, model.StopRefuse)
		}
	}}, {"conversation continued", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: "Four."}, turn{text: "Eight."}, turn{text: "Nine."})
		r := &model.Request{System: "Be brief.", Messages: []model.Message{user("What is 2+2?")}}
		for _, question := range []string{"Twice that?", "Plus one?"} {
			got := b.ask(r)
			r.Thread = got.Thread
			r.Messages = append(r.Messages, got.Message(), user(question))
		}
		if got := b.ask(r); got.Text != "Nine." || got.Thread != r.Thread {
			t.Errorf("Ask = %+v, want Nine. in the thread %q", got, r.Thread)
		}
	}}, {"two questions at once", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: "Both."})
		if got := b.ask(&model.Request{Messages: []model.Message{user("One?"), user("Two?")}}); got.Text != "Both." {
			t.Errorf("Ask = %+v", got)
		}
	}}, {"an instruction in mid-conversation", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: "Four."}, turn{text: "Acht."})
		r := &model.Request{System: "Be brief.", Messages: []model.Message{user("What is 2+2?")}}
		got := b.ask(r)
		r.Thread = got.Thread
		r.Messages = append(r.Messages, got.Message(), user("Twice that?"), model.Message{Role: model.SystemRole, Text: "Speak German."})
		if got := b.ask(r); got.Text != "Acht." || !strings.Contains(b.f.messages()[1].body.String(), "Speak German.") {
			t.Errorf("Ask = %+v, after %s", got, b.f.messages()[1].body)
		}
		b.fails(t.Context(), &model.Request{Messages: []model.Message{user("a"), {Role: model.SystemRole}}}, value.Invalid, "empty")
	}}, {"nothing asked", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		for _, messages := range [][]model.Message{nil, {user("")}, {user(" \n")}, {user("a"), {Role: model.Assistant, Text: "b"}}} {
			b.fails(t.Context(), &model.Request{Messages: messages}, value.Invalid)
		}
		if n := len(b.f.requests()); n > 0 {
			t.Errorf("%d requests were sent all the same", n)
		}
	}}}
}

// testCalls has a model make one call, then two in parallel, and answer when it has the
// results; streamed and not.
func testCalls(t *testing.T, k kind) {
	for _, watched := range []bool{false, true} {
		b := k.start(t, options{})
		args := `{"path":"a \"b\".txt","limit":3}`
		b.next(turn{text: "Let me look.", calls: []fakeCall{{"toolu_1", "read_file", args}}},
			turn{calls: []fakeCall{{"toolu_2", "read_file", `{"path":"b"}`}, {"toolu_3", "read_file", `{"path":"c"}`}}},
			turn{text: "Done."})
		r := &model.Request{System: "Be brief.", Messages: []model.Message{user("Read.")}, Tools: []tool.Tool{readFile()}}
		if watched {
			r.Text = func(string) {}
		}
		got := b.ask(r)
		if got.Text != "Let me look." || got.Stop != model.StopCalls || len(got.Calls) != 1 || got.Calls[0].Tool != "read_file" ||
			got.Calls[0].Args.String() != args || got.Calls[0].ID == "" {
			t.Fatalf("Ask = %+v", got)
		}
		r.Messages = append(r.Messages, got.Message(),
			model.Message{Role: model.ToolRole, CallID: got.Calls[0].ID, Tool: "read_file", Text: "no such file", Failed: true})
		two := b.ask(r)
		if len(two.Calls) != 2 || two.Calls[0].ID == two.Calls[1].ID || two.Calls[0].ID == got.Calls[0].ID || two.Calls[1].Args.Text("path") != "c" {
			t.Fatalf("Ask = %+v", two)
		}
		r.Messages = append(r.Messages, two.Message(),
			model.Message{Role: model.ToolRole, CallID: two.Calls[0].ID, Tool: "read_file", Text: "B"},
			model.Message{Role: model.ToolRole, CallID: two.Calls[1].ID, Tool: "read_file", Text: ""}, user("Hurry."))
		if last := b.ask(r); last.Text != "Done." || last.Stop != model.StopEnd {
			t.Errorf("Ask = %+v", last)
		}
		if !k.remote {
			continue
		}
		b.fails(t.Context(), &model.Request{Messages: []model.Message{user("a"), got.Message(), user("b")}}, value.Invalid, "has no result")
	}
}

func hello() *model.Request { return &model.Request{Messages: []model.Message{user("Hello.")}} }

func watched() *model.Request {
	r := hello()
	r.Text = func(string) {}
	return r
}

func failureRows() []row {
	ok := turn{text: "Hi."}
	html := "<html><head><title>502 Bad\n Gateway</title></head><body>…</body></html>"
	return []row{{"bad key", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{key: "sk-test-wrong"})
		e := b.fails(t.Context(), hello(), value.Unavailable, "HTTP 401", "it went wrong", "set THE_KEY")
		tries := 1
		if strings.HasPrefix(k.name, "anthropic") { // in both headers
			tries = 2
		}
		if strings.Contains(e.Error(), "sk-test-wrong") || len(b.f.requests()) != tries {
			t.Errorf("%v, after %d requests", e, len(b.f.requests()))
		}
	}}, {"too many requests", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 429, header: "Retry-After: 7"}, ok)
		b.ask(hello())
		if s := b.f.slept; len(s) != 1 || s[0] < 7*time.Second || s[0] > 8*time.Second {
			t.Errorf("waited %v, want 7 seconds and a little", s)
		}
		b.next(turn{status: 429, header: "Retry-After: 900"})
		if e := b.fails(t.Context(), hello(), value.Limit, "HTTP 429", "try again after 15m0s"); e.Limit != value.LimitRate {
			t.Errorf("limit = %q", e.Limit)
		}
		asked := len(b.f.messages())
		b.next(turn{status: 429, header: "Retry-After: 1", body: `{"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}`})
		if e := b.fails(t.Context(), hello(), value.Limit, "HTTP 429", "balance"); e.After != 0 || len(b.f.messages()) != asked+1 {
			t.Errorf("an empty account: %+v after %d requests", e, len(b.f.messages())-asked)
		}
	}}, {"server error, then success", "remote", func(t *testing.T, k kind) {
		for _, r := range []*model.Request{hello(), watched()} {
			b := k.start(t, options{})
			b.next(turn{status: 502, body: html}, turn{status: 503}, ok)
			if got := b.ask(r); got.Text != "Hi." || len(b.f.messages()) != 3 || len(b.f.slept) != 2 {
				t.Errorf("Ask = %+v after %d requests, waits %v", got, len(b.f.messages()), b.f.slept)
			}
		}
	}}, {"overloaded, in several ways", "streams", func(t *testing.T, k kind) {
		for _, status := range []int{429, 500, 502, 503, 529} {
			for _, r := range []*model.Request{hello(), watched()} {
				b := k.start(t, options{})
				b.next(turn{status: status}, ok)
				if got := b.ask(r); got.Text != "Hi." || len(b.f.messages()) != 2 || len(b.f.slept) != 1 {
					t.Errorf("HTTP %d: Ask = %+v after %d requests, waits %v", status, got, len(b.f.messages()), b.f.slept)
				}
			}
		}
	}}, {"server error, always", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 503, always: true})
		var waited []time.Duration
		r := hello()
		r.Notice = func(n model.Notice) {
			if n.Retry != nil {
				waited = append(waited, n.Wait)
			}
		}
		b.fails(t.Context(), r, value.Unavailable, "HTTP 503", "it went wrong")
		if n := len(b.f.messages()); n != 5 || !slices.Equal(waited, b.f.slept) {
			t.Errorf("%d requests, want 5; waited %v, and said %v", n, b.f.slept, waited)
		}
	}}, {"the server says whether to retry", "streams", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 503, header: "X-Should-Retry: false"}, turn{status: 400, header: "X-Should-Retry: true"}, ok)
		b.fails(t.Context(), hello(), value.Unavailable, "HTTP 503")
		if got := b.ask(hello()); got.Text != "Hi." {
			t.Errorf("Ask = %+v", got)
		}
	}}, {"unknown model", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 404})
		b.fails(t.Context(), hello(), value.Unavailable, "HTTP 404", "it went wrong")
	}}, {"conversation too long", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 400})
		if e := b.fails(t.Context(), hello(), value.Limit, "HTTP 400"); e.Limit != value.LimitContext {
			t.Errorf("limit = %q", e.Limit)
		}
	}}, {"web pages", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 418, header: "Content-Type: text/html", body: html}, turn{status: 418, body: "<html>"}, turn{status: 418, body: "EMPTY"},
			turn{status: 418, body: strings.Repeat("word ", 100)}, turn{status: 418, body: `{"error":"flat"}`}, turn{status: 418, body: `[]`},
			turn{header: "Content-Type: text/html", body: html})
		b.fails(t.Context(), hello(), value.Invalid, "Server error: 502 Bad Gateway")
		b.fails(t.Context(), hello(), value.Invalid, "Server returned HTML error page")
		b.fails(t.Context(), hello(), value.Invalid, "Empty error response from server")
		if e := b.fails(t.Context(), hello(), value.Invalid, "word word"); len(e.Error()) > 300 {
			t.Errorf("the error has %d bytes", len(e.Error()))
		}
		b.fails(t.Context(), hello(), value.Invalid, ": flat")
		b.fails(t.Context(), hello(), value.Invalid, "Unknown API error")
		b.fails(t.Context(), hello(), value.Unavailable, "expected JSON but got", "502 Bad Gateway", "check the address of the API")
	}}, {"empty reply", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{text: " \n"})
		if err := b.fails(t.Context(), hello(), value.Unavailable, "the reply is empty"); !errors.Is(err, model.ErrEmpty) {
			t.Errorf("%v is not ErrEmpty", err)
		}
		if k.remote {
			b.next(turn{body: "EMPTY"})
			b.fails(t.Context(), hello(), value.Unavailable)
		}
	}}, {"wrong JSON", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		for _, body := range []string{`{"choices":[}`, `{"content":7,"choices":null,"message":1,"error":null}`, `[]`, `{}`, `"hi"`} {
			b.next(turn{header: "Content-Type: application/json", body: body})
			b.fails(t.Context(), hello(), value.Unavailable)
		}
	}}, {"redirect to another host", "remote", testRedirect}, {"the key comes back", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		encoded := base64.StdEncoding.EncodeToString([]byte(testKey))
		padded := strings.Repeat("x", 190) + testKey
		for _, echo := range []string{testKey, encoded, "Bearer " + testKey, value.FormatJSON(testKey, ""), padded} {
			for _, body := range []string{"you sent " + echo, js("message", echo), js("error", value.NewDict("message", echo, "code", echo)),
				"<html><title>" + echo + "</title>"} {
				b.next(turn{status: 400, body: body}, turn{body: body, always: true})
				b.fails(t.Context(), hello(), value.Invalid)
				if reply, err := b.m.Ask(t.Context(), hello()); err == nil {
					if strings.Contains(reply.Text, testKey) {
						t.Errorf("the key is in the reply %q", reply.Text)
					}
				} else {
					noKey(t, err.(*value.Error))
				}
			}
		}
	}}, {"nobody listens", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.f.server.Close()
		b.fails(t.Context(), hello(), value.Unavailable, "connection refused", "check the network")
		if len(b.f.slept) != 4 {
			t.Errorf("waited %v, want four waits", b.f.slept)
		}
	}}, {"very long reply", "remote", func(t *testing.T, k kind) {
		words := testutil.Times(1000, 10_000)
		b := k.start(t, options{maxReply: int64(10 * words)})
		b.next(turn{text: strings.Repeat("long ", words)}, turn{text: strings.Repeat("long ", 10*words)})
		if got := b.ask(hello()); len(got.Text) != 5*words {
			t.Errorf("%d bytes, want %d", len(got.Text), 5*words)
		}
		if e := b.fails(t.Context(), hello(), value.Limit, fmt.Sprintf("too long: limit %d bytes", 10*words)); e.Limit != value.LimitReply {
			t.Errorf("limit = %q", e.Limit)
		}
	}}, {"not UTF-8", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		b.next(turn{status: 418, body: "caf\xe9 \xff\xfe"})
		b.fails(t.Context(), hello(), value.Invalid, "caf\ufffd")
		b.next(turn{header: "Content-Type: application/json", body: strings.ReplaceAll(map[bool]string{
			true: `{"choices":[{"message":{"content":"caf@"},"finish_reason":"stop"}],"content":[{"type":"text","text":"caf@"}],"message":{"content":"caf@"},"done":true,"output":[{"type":"message","content":[{"type":"output_text","text":"caf@"}]}],` +
				`"candidates":[{"content":{"parts":[{"text":"caf@"}]},"finishReason":"STOP"}]}`,
			false: `{"content":"caf@"}`}[k.native], "@", "\xe9")})
		if got := b.ask(hello()); got.Text != "caf\ufffd" {
			t.Errorf("text = %q", got.Text)
		}
	}}}
}

// testBreaks lets the connection break after each frame of a stream with a text and two calls.
func testBreaks(t *testing.T, k kind) {
	whole := turn{text: "One two.", calls: []fakeCall{{"toolu_1", "read_file", `{"path":"a"}`}, {"toolu_2", "read_file", `{"path":"b"}`}}}
	for n := 1; ; n++ {
		b := k.start(t, options{})
		broken := whole
		broken.breakAt = n
		b.next(broken, whole)
		r := watched()
		r.Tools = []tool.Tool{readFile()}
		got := b.ask(r)
		if got.Text != "One two." || len(got.Calls) != 2 || got.Calls[0].Args.Text("path") != "a" || got.Calls[1].Args.Text("path") != "b" || got.Stop != model.StopCalls {
			t.Fatalf("a break after frame %d: %+v", n, got)
		}
		if len(b.f.messages()) == 1 { // the reply was complete before the break
			if n < 3 { // two frames are only the text
				t.Errorf("the reply is complete after frame %d", n)
			}
			return
		}
	}
}

// testRedirect redirects a model to another host, which must receive nothing.
func testRedirect(t *testing.T, k kind) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s came to the other host, with %v", r.Method, r.URL, r.Header)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := k.start(t, options{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}})
		b.next(turn{status: status, header: "Location: " + other.URL + "/v1/messages?key=" + "secret"})
		e := b.fails(t.Context(), hello(), value.Unavailable, "unsupported redirect to "+other.URL, "check the address of the API")
		if strings.Contains(e.Error(), "secret") {
			t.Errorf("the error repeats the query: %v", e)
		}
	}
}

func streamRows() []row {
	return []row{{"cut stream", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		if !k.streams {
			b.next(turn{text: "one two three four", cut: true}, turn{text: "one two three four", cut: true})
			b.f.vendor.(*fakeCassidy).lost = 500
			b.fails(t.Context(), hello(), value.Unavailable, "closed before the reply was complete")
			return
		}
		b.next(turn{text: "one two three four", cut: true}, turn{text: "one two three four"})
		var got string
		r := hello()
		r.Text = func(p string) { got += p }
		r.Notice = func(n model.Notice) {
			if n.Retry != nil {
				got += "|"
			}
		}
		if reply := b.ask(r); got != "one two |one two three four" || reply.Text != "one two three four" || len(b.f.messages()) != 2 {
			t.Errorf("%q came, and the reply %q after %d requests; want it to begin again", got, reply.Text, len(b.f.messages()))
		}
		b.next(turn{text: "one two three four", cut: true, always: true})
		b.fails(t.Context(), watched(), value.Unavailable, "closed before the reply was complete")
	}}, {"break at every event", "streams", testBreaks}, {"stream without end", "streams", func(t *testing.T, k kind) {
		b := k.start(t, options{maxReply: 1 << 20})
		b.next(turn{text: "on ", endless: true})
		b.fails(t.Context(), watched(), value.Limit, "too long: limit 1048576 bytes")
	}}, {"stream without words", "streams", func(t *testing.T, k kind) {
		b := k.start(t, options{maxReply: 1000})
		header := "Content-Type: text/event-stream"
		if strings.HasPrefix(k.name, "ollama") {
			header = "Content-Type: application/x-ndjson"
		}
		b.next(turn{header: header, body: strings.Repeat("\n", 100_000)}, turn{header: header, body: strings.Repeat("x", 100_000)},
			turn{header: header, body: "data: nonsense\n\nnonsense\n"}, turn{header: header, body: "EMPTY", always: true})
		b.fails(t.Context(), watched(), value.Limit)
		b.fails(t.Context(), watched(), value.Limit)
		b.fails(t.Context(), watched(), value.Unavailable, "expected JSON but got")
		b.fails(t.Context(), watched(), value.Unavailable, "closed before")
	}}, {"error in the stream", "streams", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		body, header := `{"error":{"message":"overloaded","type":"overloaded_error"},"type":"error"}`, "Content-Type: application/x-ndjson"
		if !strings.HasPrefix(k.name, "ollama") {
			body, header = "event: error\ndata: "+body+"\n\n", "Content-Type: text/event-stream"
		}
		b.next(turn{header: header, body: body, always: true})
		b.fails(t.Context(), watched(), value.Unavailable, "overloaded")
		if n := len(b.f.messages()); n != 5 {
			t.Errorf("%d requests, want 5", n)
		}
	}}, {"silence", "remote", func(t *testing.T, k kind) {
		b := k.start(t, options{timeout: 50 * time.Millisecond})
		if !k.streams {
			b.next(turn{mute: true}, turn{mute: true})
			b.fails(t.Context(), hello(), value.Timeout, "no data from the API for 50ms")
			return
		}
		b.next(turn{text: "one two", hold: true})
		b.fails(t.Context(), watched(), value.Timeout, "no data from the API for 50ms")
		<-b.f.gone
	}}}
}

func cancelRows() []row {
	return []row{{"cancel before", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.fails(ctx, hello(), value.Canceled, "the request was cancelled")
		ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer cancel()
		b.fails(ctx, hello(), value.Timeout, "timeout: no complete reply within the time limit")
	}}, {"cancel while waiting", "remote", func(t *testing.T, k kind) {
		before := runtime.NumGoroutine()
		b := k.start(t, options{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		b.next(turn{mute: true})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-b.f.reach
			cancel()
		}()
		b.fails(ctx, hello(), value.Canceled)
		<-b.f.gone
		b.f.server.Close()
		settles(t, before)
	}}, {"cancel while streaming", "streams", func(t *testing.T, k kind) {
		before := runtime.NumGoroutine()
		b := k.start(t, options{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		b.next(turn{text: "one two three", hold: true})
		ctx, cancel := context.WithCancel(t.Context())
		r := hello()
		r.Text = func(string) { cancel() }
		b.fails(ctx, r, value.Canceled)
		<-b.f.gone
		b.f.server.Close()
		settles(t, before)
	}}, {"cancel between attempts", "remote", func(t *testing.T, k kind) {
		ctx, cancel := context.WithCancel(t.Context())
		b := k.start(t, options{sleep: func(ctx context.Context, d time.Duration) error {
			cancel()
			return ctx.Err()
		}})
		b.next(turn{status: 503})
		b.fails(ctx, hello(), value.Canceled)
		if n := len(b.f.messages()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	}}, {"the time runs out between attempts", "remote", func(t *testing.T, k kind) {
		f := newFake(t, k.vendor())
		m, err := k.open(f.server.URL, options{key: testKey, client: closing()}) // which waits by the clock
		if err != nil {
			t.Fatal(err)
		}
		f.next(turn{status: 503, header: "Retry-After: 30"})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		(&bench{t, m, f, f.next}).fails(ctx, hello(), value.Timeout)
	}}, {"cancel while connecting", "remote", func(t *testing.T, k kind) {
		ctx, cancel := context.WithCancel(t.Context())
		b := k.start(t, options{client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			cancel()
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}})
		b.fails(ctx, hello(), value.Canceled)
	}}, {"many at once", "", func(t *testing.T, k kind) {
		b := k.start(t, options{})
		var all sync.WaitGroup
		for range 8 {
			b.next(turn{text: "Hi."})
			all.Go(func() {
				if got, err := b.m.Ask(t.Context(), hello()); err != nil || got.Text != "Hi." {
					t.Errorf("Ask = %+v, %v", got, err)
				}
			})
		}
		all.Wait()
	}}}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// settles waits until there are no more goroutines than before.
func settles(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// TestWords compares the request to each API, byte by byte, with that of the vendors'
// own clients.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		want, ok := map[string]string{
			"openai": `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Read a.txt"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]},` +
				`{"role":"tool","content":"hello","tool_call_id":"c1"}],"max_completion_tokens":100}`,
			"openai responses": `{"model":"m","instructions":"Be brief.","input":[{"role":"user","content":"Read a.txt"},` +
				`{"type":"function_call","call_id":"c1","name":"read_file","arguments":"{\"path\":\"a.txt\"}"},` +
				`{"type":"function_call_output","call_id":"c1","output":"hello"}],"store":false,"include":["reasoning.encrypted_content"],` +
				`"reasoning":{"summary":"auto"},"max_output_tokens":100}`,
			"anthropic": `{"model":"m","max_tokens":100,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Read a.txt","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a.txt"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"hello","cache_control":{"type":"ephemeral"}}]}]}`,
			"ollama": `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Read a.txt"},` +
				`{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"read_file","arguments":{"path":"a.txt"}}}]},` +
				`{"role":"tool","content":"hello","tool_name":"read_file","tool_call_id":"c1"}],"stream":false,"truncate":false,"shift":false,"options":{"num_ctx":8192,"num_predict":100}}`,
		}[k.name]
		if !ok {
			continue
		}
		b := k.start(t, options{})
		b.next(turn{text: "Done."})
		b.ask(&model.Request{System: "Be brief.", MaxTokens: 100, Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read a.txt"),
			{Role: model.Assistant, Calls: []model.Call{{ID: "c1", Tool: "read_file", Args: value.NewDict("path", "a.txt")}}},
			{Role: model.ToolRole, CallID: "c1", Tool: "read_file", Text: "hello"}}})
		body := b.f.requests()[0].body
		got := value.NewDict()
		for k, v := range body.All() {
			if k != "tools" { // which the fakes look at
				got.Put(k.(string), v)
			}
		}
		if d := cmp.Diff(want, got.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", k.name, d)
		}
	}
}
