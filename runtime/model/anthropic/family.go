package anthropic

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A thinking is how a model thinks before it answers.
type thinking int

const (
	thinksNever  thinking = iota
	thinksBudget          // if it is asked to, within a number of tokens
	thinksAsked           // as much as it decides, if it is asked to
	thinksAlways          // as much as it decides, by default
)

// A family is what is known about the models whose names begin with one of its prefixes: which
// parts of a request they accept. What they do not accept is an error with status 400, so it is
// never sent.
type family struct {
	prefixes string // separated by spaces
	thinks   thinking
	off      string // the type of thinking without thinking, or "" if it cannot be switched off
	most     string // the effort in place of xhigh, if that is not known; "" if it is
	forced   bool   // tool_choice may force a call
	sampling bool   // temperature is accepted, with the version 2023-06-01 of the API
	schemas  bool   // structured output
	system   bool   // instructions in mid-conversation
}

// families returns the table of models, from
// https://platform.claude.com/docs/en/build-with-claude/thinking, …/effort, …/structured-outputs
// and the pages "What's new" of the models, as of 2026-11.
func families() []family {
	return []family{
		{prefixes: "claude-3-haiku claude-3-sonnet claude-3-opus claude-3-5-haiku claude-3-5-sonnet", forced: true, sampling: true},
		{prefixes: "claude-3-7-sonnet claude-sonnet-4 claude-sonnet-4-0 claude-opus-4 claude-opus-4-0", thinks: thinksBudget, forced: true, sampling: true},
		{prefixes: "claude-opus-4-1 claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5", thinks: thinksBudget, forced: true, sampling: true, schemas: true},
		{prefixes: "claude-opus-4-6 claude-sonnet-4-6", thinks: thinksAsked, off: "disabled", most: "max", forced: true, sampling: true, schemas: true},
		{prefixes: "claude-opus-4-7", thinks: thinksAsked, off: "disabled", forced: true, schemas: true},
		{prefixes: "claude-opus-4-8", thinks: thinksAsked, off: "disabled", forced: true, schemas: true, system: true},
		{prefixes: "claude-opus-5 claude-sonnet-5", thinks: thinksAlways, off: "disabled", forced: true, schemas: true, system: true},
		{prefixes: "claude-sonnet-5-5", thinks: thinksAlways, off: "between_tools", schemas: true, system: true},
		newest(),
	}
}

// newest is the family of the newest models, and of later ones that the table does not know:
// each generation has accepted less than the one before.
func newest() family {
	return family{prefixes: "claude-opus-5-5 claude-haiku-5-5 claude-fable-5 claude-fable-5-1 claude-fable-5-2 " +
		"claude-mythos-preview claude-mythos-5 claude-mythos-5-1 claude-mythos-5-2", thinks: thinksAlways, schemas: true, system: true}
}

// familyOf returns what is known about a model. A model of another vendor, behind a gateway, gets
// what the request asks for, and nothing by default.
func familyOf(name string) family {
	name = plainName(name)
	for _, f := range families() {
		for prefix := range strings.FieldsSeq(f.prefixes) {
			if rest, ok := strings.CutPrefix(name, prefix); ok && !isMinor(rest) {
				return f
			}
		}
	}
	if strings.HasPrefix(name, "claude-") {
		return newest()
	}
	return family{thinks: thinksAsked, forced: true, sampling: true, schemas: true}
}

// plainName returns the vendor's name of a model, which gateways write as "anthropic/claude-opus-4.5"
// or "us.anthropic.claude-opus-5".
func plainName(name string) string {
	if i := strings.Index(name, "claude-"); i >= 0 {
		return strings.ReplaceAll(name[i:], ".", "-")
	}
	return name
}

// isMinor reports whether the rest of a name continues the number of its version, as "-5" does
// after "claude-opus-5". Longer numbers are dates.
func isMinor(rest string) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(rest, "-"), "-")
	return rest != "" && (rest[0] != '-' && rest[0] != '@' && rest[0] != ':' || number != "" && len(number) < 3 && strings.Trim(number, "0123456789") == "")
}

// boundToPrefix reports whether thinking is sent only after the conversation that it was written
// for. Newer models refuse it elsewhere, see [composer]. Models with a budget do not look, and want
// the thinking of a turn back while the turn lasts.
func (f *family) boundToPrefix() bool { return f.thinks != thinksBudget }

// budgets returns the tokens of thinking for an effort, for models that want a number. The words
// are those of [model.Request].
func budgets(effort string) int64 {
	switch effort {
	case "minimal":
		return leastBudget
	case "low":
		return 2048
	case "medium":
		return 8192
	case "high":
		return 16_384
	case "xhigh", "max":
		return 32_768
	}
	return 0
}

// leastBudget is the smallest budget that the API accepts.
const leastBudget = 1024

// effortOf returns the API's word for an effort.
func (f *family) effortOf(effort string) string {
	switch {
	case effort == "none" || effort == "minimal": // if thinking cannot be switched off
		return "low"
	case effort == "xhigh" && f.most != "":
		return f.most
	}
	return effort
}

// checkEffort rejects unknown words.
func checkEffort(effort string) *value.Error {
	known := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	for _, word := range known {
		if effort == word {
			return nil
		}
	}
	if effort == "" {
		return nil
	}
	return value.Errorf(value.Invalid, "unknown effort %q%s", effort, value.DidYouMean(effort, known)).WithHint("use one of: \"%s\"", strings.Join(known, `", "`))
}

// putThinking adds how much the model thinks. Summaries are always wanted: without them newer
// models return what they write between calls as blocks without a text.
func (f *family) putThinking(body *value.Dict, r *model.Request, output *value.Dict) {
	adaptive := value.NewDict("type", "adaptive", "display", "summarized")
	switch {
	case f.thinks == thinksNever:
	case f.thinks == thinksBudget:
		// A reply needs a part of its tokens for the answer.
		budget := min(budgets(r.Effort), body.Int("max_tokens")*3/4)
		if budget >= leastBudget && !midTurn(body) {
			body.Put("thinking", value.NewDict("type", "enabled", "budget_tokens", budget))
		}
	case r.Effort == "none" && f.off != "":
		body.Put("thinking", value.NewDict("type", f.off))
	case r.Effort == "none" && f.thinks == thinksAsked:
	case r.Effort != "":
		body.Put("thinking", adaptive)
		output.Put("effort", f.effortOf(r.Effort))
	case f.thinks == thinksAlways:
		body.Put("thinking", adaptive)
	}
}

// midTurn reports whether the conversation ends in a turn with calls that began without
// thinking: it cannot be switched on before the next turn.
func midTurn(body *value.Dict) bool {
	messages := wire.Children(body, "messages")
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Text("role") != "assistant" {
			continue
		}
		blocks := wire.Children(messages[i], "content")
		called := false
		for _, b := range blocks {
			called = called || b.Text("type") == "tool_use"
		}
		return called && !isThinking(blocks[0])
	}
	return false
}

// choice returns tool_choice, or nil for its default. A call that the model does not let us force
// is left to it: the caller checks whether it was made.
func (f *family) choice(body *value.Dict, choice string) *value.Dict {
	switch choice {
	case "", model.ToolAuto:
		return nil
	case model.ToolNone:
		return value.NewDict("type", "none")
	}
	if !f.forced || wire.Child(body, "thinking").Text("type") == "enabled" {
		return nil
	}
	if choice == model.ToolRequired {
		return value.NewDict("type", "any")
	}
	return value.NewDict("type", "tool", "name", choice)
}
