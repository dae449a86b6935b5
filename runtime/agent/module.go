package agent

import (
	"cmp"
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleName is the name of the policies' module.
const moduleName = "agent"

// Modules returns the module agent, with the functions for policies. The sandbox that runs
// policies needs it. The functions act on the turn in the context of the call, and fail with
// kind Denied outside of a turn. All agents share them.
func Modules() []tool.Module {
	do := map[string]func(*turn, context.Context, tool.Effect) (value.Value, error){
		"prompt":      (*turn).doPrompt,
		"ask":         (*turn).doAsk,
		"value":       (*turn).doValue,
		"decide":      (*turn).doDecide,
		"call":        (*turn).doCall,
		"spawn":       (*turn).doSpawn,
		"wait":        (*turn).doWait,
		"calls":       (*turn).doCalls,
		"result_text": (*turn).doResultText,
		"skill":       (*turn).doSkill,
		"note":        (*turn).doNote,
		"compact":     (*turn).doCompact,
		"limits":      (*turn).doLimits,
		"more":        (*turn).doMore,
		"stop":        (*turn).doStop,
		"finish":      (*turn).doFinish,
	}
	funcs := functions.Agent(prompt.Notes(), reasons)
	for i := range funcs {
		funcs[i].Do, funcs[i].Again = inTurn(do[funcs[i].Name]), again(funcs[i].Name)
	}
	return []tool.Module{{Name: moduleName, Doc: functions.AgentDoc, Funcs: funcs}}
}

// inTurn returns the Do of a function that acts on the turn in the context.
func inTurn(do func(*turn, context.Context, tool.Effect) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
	return func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		t, err := turnOf(ctx, e)
		if err != nil {
			return tool.Outcome{}, err
		}
		t.pending, t.other = meter.Begin(g.Note), nil
		if err := t.pending.Change(t.meter); err != nil {
			return tool.Outcome{}, err
		}
		v, err := do(t, ctx, e)
		return tool.Outcome{Value: v}, t.pending.Keep(err)
	}
}

// turnOf returns the turn in the context of a call.
func turnOf(ctx context.Context, e tool.Effect) (*turn, error) {
	if t, _ := ctx.Value(turnKey{}).(*turn); t != nil {
		return t, nil
	}
	return nil, value.Errorf(value.Denied, "%s is only available in a policy that controls an agent", e.Func)
}

// doDecide is agent.decide.
func (t *turn) doDecide(ctx context.Context, e tool.Effect) (value.Value, error) {
	given, _ := e.Args.Get("reply")
	reply, err := value.ToGo[asked](given)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "agent.decide: expected the result of agent.ask")
	}
	read := t.read(&model.Reply{Text: reply.Text, Stop: reply.Stop, Calls: reply.Calls})
	decisions := make(value.List, 0, len(read))
	for _, d := range read {
		decisions = append(decisions, d.Dict())
		host.Emit(ctx, d.Event())
	}
	return decisions, nil
}

// read returns the decisions of a reply for the policy. A request for a skill counts if no
// call was written. In a chat without tools and skills, every reply is an answer.
func (t *turn) read(reply *model.Reply) []decision.Decision {
	if t.prompt().Chats() && len(t.agent.tools) == 0 && len(reply.Calls) == 0 && len(t.agent.opts.Skills) == 0 {
		return []decision.Decision{{Kind: decision.None, Answer: reply.Text}}
	}
	if lacks := uncalled(t.toolChoice(), reply.Calls); lacks != "" && reply.Stop != model.StopLength && reply.Text != "" {
		return []decision.Decision{{Kind: decision.Invalid, Status: decision.Continue, Error: lacks}}
	}
	o := decision.Options{Tools: t.agent.tools, Format: t.agent.format, NoInference: t.agent.opts.NoInference, Heard: t.state.Heard,
		Chat: t.prompt().Chats() || t.agent.format == decision.Native || t.agent.schema != nil}
	if s := t.agent.schema; s != nil {
		o.IsAnswer = s.Is
	}
	decisions := decision.ReadNative(reply, o)
	if first := &decisions[0]; first.Kind == decision.None && t.agent.schema != nil {
		first.Error = "" // the value may have the keys of a call
	}
	if last := &decisions[len(decisions)-1]; reply.Stop == model.StopLength && last.Kind == decision.Invalid {
		last.Error += " The reply reached the limit of its length: write less in a reply, such as one part of a file."
	}
	if k := decisions[0].Kind; k == decision.None || k == decision.Final || decisions[0].Inferred {
		if name, ok := prompt.ReadSkill(reply.Text); ok && t.agent.opts.LoadSkill != nil {
			return []decision.Decision{{Kind: "skill", Action: name}}
		}
	}
	return decisions
}

func (t *turn) doResultText(_ context.Context, e tool.Effect) (value.Value, error) {
	return e.Args.Dict("outcome").Text("text"), nil
}

func (t *turn) doNote(_ context.Context, e tool.Effect) (value.Value, error) {
	text, err := t.prompt().Note(e.Args.Text("name"), e.Args.Text("detail"), int(e.Args.IntOr("times", 1)))
	return text, err
}

func (t *turn) doLimits(context.Context, tool.Effect) (value.Value, error) {
	d := value.NewDict("iterations", int64(t.agent.opts.Iterations), "tools", int64(len(t.agent.tools)), "native", t.agent.format == decision.Native,
		"used", int64(t.state.Account.Used()), "limit", int64(t.state.Account.EffectiveLimit()), "full", t.state.Account.Full())
	if t.agent.schema != nil {
		d.Put("schema", t.agent.schema.Dict)
	}
	if t.hooks().Stops() {
		d.Put("stops", true)
	}
	return d, nil
}

// doMore is agent.more: it returns how many more replies the policy may have than it knows of. If
// there are none, the run is parked until it is resumed with a higher limit.
func (t *turn) doMore(context.Context, tool.Effect) (value.Value, error) {
	more := t.agent.opts.Iterations - t.planned()
	if more <= 0 && t.canExtend() {
		return nil, t.meter.Iterated(t.result.Iterations)
	}
	v := value.NewDict("iterations", int64(max(0, more)))
	t.keepMore(v)
	return v, nil
}

// planned returns how many replies the policy knows of.
func (t *turn) planned() int { return max(t.granted, t.result.Iterations) }

// canExtend reports whether the limit of iterations parks the run, as each limit of [Ceilings] does.
// A sub-agent ends instead, and its caller goes on. A chat goes on with the next message.
func (t *turn) canExtend() bool {
	return t.stored && t.agent.program.Parks && t.agent.program.Kind == taskKind
}

func (t *turn) doFinish(ctx context.Context, e tool.Effect) (value.Value, error) {
	reason := e.Args.Text("reason")
	if Reason(reason) == ReasonFinal && !t.passed && t.hooks().Stops() { // the policy has not called agent.stop
		why, err := t.refusal(ctx, e.Args.Text("answer"))
		if err = cmp.Or(err, hooks.Refused(why)); err != nil {
			return nil, err
		}
	}
	d := value.NewDict("reason", reason, "answer", e.Args.Text("answer"))
	if v, _ := e.Args.Get("result"); v != nil {
		d.Put("result", v)
	}
	return d, nil
}
