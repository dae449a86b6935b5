package model_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// startCassidy opens CassidyAI with a fake.
func startCassidy(t *testing.T, v *fakeCassidy, o cassidyai.Options) *bench {
	t.Helper()
	f := newFake(t, v)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	o.BaseURL, o.Key, o.Assistant, o.HTTP.Sleep, o.HTTP.Client = f.server.URL+"/api", testKey, "asst-1", f.sleep, client
	m, err := cassidyai.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, m, f, f.next}
}

// sent returns the texts of the messages that a fake got.
func (f *fake) sent() []string {
	var list []string
	for _, q := range f.messages() {
		list = append(list, q.body.Text("message"))
	}
	return list
}

func TestCassidyMessages(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{text: "Four."}, turn{text: "Done."}, turn{text: "Anew."})
	r := &model.Request{System: "Be brief.", Messages: []model.Message{user("What is 2+2?")}}
	got := b.ask(r)
	if got.Thread != "thread-1" || !slices.Equal(got.References, []string{"[1] Handbook https://example.com/h"}) {
		t.Errorf("Ask = %+v", got)
	}
	r.Thread = got.Thread
	r.Messages = append(r.Messages, got.Message(), user("Twice that?"),
		model.Message{Role: model.ToolRole, Tool: "read_file", Text: "gone", Failed: true})
	b.ask(r)
	r.Thread = "" // as after a change of what was said
	r.Messages[1].Calls = []model.Call{{Tool: "read_file", Args: value.NewDict("path", "a")}}
	if got := b.ask(r); got.Thread != "thread-2" {
		t.Errorf("thread = %q, want a new one", got.Thread)
	}
	want := []string{
		"Be brief.\n\nWhat is 2+2?",
		"Twice that?\n\nERROR (read_file):\ngone",
		"Be brief.\n\n[The conversation so far]\n\nUSER:\nWhat is 2+2?\n\nASSISTANT:\nFour.\n\nCALL (read_file): {\"path\":\"a\"}\n\n" +
			"[Answer what follows]\n\nTwice that?\n\nERROR (read_file):\ngone",
	}
	if sent := b.f.sent(); !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

func TestCassidyFields(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"content", "message", "response"} {
		b := startCassidy(t, &fakeCassidy{field: field}, cassidyai.Options{})
		b.next(turn{text: "Hi."})
		if got := b.ask(hello()); got.Text != "Hi." {
			t.Errorf("%s: %+v", field, got)
		}
	}
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{body: `{"response":"third","message":"second","content":null,"references":["plain",{"name":"N"},7]}`})
	got := b.ask(hello())
	if got.Text != "second" || !slices.Equal(got.References, []string{"[1] plain", "[2] N"}) {
		t.Errorf("Ask = %+v", got)
	}
}

func TestCassidyRefuses(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{MaxMessage: 10})
	b.fails(t.Context(), &model.Request{Thread: "conv_20260101_000000_abcd", Messages: hello().Messages}, value.Invalid, "saved conversation")
	b.fails(t.Context(), &model.Request{Thread: " ", Messages: hello().Messages}, value.Invalid, "Thread ID is required")
	b.fails(t.Context(), &model.Request{Thread: "thread-1"}, value.Invalid, "Message cannot be empty")
	if e := b.fails(t.Context(), &model.Request{Messages: []model.Message{user("12345678901")}}, value.Limit, "11 characters"); e.Limit != value.LimitMessage {
		t.Errorf("limit = %q", e.Limit)
	}
	if n := len(b.f.requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	b.next(turn{text: "Hi."})
	b.ask(&model.Request{Messages: []model.Message{user("ääääääääää")}}) // characters, not bytes
	b = startCassidy(t, &fakeCassidy{noID: true}, cassidyai.Options{})
	b.fails(t.Context(), hello(), value.Unavailable, "invalid response: thread_id is missing")
}

