package star

import (
	"strings"

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
	text      string              // with spaces where the annotations were
	functions map[place]signature // of each def that has any, by where its def stands
}

// A signature holds a function's annotations.
type signature struct {
	params  map[string]annotation
	returns annotation
}

// An annotation is a type as it is written, without comments and line breaks.
type annotation struct {
	text string // "" where there is none
	at   place
}

// stripAnnotations takes the annotations out of a Starlark file. Its lines end
// in \n. It fails for a file that would take go.starlark.net's parser too long.
func stripAnnotations(path, text string) (annotated, error) {
	s := stripper{scanner: newScanner(text), functions: map[place]signature{}}
	s.out.Grow(len(text))
	for {
		t := s.next()
		if s.tooMuch != "" {
			e := script.SourceLimit(path, "%s", s.tooMuch)
			e.Pos.Line, e.Pos.Col = t.at.line, t.at.col
			return annotated{}, e
		}
		if t.kind == endOfText {
			s.out.WriteString(text[s.copied:])
			return annotated{text: s.out.String(), functions: s.functions}, nil
		}
		if t.kind == word && t.text == "def" {
			s.def(t)
		}
	}
}

// A stripper copies a file, without the annotations of its functions.
type stripper struct {
	scanner
	out       strings.Builder
	copied    int // how much of the text is in out
	functions map[place]signature
}

// def takes the annotations out of the header of one function, whose first
// word has been read.
func (s *stripper) def(def token) {
	if s.next().kind != word || s.next().kind != '(' {
		return
	}
	sig := signature{params: map[string]annotation{}}
	if s.params(&sig) && s.next().kind == '-' {
		from := s.start
		if arrow := s.next(); arrow.kind == '>' && !arrow.gap {
			sig.returns = s.annotation(from, ":")
		}
	}
	if len(sig.params) > 0 || sig.returns.text != "" {
		s.functions[def.at] = sig
	}
}

// params reads the parameters up to and with the closing parenthesis; it says
// whether it came so far.
func (s *stripper) params(sig *signature) bool {
	t := s.next()
	for {
		for t.kind == '*' {
			t = s.next()
		}
		if name := t.text; t.kind == word {
			t = s.next()
			if t.kind == ':' {
				sig.params[name] = s.annotation(s.start, ",=)")
				t = s.next()
			}
		}
		if t.kind == '=' {
			t = s.skipDefault()
		}
		switch t.kind {
		case ')':
			return true
		case ',':
			t = s.next()
		default:
			return false
		}
	}
}

// skipDefault reads the default of a parameter and returns the token behind
// it. The parameters of a lambda end with its colon, not with a comma.
func (s *stripper) skipDefault() token {
	depth, lambdas := 0, 0
	for {
		t := s.next()
		switch {
		case t.kind == endOfText, depth == 0 && (t.kind == ')' || t.kind == ',' && lambdas == 0):
			return t
		case depth == 0 && t.kind == word && t.text == "lambda":
			lambdas++
		case depth == 0 && t.kind == ':':
			lambdas--
		}
		depth += t.nesting()
	}
}

// annotation reads a type up to one of the closing characters, which is left
// to be read, and blanks everything from from on. Where that is no type it
// blanks nothing and returns none.
func (s *stripper) annotation(from int, closing string) annotation {
	var a annotation
	var text strings.Builder
	for syntax := (typeSyntax{}); ; {
		before := s.scanner
		t := s.next()
		if len(syntax.open) == 0 && syntax.complete && strings.ContainsRune(closing, t.kind) {
			s.scanner = before
			break
		}
		// Where no parentheses are around, a line break ends the header.
		if closing == ":" && len(syntax.open) == 0 && t.newLine || !syntax.takes(t) {
			s.scanner = before
			return annotation{}
		}
		if a.at.line == 0 {
			a.at = t.at
		} else if t.gap {
			text.WriteByte(' ')
		}
		text.WriteString(t.text)
	}
	a.text = text.String()
	s.blank(from, s.end, closing == ":")
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

func (y *typeSyntax) takes(t token) bool {
	inside, ok := len(y.open) > 0, false
	switch t.kind {
	case word:
		ok = !y.complete
	case str:
		ok = !y.complete && inside
	case '.', '|':
		ok = y.complete
	case ',', ':':
		ok = y.complete && inside
	case '[':
		ok = y.complete && y.last == word || !y.complete && inside
	case '(':
		ok = !y.complete
	case '{':
		ok = !y.complete && inside
	case ']', ')', '}':
		ok = inside && t.kind == y.open[len(y.open)-1] && (y.complete || y.last != '.' && y.last != '|')
	}
	switch {
	case !ok:
		return false
	case t.nesting() > 0:
		y.open = append(y.open, map[rune]rune{'(': ')', '[': ']', '{': '}'}[t.kind])
	case t.nesting() < 0:
		y.open = y.open[:len(y.open)-1]
	}
	y.complete = t.kind == word || t.kind == str || t.nesting() < 0
	y.last = t.kind
	return true
}

// blank copies the text before a range and writes spaces for the range. Its
// line breaks stay; where no parentheses are around they must be escaped.
func (s *stripper) blank(from, to int, escape bool) {
	s.out.WriteString(s.text[s.copied:from])
	for _, r := range s.text[from:to] {
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
