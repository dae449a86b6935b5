package starlint

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

// maxHabits is how many findings one error lists: more than most programs have, and few
// enough to read.
const maxHabits = 50

// A habit is a Python feature that Starlark does not have, with its replacement.
type habit struct {
	at      scan.Position
	text    string
	similar []string // the names that may be meant by the name at at
	rename  string   // the only one of them, if that certainly is meant, or ""
}

// A Finding is a Python feature in a program, or a name that it does not define.
type Finding struct {
	At      scan.Position
	Text    string   // what it is, and its replacement
	Similar []string // the names that may be meant by the name at At
	Rename  string   // the only one of them, if that certainly is meant, or ""
}

// Features returns the Python features in the text of a program that does not parse.
func (h *Program) Features() []Finding {
	h.find()
	return h.findings()
}

// Failures returns what certainly fails in a program that parses. list has the errors of
// resolving it.
func (h *Program) Failures(tree *syntax.File, list resolve.ErrorList) []Finding {
	h.reported = map[string]bool{}
	h.failures(tree)
	h.resolver(tree, list)
	return h.findings()
}

func (h *Program) findings() []Finding {
	return value.Map(h.found, func(f habit) Finding { return Finding{f.at, f.text, f.similar, f.rename} })
}

// Program finds Python features in a program that fails to parse or to resolve, or
// that certainly fails when it runs: a valid Starlark program is never refused. A
// program that does not parse has nothing but tokens; for others the syntax tree
// decides. The contents of strings and comments are ignored.
type Program struct {
	Path        string
	Text        string // without annotations
	Predeclared starlark.StringDict
	Unsure      map[string]bool // loaded names that may not exist, and so are not suggested
	tokens      []scan.Token
	defined     map[string]bool // names that the program defines
	reported    map[string]bool // names that are reported already
	compared    []int           // comparisons in the current expression, for each open bracket
	assigned    bool            // whether the current statement has assigned a value
	lambda      bool            // whether lambda is before the current token on its line
	found       []habit
}

// Unparsed returns the error of a program that does not parse.
func (h *Program) Unparsed(err error) error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return value.Errorf(value.Invalid, "%w", err)
	}
	h.find()
	at := positionOf(e.Pos)
	if !slices.ContainsFunc(h.found, func(f habit) bool { return f.at.Line <= at.Line }) {
		text := e.Msg
		if strings.HasPrefix(text, "invalid escape sequence") {
			text += "; put an r before the string, or write \\\\ for \\"
		}
		h.found = append(h.found, habit{at: at, text: text})
	}
	return h.error()
}

// Parsed returns the error of a program that parses, or nil. failed is the error of
// resolving it, or nil.
func (h *Program) Parsed(tree *syntax.File, failed error) error {
	var list resolve.ErrorList
	if failed != nil && !errors.As(failed, &list) {
		return value.Errorf(value.Invalid, "%w", failed)
	}
	h.Failures(tree, list)
	return h.error()
}

// Hint returns the replacement for the first Python feature in a line of a file that
// does not parse, or "".
func (h *Program) Hint(line int) string {
	h.find()
	for _, f := range h.found {
		if f.at.Line == line {
			return f.text
		}
	}
	return ""
}

// Tokens returns the tokens of a program, once Hint has read them.
func (h *Program) Tokens() []scan.Token { return h.tokens }

func positionOf(pos syntax.Position) scan.Position {
	return scan.Position{Line: int(pos.Line), Col: int(pos.Col)}
}

// Fault adds a finding that the caller has made.
func (h *Program) Fault(at syntax.Position, format string, args ...any) {
	h.add(positionOf(at), format, args...)
}

// add adds a finding.
func (h *Program) add(at scan.Position, format string, args ...any) {
	h.found = append(h.found, habit{at: at, text: fmt.Sprintf(format, args...)})
}

// rename sets the names that the last finding may have instead.
func (h *Program) rename(name string, names []string) {
	last := &h.found[len(h.found)-1]
	last.similar = value.Similar(name, names)
	if len(last.similar) == 1 && max(len(last.similar[0])-len(name), len(name)-len(last.similar[0])) <= 2 {
		last.rename = last.similar[0]
	}
}

