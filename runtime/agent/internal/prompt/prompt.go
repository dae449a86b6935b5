// Package prompt writes the messages for a language model: the first prompt, reminders,
// results of calls, and the start of a compacted conversation.
package prompt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

// A Prompt is the first message of a conversation. The zero value has only the question.
//
// The order of the sections is fixed: the opening, the instructions of an agent file, # Available Tools with the format of calls,
// the skills, # Context, and # User Question. Only a prompt writes these headings: such a line
// in a description, a context file, a skill or a result is quoted.
type Prompt struct {
	// Role selects the opening: one of [Roles], or "" for none.
	Role       string
	Agent      string          // the instructions of an agent file, or ""
	Tools      []tool.Tool     // that the model may call
	Format     decision.Format // of decisions; default PureJSON
	Docs       Docs            // the length of the documentation of tools
	Skills     []Skill         // that the model may load by itself
	Context    string          // a description of the project, or ""
	WorkDir    string          // the working directory of the tools, or ""
	Iterations int             // the limit of replies; 0 states none
}

// Docs is the length of the documentation of tools.
type Docs string

const (
	DocsAuto     Docs = "auto"     // the default: detailed up to ten tools, brief above
	DocsDetailed Docs = "detailed" // each parameter with its type and description
	DocsBrief    Docs = "brief"    // one line, with the types of the parameters
)

// Check fails with kind Invalid if the length is unknown.
func (d Docs) Check() error {
	known := []string{string(DocsAuto), string(DocsDetailed), string(DocsBrief)}
	if d == "" || slices.Contains(known, string(d)) {
		return nil
	}
	return value.Errorf(value.Invalid, "unknown length %q for the descriptions of the tools%s", string(d), value.DidYouMean(string(d), known)).
		WithHint("use one of: \"%s\"", strings.Join(known, `", "`))
}

// unbounded is the limit of replies above which the prompt states none: no run has so many.
const unbounded = 100_000

// maxDetailed is the largest number of tools that are described in detail by default.
const maxDetailed = 10

// Roles returns the roles that have an opening.
func Roles() []string { return []string{"task", "chat", "plan", "review"} }

// Message returns the first message of a conversation, also after a compaction: the full
// prompt, with the question at its end.
func (p *Prompt) Message(question string) string {
	sections := nonEmpty(p.opening(), guest(p.Agent), p.Instructions(), p.skillSection(), contextSection(p.Context))
	if len(sections) == 0 {
		return question
	}
	return strings.Join(append(sections, "# User Question\n\n"+question), "\n\n")
}

// opening returns the text before the sections: the role, and for a model with native calls
// how to end the task.
func (p *Prompt) opening() string {
	if !slices.Contains(Roles(), p.Role) {
		return ""
	}
	iterations, oneReply := "", ""
	switch {
	case p.Iterations == 0 || p.Iterations >= unbounded || len(p.Tools) == 0 && p.Chats():
	case p.Iterations == 1:
		oneReply = say("one_reply")
	default:
		iterations = strconv.Itoa(p.Iterations)
	}
	text := say(p.Role, "workdir", prose.OneLine(p.WorkDir), "iterations", iterations, "one_reply", oneReply)
	if len(p.Tools) > 0 {
		text += "\n" + say(p.working())
	}
	if !p.Chats() && (len(p.Tools) == 0 || p.format() == decision.Native) {
		text += "\n\n" + strings.Join(nonEmpty(say("format/native"), p.taskComplete()), "\n\n")
	}
	return text
}

// working returns the name of the text about working with tools.
func (p *Prompt) working() string {
	if p.format() == decision.Code {
		return "working_code"
	}
	return "working"
}

// stub describes the tools as functions, to a model that calls them in a program.
func (p *Prompt) stub() string {
	text := stub.Text(p.Tools)
	if text == "" {
		return ""
	}
	return "```python\n" + text + "\n```"
}

// Chats reports whether a reply without a decision is an answer.
func (p *Prompt) Chats() bool { return p.Role == "chat" || p.Role == "" }

// format returns the format, or the default.
func (p *Prompt) format() decision.Format {
	switch p.Format {
	case decision.XMLJSON, decision.Markdown, decision.Native, decision.Code:
		return p.Format
	}
	return decision.PureJSON
}

// Instructions returns the section # Available Tools: the tools and the format of calls. It is
// "" with native calls and without tools. It is part of the first message, and may be
// repeated in later ones.
func (p *Prompt) Instructions() string {
	if len(p.Tools) == 0 || p.format() == decision.Native {
		return ""
	}
	if p.format() == decision.Code {
		return strings.Join(nonEmpty("# Available Tools", p.stub(), p.formatText()), "\n\n")
	}
	sections := []string{"# Available Tools", p.toolDocs(), p.formatText()}
	if p.Role != "" {
		sections = append(sections, say("format/status", "final", p.lastStatus()), say("format/several", "decision", p.decision()))
	}
	return strings.Join(nonEmpty(append(sections, p.taskComplete())...), "\n\n")
}

// taskComplete explains the tool that ends the task, if there is one.
func (p *Prompt) taskComplete() string {
	for i := range p.Tools {
		if tool.Key(p.Tools[i].Name) == "task_complete" {
			return say("format/task_complete", "task_complete", p.Tools[i].Name)
		}
	}
	return ""
}

// decision returns a short name for a decision in the format.
func (p *Prompt) decision() string {
	switch p.format() {
	case decision.PureJSON:
		return "tool_decision object"
	case decision.Native:
		return "tool call"
	case decision.Code:
		return "```starlark block"
	}
	return "<TOOL_DECISION> block"
}

// lastStatus returns how a decision says that its call is the last one.
func (p *Prompt) lastStatus() string {
	if p.format() == decision.PureJSON {
		return `"status": "final"`
	}
	return "STATUS: final"
}

func contextSection(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "# Context\n\n" + guest(text) + "\n\n---"
}

// say returns a text of scripts/prompts. Its placeholders are replaced from alternating names
// and values. A line with an empty placeholder is omitted, and so are repeated blank lines.
func say(name string, holes ...string) string {
	text, ok := scripts.Prompt(name)
	if !ok {
		panic("prompt: no text " + name + " in scripts/prompts")
	}
	fill := make([]string, len(holes))
	for i, h := range holes {
		fill[i] = h
		if i%2 == 0 {
			fill[i] = "{{" + h + "}}"
		}
	}
	r := strings.NewReplacer(fill...) // in one pass: braces in values stay
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" && len(lines) > 0 && lines[len(lines)-1] == "" || hasEmptyHole(line, fill) {
			continue
		}
		lines = append(lines, r.Replace(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func hasEmptyHole(line string, fill []string) bool {
	for i := 0; i+1 < len(fill); i += 2 {
		if fill[i+1] == "" && strings.Contains(line, fill[i]) {
			return true
		}
	}
	return false
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
