package lua

import (
	"errors"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxLuaNesting is how deep the syntax of a Lua file may be nested. The compiler is
// recursive: a file of "- - - …" could otherwise take a gigabyte of stack, which
// nothing can stop.
const maxLuaNesting = 1000

// maxLuaConstants bounds the compiler's work on constants: it searches all constants of
// the function for each one. This many comparisons take about half a second.
const maxLuaConstants = 50_000_000

// gotoCost is how many such comparisons take as long as one of a label with a goto: the compiler compares each label with all
// gotos before it in the function.
const gotoCost = 4

// file is a parsed Lua file.
type file struct {
	path  string
	text  string
	stmts []ast.Stmt

	functions map[string]ast.Expr // named functions of the top level, by name
	order     []string            // their names, in order
	constants map[string]ast.Expr // the values assigned to names of the top level
	assigned  map[string]int      // how often each is assigned, anywhere in the file
	names     map[int]string      // functions by their first line
	mentions  map[string]bool     // every name in the file that could be a global
	tools     []int               // the lines of the calls of tool
	returns   []int               // the lines of the top level's returns, except the last
	read      int                 // how many parts of the declaration were read
	faults    []error             // of the declaration
	hidden    map[string]bool     // the words in parts that do not parse and were left out
}

func parseFile(path, text string) (*file, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.HasPrefix(text, "#") {
		text = "--" + text // the #! line of Unix
	}
	stmts, err := parse.Parse(strings.NewReader(text), path)
	f := &file{
		path:      path,
		text:      text,
		stmts:     stmts,
		functions: map[string]ast.Expr{},
		constants: map[string]ast.Expr{},
		assigned:  map[string]int{},
		names:     map[int]string{0: "main chunk"},
		mentions:  map[string]bool{},
	}
	if err != nil {
		return nil, f.syntaxError(err)
	}
	w := walker{file: f}
	w.top(stmts)
	return f, w.err
}

// parseBlock parses the code of a Markdown file, which may also be an anonymous
// function.
func parseBlock(path, text string) (*file, error) {
	start := luaCodeStart(text)
	if rest, ok := strings.CutPrefix(text[start:], "function"); ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(") {
		text = text[:start] + "return " + text[start:]
	}
	return parseFile(path, text)
}

// luaCodeStart returns the end of the white space and comments at the beginning of a
// Lua text.
func luaCodeStart(text string) int {
	rest := text
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\ufeff")
		comment, ok := strings.CutPrefix(rest, "--")
		if !ok {
			return len(text) - len(rest)
		}
		end := "\n"
		if bracket, ok := strings.CutPrefix(comment, "["); ok {
			level := len(bracket) - len(strings.TrimLeft(bracket, "="))
			if strings.HasPrefix(bracket[level:], "[") {
				end = "]" + bracket[:level] + "]"
			}
		}
		_, rest, ok = strings.Cut(comment, end)
		if !ok {
			return len(text)
		}
	}
}

func (f *file) errorAt(line int, format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos = f.position(line)
	return e
}

func (f *file) position(line int) value.Position { return value.Position{File: f.path, Line: line} }

func (f *file) syntaxError(err error) error {
	var e *parse.Error
	if !errors.As(err, &e) {
		return f.errorAt(0, "parse the file: %v", err)
	}
	message := strings.TrimSpace(e.Message)
	if e.Pos.Line == parse.EOF {
		return f.errorAt(1+strings.Count(strings.TrimRight(f.text, "\n"), "\n"), "%s at the end of the file", message)
	}
	near := strings.ToValidUTF8(e.Token, "\ufffd")
	if runes := []rune(near); len(runes) > 40 {
		near = string(runes[:40]) + "…"
	}
	failed := f.errorAt(e.Pos.Line, "%s near %q", message, near)
	line := luaLine(f.text, e.Pos.Line)
	failed.Pos.Col = utf8.RuneCountInString(line[:min(e.Pos.Column, len(line))])
	return failed
}

func (f *file) compileError(err error) error {
	var e *lua.CompileError
	if !errors.As(err, &e) {
		return f.errorAt(0, "compile the file: %v", err)
	}
	return f.errorAt(e.Line, "%s", e.Message)
}

