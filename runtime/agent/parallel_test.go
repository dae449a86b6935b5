package agent_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A crew is a run with three agents at work at the same time, of which each has a question, and
// what is left of it when its process ends.
type crew struct {
	*desk
	by    string // who starts the agents: "workflow", "reply" of a model, "policy" or "tool"
	mu    sync.Mutex
	asked map[string]int  // how often the model was asked, by task and turn
	ids   map[string]bool // of the runs of agents, with their tasks
}

const leadTask = "have them work"

// spawning is a policy that starts an agent and asks a model itself before it waits for the agents.
const spawning = `
def policy(task, agent):
    first = agent.spawn("red")
    agent.ask(agent.prompt("hello"))
    others = [agent.spawn("green"), agent.spawn("blue")]
    done = agent.wait(others)["results"]
    return agent.finish("final", json.encode([r["value"] for r in agent.wait()["results"] + done]))
`

// fan is a tool that starts agents in parallel.
const fan = `
def fan():
    """Start agents."""
    return [r["value"] for r in tools.call_all([("agent", {"task": t}) for t in ["red", "green", "blue"]])]

tool(fan, needs = ["tool", "model", "fs.read", "fs.write"])
`

// work begins or resumes the workflow in a host of its own.
func (c *crew) work(resume bool) (tool.Outcome, error) {
	c.t.Helper()
	tools := filepath.Join(c.dir, ".cassidy", "tools")
	if err := cmp.Or(os.MkdirAll(tools, 0o700), os.WriteFile(filepath.Join(tools, "fan.star"), []byte(fan), 0o600)); err != nil {
		c.t.Fatal(err)
	}
	h, err := testhost.Open(c.t, testhost.On{Sandbox: cassidy.Inline, Journal: c.journal}, c.dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		c.t.Fatal(err)
	}
	defer h.Close()
	m := script.New("crew", false, func(_ context.Context, messages value.List, said int) (value.Value, error) {
		first, _ := messages[0].(*value.Dict)
		_, task, _ := strings.Cut(first.Text("content"), "# User Question\n\n")
		task, _, _ = strings.Cut(task, "\n")
		c.mu.Lock()
		c.asked[fmt.Sprintf("%s, turn %d", task, said+1)]++
		c.mu.Unlock()
		switch {
		case task == "hello":
			return "hello", nil
		case said == 0 && task == leadTask && c.by == "tool":
			return call("fan"), nil
		case said == 0 && task == leadTask:
			return call("agent", "task", "red") + call("agent", "task", "green") + call("agent", "task", "blue"), nil
		case said == 0:
			return fmt.Sprintf(`{"tool_decision": {"action": "write_file", "input": {"filepath": "%s.txt", "content": "by %[1]s"}}}`, task), nil
		}
		return "TASK COMPLETE: " + task + " is done", nil
	})
	err = agent.Register(h, func() (*agent.Options, error) {
		return &agent.Options{WorkDir: c.dir, Model: m, Tools: []string{"write_file"}}, nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	events := h.Subscribe(c.t.Context(), host.EventFilter{Buffer: 1 << 12})
	defer func() {
		h.Close() // ends the events
		for e := range events {
			if start, ok := e.Data.(tool.RunStart); ok {
				c.ids[e.Call+" "+start.Task] = true
			}
		}
	}()
	if c.by != "workflow" {
		o := &agent.Options{WorkDir: c.dir, Model: m, Tools: []string{"agent", "write_file", "fan"}}
		if c.by == "policy" {
			o.Policies = func(string) (agent.Policy, error) {
				return agent.Policy{Name: "task", Script: tool.Script{Name: "task", Path: "task.star", Source: spawning}}, nil
			}
		}
		a, err := agent.New(h, o)
		if err != nil {
			c.t.Fatal(err)
		}
		s, err := a.Session(c.t.Context(), "crew")
		if err != nil {
			c.t.Fatal(err)
		}
		do := s.Resume
		if !resume {
			do = func(ctx context.Context) (agent.Reply, error) { return s.Send(ctx, leadTask) }
		}
		r, err := do(c.t.Context())
		results := value.List{}
		for _, made := range r.Calls {
			if results = append(results, made.Result); c.by == "tool" {
				results, _ = made.Result.(value.List)
			}
		}
		if text, ok := strings.CutPrefix(r.Text, "["); ok {
			v, _ := value.ParseJSON([]byte("[" + text))
			results, _ = v.(value.List)
		}
		return tool.Outcome{Value: results}, err
	}
	return h.RunProgram(c.t.Context(), &host.Program{
		ID: "crew", Name: "crew", Entry: "main", Needs: []tool.Capability{{Name: "tool"}},
		Script: tool.Script{Name: "crew", Path: "crew.star", Source: `
def main():
    return [r["value"] for r in tools.call_all([("agent", {"task": t}) for t in ["red", "green", "blue"]])]
`},
		Recording: host.Recording{Kind: "flow", Parks: true, Resume: resume},
	})
}

// TestParallelAgentsAskAtOnce checks that three agents at work at the same time, for a workflow
// or by one reply of a model, have their questions open together, that these can be answered in
// any order and by any process, whether the run is resumed in between or not, and that no request
// to the model is made twice. By default it does so in a few orders.
func TestParallelAgentsAskAtOnce(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"workflow", "reply", "policy", "tool"} {
		t.Run("by a "+by, func(t *testing.T) { parallelAgentsAskAtOnce(t, by) })
	}
}

func parallelAgentsAskAtOnce(t *testing.T, by string) {
	type answers struct {
		order   []int
		between bool // whether the run is resumed in between
	}
	var all []answers
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}} {
		all = append(all, answers{order, false}, answers{order, true})
	}
	for _, order := range [][]int{{2, 1, 0}, {2, 0, 1}, {1, 2, 0}} {
		all = append(all, answers{order, true}, answers{order, false})
	}
	for _, c := range testutil.Sample(all, 2) { // in order, and backwards with resumes in between
		order, between := c.order, c.between
		t.Run(fmt.Sprintf("%v, resumed in between: %t", order, between), func(t *testing.T) {
			c := &crew{desk: &desk{t: t, dir: t.TempDir(), journal: t.TempDir()}, by: by, asked: map[string]int{}, ids: map[string]bool{}}
			if _, err := c.work(false); value.KindOf(err) != value.Parked {
				t.Fatalf("the run gave %v, want that it waits", err)
			}
			for i, next := range order {
				open := c.questions()
				if len(open) != len(order)-i {
					t.Fatalf("%d questions are open after %d answers", len(open), i)
				}
				c.answer(open, []string{"red.txt", "green.txt", "blue.txt"}[next])
				if last := i == len(order)-1; last || !between {
					continue
				}
				if _, err := c.work(true); value.KindOf(err) != value.Parked {
					t.Fatalf("after %d answers the run gave %v, want that it waits", i+1, err)
				}
			}
			out, err := c.work(true)
			if want := (value.List{"red is done", "green is done", "blue is done"}); err != nil || !value.Equal(out.Value, want) {
				t.Errorf("the run gave %v, %v, want %v", out.Value, err, want)
			}
			for _, task := range []string{"red", "green", "blue"} {
				if got := c.file(task + ".txt"); got != "by "+task {
					t.Errorf("%s.txt holds %q", task, got)
				}
			}
			for what, n := range c.asked {
				if n != 1 {
					t.Errorf("the model was asked %d times for %s, want 1", n, what)
				}
			}
			if asks := map[string]int{"workflow": 6, "reply": 8, "policy": 7, "tool": 8}[by]; len(c.asked) != asks {
				t.Errorf("the model was asked for %v, want two turns of each task", c.asked)
			}
			got := strings.Join(slices.Sorted(maps.Keys(c.ids)), " ")
			at := "" // the step of the script's calls
			if by == "workflow" || by == "tool" {
				_, at, _ = strings.Cut(got, "crew/agent-")
				at, _, _ = strings.Cut(at, "1 red")
			}
			want := fmt.Sprintf("crew/agent-%[1]s1 red crew/agent-%[1]s2 green crew/agent-%[1]s3 blue", at)
			if !strings.Contains(got, want) || strings.Count(got, "crew/agent-") != 3 {
				t.Errorf("the agents are %v, want in all processes %s", c.ids, want)
			}
		})
	}
}

// questions are those without an answer, as another process reads them.
func (c *crew) questions() []history.Asked {
	c.t.Helper()
	j, done := c.records()
	defer done()
	open, err := j.Questions(c.t.Context(), "crew")
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(open, func(q history.Asked) bool { return q.Answer != nil })
}

// answer approves, in another process, the question about a file.
func (c *crew) answer(open []history.Asked, file string) {
	c.t.Helper()
	i := slices.IndexFunc(open, func(q history.Asked) bool { return strings.Contains(q.Text, file) })
	if i < 0 {
		c.t.Fatalf("no question about %s is open: %v", file, open)
	}
	j, done := c.records()
	defer done()
	if err := j.Answer(c.t.Context(), "crew", open[i].StepPath, open[i].N, tool.Answer{Yes: true, By: "Ann"}); err != nil {
		c.t.Fatal(err)
	}
}
