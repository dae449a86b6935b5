package star

import (
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
)

// Starlark's specification is adopting type annotations; go.starlark.net does
// not parse them yet. So they are found by scanning each def's header, kept,
// and overwritten with spaces. No character moves: every error keeps its line
// and column. What is no well-formed annotation stays where it is, for
// go.starlark.net to refuse. When it learns annotations, all of this goes.
//
// It is not done with a parser that knows them, such as Bazel's: on a chain of
// operators that takes quadratic time and a stack without bound, and it knows
// neither while loops, nor bytes, nor indentation with tabs.

// annotated is a file whose annotations have been taken out.
type annotated struct {
	text      string                   // with spaces where the annotations were
	functions map[scan.Place]signature // of each def that has any, by where its def stands
}

// A signature holds a function's annotations.
type signature struct {
	params  map[string]annotation
	returns annotation
}

// An annotation is a type as it is written, without comments and line breaks.
type annotation struct {
	text string // "" where there is none
	at   scan.Place
}

// stripAnnotations takes the annotations out of a Starlark file. Its lines end
// in \n. It fails for a file that would take go.starlark.net's parser too long.
func stripAnnotations(path, text string) (annotated, error) {
	s := stripper{Scanner: scan.New(text), functions: map[scan.Place]signature{}}
	s.out.Grow(len(text))
	for {
		t := s.Next()
		if s.TooMuch != "" {
			e := script.SourceLimit(path, "%s", s.TooMuch)
			e.Pos.Line, e.Pos.Col = t.At.Line, t.At.Col
			return annotated{}, e
		}
		if t.Kind == scan.EndOfText {
			s.out.WriteString(text[s.copied:])
			return annotated{text: s.out.String(), functions: s.functions}, nil
		}
		if t.Kind == scan.Word && t.Text == "def" {
			s.def(t)
		}
	}
}

// A stripper copies a file, without the annotations of its functions.
type stripper struct {
	scan.Scanner
	out       strings.Builder
	copied    int // how much of the text is in out
	functions map[scan.Place]signature
}

// def takes the annotations out of the header of one function, whose first
// word has been read.
func (s *stripper) def(def scan.Token) {
	if s.Next().Kind != scan.Word || s.Next().Kind != '(' {
		return
	}
	sig := signature{params: map[string]annotation{}}
	if s.params(&sig) && s.Next().Kind == '-' {
		from := s.Start
		if arrow := s.Next(); arrow.Kind == '>' && !arrow.Gap {
			sig.returns = s.annotation(from, ":")
		}
	}
	if len(sig.params) > 0 || sig.returns.text != "" {
		s.functions[def.At] = sig
	}
}

// params reads the parameters up to and with the closing parenthesis; it says
// whether it came so far.
func (s *stripper) params(sig *signature) bool {
	t := s.Next()
	for {
		for t.Kind == '*' {
			t = s.Next()
		}
		if name := t.Text; t.Kind == scan.Word {
			t = s.Next()
			if t.Kind == ':' {
				sig.params[name] = s.annotation(s.Start, ",=)")
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

// skipDefault reads the default of a parameter and returns the token behind
// it. The parameters of a lambda end with its colon, not with a comma.
func (s *stripper) skipDefault() scan.Token {
	depth, lambdas := 0, 0
	for {
		t := s.Next()
		switch {
		case t.Kind == scan.EndOfText, depth == 0 && (t.Kind == ')' || t.Kind == ',' && lambdas == 0):
			return t
		case depth == 0 && t.Kind == scan.Word && t.Text == "lambda":
			lambdas++
		case depth == 0 && t.Kind == ':':
			lambdas--
		}
		depth += t.Nesting()
	}
}

// annotation reads a type up to one of the closing characters, which is left
// to be read, and blanks everything from from on. Where that is no type it
// blanks nothing and returns none.
func (s *stripper) annotation(from int, closing string) annotation {
	var a annotation
	var text strings.Builder
	for syntax := (typeSyntax{}); ; {
		before := s.Scanner
		t := s.Next()
		if len(syntax.open) == 0 && syntax.complete && strings.ContainsRune(closing, t.Kind) {
			s.Scanner = before
			break
		}
		// Where no parentheses are around, a line break ends the header.
		if closing == ":" && len(syntax.open) == 0 && t.NewLine || !syntax.takes(t) {
			s.Scanner = before
			return annotation{}
		}
		if a.at.Line == 0 {
			a.at = t.At
		} else if t.Gap {
			text.WriteByte(' ')
		}
		text.WriteString(t.Text)
	}
	a.text = text.String()
	s.blank(from, s.End, closing == ":")
	return a
}

// A typeSyntax knows which token may come next in a type: names with dots,
// joined by |, with arguments in brackets, among which lists and dicts of
// types may be.
type typeSyntax struct {
	open     []rune // what closes the brackets that are open
	complete bool   // whether what has come so far could be all
	last     rune
}

func (y *typeSyntax) takes(t scan.Token) bool {
	inside, ok := len(y.open) > 0, false
	switch t.Kind {
	case scan.Word:
		ok = !y.complete
	case scan.String:
		ok = !y.complete && inside
	case '.', '|':
		ok = y.complete
	case ',', ':':
		ok = y.complete && inside
	case '[':
		ok = y.complete && y.last == scan.Word || !y.complete && inside
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
	y.complete = t.Kind == scan.Word || t.Kind == scan.String || t.Nesting() < 0
	y.last = t.Kind
	return true
}

// blank copies the text before a range and writes spaces for the range. Its
// line breaks stay; where no parentheses are around they must be escaped.
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
