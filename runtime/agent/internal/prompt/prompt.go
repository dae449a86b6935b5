// Package prompt writes what a language model is told: at first, in each turn, of results,
// and when a conversation is made shorter.
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

// A Prompt is what a model is told at the start of a conversation. Its zero
// value tells nothing but the question.
//
// The sections stand in one order: the opening, # Available Tools with how to
// ask for one, the skills, # Context, and # User Question as the last. Only a
// prompt writes these headings: where a description, a context file, a skill or
// a result has such a line, it is shown as a quotation.
type Prompt struct {
	// Role is how the model is spoken to: one of [roles]; or "" for no opening,
	// which leaves the bare sections.
	Role       string
	Tools      []tool.Tool     // that it may call
	Format     decision.Format // in which it writes decisions; "" means PureJSON
	Docs       docs            // how much it is told of each tool
	Skills     []Skill         // that it may load by itself
	Context    string          // what it should know of the project, or ""
	WorkDir    string          // as tools see it, or ""
	Iterations int             // how many replies it has; 0 is not said
}

// docs says how much a model is told of each tool.
type docs string

const (
	docsAuto     docs = ""         // detailed up to ten tools, brief above
	docsDetailed docs = "detailed" // every parameter with its type and meaning
	docsBrief    docs = "brief"    // one line, with the names of the parameters
)

// maxDetailed is how many tools are described in detail unless it is said
// otherwise.
const maxDetailed = 10

// Roles returns the roles that there is an opening for.
func Roles() []string { return []string{"task", "chat", "plan", "review"} }

// Check returns an error of kind Invalid where the role, the format or the kind
// of docs is unknown. A prompt that is used without a check takes what it does
// not know for "".
func (p *Prompt) Check() error {
	for _, c := range []struct {
		what, got string
		valid     []string
	}{
		{"role", p.Role, Roles()},
		{"format", string(p.Format), []string{string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code)}},
		{"kind of docs", string(p.Docs), []string{string(docsDetailed), string(docsBrief)}},
	} {
		if c.got != "" && !slices.Contains(c.valid, c.got) {
			return value.Errorf(value.Invalid, "unknown %s %q%s", c.what, c.got, value.DidYouMean(c.got, c.valid)).
				WithHint("it is one of %s", strings.Join(c.valid, ", "))
		}
	}
	return nil
}

// Message returns the first message of a conversation, and the first after a
// compaction: all of the prompt, with the question at its end.
func (p *Prompt) Message(question string) string {
	sections := nonEmpty(p.opening(), p.Instructions(), p.skillSection(), contextSection(p.Context))
	if len(sections) == 0 {
		return question
	}
	return strings.Join(append(sections, "# User Question\n\n"+question), "\n\n")
}

// opening returns what stands before the sections: the role, and for a model
// with native calls how to end.
func (p *Prompt) opening() string {
	if !slices.Contains(Roles(), p.Role) {
		return ""
	}
	iterations := ""
	if p.Iterations > 0 && (len(p.Tools) > 0 || !p.Chats()) {
		iterations = strconv.Itoa(p.Iterations)
	}
	text := say(p.Role, "workdir", prose.OneLine(p.WorkDir), "iterations", iterations)
	if len(p.Tools) > 0 {
		text += "\n" + say(p.working())
	}
	if !p.Chats() && (len(p.Tools) == 0 || p.format() == decision.Native) {
		text += "\n\n" + strings.Join(nonEmpty(say("format/native"), p.taskComplete()), "\n\n")
	}
	return text
}

// working names the text on how to work with tools.
func (p *Prompt) working() string {
	if p.format() == decision.Code {
		return "working_code"
	}
	return "working"
}

// stub tells what the tools are, to a model that calls them in a program.
func (p *Prompt) stub() string {
	text := stub.Text(p.Tools)
	if text == "" {
		return ""
	}
	return "```python\n" + text + "\n```"
}

// Chats reports whether a reply without a decision is an answer as it is.
func (p *Prompt) Chats() bool { return p.Role == "chat" || p.Role == "" }

// format returns the format, or the default.
func (p *Prompt) format() decision.Format {
	switch p.Format {
	case decision.XMLJSON, decision.Markdown, decision.Native, decision.Code:
		return p.Format
	}
	return decision.PureJSON
}

// Instructions returns the section # Available Tools: what the tools are and how
// to ask for one; "" where both travel beside the text, or there are no tools.
// It is a part of the first message, and may be repeated in later ones.
func (p *Prompt) Instructions() string {
	if len(p.Tools) == 0 || p.format() == decision.Native {
		return ""
	}
	if p.format() == decision.Code {
		return strings.Join(nonEmpty("# Available Tools", p.stub(), p.formatText()), "\n\n")
	}
	sections := []string{"# Available Tools", p.toolDocs(), p.formatText()}
	if p.Role != "" {
		sections = append(sections, say("format/several", "decision", p.decision()))
	}
	return strings.Join(nonEmpty(append(sections, p.taskComplete())...), "\n\n")
}

// taskComplete says that a tool can end the task too, where it is offered.
func (p *Prompt) taskComplete() string {
	for i := range p.Tools {
		if tool.Key(p.Tools[i].Name) == "task_complete" {
			return say("format/task_complete", "task_complete", p.Tools[i].Name)
		}
	}
	return ""
}

// decision names in a few words what the format asks for.
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

func contextSection(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "# Context\n\n" + guest(text) + "\n\n---"
}

// say returns one of the texts of scripts/prompts, with its holes filled from
// alternating names and values. A line with a hole that has nothing to say is
// left out, and so is a blank line after another.
func say(name string, holes ...string) string {
	text, ok := scripts.Prompt(name)
	if !ok {
		panic("agent: there is no prompt " + name) // the folder and this package disagree
	}
	fill := make([]string, len(holes))
	for i, h := range holes {
		fill[i] = h
		if i%2 == 0 {
			fill[i] = "{{" + h + "}}"
		}
	}
	r := strings.NewReplacer(fill...) // in one pass: a value's own braces stay
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
