package star

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A syntaxFault is the first fault of a text that does not parse.
type syntaxFault struct {
	err     *value.Error
	line    int    // of the statement at fault
	insert  string // what to insert at err.Pos to repair it, or ""
	replace string // what to write instead of the character at err.Pos, or ""
}

// syntaxError returns the error of a text that does not parse.
func (l *Language) syntaxError(err error, text string) error { return l.syntaxFault(err, text).err }

// syntaxFault describes the error of the parser: where the fault really is, and what to write.
func (l *Language) syntaxFault(err error, text string) syntaxFault {
	var e syntax.Error
	if !errors.As(err, &e) {
		return syntaxFault{err: value.Errorf(value.Invalid, "%w", err)}
	}
	f := syntaxFault{err: errorAt(e.Pos, "%s", e.Msg), line: int(e.Pos.Line)}
	h := starlint.Program{Text: text, Predeclared: l.predeclared}
	f.err.Hint = h.Hint(f.line)
	if first, _, _ := strings.Cut(f.err.Hint, ";"); strings.HasPrefix(e.Msg, "got ':'") || first == "a variable with a type" {
		f.err.Hint = "" // types are written only in a def
	}
	first, _, _ := strings.Cut(f.err.Hint, ";")
	switch first {
	case "import is not supported":
		if _, rest, _ := strings.Cut(f.err.Hint, "; "); strings.Contains(rest, ": write ") || strings.Contains(rest, ": call ") {
			f.err.Hint = "remove the import; " + rest
			return f
		}
		f.err.Hint = "remove the import: modules are always available; load shared files with load(\"lib/name.star\", \"function\")"
	case "global", "nonlocal":
		f.err.Hint = "global values cannot be changed: use parameters and results"
	case "":
		f.explain(e.Msg, text, h.Tokens())
	}
	return f
}

// nesting is the error of the parser for brackets that are nested too deep.
const nesting = "excessive nesting"

// explain completes a fault that is not a habit of Python.
func (f *syntaxFault) explain(message, text string, tokens []scan.Token) {
	line, before := lineOf(text, f.line), ""
	if f.line > 1 {
		before = lineOf(text, f.line-1)
	}
	at := func(line, col int, message, hint string) {
		f.err.Err = errors.New(message)
		f.err.Pos.Line, f.err.Pos.Col, f.err.Hint, f.line = line, col, hint, line
	}
	open := unclosed(tokens, f.line)
	f.atToken(message, line)
	switch col := f.err.Pos.Col; {
	case open == nil && (message == "got newline, want ':'" || message == "got '-', want ':'" && !strings.HasSuffix(withoutComment(line), ":") && strings.Contains(line, "->")):
		n := f.line
		if col == 1 && n > 1 && message == "got newline, want ':'" {
			n, line = n-1, before
		}
		code := withoutComment(line)
		at(n, utf8.RuneCountInString(code)+1, "the line should end with ':'", "add ':' at the end of the line")
		f.insert = ":"
	case message == "got '=', want ':'":
		f.err.Hint = "to compare, write =="
		f.replace = "=="
	case strings.HasPrefix(message, "got ':'"), message == "got '-', want ':'":
		f.err.Hint = "write types only in a def, as in def f(path: str, n: int = 1) -> list[str]:"
	case open != nil && message != nesting:
		at(open.At.Line, open.At.Col, "'"+open.Text+"' is never closed", "add the closing bracket")
	case strings.HasPrefix(message, "unexpected ')'"), strings.HasPrefix(message, "unexpected ']'"), strings.HasPrefix(message, "unexpected '}'"):
		f.err.Hint = "remove it, or add the bracket that it closes"
	case message == "unexpected input character '?'":
		f.err.Hint = "write a if condition else b"
	case strings.HasPrefix(message, "got newline") && (strings.HasSuffix(strings.TrimSpace(line), "++") || strings.HasSuffix(strings.TrimSpace(line), "--")):
		f.err.Hint = "write n += 1 or n -= 1"
	case strings.HasPrefix(message, "got indent"):
		f.err.Err, f.err.Hint = errors.New("the line is indented too much"), "indent it like the line above; use spaces only"
	case strings.HasPrefix(message, "unindent does not match"), strings.HasPrefix(message, "got outdent"):
		f.err.Hint = "indent the lines of a block equally; use spaces only"
	case message == "got else, want primary expression", message == "got elif, want primary expression":
		f.err.Err, f.err.Hint = errors.New(strings.Fields(message)[1][:4]+" without if"), "indent it like its if"
	case strings.HasPrefix(message, "unexpected newline in string"):
		f.err.Hint = `close the string in its line, or write """ around a text of several lines`
	case strings.HasSuffix(message, "want indent"):
		f.err.Err, f.err.Hint = errors.New("the block has no lines"), "indent the lines of the block, or write pass"
	}
}

// atToken moves the position of a fault from the end of the token that the message names to its
// beginning.
func (f *syntaxFault) atToken(message, line string) {
	token, ok := strings.CutPrefix(message, "got '")
	token, _, closed := strings.Cut(token, "'")
	runes := []rune(line)
	if n, col := len(token), f.err.Pos.Col; ok && closed && col > n && col-1 <= len(runes) && string(runes[col-1-n:col-1]) == token {
		f.err.Pos.Col -= n
	}
}

// lineOf returns a line of a text, from 1.
func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// withoutComment returns the code of a line.
func withoutComment(line string) string {
	end := 0
	for _, t := range scan.Tokens(line) {
		end = t.Start + len(t.Text)
	}
	return line[:end]
}

// unclosed returns the last bracket that is open before a line and not closed where its statement
// should end, or nil.
func unclosed(tokens []scan.Token, line int) *scan.Token {
	for i := range slices.Backward(tokens) {
		t := &tokens[i]
		if t.Nesting() > 0 && t.Match < 0 && t.At.Line <= line {
			return t
		}
	}
	return nil
}
