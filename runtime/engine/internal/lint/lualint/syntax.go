package lualint

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// habits maps signs of other languages to what Lua has.
var habits = []struct{ sign, hint string }{
	{"!=", "write ~= for unequal"}, {"+=", "write n = n + 1"}, {"-=", "write n = n - 1"}, {"++", "write n = n + 1"},
	{"&&", "write and"}, {"||", "write or"}, {"!", "write not"}, {"else if", "write elseif"}, {"elif", "write elseif"}, {"//", "write -- for a comment, and math.floor(a / b) to divide"},
	{"&", "Lua has no operators for bits: write n % 2 for the lowest one"}, {"|", "Lua has no operators for bits: write or for a condition"},
	{"continue", "put the rest of the loop into an if"}, {"def ", "write function f(x) … end"},
}

// braces is a line that opens a block in a language with braces.
var braces = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\}\s*)?(if|while|for|else|function)\b.*\{\s*$`)
})

// SyntaxFault reports a fault of syntax in a text. It has a fix if the statement parses with one more word, which
// parses finds out, and a hint if the line has a sign of another language.
func SyntaxFault(r *lint.Report, e *value.Error, text string, parses func(text string) bool) {
	line := r.Line(e.Pos.Line)
	near := ""
	if _, after, ok := strings.Cut(e.Message(), "near \""); ok {
		near = strings.TrimSuffix(after, "\"")
	}
	missing, before := lacks(text, e.Pos, near, parses)
	switch {
	case e.Hint != "":
	case missing != "":
		e.Hint = fmt.Sprintf("insert %s before %s", missing, near)
	case braces().MatchString(line):
		e.Hint = "blocks begin with then or do, and end with end"
	case near == "}" || near == ")":
		e.Hint = "an end may be missing above"
	default:
		for _, h := range habits {
			if strings.Contains(line, h.sign) && near != "" && (strings.Contains(h.sign, near[:1]) || strings.TrimSpace(line) == h.sign) {
				e.Hint = h.hint
				break
			}
		}
	}
	d := r.Error(e, diagnostic.Syntax)
	if missing != "" {
		at := r.ByteOffset(before.Line, before.Col+1)
		d.Fix = &diagnostic.Fix{Title: "insert " + missing, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at}, Text: inserted(missing)}}}
	}
	if e.Hint == habits[0].hint {
		if i := strings.Index(line, "!="); i >= 0 && strings.Count(line, "!=") == 1 {
			at := r.ByteOffset(e.Pos.Line, i+1)
			d.Fix = &diagnostic.Fix{Title: "write ~=", Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at + 2}, Text: "~="}}}
		}
	}
	r.AddDiagnostic(d)
}

// lacks returns the only word whose insertion before an unexpected one makes a text parse, or "". It is inserted after the
// byte at a position.
func lacks(text string, pos value.Position, near string, parses func(text string) bool) (word string, after value.Position) {
	t := lint.NewText("", text)
	if near == "" || pos.Line < 1 || pos.Col < len(near) || t.Line(pos.Line) == "" {
		return "", after
	}
	start := t.Offset(pos.Line, pos.Col-len(near)+1) // the parser reports where the word ends
	if !strings.HasPrefix(text[start:], near) {
		return "", after
	}
	end := len(strings.TrimRight(text[:start], " \t\r\n"))
	if end == 0 {
		return "", after
	}
	for _, w := range []string{",", "..", "then", "do"} {
		if w == "," && !parses(text[:end]+", nil,"+text[end:]) { // it would separate names, as in let, x = 5
			continue
		}
		if parses(text[:end] + inserted(w) + text[end:]) {
			if word != "" {
				return "", after
			}
			word = w
		}
	}
	line := t.LineOf(end - 1)
	return word, value.Position{Line: line, Col: end - t.ByteOffset(line, 1)}
}

// inserted returns a word as it is written after another one.
func inserted(word string) string {
	if word == "," {
		return word
	}
	return " " + word
}

// begins reports whether a statement of the top level begins in a line.
func begins(line string) bool {
	if line == "" || strings.ContainsRune(" \t)]}", rune(line[0])) || strings.HasPrefix(line, "--") {
		return false
	}
	for _, word := range []string{"end", "else", "elseif", "until"} {
		if rest, ok := strings.CutPrefix(line, word); ok && (rest == "" || strings.ContainsRune(" \t),;(", rune(rest[0]))) {
			return false
		}
	}
	return true
}

// StatementAround returns the lines of the statement of the top level that has a line: from begin up to end.
func StatementAround(text string, line int) (begin, end int) {
	return around(strings.Split(text, "\n"), line)
}

func around(lines []string, line int) (begin, end int) {
	line = min(max(line, 1), len(lines))
	for begin = line; begin > 1 && !begins(lines[begin-1]); begin-- {
	}
	for end = line + 1; end <= len(lines) && !begins(lines[end-1]); end++ {
	}
	return begin, end
}

// Unended returns the first statement of the top level that does not parse alone, or 0.
func Unended(text string) (begin, end int) {
	lines := strings.Split(text, "\n")
	tried := 0
	for begin = 1; begin <= len(lines) && tried < 1000; begin = end {
		for begin <= len(lines) && !begins(lines[begin-1]) {
			begin++
		}
		if begin > len(lines) {
			return 0, 0
		}
		_, end = around(lines, begin)
		tried++
		if _, err := parse.Parse(strings.NewReader(strings.Join(lines[begin-1:end-1], "\n")), ""); err != nil {
			return begin, end
		}
	}
	return 0, 0
}
