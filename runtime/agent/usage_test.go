package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A metered model answers by the text that it is asked, and reports 100 tokens of input, 40 of
// them from a cache, and 10 of output.
type meteredModel struct {
	price  *model.Price
	silent bool // reports no tokens
	reply  func(asked string, said int) string

	mu     sync.Mutex
	asked  []*model.Request
	stop   func() // is called before request stopAt, which then waits for the end of its context
	stopAt int
}

func (m *meteredModel) Name() string { return "metered" }
func (m *meteredModel) Native() bool { return false }

func (m *meteredModel) Info(context.Context) model.Info {
	return model.Info{Context: 50_000, Price: m.price}
}

func (m *meteredModel) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	n := len(m.asked)
	m.mu.Unlock()
	if n == m.stopAt {
		m.stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	said := 0
	for i := range r.Messages {
		if r.Messages[i].Role == model.Assistant {
			said++
		}
	}
	u := model.Usage{InputTokens: 100, CachedTokens: 40, OutputTokens: 10}
	if m.silent {
		u = model.Usage{}
	}
	return &model.Reply{Text: m.reply(r.Messages[0].Text, said), Stop: model.StopEnd, Usage: u}, nil
}

func (m *meteredModel) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// cents costs a cent for each request of a metered model: 60 + 0.1 × 40 + 10 × 3.6 = 100.
var cents = &model.Price{Input: 100, CachedInput: 10, Output: 360}

// A spender is a project with a task that asks the model five times: itself three times, a
// sub-agent once, and a script that a tool calls once.
type spender struct {
	t            *testing.T
	dir, journal string
}

