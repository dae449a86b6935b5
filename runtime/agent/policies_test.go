package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A team is the models of a policy with several agents. Each reply is chosen by the last message.
type team struct {
	t      *testing.T
	mu     sync.Mutex
	asked  []string            // the names of the models that were asked
	now    int                 // the requests of agents that are in progress
	most   int                 // of them at a time
	meet   int                 // a request of an agent waits until as many are in progress
	gather chan struct{}       // closed when they are
	says   [][2]string         // a part of the last message, and the reply
	policy func(string) string // changes the source of the policy
}

// model returns a model of the team.
func (m *team) model(name string) model.Model {
	return script.New(name, false, func(ctx context.Context, messages value.List, _ int) (value.Value, error) {
		last := messages[len(messages)-1].(*value.Dict).Text("content")
		m.mu.Lock()
		m.asked = append(m.asked, name)
		m.mu.Unlock()
		for _, c := range m.says {
			if !strings.Contains(last, c[0]) {
				continue
			}
			if strings.HasPrefix(c[1], "TASK COMPLETE: by an agent") {
				m.together(ctx)
			}
			return strings.ReplaceAll(c[1], "NAME", name), nil
		}
		return nil, value.Errorf(value.Failed, "there is no reply to: %s", last)
	})
}

// together waits until the agents that work in parallel have all asked.
func (m *team) together(ctx context.Context) {
	m.mu.Lock()
	m.now++
	if m.most = max(m.most, m.now); m.now == m.meet {
		close(m.gather)
		m.gather = make(chan struct{})
		m.now = 0
		m.mu.Unlock()
		return
	}
	wait := m.gather
	m.mu.Unlock()
	select {
	case <-wait:
	case <-ctx.Done():
	}
}

