// Package script is what the languages of the engine share: what a file declares, how a
// call of it goes, and which functions it has.
package script

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Language is what one form of script does for the engine.
type Language interface {
	// Declare reads what a file declares, by parsing alone.
	Declare(src Source) (*Declaration, error)
	// Compile makes a script ready to be called.
	Compile(s tool.Script) (Program, error)
}

// A Fenced language can be written in the code block of a Markdown file.
type Fenced interface {
	// DeclareBlock reads the handler that the code block holds.
	DeclareBlock(src Source) (*Declaration, error)
	// CompileBlock makes the code block ready to be called. Where the language
	// needs the declared type of the result, it asks for it.
	CompileBlock(s tool.Script, returns func() (*tool.Type, error)) (Program, error)
}

// A Program is a compiled script. It is safe for concurrent use.
type Program interface {
	Call(r *Run, entry string) (value.Value, error)
}

// A Source is one file's text under the name that errors show.
type Source struct {
	Path string
	Text string
	Libs map[string]string
}

// PlainText returns a file's text with \n at the end of each line and without
// a byte order mark, as Windows's editors leave one. A NUL, which would end the
// text for a parser and for no reader, is refused, as is what is not UTF-8.
func PlainText(file, text string) (string, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	for i, r := range text {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			e := value.Errorf(value.Invalid, "the byte %#02x is no text", text[i]).WithHint("save the file as UTF-8")
			start := strings.LastIndexByte(text[:i], '\n') + 1
			e.Pos = value.Position{File: file, Line: 1 + strings.Count(text[:start], "\n"), Col: 1 + utf8.RuneCountInString(text[start:i])}
			return "", e
		}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n"), nil
}

// Stem is a file's name without its folder and its suffix: the key of its tool.
func Stem(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}
