package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Register registers the tool agent(task, agent, tools, policy) with a host: with it, a model or a
// script lets another agent work on a part of a task, one of [Options].Agents if it is named. This
// sub-agent has at most the permissions and the tools of its caller, and by default starts no
// agents itself (see [Options].Depth). options is called for each sub-agent. If Model is nil in its
// result, Models opens the model "" for an agent that has no model of its own. Register fails if the
// host has a tool of that name.
func Register(h *host.Host, options func() (*Options, error)) error {
	return RegisterWithin(h, func(context.Context) (*Options, error) { return options() })
}

// RegisterWithin is Register for a host that executes runs with different options: options gets the context of the
// call, which has the values of the context in which the run was begun or resumed.
func RegisterWithin(h *host.Host, options func(ctx context.Context) (*Options, error)) error {
	return h.Register(functions.AgentTool(), func(ctx context.Context, args *value.Dict) (value.Value, error) {
		o, err := options(ctx)
		if err != nil {
			return nil, err
		}
		return runFor(ctx, h, *o, args)
	})
}

// runFor runs a sub-agent for the turn in the context, if any.
func runFor(ctx context.Context, h *host.Host, o Options, args *value.Dict) (value.Value, error) {
	above, _ := ctx.Value(turnKey{}).(*turn)
	depth := 0
	for up := above; up != nil; up = up.above {
		depth++
	}
	// The first turn is that of the user's agent.
	most := max(o.Depth, 1)
	if depth > most {
		return nil, value.Errorf(value.Denied, "call an agent: agents are nested more than %d levels deep", most).WithHint("do this part of the task without another agent")
	}
	o.Policy, o.Tools = args.Text("policy"), nil
	if args.Has("tools") {
		o.Tools = []string{} // an empty list means no tools
	}
	for _, w := range args.Elements("tools") {
		text, _ := w.(string)
		o.Tools = append(o.Tools, text)
	}
	o.Skills, o.LoadSkill, o.Context, o.ToolChoice, o.Schema, o.As = nil, nil, "", "", nil, nil
	if m := meter.Of(ctx); m != nil {
		o.Ceilings = Ceilings{} // those of the run hold, too
		asks := m.Asks()
		o.MaxTokens, o.Effort, o.Temperature = cmp.Or(o.MaxTokens, asks.MaxTokens), cmp.Or(o.Effort, asks.Effort), cmp.Or(o.Temperature, asks.Temperature)
	}
	if above != nil {
		o.Agents = above.agent.opts.Agents
	}
	number, modelName := reserved(ctx)
	replayed := host.Operate(h).ReplayOf(ctx)
	if replayed != "" {
		o.Tools, o.Models = []string{}, func(context.Context, string) (model.Model, error) { return o.Model, nil } // no model is asked
	}
	var opened openedModels
	defer opened.Close()
	err := o.name(ctx, h, args.Text(roster.Param), &opened)
	if err == nil && modelName != "" {
		err = o.openModel(ctx, modelName, &opened)
	}
	if err == nil && o.Model == nil && o.Models != nil && replayed == "" {
		err = o.openModel(ctx, "", &opened)
	}
	if err != nil {
		return nil, err
	}
	sub, err := newAgent(h, &o)
	if err == nil && replayed != "" {
		err = sub.offerCalled(ctx, replayed)
	}
	if err != nil {
		return nil, err
	}
	sub.narrow(above, depth+1 > most)
	if o.As != nil {
		sub.rules.Agent = o.As.Name
	}
	session := sub.subSession(ctx, above, number)
	if above != nil {
		above.working.Add(1)
		defer above.working.Add(-1)
	}
	ctx, cancel := o.As.Within(ctx)
	defer cancel()
	r, err := session.Send(ctx, args.Text("task"))
	if err != nil {
		return nil, err
	}
	if !r.Success() {
		return nil, value.Errorf(value.Failed, "%s", strings.TrimRight("the agent ended without an answer: reason "+string(r.Reason)+": "+r.Text, ": \n"))
	}
	if sub.schema != nil {
		return r.Value, nil
	}
	return r.Text, nil
}

// narrow removes the tools that the caller may not call, and the tool agent at the last level.
func (a *Agent) narrow(above *turn, last bool) {
	a.tools = slices.DeleteFunc(a.tools, func(t tool.Tool) bool {
		return above != nil && above.offered(t.Name) == nil || last && t.Name == stub.AgentTool
	})
}
