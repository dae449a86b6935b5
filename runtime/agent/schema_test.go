package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A seq is a model with native calls that replies one after the other, and keeps a copy of the
// requests. It refuses schemas if refuses is set, and the next request with a schema as too long
// if full is set.
type seq struct {
	replies []*model.Reply
	refuses bool
	down    bool
	full    bool
	asked   []model.Request
}

func (m *seq) Name() string { return "seq" }
func (m *seq) Native() bool { return true }

func (m *seq) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	m.asked = append(m.asked, *r)
	if m.down {
		return nil, value.Errorf(value.Unavailable, "the model is down")
	}
	if m.refuses && r.Schema != nil {
		return nil, value.Errorf(value.Invalid, "HTTP 400: the schema is not supported")
	}
	if m.full && r.Schema != nil {
		m.full = false
		return nil, value.Errorf(value.Limit, "HTTP 400: the prompt is too long").WithLimit(value.LimitContext)
	}
	reply := m.replies[0]
	m.replies = m.replies[1:]
	return reply, nil
}

func text(t string) *model.Reply { return &model.Reply{Text: t, Stop: model.StopEnd} }

var numbers = value.NewDict("type", "array", "items", value.NewDict("type", "integer"))

// openSeq opens an agent over a journal with a policy that asks for a value.
func openSeq(t *testing.T, m *seq, o agent.Options) *agent.Agent {
	t.Helper()
	h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: t.TempDir()}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Model, o.Tools = m, []string{"read_file"}
	a, err := agent.New(h, &o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// asks is a policy that asks for numbers.
func asks(string) (agent.Policy, error) {
	return agent.Policy{Name: "asks", Location: tool.Project, Script: tool.Script{Name: "asks", Path: "asks.star", Source: `
def policy(task, agent):
    reply = agent.ask(task, schema = {"type": "array", "items": {"type": "integer"}})
    return agent.finish("final", "done", result = reply["value"])
`}}, nil
}

// TestAskSchema checks what a request for a value carries, that the model is asked again with the
// error, and that a session that is reopened has the complete conversation.
func TestAskSchema(t *testing.T) {
	t.Parallel()
	m := &seq{replies: []*model.Reply{text("one and two"), text(`["1"]`), text("[1, 2]"), text("[3]")}}
	a := openSeq(t, m, agent.Options{Policies: asks})
	s, err := a.Session(t.Context(), "numbers")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Send(t.Context(), "numbers?")
	if err != nil || !value.Equal(r.Value, value.List{int64(1), int64(2)}) {
		t.Fatalf("the value is %v, %v", r.Value, err)
	}
	if len(m.asked) != 3 || r.Usage.Requests != 3 {
		t.Fatalf("the model was asked %d times, counted %d", len(m.asked), r.Usage.Requests)
	}
	for i := range m.asked {
		if q := &m.asked[i]; !value.Equal(q.Schema, numbers) || q.ToolChoice != model.ToolNone || len(q.Tools) == 0 {
			t.Errorf("request %d has the schema %v and the tool choice %q", i+1, q.Schema, q.ToolChoice)
		}
	}
	last := m.asked[2].Messages
	if n := len(last); n != 5 || !strings.Contains(last[2].Text, "is not JSON") || !strings.Contains(last[4].Text, "does not match") {
		t.Errorf("the last request has the messages %+v", last)
	}
	again, err := a.Session(t.Context(), "numbers")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Messages(), again.Messages()); diff != "" || len(again.Messages()) != 6 {
		t.Errorf("the reopened session has other messages (-first +reopened):\n%s", diff)
	}
}

// TestRefusedSchema checks that a provider that does not support a schema is asked without it.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	m := &seq{refuses: true, replies: []*model.Reply{text("[1]")}}
	a := openSeq(t, m, agent.Options{Policies: asks})
	r, err := a.Run(t.Context(), "numbers?")
	if err != nil || !value.Equal(r.Value, value.List{int64(1)}) || len(m.asked) != 2 {
		t.Errorf("the value is %v, %v after %d requests", r.Value, err, len(m.asked))
	}
}

// TestCompactBeforeValue checks that a conversation that has become too long is compacted before
// the model is asked for a value again.
func TestCompactBeforeValue(t *testing.T) {
	t.Parallel()
	m := &seq{replies: []*model.Reply{text("[1]"), text("a summary"), text("[2]")}}
	a := openSeq(t, m, agent.Options{Policies: asks})
	s, _ := a.Session(t.Context(), "numbers")
	if _, err := s.Send(t.Context(), "numbers?"); err != nil {
		t.Fatal(err)
	}
	m.full = true
	r, err := s.Send(t.Context(), "more numbers?")
	if err != nil || !value.Equal(r.Value, value.List{int64(2)}) || len(m.asked) != 4 {
		t.Fatalf("the value is %v, %v after %d requests", r.Value, err, len(m.asked))
	}
	if last := m.asked[3]; !value.Equal(last.Schema, numbers) || !strings.Contains(last.Messages[0].Text, "a summary") {
		t.Errorf("the last request is %+v", last)
	}
}

// TestSchemaNeverMatched checks that the turn fails after two further attempts, and that the
// conversation can continue.
func TestSchemaNeverMatched(t *testing.T) {
	t.Parallel()
	m := &seq{replies: []*model.Reply{text("a"), text("b"), text("c"), text("[4]")}}
	a := openSeq(t, m, agent.Options{Policies: asks})
	s, _ := a.Session(t.Context(), "numbers")
	r, err := s.Send(t.Context(), "numbers?")
	if value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), "no valid answer") || r.Usage.Requests != 3 {
		t.Errorf("the turn ended with %v after %d requests", err, r.Usage.Requests)
	}
	if r, err = s.Send(t.Context(), "once more"); err != nil || !value.Equal(r.Value, value.List{int64(4)}) {
		t.Errorf("the next turn = %v, %v", r.Value, err)
	}
}

// TestModelAskSchema checks model.ask with a schema.
func TestModelAskSchema(t *testing.T) {
	t.Parallel()
	m := &seq{replies: []*model.Reply{text("two"), text("[2]")}}
	open := func(context.Context) (model.Model, error) { return m, nil }
	got, _, err := askModel(t, open, "prompt", "numbers?", "schema", numbers)
	if err != nil || !value.Equal(got, value.List{int64(2)}) || len(m.asked) != 2 {
		t.Errorf("model.ask = %v, %v after %d requests", got, err, len(m.asked))
	}
	if first := m.asked[0].Messages[0].Text; !strings.HasPrefix(first, "numbers?\n\n") || !strings.Contains(first, `{"type":"array"`) {
		t.Errorf("the model was asked %q", first)
	}
	m.replies = []*model.Reply{text("a"), text("b"), text("c")}
	if _, _, err := askModel(t, open, "prompt", "numbers?", "schema", "list[int]"); value.KindOf(err) != value.Failed {
		t.Errorf("a model that never answers: %v", err)
	}
	if _, _, err := askModel(t, open, "prompt", "numbers?", "schema", int64(7)); value.KindOf(err) != value.Invalid {
		t.Errorf("a wrong schema: %v", err)
	}
}
