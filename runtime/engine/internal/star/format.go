package star

import (
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Format returns a file in the format of buildifier. It fails if the file does not parse.
func (l *Language) Format(src script.Source) (string, error) {
	// This also bounds the work of the other parser, see package scan.
	before, err := l.parse(src.Path, src.Text)
	if err != nil {
		return "", err
	}
	text, err := script.PlainText(src.Path, src.Text)
	if err != nil {
		return "", err
	}
	tree, err := build.ParseBzl(src.Path, []byte(text))
	if err != nil {
		message := err.Error()
		if _, after, ok := strings.Cut(message, "): "); ok {
			message = after
		}
		return "", formatError(src.Path, 0, "the file cannot be formatted: %s", message)
	}
	formatted := string(build.Format(tree))
	after, err := l.parse(src.Path, formatted)
	if err != nil || len(after.defs) != len(before.defs) || len(after.syntax.Stmts) != len(before.syntax.Stmts) {
		return "", formatError(src.Path, 0, "the file cannot be formatted: its meaning would change")
	}
	return formatted, nil
}

func formatError(path string, line int, format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos = value.Position{File: path, Line: line}
	return e
}
