package star

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of what the parser, the resolver and the compiler of go.starlark.net
// are given. Brackets and operators that nest to the right they bound
// themselves; these they do not.
const (
	// maxTerms is how many tokens may stand between two commas. A chain such as
	// a + a + … or a.b.c… makes them recurse once for each.
	maxTerms = 20_000
	// maxElif is how many elifs a file may hold: compiling them takes time by
	// the square of their number.
	maxElif = 2_000
	// maxDigits is how long a number may be: so does reading its digits.
	maxDigits = 10_000
)

// A scanner reads the tokens of a Starlark file as far as finding annotations
// needs it: it tells words, strings and single characters apart and knows
// where they stand. Comments and white space it skips.
type scanner struct {
	text    string
	start   int   // of the last token
	end     int   // behind the last token
	at      place // of the text at counted
	counted int
	terms   []int // since the last comma, for each bracket that is open
	elifs   int
	tooMuch string // what goes beyond a bound, or ""
}

// A token is one word, string or character.
type token struct {
	kind    rune   // word, str, endOfText, or the character itself
	text    string // as it is written
	at      place
	gap     bool // whether anything stands between it and the one before
	newLine bool // whether a line break does, one that no backslash escapes
}

// The kinds of tokens that are more than one character.
const (
	word      rune = -1 - iota // an identifier, a keyword or a number
	str                        // a string without its prefix
	endOfText                  // the end, or a string that does not end
)

func newScanner(text string) scanner {
	return scanner{text: text, at: place{1, 1}, terms: []int{0}}
}

func (s *scanner) next() token {
	before := s.end
	newLine := s.skipSpace()
	s.start = s.end
	s.at.col += utf8.RuneCountInString(s.text[s.counted:s.start])
	s.counted = s.start
	t := token{kind: endOfText, at: s.at, gap: s.start > before, newLine: newLine}
	if s.start == len(s.text) {
		return t
	}
	switch c := s.text[s.start]; {
	case inWord(c):
		t.kind = word
		for s.end < len(s.text) && inWord(s.text[s.end]) {
			s.end++
		}
	case c == '"' || c == '\'':
		if s.skipString(c) {
			t.kind = str
		}
	default:
		t.kind = rune(c)
		s.end++
	}
	t.text = s.text[s.start:s.end]
	s.bound(t)
	return t
}

// bound counts a token against the bounds.
func (s *scanner) bound(t token) {
	last := len(s.terms) - 1
	switch n := t.nesting(); {
	case n > 0:
		s.terms = append(s.terms, 0)
	case n < 0 && last > 0:
		s.terms = s.terms[:last]
	case t.kind == ',', last == 0 && (t.kind == ';' || t.newLine):
		s.terms[last] = 0
	}
	last = len(s.terms) - 1
	s.terms[last]++
	if t.kind == word && t.text == "elif" {
		s.elifs++
	}
	switch {
	case s.terms[last] > maxTerms:
		s.tooMuch = fmt.Sprintf("an expression of more than %d terms", maxTerms)
	case s.elifs > maxElif:
		s.tooMuch = fmt.Sprintf("more than %d elifs", maxElif)
	case t.kind == word && len(t.text) > maxDigits:
		s.tooMuch = fmt.Sprintf("a word of more than %d letters or digits", maxDigits)
	}
}

func inWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

// skipSpace steps over white space and comments, and says whether there was a
// line break among it.
func (s *scanner) skipSpace() (newLine bool) {
	for s.end < len(s.text) {
		switch s.text[s.end] {
		case ' ', '\t':
			s.end++
		case '\n':
			s.breakLine()
			newLine = true
		case '#':
			if n := strings.IndexByte(s.text[s.end:], '\n'); n >= 0 {
				s.end += n
			} else {
				s.end = len(s.text)
			}
		case '\\':
			if !strings.HasPrefix(s.text[s.end:], "\\\n") {
				return newLine
			}
			s.end++
			s.breakLine()
		default:
			return newLine
		}
	}
	return newLine
}

func (s *scanner) breakLine() {
	s.end++
	s.at = place{s.at.line + 1, 1}
	s.counted = s.end
}

// skipString steps over a string; it returns false and goes to the end of the
// text where the string does not end.
func (s *scanner) skipString(quote byte) bool {
	closing := string(quote)
	if triple := strings.Repeat(closing, 3); strings.HasPrefix(s.text[s.end:], triple) {
		closing = triple
	}
	for s.end += len(closing); s.end < len(s.text); {
		switch c := s.text[s.end]; {
		case strings.HasPrefix(s.text[s.end:], closing):
			s.end += len(closing)
			return true
		case c == '\n' && len(closing) == 1:
			s.end = len(s.text)
		case c == '\n':
			s.breakLine()
		case c == '\\' && strings.HasPrefix(s.text[s.end+1:], "\n"):
			s.end++
			s.breakLine()
		case c == '\\':
			s.end = min(s.end+2, len(s.text))
		default:
			s.end++
		}
	}
	return false
}

// nesting is 1 for an opening bracket, -1 for a closing one, else 0.
func (t token) nesting() int {
	switch t.kind {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// A place is a position within one file.
type place struct{ line, col int }
