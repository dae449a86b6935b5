// Package habits finds in a program in Starlark what its author is used to from Python,
// and says what to write instead.
package habits

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxHabits is how many findings one error lists: more than most programs
// have, and few enough to be read.
const maxHabits = 10

// A habit is something that Python has and Starlark has not, and what to write
// for it.
type habit struct {
	at   scan.Place
	text string
}

// Program looks in a program for what its author is used to from Python. It is
// asked where the program fails to parse or to resolve, and for what would
// certainly fail when it is run: a program that Starlark takes is never
// refused. What is inside strings and comments it does not see.
//
// Finding is done on the tokens, since that is all there is of a program that
// does not parse. What of it is certain in one that does, its syntax says, by
// where it stands.
type Program struct {
	Path    string
	Text    string // without annotations
	Given   starlark.StringDict
	tokens  []lexeme
	defined map[string]bool     // names that the program itself gives a meaning
	told    map[string]bool     // names that have been found already
	chains  []chain             // of comparisons, one for each bracket that is open
	only    map[scan.Place]bool // where findings count; nil: everywhere
	found   []habit
}

// A lexeme is a token that knows its place among the others. There may be a
// hundred thousand, so it is small and holds no pointer.
type lexeme struct {
	kind        rune
	start, size int32 // in the text
	line, col   int32
	up          int32 // the bracket around it, -1 for none
	match       int32 // of a bracket, its other one, or -1
	end         int32 // where its statement ends
	gap         bool  // as of a token
	newLine     bool
	lambda      bool // whether one stands before it in its line
	compares    int8 // of how many characters the comparison is that begins here
}

// A chain is a row of comparisons, as far as it has been read.
type chain struct {
	from    int // its first token
	ops     []int
	assigns bool // whether a value has been assigned in its statement
}

// Unparsed is the error of a program that does not parse.
func (h *Program) Unparsed(err error) error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return value.Errorf(value.Invalid, "%w", err)
	}
	h.find(nil)
	at := scan.Place{Line: int(e.Pos.Line), Col: int(e.Pos.Col)}
	if !slices.ContainsFunc(h.found, func(f habit) bool { return f.at.Line <= at.Line }) {
		text := e.Msg
		if strings.HasPrefix(text, "invalid escape sequence") {
			text += "; put an r before the string, or write \\\\ for \\"
		}
		h.found = append(h.found, habit{at, text})
	}
	return h.error()
}

// Parsed is the error of a program that has been parsed, or nil. What resolving
// it failed with may be nil.
func (h *Program) Parsed(tree *syntax.File, failed error) error {
	var list resolve.ErrorList
	if failed != nil && !errors.As(failed, &list) {
		return value.Errorf(value.Invalid, "%w", failed)
	}
	certain := h.certain(tree)
	for _, e := range list {
		certain[scan.Place{Line: int(e.Pos.Line), Col: int(e.Pos.Col)}] = true
	}
	if len(certain) == 0 {
		return nil
	}
	h.find(certain)
	h.resolver(tree, list)
	return h.error()
}

