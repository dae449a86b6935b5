// Package lualint finds faults in scripts in Lua.
package lualint

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
)

// A place is the place of a token: its line and its column in bytes, both from 1.
type place struct{ line, col, length int }

// Places are the places of the parts of a syntax tree, which itself has only lines. They are found by
// reading the tokens again, in the order of the tree.
type Places struct {
	tokens []ast.Token
	next   int
	lost   bool // the tree and the tokens differ: nothing more is known
	nodes  map[any]place
	shift  func(line int) int // how many bytes were added at the beginning of a line
}

// A nameKey is the key of a name that is no node of the tree.
type nameKey struct {
	node any
	i    int
}

// PlacesOf returns the places of a tree that was parsed from a text.
func PlacesOf(text string, stmts []ast.Stmt, shift func(line int) int) *Places {
	p := &Places{nodes: map[any]place{}, shift: shift}
	scanner := parse.NewScanner(strings.NewReader(text), "")
	for lexer := (&parse.Lexer{}); ; {
		t, err := scanner.Scan(lexer)
		if err != nil || t.Type == parse.EOF {
			break
		}
		lexer.PrevTokenType = t.Type
		switch t.Type {
		case parse.TIdent, parse.TString, parse.TNumber, parse.TNil, parse.TTrue, parse.TFalse, parse.TFunction, parse.T3Comma, '{':
			p.tokens = append(p.tokens, t)
		}
	}
	p.stmts(stmts)
	return p
}

// take takes the next token, which must be of a type and have a text, for a node.
func (p *Places) take(node any, kind int, text string) {
	if p.lost || p.next >= len(p.tokens) {
		p.lost = true
		return
	}
	t := p.tokens[p.next]
	if t.Type != kind || (kind == parse.TIdent || kind == parse.TString || kind == parse.TNumber) && t.Str != text {
		p.lost = true
		return
	}
	p.next++
	length := len(t.Str)
	switch kind {
	case parse.TString:
		length = 0 // it has escapes
	case '{', parse.T3Comma:
		length = 1
	}
	if node != nil {
		p.nodes[node] = place{t.Pos.Line, t.Pos.Column, length}
	}
}

// is reports whether the next token has a type.
func (p *Places) is(kind int) bool {
	return !p.lost && p.next < len(p.tokens) && p.tokens[p.next].Type == kind
}

func (p *Places) stmts(list []ast.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *Places) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		p.exprs(s.Lhs)
		p.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		if fn, ok := localFunction(s); ok && p.is(parse.TFunction) {
			p.take(fn, parse.TFunction, "")
			p.take(nameKey{s, 0}, parse.TIdent, s.Names[0])
			p.function(fn, false)
			return
		}
		for i, name := range s.Names {
			p.take(nameKey{s, i}, parse.TIdent, name)
		}
		p.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		p.expr(s.Expr)
	case *ast.DoBlockStmt:
		p.stmts(s.Stmts)
	case *ast.WhileStmt:
		p.expr(s.Condition)
		p.stmts(s.Stmts)
	case *ast.RepeatStmt:
		p.stmts(s.Stmts)
		p.expr(s.Condition)
	case *ast.IfStmt:
		p.expr(s.Condition)
		p.stmts(s.Then)
		p.stmts(s.Else)
	case *ast.NumberForStmt:
		p.take(nameKey{s, 0}, parse.TIdent, s.Name)
		p.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		p.stmts(s.Stmts)
	case *ast.GenericForStmt:
		for i, name := range s.Names {
			p.take(nameKey{s, i}, parse.TIdent, name)
		}
		p.exprs(s.Exprs)
		p.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		p.take(s.Func, parse.TFunction, "")
		if s.Name.Func != nil {
			p.expr(s.Name.Func)
		} else {
			p.expr(s.Name.Receiver)
			p.take(nil, parse.TIdent, s.Name.Method)
		}
		p.function(s.Func, s.Name.Func == nil)
	case *ast.ReturnStmt:
		p.exprs(s.Exprs)
	case *ast.LabelStmt:
		p.take(nil, parse.TIdent, s.Name)
	case *ast.GotoStmt:
		p.take(nil, parse.TIdent, s.Label)
	}
}

