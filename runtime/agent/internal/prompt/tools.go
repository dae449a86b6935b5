package prompt

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// maxExample is the limit of an example, in bytes. Longer ones are omitted.
	maxExample = 400
	// maxChoices is the limit of listed values of a parameter.
	maxChoices = 30
	// maxSchema is the limit of a schema that is shown as JSON, in bytes.
	maxSchema = 4000
	// maxHints is the limit of hints of a tool, and maxHint that of one of them, in bytes.
	maxHints, maxHint = 10, 60
)

// toolDocs returns the documentation of the tools.
func (p *Prompt) toolDocs() string {
	brief := p.Docs == DocsBrief || p.Docs != DocsDetailed && len(p.Tools) > maxDetailed
	docs := make([]string, len(p.Tools))
	for i := range p.Tools {
		if brief {
			docs[i] = briefDoc(&p.Tools[i])
		} else {
			docs[i] = detailedDoc(&p.Tools[i])
		}
	}
	return strings.Join(docs, "\n\n")
}

// Undocumented reports whether a tool has nothing but a name.
func Undocumented(t *tool.Tool) bool {
	return t.Description == "" && len(t.Params) == 0 && len(t.Schema) == 0
}

// briefDoc returns the documentation of a tool in one line, with the types and defaults of its
// parameters.
func briefDoc(t *tool.Tool) string {
	if Undocumented(t) {
		return "- " + prose.OneLine(t.Name)
	}
	line := fmt.Sprintf("- **%s**: %s", stub.Signature(t), prose.OneLine(t.Description))
	for _, h := range hintWords(t) {
		line += " [" + h + "]"
	}
	return line
}

// detailedDoc returns the documentation of a tool as a section.
func detailedDoc(t *tool.Tool) string {
	if Undocumented(t) {
		return "### " + prose.OneLine(t.Name) + "\n\nNo documentation available."
	}
	parts := []string{"### " + prose.OneLine(t.Name), "**Description:** " + quoteHeadings(guest(t.Description))}
	params, err := t.CallerParams()
	if len(params) > 0 {
		parts = append(parts, "**Parameters:**")
		parts = appendParams(parts, params, 0)
	}
	if err != nil {
		parts = append(parts, "**Parameters**, as a JSON Schema: "+codeSpan(value.Clean(prose.OneLine(string(t.Schema)), maxSchema)))
	}
	if hints := hintWords(t); len(hints) > 0 {
		parts = append(parts, "**Hints:** "+strings.Join(hints, ", "))
	}
	if len(t.Examples) > 0 {
		if call := t.CallText(t.Examples[0].Args); len(call) <= maxExample {
			parts = append(parts, "**Example:** "+codeSpan(prose.OneLine(call)))
		}
	}
	return strings.Join(parts, "\n")
}

// quoteHeadings puts "> " before the headings of a description, which look like the names of
// other tools.
func quoteHeadings(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines[i] = "> " + line
		}
	}
	return strings.Join(lines, "\n")
}

// appendParams adds a line for each parameter, followed by the fields of an object.
func appendParams(lines []string, params []tool.Param, depth int) []string {
	for i := range params {
		x := &params[i]
		need := "optional"
		if x.Required {
			need = "required"
		}
		line := fmt.Sprintf("%s- %s (%s) (%s)", strings.Repeat("  ", depth), codeSpan(prose.OneLine(x.Name)), prose.OneLine(x.Type.String()), need)
		if text := strings.TrimSpace(prose.OneLine(x.Description) + constraintWords(x)); text != "" {
			line += ": " + text
		}
		lines = append(lines, line)
		if fields := x.Type.Fields; len(fields) > 0 && depth+1 < stub.MaxNesting {
			lines = appendParams(lines, fields, depth+1)
		} else if x.Type.Items != nil && len(x.Type.Items.Fields) > 0 && depth+1 < stub.MaxNesting {
			lines = appendParams(lines, x.Type.Items.Fields, depth+1)
		}
	}
	return lines
}

// constraintWords describes the valid values and the default of a parameter.
func constraintWords(x *tool.Param) string {
	var facts []string
	if choices := x.Type.Enum; len(choices) > 0 {
		facts = append(facts, "one of "+choiceWords(choices))
	} else if x.Type.Items != nil && len(x.Type.Items.Enum) > 0 {
		facts = append(facts, "of "+choiceWords(x.Type.Items.Enum))
	}
	switch {
	case x.Type.Min != nil && x.Type.Max != nil:
		facts = append(facts, fmt.Sprintf("%s to %s", value.FormatJSON(x.Type.Min, ""), value.FormatJSON(x.Type.Max, "")))
	case x.Type.Min != nil:
		facts = append(facts, "at least "+value.FormatJSON(x.Type.Min, ""))
	case x.Type.Max != nil:
		facts = append(facts, "at most "+value.FormatJSON(x.Type.Max, ""))
	}
	if x.Type.Pattern != "" {
		facts = append(facts, "matches "+codeSpan(prose.OneLine(x.Type.Pattern)))
	}
	if x.HasDefault && x.Default != nil {
		facts = append(facts, "default "+prose.OneLine(value.FormatJSON(x.Default, "")))
	}
	if len(facts) == 0 {
		return ""
	}
	return " [" + strings.Join(facts, "; ") + "]"
}

func choiceWords(values []value.Value) string {
	words := make([]string, 0, maxChoices+1)
	for i, v := range values {
		if i == maxChoices {
			words = append(words, fmt.Sprintf("… %d more", len(values)-i))
			break
		}
		words = append(words, prose.OneLine(value.FormatJSON(v, "")))
	}
	return strings.Join(words, ", ")
}

// hintWords returns the hints of a tool. A name that an author chose may be any text.
func hintWords(t *tool.Tool) []string {
	words := t.Hints.Words()
	if len(words) > maxHints {
		words = append(words[:maxHints:maxHints], fmt.Sprintf("… %d more", len(words)-maxHints))
	}
	for i, word := range words {
		words[i] = value.Clean(prose.OneLine(word), maxHint)
	}
	return words
}
