package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// withPolicy gives an agent a policy of its own, and the tool that starts others.
func withPolicy(lines ...string) func(s *stage, o *agent.Options) {
	return func(s *stage, o *agent.Options) {
		withAgents(s, o)
		if o.Tools == nil {
			o.Tools = []string{"agent", "read_file"}
		}
		source := "def policy(task, agent):\n    " + strings.Join(lines, "\n    ") + "\n"
		sub := o.Policies
		o.Policies = func(name string) (agent.Policy, error) {
			if name == "own" {
				return agent.Policy{Name: "own", Script: tool.Script{Name: "own", Path: "own.star", Source: source}}, nil
			}
			if sub != nil {
				return sub(name)
			}
			return agent.Builtin(name)
		}
		o.Policy = "own"
	}
}

// TestSpawnedAgents checks what a policy gets of the agents that it starts.
func TestSpawnedAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		lines   []string
		replies play
		want    string // the answer, or a part of the error
	}{
		{"one", []string{`a = agent.spawn("t")`, `return agent.wait([a])["results"][0]["value"]`}, play{"TASK COMPLETE: it is done"}, "it is done"},
		{"none", []string{`return str(agent.wait()["results"])`}, nil, "[]"},
		{"waited for twice", []string{`a = agent.spawn("t")`, `agent.wait()`, `return str([len(agent.wait([a])["results"]), len(agent.wait()["results"])])`}, play{done}, "[1, 0]"},
		{"one that fails", []string{`agent.spawn("t")`, `r = agent.wait()["results"][0]`, `return "%s %s" % (r["ok"], r["error"])`}, play{value.Errorf(value.Failed, "no answer")}, "False no answer"},
		{"no tool of the caller", []string{`agent.spawn("t", tools = ["write_file"])`, `r = agent.wait()["results"][0]`, `return str(r["ok"])`},
			play{call("write_file", "filepath", "x", "content", "y"), "TASK COMPLETE: I could not"}, "True"},
		{"not an agent", []string{`agent.wait([{"agent": 7}])`}, nil, "expected the result of agent.spawn"},
		{"nothing of that kind", []string{`agent.wait(["x"])`}, nil, "expected the result of agent.spawn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), replies: c.replies, before: withPolicy(c.lines...)})
			r, err := s.turn(context.Background(), "do it")
			got := r.Text
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("the turn gave %q, want %q", got, c.want)
			}
			if s.file("x") != "none" {
				t.Error("the agent wrote with a tool that its caller does not have")
			}
			s.checkAgain()
		})
	}
}

// TestSpawnedAgentsHoldMemory checks that the agents of a policy are refused what exceeds the memory of its call tree: their
// number, their tasks and their answers. Everything is given back at the end.
func TestSpawnedAgentsHoldMemory(t *testing.T) {
	t.Parallel()
	const tell = `return "%d answers; %s" % (len([r for r in results if r["ok"]]), [r["error"] for r in results if not r["ok"]][:1])`
	for _, c := range []struct {
		name  string
		lines []string
		reply string
		want  string // the answer, or a part of the error
	}{
		{"many", []string{`for i in range(60):`, `    agent.spawn("t")`}, "a", "hold more than 3 MB of memory"},
		{"large tasks", []string{`for i in range(10):`, `    agent.spawn("t" * 200000)`}, "a", "hold more than 3 MB of memory"},
		{"large answers", []string{`for i in range(8):`, `    agent.spawn("t")`, `results = agent.wait()["results"]`, tell}, strings.Repeat("a", 200_000), "4 answers; [\"the agent has ended, but there is no memory for its result"},
		{"some", []string{`for i in range(20):`, `    agent.spawn("t")`, `results = agent.wait()["results"]`, tell}, "a", "20 answers; []"},
	} {
		s := newStage(t, setting{memory: 4 << 20, files: twoFiles, approve: host.ApproveAll(), replies: slices.Repeat(play{"TASK COMPLETE: " + c.reply}, 60), before: withPolicy(c.lines...)})
		r, err := s.turn(context.Background(), "do it")
		got := r.Text
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: the turn gave %.500q, want %q", c.name, got, c.want)
		}
		if used := host.Operate(s.Host).Memory().Used(); used != 0 {
			t.Errorf("%s: %d bytes are held at the end", c.name, used)
		}
	}
}

