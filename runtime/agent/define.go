package agent

import (
	"cmp"
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// define sets the options that are not set to those of As.
func (o *Options) define() {
	d := o.As
	if d == nil {
		return
	}
	o.Policy, o.Effort, o.Temperature = cmp.Or(o.Policy, d.Policy), cmp.Or(o.Effort, d.Effort), cmp.Or(o.Temperature, d.Temperature)
	o.Iterations = cmp.Or(o.Iterations, min(d.Iterations, maxIterations))
	if o.Schema == nil {
		o.Schema = d.Schema
	}
	o.Ceilings = o.Ceilings.Or(Ceilings{Tokens: d.Limits.Tokens, CostUSD: d.Limits.CostUSD, Requests: d.Limits.Requests})
}

// name makes the options those of the agent with a name, among Agents or those of the host. "" names
// none. Its model is added to opened.
func (o *Options) name(ctx context.Context, h *host.Host, name string, opened *openedModels) error {
	agents := o.Agents
	if agents == nil && name != "" {
		agents = h.Agents()
	}
	d, err := roster.Find(agents, name)
	if d != nil {
		err = o.become(ctx, d, opened)
	}
	return err
}

// become makes the options those of an agent that is started by its name. What its definition
// sets takes precedence over what the caller has.
func (o *Options) become(ctx context.Context, d *tool.Agent, opened *openedModels) error {
	o.As = d
	o.Effort, o.Temperature = cmp.Or(d.Effort, o.Effort), cmp.Or(d.Temperature, o.Temperature)
	if d.Iterations > 0 {
		o.Iterations = min(d.Iterations, cmp.Or(o.Iterations, maxIterations))
	}
	if policy := d.Script; policy != nil && o.Policy == "" {
		o.Policies = func(name string) (Policy, error) { return recordedPolicy(name, *policy), nil }
	}
	if d.Model == "" {
		return nil
	}
	if err := o.openModel(ctx, d.Model, opened); err != nil {
		e := value.ErrorOf(err, value.Unavailable).WithOp("start the agent '" + d.Name + "'")
		if e.Hint == "" || o.Models == nil {
			e = e.WithHint(`write "model: inherit" in %s; in Go, set Options.Models`, cmp.Or(d.Path, "its file"))
		}
		return e
	}
	return nil
}

// openModel makes the options those of an agent with the model of a name, and adds that to opened.
func (o *Options) openModel(ctx context.Context, name string, opened *openedModels) error {
	if o.Models == nil {
		return value.Errorf(value.Unavailable, "the model %s cannot be opened: the agent can use only its own model", name).WithHint("omit the model; in Go, set Options.Models")
	}
	m, err := o.Models(outside(ctx), name)
	if err != nil {
		return err
	}
	opened.Add(m)
	o.Model, o.ModelName = m, name
	if o.Format == decision.Native && !m.Native() {
		o.Format = ""
	}
	return nil
}

// findAgents finds the agents that can be started by their names, with their policies: a run that is
// resumed has them as they were when it began. Without the tool that starts them there are none.
func (a *Agent) findAgents() {
	agents := a.opts.Agents
	if agents == nil {
		if t, err := a.host.Tool(stub.AgentTool); err != nil || t.Location != tool.Embedded {
			return
		}
		agents = a.host.Agents()
	}
	a.opts.Agents = append([]tool.Agent{}, agents...)
	for i := range a.opts.Agents {
		a.opts.Agents[i] = a.opts.withPolicy(a.opts.Agents[i])
	}
	a.recorded.Agents = a.opts.Agents
}

// withPolicy adds the script of the policy, unless that is built in. A policy that is not found
// fails when the agent starts.
func (o *Options) withPolicy(d tool.Agent) tool.Agent {
	if d.Policy == "" || d.Script != nil || o.Policies == nil {
		return d
	}
	if p, err := o.Policies(d.Policy); err == nil && p.Location != tool.Builtin {
		d.Script = &p.Script
	}
	return d
}

// otherModel returns the model with a name for one request, or nil for "". It is opened once in a turn.
func (t *turn) otherModel(ctx context.Context, name string) (*sizes, error) {
	o := t.agent.opts
	if name == "" || t.others[name] != nil {
		return t.others[name], nil
	}
	if err := o.openModel(ctx, name, &t.opened); err != nil {
		return nil, value.ErrorOf(err, value.Unavailable).WithOp("agent.ask")
	}
	if t.agent.format == decision.Native && !o.Model.Native() {
		return nil, value.Errorf(value.Invalid, "agent.ask: the model %s does not support native calls, which this run uses", name).WithHint("use another --format, such as pure_json")
	}
	if t.others == nil {
		t.others = map[string]*sizes{}
	}
	t.others[name] = sizesOf(model.WithIdleTimeout(o.Model, max(0, o.Idle)), o.Budget, o.MaxTokens)
	return t.others[name], nil
}

// asks returns the model of the request in progress.
func (t *turn) asks() *sizes { return cmp.Or(t.other, t.agent.sizes) }