// resolver adds what resolving failed with and no finding says.
func (h *Program) resolver(tree *syntax.File, list resolve.ErrorList) {
	var names []string
	for _, e := range list {
		at := scan.Place{Line: int(e.Pos.Line), Col: int(e.Pos.Col)}
		if len(h.found) > maxHabits || slices.ContainsFunc(h.found, func(f habit) bool { return f.at == at }) {
			continue
		}
		name, undefined := strings.CutPrefix(e.Msg, "undefined: ")
		if !undefined {
			h.found = append(h.found, habit{at, e.Msg})
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if h.told[name] {
			continue
		}
		h.told[name] = true
		if names == nil {
			names = h.names(tree)
		}
		text := "undefined: " + name
		if advice := h.advice(name); advice != "" {
			text += "; " + advice
		} else {
			text += value.DidYouMean(name, names)
		}
		h.found = append(h.found, habit{at, text})
	}
}

// names lists what a name can mean in a program: what it has been given, and
// what it defines.
func (h *Program) names(tree *syntax.File) []string {
	names := map[string]bool{}
	for _, d := range []starlark.StringDict{starlark.Universe, h.Given} {
		for name := range d {
			names[name] = true
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && !strings.HasPrefix(id.Name, "<") {
			if b, ok := id.Binding.(*resolve.Binding); ok && b.Scope != resolve.Undefined {
				names[id.Name] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(names))
}

// error is the error that lists what has been found, or nil.
func (h *Program) error() error {
	if len(h.found) == 0 {
		return nil
	}
	slices.SortStableFunc(h.found, func(a, b habit) int {
		return cmp.Or(a.at.Line-b.at.Line, a.at.Col-b.at.Col)
	})
	var lines []string
	for _, f := range h.found[:min(len(h.found), maxHabits)] {
		lines = append(lines, fmt.Sprintf("line %d: %s", f.at.Line, f.text))
	}
	if len(h.found) > maxHabits {
		lines = append(lines, "and more of it")
	}
	e := value.Errorf(value.Invalid, "%s", strings.Join(lines, "\n")).
		WithHint("nothing has been run: mend these lines and give the whole program again")
	e.Pos = value.Position{File: h.Path, Line: h.found[0].at.Line, Col: h.found[0].at.Col}
	return e
}

// certain says where a program holds what cannot but fail when it is run.
func (h *Program) certain(tree *syntax.File) map[scan.Place]bool {
	c := certainty{Program: h, places: map[scan.Place]bool{}, named: map[syntax.Node]bool{}}
	syntax.Walk(tree, c.look)
	if !c.passed {
		for _, pos := range c.methods {
			c.mark(pos)
		}
	}
	return c.places
}

// A certainty collects the places of what is certain to fail.
type certainty struct {
	*Program
	places  map[scan.Place]bool
	named   map[syntax.Node]bool // the modules whose functions are named
	passed  bool                 // whether a module is used as a value, so that anything may be one
	methods []syntax.Position    // of calls of what no value has as its method
}

func (c *certainty) mark(pos syntax.Position) {
	c.places[scan.Place{Line: int(pos.Line), Col: int(pos.Col)}] = true
}

func (c *certainty) look(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Ident:
		c.passed = c.passed || c.module(n) != nil && !c.named[n]
	case *syntax.DotExpr:
		if m := c.module(n.X); m != nil {
			c.named[n.X] = true
			if _, err := m.Attr(n.Name.Name); err != nil {
				c.mark(n.Name.NamePos)
			}
		}
	case *syntax.BinaryExpr:
		if body, ok := textOf(n.X); ok && n.Op == syntax.PERCENT && badPercent(body) {
			c.mark(n.OpPos)
		}
	case *syntax.CallExpr:
		c.call(n)
	}
	return true
}

func (c *certainty) call(call *syntax.CallExpr) {
	switch fn := call.Fn.(type) {
	case *syntax.DotExpr:
		body, isText := textOf(fn.X)
		switch {
		case isText && fn.Name.Name == "format":
			// Any text can be the name of an argument that ** gives.
			if _, bad := badField(body); bad && !slices.ContainsFunc(call.Args, unpacksDict) {
				c.mark(fn.Name.NamePos)
			}
		case c.module(fn.X) == nil && methodAdvice[fn.Name.Name] != nil:
			c.methods = append(c.methods, fn.Name.NamePos)
		}
	case *syntax.Ident:
		b, _ := fn.Binding.(*resolve.Binding)
		if fn.Name != "print" || b == nil || b.Scope != resolve.Universal {
			return
		}
		for _, arg := range call.Args {
			if kw, ok := arg.(*syntax.BinaryExpr); ok && kw.Op == syntax.EQ {
				if id, ok := kw.X.(*syntax.Ident); ok && id.Name != "sep" {
					c.mark(id.NamePos)
				}
			}
		}
	}
}

func unpacksDict(arg syntax.Expr) bool {
	star, ok := arg.(*syntax.UnaryExpr)
	return ok && star.Op == syntax.STARSTAR
}

// module returns the module that an expression names, or nil.
func (h *Program) module(x syntax.Expr) starlark.HasAttrs {
	id, ok := x.(*syntax.Ident)
	if !ok {
		return nil
	}
	if b, _ := id.Binding.(*resolve.Binding); b == nil || b.Scope != resolve.Predeclared {
		return nil
	}
	m, _ := h.Given[id.Name].(starlark.HasAttrs)
	return m
}

// textOf returns the text of a string as it is written, between its quotes.
func textOf(x syntax.Expr) (string, bool) {
	lit, ok := x.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return "", false
	}
	_, body := unquoted(strings.TrimLeft(lit.Raw, "rR"))
	return body, true
}

// unquoted takes a string's quotes from it.
func unquoted(literal string) (quote, body string) {
	quote = literal[:1]
	if triple := strings.Repeat(quote, 3); len(literal) >= 6 && strings.HasPrefix(literal, triple) {
		quote = triple
	}
	return quote, literal[len(quote) : len(literal)-len(quote)]
}
