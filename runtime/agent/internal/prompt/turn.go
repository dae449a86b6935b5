package prompt

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxNames is how many tools or skills an error lists: what a prompt may
// reasonably offer.
const maxNames = 100

// maxProblem is how much of an error or a reason is told, in bytes.
const maxProblem = 4 << 10

// Reminder returns the line that each later message ends with, so that the
// format stays in sight; "" where a model needs none.
func (p *Prompt) Reminder() string {
	if len(p.Tools) == 0 || p.format() == decision.Native {
		return ""
	}
	if p.Chats() {
		return say("turn/reminder_chat", "decision", p.decision())
	}
	return say("turn/reminder", "decision", p.decision())
}

// formatText repeats how to write a decision.
func (p *Prompt) formatText() string {
	if len(p.Tools) == 0 {
		return say("format/native")
	}
	return say("format/" + string(p.format()))
}

// NoDecision tells a model that its reply asked for nothing.
func (p *Prompt) NoDecision() string { return say("turn/no_decision", "format", p.formatText()) }

// BrokenDecision tells a model that its call cannot be read, and why.
func (p *Prompt) BrokenDecision(problem string) string {
	format := ""
	if p.format() != decision.Native {
		format = p.formatText()
	}
	return say("turn/broken_decision", "problem", guest(value.Clean(problem, maxProblem)), "format", format)
}

// UnknownTool tells a model that there is no tool of this name, and which there
// are.
func (p *Prompt) UnknownTool(name string) string {
	names := make([]string, len(p.Tools))
	for i := range p.Tools {
		names[i] = prose.OneLine(p.Tools[i].Name)
	}
	return unknown("turn/unknown_tool", name, names)
}

// SkillUnknown tells a model that there is no skill of this name, and which
// there are.
func (p *Prompt) SkillUnknown(name string) string {
	names := make([]string, len(p.Skills))
	for i, s := range p.Skills {
		names[i] = prose.OneLine(s.Name)
	}
	return unknown("turn/skill_unknown", name, names)
}

func unknown(prompt, name string, names []string) string {
	near := value.Nearest(name, names)
	if len(names) > maxNames {
		names = append(names[:maxNames:maxNames], "…")
	}
	list := strings.Join(names, ", ")
	if list == "" {
		list = "none"
	}
	return say(prompt, "name", prose.OneLine(value.Clean(name, tool.MaxName)), "near", near, "names", list)
}

// SkillLoaded gives a model the instructions of a skill that it asked for.
func (p *Prompt) SkillLoaded(name, text string) string {
	return say("turn/skill_loaded", "name", prose.OneLine(name), "text", guest(text))
}

// Denied tells a model that the user said no, with the user's words where
// there are some.
func (p *Prompt) Denied(reason string) string {
	return say("turn/denied", "reason", prose.OneLine(value.Clean(reason, maxProblem)))
}

// LoopWarning tells a model that it repeats a call that gives nothing new.
func (p *Prompt) LoopWarning(name string, times int) string {
	return say("turn/loop", "name", prose.OneLine(name), "times", strconv.Itoa(times))
}

// LastTurn asks a model for its answer, since no tool is run any more: after
// the call that it marked as its last, and where its replies are used up.
func (p *Prompt) LastTurn() string { return say("turn/last_turn") }

// LastIteration tells a model that this is its last reply.
func (p *Prompt) LastIteration() string { return say("turn/last_iteration") }

// CompactRequest asks a model for the summary with which its conversation goes
// on in another; see [prompt.Continue].
func (p *Prompt) CompactRequest() string { return say("compact") }
