package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleName is the name of the module that policies have.
const moduleName = "agent"

// Modules returns the functions that a policy has, in the module agent. A
// sandbox that runs policies needs to know them; they work only in a policy,
// while it leads an agent: for the turn in whose context they are called, so that
// all agents share them.
func Modules() []tool.Module {
	text := func(name, doc string, required bool) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: required, HasDefault: !required, Default: defaultText(required)}
	}
	val := func(name, doc string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeObject}, Description: doc, Required: true}
	}
	return []tool.Module{{
		Name: moduleName,
		Doc:  "What leads an agent. Only policies have it: files in .cassidy/policies with a function policy(task, agent).",
		Funcs: []tool.Func{
			row("prompt", tool.Recorded, "Give the text that begins a conversation: the tools, how to call them, the context and the task; later in a conversation the task alone.",
				"the text", (*turn).doPrompt, text("task", "what the user wants", true),
				tool.Param{Name: "iterations", Type: tool.Type{Name: tool.TypeInteger}, Description: "how many replies the model is told that it has; 0 says nothing", HasDefault: true, Default: int64(0)}),
			row("ask", tool.Repeatable, "Ask the model. It is sent the results of the calls that it wanted, and a message, or one of the two.",
				`{"text", "calls", "stop": why the reply ended, "iteration", "full": whether the conversation should be compacted, "thread", "input_tokens", "output_tokens", "cached_tokens", "references", "compacted": what agent.compact gives, where the conversation had to be made shorter first}`, (*turn).doAsk,
				text("message", "what to say", false),
				tool.Param{Name: "results", Type: tool.Type{Name: tool.TypeArray}, Description: `what came of calls: [{"id": of the decision, "text"}]`, HasDefault: true, Default: value.List{}}),
			row("decide", tool.Recorded, "Read what a reply asks for.",
				`a list of {"kind": "call", "final", "skill", "none" or "error", "action", "input", "reasoning", "status", "format", "answer", "error", "inferred", "id"}; it is never empty`,
				(*turn).doDecide, val("reply", "what agent.ask gave")),
			makesCalls(row("call", tool.External, "Call a tool for the model. That a call fails or is refused is an outcome too.",
				`{"success", "result", "error", "error_type", "suggestion", "text": for the model, "denied", "redundant", "complete": whether it says that the task is done, "made": whether it came to a call at all, "read" and "wrote": paths}`,
				(*turn).doCall, val("decision", `what agent.decide gave: {"action", "input", "id"}`))),
			row("result_text", tool.Recorded, "Give the text with which a model is told what came of a call.",
				"the text", (*turn).doResultText, val("decision", "what agent.decide gave"), val("outcome", "what agent.call gave")),
			row("skill", tool.Read, "Load a skill that the model asked for.",
				`{"success", "text": for the model}`, (*turn).doSkill, text("name", "the skill's name", true)),
			row("note", tool.Recorded, "Give one of the texts with which a model is reminded: "+strings.Join(notes, ", ")+".",
				"the text", (*turn).doNote, text("name", "which", true), text("detail", "what it is about", false),
				tool.Param{Name: "times", Type: tool.Type{Name: tool.TypeInteger}, Description: "how often it happened", HasDefault: true, Default: int64(1)}),
			row("compact", tool.Repeatable, "Replace the conversation by a summary, which the model writes, and its last messages.",
				`{"success", "summary", "tokens_before", "tokens_after", "input_tokens", "output_tokens", "cached_tokens", "error"}`, (*turn).doCompact),
			row("limits", tool.Recorded, "Give what the run is bounded by.",
				`{"iterations": 0 where its user has set none, "tools": how many, "native": whether the model has calls of its own, "used" and "limit": tokens, "full"}`, (*turn).doLimits),
			row("finish", tool.Recorded, "End the run: return agent.finish(\"final\", answer). The reasons are "+strings.Join(reasons, ", ")+".",
				"what the policy is to return", (*turn).doFinish, text("reason", "why it ends", true), text("answer", "for the user", false)),
		},
	}}
}

func defaultText(required bool) value.Value {
	if required {
		return nil
	}
	return ""
}

// row makes a function of the module.
func row(name string, kind tool.EffectKind, doc, returns string, do func(*turn, context.Context, tool.Effect) (value.Value, error), params ...tool.Param) tool.Func {
	f := tool.Func{Name: name, Doc: doc, Params: params, Returns: returns, Kind: kind}
	if kind == tool.Repeatable { // it asks the model
		f.Target = func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "model"}}, nil }
	}
	f.Do = func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
		t, err := turnOf(ctx, e)
		if err != nil {
			return tool.Outcome{}, err
		}
		v, err := do(t, ctx, e)
		return tool.Outcome{Value: v}, err
	}
	f.Again = again(name)
	return f
}

