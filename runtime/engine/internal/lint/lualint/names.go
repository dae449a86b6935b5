package lualint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Global is a global name of the library.
type Global struct {
	Fields []string // of a table; nil for any other value
	Other  bool     // the table has further fields
}

// A Check finds faults in one file.
type Check struct {
	Report    *lint.Report
	Places    *Places
	Globals   map[string]Global
	Functions map[string]*tool.Func    // the functions of modules, by their full names
	Missing   func(name string) string // the replacement for a name of Lua that scripts do not have
	Assigned  map[string]int           // how often each global name of the file is assigned
	Hidden    map[string]bool          // words in parts that do not parse, or nil
	Handler   *ast.FunctionExpr        // the handler, or nil
	Params    []tool.Param             // of the tool
	Declared  bool                     // Params are all parameters that a call can have
	ParamsAt  map[string]lint.Range    // where they are declared
	Roots     map[string]bool          // functions that others call
	Skip      *ast.FuncCallExpr        // the declaration, whose calls are not made
	Uses      lint.Uses
	scope     *scope
	argument  *variable       // the parameter of the handler that has the arguments
	fields    map[string]bool // of it, that are read
	written   map[string]bool // of it, that are assigned
	escapes   bool            // it is used otherwise
	all       []*variable
	functions map[string]int // global functions, by how often they are defined
	fn        *function
	undefined map[string]bool // the names that are reported
	bound     map[*ast.IdentExpr]*variable
	later     []func() // what is checked when it is known how often each variable is assigned
}

// A variable is a local name.
type variable struct {
	name          string
	at            lint.Range
	reads, writes int
	how           how
	value         ast.Expr // its first value, or nil if that is unknown
	tested        bool     // type(…) gets it
}

type how uint8

const (
	local how = iota
	looped
	parameter
	localFunc
)

type scope struct {
	outer *scope
	names []*variable
	fn    bool // the scope of the parameters of a function
}

// A function is what is known of the function that is walked.
type function struct{ values, nones int }

// Run checks the statements of a file.
func (c *Check) Run(stmts []ast.Stmt) {
	c.fields, c.written, c.functions, c.undefined = map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]bool{}
	c.bound = map[*ast.IdentExpr]*variable{}
	c.block(stmts)
	for _, check := range c.later {
		check()
	}
	c.unused()
}

func (c *Check) fault(f lint.Fault) { c.Report.Add(f) }

func (c *Check) of(x ast.Expr) lint.Range {
	line, col := c.Places.Of(x)
	return rangeAt(c.Report, line, col)
}

func (c *Check) name(node ast.PositionHolder, i int) lint.Range {
	line, col := c.Places.Name(node, i)
	return rangeAt(c.Report, line, col)
}

// Of returns the range of the beginning of an expression.
func (c *Check) Of(x ast.Expr) lint.Range { return c.of(x) }

// At returns the range of a node that is one token. Its column is 0 if only its line is known.
func (c *Check) At(x ast.Expr) lint.Range { return c.at(x) }

func (c *Check) at(x ast.Expr) lint.Range {
	if x == nil {
		return lint.Range{}
	}
	line, col := c.Places.at(x, x.Line())
	return rangeAt(c.Report, line, col)
}

func (c *Check) declare(name string, at lint.Range, h how) *variable {
	v := &variable{name: name, at: at, how: h}
	c.all = append(c.all, v)
	c.scope.names = append(c.scope.names, v)
	return v
}

func (c *Check) lookup(name string) *variable {
	for s := c.scope; s != nil; s = s.outer {
		for _, v := range slices.Backward(s.names) {
			if v.name == name {
				return v
			}
		}
	}
	return nil
}

func (c *Check) block(stmts []ast.Stmt) (ends bool) {
	c.scope = &scope{outer: c.scope}
	ends = c.stmts(stmts)
	c.scope = c.scope.outer
	return ends
}

// stmts checks statements, and reports whether control never reaches their end.
func (c *Check) stmts(stmts []ast.Stmt) (ends bool) {
	reported := false
	for i, s := range stmts {
		if ends && !reported {
			reported = true
			c.fault(lint.Fault{At: lint.Range{Start: lint.Pos{Line: s.Line()}}, Warning: true, Code: diagnostic.Unreachable, Message: "this statement is never executed",
				Hint: fmt.Sprintf("remove it, or the statement on line %d that ends before it", stmts[i-1].Line())})
		}
		ends = c.stmt(s) || ends
	}
	return ends
}

