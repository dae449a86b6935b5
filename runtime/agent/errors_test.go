package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestProviderErrors serves errors of a provider. A rate limit parks the run with the reason and
// when to try again, and the run continues; an empty account says so.
func TestProviderErrors(t *testing.T) {
	t.Parallel()
	limited := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(429)
			fmt.Fprint(w, `{"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}`)
		}
	}
	for _, tt := range []struct {
		name     string
		fails    http.HandlerFunc
		failures int32 // requests that fail; later ones succeed
		parked   string
		hint     string
		retries  int // events
	}{
		{"Retry-After 900", limited("900"), 1, "Rate limit reached", "try again after 15m0s", 0},
		{"three in a row", limited(""), 3, "", "", 3},
		{"without end", limited("1"), 100, "Rate limit reached", "cassidy runs resume work", 4},
		{"no quota", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			fmt.Fprint(w, `{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}`)
		}, 1, "You exceeded your current quota", "balance", 0},
		{"overloaded", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }, 2, "", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n, broken atomic.Int32
			broken.Store(tt.failures)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost { // the sizes of the model
					http.NotFound(w, r)
					return
				}
				if n.Add(1) <= broken.Load() {
					tt.fails(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"choices": [{"message": {"role": "assistant", "content": "TASK COMPLETE: done"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}`)
			}))
			defer server.Close()
			m, err := openai.New(&openai.Options{Model: "fake", BaseURL: server.URL, Key: "k", Plain: true,
				HTTP: model.HTTP{Sleep: func(context.Context, time.Duration) error { return nil }}})
			if err != nil {
				t.Fatal(err)
			}
			h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: t.TempDir()}, t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{}})
			if err != nil {
				t.Fatal(err)
			}
			events := h.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 10})
			s, _ := a.Session(t.Context(), "work")
			began := time.Now()
			r, err := s.Send(t.Context(), "do it")
			retries := 0
			for e := range events {
				if _, ok := e.Data.(tool.ModelRetry); ok {
					retries++
				}
				if _, ok := e.Data.(tool.RunEnd); ok {
					break
				}
			}
			if retries != tt.retries {
				t.Errorf("%d retries were reported, want %d", retries, tt.retries)
			}
			if tt.parked == "" {
				if err != nil || r.Text != "done" {
					t.Errorf("the turn = %q, %v", r.Text, err)
				}
				return
			}
			var parked *host.ParkedError
			e := value.ErrorOf(err, value.Failed)
			if e == nil || !errors.As(err, &parked) || !strings.Contains(e.Message(), tt.parked) || !strings.Contains(e.Hint, tt.hint) || !strings.Contains(e.Hint, "cassidy runs resume work") {
				t.Fatalf("the turn ended with %v (%+v)", err, e)
			}
			waits := time.Minute // if the server asks for less
			if after, ok := strings.CutPrefix(tt.name, "Retry-After "); ok {
				seconds, _ := strconv.Atoi(after)
				waits = time.Duration(seconds) * time.Second
			}
			run, err := h.Recorded(t.Context(), "work")
			if err != nil || run.Wake.Before(began.Add(waits).Truncate(time.Second)) || run.Wake.After(time.Now().Add(waits)) {
				t.Errorf("the run is due in %v, %v, want %v", time.Until(run.Wake), err, waits)
			}
			broken.Store(0)
			if r, err = s.Resume(t.Context()); err != nil || r.Text != "done" {
				t.Errorf("the resumed turn = %q, %v", r.Text, err)
			}
		})
	}
}

// TestContextTooLong checks that a conversation that the provider refuses as too long is
// compacted once, and the request repeated.
func TestContextTooLong(t *testing.T) {
	t.Parallel()
	long := value.Limitf(value.LimitContext, "prompt is too long")
	s := newStage(t, setting{files: twoFiles, replies: play{readsA(), long, "SUMMARY: a was read", done}})
	r, err := s.turn(context.Background(), "do it")
	if err != nil || !r.Success() || !strings.Contains(s.log.String(), "SUMMARY: a was read") {
		t.Errorf("the turn = %+v, %v", r, err)
	}
}

// TestCutReplies checks what follows a reply that reached its limit.
func TestCutReplies(t *testing.T) {
	t.Parallel()
	cut := func(text string) *model.Reply { return &model.Reply{Text: text, Stop: model.StopLength} }
	for _, tt := range []struct {
		name, policy string
		replies      []*model.Reply
		want         string
		told         string // in the last request
	}{
		{"an answer", "task", []*model.Reply{cut("TASK COMPLETE: one, t"), text("wo, three")}, "one, two, three", "your answer was cut off"},
		{"an answer in three parts", "task", []*model.Reply{cut("TASK COMPLETE: one, t"), cut("wo, th"), text("ree")}, "one, two, three", "your answer was cut off"},
		{"an answer without end", "task", []*model.Reply{cut("TASK COMPLETE: a"), cut("b"), cut("c")}, "abc\n\n[The answer was cut off: it is longer than a reply of the model may be.]", "your answer was cut off"},
		{"a chat", "chat", []*model.Reply{cut("one, t"), text("wo")}, "one, two", "your answer was cut off"},
		{"thinking", "task", []*model.Reply{cut(""), text("TASK COMPLETE: done")}, "done", "think shorter"},
		{"thinking in a chat", "chat", []*model.Reply{cut(""), text("done")}, "done", "think shorter"},
		{"a call", "task", []*model.Reply{{Calls: []model.Call{{ID: "1", Tool: "read_file", Raw: `{"filepath": "a`}}, Stop: model.StopLength}, text("TASK COMPLETE: done")}, "done", "write less in a reply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &seq{replies: tt.replies}
			a := openSeq(t, m, agent.Options{Policy: tt.policy})
			r, err := a.Run(t.Context(), "do it")
			if err != nil || r.Text != tt.want {
				t.Errorf("the answer is %q, %v, want %q", r.Text, err, tt.want)
			}
			var last strings.Builder
			for _, message := range m.asked[len(m.asked)-1].Messages {
				last.WriteString(message.Text + "\n")
			}
			if !strings.Contains(last.String(), tt.told) {
				t.Errorf("the model was not told %q:\n%s", tt.told, last.String())
			}
		})
	}
}
