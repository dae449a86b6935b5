package engine

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// LuaNames returns the names that a statement at the top of a Lua file mentions,
// those that it gives a value anywhere in it, and those that it makes by itself.
func LuaNames(stmt ast.Stmt) (mentions, gives, makes []string) {
	f := &luaFile{functions: map[string]ast.Expr{}, constants: map[string]ast.Expr{}, given: map[string]int{},
		names: map[int]string{}, mentions: map[string]bool{}}
	w := luaWalker{file: f}
	w.top([]ast.Stmt{stmt})
	return slices.Collect(maps.Keys(f.mentions)), slices.Collect(maps.Keys(f.given)), slices.Collect(maps.Keys(f.constants))
}
