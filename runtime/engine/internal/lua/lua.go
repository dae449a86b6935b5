// Package lua reads and runs scripts in Lua.
package lua

import (
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Language is Lua 5.1. It has no modules of its own (no require, no load): a tool is
// one file.
type Language struct {
	library   *library
	modules   []script.Module
	checkable func() checkable // what checks know of the library
}

// New returns the language with the modules of its scripts.
func New(modules []script.Module) *Language {
	l := &Language{library: newLibrary(modules), modules: modules}
	l.checkable = sync.OnceValue(l.newCheckable)
	return l
}

func (l *Language) Declare(src script.Source) (*script.Declaration, error) {
	f, err := parseFile(src.Path, src.Text)
	if err != nil {
		return nil, err
	}
	d, _, err := f.declaration()
	if err == nil {
		_, err = l.Compile(tool.Script{Path: src.Path, Source: src.Text}) // it runs nothing of the file
	}
	return d, err
}

func (l *Language) DeclareBlock(src script.Source) (*script.Declaration, error) {
	f, err := parseBlock(src.Path, src.Text)
	if err != nil {
		return nil, err
	}
	handler, err := f.handlerOf(script.Stem(src.Path))
	if err != nil {
		return nil, err
	}
	if _, err := l.CompileBlock(tool.Script{Path: src.Path, Source: src.Text}, untyped); err != nil {
		return nil, err
	}
	d := script.New("", value.Position{}, map[string][]string{})
	d.Handler = handler
	for name, fn := range f.functions {
		d.Functions[name] = f.parameters(fn)
	}
	f.describeBlock(d)
	return d, nil
}

// Compile compiles a file to a chunk that returns a table of its functions. The
// declaration is removed: it was read by parsing.
func (l *Language) Compile(s tool.Script) (script.Program, error) {
	f, err := parseFile(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	d, functions, err := f.declaration()
	if err != nil {
		return nil, err
	}
	f.stmts[len(f.stmts)-1] = exporting(functions, f.stmts[len(f.stmts)-1].Line())
	return l.program(f, "handler", d.Result)
}

// CompileBlock compiles a code block in the same way. The declared type of the result
// decides whether an empty table is a list or a dict.
func (l *Language) CompileBlock(s tool.Script, returns func() (*tool.Type, error)) (script.Program, error) {
	f, err := parseBlock(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	handler, err := f.handlerOf(script.Stem(s.Path))
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
	return l.program(f, handler, returns)
}

// untyped is used where the type of the result is not needed.
func untyped() (*tool.Type, error) { return nil, nil }

// exporting returns the statement that returns functions by name.
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
func (l *Language) program(f *file, handler string, returns func() (*tool.Type, error)) (_ script.Program, err error) {
	defer func() {
		// The compiler panics if a file exceeds its limits.
		if cause := recover(); cause != nil {
			err = f.errorAt(0, "compile the file: %v", cause)
		}
	}()
	proto, err := lua.Compile(f.stmts, f.path)
	if err != nil {
		return nil, f.compileError(err)
	}
	p := &program{
		path:    f.path,
		text:    f.text,
		proto:   proto,
		handler: handler,
		names:   f.names,
		library: l.library.part(f.mentions),
	}
	for name := range f.mentions {
		if f.assigned[name] == 0 && luaMissing(name) != "" {
			p.missing = append(p.missing, name)
		}
	}
	p.returns, err = returns()
	return p, err
}
