// Package functions describes the functions with which policies control agents, and with which
// scripts ask a model. What they do is elsewhere.
package functions

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// AgentDoc describes the module of policies.
const AgentDoc = "Functions for policies. A policy is a script that controls an agent: a file in .cassidy/policies with a function policy(task, agent)."

// Agent returns the functions of policies, without what they do. notes are the names of the
// reminders for a model, and reasons are those for which a run ends.
func Agent(notes, reasons []string) []tool.Func {
	val := func(name, doc string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeObject}, Description: doc, Required: true}
	}
	return []tool.Func{
		function("prompt", tool.Recorded, "Return the text that gives the model a task. At the beginning of a conversation, the text also describes the project and the tools, and how to call the tools.",
			"the text", text("task", "the task of the user", true),
			tool.Param{Name: "iterations", Type: tool.Type{Name: tool.TypeInteger}, Description: "the maximum number of replies, for the text. With 0, the text does not name a maximum", HasDefault: true, Default: int64(0)}),
		function("ask", tool.Repeatable, "Ask the model. Pass a message, the results of the model's calls, or both.",
			`{"text", "calls", "stop", "iteration", "full", "thread", "input_tokens", "output_tokens", "cached_tokens", "references", "compacted", "value"}. `+
				`"calls" are the native calls: calls in the format of the provider. "stop" is the reason why the reply ended: "end", "calls", "length" or "refuse". "iteration" is the number of the reply. "full" is True if the conversation should be compacted. "thread" is the ID of the conversation at the provider, or "". "references" are the sources that the model names. `+
				`"compacted" is the result of agent.compact. It is present only if the conversation was compacted before the request. "value" is present if a schema was passed`,
			text("message", "the message", false),
			tool.Param{Name: "results", Type: tool.Type{Name: tool.TypeArray}, Description: `the results of calls: [{"id", "text"}]. "id" is the ID of the decision`, HasDefault: true, Default: value.List{}},
			schema("a JSON Schema, or a type such as \"list[str]\": the reply must be a JSON value that matches the schema. If the reply does not match, the model is asked again, at most twice. If it still does not match, the call fails"),
			tool.Param{Name: "model", Type: tool.Type{Name: tool.TypeString}, Description: "the model for this request, as in --model. It gets the same conversation. Default: the model of the run", HasDefault: true, Default: nil}),
		function("value", tool.Recorded, "Parse an answer as the value that the user wants. The schema of this value is \"schema\" in the result of agent.limits().",
			`{"success", "value", "message"}. If the answer does not match the schema, "success" is False, and "message" is a text for the model`, text("answer", "the answer of the model", true)),
		function("decide", tool.Recorded, "Read the decisions in a reply of the model, such as a call of a tool or the final answer.",
			`a list of {"kind", "action", "input", "reasoning", "status", "format", "answer", "error", "inferred", "id"}, with at least one decision. "kind" is "call", "final" (the answer), "skill" (the model asks for a skill), "none" (the reply asks for nothing) or "error" (an invalid call). "action" is the name of the tool or of the skill, and "input" has the arguments of the call. "status" is "final" if the model announces that this call is its last one. "answer" is the text of the answer, or of a reply that asks for nothing. "error" is the error for the model. "inferred" is True if the reply only announces the call in a sentence, and the call was derived from this sentence. "id" is the ID of a native call`, val("reply", "the result of agent.ask")),
		function("call", tool.External, "Call a tool for the model. If the call fails or is denied, agent.call does not fail: its result describes the failure.",
			`{"success", "result", "error", "error_type", "suggestion", "text", "denied", "redundant", "complete", "made", "read", "wrote", "shown", "fingerprint"}. `+
				`"text" is the outcome as a text for the model. "redundant" is True if the model already has the result. "complete" is True if the call ends the task. `+
				`"made" is True if the host ran or denied the call. "read" and "wrote" are the paths of the files that the call read and wrote. `+
				`If the result has images or documents, "shown" lists the numbers of the images and documents that the model gets, counted from 0. "fingerprint" is a text that identifies the content of these images and documents`, val("decision", `a decision of agent.decide: {"action", "input", "id"}`)),
		function("calls", tool.External, "Make all calls that the model has requested in a reply. Consecutive calls are made in parallel if their tools only read, start agents, or have the hint \"parallel\". All other calls are made one at a time, in the order of the reply.",
			`{"outcomes", "read", "wrote"}. "outcomes" is a list of outcomes, in the order of the decisions. It has one outcome for each decision, unless a call ends the task: then the decisions after this call are skipped. An outcome has the fields of the result of agent.call, except "read" and "wrote". `+
				`"read" and "wrote" are the paths of the files that the calls read and wrote. If a call ends the task, its outcome is the last one`, tool.Param{Name: "decisions", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeObject}}, Description: "decisions of agent.decide", Required: true}),
		function("spawn", tool.External, "Start an agent that works on a part of the task while the policy continues. The run must have the tool \"agent\" among its tools. To get the result of the new agent, call agent.wait. At most eight agents work at a time. When the policy ends, agents that are still working are stopped.",
			`the agent, for agent.wait`, text("task", "what to do, and what to answer", true),
			tool.Param{Name: "agent", Type: tool.Type{Name: tool.TypeString}, Description: "the name of an agent that the user has defined", HasDefault: true, Default: nil},
			tool.Param{Name: "model", Type: tool.Type{Name: tool.TypeString}, Description: "the model of the new agent, as in --model. Default: the model of the named agent, or the model of this run", HasDefault: true, Default: nil},
			tool.Param{Name: "tools", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}}, Description: "the names of the tools that the new agent may use. Default: the tools of this run. A named agent gets only those of the tools that its definition allows", HasDefault: true, Default: nil},
			tool.Param{Name: "policy", Type: tool.Type{Name: tool.TypeString}, Description: "the policy of the new agent. Default: the policy of the named agent, or the built-in policy \"task\"", HasDefault: true, Default: nil}),
		function("wait", tool.External, "Wait until agents have ended.",
			`{"results": a list of {"ok", "value", "error", "error_type", "notes"}, in the order of the agents}. "notes" is a list of the notes that hooks have added to the call of the agent`,
			tool.Param{Name: "agents", Type: tool.Type{Name: tool.TypeArray}, Description: "results of agent.spawn. Default: all agents for which the policy has not waited yet", HasDefault: true, Default: nil}),
		function("result_text", tool.Recorded, "Return the text that the model gets as the outcome of its call.",
			"the text", val("decision", "a decision of agent.decide"), val("outcome", "the result of agent.call")),
		function("skill", tool.Read, "Load a skill that the model asked for.",
			`{"success", "text": the instructions for the model}`, text("name", "the skill's name", true)),
		function("note", tool.Recorded, "Return one of the reminders for the model: "+strings.Join(notes, ", ")+".",
			"the text", oneOf("name", "the name of the reminder", notes), text("detail", "the subject of the reminder, such as the name of a tool", false),
			tool.Param{Name: "times", Type: tool.Type{Name: tool.TypeInteger}, Description: "how often the model made the same call, for the reminder \"loop\", or how many more replies there are, for \"more\"", HasDefault: true, Default: int64(1)}),
		function("compact", tool.Repeatable, "Shorten the conversation. The model writes a summary of the conversation, which replaces all messages except the last ones.",
			`{"success", "summary", "tokens_before", "tokens_after", "input_tokens", "output_tokens", "cached_tokens", "error"}`),
		function("limits", tool.Recorded, "Return the limits of the run.",
			`{"iterations", "tools", "native", "used", "limit", "full", "schema", "stops"}. "iterations" is the maximum number of replies, or 0 if the user set none. "tools" is the number of tools. `+
				`"native" is True if the model supports native calls. "used" is the number of tokens in the conversation, and "limit" is the maximum number. `+
				`"full" is True if the conversation should be compacted. "schema" is the JSON Schema that the answer must match. It is present only if the user passed a schema. "stops" is True if a hook can refuse an answer (see agent.stop), and absent otherwise`),
		function("more", tool.Recorded, "Ask for more replies, after the policy has used those that it may have. The run is parked until the user resumes it with a higher limit, as in cassidy runs resume RUN --max-iterations N.",
			`{"iterations": how many more replies the model may write}. It is 0 if the run cannot be parked, such as that of a sub-agent or of a chat`),
		function("stop", tool.Recorded, "Ask the hooks whether the run may end with an answer. If the result of agent.limits() has no \"stops\", no hook can refuse an answer.",
			`{"stop", "message"}. "stop" is True if the run may end. If it is False, "message" is a text for the model`, text("answer", "the answer for the user", true)),
		function("finish", tool.Recorded, "End the run. The policy must return the result, as in: return agent.finish(\"final\", answer). The reasons are "+strings.Join(reasons, ", ")+".",
			"a value for the return statement of the policy", oneOf("reason", "why the run ends", reasons), text("answer", "the answer for the user", false),
			tool.Param{Name: "result", Type: tool.Type{Name: tool.TypeAny}, Description: "a value for the user", HasDefault: true, Default: nil}),
	}
}

