package lua

import (
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Statements lists the lines of the functions in a file, or in a code block, that have code.
func (l *Language) Statements(s tool.Script) (_ []int, err error) {
	f, err := parseBlock(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cause := recover(); cause != nil { // as in Compile
			err = value.Errorf(value.Invalid, "compile the file: %v", cause)
		}
	}()
	proto, err := lua.Compile(f.stmts, f.path)
	if err != nil {
		return nil, f.compileError(err)
	}
	lines := map[int]bool{}
	for _, p := range proto.FunctionPrototypes {
		addLines(lines, p)
	}
	return slices.Sorted(maps.Keys(lines)), nil
}

// addLines adds the lines of a function with code. The last instruction is the return that every
// function ends with, at its end.
func addLines(lines map[int]bool, p *lua.FunctionProto) {
	for i, line := range p.DbgSourcePositions {
		if i < len(p.DbgSourcePositions)-1 && line > 0 {
			lines[line] = true
		}
	}
	for _, inner := range p.FunctionPrototypes {
		addLines(lines, inner)
	}
}
