package agent

import (
	"context"
	"math"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The functions of a policy change the state of a turn only from their arguments and
// outcomes, in the keep functions below. A resumed run calls these with the recorded
// arguments and outcomes, and so restores the state.

// again returns the Again of a function of the module, or nil if it changes no state.
func again(name string) func(context.Context, tool.Effect, tool.Outcome, error) error {
	var keep func(*turn, tool.Effect, *value.Dict, error) error
	switch name {
	case "prompt":
		return func(ctx context.Context, e tool.Effect, _ tool.Outcome, _ error) error {
			t, err := turnOf(ctx, e)
			if err == nil {
				t.keepPrompt(e.Args)
			}
			return err
		}
	case "ask":
		keep = (*turn).keepAsk
	case "call":
		keep = (*turn).keepCall
	case "calls":
		keep = (*turn).keepCalls
	case "stop":
		keep = func(t *turn, _ tool.Effect, d *value.Dict, _ error) error {
			t.passed = d.Bool("stop")
			return nil
		}
	case "spawn":
		keep = (*turn).keepSpawn
	case "wait":
		keep = (*turn).keepWait
	case "more":
		keep = func(t *turn, _ tool.Effect, d *value.Dict, _ error) error {
			t.keepMore(d)
			return nil
		}
	case "compact":
		keep = func(t *turn, _ tool.Effect, d *value.Dict, _ error) error {
			c, err := value.ToGo[compaction](d)
			if err == nil {
				t.keepSummary(&c)
			}
			return err
		}
	default:
		return nil
	}
	return func(ctx context.Context, e tool.Effect, out tool.Outcome, failure error) error {
		if failure != nil && out.Value == nil {
			return nil // it did not begin
		}
		t, err := turnOf(ctx, e)
		if err != nil {
			return err
		}
		d, ok := out.Value.(*value.Dict)
		if !ok {
			return dialog.Unreadable(e.Func, value.Errorf(value.Failed, "expected an object but got %s", value.TypeOf(out.Value)))
		}
		if err := keep(t, e, d, failure); err != nil {
			return dialog.Unreadable(e.Func, err)
		}
		t.meter.Recall(meter.Step(d, nil))
		return nil
	}
}

// keepPrompt keeps the first question of a conversation. It reports whether the
// conversation begins with it.
func (t *turn) keepPrompt(args *value.Dict) bool {
	if n := args.Int("iterations"); n > 0 {
		t.state.Iterations = int(min(n, math.MaxInt32))
		t.granted = t.state.Iterations
	}
	return t.state.BeginQuestion(args.Text("task"))
}

// keepMore keeps how many more replies the policy has got.
func (t *turn) keepMore(d *value.Dict) { t.granted = t.planned() + int(d.Int("iterations")) }

type asked = dialog.Asked // the outcome of agent.ask

// keepAsk keeps the outcome of agent.ask.
func (t *turn) keepAsk(e tool.Effect, d *value.Dict, failure error) error {
	a, err := value.ToGo[asked](d)
	if err != nil {
		return err
	}
	t.result.Iterations = int(a.Iteration)
	if a.Compacted != nil {
		t.keepSummary(a.Compacted)
	}
	if failure != nil {
		return nil
	}
	t.unread, t.fit = a.Unread, int(a.Fit)
	more, err := t.messages(e.Args)
	if err != nil {
		return err
	}
	return t.keepReply(more, &a)
}

// keepReply adds the messages that were sent, and the reply, to the conversation.
func (t *turn) keepReply(more []model.Message, a *asked) error {
	if t.state.Overfull(more) {
		t.memory.Forget() // of results that are no longer shown
	}
	changed, err := dialog.Unpack(a.Conversation)
	if err != nil {
		return err
	}
	if changed != nil {
		t.state.Replace(changed, t.agent.account())
	} else {
		t.state.Add(more)
	}
	t.state.AddReply(a)
	t.idle++
	if !a.Empty() && uncalled(t.toolChoice(), a.Calls) == "" {
		t.idle = 0
	}
	t.replied, t.result.References = true, a.References
	return nil
}

// keepSummary keeps the outcome of agent.compact. If it succeeded, the summary replaces the
// conversation.
func (s *Session) keepSummary(c *compaction) {
	if !c.Success {
		return
	}
	k := &prompt.Keep{Chars: s.keptChars()}
	if c.Keep > 0 {
		k.Chars = min(k.Chars, int(c.Keep))
	}
	s.state.Restart(s.prompt().Continue(s.state.Question, c.Summary, s.state.Messages, k), s.agent.account())
	s.turn.memory.Forget() // the conversation may have lost the results that it refers to
}

// keptChars returns how many characters of messages a compaction keeps: half as many as tokens, which is a sixth
// of the limit.
func (s *Session) keptChars() int {
	return max(1, min(prompt.DefaultKept, s.state.Account.EffectiveLimit()/2))
}

// keepCall keeps the outcome of agent.call, and the files that the call read and wrote. A failure
// is that of an interrupted call.
func (t *turn) keepCall(e tool.Effect, v *value.Dict, failure error) error {
	given, err := functions.Decisions(e.Args)
	if err != nil {
		return err
	}
	if err := t.keepTraces(v); err != nil {
		return err
	}
	return t.keepOutcome(given[0], v, failure != nil)
}

// keepTraces keeps the traces in an outcome.
func (t *turn) keepTraces(v *value.Dict) error {
	left, err := value.ToGo[conversation.Recorded](v)
	if err == nil {
		t.kept.Leave(left.Traces())
	}
	return err
}

// keepOutcome keeps the outcome of a call for the next message, and the record of the call,
// unless it is broken: interrupted.
func (t *turn) keepOutcome(d decision.Decision, v *value.Dict, broken bool) error {
	o, err := conversation.ReadOutcome(v)
	if err != nil {
		return err
	}
	if o.Made {
		t.remember(d, o.ToolResult())
	}
	t.state.AddCall(d.ID, d.Action, &o)
	if !broken {
		t.result.Calls = append(t.result.Calls, CallRecord{Iteration: t.result.Iterations, Action: d.Action, Input: d.Input,
			Reasoning: d.Reasoning, Inferred: d.Inferred, Success: o.Success, Result: o.Result, Error: o.Error})
	}
	return nil
}

// remember stores a call that only reads, so that it is not repeated. Any other call clears
// the memory, since it may have changed what was read.
func (t *turn) remember(d decision.Decision, r tool.Result) {
	offered := t.offered(d.Action)
	if offered == nil || !conversation.OnlyReads(offered) {
		t.memory.Forget()
	}
	if offered != nil && r.Success {
		if t.memory == nil {
			t.memory = &conversation.Memory{}
		}
		t.memory.Note(offered, conversation.Key(offered, d.Input), r.Value, len(t.result.Calls)+1)
	}
}
