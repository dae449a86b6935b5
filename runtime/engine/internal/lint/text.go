// Package lint is the part of the checks of scripts that all languages share.
package lint

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// bom is the byte order mark that editors on Windows add.
const bom = "\ufeff"

// A Text is the text of a file, with the offset of each line. The parsers count lines and
// columns in a text without byte order mark and with \n as line ends: see script.PlainText.
type Text struct {
	Path   string
	Source string
	lines  []int // the offset of each line
	wide   bool  // whether there are characters of several bytes
	runes  []int // in a wide text, the number of characters before each part of runesStep bytes
}

// runesStep is how many bytes are counted at most to find the column of an offset: a line can be as long as the file.
const runesStep = 256

// NewText returns the text of a file.
func NewText(path, source string) *Text {
	t := &Text{Path: path, Source: source, wide: strings.ContainsFunc(source, func(r rune) bool { return r >= utf8.RuneSelf })}
	start := len(source) - len(strings.TrimPrefix(source, bom))
	t.lines = append(t.lines, start)
	for i := start; i < len(source); i++ {
		switch {
		case source[i] == '\r' && i+1 < len(source) && source[i+1] == '\n': // the \n ends the line
		case source[i] == '\n', source[i] == '\r':
			t.lines = append(t.lines, i+1)
		}
	}
	if t.wide {
		n := 0
		for at := 0; at <= len(source); at += runesStep {
			t.runes = append(t.runes, n)
			n += runesIn(source[at:min(at+runesStep, len(source))])
		}
	}
	return t
}

// runesIn returns how many characters begin in a part of a text, which may begin or end inside of one.
func runesIn(part string) (n int) {
	for i := range len(part) {
		if utf8.RuneStart(part[i]) {
			n++
		}
	}
	return n
}

// before returns how many characters begin before an offset.
func (t *Text) before(offset int) int {
	if !t.wide {
		return offset
	}
	step := offset / runesStep
	return t.runes[step] + runesIn(t.Source[step*runesStep:offset])
}

// Column returns the column, which counts characters, of one that counts bytes. Both are from 1.
func (t *Text) Column(line, col int) int {
	if line < 1 || line > len(t.lines) || col < 1 {
		return col
	}
	at := t.lines[line-1]
	return 1 + t.before(at+min(col-1, len(t.Line(line)))) - t.before(at)
}

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.lines) }

// Line returns a line, from 1, without its end.
func (t *Text) Line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	end := len(t.Source)
	if n < len(t.lines) {
		end = t.lines[n]
	}
	return strings.TrimRight(t.Source[t.lines[n-1]:end], "\r\n")
}

// Offset returns the offset of a line and a column, which counts characters. Both are from 1.
// A column of 0 is that of the first character that is not white space.
func (t *Text) Offset(line, col int) int {
	if line < 1 {
		return t.lines[0]
	}
	if line > len(t.lines) {
		return len(t.Source)
	}
	text, at := t.Line(line), t.lines[line-1]
	if col < 1 {
		return at + len(text) - len(strings.TrimLeft(text, " \t"))
	}
	if !t.wide {
		return at + min(col-1, len(text))
	}
	end, want := at+len(text), t.before(at)+col-1
	step, _ := slices.BinarySearch(t.runes, want+1)
	at = min(max(at, (step-1)*runesStep), end) // the last part that begins with at most so many characters before
	for n := t.before(at); at < end && (n < want || !utf8.RuneStart(t.Source[at])); at++ {
		if utf8.RuneStart(t.Source[at]) {
			n++
		}
	}
	return at
}

// ByteOffset is Offset for a column that counts bytes.
func (t *Text) ByteOffset(line, col int) int {
	if col < 1 || line < 1 || line > len(t.lines) {
		return t.Offset(line, 0)
	}
	return t.lines[line-1] + min(col-1, len(t.Line(line)))
}

// LineOf returns the line of an offset.
func (t *Text) LineOf(offset int) int {
	i, found := slices.BinarySearch(t.lines, offset)
	if found {
		return i + 1
	}
	return max(i, 1)
}

// At returns a diagnostic of a part of the text.
func (t *Text) At(span diagnostic.Span, severity diagnostic.Severity, code, message string) diagnostic.Diagnostic {
	line := t.LineOf(span.Start)
	pos := value.Position{File: t.Path, Line: line, Col: 1 + max(span.Start-t.lines[line-1], 0)}
	first, rest, more := strings.Cut(message, "\n")
	if more { // a message is one line
		message = first + " " + strings.Join(strings.Fields(rest), " ")
	}
	return diagnostic.Diagnostic{Pos: pos, Span: span, Severity: severity, Code: code, Message: message}
}

// Word returns the span of the word, or of the text in quotes, that begins at an offset, or of one character.
func (t *Text) Word(offset int) diagnostic.Span {
	offset = min(max(offset, 0), len(t.Source))
	rest := t.Source[offset:]
	if n := quotedLength(rest); n > 0 {
		return diagnostic.Span{Start: offset, End: offset + n}
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	if n < 0 {
		n = len(rest)
	}
	if n == 0 && rest != "" && rest[0] != '\n' && rest[0] != '\r' {
		_, n = utf8.DecodeRuneInString(rest)
	}
	return diagnostic.Span{Start: offset, End: offset + n}
}

// quotedLength returns the length of the text in quotes that a code begins with, or 0. It is 0 for a text with
// an escape or a quote in it, and for three quotes.
func quotedLength(code string) int {
	if code == "" || code[0] != '"' && code[0] != '\'' {
		return 0
	}
	n := strings.IndexAny(code[1:], "\"'\\\n")
	if n <= 0 || code[1+n] != code[0] {
		return 0
	}
	return n + 2
}

func isNameRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf
}

// Error returns the diagnostic of an error that names a position in the file. An error of
// another file, such as one that is loaded, is at the beginning.
func (t *Text) Error(err error, code string) diagnostic.Diagnostic {
	e := value.ErrorOf(err, value.Invalid)
	message := e.Message()
	span := diagnostic.Span{Start: t.lines[0], End: t.lines[0]}
	switch {
	case e.Pos.File != "" && e.Pos.File != t.Path:
		message = "error in the loaded file " + e.Pos.String() + ": " + message
	case e.Pos.Line > 0:
		span = t.Word(t.Offset(e.Pos.Line, e.Pos.Col))
	}
	d := t.At(span, diagnostic.Error, code, message)
	d.Hint = e.Hint
	return d
}

// Errors returns the diagnostics of an error that may join several.
func (t *Text) Errors(err error, code string) []diagnostic.Diagnostic {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if _, known := err.(*value.Error); !known && errors.As(err, &joined) {
		var list []diagnostic.Diagnostic
		for _, err := range joined.Unwrap() {
			list = append(list, t.Errors(err, code)...)
		}
		return list
	}
	return []diagnostic.Diagnostic{t.Error(err, code)}
}