// turnOf returns the turn in whose context a function of the module is called.
func turnOf(ctx context.Context, e tool.Effect) (*turn, error) {
	if t, _ := ctx.Value(turnKey{}).(*turn); t != nil {
		return t, nil
	}
	return nil, value.Errorf(value.Denied, "%s works only while a policy leads an agent", e.Func)
}

// makesCalls marks a row that does nothing but make calls.
func makesCalls(f tool.Func) tool.Func {
	f.Calls = true
	return f
}

// doDecide is agent.decide.
func (t *turn) doDecide(ctx context.Context, e tool.Effect) (value.Value, error) {
	given, _ := e.Args.Get("reply")
	d, _ := given.(*value.Dict)
	reply := &model.Reply{Text: d.Text("text"), Stop: model.Stop(d.Text("stop"))}
	r := dictReader{dict: d}
	if reply.Calls = r.nativeCalls("calls"); r.err != nil {
		return nil, value.Errorf(value.Invalid, "agent.decide takes what agent.ask gave")
	}
	read := t.read(reply)
	decisions := make(value.List, 0, len(read))
	for _, d := range read {
		decisions = append(decisions, d.Dict())
		host.Emit(ctx, d.Event())
		if t.decided != nil {
			t.decided(&d)
		}
	}
	return decisions, nil
}

// read reads the decisions of a reply, as a policy gets them. A skill counts
// where no call was written. In a chat that offers nothing, all is an answer.
func (t *turn) read(reply *model.Reply) []decision.Decision {
	if t.prompt().Chats() && len(t.agent.tools) == 0 && len(reply.Calls) == 0 && len(t.agent.opts.Skills) == 0 {
		return []decision.Decision{{Kind: decision.None, Answer: reply.Text}}
	}
	decisions := decision.ReadNative(reply, decision.Options{Tools: t.agent.tools, Format: t.agent.format, NoInference: t.agent.opts.NoInference, Heard: t.heard})
	if k := decisions[0].Kind; k == decision.None || k == decision.Final || decisions[0].Inferred {
		if name, ok := prompt.ReadSkill(reply.Text); ok && t.agent.opts.LoadSkill != nil {
			return []decision.Decision{{Kind: "skill", Action: name}}
		}
	}
	return decisions
}

func nativeDict(c model.Call) *value.Dict {
	d := value.NewDict("id", c.ID, "tool", c.Tool, "args", nil, "raw", c.Raw)
	if c.Args != nil {
		d.Put("args", c.Args)
	}
	return d
}

func (t *turn) doResultText(_ context.Context, e tool.Effect) (value.Value, error) {
	v, _ := e.Args.Get("outcome")
	outcome, _ := v.(*value.Dict)
	return outcome.Text("text"), nil
}

func (t *turn) doNote(_ context.Context, e tool.Effect) (value.Value, error) {
	name, detail := e.Args.Text("name"), e.Args.Text("detail")
	switch name {
	case "no_decision":
		return t.prompt().NoDecision(), nil
	case "bad_decision":
		return t.prompt().BrokenDecision(detail), nil
	case "loop":
		return t.prompt().LoopWarning(detail, int(e.Args.IntOr("times", 1))), nil
	case "answer_now":
		return t.prompt().LastTurn(), nil
	case "last_turn":
		return t.prompt().LastIteration(), nil
	}
	return nil, value.Errorf(value.Invalid, "there is no note %q%s", name, value.DidYouMean(name, notes)).WithHint("the notes are %s", strings.Join(notes, ", "))
}

// notes are the texts with which a policy reminds a model.
var notes = []string{"no_decision", "bad_decision", "loop", "answer_now", "last_turn"}

func (t *turn) doLimits(context.Context, tool.Effect) (value.Value, error) {
	return value.NewDict("iterations", int64(t.agent.opts.Iterations), "tools", int64(len(t.agent.tools)), "native", t.agent.format == decision.Native,
		"used", int64(t.account.Used()), "limit", int64(t.account.EffectiveLimit()), "full", t.account.Full()), nil
}

func (t *turn) doFinish(_ context.Context, e tool.Effect) (value.Value, error) {
	reason := e.Args.Text("reason")
	if !slices.Contains(reasons, reason) {
		return nil, value.Errorf(value.Invalid, "there is no reason %q%s", reason, value.DidYouMean(reason, reasons)).
			WithHint("the reasons are %s", strings.Join(reasons, ", "))
	}
	return value.NewDict("reason", reason, "answer", e.Args.Text("answer")), nil
}
