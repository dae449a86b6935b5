// Package scan reads the text of Starlark files: its tokens, also if it does not parse,
// its type annotations, and the result of a program.
package scan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits that the parser, the resolver and the compiler of go.starlark.net do not have
// themselves. They do bound brackets and operators that nest to the right.
const (
	// maxTerms is how many tokens may be between two commas. A chain such as a + a + …
	// or a.b.c… makes them recurse once for each.
	maxTerms = 20_000
	// maxElif is how many elifs a file may have: compiling them takes quadratic time.
	maxElif = 2_000
	// maxDigits is how long a number may be: reading it takes quadratic time.
	maxDigits = 10_000
)

// A Scanner reads the tokens of a Starlark file, with their positions. It skips comments
// and white space.
type Scanner struct {
	Text    string
	End     int      // of the last token
	at      Position // of the text at counted
	counted int
	terms   []int // since the last comma, for each open bracket
	elifs   int
	TooMuch string // the exceeded limit, or ""
}

// A Token is one word, string, operator or character.
type Token struct {
	Kind    rune   // Word, String, Operator, EndOfText, or the character itself
	Text    string // as it is written
	Start   int    // of the token in the text, in bytes
	At      Position
	Gap     bool // whether it is separated from the token before
	NewLine bool // whether an unescaped line break is before it

	// Only [Tokens] sets these indexes of tokens. They are -1 if there is no such token.
	Around int // the bracket that encloses the token
	Match  int // the other bracket of a pair
}

// The kinds of tokens that may be longer than one character.
const (
	Word      rune = -1 - iota // an identifier, a keyword or a part of a number
	String                     // a string with its prefix
	Operator                   // an operator of Starlark or Python of several characters
	EndOfText                  // the end of the text, or an unterminated string
)

// operators are the operators of several characters, longer ones first.
var operators = strings.Fields("**= //= <<= >>= ... ** // << >> == != <= >= += -= *= /= %= &= |= ^= -> :=")

// Tokens returns the tokens of a text up to its end, or up to an unterminated string.
func Tokens(text string) []Token {
	s := New(text)
	list := make([]Token, 0, len(text)/3)
	around := -1
	for t := s.Next(); t.Kind != EndOfText; t = s.Next() {
		t.Around, t.Match = around, -1
		switch t.Nesting() {
		case 1:
			around = len(list)
		case -1:
			if around >= 0 {
				t.Match, t.Around = around, list[around].Around
				list[around].Match, around = len(list), t.Around
			}
		}
		list = append(list, t)
	}
	return list
}

// New returns a scanner of a file.
func New(text string) Scanner {
	return Scanner{Text: text, at: Position{1, 1}, terms: []int{0}}
}

// Next returns the next token.
func (s *Scanner) Next() Token {
	before := s.End
	newLine := s.skipSpace()
	start := s.End
	s.at.Col += utf8.RuneCountInString(s.Text[s.counted:start])
	s.counted = start
	t := Token{Kind: EndOfText, Start: start, At: s.at, Gap: start > before, NewLine: newLine}
	if start == len(s.Text) {
		return t
	}
	for s.End < len(s.Text) && inWord(s.Text[s.End]) {
		s.End++
	}
	switch rest := s.Text[s.End:]; {
	case isQuote(rest) && isPrefix(s.Text[start:s.End]):
		if s.skipString(rest[0]) {
			t.Kind = String
		}
	case s.End > start:
		t.Kind = Word
	default:
		t.Kind = rune(rest[0])
		s.End++
		if len(rest) == 1 || strings.IndexByte("=*/<>.", rest[1]) < 0 {
			break // most characters are not of an operator
		}
		if i := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(rest, o) }); i >= 0 {
			t.Kind, s.End = Operator, start+len(operators[i])
		}
	}
	t.Text = s.Text[start:s.End]
	s.bound(&t)
	return t
}

func isQuote(text string) bool { return text != "" && (text[0] == '"' || text[0] == '\'') }

// isPrefix reports whether a text can be before the quotes of a string, also in Python.
func isPrefix(text string) bool { return len(text) <= 2 && strings.Trim(text, "bBfFrRuU") == "" }

// bound checks the limits with another token.
func (s *Scanner) bound(t *Token) {
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
		s.TooMuch = fmt.Sprintf("an expression has more than %d terms", maxTerms)
	case s.elifs > maxElif:
		s.TooMuch = fmt.Sprintf("an if has more than %d elifs", maxElif)
	case t.Kind == Word && len(t.Text) > maxDigits:
		s.TooMuch = fmt.Sprintf("a word has more than %d letters or digits", maxDigits)
	}
}

func inWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

// skipSpace skips white space and comments. It reports whether there was a line break.
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
	s.at = Position{s.at.Line + 1, 1}
	s.counted = s.End
}

// skipString skips a string. If the string is not terminated, it skips the rest of the
// text and returns false.
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

// A Position is a place within one file. Lines and columns are counted from 1, columns
// in characters.
type Position struct{ Line, Col int }