func TestCassidyErrors(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{status: 500}, turn{status: 418, body: `{"message":"m","error":"e"}`}, turn{status: 418, body: `{"error":"e"}`})
	b.fails(t.Context(), hello(), value.Unavailable, "Cassidy API request failed (HTTP 500): it went wrong")
	b.fails(t.Context(), hello(), value.Invalid, "(HTTP 418): m")
	b.fails(t.Context(), hello(), value.Invalid, "(HTTP 418): e")
	if len(b.f.slept) != 0 {
		t.Errorf("a 500 was tried again")
	}
}

func TestCassidyAuth(t *testing.T) {
	t.Parallel()
	tests := []struct {
		server, style model.Auth
		threads       int // requests to make two threads
		fails         string
	}{
		{model.AuthKey, "", 2, ""},
		{model.AuthKey, model.AuthKey, 2, ""},
		{model.AuthKey, model.AuthBearer, 2, ": the key was sent as a bearer token"},
		{model.AuthKey, model.AuthAuto, 2, ""},
		{model.AuthBearer, model.AuthKey, 2, ": the key was sent in the header x-api-key"},
		{model.AuthBearer, model.AuthBearer, 2, ""},
		{model.AuthBearer, model.AuthAuto, 3, ""}, // the second thread knows
		{"other", model.AuthAuto, 4, ": the key was sent in the header x-api-key, and as a bearer token"},
	}
	for _, test := range tests {
		b := startCassidy(t, &fakeCassidy{bearer: test.server == model.AuthBearer}, cassidyai.Options{Auth: test.style})
		if test.server == "other" {
			b.f.vendor = &closedCassidy{}
		}
		b.next(turn{text: "Hi."}, turn{text: "Hi."})
		for range 2 {
			if test.fails == "" {
				b.ask(hello())
			} else {
				b.fails(t.Context(), hello(), value.Unavailable, test.fails)
			}
		}
		threads := 0
		for _, q := range b.f.requests() {
			if strings.Contains(q.path, "thread/create") {
				threads++
			}
		}
		if threads != test.threads {
			t.Errorf("a server with %q, asked with %q: %d requests for threads, want %d", test.server, test.style, threads, test.threads)
		}
	}
}

// A closedCassidy accepts no key.
type closedCassidy struct{ fakeCassidy }

func (*closedCassidy) authorized(request) bool { return false }

// TestCassidyLost tests messages without an answer: they are never sent again blindly.
func TestCassidyLost(t *testing.T) {
	t.Parallel()
	const preamble = "IMPORTANT: The previous attempt at this task timed out."
	slow := turn{mute: true}
	tests := []struct {
		name  string
		turns []turn
		lost  int    // the status with which the thread cannot be read
		sent  int    // how often a message is sent
		want  string // the answer, or "" for an error
		kind  value.Kind
	}{
		{"the answer is in the thread", []turn{{status: 524, stores: []string{"=", "Late."}}}, 0, 1, "Late.", 0},
		{"the message is in the thread", []turn{{status: 524, stores: []string{"="}}, {text: "Again."}}, 0, 2, "Again.", 0},
		{"the thread is empty", []turn{{status: 524}, {text: "Again."}}, 0, 2, "Again.", 0},
		{"another message is in the thread", []turn{{status: 524, stores: []string{"Bye.", "Bye!"}}, {text: "Again."}}, 0, 2, "Again.", 0},
		{"an answer without words", []turn{{status: 524, stores: []string{"=", " "}}, {text: "Again."}}, 0, 2, "Again.", 0},
		{"the thread cannot be read", []turn{{status: 524, stores: []string{"=", "Late."}}}, 500, 1, "", value.Timeout},
		{"lost twice", []turn{{status: 524}, {status: 524}}, 0, 2, "", value.Timeout},
		{"lost twice, and found", []turn{{status: 524}, {status: 524, stores: []string{"=", "Late."}}}, 0, 2, "Late.", 0},
		{"refused the second time", []turn{{status: 524}, {status: 403}}, 0, 2, "", value.Unavailable},
		{"no answer in time", []turn{slow, {text: "Again."}}, 0, 2, "Again.", 0},
		{"the connection breaks", []turn{{text: "Half.", cut: true}}, 0, 1, "Half.", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := startCassidy(t, &fakeCassidy{lost: test.lost}, cassidyai.Options{HTTP: model.HTTP{Timeout: 500 * time.Millisecond}})
			b.next(test.turns...)
			if test.want == "" {
				b.fails(t.Context(), hello(), test.kind)
			} else if got := b.ask(hello()); got.Text != test.want || got.Thread != "thread-1" {
				t.Errorf("Ask = %+v, want %q", got, test.want)
			}
			sent := b.f.sent()
			if len(sent) != test.sent || sent[0] != "Hello." {
				t.Fatalf("sent %q, want %d messages", sent, test.sent)
			}
			if test.sent == 2 && (!strings.HasPrefix(sent[1], preamble) || !strings.HasSuffix(sent[1], "Original task:\n\nHello.")) {
				t.Errorf("the second message is %q", sent[1])
			}
			if all := b.f.requests(); test.sent == 2 && !strings.Contains(all[2].path, "thread/get") {
				t.Errorf("nobody looked at the thread before %q was sent", sent[1])
			}
		})
	}
}

