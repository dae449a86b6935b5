package lualint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// typeOf returns the type that an expression certainly has, or "": it is written out, or a variable that never gets
// another value. It is known when all statements have been walked.
func (c *Check) typeOf(x ast.Expr) string {
	if id, ok := x.(*ast.IdentExpr); ok {
		v := c.bound[id]
		if v == nil || v.writes > 0 || v.value == nil || v.tested {
			return ""
		}
		switch x = v.value; x.(type) {
		case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr: // it may be a setting that is switched off
			return ""
		}
	}
	switch x.(type) {
	case *ast.NilExpr:
		return "nil"
	case *ast.TrueExpr, *ast.FalseExpr:
		return "boolean"
	case *ast.StringExpr:
		return "string"
	case *ast.NumberExpr:
		return "number"
	case *ast.FunctionExpr:
		return "function"
	}
	return ""
}

// operands checks the operands of an operator of arithmetic, or of .., when their types are known.
func (c *Check) operands(operator string, operands ...ast.Expr) {
	c.later = append(c.later, func() {
		for _, x := range operands {
			t := c.typeOf(x)
			if t == "" || t == "number" || t == "string" && (operator == ".." || c.mayBeNumber(x)) {
				continue
			}
			f := lint.Fault{At: c.of(x), Code: diagnostic.InvalidCode, Message: fmt.Sprintf("the operator %s does not accept %s", operator, described(t))}
			switch {
			case t == "string" && operator == "+":
				f.Hint = "to join texts, write .."
			case operator == "..":
				f.Hint = "convert the value with tostring(…)"
			}
			c.fault(f)
		}
	})
}

func described(t string) string {
	if t == "nil" {
		return t
	}
	return "a " + t
}

// mayBeNumber reports whether Lua may convert a text to a number.
func (c *Check) mayBeNumber(x ast.Expr) bool {
	if id, ok := x.(*ast.IdentExpr); ok {
		x = c.bound[id].value
	}
	text := strings.ToLower(x.(*ast.StringExpr).Value)
	return strings.ContainsAny(text, "0123456789") || strings.Contains(text, "inf") || strings.Contains(text, "nan")
}

// indexed checks x.name or x:name(), when the type of the variable is known. called says that the field is called.
func (c *Check) indexed(id *ast.IdentExpr, key *ast.StringExpr, called bool) {
	c.later = append(c.later, func() {
		t := c.typeOf(id)
		isMethod := slices.Contains(c.Globals["string"].Fields, key.Value)
		if t == "" || t == "string" && (!called || isMethod) {
			return
		}
		f := lint.Fault{At: c.at(id), Code: diagnostic.UnknownFunction, Message: fmt.Sprintf("%s is %s, which has no %s", id.Value, described(t), key.Value)}
		if slices.Contains(c.Globals[id.Value].Fields, key.Value) {
			f.Hint = fmt.Sprintf("the variable hides the module %s: give it another name", id.Value)
		}
		c.fault(f)
	})
}

// topLevel reports an effect outside of functions: it fails when the file is loaded.
func (c *Check) topLevel(name string, f *tool.Func, callee ast.Expr) {
	if c.scope.outer == nil && (f == nil || f.Kind != tool.Pure || len(f.Requests) > 0) {
		c.fault(lint.Fault{At: c.of(callee), Code: diagnostic.InvalidCode, Message: name + " is only available inside a function", Hint: "move the call into a function"})
	}
}

// method checks x:name(…): a function of a module would get the module as its first argument.
func (c *Check) method(x *ast.FuncCallExpr) {
	id, ok := x.Receiver.(*ast.IdentExpr)
	if !ok {
		c.expr(x.Receiver)
		return
	}
	name := id.Value + "." + x.Method
	row := c.Functions[name]
	if row == nil || !c.isGlobal(id, id.Value) {
		c.expr(id)
		if c.bound[id] != nil {
			c.indexed(id, &ast.StringExpr{Value: x.Method}, true)
		}
		return
	}
	at := c.of(id)
	c.Uses.List = append(c.Uses.List, lint.Use{At: at, Name: name, Func: row})
	f := lint.Fault{At: at, Warning: len(row.Params) > 0 && acceptsTable(&row.Params[0].Type), Code: diagnostic.InvalidCode,
		Message: fmt.Sprintf("%s:%s passes the module %s as the first argument", id.Value, x.Method, id.Value), Hint: "write " + name}
	if at := c.name(x, 0); at.Start.Col > 0 {
		colon := c.Report.Span(at).Start - 1
		if colon >= 0 && c.Report.Source[colon] == ':' {
			f.Fix = &diagnostic.Fix{Title: "write " + name, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: colon, End: colon + 1}, Text: "."}}}
		}
	}
	c.fault(f)
}

func acceptsTable(t *tool.Type) bool {
	return !t.Known() || slices.Contains([]string{"", tool.TypeAny, tool.TypeObject, tool.TypeList, tool.TypeArray}, t.Name)
}

// protected checks the first argument of pcall, which calls it: the result of a module's function is not a function.
func (c *Check) protected(x ast.Expr) {
	wrong := ""
	if call, ok := x.(*ast.FuncCallExpr); ok && call.Func != nil {
		if name, _, ok := c.moduleFunction(call.Func); ok {
			wrong = fmt.Sprintf("write pcall(%s, …), with its arguments after the function", name)
		}
	}
	if _, constant := constantOf(x, 0); !constant && wrong == "" {
		return
	}
	c.fault(lint.Fault{At: c.of(x), Code: diagnostic.ArgumentType, Message: "the first argument of pcall should be a function", Hint: wrong})
}
