package lua

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// Names returns the names that a top-level statement of a Lua file mentions, those that
// it assigns anywhere, and those that it defines itself.
func Names(stmt ast.Stmt) (mentions, assigned, constants []string) {
	f := &file{functions: map[string]ast.Expr{}, constants: map[string]ast.Expr{}, assigned: map[string]int{},
		names: map[int]string{}, mentions: map[string]bool{}}
	w := walker{file: f}
	w.top([]ast.Stmt{stmt})
	return slices.Collect(maps.Keys(f.mentions)), slices.Collect(maps.Keys(f.assigned)), slices.Collect(maps.Keys(f.constants))
}
