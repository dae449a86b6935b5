package starlint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// otherMethods maps methods of other test libraries to those of t.
var otherMethods = map[string]string{
	"equal": "eq", "equals": "eq", "assert_eq": "eq", "assert_equal": "eq", "assertEqual": "eq",
	"raises": "fails", "throws": "fails", "assert_raises": "fails", "assertRaises": "fails",
}

// Tests checks the test functions of a file: the methods of their parameter, the tools that they call, and
// effects, which tests cannot have. methods are the functions of the parameter, by their names.
func (k *Calls) Tests(tree *syntax.File, methods map[string]*tool.Func) {
	for _, stmt := range tree.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok || !strings.HasPrefix(def.Name.Name, "test_") || len(def.Params) != 1 {
			continue
		}
		param := paramName(def.Params[0])
		if param == nil {
			continue
		}
		isParam := func(x syntax.Expr) bool {
			id, ok := x.(*syntax.Ident)
			if !ok {
				return false
			}
			b, _ := id.Binding.(*resolve.Binding)
			return b != nil && b.First == param
		}
		for _, stmt := range def.Body {
			syntax.Walk(stmt, func(n syntax.Node) bool {
				switch x := n.(type) {
				case *syntax.DotExpr:
					if isParam(x.X) && methods[x.Name.Name] == nil {
						k.unknownOfTest(param.Name, x, methods)
					}
				case *syntax.CallExpr:
					if dot, ok := x.Fn.(*syntax.DotExpr); ok && isParam(dot.X) && methods[dot.Name.Name] != nil {
						k.testCall(param.Name, dot, x, methods[dot.Name.Name])
					}
				}
				return true
			})
			k.testEffects(stmt)
		}
	}
}

// unknownOfTest reports a method that t does not have.
func (k *Calls) unknownOfTest(param string, x *syntax.DotExpr, methods map[string]*tool.Func) {
	name, names := x.Name.Name, slices.Sorted(maps.Keys(methods))
	f := lint.Fault{At: at(x.Name.NamePos), Code: diagnostic.UnknownFunction, Message: fmt.Sprintf("%s has no %s%s", param, name, value.DidYouMean(name, names)),
		Hint: "use one of the functions: " + strings.Join(names, ", "), Rename: lint.Meant(name, names)}
	if other := otherMethods[name]; methods[other] != nil {
		f.Message, f.Hint, f.Rename = fmt.Sprintf("%s has no %s; did you mean %q?", param, name, other), "", other
	}
	k.Fault(f)
}

// testCall checks a call of a method of t. A call that must fail may have any arguments.
func (k *Calls) testCall(param string, callee *syntax.DotExpr, c *syntax.CallExpr, f *tool.Func) {
	k.arguments(lint.RowSignature(f, param+"."+f.Name), RangeOf(callee), c.Args)
	if len(c.Args) == 0 || !slices.Contains([]string{"call", "fails", "denied"}, f.Name) {
		return
	}
	v, _ := ConstantOf(c.Args[0])
	name, ok := v.(string)
	if !ok {
		return
	}
	k.checkTool(RangeOf(c.Args[0]), name, func(meant string) string { return fmt.Sprintf("%q", meant) })
	if s := k.Tools[tool.Key(name)]; s != nil && f.Name == "call" {
		own := *s
		own.Name = name
		k.arguments(&own, RangeOf(callee), c.Args[1:])
	}
}

// testEffects reports effects of a statement of a test. The functions inside of it may be tested.
func (k *Calls) testEffects(stmt syntax.Stmt) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			return false
		case *syntax.CallExpr:
			if u, ok := k.use(x.Fn); ok && u.Func != nil && (u.Func.Target != nil || len(u.Func.Requests) > 0) {
				k.Fault(lint.Fault{At: RangeOf(x.Fn), Code: diagnostic.InvalidCode, Message: u.Name + " is refused in a test: a test itself cannot have effects",
					Hint: "call a tool with t.call; t.read reads a file of the project"})
			}
		}
		return true
	})
}
