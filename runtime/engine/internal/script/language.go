// Package script is the part of the engine that its languages share: declarations,
// calls and functions.
package script

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Language is a form of script.
type Language interface {
	// Declare reads a file's declaration. It only parses the file.
	Declare(src Source) (*Declaration, error)
	// Compile makes a script ready to run.
	Compile(s tool.Script) (Program, error)
	// Statements lists the lines of the statements in the functions of a script, sorted,
	// without running it.
	Statements(s tool.Script) ([]int, error)
}

// A Fenced language can be written in the code block of a Markdown file.
type Fenced interface {
	// DeclareBlock reads the handler in the code block.
	DeclareBlock(src Source) (*Declaration, error)
	// CompileBlock makes the code block ready to run. If the language needs the
	// declared type of the result, it calls returns.
	CompileBlock(s tool.Script, returns func() (*tool.Type, error)) (Program, error)
	// Statements lists the lines of the statements of the code block.
	Statements(s tool.Script) ([]int, error)
}

// A Program is a compiled script. It is safe for concurrent use.
type Program interface {
	Call(r *Run, entry string) (value.Value, error)
}

// A Source is a file's text with the name that errors show.
type Source struct {
	Path string
	Text string
	Libs map[string]string
}

// PlainText returns a file's text with \n as line ends and without the byte order mark
// that editors on Windows add. It rejects NUL, where parsers would stop but readers
// would not, and text that is not UTF-8.
func PlainText(file, text string) (string, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	for i, r := range text {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			e := value.Errorf(value.Invalid, "the byte %#02x is not allowed in a script", text[i]).WithHint("save the file as UTF-8")
			start := strings.LastIndexByte(text[:i], '\n') + 1
			e.Pos = value.Position{File: file, Line: 1 + strings.Count(text[:start], "\n"), Col: 1 + utf8.RuneCountInString(text[start:i])}
			return "", e
		}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n"), nil
}

// HandlerName returns the handler among the functions of a code block: the function
// that is named like the tool or "handler", or the only one whose name does not begin
// with _. Its error has no position.
func HandlerName(functions []string, stem string) (string, error) {
	for _, name := range []string{tool.Key(stem), "handler"} {
		if slices.Contains(functions, name) {
			return name, nil
		}
	}
	public := slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return strings.HasPrefix(name, "_") })
	switch len(public) {
	case 0:
		return "", value.Errorf(value.Invalid, "Code block must define a function")
	case 1:
		return public[0], nil
	}
	return "", value.Errorf(value.Invalid, "no function has the name of the tool: the code defines %d functions (%s)", len(public), strings.Join(public, ", ")).
		WithHint("rename the handler to %q, and begin the names of helpers with _", tool.Key(stem))
}

// Stem returns a file's name without its folder and its suffix: the key of its tool.
func Stem(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}