// TestCassidyOldAnswer asks the same question twice, and the second answer is lost: the
// first answer must not be used for it.
func TestCassidyOldAnswer(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{text: "Part one."}, turn{status: 524}, turn{text: "Part two."})
	r := hello()
	got := b.ask(r)
	r.Thread, r.Messages = got.Thread, append(r.Messages, got.Message(), user("Hello."))
	if got := b.ask(r); got.Text != "Part two." {
		t.Errorf("Ask = %+v", got)
	}
}

func TestCassidyCanceledWhileLost(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{mute: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-b.f.reach
		cancel()
	}()
	b.fails(ctx, hello(), value.Canceled)
	if n := len(b.f.requests()); n != 2 {
		t.Errorf("%d requests, want a thread and a message", n)
	}
}

// TestOptions checks that every kind rejects invalid options.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		if !k.remote {
			continue
		}
		for _, base := range []string{"ftp://x", "http://", "http://u:sk-pass@host", "https://host/?a=b", "http://%zz"} {
			_, err := k.open(base, options{key: testKey})
			if value.KindOf(err) != value.Invalid || strings.Contains(err.Error(), "sk-pass") {
				t.Errorf("%s: base URL %q: %v", k.name, base, err)
			}
		}
		if _, err := k.open("http://host", options{key: "sk-line\nbreak"}); value.KindOf(err) != value.Invalid || strings.Contains(err.Error(), "sk-line") {
			t.Errorf("%s: a key of two lines: %v", k.name, err)
		}
	}
	for name, open := range map[string]func() (model.Model, error){
		"cassidy":   func() (model.Model, error) { return cassidyai.New(nil) },
		"assistant": func() (model.Model, error) { return cassidyai.New(&cassidyai.Options{Key: "k"}) },
		"auth": func() (model.Model, error) {
			return cassidyai.New(&cassidyai.Options{Key: "k", Assistant: "a", Auth: "basic"})
		},
		"openai":    func() (model.Model, error) { return openai.New(nil) },
		"anthropic": func() (model.Model, error) { return anthropic.New(nil) },
		"anthropic auth": func() (model.Model, error) {
			return anthropic.New(&anthropic.Options{Model: "m", Auth: "basic"})
		},
		"ollama": func() (model.Model, error) { return ollama.New(nil) },
	} {
		if _, err := open(); value.KindOf(err) != value.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := openai.New(&openai.Options{Model: "gpt-5"})
	if err != nil || m.Name() != "openai:gpt-5" || !m.Native() {
		t.Errorf("NewOpenAI = %v, %v", m, err)
	}
	if m, _ := ollama.New(&ollama.Options{Model: "m", Plain: true}); m.Native() {
		t.Error("a plain model takes tools")
	}
}

func TestRequestIsJSON(t *testing.T) {
	t.Parallel()
	b := startCassidy(t, &fakeCassidy{}, cassidyai.Options{})
	b.next(turn{text: "Hi."})
	b.ask(&model.Request{Messages: []model.Message{user("caf\xe9 \x00 \u2028")}})
	if got := b.f.sent()[0]; !json.Valid([]byte(value.FormatJSON(got, ""))) || got != "caf\ufffd \x00 \u2028" {
		t.Errorf("sent %q", got)
	}
}