// localFunction returns the function if a statement may be local function f … end.
func localFunction(s *ast.LocalAssignStmt) (*ast.FunctionExpr, bool) {
	if len(s.Names) != 1 || len(s.Exprs) != 1 {
		return nil, false
	}
	fn, ok := s.Exprs[0].(*ast.FunctionExpr)
	return fn, ok
}

// function takes the parameters and the body of a function. A method has a parameter self that is
// not written.
func (p *Places) function(fn *ast.FunctionExpr, method bool) {
	for i, name := range fn.ParList.Names {
		if !(method && i == 0) {
			p.take(nameKey{fn, i}, parse.TIdent, name)
		}
	}
	if fn.ParList.HasVargs {
		p.take(nil, parse.T3Comma, "")
	}
	p.stmts(fn.Stmts)
}

func (p *Places) exprs(list []ast.Expr) {
	for _, x := range list {
		if x != nil {
			p.expr(x)
		}
	}
}

func (p *Places) expr(x ast.Expr) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		p.take(x, parse.TIdent, x.Value)
	case *ast.StringExpr:
		if p.is(parse.TIdent) { // as in a.b, or {b = 1}
			p.take(x, parse.TIdent, x.Value)
		} else {
			p.take(x, parse.TString, x.Value)
		}
	case *ast.NumberExpr:
		p.take(x, parse.TNumber, x.Value)
	case *ast.NilExpr:
		p.take(x, parse.TNil, "")
	case *ast.TrueExpr:
		p.take(x, parse.TTrue, "")
	case *ast.FalseExpr:
		p.take(x, parse.TFalse, "")
	case *ast.Comma3Expr:
		p.take(x, parse.T3Comma, "")
	case *ast.AttrGetExpr:
		p.exprs([]ast.Expr{x.Object, x.Key})
	case *ast.TableExpr:
		p.take(x, '{', "")
		for _, field := range x.Fields {
			p.exprs([]ast.Expr{field.Key, field.Value})
		}
	case *ast.FuncCallExpr:
		if x.Func != nil {
			p.expr(x.Func)
		} else {
			p.expr(x.Receiver)
			p.take(nameKey{x, 0}, parse.TIdent, x.Method)
		}
		p.exprs(x.Args)
	case *ast.LogicalOpExpr:
		p.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.RelationalOpExpr:
		p.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.StringConcatOpExpr:
		p.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.ArithmeticOpExpr:
		p.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.UnaryMinusOpExpr:
		p.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		p.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		p.expr(x.Expr)
	case *ast.FunctionExpr:
		p.take(x, parse.TFunction, "")
		p.function(x, false)
	}
}

// first returns the first node of an expression that is a token.
func first(x ast.Expr) ast.Expr {
	for {
		switch e := x.(type) {
		case *ast.AttrGetExpr:
			x = e.Object
		case *ast.FuncCallExpr:
			if x = e.Func; x == nil {
				x = e.Receiver
			}
		case *ast.LogicalOpExpr:
			x = e.Lhs
		case *ast.RelationalOpExpr:
			x = e.Lhs
		case *ast.StringConcatOpExpr:
			x = e.Lhs
		case *ast.ArithmeticOpExpr:
			x = e.Lhs
		case *ast.UnaryMinusOpExpr:
			x = e.Expr
		case *ast.UnaryNotOpExpr:
			x = e.Expr
		case *ast.UnaryLenOpExpr:
			x = e.Expr
		default:
			return x
		}
	}
}

// Of returns where an expression begins: a position whose column counts bytes. A column of 0 means
// that only the line is known.
func (p *Places) Of(x ast.Expr) (line, col int) { return p.at(first(x), x.Line()) }

// Name returns where the i-th name of a statement or of the parameters of a function is.
func (p *Places) Name(node ast.PositionHolder, i int) (line, col int) {
	return p.at(nameKey{node, i}, node.Line())
}

func (p *Places) at(key any, line int) (int, int) {
	at, ok := p.nodes[key]
	if !ok {
		return line, 0
	}
	if p.shift != nil {
		at.col -= p.shift(at.line)
	}
	return at.line, at.col
}

// rangeAt returns the range of the word at a position.
func rangeAt(r *lint.Report, line, col int) lint.Range {
	if col < 1 {
		return lint.Range{Start: lint.Pos{Line: line}}
	}
	return lint.Range{Start: lint.Pos{Line: line, Col: r.Column(line, col)}}
}
