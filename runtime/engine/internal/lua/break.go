package lua

import "github.com/yuin/gopher-lua/ast"

// fixBreak inserts a statement before a break that is the first statement of a for … in.
// Without it the interpreter's compiler jumps to a wrong target if that loop is inside
// another one, even past the end of the function.
func fixBreak(loop *ast.GenericForStmt) {
	if len(loop.Stmts) == 0 {
		return
	}
	first, ok := loop.Stmts[0].(*ast.BreakStmt)
	if !ok {
		return
	}
	none := &ast.NilExpr{}
	none.SetLine(first.Line())
	nothing := &ast.LocalAssignStmt{Names: []string{"(nothing)"}, Exprs: []ast.Expr{none}}
	nothing.SetLine(first.Line())
	nothing.SetLastLine(first.Line())
	loop.Stmts = append([]ast.Stmt{nothing}, loop.Stmts...)
}
