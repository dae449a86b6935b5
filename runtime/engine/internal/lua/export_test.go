package lua

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// Names returns the names that a statement at the top of a Lua file mentions,
// those that it gives a value anywhere in it, and those that it makes by itself.
func Names(stmt ast.Stmt) (mentions, gives, makes []string) {
	f := &file{functions: map[string]ast.Expr{}, constants: map[string]ast.Expr{}, given: map[string]int{},
		names: map[int]string{}, mentions: map[string]bool{}}
	w := walker{file: f}
	w.top([]ast.Stmt{stmt})
	return slices.Collect(maps.Keys(f.mentions)), slices.Collect(maps.Keys(f.given)), slices.Collect(maps.Keys(f.constants))
}