func (c *Check) stmt(s ast.Stmt) (ends bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		c.exprs(s.Rhs)
		for _, x := range s.Lhs {
			c.assign(x)
		}
	case *ast.LocalAssignStmt:
		c.local(s)
	case *ast.FuncCallStmt:
		c.expr(s.Expr)
		call, ok := s.Expr.(*ast.FuncCallExpr)
		return ok && c.isGlobal(call.Func, "error")
	case *ast.DoBlockStmt:
		return c.block(s.Stmts)
	case *ast.WhileStmt:
		c.expr(s.Condition)
		c.block(s.Stmts)
	case *ast.RepeatStmt:
		c.scope = &scope{outer: c.scope}
		c.stmts(s.Stmts)
		c.expr(s.Condition) // it sees the local names of the block
		c.scope = c.scope.outer
	case *ast.IfStmt:
		c.expr(s.Condition)
		then, otherwise := c.block(s.Then), c.block(s.Else)
		return then && otherwise && len(s.Else) > 0
	case *ast.NumberForStmt:
		c.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		c.scope = &scope{outer: c.scope}
		c.declare(s.Name, c.name(s, 0), looped)
		c.stmts(s.Stmts)
		c.scope = c.scope.outer
	case *ast.GenericForStmt:
		c.exprs(s.Exprs)
		c.scope = &scope{outer: c.scope}
		for i, name := range s.Names {
			c.declare(name, c.name(s, i), looped)
		}
		c.stmts(s.Stmts)
		c.scope = c.scope.outer
	case *ast.FuncDefStmt:
		c.funcDef(s)
	case *ast.ReturnStmt:
		c.exprs(s.Exprs)
		if c.fn != nil {
			if len(s.Exprs) == 0 || len(s.Exprs) == 1 && c.isNil(s.Exprs[0]) {
				c.fn.nones++
			} else {
				c.fn.values++
			}
		}
		return true
	case *ast.BreakStmt, *ast.GotoStmt:
		_, isBreak := s.(*ast.BreakStmt)
		return isBreak
	}
	return false
}

func (c *Check) isNil(x ast.Expr) bool {
	_, isNil := x.(*ast.NilExpr)
	return isNil || c.isGlobal(x, "null")
}

func (c *Check) local(s *ast.LocalAssignStmt) {
	if fn, ok := localFunction(s); ok {
		v := c.declare(s.Names[0], c.name(s, 0), localFunc) // visible in its body
		c.function(fn, s.Names[0], c.name(s, 0))
		if c.Roots[s.Names[0]] {
			v.reads++
		}
		return
	}
	c.exprs(s.Exprs)
	for i, name := range s.Names {
		h := local
		if len(s.Names) > 1 && len(s.Exprs) < len(s.Names) {
			h = looped // one of several results
		}
		v := c.declare(name, c.name(s, i), h)
		if h == local && i < len(s.Exprs) {
			v.value = s.Exprs[i]
		} else if len(s.Exprs) == 0 {
			v.value = &ast.NilExpr{}
		}
	}
}

func (c *Check) funcDef(s *ast.FuncDefStmt) {
	name := ""
	if id, ok := s.Name.Func.(*ast.IdentExpr); ok {
		name = id.Value
		if v := c.lookup(name); v != nil {
			v.writes++
		} else if c.functions[name]++; c.functions[name] > 1 {
			c.fault(lint.Fault{At: c.at(id), Warning: true, Code: diagnostic.DuplicateName, Message: fmt.Sprintf("the function %s is defined twice", name)})
		}
		c.function(s.Func, name, c.at(id))
		return
	}
	if s.Name.Func != nil {
		c.expr(s.Name.Func)
	} else {
		c.expr(s.Name.Receiver)
	}
	c.function(s.Func, "", lint.Range{})
}

// function checks the body of a function. Its name is "" if it is not known.
func (c *Check) function(fn *ast.FunctionExpr, name string, at lint.Range) {
	outer := c.fn
	c.fn = &function{}
	c.scope = &scope{outer: c.scope, fn: true}
	for i, p := range fn.ParList.Names {
		v := c.declare(p, c.name(fn, i), parameter)
		if fn == c.Handler && i == 0 {
			c.argument = v
		}
	}
	ends := c.stmts(fn.Stmts)
	c.scope = c.scope.outer
	if c.fn.values > 0 && c.fn.nones == 0 && !ends && (name != "" || fn == c.Handler) {
		if name == "" {
			name, at = "the handler", c.of(fn)
		}
		c.fault(lint.Fault{At: at, Warning: true, Code: diagnostic.MissingReturn, Message: name + " returns a value on some paths only", Hint: "end the function with return nil, or with a value"})
	}
	c.fn = outer
}

