// Package agentfile reads agent files: Markdown files that define an agent, with the fields of
// Claude Code and opencode, and some of cassidy's own.
//
// An agent file comes from an author who may be untrusted, so it can only narrow what an agent
// may do: it selects some of the tools, adds rules that deny or ask, and sets limits. What would
// grant something is ignored with a warning.
package agentfile

import (
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxSize is the limit of an agent file, in bytes: a model reads all of it.
const MaxSize = 256 << 10

// Parse reads an agent file. stem is the name of the file without .md, which is the name of the
// agent if the file sets none. shown is the file in messages. The warnings name what is ignored.
func Parse(stem, shown, text string) (d tool.Agent, warnings []string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	meta, n := yaml.FrontMatter(lines)
	switch n {
	case 0:
		return d, nil, malformed("the file does not begin with front matter")
	case -1:
		return d, nil, malformed("the front matter has no end: a second line with --- is missing")
	}
	p := &parser{to: &d, meta: meta}
	d = tool.Agent{Name: stem, Path: shown, Prompt: strings.TrimSpace(folder.Plain(strings.Join(lines[n:], "\n")))}
	fields, err := p.parse()
	if err == nil {
		err = p.read(fields)
	}
	return d, p.warnings, err
}

// Line returns the line of a field in the text of an agent file, or 0 if the text has no such field.
func Line(text, field string) int {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	meta, _ := yaml.FrontMatter(strings.Split(text, "\n"))
	if line := yaml.Line(meta, field); line > 0 {
		return line + 1 // the line --- above
	}
	return 0
}

func malformed(format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with three lines: ---, description: what the agent is for, ---")
}

// parse parses the front matter.
func (p *parser) parse() (*value.Dict, error) {
	fields, warnings, err := yaml.Fields(p.meta)
	p.warnings = append(p.warnings, warnings...)
	if err == nil && fields == nil {
		err = malformed("the front matter has no fields")
	}
	return fields, err
}
