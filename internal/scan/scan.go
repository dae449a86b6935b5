// Package scan reads the tokens of Starlark files, whether they parse or not.
package scan

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

// A Scanner reads the tokens of a Starlark file as far as finding annotations
// needs it: it tells words, strings and single characters apart and knows
// where they stand. Comments and white space it skips.
type Scanner struct {
	Text    string
	Start   int   // of the last token
	End     int   // behind the last token
	at      Place // of the text at counted
	counted int
	terms   []int // since the last comma, for each bracket that is open
	elifs   int
	TooMuch string // what goes beyond a bound, or ""
}

// A Token is one word, string or character.
type Token struct {
	Kind    rune   // word, str, endOfText, or the character itself
	Text    string // as it is written
	At      Place
	Gap     bool // whether anything stands between it and the one before
	NewLine bool // whether a line break does, one that no backslash escapes
}

// The kinds of tokens that are more than one character.
const (
	Word      rune = -1 - iota // an identifier, a keyword or a number
	String                     // a string without its prefix
	EndOfText                  // the end, or a string that does not end
)

// New returns a scanner of a file.
func New(text string) Scanner {
	return Scanner{Text: text, at: Place{1, 1}, terms: []int{0}}
}

// Next returns the next token.
func (s *Scanner) Next() Token {
	before := s.End
	newLine := s.skipSpace()
	s.Start = s.End
	s.at.Col += utf8.RuneCountInString(s.Text[s.counted:s.Start])
	s.counted = s.Start
	t := Token{Kind: EndOfText, At: s.at, Gap: s.Start > before, NewLine: newLine}
	if s.Start == len(s.Text) {
		return t
	}
	switch c := s.Text[s.Start]; {
	case inWord(c):
		t.Kind = Word
		for s.End < len(s.Text) && inWord(s.Text[s.End]) {
			s.End++
		}
	case c == '"' || c == '\'':
		if s.skipString(c) {
			t.Kind = String
		}
	default:
		t.Kind = rune(c)
		s.End++
	}
	t.Text = s.Text[s.Start:s.End]
	s.bound(t)
	return t
}

// bound counts a token against the bounds.
func (s *Scanner) bound(t Token) {
	last := len(s.terms) - 1
	switch n := t.Nesting(); {
	case n > 0:
		s.terms = append(s.terms, 0)
	case n < 0 && last > 0:
		s.terms = s.terms[:last]
	case t.Kind == ',', last == 0 && (t.Kind == ';' || t.NewLine):
		s.terms[last] = 0
	}
	last = len(s.terms) - 1
	s.terms[last]++
	if t.Kind == Word && t.Text == "elif" {
		s.elifs++
	}
	switch {
	case s.terms[last] > maxTerms:
		s.TooMuch = fmt.Sprintf("an expression of more than %d terms", maxTerms)
	case s.elifs > maxElif:
		s.TooMuch = fmt.Sprintf("more than %d elifs", maxElif)
	case t.Kind == Word && len(t.Text) > maxDigits:
		s.TooMuch = fmt.Sprintf("a word of more than %d letters or digits", maxDigits)
	}
}

func inWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

// skipSpace steps over white space and comments, and says whether there was a
// line break among it.
func (s *Scanner) skipSpace() (newLine bool) {
	for s.End < len(s.Text) {
		switch s.Text[s.End] {
		case ' ', '\t':
			s.End++
		case '\n':
			s.breakLine()
			newLine = true
		case '#':
			if n := strings.IndexByte(s.Text[s.End:], '\n'); n >= 0 {
				s.End += n
			} else {
				s.End = len(s.Text)
			}
		case '\\':
			if !strings.HasPrefix(s.Text[s.End:], "\\\n") {
				return newLine
			}
			s.End++
			s.breakLine()
		default:
			return newLine
		}
	}
	return newLine
}

func (s *Scanner) breakLine() {
	s.End++
	s.at = Place{s.at.Line + 1, 1}
	s.counted = s.End
}

// skipString steps over a string; it returns false and goes to the end of the
// text where the string does not end.
func (s *Scanner) skipString(quote byte) bool {
	closing := string(quote)
	if triple := strings.Repeat(closing, 3); strings.HasPrefix(s.Text[s.End:], triple) {
		closing = triple
	}
	for s.End += len(closing); s.End < len(s.Text); {
		switch c := s.Text[s.End]; {
		case strings.HasPrefix(s.Text[s.End:], closing):
			s.End += len(closing)
			return true
		case c == '\n' && len(closing) == 1:
			s.End = len(s.Text)
		case c == '\n':
			s.breakLine()
		case c == '\\' && strings.HasPrefix(s.Text[s.End+1:], "\n"):
			s.End++
			s.breakLine()
		case c == '\\':
			s.End = min(s.End+2, len(s.Text))
		default:
			s.End++
		}
	}
	return false
}

// Nesting is 1 for an opening bracket, -1 for a closing one, else 0.
func (t Token) Nesting() int {
	switch t.Kind {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// A Place is a position within one file.
type Place struct{ Line, Col int }
