package scan

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Starlark's specification is adopting type annotations; go.starlark.net does not parse
// them yet. So they are found by scanning each def's header, kept, and overwritten with
// spaces. No character moves: every error keeps its line and column. A malformed
// annotation stays in the text, for go.starlark.net to reject. Remove this when
// go.starlark.net supports annotations.
//
// A parser that supports them, such as Bazel's, is no alternative: on a chain of
// operators it takes quadratic time and unbounded stack, and it supports neither while
// loops, nor bytes, nor indentation with tabs.

// A Stripped is a file without its annotations.
type Stripped struct {
	Text      string                 // with spaces where the annotations were
	Functions map[Position]Signature // of each annotated function, by the position of its def
}

// A Signature holds a function's annotations.
type Signature struct {
	Params  map[string]Annotation
	Returns Annotation
}

// An Annotation is a type in its source form, without comments and line breaks.
type Annotation struct {
	Text string // "": no annotation
	At   Position
}

// StripAnnotations removes the annotations of a Starlark file whose lines end in \n. It
// fails for a file that go.starlark.net would parse too slowly.
func StripAnnotations(path, text string) (Stripped, error) {
	s := stripper{Scanner: New(text), functions: map[Position]Signature{}}
	s.out.Grow(len(text))
	for {
		t := s.Next()
		if s.TooMuch != "" {
			e := value.Limitf(value.LimitSource, "%s", s.TooMuch)
			e.Pos = value.Position{File: path, Line: t.At.Line, Col: t.At.Col}
			return Stripped{}, e
		}
		if t.Kind == EndOfText {
			s.out.WriteString(text[s.copied:])
			return Stripped{Text: s.out.String(), Functions: s.functions}, nil
		}
		if t.Kind == Word && t.Text == "def" {
			s.def(t)
		}
	}
}

// A stripper copies a file, without the annotations of its functions.
type stripper struct {
	Scanner
	out       strings.Builder
	copied    int // how much of the text is in out
	functions map[Position]Signature
}

// def removes the annotations of one function's header. Its def has been read.
func (s *stripper) def(def Token) {
	if s.Next().Kind != Word || s.Next().Kind != '(' {
		return
	}
	sig := Signature{Params: map[string]Annotation{}}
	if s.params(&sig) {
		if arrow := s.Next(); arrow.Text == "->" {
			sig.Returns = s.annotation(arrow.Start, ":")
		}
	}
	if len(sig.Params) > 0 || sig.Returns.Text != "" {
		s.functions[def.At] = sig
	}
}

// params reads the parameters up to and including the closing parenthesis. It reports
// whether it found it.
func (s *stripper) params(sig *Signature) bool {
	t := s.Next()
	for {
		for t.Text == "*" || t.Text == "**" {
			t = s.Next()
		}
		if name := t.Text; t.Kind == Word {
			t = s.Next()
			if t.Kind == ':' {
				sig.Params[name] = s.annotation(t.Start, ",=)")
				t = s.Next()
			}
		}
		if t.Kind == '=' {
			t = s.skipDefault()
		}
		switch t.Kind {
		case ')':
			return true
		case ',':
			t = s.Next()
		default:
			return false
		}
	}
}

// skipDefault skips the default of a parameter and returns the next token. The
// parameters of a lambda end with its colon, not with a comma.
func (s *stripper) skipDefault() Token {
	depth, lambdas := 0, 0
	for {
		t := s.Next()
		switch {
		case t.Kind == EndOfText, depth == 0 && (t.Kind == ')' || t.Kind == ',' && lambdas == 0):
			return t
		case depth == 0 && t.Kind == Word && t.Text == "lambda":
			lambdas++
		case depth == 0 && t.Kind == ':':
			lambdas--
		}
		depth += t.Nesting()
	}
}

// annotation reads a type up to one of the closing characters, which stays unread, and
// blanks the text from from. If the text is not a type it blanks nothing and returns
// none.
func (s *stripper) annotation(from int, closing string) Annotation {
	var a Annotation
	var text strings.Builder
	for syntax := (typeSyntax{}); ; {
		before := s.Scanner
		t := s.Next()
		if len(syntax.open) == 0 && syntax.complete && strings.ContainsRune(closing, t.Kind) {
			s.Scanner = before
			break
		}
		// Outside of parentheses, a line break ends the header.
		if closing == ":" && len(syntax.open) == 0 && t.NewLine || !syntax.takes(t) {
			s.Scanner = before
			return Annotation{}
		}
		if a.At.Line == 0 {
			a.At = t.At
		} else if t.Gap {
			text.WriteByte(' ')
		}
		text.WriteString(t.Text)
	}
	a.Text = text.String()
	s.blank(from, s.End, closing == ":")
	return a
}

// A typeSyntax decides which token may come next in a type: names with dots, joined by
// |, with arguments in brackets. Arguments may be lists and dicts of types.
type typeSyntax struct {
	open     []rune // the closing brackets of those that are open
	complete bool   // whether the type may end here
	last     rune
}

func (y *typeSyntax) takes(t Token) bool {
	inside, ok := len(y.open) > 0, false
	switch t.Kind {
	case Word:
		ok = !y.complete
	case String:
		ok = !y.complete && inside && isQuote(t.Text)
	case '.', '|':
		ok = y.complete
	case ',', ':':
		ok = y.complete && inside
	case '[':
		ok = y.complete && y.last == Word || !y.complete && inside
	case '(':
		ok = !y.complete
	case '{':
		ok = !y.complete && inside
	case ']', ')', '}':
		ok = inside && t.Kind == y.open[len(y.open)-1] && (y.complete || y.last != '.' && y.last != '|')
	}
	switch {
	case !ok:
		return false
	case t.Nesting() > 0:
		y.open = append(y.open, map[rune]rune{'(': ')', '[': ']', '{': '}'}[t.Kind])
	case t.Nesting() < 0:
		y.open = y.open[:len(y.open)-1]
	}
	y.complete = t.Kind == Word || t.Kind == String || t.Nesting() < 0
	y.last = t.Kind
	return true
}

// blank copies the text before a range and writes spaces for the range. Its line breaks
// stay; outside of parentheses they are escaped.
func (s *stripper) blank(from, to int, escape bool) {
	s.out.WriteString(s.Text[s.copied:from])
	for _, r := range s.Text[from:to] {
		switch {
		case r != '\n':
			s.out.WriteByte(' ')
		case escape:
			s.out.WriteString("\\\n")
		default:
			s.out.WriteByte('\n')
		}
	}
	s.copied = to
}
