package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/question"
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
	text := textParam
	val := func(name, doc string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeObject}, Description: doc, Required: true}
	}
	return []tool.Module{{
		Name: moduleName,
		Doc:  "Functions for policies. A policy is a script that controls an agent: a file in .cassidy/policies with a function policy(task, agent).",
		Funcs: []tool.Func{
			row("prompt", tool.Recorded, "Return the text that gives the model a task. At the beginning of a conversation, the text also describes the project and the tools, and how to call the tools.",
				"the text", (*turn).doPrompt, text("task", "the task of the user", true),
				tool.Param{Name: "iterations", Type: tool.Type{Name: tool.TypeInteger}, Description: "the maximum number of replies, as stated in the text; with 0, the text states no maximum", HasDefault: true, Default: int64(0)}),
			row("ask", tool.Repeatable, "Ask the model. Pass a message, the results of the model's calls, or both.",
				`{"text", "calls", "stop", "iteration", "full", "thread", "input_tokens", "output_tokens", "cached_tokens", "references"}. `+
					`"calls" are the native calls. "stop" is "end", "calls", "length" or "refuse". "iteration" is the number of the reply. "full" is True if the conversation should be compacted. `+
					`"compacted" is present if the conversation had to be compacted first. It is the result of agent.compact. "value" is present if a schema was passed`, (*turn).doAsk,
				text("message", "the message", false),
				tool.Param{Name: "results", Type: tool.Type{Name: tool.TypeArray}, Description: `the results of calls: [{"id": the ID of the decision, "text"}]`, HasDefault: true, Default: value.List{}},
				schemaParam("a JSON Schema, or a type such as \"list[str]\": the reply must be a JSON value that matches it. If the reply does not match, the model is asked again, at most twice. After that, the call fails")),
			row("value", tool.Recorded, "Read an answer as the value that the user wants. Its schema is the field schema of agent.limits().",
				`{"success", "value", "message": for the model, if the answer does not match the schema}`, (*turn).doValue, text("answer", "the answer of the model", true)),
			row("decide", tool.Recorded, "Read the decisions in a reply of the model, such as a call of a tool or the final answer.",
				`a list of {"kind", "action", "input", "reasoning", "status", "format", "answer", "error", "inferred", "id"}, with at least one decision. The value of "kind" is "call", "final", "skill", "none" or "error"`,
				(*turn).doDecide, val("reply", "the result of agent.ask")),
			row("call", tool.External, "Call a tool for the model. A call that fails or is denied is an outcome, not an error.",
				`{"success", "result", "error", "error_type", "suggestion", "text", "denied", "redundant", "complete", "made", "read", "wrote", "shown", "fingerprint"}. `+
					`"text" is the outcome as a text for the model. "redundant" is True if the model already has the result. "complete" is True if the call ends the task. `+
					`"made" is True if the host ran or denied the call. "read" and "wrote" are the paths of the files that the call read and wrote. `+
					`If the result has images or documents, "shown" lists those that the model gets, by number from 0. "fingerprint" is a text that identifies their content`,
				(*turn).doCall, val("decision", `a decision of agent.decide: {"action", "input", "id"}`)),
			row("result_text", tool.Recorded, "Return the text that the model gets as the outcome of its call.",
				"the text", (*turn).doResultText, val("decision", "a decision of agent.decide"), val("outcome", "the result of agent.call")),
			row("skill", tool.Read, "Load a skill that the model asked for.",
				`{"success", "text": the instructions for the model}`, (*turn).doSkill, text("name", "the skill's name", true)),
			row("note", tool.Recorded, "Return one of the reminders for the model: "+strings.Join(notes, ", ")+".",
				"the text", (*turn).doNote, text("name", "the name of the reminder", true), text("detail", "the subject of the reminder, such as the name of a tool", false),
				tool.Param{Name: "times", Type: tool.Type{Name: tool.TypeInteger}, Description: "for loop: how often the model made the same call", HasDefault: true, Default: int64(1)}),
			row("compact", tool.Repeatable, "Shorten the conversation. The model writes a summary of the conversation, which replaces all messages except the last ones.",
				`{"success", "summary", "tokens_before", "tokens_after", "input_tokens", "output_tokens", "cached_tokens", "error"}`, (*turn).doCompact),
			row("limits", tool.Recorded, "Return the limits of the run.",
				`{"iterations", "tools", "native", "used", "limit", "full"}. "iterations" is the maximum number of replies, or 0 if the user set none. "tools" is the number of tools. `+
					`"native" is True if the model supports native calls. "used" is the number of tokens in the conversation, and "limit" is their maximum. `+
					`"full" is True if the conversation should be compacted. "schema" is present if the user wants a value. It is a JSON Schema that the answer must match`, (*turn).doLimits),
			row("finish", tool.Recorded, "End the run. The policy must return the result, as in: return agent.finish(\"final\", answer). The reasons are "+strings.Join(reasons, ", ")+".",
				"a value for the return statement of the policy", (*turn).doFinish, text("reason", "why the run ends", true), text("answer", "the answer for the user", false),
				tool.Param{Name: "result", Type: tool.Type{Name: tool.TypeAny}, Description: "a value for the user", HasDefault: true, Default: nil}),
		},
	}}
}

