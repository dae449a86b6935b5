package lua

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// mendBreaks puts a statement before each break that is the first in a for … in.
// The interpreter's compiler takes one that is alone there, inside another loop,
// for a jump to somewhere else: past the end of the function, even.
func mendBreaks(stmts []ast.Stmt) { mendNode(reflect.ValueOf(stmts)) }

func mendNode(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			mendNode(v.Index(i))
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if loop, ok := v.Interface().(*ast.GenericForStmt); ok && len(loop.Stmts) > 0 {
			if first, ok := loop.Stmts[0].(*ast.BreakStmt); ok {
				loop.Stmts = append([]ast.Stmt{nothing(first.Line())}, loop.Stmts...)
			}
		}
		mendNode(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				mendNode(v.Field(i))
			}
		}
	}
}

// nothing is a statement that does nothing, but takes an instruction.
func nothing(line int) ast.Stmt {
	value := &ast.NilExpr{}
	value.SetLine(line)
	stmt := &ast.LocalAssignStmt{Names: []string{"(nothing)"}, Exprs: []ast.Expr{value}}
	stmt.SetLine(line)
	stmt.SetLastLine(line)
	return stmt
}
