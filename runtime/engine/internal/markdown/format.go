package markdown

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Format formats the code block of a file. The other lines are kept.
func (m *Language) Format(src script.Source) (string, error) {
	file, err := m.split(src.Path, src.Text)
	if err != nil {
		return "", err
	}
	formatter, ok := file.code.(lint.Formatter)
	if !ok {
		return "", value.Errorf(value.Invalid, "only Starlark can be formatted")
	}
	text, err := script.PlainText(src.Path, src.Text)
	if err != nil {
		return "", err
	}
	code, err := formatter.Format(script.Source{Path: src.Path, Text: file.text})
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	end := strings.Count(file.text, "\n")
	return strings.Join(lines[:file.line], "") + strings.TrimLeft(code, "\n") + strings.Join(lines[end:], ""), nil
}