// textParam returns a parameter that is a text: one that is required, or one with the default "".
func textParam(name, doc string, required bool) tool.Param {
	p := tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: required}
	if !required {
		p.HasDefault, p.Default = true, ""
	}
	return p
}

func schemaParam(doc string) tool.Param {
	return tool.Param{Name: "schema", Type: tool.Type{Name: tool.TypeAny}, Description: doc, HasDefault: true, Default: nil}
}

// row returns a function of the module.
func row(name string, kind tool.EffectKind, doc, returns string, do func(*turn, context.Context, tool.Effect) (value.Value, error), params ...tool.Param) tool.Func {
	f := tool.Func{Name: name, Doc: doc, Params: params, Returns: returns, Kind: kind}
	switch kind {
	case tool.Repeatable: // these ask the model
		f.Target = func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "model"}}, nil }
	case tool.External: // these do nothing themselves but make calls
		f.Mode = tool.ModeCalls
	}
	f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		t, err := turnOf(ctx, e)
		if err != nil {
			return tool.Outcome{}, err
		}
		t.asking, t.note = nil, g.Note
		if err := t.keepChange(); err != nil {
			return tool.Outcome{}, err
		}
		v, err := do(t, ctx, e)
		return tool.Outcome{Value: v}, t.keepUsage(err)
	}
	f.Again = again(name)
	return f
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
	if lacks := question.Uncalled(t.toolChoice(), reply.Calls); lacks != "" && reply.Stop != model.StopLength && reply.Text != "" {
		return []decision.Decision{{Kind: decision.Invalid, Status: decision.Continue, Error: lacks}}
	}
	decisions := decision.ReadNative(reply, decision.Options{Tools: t.agent.tools, Format: t.agent.format, NoInference: t.agent.opts.NoInference, Heard: t.heard})
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
	case "empty":
		return t.prompt().Empty(), nil
	case "cut":
		return t.prompt().Cut(), nil
	case "continue":
		return t.prompt().ContinueAnswer(), nil
	case "last_turn":
		return t.prompt().LastIteration(), nil
	}
	return nil, value.Errorf(value.Invalid, "agent.note: unknown note %q%s", name, value.DidYouMean(name, notes)).WithHint("use one of %s", strings.Join(notes, ", "))
}

// notes are the names of the reminders.
var notes = []string{"no_decision", "bad_decision", "loop", "answer_now", "last_turn", "cut", "continue", "empty"}

func (t *turn) doLimits(context.Context, tool.Effect) (value.Value, error) {
	d := value.NewDict("iterations", int64(t.agent.opts.Iterations), "tools", int64(len(t.agent.tools)), "native", t.agent.format == decision.Native,
		"used", int64(t.account.Used()), "limit", int64(t.account.EffectiveLimit()), "full", t.account.Full())
	if t.agent.schema != nil {
		d.Put("schema", t.agent.schema.Dict)
	}
	return d, nil
}

func (t *turn) doFinish(_ context.Context, e tool.Effect) (value.Value, error) {
	reason := e.Args.Text("reason")
	if !slices.Contains(reasons, reason) {
		return nil, value.Errorf(value.Invalid, "agent.finish: unknown reason %q%s", reason, value.DidYouMean(reason, reasons)).
			WithHint("use one of %s", strings.Join(reasons, ", "))
	}
	d := value.NewDict("reason", reason, "answer", e.Args.Text("answer"))
	if v, _ := e.Args.Get("result"); v != nil {
		d.Put("result", v)
	}
	return d, nil
}
