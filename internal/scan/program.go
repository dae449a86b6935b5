package scan

import (
	"slices"

	"go.starlark.net/syntax"
)

// Names with a meaning in programs, which are Starlark that runs from its first line to
// its last. The result of a program is, in this order, what it returns, the value of
// its last statement, if that is an expression and not None, the value of ResultName,
// if its top level assigns it, and None. See also [OnlyMain].
const (
	ResultName = "result"
	MainName   = "main"
)

// ParseProgram parses a program without annotations. Its dialect is that of tools plus
// while: models use it, and steps are bounded.
func ParseProgram(path, text string) (*syntax.File, error) {
	return (&syntax.FileOptions{Set: true, While: true}).Parse(path, text, 0)
}

// AssignsResult reports whether a top-level statement, outside of functions, assigns
// the name result.
func AssignsResult(stmt syntax.Stmt) bool {
	switch s := stmt.(type) {
	case *syntax.AssignStmt:
		return bindsResult(s.LHS)
	case *syntax.ForStmt:
		return bindsResult(s.Vars) || slices.ContainsFunc(s.Body, AssignsResult)
	case *syntax.WhileStmt:
		return slices.ContainsFunc(s.Body, AssignsResult)
	case *syntax.IfStmt:
		return slices.ContainsFunc(s.True, AssignsResult) || slices.ContainsFunc(s.False, AssignsResult)
	}
	return false
}

func bindsResult(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name == ResultName
	case *syntax.ParenExpr:
		return bindsResult(x.X)
	case *syntax.TupleExpr:
		return slices.ContainsFunc(x.List, bindsResult)
	case *syntax.ListExpr:
		return slices.ContainsFunc(x.List, bindsResult)
	}
	return false
}

// OnlyMain reports whether a program only defines functions and constants, and has a
// function main that it never mentions and that can be called without arguments.
func OnlyMain(body []syntax.Stmt) bool {
	var main *syntax.DefStmt
	mentions := 0
	for _, stmt := range body {
		switch s := stmt.(type) {
		case *syntax.DefStmt:
			if s.Name.Name == MainName {
				main = s
			}
		case *syntax.AssignStmt:
		case *syntax.ExprStmt:
			if _, isText := s.X.(*syntax.Literal); !isText {
				return false
			}
		default:
			return false
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok && id.Name == MainName {
				mentions++
			}
			return true
		})
	}
	return main != nil && mentions == 1 && !slices.ContainsFunc(main.Params, func(p syntax.Expr) bool {
		_, required := p.(*syntax.Ident)
		return required
	})
}
