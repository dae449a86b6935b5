package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/cassidyai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// modelOf is a model whose replies are those of a function.
type modelOf func(n int) (*model.Reply, error)

func (f modelOf) Name() string { return "blocks" }
func (f modelOf) Native() bool { return true }
func (f modelOf) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	return f(len(r.Messages))
}

// TestBlockedReply checks that a reply that the provider blocked ends the turn with an error, and is
// not requested again; the next turn is possible.
func TestBlockedReply(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"task", "chat"} {
		for text, want := range map[string]string{
			"I can't help with that.": "the provider blocked the answer of the model blocks: I can't help with that.",
			"":                        "the provider blocked the answer of the model blocks",
		} {
			asked, blocks := 0, true
			h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Close() })
			a, err := agent.New(h, &agent.Options{Policy: policy, Model: modelOf(func(int) (*model.Reply, error) {
				if asked++; blocks {
					return &model.Reply{Text: text, Stop: model.StopRefuse}, nil
				}
				return &model.Reply{Text: "Gladly.", Stop: model.StopEnd}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			s := a.NewSession("")
			r, err := s.Send(t.Context(), "Do harm.")
			if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Failed || e.Message() != want || e.Hint == "" || asked != 1 || r.Success() {
				t.Errorf("%s: Send = %+v, %v after %d requests, want %q", policy, r, err, asked, want)
			}
			blocks = false
			if r, err := s.Send(t.Context(), "Do good."); err != nil || r.Text != "Gladly." {
				t.Errorf("%s: the next turn = %+v, %v", policy, r, err)
			}
		}
	}
}

// threads is a server of CassidyAI that gives empty answers as long as empty is positive.
type threads struct {
	mu      sync.Mutex
	empty   int
	created int
	sent    []string // THREAD: MESSAGE
}

func (s *threads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "TASK COMPLETE: It is 42."
	body := make([]byte, 1<<20)
	n, _ := r.Body.Read(body)
	d, _ := value.ParseJSON(body[:n])
	q, _ := d.(*value.Dict)
	switch {
	case strings.HasSuffix(r.URL.Path, "/thread/create"):
		s.created++
		fmt.Fprintf(w, `{"thread_id": "thread-%d"}`, s.created)
		return
	case s.empty > 0:
		s.empty--
		text = ""
	}
	s.sent = append(s.sent, q.Text("thread_id")+": "+q.Text("message"))
	fmt.Fprintf(w, `{"content": %q, "references": []}`, text)
}

// TestEmptyAnswerOfCassidyAI checks that the model is reminded of an empty answer in the same
// thread, and that further ones park the run as a failure of the provider.
func TestEmptyAnswerOfCassidyAI(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"task", "chat"} {
		server := &threads{empty: 3}
		at := httptest.NewServer(server)
		t.Cleanup(at.Close)
		m, err := cassidyai.New(&cassidyai.Options{BaseURL: at.URL, Key: "key-of-a-test", Assistant: "a"})
		if err != nil {
			t.Fatal(err)
		}
		h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: t.TempDir()}, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		a, err := agent.New(h, &agent.Options{Policy: policy, Model: m, Tools: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Session(t.Context(), "empty-"+policy)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Send(t.Context(), "What is the answer?")
		var parked *cassidy.ParkedError
		if !errors.As(err, &parked) || !strings.Contains(err.Error(), "the reply is empty, even after 2 reminders") {
			t.Errorf("%s: Send = %q, %v, want the run parked", policy, r.Reason, err)
		}
		r, err = agent.Resume(t.Context(), h, r.Run)
		if err != nil || !strings.HasSuffix(r.Text, "It is 42.") || r.Usage.Requests != 4 {
			t.Errorf("%s: Resume = %+v, %v, want the answer after 4 requests", policy, r, err)
		}
		if server.created != 1 || len(server.sent) < 4 || !strings.HasPrefix(server.sent[1], "thread-1: NOTE: your reply was empty.") {
			t.Errorf("%s: %d threads were created, with the messages %q; want one thread", policy, server.created, server.sent)
		}
	}
}