func newSpender(t *testing.T) *spender {
	s := &spender{t: t, dir: t.TempDir(), journal: t.TempDir()}
	for name, text := range map[string]string{
		"outer.star": "def outer():\n    \"\"\"Call inner.\"\"\"\n    return tools.inner()\n\ntool(outer, needs = [\"tool:inner\", \"model\"])\n",
		"inner.star": "def inner():\n    \"\"\"Ask the model.\"\"\"\n    return model.ask(\"the script asks\")\n\ntool(inner, needs = [\"model\"])\n",
	} {
		path := filepath.Join(s.dir, ".cassidy", "tools", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func spend(asked string, said int) string {
	switch {
	case strings.Contains(asked, "the script asks"):
		return "the script is answered"
	case strings.Contains(asked, "the little piece"):
		return "TASK COMPLETE: the part"
	}
	return []string{call("agent", "task", "the little piece"), call("outer"), "TASK COMPLETE: all of it"}[said]
}

// open opens the host and the agent in a process of their own.
func (s *spender) open(m *meteredModel, o agent.Options) (*cassidy.Host, *agent.Agent) {
	s.t.Helper()
	h, err := testhost.Open(s.t, testhost.On{Sandbox: cassidy.Inline, Journal: s.journal}, s.dir, &cassidy.Options{
		TrustSource: true, Modules: []tool.Module{agent.ModelModule(func(context.Context) (model.Model, error) { return m, nil })}, Approver: host.ApproveAll(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if o.Model = m; o.Tools == nil {
		o.Tools = []string{"agent", "outer"}
	}
	if err := agent.Register(h, func() (*agent.Options, error) { own := o; return &own, nil }); err != nil {
		s.t.Fatal(err)
	}
	a, err := agent.New(h, &o)
	if err != nil {
		s.t.Fatal(err)
	}
	return h, a
}

func usageText(u agent.Usage) string { return value.FormatJSON(u.Dict(), "") }

// fiveCents is the usage of the complete task.
const fiveCents = `{"requests":5,"input_tokens":500,"cached_input_tokens":200,"output_tokens":50,"cost_usd":0.05}`

// TestUsageSurvives interrupts a task before each of its requests, and resumes it in another
// process: the usage is that of all requests, each counted once.
func TestUsageSurvives(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("request %d", n), func(t *testing.T) {
			s := newSpender(t)
			ctx, cancel := context.WithCancel(t.Context())
			m := &meteredModel{price: cents, reply: spend, stop: cancel, stopAt: n}
			h, a := s.open(m, agent.Options{})
			session, err := a.Session(t.Context(), "work")
			if err != nil {
				t.Fatal(err)
			}
			r, err := session.Send(ctx, "do it")
			if r.Reason != agent.ReasonInterrupted {
				t.Fatalf("the turn ended with %s, %v", r.Reason, err)
			}
			if r.Usage.Requests != n-1 {
				t.Errorf("before request %d, %d were counted", n, r.Usage.Requests)
			}
			h.Close()

			h, a = s.open(m, agent.Options{})
			r, err = agent.Resume(t.Context(), h, "work")
			if err != nil || r.Text != "all of it" {
				t.Fatalf("the resumed turn = %q, %v", r.Text, err)
			}
			if got := usageText(r.Usage); got != fiveCents {
				t.Errorf("the resumed turn used %s, want %s", got, fiveCents)
			}
			session, err = a.Session(t.Context(), "work")
			if err != nil {
				t.Fatal(err)
			}
			if last, err := session.Resume(t.Context()); err != nil || usageText(last.Usage) != fiveCents {
				t.Errorf("the session reports %s, %v, want %s", usageText(last.Usage), err, fiveCents)
			}
		})
	}
}

// TestUnknownUsage checks that what is not known is null.
func TestUnknownUsage(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	for _, tt := range []struct {
		m    *meteredModel
		want string
	}{
		{&meteredModel{reply: spend}, `{"requests":5,"input_tokens":500,"cached_input_tokens":200,"output_tokens":50,"cost_usd":null}`},
		{&meteredModel{reply: spend, silent: true, price: cents}, `{"requests":5,"input_tokens":null,"cached_input_tokens":null,"output_tokens":null,"cost_usd":null}`},
	} {
		h, a := s.open(tt.m, agent.Options{})
		events := h.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 10})
		r, err := a.Run(t.Context(), "do it")
		if err != nil {
			t.Fatal(err)
		}
		if got := usageText(r.Usage); got != tt.want {
			t.Errorf("the task used %s, want %s", got, tt.want)
		}
		for e := range events {
			end, ok := e.Data.(tool.RunEnd)
			if !ok || e.Call != r.Run {
				continue
			}
			if got := value.FormatJSON(end.Usage, ""); got != tt.want {
				t.Errorf("the event has the usage %s, want %s", got, tt.want)
			}
			break
		}
		h.Close()
	}
}

// TestCeilings checks that a task that has reached a limit is parked, and continues with a
// higher one, without a second request for what it had.
func TestCeilings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		limit        string
		first, again agent.Options
		asked        int // requests before it is parked
	}{
		{"requests", "requests", agent.Options{Ceilings: agent.Ceilings{Requests: 1}}, agent.Options{Ceilings: agent.Ceilings{Requests: 5}}, 1},
		{"requests in a sub-agent's place", "requests", agent.Options{Ceilings: agent.Ceilings{Requests: 2}}, agent.Options{Ceilings: agent.Ceilings{Requests: 9}}, 2},
		{"requests in a script", "requests", agent.Options{Ceilings: agent.Ceilings{Requests: 3}}, agent.Options{Ceilings: agent.Ceilings{Requests: 5}}, 3},
		{"tokens", "tokens", agent.Options{Ceilings: agent.Ceilings{Tokens: 200}}, agent.Options{Ceilings: agent.Ceilings{Tokens: 10_000}}, 2},
		{"cost", "cost", agent.Options{Ceilings: agent.Ceilings{CostUSD: 0.04}}, agent.Options{Ceilings: agent.Ceilings{CostUSD: 1}}, 4},
		{"iterations", "iterations", agent.Options{Iterations: 1}, agent.Options{Iterations: 3}, 2},
		{"estimated tokens", "tokens", agent.Options{Ceilings: agent.Ceilings{Tokens: 10}}, agent.Options{Ceilings: agent.Ceilings{Tokens: 100_000}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSpender(t)
			m := &meteredModel{price: cents, reply: spend, silent: strings.HasPrefix(tt.name, "estimated")}
			h, a := s.open(m, tt.first)
			session, _ := a.Session(t.Context(), "work")
			_, err := session.Send(t.Context(), "do it")
			var parked *host.ParkedError
			e := value.ErrorOf(err, value.Failed)
			if !errors.As(err, &parked) || e.Limit != value.LimitUsage || !strings.Contains(e.Hint, "cassidy runs resume work --max-"+tt.limit) {
				t.Fatalf("the task ended with %v (%v)", err, e)
			}
			h.Close()
			if n := m.requests(); n != tt.asked {
				t.Errorf("%d requests were sent, want %d", n, tt.asked)
			}

			h, _ = s.open(m, agent.Options{}) // the recorded ceiling holds
			if _, err := agent.Resume(t.Context(), h, "work"); !errors.As(err, &parked) || m.requests() != tt.asked {
				t.Errorf("with the same ceiling it ended with %v after %d requests", err, m.requests())
			}
			h.Close()

			h, _ = s.open(m, tt.again)
			r, err := agent.Resume(t.Context(), h, "work")
			if err != nil || r.Text != "all of it" || m.requests() != 5 {
				t.Errorf("with a higher ceiling it ended with %q, %v after %d requests", r.Text, err, m.requests())
			}
			if !m.silent && usageText(r.Usage) != fiveCents {
				t.Errorf("it used %s, want %s", usageText(r.Usage), fiveCents)
			}
		})
	}
}

