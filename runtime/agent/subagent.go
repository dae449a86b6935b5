package agent

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agentID begins the part of an ID that names an agent of the run before it.
const agentID = "agent-"

// Register gives a host the tool agent(task, tools, policy): a model, or a
// script that may use it, has another agent work on a part of a task. That one
// can do no more than its caller may, offers no tools but its caller's, and by
// default has no agents of its own. options is asked for each time.
func Register(h *host.Host, options func() (*Options, error)) error {
	return h.Register(tool.Tool{
		Name:  stub.AgentTool,
		Title: "Agent",
		Description: "Have another agent work on a part of the task, with a conversation of its own, and get its answer.\n\n" +
			"Use this for a part that needs many steps of which only the outcome matters, such as finding something in many files. It knows nothing of this conversation: say all that it needs.",
		Group: "context",
		Needs: []tool.Capability{{Name: "model"}},
		Hints: tool.Hints{OpenWorld: true},
		Params: []tool.Param{
			{Name: "task", Type: tool.Type{Name: tool.TypeString}, Description: "what it is to do, and what to answer", Required: true},
			{Name: "tools", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}}, Description: "the names of the tools that it may use; without them, those of this conversation"},
			{Name: "policy", Type: tool.Type{Name: tool.TypeString}, Description: "how it works: task, plan or review", HasDefault: true, Default: "task"},
		},
		Returns: &tool.Type{Name: tool.TypeString},
		Tags:    []string{"agent"},
		// Its turn is led by a policy, whose effects are recorded below the call's.
		OnlyCalls: true,
	}, func(ctx context.Context, args *value.Dict) (value.Value, error) {
		o, err := options()
		if err != nil {
			return nil, err
		}
		return runFor(ctx, h, *o, args)
	})
}

// runFor runs an agent for the one whose turn the context is of, if any.
func runFor(ctx context.Context, h *host.Host, o Options, args *value.Dict) (value.Value, error) {
	above, _ := ctx.Value(turnKey{}).(*turn)
	depth := 0
	for up := above; up != nil; up = up.above {
		depth++
	}
	// The first turn is the user's own; those below it are agents of agents.
	most := max(o.Depth, 1)
	if depth > most {
		return nil, value.Errorf(value.Denied, "agents may have agents %d deep, and no deeper", most)
	}
	given, _ := args.Get("tools")
	words, _ := value.Elements(given)
	o.Policy, o.Tools = args.Text("policy"), nil
	if args.Has("tools") {
		o.Tools = []string{} // an empty list is none
	}
	for _, w := range words {
		text, _ := w.(string)
		o.Tools = append(o.Tools, text)
	}
	o.Skills, o.LoadSkill, o.Context = nil, nil, ""
	sub, err := newAgent(h, &o)
	if err != nil {
		return nil, err
	}
	sub.narrow(above, depth+1 > most)
	session := sub.subSession(above)
	if above != nil {
		above.working.Add(1)
		defer above.working.Add(-1)
	}
	r, err := session.Send(ctx, args.Text("task"))
	above.spent(r.Usage)
	if err != nil {
		return nil, err
	}
	if !r.Success() {
		return nil, value.Errorf(value.Failed, "the agent ended without an answer (%s)%s", r.Reason, soFar(r.Text))
	}
	return r.Text, nil
}

// nextAgent counts the agents of a turn.
func (t *turn) nextAgent() int {
	t.seeing.Lock()
	defer t.seeing.Unlock()
	l := t.leaving()
	l.agents++
	return t.agents + l.agents
}

// spent notes what an agent of its own has cost.
func (t *turn) spent(u Usage) {
	if t == nil {
		return
	}
	t.seeing.Lock()
	defer t.seeing.Unlock()
	t.leaving().spent.add(u)
}

func soFar(answer string) string {
	if answer = strings.TrimSpace(answer); answer == "" {
		return ""
	}
	return ": " + answer
}

// narrow leaves an agent the tools that its caller was offered too, and the
// tool agent only where it may have agents itself.
func (a *Agent) narrow(above *turn, last bool) {
	var kept []tool.Tool
	for _, t := range a.tools {
		if above != nil && above.offered(t.Name) == nil || last && t.Name == stub.AgentTool {
			continue
		}
		kept = append(kept, t)
	}
	a.tools = kept
}