// resolver adds the errors of resolving that no finding covers.
func (h *Program) resolver(tree *syntax.File, list resolve.ErrorList) {
	for _, e := range list {
		at := positionOf(e.Pos)
		if len(h.found) > maxHabits || slices.ContainsFunc(h.found, func(f habit) bool { return f.at == at }) {
			continue
		}
		name, undefined := strings.CutPrefix(e.Msg, "undefined: ")
		if !undefined {
			h.add(at, "%s", e.Msg)
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if h.reported[name] {
			continue
		}
		h.reported[name] = true
		if advice := Advice(h.Predeclared, name); advice != "" {
			h.add(at, "undefined: %s; %s", name, advice)
			continue
		}
		names := h.names(tree, e.Pos)
		h.add(at, "undefined: %s%s", name, value.DidYouMean(name, names))
		h.rename(name, names)
	}
}

// names lists the names that are valid at a position of a program: predeclared ones, and those that are
// defined at the top level or in a function around the position.
func (h *Program) names(tree *syntax.File, at syntax.Position) []string {
	names := map[string]bool{}
	for _, d := range []starlark.StringDict{starlark.Universe, h.Predeclared} {
		for name := range d {
			names[name] = true
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			if b, ok := n.Binding.(*resolve.Binding); ok && b.Scope != resolve.Undefined && !strings.HasPrefix(n.Name, "<") {
				names[n.Name] = true
			}
			return true
		case *syntax.DefStmt:
			names[n.Name.Name] = true
			return begins(n.Body[0], at) && contains(n, at)
		case *syntax.LambdaExpr:
			return contains(n.Body, at)
		case *syntax.Comprehension:
			return contains(n, at) && !contains(n.Clauses[0].(*syntax.ForClause).X, at)
		}
		return true
	})
	for name := range h.Unsure {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

func begins(n syntax.Node, at syntax.Position) bool {
	start, _ := n.Span()
	return start.Line < at.Line || start.Line == at.Line && start.Col <= at.Col
}

// contains reports whether a position is in a part of a program.
func contains(n syntax.Node, at syntax.Position) bool {
	_, end := n.Span()
	return begins(n, at) && (at.Line < end.Line || at.Line == end.Line && at.Col < end.Col)
}

// error returns the error that lists the findings, or nil.
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
		lines = append(lines, "and more")
	}
	e := value.Errorf(value.Invalid, "%s", strings.Join(lines, "\n")).
		WithHint("fix these lines, and send the complete program again: no line was run")
	e.Pos = value.Position{File: h.Path, Line: h.found[0].at.Line, Col: h.found[0].at.Col}
	return e
}

// failures adds the findings for code that certainly fails when it runs.
func (h *Program) failures(tree *syntax.File) {
	named := map[syntax.Node]bool{} // the modules in module.name
	passed := false                 // whether a module is used as a value: then any value may be one
	var methods []*syntax.Ident     // that no value has
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			passed = passed || h.module(n) != nil && !named[n]
		case *syntax.DotExpr:
			if m := h.module(n.X); m != nil {
				named[n.X] = true
				h.checkModule(positionOf(n.Name.NamePos), n.X.(*syntax.Ident).Name, n.Name.Name, m)
			}
		case *syntax.BinaryExpr:
			if body, ok := textOf(n.X); ok && n.Op == syntax.PERCENT {
				h.checkPercent(positionOf(n.OpPos), body)
			}
		case *syntax.CallExpr:
			switch fn := n.Fn.(type) {
			case *syntax.DotExpr:
				body, isText := textOf(fn.X)
				switch {
				case isText && fn.Name.Name == "format":
					if !slices.ContainsFunc(n.Args, unpacksDict) { // any text may be the name of an argument from **
						h.checkFormat(positionOf(fn.Name.NamePos), body)
					}
				case h.module(fn.X) == nil && (fn.Name.Name != "sort" || h.sortsList(n.Args)):
					methods = append(methods, fn.Name)
				}
			case *syntax.Ident:
				h.printed(fn, n.Args)
			}
		}
		return true
	})
	for _, m := range methods {
		if !passed {
			h.checkMethod(positionOf(m.NamePos), m.Name)
		}
	}
}

// sortsList reports whether arguments are certainly those of Python's list.sort. A table has a method sort with
// the arguments by, descending and key.
func (h *Program) sortsList(args []syntax.Expr) bool {
	return !slices.ContainsFunc(args, func(arg syntax.Expr) bool {
		named, ok := arg.(*syntax.BinaryExpr)
		if !ok || named.Op != syntax.EQ {
			return true
		}
		id, _ := named.X.(*syntax.Ident)
		return id == nil || id.Name != "reverse" && (id.Name != "key" || h.Predeclared.Has("data"))
	})
}

// printed checks a call of the builtin print.
func (h *Program) printed(fn *syntax.Ident, args []syntax.Expr) {
	if b, _ := fn.Binding.(*resolve.Binding); fn.Name != "print" || b == nil || b.Scope != resolve.Universal {
		return
	}
	for _, arg := range args {
		if kw, ok := arg.(*syntax.BinaryExpr); ok && kw.Op == syntax.EQ {
			id := kw.X.(*syntax.Ident)
			h.checkPrint(positionOf(id.NamePos), id.Name)
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
	m, _ := h.Predeclared[id.Name].(starlark.HasAttrs)
	return m
}

// textOf returns the text of a string as it is written, between its quotes.
func textOf(x syntax.Expr) (string, bool) {
	lit, ok := x.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return "", false
	}
	_, _, body := unquoted(lit.Raw)
	return body, true
}