// returnsOf lists the return statements of a function, without those of functions inside of it. fails says that it may
// end with error(…) instead.
func returnsOf(stmts []ast.Stmt) (list []*ast.ReturnStmt, fails bool) {
	inside := func(stmts []ast.Stmt) {
		more, also := returnsOf(stmts)
		list, fails = append(list, more...), fails || also
	}
	for _, s := range stmts {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			list = append(list, s)
		case *ast.DoBlockStmt:
			inside(s.Stmts)
		case *ast.WhileStmt:
			inside(s.Stmts)
		case *ast.RepeatStmt:
			inside(s.Stmts)
		case *ast.IfStmt:
			inside(s.Then)
			inside(s.Else)
		case *ast.NumberForStmt:
			inside(s.Stmts)
		case *ast.GenericForStmt:
			inside(s.Stmts)
		case *ast.FuncCallStmt:
			if call, ok := s.Expr.(*ast.FuncCallExpr); ok {
				id, isName := call.Func.(*ast.IdentExpr)
				fails = fails || isName && id.Value == "error"
			}
		}
	}
	return list, fails
}

func (c *Check) assign(x ast.Expr) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		if v := c.lookup(x.Value); v != nil {
			v.writes++
			if v == c.argument {
				c.escapes = true
			}
		}
	case *ast.AttrGetExpr:
		if id, ok := x.Object.(*ast.IdentExpr); ok {
			if v := c.lookup(id.Value); v != nil && v == c.argument {
				if key, ok := x.Key.(*ast.StringExpr); ok {
					c.written[key.Value] = true
					return
				}
			}
		}
		c.expr(x.Object)
		c.expr(x.Key)
	default:
		c.expr(x)
	}
}

func (c *Check) exprs(list []ast.Expr) {
	for _, x := range list {
		if x != nil {
			c.expr(x)
		}
	}
}

func (c *Check) expr(x ast.Expr) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		c.read(x, false)
		if g, ok := c.Globals[x.Value]; ok && g.Fields != nil && c.isGlobal(x, x.Value) {
			c.Uses.Unknown = true // a module is used as a value
		}
	case *ast.AttrGetExpr:
		c.attribute(x)
	case *ast.TableExpr:
		c.table(x)
	case *ast.FuncCallExpr:
		c.call(x)
	case *ast.LogicalOpExpr:
		c.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.RelationalOpExpr:
		c.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.StringConcatOpExpr:
		c.exprs([]ast.Expr{x.Lhs, x.Rhs})
		c.operands("..", x.Lhs, x.Rhs)
	case *ast.ArithmeticOpExpr:
		c.exprs([]ast.Expr{x.Lhs, x.Rhs})
		c.operands(x.Operator, x.Lhs, x.Rhs)
	case *ast.UnaryMinusOpExpr:
		c.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		c.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		c.expr(x.Expr)
	case *ast.FunctionExpr:
		c.function(x, "", lint.Range{})
	}
}

// isGlobal reports whether an expression is a global name of the library.
func (c *Check) isGlobal(x ast.Expr, name string) bool {
	id, ok := x.(*ast.IdentExpr)
	return ok && id.Value == name && c.lookup(name) == nil && c.Assigned[name] == 0
}

// read reads a name. fails says that a nil value fails here, as in a call.
func (c *Check) read(id *ast.IdentExpr, fails bool) {
	if v := c.lookup(id.Value); v != nil {
		v.reads++
		c.bound[id] = v
		c.escapes = c.escapes || v == c.argument
		return
	}
	_, known := c.Globals[id.Value]
	if known || c.Assigned[id.Value] > 0 || c.Hidden[id.Value] || id.Value == "_G" || c.functions[id.Value] > 0 {
		return
	}
	if c.undefined[id.Value] { // one name is one fault
		return
	}
	c.undefined[id.Value] = true
	names := c.names()
	f := lint.Fault{At: c.at(id), Warning: !fails, Code: diagnostic.UnknownName, Message: "undefined: " + id.Value}
	if hint := c.Missing(id.Value); hint != "" {
		f.Hint, f.Warning = hint, false
	} else if f.Similar = value.Similar(id.Value, names); len(f.Similar) > 0 {
		f.Message += value.DidYouMean(id.Value, names)
		f.Rename = lint.Meant(id.Value, names)
	} else {
		f.Hint = "define it with local, or correct the name"
	}
	c.fault(f)
}

