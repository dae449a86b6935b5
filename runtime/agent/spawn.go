package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doSpawn is agent.spawn: it starts an agent that works beside the policy, at the steps below the
// effect.
func (t *turn) doSpawn(ctx context.Context, e tool.Effect) (value.Value, error) {
	if t.offered(stub.AgentTool) == nil || !t.agent.starts {
		return nil, value.Errorf(value.Denied, "agent.spawn: the tool \"agent\" is not among the tools of this run").WithHint("offer the tool, as in --tools auto or --tools agent,read_file; in Go, call agent.Register, and name the tool in Options.Tools")
	}
	if err := t.hold(ctx, e); err != nil {
		return nil, err
	}
	number := t.kept.NextAgent()
	t.addSpawned(e, number, false)
	t.spawned.Start(ctx, number)
	v := value.NewDict("agent", int64(number))
	t.leaveTraces(v)
	return v, nil
}

// keepSpawn keeps an agent that an earlier process has started. It continues when it is waited for: without
// that, it would only be stopped at the end of the policy.
func (t *turn) keepSpawn(e tool.Effect, v *value.Dict, failure error) error {
	if failure == nil {
		t.addSpawned(e, int(v.Int("agent")), true)
	}
	return t.keepTraces(v)
}

// addSpawned adds the agent of an effect to those that the policy can wait for. recorded says that an earlier process has
// started it, so that nothing is held for it.
func (t *turn) addSpawned(e tool.Effect, number int, recorded bool) {
	args := &value.Dict{}
	for name, v := range e.Args.All() {
		if text, ok := name.(string); ok && text != "model" && v != nil {
			args.Put(text, v)
		}
	}
	c := tool.Call{
		Tool: stub.AgentTool, Args: args, Caller: tool.ByScript,
		ID: t.runID + "/" + e.StepPath.Child(1).String(), StepPath: e.StepPath.Child(1),
	}
	t.spawned.Add(number, func(ctx context.Context) taskResult {
		t.watches.Add(1)
		defer t.watches.Add(-1)
		if recorded {
			if err := t.hold(ctx, e); err != nil {
				return taskResult{Err: err}
			}
		}
		ctx, notes := hooks.Collect(ctx, c.StepPath, nil, nil) // they are recorded with the result
		r, err := t.agent.host.Call(reserve(ctx, number, e.Args.Text("model")), c)
		if failure := t.holdResult(ctx, r.Value); err == nil && failure != nil {
			r.Value, err = nil, membudget.Acted("the agent has ended, but there is no memory for its result", failure)
		}
		return taskResult{Value: r.Value, Notes: notes.Texts(), Err: err}
	})
}

// hold takes memory for the agent of an effect.
func (t *turn) hold(ctx context.Context, e tool.Effect) error {
	return t.spawned.Hold(ctx, len(value.FormatJSON(e.Args, "")))
}

// holdResult takes memory for the result of an agent, which is kept until the turn ends.
func (t *turn) holdResult(ctx context.Context, v value.Value) error {
	text, ok := v.(string)
	if !ok {
		text = value.FormatJSON(v, "")
	}
	return t.spawned.HoldResult(ctx, len(text))
}

// doWait is agent.wait: it returns the results of agents when they have ended. The failure of an
// agent is a result.
func (t *turn) doWait(ctx context.Context, e tool.Effect) (value.Value, error) {
	numbers, err := t.waitedFor(e)
	if err != nil {
		return nil, err
	}
	results, ends := value.List{}, error(nil)
	t.spawned.Wait(ctx, numbers, func(r taskResult) {
		if program.Final(r.Err) {
			ends = r.Err
		}
		results = append(results, r.Dict())
	})
	switch {
	case ends != nil:
		return nil, ends
	case ctx.Err() != nil:
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
	v := value.NewDict("results", results)
	t.leaveTraces(v)
	return v, nil
}

// keepWait keeps that the results of agents were taken.
func (t *turn) keepWait(e tool.Effect, v *value.Dict, _ error) error {
	if _, err := t.waitedFor(e); err != nil {
		return err
	}
	return t.keepTraces(v)
}

// waitedFor takes the agents of an effect: those that it names, or all that were not waited for.
func (t *turn) waitedFor(e tool.Effect) ([]int, error) {
	given, _ := e.Args.Get("agents")
	if given == nil {
		return t.spawned.TakeAll(), nil
	}
	var numbers []int
	for _, v := range e.Args.Elements("agents") {
		d, _ := v.(*value.Dict)
		if n := int(d.Int("agent")); t.spawned.Take(n) {
			numbers = append(numbers, n)
			continue
		}
		return nil, value.Errorf(value.Invalid, "agent.wait: expected the result of agent.spawn, but got %s", value.Clean(value.FormatJSON(v, ""), 80)).
			WithHint("pass a list of the results of agent.spawn")
	}
	return numbers, nil
}

// leaveTraces moves the traces of calls in progress to an outcome.
func (t *turn) leaveTraces(v *value.Dict) {
	left := t.kept.Take()
	left.Put(v)
	t.kept.Leave(left)
}
