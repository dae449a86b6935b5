package agent_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	takes  time.Duration       // how long an agent waits for its reply
	policy func(string) string // changes the source of the policy
}

// A paid model reports 110 tokens for each request, which cost $1.10.
type paid struct{ model.Model }

func (p paid) Info(context.Context) model.Info {
	return model.Info{Price: &model.Price{Input: 1e4, Output: 1e4}}
}

func (p paid) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	reply, err := p.Model.Ask(ctx, r)
	if err == nil {
		reply.Usage = model.Usage{InputTokens: 100, OutputTokens: 10}
	}
	return reply, err
}

// model returns a model of the team.
func (m *team) model(name string) model.Model {
	return paid{script.New(name, false, func(ctx context.Context, messages value.List, _ int) (value.Value, error) {
		last := messages[len(messages)-1].(*value.Dict).Text("content")
		m.mu.Lock()
		m.asked = append(m.asked, name)
		m.mu.Unlock()
		for _, c := range m.says {
			if !strings.Contains(last, c[0]) {
				continue
			}
			if strings.HasPrefix(c[1], "TASK COMPLETE: by an agent") {
				time.Sleep(m.takes)
				m.together(ctx)
			}
			return strings.ReplaceAll(c[1], "NAME", name), nil
		}
		return nil, value.Errorf(value.Failed, "there is no reply to: %s", last)
	})}
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

// A teamwork is a task for a team: a policy that starts agents, or a model that does, the models of
// these agents, and what all models reply.
type teamwork struct {
	policy string
	source func(string) string // sets the models in the policy
	meet   int                 // so many agents work in parallel
	rounds int                 // as often
	says   [][2]string
	answer string
	models string // of the agents, without that of the task
}

func teamworks() []teamwork {
	set := func(old, names string) func(string) string {
		return func(s string) string { return strings.Replace(s, "MODELS = "+old, "MODELS = "+names, 1) }
	}
	return []teamwork{
		{"best", set("[]", `["one", "two", "three"]`), 3, 1, [][2]string{
			{"agents have done the task", `{"reason": "it is correct", "best": 2}`}, {"name yourself", "TASK COMPLETE: by an agent: NAME"},
		}, "by an agent: ", "one three two"},
		{"debate", set("[None, None]", `["pro", "contra"]`), 2, 2, [][2]string{
			{"# Second agent\n\nby an agent: contra, again", "TASK COMPLETE: they agree"},
			{"You have answered:\n\nby an agent: pro\n\nAnother agent has answered:\n\nby an agent: contra", "TASK COMPLETE: by an agent: NAME, again"},
			{"You have answered:\n\nby an agent: contra\n\nAnother agent has answered:\n\nby an agent: pro", "TASK COMPLETE: by an agent: NAME, again"},
			{"Another agent will examine", "TASK COMPLETE: by an agent: NAME"},
		}, "they agree", "contra contra pro pro"},
		{"planner", set("[]", `["one", "two"]`), 3, 1, [][2]string{
			{"Split the task into steps", `["measure a", "measure b", "measure c"]`},
			{"# measure a\n\nby an agent: a, one\n\n# measure b\n\nby an agent: b, two\n\n# measure c\n\nby an agent: c, one", "TASK COMPLETE: a, b and c"},
			{"measure a", "TASK COMPLETE: by an agent: a, NAME"}, {"measure b", "TASK COMPLETE: by an agent: b, NAME"}, {"measure c", "TASK COMPLETE: by an agent: c, NAME"},
		}, "a, b and c", "one one two"},
		{"task", nil, 3, 1, [][2]string{
			{"RESULT (agent)", "TASK COMPLETE: all three"}, {"weigh", "TASK COMPLETE: by an agent: NAME"},
			{"name yourself", call("agent", "task", "weigh a") + call("agent", "task", "weigh b") + call("agent", "task", "weigh c")},
		}, "all three", ""},
	}
}

// TestPoliciesWithAgents runs the policies that start agents, and a model that starts three in one
// reply: these work in parallel, each with the model that the policy names, and the answer is made
// from their results. So three agents of 1.5 s each take 1.5 s.
func TestPoliciesWithAgents(t *testing.T) {
	for _, c := range teamworks() {
		t.Run(c.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &team{t: t, meet: c.meet, says: c.says, policy: c.source, takes: 1500 * time.Millisecond}
				start := time.Now()
				r, err := m.run(c.policy, "name yourself", agent.Ceilings{})
				took := time.Since(start)
				if err != nil || !strings.Contains(r.Text, c.answer) || !r.Success() {
					t.Fatalf("the task gave %+v, %v, want %q", r, err, c.answer)
				}
				if want := time.Duration(c.rounds) * m.takes; took != want {
					t.Errorf("the task took %v, want %v", took, want)
				}
				if m.most != c.meet {
					t.Errorf("%d agents worked in parallel, want %d", m.most, c.meet)
				}
				others := slices.DeleteFunc(slices.Sorted(slices.Values(m.asked)), func(name string) bool { return name == "lead" })
				if got := strings.Join(others, " "); got != c.models {
					t.Errorf("the models %s were asked, want %s", got, c.models)
				}
				if r.Usage.Requests != len(m.asked) {
					t.Errorf("the usage has %d requests of %d", r.Usage.Requests, len(m.asked))
				}
			})
		})
	}
}

// TestCeilingsOfPoliciesWithAgents checks that each ceiling holds over all agents of a policy: the
// second request reaches it, and no third one is made.
func TestCeilingsOfPoliciesWithAgents(t *testing.T) {
	t.Parallel()
	for _, c := range teamworks() {
		for name, ceilings := range map[string]agent.Ceilings{"requests": {Requests: 2}, "tokens": {Tokens: 150}, "cost": {CostUSD: 1.5}} {
			t.Run(c.policy+"/"+name, func(t *testing.T) {
				m := &team{t: t, meet: 1, says: c.says, policy: c.source}
				r, err := m.run(c.policy, "name yourself", ceilings)
				if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitUsage || len(m.asked) != 2 || r.Usage.Requests != 2 {
					t.Errorf("%d requests were made: %+v, %v", len(m.asked), r, err)
				}
			})
		}
	}
}

// TestModelOfARequest checks that a policy can ask another model in the same conversation, and that
// the models do not get what only the other one can read.
func TestModelOfARequest(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
