package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// root returns the turn of the agent that the user has started.
func (t *turn) root() (r *turn, depth int) {
	for r = t; r.above != nil; r = r.above {
		depth++
	}
	return r, depth
}

// hooks returns the hooks of the turn: those that are recorded with its run.
func (t *turn) hooks() hooks.Watch {
	o := &t.agent.opts
	root, _ := t.root()
	return hooks.Watch{Set: root.agent.hooks, Before: o.BeforeAsk, Stop: o.OnStop, Compact: o.OnCompact}
}

// collect returns a context that collects the notes of the call at a step.
func (t *turn) collect(ctx context.Context, at tool.StepPath) (context.Context, *hooks.Notes) {
	root, _ := t.root()
	return hooks.Collect(ctx, at, root.noted, t.pending.Note)
}

// refusal returns why a hook refuses an answer, or "".
func (t *turn) refusal(ctx context.Context, answer string) (reason string, err error) {
	_, depth := t.root()
	return t.hooks().OnStop(ctx, hooks.Stop{Task: t.result.Task, Answer: answer, Iterations: t.result.Iterations, Depth: depth})
}

// doStop is agent.stop.
func (t *turn) doStop(ctx context.Context, e tool.Effect) (value.Value, error) {
	reason, err := t.refusal(ctx, e.Args.Text("answer"))
	if err != nil {
		return nil, err
	}
	t.passed = reason == ""
	return value.NewDict("stop", t.passed, "message", t.prompt().AnswerRefused(reason)), nil
}
