package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// endless is the model of a task that takes a number of calls: each of another file.
func endless(calls int) func(string, int) string {
	return func(_ string, said int) string {
		if said < calls {
			return call("read_file", "filepath", fmt.Sprint(said, ".txt"))
		}
		return "TASK COMPLETE: all of it"
	}
}

// TestLimitOfIterations checks where the limit of iterations parks a run, and with which limit the
// run then goes on: the model is asked nothing twice.
func TestLimitOfIterations(t *testing.T) {
	t.Parallel()
	own := func(name string) (agent.Policy, error) {
		if name != "own" {
			return agent.Builtin(name)
		}
		return agent.Policy{Name: name, Script: tool.Script{Name: name, Path: name + ".star", Libs: agent.PolicyLibs(), Source: `load("lib/loop.star", "make_calls")
def policy(task, agent):
    message, results = agent.prompt(task), []
    for i in range(agent.limits()["iterations"] + 3):
        decisions = agent.decide(agent.ask(message, results = results))
        if decisions[0]["kind"] == "final":
            return agent.finish("final", decisions[0]["answer"])
        message, results = "", [{"id": d["id"], "text": o["text"]} for d, o in make_calls(agent, decisions)]
    return agent.finish("max_iterations")
`}}, nil
	}
	for _, tt := range []struct {
		name, policy string
		calls        int   // that the task takes
		limits       []int // of the first process and each one after it
		asked        []int // requests so far, after each process
		parked       bool  // at the end
	}{
		{"the limit of the policy", "task", 12, []int{0, 0, 13}, []int{10, 10, 13}, false},
		{"too low", "task", 5, []int{2, 1, 4, 0, 6}, []int{2, 2, 4, 4, 6}, false},
		{"a kept limit", "task", 5, []int{2, 4, 0}, []int{2, 4, 4}, true},
		{"one more", "task", 5, []int{5, 6}, []int{5, 6}, false},
		{"a plan", "plan", 5, []int{3, 9}, []int{3, 6}, false},
		{"the work of a review", "review", 5, []int{4, 9}, []int{2, 7}, false},
		{"a loop of its own", "own", 4, []int{2, 6}, []int{2, 5}, false},
		{"a loop that ends itself", "own", 9, []int{2, 9}, []int{2, 5}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, m := newSpender(t), &meteredModel{reply: endless(tt.calls)}
			for i, limit := range tt.limits {
				h, a := s.open(m, agent.Options{Iterations: limit, Policy: tt.policy, Policies: own, Tools: []string{"read_file"}})
				send := func() (r agent.Reply, err error) { return agent.Resume(t.Context(), h, "work") }
				if i == 0 {
					session, _ := a.Session(t.Context(), "work")
					send = func() (agent.Reply, error) { return session.Send(t.Context(), "do it") }
				}
				r, err := send()
				h.Close()
				var parked *host.ParkedError
				e := value.ErrorOf(err, value.Failed)
				switch wants := i < len(tt.limits)-1 || tt.parked; {
				case m.requests() != tt.asked[i]:
					t.Errorf("with the limits %v it ended with %q, %v after %d requests, want %d", tt.limits[:i+1], r.Reason, err, m.requests(), tt.asked[i])
				case wants && (!errors.As(err, &parked) || e.Limit != value.LimitUsage || !strings.Contains(e.Hint, "cassidy runs resume work --max-iterations N")):
					t.Errorf("with the limits %v it ended with %v (%v), want it parked", tt.limits[:i+1], err, e)
				case wants != r.Incomplete() && r.Reason != agent.ReasonMaxIterations:
					t.Errorf("with the limits %v it ended with %s, incomplete = %v", tt.limits[:i+1], r.Reason, r.Incomplete())
				case !wants && (err != nil || r.Success() == strings.HasPrefix(tt.name, "a loop that ends")):
					t.Errorf("with the limits %v it ended with %s: %q, %v", tt.limits, r.Reason, r.Text, err)
				}
			}
		})
	}
}

// TestLimitOfIterationsEnds checks the runs that the limit does not park: their policy ends.
func TestLimitOfIterationsEnds(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]agent.Options{
		"no parking": {NoParking: true},
		"a chat":     {Policy: "chat"},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := newSpender(t), &meteredModel{reply: endless(9)}
			o.Iterations, o.Tools = 2, []string{"read_file"}
			_, a := s.open(m, o)
			session, _ := a.Session(t.Context(), "work")
			if r, err := session.Send(t.Context(), "do it"); err != nil || r.Reason != agent.ReasonMaxIterations || session.Waiting() != "" {
				t.Errorf("it ended with %s, %v", r.Reason, err)
			}
		})
	}
	t.Run("a sub-agent", func(t *testing.T) {
		s := newSpender(t)
		m := &meteredModel{reply: func(asked string, said int) string {
			switch {
			case strings.Contains(asked, "the little piece"):
				return endless(9)("", said)
			case said == 0:
				return call("agent", "task", "the little piece")
			}
			return "TASK COMPLETE: without it"
		}}
		_, a := s.open(m, agent.Options{Iterations: 2, Tools: []string{"read_file", "agent"}})
		session, _ := a.Session(t.Context(), "work")
		r, err := session.Send(t.Context(), "do it")
		if err != nil || r.Text != "without it" || len(r.Calls) != 1 || !strings.Contains(r.Calls[0].Error, "reason max_iterations") {
			t.Errorf("it ended with %q, %v and the calls %v", r.Text, err, r.Calls)
		}
	})
}
