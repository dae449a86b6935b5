package engine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// luaLang is the Lua language, in its version 5.1. It has no modules of its
// own (no require, no load): a tool is one file.
type luaLang struct {
	library *luaLibrary
}

func newLua(modules []module) *luaLang {
	return &luaLang{library: newLuaLibrary(modules)}
}

func (l *luaLang) declare(src source) (*declaration, error) {
	f, err := parseLua(src.path, src.text)
	if err != nil {
		return nil, err
	}
	d, _, err := f.declaration()
	if err == nil {
		_, err = l.compile(tool.Script{Path: src.path, Source: src.text}) // it runs nothing of the file
	}
	return d, err
}

func (l *luaLang) declareBlock(src source) (*declaration, error) {
	f, err := parseLuaBlock(src.path, src.text)
	if err != nil {
		return nil, err
	}
	handler, err := f.handlerOf(stem(src.path))
	if err != nil {
		return nil, err
	}
	if _, err := l.compileBlock(tool.Script{Path: src.path, Source: src.text}, untyped); err != nil {
		return nil, err
	}
	d := &declaration{handler: handler, fields: &tool.Dict{}, at: map[string]tool.Position{}, functions: map[string][]string{}}
	for name, fn := range f.functions {
		d.functions[name] = f.parameters(fn)
	}
	return d, nil
}

// compile makes of a file a chunk that returns a table of its functions. What
// the file declares has been read by parsing and is not run.
func (l *luaLang) compile(s tool.Script) (program, error) {
	f, err := parseLua(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	d, functions, err := f.declaration()
	if err != nil {
		return nil, err
	}
	f.stmts[len(f.stmts)-1] = exporting(functions, f.stmts[len(f.stmts)-1].Line())
	p, err := l.program(f, "handler")
	if err != nil {
		return nil, err
	}
	p.returns, err = d.result()
	return p, err
}

// compileBlock does the same with a code block. What an empty table of Lua is, a list
// or a dict, the declared type of the result says.
func (l *luaLang) compileBlock(s tool.Script, returns func() (*tool.Type, error)) (program, error) {
	f, err := parseLuaBlock(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	handler, err := f.handlerOf(stem(s.Path))
	if err != nil {
		return nil, err
	}
	last := f.stmts[len(f.stmts)-1]
	line := max(last.Line(), last.LastLine())
	if r, ok := last.(*ast.ReturnStmt); ok {
		f.stmts = f.stmts[:len(f.stmts)-1]
		f.functions[handler] = r.Exprs[0]
	}
	f.stmts = append(f.stmts, exporting(f.functions, line))
	p, err := l.program(f, handler)
	if err != nil {
		return nil, err
	}
	p.returns, err = returns()
	return p, err
}

// untyped is the type of a result that is not wanted.
func untyped() (*tool.Type, error) { return nil, nil }

// exporting is the statement that returns functions by name.
func exporting(functions map[string]ast.Expr, line int) ast.Stmt {
	table := &ast.TableExpr{}
	table.SetLine(line)
	for name, fn := range functions {
		key := &ast.StringExpr{Value: name}
		key.SetLine(line)
		table.Fields = append(table.Fields, &ast.Field{Key: key, Value: fn})
	}
	stmt := &ast.ReturnStmt{Exprs: []ast.Expr{table}}
	stmt.SetLine(line)
	stmt.SetLastLine(line)
	return stmt
}

// program compiles the chunk.
func (l *luaLang) program(f *luaFile, handler string) (p *luaProgram, err error) {
	defer func() {
		// The compiler panics where it meets more than its code can number.
		if cause := recover(); cause != nil {
			err = f.errorAt(0, "the file cannot be compiled: %v", cause)
		}
	}()
	mendBreaks(f.stmts)
	proto, err := lua.Compile(f.stmts, f.path)
	if err != nil {
		return nil, f.compileError(err)
	}
	p = &luaProgram{
		path:    f.path,
		text:    f.text,
		proto:   proto,
		handler: handler,
		names:   f.names,
		library: l.library.part(f.mentions),
	}
	for name := range f.mentions {
		if f.given[name] == 0 && luaMissing(name) != "" {
			p.missing = append(p.missing, name)
		}
	}
	return p, nil
}