// names lists the names that can be used here.
func (c *Check) names() []string {
	var names []string
	for name := range c.Globals {
		names = append(names, name)
	}
	for name, n := range c.Assigned {
		if n > 0 {
			names = append(names, name)
		}
	}
	for s := c.scope; s != nil; s = s.outer {
		for _, v := range s.names {
			names = append(names, v.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// attribute checks a.b: a function of a module, or an argument of the handler.
func (c *Check) attribute(x *ast.AttrGetExpr) {
	id, isName := x.Object.(*ast.IdentExpr)
	key, isKey := x.Key.(*ast.StringExpr)
	if !isName || !isKey {
		if isName {
			c.read(id, true)
			if g, ok := c.Globals[id.Value]; ok && g.Fields != nil && c.isGlobal(id, id.Value) {
				c.Uses.Unknown = true
			}
		} else {
			c.expr(x.Object)
		}
		c.expr(x.Key)
		return
	}
	if v := c.lookup(id.Value); v != nil {
		v.reads++
		c.bound[id] = v
		c.indexed(id, key, false)
		if v == c.argument && c.argument.writes == 0 {
			c.field(key)
		}
		return
	}
	if !c.isGlobal(id, id.Value) {
		return
	}
	g, known := c.Globals[id.Value]
	switch {
	case !known:
		c.read(id, true)
	case g.Fields == nil || g.Other || slices.Contains(g.Fields, key.Value):
		c.mention(x, id.Value+"."+key.Value, key.Value)
	default:
		f := lint.Fault{At: c.at(key), Code: diagnostic.UnknownFunction, Message: fmt.Sprintf("%s has no %s%s", id.Value, key.Value, value.DidYouMean(key.Value, g.Fields)),
			Hint: "use one of the functions: " + strings.Join(g.Fields, ", ")}
		f.Rename = lint.Meant(key.Value, g.Fields)
		c.fault(f)
	}
}

// field checks args.name in the handler.
func (c *Check) field(key *ast.StringExpr) {
	c.fields[key.Value] = true
	if !c.Declared || c.written[key.Value] {
		return
	}
	var names []string
	for _, p := range c.Params {
		if p.Name == key.Value {
			return
		}
		names = append(names, p.Name)
	}
	f := lint.Fault{At: c.at(key), Code: diagnostic.UnknownParameter, Message: fmt.Sprintf("the tool has no parameter %q%s", key.Value, value.DidYouMean(key.Value, names))}
	if f.Rename = lint.Meant(key.Value, names); f.Rename == "" {
		f.Hint = "declare it in params"
	}
	c.fault(f)
}

func (c *Check) table(x *ast.TableExpr) {
	seen := map[string]bool{}
	for _, field := range x.Fields {
		if key, ok := field.Key.(*ast.StringExpr); ok {
			if seen[key.Value] {
				c.fault(lint.Fault{At: c.at(key), Warning: true, Code: diagnostic.DuplicateKey, Message: fmt.Sprintf("the key %s is given twice", key.Value)})
			}
			seen[key.Value] = true
		} else if field.Key != nil {
			c.expr(field.Key)
		}
		c.expr(field.Value)
	}
}

// unused reports local names and parameters that nothing uses.
func (c *Check) unused() {
	for _, v := range c.all {
		if v.reads > 0 || strings.HasPrefix(v.name, "_") || c.Hidden[v.name] || c.Report.Meant(v.name) {
			continue
		}
		switch v.how {
		case local:
			f := lint.Fault{At: v.at, Warning: true, Code: diagnostic.UnusedVariable, Message: fmt.Sprintf("the variable %s is not used", v.name), Hint: "use the variable, remove it, or begin its name with _"}
			if v.writes == 0 && v.at.Start.Col > 0 {
				f.Fix = &diagnostic.Fix{Title: "rename the variable to _" + v.name, Edits: []diagnostic.Edit{{Span: c.Report.Span(v.at), Text: "_" + v.name}}}
			}
			c.fault(f)
		case localFunc:
			c.fault(lint.Fault{At: v.at, Warning: true, Code: diagnostic.UnusedFunction, Message: fmt.Sprintf("the function %s is not used", v.name)})
		}
	}
	if c.Handler == nil || !c.Declared || c.escapes || c.Hidden != nil || c.argument == nil || isStub(c.Handler) {
		return
	}
	for _, p := range c.Params {
		if !c.fields[p.Name] && !p.FromHost && !c.Report.Meant(p.Name) {
			c.fault(lint.Fault{At: c.ParamsAt[p.Name], Warning: true, Code: diagnostic.UnusedParameter, Message: fmt.Sprintf("the parameter %s is not used", p.Name), Hint: "use " + c.argument.name + "." + p.Name + ", or remove the parameter"})
		}
	}
}

// isStub reports whether a function does nothing but fail or return a constant.
func isStub(fn *ast.FunctionExpr) bool {
	if len(fn.Stmts) == 0 {
		return true
	}
	if len(fn.Stmts) > 1 {
		return false
	}
	switch s := fn.Stmts[0].(type) {
	case *ast.ReturnStmt:
		return !slices.ContainsFunc(s.Exprs, func(x ast.Expr) bool { _, ok := constantOf(x, 0); return !ok })
	case *ast.FuncCallStmt:
		call, _ := s.Expr.(*ast.FuncCallExpr)
		id, ok := call.Func.(*ast.IdentExpr)
		return ok && id.Value == "error"
	}
	return false
}