// luaLine returns the n-th line of a text, counted from 1.
func luaLine(text string, n int) string {
	for ; n > 1; n-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// A walker walks a file's syntax once and records what reading declarations needs. It
// stops at the first error.
type walker struct {
	file  *file
	scope *scope // the local names; nil on the top level
	inner int    // how many functions enclose the position
	depth int
	err   error

	constants map[string]bool // of the enclosing function, in source form
	gotos     int             // of the enclosing function, up to the position
	compared  int             // how many constants, labels and gotos the compiler will compare
}

// A scope holds the local names of a block. Names of the top level are in no scope:
// file.assigned counts them together with globals.
type scope struct {
	outer *scope
	names map[string]bool
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// enter enters one level of nesting, unless that is too deep.
func (w *walker) enter(line int) bool {
	if w.depth == maxLuaNesting && w.err == nil {
		w.err = w.file.errorAt(line, "the code is nested more than %d levels deep", maxLuaNesting)
	}
	if w.err != nil {
		return false
	}
	w.depth++
	return true
}

// use records a constant of the enclosing function.
func (w *walker) use(constant string, line int) {
	w.compared += len(w.constants)
	w.constants[constant] = true
	if w.compared > maxLuaConstants && w.err == nil {
		w.err = w.file.errorAt(line, "too many different constants in one function").
			WithHint("move large tables to a file, and read the file with fs.read")
	}
}

// top walks the statements of the file.
func (w *walker) top(stmts []ast.Stmt) {
	w.constants = map[string]bool{}
	for i, stmt := range stmts {
		if _, ok := stmt.(*ast.ReturnStmt); ok && i == len(stmts)-1 {
			w.inner++ // the last return is not recorded
		}
		switch s := stmt.(type) {
		case *ast.LocalAssignStmt:
			for j, name := range s.Names {
				w.recordAssigned(name, s.Exprs, j)
			}
		case *ast.AssignStmt:
			for j, left := range s.Lhs {
				if id, ok := left.(*ast.IdentExpr); ok {
					w.constant(id.Value, s.Rhs, j)
				}
			}
		case *ast.FuncDefStmt:
			if id, ok := s.Name.Func.(*ast.IdentExpr); ok {
				w.constant(id.Value, []ast.Expr{s.Func}, 0)
			}
		}
		w.stmt(stmt)
	}
}

// recordAssigned records that a name of the top level is assigned the i-th of some
// values.
func (w *walker) recordAssigned(name string, values []ast.Expr, i int) {
	w.file.assigned[name]++
	w.constant(name, values, i)
}

func (w *walker) constant(name string, values []ast.Expr, i int) {
	if i >= len(values) {
		w.file.constants[name] = &ast.NilExpr{}
		return
	}
	w.file.constants[name] = values[i]
	if fn, ok := values[i].(*ast.FunctionExpr); ok {
		id := &ast.IdentExpr{Value: name}
		id.SetLine(fn.Line())
		if w.file.functions[name] == nil {
			w.file.order = append(w.file.order, name)
		}
		w.file.functions[name] = id
		w.file.names[fn.Line()] = name
	}
}

func (w *walker) block(stmts []ast.Stmt, names ...string) {
	w.open(names)
	w.stmts(stmts)
	w.close()
}

func (w *walker) open(names []string) {
	w.scope = &scope{outer: w.scope, names: map[string]bool{}}
	w.scope.add(names)
}

func (w *walker) close() { w.scope = w.scope.outer }

func (s *scope) add(names []string) {
	for _, name := range names {
		s.names[name] = true
	}
}

func (w *walker) stmts(stmts []ast.Stmt) {
	for _, s := range stmts {
		w.stmt(s)
	}
}

func (w *walker) stmt(stmt ast.Stmt) {
	if !w.enter(stmt.Line()) {
		return
	}
	defer func() { w.depth-- }()
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		w.exprs(s.Rhs)
		w.exprs(s.Lhs)
		for _, left := range s.Lhs {
			w.assign(left)
		}
	case *ast.LocalAssignStmt:
		w.exprs(s.Exprs)
		if w.scope != nil {
			w.scope.add(s.Names)
		}
	case *ast.FuncCallStmt:
		w.expr(s.Expr)
	case *ast.GotoStmt:
		w.gotos++
	case *ast.LabelStmt:
		if w.compared += gotoCost * w.gotos; w.compared > maxLuaConstants && w.err == nil {
			w.err = w.file.errorAt(s.Line(), "too many labels and gotos in one function")
		}
	case *ast.DoBlockStmt:
		w.block(s.Stmts)
	case *ast.WhileStmt:
		w.expr(s.Condition)
		w.block(s.Stmts)
	case *ast.RepeatStmt:
		w.open(nil)
		w.stmts(s.Stmts)
		w.expr(s.Condition) // it sees the local names of the block
		w.close()
	case *ast.IfStmt:
		w.expr(s.Condition)
		w.block(s.Then)
		w.block(s.Else)
	case *ast.NumberForStmt:
		w.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		w.block(s.Stmts, s.Name)
	case *ast.GenericForStmt:
		w.exprs(s.Exprs)
		fixBreak(s)
		w.block(s.Stmts, s.Names...)
	case *ast.FuncDefStmt:
		w.funcDef(s)
	case *ast.ReturnStmt:
		if w.inner == 0 {
			w.file.returns = append(w.file.returns, s.Line())
		}
		w.exprs(s.Exprs)
	}
}

func (w *walker) funcDef(s *ast.FuncDefStmt) {
	if s.Name.Func != nil {
		w.expr(s.Name.Func)
		w.assign(s.Name.Func)
	} else {
		w.expr(s.Name.Receiver)
	}
	w.expr(s.Func)
}

// assign records an assignment to a name of the top level.
func (w *walker) assign(left ast.Expr) {
	if id, ok := left.(*ast.IdentExpr); ok && !w.scope.has(id.Value) {
		w.file.assigned[id.Value]++
	}
}

func (w *walker) exprs(list []ast.Expr) {
	for _, x := range list {
		if x != nil {
			w.expr(x)
		}
	}
}

func (w *walker) expr(x ast.Expr) {
	if !w.enter(x.Line()) {
		return
	}
	defer func() { w.depth-- }()
	switch x := x.(type) {
	case *ast.IdentExpr:
		w.file.mentions[x.Value] = true
		w.use(x.Value, x.Line())
	case *ast.StringExpr:
		w.use(x.Value, x.Line())
	case *ast.NumberExpr:
		w.use("#"+x.Value, x.Line())
	case *ast.AttrGetExpr:
		w.expr(x.Object)
		w.expr(x.Key)
	case *ast.TableExpr:
		for _, field := range x.Fields {
			if field.Key != nil {
				w.expr(field.Key)
			}
			w.expr(field.Value)
		}
	case *ast.FuncCallExpr:
		w.call(x)
	case *ast.LogicalOpExpr:
		w.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.RelationalOpExpr:
		w.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.StringConcatOpExpr:
		w.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.ArithmeticOpExpr:
		w.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.UnaryMinusOpExpr:
		w.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		w.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		w.expr(x.Expr)
	case *ast.FunctionExpr:
		constants, gotos := w.constants, w.gotos
		w.constants, w.gotos = map[string]bool{}, 0
		w.inner++
		w.block(x.Stmts, x.ParList.Names...)
		w.inner--
		w.constants, w.gotos = constants, gotos
	}
}

func (w *walker) call(x *ast.FuncCallExpr) {
	if id, ok := x.Func.(*ast.IdentExpr); ok && id.Value == "tool" && !w.scope.has("tool") {
		w.file.tools = append(w.file.tools, x.Line())
	}
	if x.Func != nil {
		w.expr(x.Func)
	} else {
		w.expr(x.Receiver)
	}
	w.exprs(x.Args)
}

// handlerOf finds the handler in the code of a Markdown file: the function that it
// returns, its only function, or the one that is named like the tool or "handler".
func (f *file) handlerOf(stem string) (string, error) {
	if len(f.returns) > 0 {
		return "", f.errorAt(f.returns[0], "return is only allowed at the end of the code")
	}
	if len(f.stmts) > 0 {
		if r, ok := f.stmts[len(f.stmts)-1].(*ast.ReturnStmt); ok {
			return f.returnedHandler(r)
		}
	}
	name, err := script.HandlerName(f.order, stem)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		e.Pos.File = f.path
		if len(f.stmts) > 0 {
			e.Pos.Line = f.stmts[0].Line()
		}
		return "", e
	}
	return name, nil
}

func (f *file) returnedHandler(r *ast.ReturnStmt) (string, error) {
	if len(r.Exprs) == 1 {
		switch x := r.Exprs[0].(type) {
		case *ast.FunctionExpr:
			f.names[x.Line()] = "handler"
			return "handler", nil
		case *ast.IdentExpr:
			if f.functions[x.Value] != nil {
				return x.Value, nil
			}
		}
	}
	return "", f.errorAt(r.Line(), "Code block must define a function").
		WithHint("return the handler: return function(args) … end; the front matter describes the tool")
}
