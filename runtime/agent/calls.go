package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxTogether is how many calls of a reply are made at a time.
const maxTogether = 8

// parallelHint is the hint of a tool whose calls may be made while other calls of the same reply
// are in progress: hints = {"parallel": True}. Tools that only read, and the tool agent, do not
// need it.
const parallelHint = "parallel"

// doCalls is agent.calls: it makes the calls of a reply, in parallel where they may be. The state
// of the turn changes in the order of the calls, whichever ends first.
func (t *turn) doCalls(ctx context.Context, e tool.Effect) (value.Value, error) {
	decisions, err := functions.Decisions(e.Args)
	if err != nil {
		return nil, err
	}
	t.watches.Add(1)
	defer t.watches.Add(-1)
	outcomes := value.List{}
	for next := 0; next < len(decisions) && ctx.Err() == nil; {
		group := t.together(ctx, decisions[next:], e.StepPath, next)
		t.makeAll(ctx, group)
		if i := slices.IndexFunc(group, func(c plannedCall) bool { return program.Final(c.err) }); i >= 0 {
			return nil, group[i].err
		}
		next += len(group)
		for i := range group {
			o, err := t.conclude(ctx, &group[i])
			if err != nil {
				return nil, err
			}
			if outcomes = append(outcomes, o); o.Bool("complete") {
				next = len(decisions)
			}
		}
	}
	v := value.NewDict("outcomes", outcomes)
	t.leaveTraces(v)
	if ctx.Err() != nil {
		return v, value.AsError(context.Cause(ctx), value.Canceled)
	}
	return v, nil
}

// together returns the first of the decisions, at the steps below a step from after+1 on: one, or
// several whose calls are made in parallel. Calls in parallel cannot change what another one of
// them does: each only reads, works in an agent of its own, or has the hint of its author.
func (t *turn) together(ctx context.Context, decisions []decision.Decision, below tool.StepPath, after int) []plannedCall {
	var group []plannedCall
	known := map[string]bool{}
	onlyReads := true
	for i, d := range decisions {
		c := t.plan(ctx, d, below.Child(after+i+1), i)
		alone := !c.answered && !t.parallel(c.offered)
		// The answer of an earlier call may have changed after calls that do more than read.
		stale := c.redundant && !onlyReads
		repeated := c.offered != nil && known[conversation.Key(c.offered, d.Input)]
		if i > 0 && (alone || stale || repeated) {
			break
		}
		if group = append(group, c); alone {
			break
		}
		if !c.answered {
			onlyReads = onlyReads && conversation.OnlyReads(c.offered)
			known[conversation.Key(c.offered, d.Input)] = conversation.OnlyReads(c.offered)
		}
	}
	return group
}

// parallel reports whether calls of a tool may be made in parallel.
func (t *turn) parallel(offered *tool.Tool) bool {
	return !t.ends(offered) && (conversation.OnlyReads(offered) || t.startsAgent(offered) || offered.Hints.Other[parallelHint])
}

// startsAgent reports whether a tool is that of [Register].
func (t *turn) startsAgent(offered *tool.Tool) bool {
	return t.agent.starts && tool.Key(offered.Name) == stub.AgentTool
}

// makeAll makes calls in parallel. Sub-agents get their numbers in the order of the calls.
func (t *turn) makeAll(ctx context.Context, group []plannedCall) {
	var all sync.WaitGroup
	free := make(chan struct{}, maxTogether)
	for i := range group {
		c, ctx := &group[i], t.numbered(ctx, &group[i])
		if len(group) == 1 {
			t.make(ctx, c)
			return
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			t.make(ctx, c)
		})
	}
	all.Wait()
}

// numbered returns the context for a call, with the number of the sub-agent if it starts one.
func (t *turn) numbered(ctx context.Context, c *plannedCall) context.Context {
	if c.answered || !t.startsAgent(c.offered) {
		return ctx
	}
	return reserve(ctx, t.kept.NextAgent(), "")
}

// conclude keeps the outcome of a call that was made, and returns it for the policy. A call that
// failed because the run was interrupted is broken.
func (t *turn) conclude(ctx context.Context, c *plannedCall) (*value.Dict, error) {
	if err := t.report(ctx, c); err != nil {
		return nil, err
	}
	broken := c.err != nil && ctx.Err() != nil
	if broken {
		t.interrupt(c)
	} else if !c.made {
		c.emitAnswered(ctx)
	}
	v := c.dict()
	v.Put("broken", broken)
	return v, t.keepOutcome(c.decision, v, broken)
}

// keepCalls keeps the outcomes of agent.calls.
func (t *turn) keepCalls(e tool.Effect, v *value.Dict, _ error) error {
	decisions, err := functions.Decisions(e.Args)
	if err != nil {
		return err
	}
	outcomes := v.Elements("outcomes")
	if len(outcomes) > len(decisions) {
		return value.Errorf(value.Failed, "expected at most %d outcomes but got %d", len(decisions), len(outcomes))
	}
	for i := range outcomes {
		o, _ := outcomes[i].(*value.Dict)
		if o == nil {
			return value.Errorf(value.Failed, "expected an object but got %s", value.TypeOf(outcomes[i]))
		}
		if err := t.keepOutcome(decisions[i], o, o.Bool("broken")); err != nil {
			return err
		}
	}
	return t.keepTraces(v)
}