// TestCostOfUnknownPrice checks that nothing is asked when the cost is bounded and cannot be known.
func TestCostOfUnknownPrice(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	m := &meteredModel{reply: spend}
	_, a := s.open(m, agent.Options{Ceilings: agent.Ceilings{CostUSD: 1}})
	_, err := a.Run(t.Context(), "do it")
	e := value.ErrorOf(err, value.Failed)
	if e == nil || e.Kind != value.Invalid || !strings.Contains(e.Message(), "price of the model metered is not known") || !strings.Contains(e.Hint, "--max-tokens") || m.requests() > 0 {
		t.Errorf("the task ended with %v after %d requests", err, m.requests())
	}
}

// TestRequestOptions checks what each request carries, also after a resume, and that the budget is
// that of the model.
func TestRequestOptions(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	warm := 0.5
	ctx, cancel := context.WithCancel(t.Context())
	m := &meteredModel{reply: spend, stop: cancel, stopAt: 3}
	h, a := s.open(m, agent.Options{MaxTokens: 3000, Effort: "low", Temperature: &warm})
	session, _ := a.Session(t.Context(), "work")
	if _, err := session.Send(ctx, "do it"); value.KindOf(err) != value.Canceled {
		t.Fatal(err)
	}
	if _, limit := session.Usage(); limit > 50_000 || limit < 30_000 {
		t.Errorf("the limit of the conversation is %d, want about that of the model, 50,000", limit)
	}
	h.Close()
	h, _ = s.open(m, agent.Options{})
	if _, err := agent.Resume(t.Context(), h, "work"); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for i, r := range m.asked {
		if diff := cmp.Diff([]any{3000, "low", &warm}, []any{r.MaxTokens, r.Effort, r.Temperature}); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i+1, diff)
		}
		if !strings.Contains(r.Messages[0].Text, "the script asks") {
			keys[r.Conversation] = true
		}
	}
	if len(keys) != 2 || keys[""] { // of the agent and the sub-agent
		t.Errorf("the requests are of the conversations %v, want two", keys)
	}
}

func TestWrongRequestOptions(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	h, _ := s.open(&meteredModel{reply: spend}, agent.Options{})
	hot := 3.0
	for _, tt := range []struct {
		o    agent.Options
		want string
	}{
		{agent.Options{MaxTokens: -1}, "must be a positive number of tokens"},
		{agent.Options{Effort: "hihg"}, `unknown effort "hihg"`},
		{agent.Options{Temperature: &hot}, "from 0 to 2"},
		{agent.Options{ToolChoice: "required"}, "needs native calls"},
		{agent.Options{Ceilings: agent.Ceilings{Tokens: -1}}, "limit of tokens must be positive"},
	} {
		tt.o.Model = &meteredModel{reply: spend}
		if _, err := agent.New(h, &tt.o); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.o, err, tt.want)
		}
	}
}
