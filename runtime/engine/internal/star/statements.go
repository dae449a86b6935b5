package star

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Statements lists the lines of the statements in the functions of a file.
func (l *Language) Statements(s tool.Script) ([]int, error) {
	f, err := l.parse(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	var lines []int
	f.bodies(func(body []syntax.Stmt) []syntax.Stmt {
		for _, stmt := range body {
			start, _ := stmt.Span()
			lines = append(lines, int(start.Line))
		}
		return body
	})
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// Statements returns nothing: a program runs from its first line to its last.
func (c *Code) Statements(tool.Script) ([]int, error) { return nil, nil }

// bodies replaces the lists of statements in the functions of a file, inner ones first. The
// docstrings of functions are not passed on.
func (f *file) bodies(replace func([]syntax.Stmt) []syntax.Stmt) {
	var inside func([]syntax.Stmt) []syntax.Stmt
	function := func(def *syntax.DefStmt) {
		doc := 0
		if e, ok := def.Body[0].(*syntax.ExprStmt); ok {
			if lit, ok := e.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
				doc = 1
			}
		}
		def.Body = append(def.Body[:doc:doc], inside(def.Body[doc:])...)
	}
	inside = func(body []syntax.Stmt) []syntax.Stmt {
		if len(body) == 0 {
			return body // an if without an else
		}
		for _, stmt := range body {
			switch s := stmt.(type) {
			case *syntax.DefStmt:
				function(s)
			case *syntax.IfStmt:
				s.True, s.False = inside(s.True), inside(s.False)
			case *syntax.ForStmt:
				s.Body = inside(s.Body)
			case *syntax.WhileStmt:
				s.Body = inside(s.Body)
			}
		}
		return replace(body)
	}
	for _, stmt := range f.syntax.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok {
			function(def)
		}
	}
}

// coverName is the function that instrumented files call with the line of each statement. No script
// can name it.
const coverName = "<cover>"

// instrument has a file note the line of each statement before it runs. The positions that the
// interpreter knows are not enough: constants have none, and neither have statements such as return.
func (f *file) instrument() {
	f.bodies(func(body []syntax.Stmt) []syntax.Stmt {
		noted := make([]syntax.Stmt, 0, 2*len(body))
		for _, stmt := range body {
			start, _ := stmt.Span()
			call := &syntax.CallExpr{
				Fn: &syntax.Ident{NamePos: start, Name: coverName}, Lparen: start, Rparen: start,
				Args: []syntax.Expr{&syntax.Literal{Token: syntax.INT, TokenPos: start, Raw: "0", Value: int64(start.Line)}},
			}
			noted = append(noted, &syntax.ExprStmt{X: call}, stmt)
		}
		return noted
	})
}

// noteLine is the function with the name coverName.
func noteLine(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	line, _ := starlark.AsInt32(args[0])
	runOf(thread).Cover.Add(thread.CallFrame(1).Pos.Filename(), line)
	return starlark.None, nil
}
