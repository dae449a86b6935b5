package script

import (
	"strings"
)

// A docstring is a handler's documentation in the form that buildifier checks: a text,
// then the sections Args: and Returns: with indented lines.
type docstring struct {
	text    string            // all before the first section
	args    map[string]string // of each parameter
	types   map[string]string // of each parameter, as in "name (type): text"
	returns string
}

// Describes reports whether the docstring describes any parameter.
func (d docstring) Describes() bool {
	for _, text := range d.args {
		if text != "" {
			return true
		}
	}
	return false
}

// NewDocstring returns a docstring with these parts.
func NewDocstring(text string, args map[string]string, returns string) docstring {
	return docstring{text: text, args: args, returns: returns}
}

// ParseDocstring reads a docstring. Other sections (Raises:, Example:, …) are not part
// of any description.
func ParseDocstring(text string) docstring {
	lines := dedent(text)
	d := docstring{args: map[string]string{}}
	section := ""
	sections := map[string][]string{}
	for _, line := range lines {
		if name := sectionName(line); name != "" {
			section = name
			continue
		}
		sections[section] = append(sections[section], line)
	}
	d.text = strings.TrimSpace(strings.Join(sections[""], "\n"))
	d.returns = joinWords(sections["returns"])
	d.readArgs(sections["args"])
	return d
}

// dedent removes the common indentation from all lines but the first.
func dedent(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	common := -1
	for _, line := range lines[1:] {
		trimmed := strings.TrimLeft(line, " \t")
		if n := len(line) - len(trimmed); trimmed != "" && (common < 0 || n < common) {
			common = n
		}
	}
	lines[0] = strings.TrimSpace(lines[0])
	for i := 1; i < len(lines); i++ {
		lines[i] = strings.TrimRight(lines[i][min(max(common, 0), len(lines[i])):], " \t")
	}
	return lines
}

// sectionName returns the name of the section that a line opens, or "".
func sectionName(line string) string {
	switch line {
	case "Args:", "Arguments:", "Parameters:":
		return "args"
	case "Returns:", "Return:":
		return "returns"
	case "Raises:", "Fails:", "Example:", "Examples:", "Note:", "Notes:", "Yields:", "Deprecated:":
		return strings.ToLower(line)
	}
	return ""
}

// readArgs reads lines of the form "name: text", or "name (type): text", with
// continuations indented further.
func (d *docstring) readArgs(lines []string) {
	indent := -1
	var name string
	var words []string
	end := func() {
		if name != "" {
			d.args[name] = joinWords(words)
		}
		name, words = "", nil
	}
	for _, line := range lines {
		trimmed := strings.TrimLeft(line, " \t")
		if trimmed == "" {
			continue
		}
		depth := len(line) - len(trimmed)
		if indent < 0 {
			indent = depth
		}
		head, rest, ok := strings.Cut(trimmed, ":")
		head, kind, _ := strings.Cut(head, "(")
		head = strings.TrimLeft(strings.TrimSpace(head), "*")
		if ok && depth <= indent && head != "" && !strings.ContainsAny(head, " \t") {
			end()
			name, words = head, []string{rest}
			if kind, closed := strings.CutSuffix(strings.TrimSpace(kind), ")"); closed {
				if d.types == nil {
					d.types = map[string]string{}
				}
				d.types[name] = kind
			}
			continue
		}
		words = append(words, trimmed)
	}
	end()
}

func joinWords(lines []string) string {
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}