// TestSpawnNeedsTheToolAgent checks that a policy starts no agents if the user did not offer them.
func TestSpawnNeedsTheToolAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{before: func(s *stage, o *agent.Options) {
		withPolicy(`agent.spawn("t")`)(s, o)
		o.Tools = []string{"read_file"}
	}})
	if _, err := s.turn(context.Background(), "do it"); value.KindOf(err) != value.Denied {
		t.Errorf("the turn gave %v, want that it is denied", err)
	}
}

// TestSpawnedAgentsEndWithThePolicy checks that an agent that nobody waits for does not work on.
func TestSpawnedAgentsEndWithThePolicy(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	s := newStage(t, setting{
		replies: play{func(ctx context.Context) any {
			close(begun)
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}},
		before: func(s *stage, o *agent.Options) {
			withPolicy(`agent.spawn("t")`, `agent.call({"action": "hold", "input": {}})`, `return "over"`)(s, o)
			o.Tools = []string{"agent", "hold"}
			err := s.Register(tool.Tool{Name: "hold", Description: "Wait until the agent works."}, func(context.Context, *value.Dict) (value.Value, error) {
				<-begun
				return nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		approve: host.ApproveAll(),
	})
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Text != "over" || len(r.Calls) != 1 || !r.Calls[0].Success {
		t.Fatalf("the turn gave %+v, %v", r, err)
	}
	<-ended // the request that was in progress
}

// TestHooksOfSpawnedAgents checks that hooks watch agent.spawn as they watch other calls of the tool
// agent, and that the policy gets their notes.
func TestHooksOfSpawnedAgents(t *testing.T) {
	t.Parallel()
	source := `
def before_tool(call):
    task = call["args"].get("task", "")
    if "secret" in task:
        return {"deny": "it is private"}
    if call["tool"] == "agent":
        return {"edit": {"task": task + ", briefly"}, "note": "about " + task}

def after_tool(call, result):
    return {"note": "%s gave %s" % (call["tool"], result["value"])}
`
	lines := []string{
		`agents = [agent.spawn("one"), agent.spawn("the secret"), agent.spawn("two")]`,
		`return "\n".join(["%s %s %s" % (r["value"], r["error"], r["notes"]) for r in agent.wait(agents)["results"]])`,
	}
	reply := func(context.Context) any { return "TASK COMPLETE: done" }
	set := hooked(source, reply, reply)
	set.before = withPolicy(lines...)
	s := newStage(t, set)
	r, err := s.turn(context.Background(), "do it")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"about one", "it is private", "about two"} {
		line := strings.Split(r.Text, "\n")[i]
		if !strings.Contains(line, want) || i != 1 && !(strings.Contains(line, "briefly") && strings.Contains(line, "agent gave done")) {
			t.Errorf("agent %d gave %q, want %q", i+1, line, want)
		}
	}
	s.checkAgain()
}

// TestNotesOnWorkers checks that the model of a built-in policy gets the notes of hooks on the agents
// that it starts.
func TestNotesOnWorkers(t *testing.T) {
	t.Parallel()
	for policy, replies := range map[string]play{
		"planner": {`["a part"]`, "TASK COMPLETE: part", "TASK COMPLETE: done"},
		"debate":  {"TASK COMPLETE: 1", "TASK COMPLETE: 2", "TASK COMPLETE: 3", "TASK COMPLETE: 4", "TASK COMPLETE: done"},
		"best":    {"TASK COMPLETE: 1", "TASK COMPLETE: 2", "TASK COMPLETE: 3", `{"reason": "it is first", "best": 1}`},
	} {
		set := hooked("def after_tool(call, result): return {\"note\": \"checked \" + call[\"tool\"]}\n", replies...)
		set.options.Policy = policy
		set.before = withAgents
		s := newStage(t, set)
		if r, err := s.turn(context.Background(), "do it"); err != nil || !r.Success() {
			t.Errorf("%s: the turn gave %+v, %v", policy, r, err)
		}
		var got []string
		for _, m := range s.session.Messages() {
			got = append(got, m.Text)
		}
		if all := strings.Join(got, "\n"); !strings.Contains(all, "\n\nNote: checked agent") {
			t.Errorf("%s: the conversation has no note:\n%s", policy, all)
		}
	}
}
