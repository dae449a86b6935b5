package starlint

import (
	"fmt"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
)

// A Result is what is declared of the result of a function.
type Result struct {
	Type   string // as it is written, or "" if nothing is declared
	Null   bool   // the type includes None
	Checks bool   // the host checks the result
	Open   bool   // a function that returns nothing on some paths is right
	Must   string // what the host expects, if that is not declared
	Return string // the statement that returns it
}

// Flow reports statements that are never executed, and functions that do not return a value on
// each path. result returns what a function declares.
func Flow(r *lint.Report, tree *syntax.File, result func(*syntax.DefStmt) Result) {
	(&flow{report: r}).block(tree.Stmts)
	syntax.Walk(tree, func(n syntax.Node) bool {
		if def, ok := n.(*syntax.DefStmt); ok {
			f := flow{report: r}
			ends := f.block(def.Body)
			f.returns(def, ends, result(def))
		}
		return true
	})
}

// A flow follows the statements of one function, without those inside of it.
type flow struct {
	report        *lint.Report
	values, nones int // the returns with a value, and those of None
	firstNone     *syntax.ReturnStmt
}

// block follows statements, and reports whether control never reaches their end.
func (f *flow) block(stmts []syntax.Stmt) (ends bool) {
	for i, s := range stmts {
		if ends && i > 0 {
			at := RangeOf(s)
			f.report.Add(lint.Fault{At: lint.Range{Start: at.Start}, Warning: true, Code: diagnostic.Unreachable, Message: "this statement is never executed",
				Hint: fmt.Sprintf("remove it, or the statement on line %d that ends before it", lineOf(stmts[i-1]))})
			return true
		}
		ends = f.stmt(s)
	}
	return ends
}

func lineOf(s syntax.Stmt) int32 {
	start, _ := s.Span()
	return start.Line
}

func (f *flow) stmt(s syntax.Stmt) (ends bool) {
	switch s := s.(type) {
	case *syntax.ReturnStmt:
		if isNone(s.Result) {
			f.nones++
			if f.firstNone == nil {
				f.firstNone = s
			}
		} else {
			f.values++
		}
		return true
	case *syntax.BranchStmt:
		return s.Token == syntax.BREAK || s.Token == syntax.CONTINUE
	case *syntax.ExprStmt:
		return isFail(s)
	case *syntax.IfStmt:
		then, otherwise := f.block(s.True), f.block(s.False)
		return then && otherwise && len(s.False) > 0
	case *syntax.ForStmt:
		f.block(s.Body)
	case *syntax.WhileStmt:
		f.block(s.Body)
	}
	return false
}

// isNone reports whether a return has no value.
func isNone(x syntax.Expr) bool {
	if x == nil {
		return true
	}
	v, ok := ConstantOf(x)
	return ok && v == nil
}

// isFail reports whether a statement is a call of fail, which does not return.
func isFail(s *syntax.ExprStmt) bool {
	call, ok := s.X.(*syntax.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fn.(*syntax.Ident)
	return ok && id.Name == "fail" && ScopeOf(id) == resolve.Predeclared
}

// returns checks the returns of a function. ends says that its end is never reached.
func (f *flow) returns(def *syntax.DefStmt, ends bool, declared Result) {
	name := def.Name.Name
	fault := lint.Fault{At: RangeOf(def.Name), Code: diagnostic.MissingReturn, Warning: true}
	wants := declared.Type != "" && !declared.Null || declared.Must != ""
	but, declare := "but its declared result is "+declared.Type, fmt.Sprintf("or declare the result as %s | None", declared.Type)
	if declared.Must != "" {
		but, declare = "but it must return "+declared.Must, "as in "+declared.Return
	}
	switch {
	case wants && f.values == 0 && !ends:
		fault.Warning = !declared.Checks
		fault.Message = fmt.Sprintf("%s returns nothing, %s", name, but)
		if fault.Hint = "return a value, or remove the declared result"; declared.Must != "" {
			fault.Hint = "return a value, " + declare
		}
	case wants && f.firstNone != nil && declared.Checks:
		fault.At, fault.Warning = RangeOf(f.firstNone), false
		fault.Message = fmt.Sprintf("%s returns None here, %s", name, but)
		fault.Hint = "return a value, " + declare
	case wants && f.values > 0 && !ends:
		fault.Message = fmt.Sprintf("%s returns no value on some paths, %s", name, but)
		fault.Hint = "end the function with return or fail, " + declare
	case declared.Type == "" && !declared.Open && f.values > 0 && f.nones == 0 && !ends:
		fault.Message = fmt.Sprintf("%s returns a value on some paths only", name)
		fault.Hint = "end the function with return None, or with a value"
	default:
		return
	}
	f.report.Add(fault)
}