// run runs a task with a policy.
func (m *team) run(policy, task string, ceilings agent.Ceilings) (agent.Reply, error) {
	m.gather = make(chan struct{})
	h, err := testhost.Open(m.t, testhost.On{Sandbox: cassidy.Inline}, m.t.TempDir(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	o := &agent.Options{Model: m.model("lead"), Policy: policy, Tools: []string{"agent"}, Ceilings: ceilings,
		Models: func(_ context.Context, name string) (model.Model, error) {
			if name == "nosuch" {
				return nil, value.Errorf(value.Unavailable, "there is no model %s", name)
			}
			return m.model(name), nil
		}}
	o.Policies = func(name string) (agent.Policy, error) {
		p, err := agent.Builtin(name)
		if m.policy != nil {
			p.Script.Source = m.policy(p.Script.Source)
		}
		return p, err
	}
	if err := agent.Register(h, func() (*agent.Options, error) { return o, nil }); err != nil {
		m.t.Fatal(err)
	}
	a, err := agent.New(h, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return a.Run(m.t.Context(), task)
}

// TestPoliciesWithAgents runs the policies that start agents: these work in parallel, each with
// the model that the policy names, and the answer is made from their results.
func TestPoliciesWithAgents(t *testing.T) {
	for _, c := range []struct {
		policy string
		source func(string) string
		meet   int
		says   [][2]string
		answer string
		models string // of the agents, without that of the task
	}{
		{"best", func(s string) string { return strings.Replace(s, "MODELS = []", `MODELS = ["one", "two", "three"]`, 1) }, 3, [][2]string{
			{"agents have done the task", `{"reason": "it is correct", "best": 2}`}, {"name yourself", "TASK COMPLETE: by an agent: NAME"},
		}, "by an agent: ", "one three two"},
		{"debate", func(s string) string {
			return strings.Replace(s, "MODELS = [None, None]", `MODELS = ["pro", "contra"]`, 1)
		}, 2, [][2]string{
			{"# Second agent\n\nby an agent: contra, again", "TASK COMPLETE: they agree"},
			{"You have answered:\n\nby an agent: pro\n\nAnother agent has answered:\n\nby an agent: contra", "TASK COMPLETE: by an agent: NAME, again"},
			{"You have answered:\n\nby an agent: contra\n\nAnother agent has answered:\n\nby an agent: pro", "TASK COMPLETE: by an agent: NAME, again"},
			{"Another agent will examine", "TASK COMPLETE: by an agent: NAME"},
		}, "they agree", "contra contra pro pro"},
		{"planner", nil, 3, [][2]string{
			{"Split the task into steps", `["measure a", "measure b", "measure c"]`},
			{"# measure a\n\nby an agent: a\n\n# measure b\n\nby an agent: b\n\n# measure c\n\nby an agent: c", "TASK COMPLETE: a, b and c"},
			{"measure a", "TASK COMPLETE: by an agent: a"}, {"measure b", "TASK COMPLETE: by an agent: b"}, {"measure c", "TASK COMPLETE: by an agent: c"},
		}, "a, b and c", ""},
	} {
		t.Run(c.policy, func(t *testing.T) {
			m := &team{t: t, meet: c.meet, says: c.says, policy: c.source}
			r, err := m.run(c.policy, "name yourself", agent.Ceilings{})
			if err != nil || !strings.Contains(r.Text, c.answer) || !r.Success() {
				t.Fatalf("the task gave %+v, %v, want %q", r, err, c.answer)
			}
			if m.most != c.meet {
				t.Errorf("%d agents worked in parallel, want %d", m.most, c.meet)
			}
			var others []string
			for _, name := range m.asked {
				if name != "lead" {
					others = append(others, name)
				}
			}
			if got := fmt.Sprint(slices.Sorted(slices.Values(others))); got != fmt.Sprint(strings.Fields(c.models)) {
				t.Errorf("the models %s were asked, want %s", got, c.models)
			}
			if r.Usage.Requests != len(m.asked) {
				t.Errorf("the usage has %d requests of %d", r.Usage.Requests, len(m.asked))
			}
		})
	}
}

// TestCeilingsOfPoliciesWithAgents checks that the ceiling on requests holds over all agents.
func TestCeilingsOfPoliciesWithAgents(t *testing.T) {
	m := &team{t: t, meet: 1, says: [][2]string{{"agents have done", `{"reason": "it is correct", "best": 1}`}, {"name yourself", "TASK COMPLETE: by an agent: NAME"}}}
	r, err := m.run("best", "name yourself", agent.Ceilings{Requests: 2})
	if value.KindOf(err) != value.Limit || len(m.asked) != 2 {
		t.Errorf("with 2 requests, %d were made: %+v, %v", len(m.asked), r, err)
	}
}

// TestModelOfARequest checks that a policy can ask another model in the same conversation, and that
// the models do not get what only the other one can read.
func TestModelOfARequest(t *testing.T) {
	m := &team{t: t, says: [][2]string{{"name yourself", "NAME"}, {"And you?", "NAME"}, {"And again?", "NAME"}}, policy: func(string) string {
		return `
def policy(task, agent):
    said = [agent.ask(agent.prompt(task)), agent.ask("And you?", model = "other"), agent.ask("And again?")]
    return agent.finish("final", ", ".join([r["text"] for r in said]))
`
	}}
	r, err := m.run("task", "name yourself", agent.Ceilings{})
	if err != nil || r.Text != "lead, other, lead" || r.Usage.Requests != 3 {
		t.Errorf("the task gave %+v, %v", r, err)
	}
	m.policy = func(string) string { return "def policy(task, agent):\n    agent.ask(task, model = \"nosuch\")\n" }
	if r, err = m.run("task", "name yourself", agent.Ceilings{}); value.KindOf(err) != value.Unavailable || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("an unknown model gave %+v, %v", r, err)
	}
}

// A closable is a model that counts how often it was opened and closed.
type closable struct {
	model.Model
	closed func()
}

func (c *closable) Close() error {
	c.closed()
	return nil
}

// TestModelsAreOpenedOnce checks that a turn opens a model that its requests name once, and that it
// and the models of agents are closed when they are no longer needed.
func TestModelsAreOpenedOnce(t *testing.T) {
	var mu sync.Mutex
	opened, closed := []string{}, []string{}
	note := func(list *[]string, name string) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, name)
	}
	s := newStage(t, setting{
		replies: play{"one", "two", "three", "TASK COMPLETE: sub"},
		before: func(s *stage, o *agent.Options) {
			shared := o.Model
			o.Models = func(_ context.Context, name string) (model.Model, error) {
				note(&opened, name)
				return &closable{shared, func() { note(&closed, name) }}, nil
			}
			withPolicy(`agent.ask("a", model = "x")`, `agent.ask("b", model = "x")`, `agent.ask("c", model = "y")`,
				`agent.wait([agent.spawn("d", model = "z")])`, `return "done"`)(s, o)
		},
	})
	r, err := s.turn(context.Background(), "do it")
	slices.Sort(closed)
	if err != nil || r.Text != "done" || !slices.Equal(opened, []string{"x", "y", "z"}) || !slices.Equal(closed, opened) {
		t.Errorf("the turn gave %+v, %v, and opened %q and closed %q", r, err, opened, closed)
	}
}