// function returns a function of policies.
func function(name string, kind tool.EffectKind, doc, returns string, params ...tool.Param) tool.Func {
	f := tool.Func{Name: name, Doc: doc, Params: params, Returns: returns, Kind: kind}
	switch kind {
	case tool.Repeatable: // these ask the model
		f.Target = model
	case tool.External: // these do nothing themselves but make calls
		f.Mode = tool.ModeCalls
	}
	return f
}

// model is the Target of functions that ask a model.
func model(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "model"}}, nil }

// text returns a parameter that is a text: one that is required, or one with the default "".
func text(name, doc string, required bool) tool.Param {
	p := tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: required}
	if !required {
		p.HasDefault, p.Default = true, ""
	}
	return p
}

// oneOf returns a required parameter that is one of some texts.
func oneOf(name, doc string, values []string) tool.Param {
	p := text(name, doc, true)
	p.Type.Enum = value.Map(values, func(v string) value.Value { return v })
	return p
}

func schema(doc string) tool.Param {
	return tool.Param{Name: "schema", Type: tool.Type{Name: tool.TypeAny}, Description: doc, HasDefault: true, Default: nil}
}

// Ask returns model.ask, without what it does.
func Ask() tool.Func {
	return tool.Func{
		Name: "ask",
		Doc:  "Ask the model. An empty answer is an error. An answer that the provider blocks is an error too.",
		Params: []tool.Param{text("prompt", "what to ask", true), text("system", "an instruction before the conversation, such as the role of the model", false),
			schema("a JSON Schema, or a type such as \"list[str]\": the answer must be a JSON value that matches the schema. If the answer does not match, the model is asked again, at most twice. If it still does not match, the call fails"),
			text("effort", "how much the model reasons: none, minimal, low, medium, high, xhigh or max. Default: the effort of the run", false),
			{Name: "temperature", Type: tool.Type{Name: tool.TypeNumber}, Description: "from 0 to 2. Default: the temperature of the run", HasDefault: true, Default: nil},
			{Name: "max_output_tokens", Type: tool.Type{Name: tool.TypeInteger}, Description: "the maximum length of the answer in tokens. Default: the maximum of the run, or of the model", HasDefault: true, Default: int64(0)}},
		Returns: "the text of the answer, or the value if a schema was passed. An answer that is longer than the maximum length in max_output_tokens is cut off, without an error",
		Kind:    tool.Repeatable,
		Target:  model,
	}
}
