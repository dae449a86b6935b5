package prompt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxNames is the limit of listed tools or skills: more than a model is offered, so that those that
// a user has added are not cut off.
const maxNames = 300

// maxProblem is the limit of an error or a reason, in bytes.
const maxProblem = 4 << 10

// Reminder returns the line about the format that each later message ends with. It is "" with
// native calls and without tools.
func (p *Prompt) Reminder() string {
	if len(p.Tools) == 0 || p.format() == decision.Native {
		return ""
	}
	if p.Chats() {
		return say("turn/reminder_chat", "decision", p.decision())
	}
	return say("turn/reminder", "decision", p.decision())
}

// formatText returns the instructions for decisions.
func (p *Prompt) formatText() string {
	if len(p.Tools) == 0 {
		return say("format/native")
	}
	return say("format/" + string(p.format()))
}

// NoDecision returns the reminder after a reply without a decision. seen is what in the reply looks
// like a call, or "".
func (p *Prompt) NoDecision(seen string) string {
	return say("turn/no_decision", "problem", guest(value.Clean(seen, maxProblem)), "format", p.formatText())
}

// Empty returns the reminder after a reply without text and calls.
func (p *Prompt) Empty() string { return say("turn/empty") }

// BrokenDecision returns the message for a call that cannot be read.
func (p *Prompt) BrokenDecision(problem string) string {
	format := ""
	if p.format() != decision.Native {
		format = p.formatText()
	}
	return say("turn/broken_decision", "problem", guest(value.Clean(problem, maxProblem)), "format", format)
}

// UnknownTool returns the message for a call of an unknown tool. It lists the tools.
func (p *Prompt) UnknownTool(name string) string {
	return unknown("turn/unknown_tool", name, value.Map(p.Tools, func(t tool.Tool) string { return prose.OneLine(t.Name) }))
}

// SkillUnknown returns the message for an unknown skill. It lists the skills.
func (p *Prompt) SkillUnknown(name string) string {
	return unknown("turn/skill_unknown", name, value.Map(p.Skills, func(s Skill) string { return prose.OneLine(s.Name) }))
}

func unknown(prompt, name string, names []string) string {
	near := value.Nearest(name, names)
	if n := len(names) - maxNames; n > 0 {
		names = append(names[:maxNames:maxNames], fmt.Sprintf("and %d more", n))
	}
	list := strings.Join(names, ", ")
	if list == "" {
		list = "none"
	}
	return say(prompt, "name", prose.OneLine(value.Clean(name, tool.MaxName)), "near", near, "names", list)
}

// SkillLoaded returns the message with the text of a skill that has other files, or of one of them: a NAME/FILE.
func (p *Prompt) SkillLoaded(name, text string, files []string) string {
	name = prose.OneLine(name)
	if strings.Contains(name, "/") {
		return say("turn/skill_file", "name", name, "text", guest(text))
	}
	tag := ""
	if len(files) > 0 {
		tag = skillOpen + name + "/" + prose.OneLine(files[0]) + skillClose
	}
	return say("turn/skill_loaded", "name", name, "text", guest(text), "tag", tag)
}

// Denied returns the message for a call that the user did not approve. reason is the user's
// explanation, or "".
func (p *Prompt) Denied(reason string) string {
	return say("turn/denied", "reason", prose.OneLine(value.Clean(hint.Message(reason, hint.Models), maxProblem)))
}

// AnswerRefused returns the message after an answer that a hook has refused with a reason. It is ""
// without one.
func (p *Prompt) AnswerRefused(reason string) string {
	if reason == "" {
		return ""
	}
	return say("turn/answer_refused", "reason", reason)
}

// LoopWarning returns the warning for a call that is repeated with the same result.
func (p *Prompt) LoopWarning(name string, times int) string {
	return say("turn/loop", "name", prose.OneLine(name), "times", strconv.Itoa(times))
}

// Cut returns the message after a reply that was cut off and has neither a call nor an answer.
func (p *Prompt) Cut() string { return say("turn/cut") }

// ContinueAnswer returns the request for the rest of an answer that was cut off.
func (p *Prompt) ContinueAnswer() string { return say("turn/continue") }

// LastTurn returns the request for the answer without further calls: after the call that the
// model marked as its last, and at the limit of replies.
func (p *Prompt) LastTurn() string { return say("turn/last_turn") }

// LastIteration returns the message that the next reply is the last one.
func (p *Prompt) LastIteration() string { return say("turn/last_iteration") }

// MoreIterations returns the message that there are n more replies, after the last one.
func (p *Prompt) MoreIterations(n int) string { return say("turn/more", "times", strconv.Itoa(n)) }

// CompactRequest returns the request for the summary of a conversation, see [Prompt.Continue].
func (p *Prompt) CompactRequest() string { return say("compact") }
