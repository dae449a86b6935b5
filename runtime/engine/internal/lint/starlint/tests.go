package starlint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// Tests checks the functions of a test file that get t: the methods of t, their arguments, the tools that they call,
// and effects, which tests cannot have. methods are the functions of t, by their names.
func (k *Calls) Tests(tree *syntax.File, names *Names, methods map[string]*tool.Func) {
	for _, stmt := range tree.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && isTest(def) {
			k.testParams(def)
			for _, stmt := range def.Body {
				k.testEffects(stmt)
			}
		}
	}
	tests := names.testParams(tree)
	isTest := func(x syntax.Expr) (name string, ok bool) {
		id, isName := x.(*syntax.Ident)
		if !isName || !tests[bindingOf(id)] {
			return "", false
		}
		return id.Name, true
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.DotExpr:
			if param, ok := isTest(x.X); ok && methods[x.Name.Name] == nil {
				k.unknownOfTest(param, x, methods)
			}
		case *syntax.CallExpr:
			dot, ok := x.Fn.(*syntax.DotExpr)
			if !ok {
				return true
			}
			if param, ok := isTest(dot.X); ok && methods[dot.Name.Name] != nil {
				k.testCall(param, dot, x, methods[dot.Name.Name])
			}
		}
		return true
	})
}

// isTest reports whether cassidy test calls a function, with t alone.
func isTest(def *syntax.DefStmt) bool {
	return strings.HasPrefix(def.Name.Name, "test_") || def.Name.Name == "setup"
}

// testParams checks that a test function can be called with t alone.
func (k *Calls) testParams(def *syntax.DefStmt) {
	wrong := false
	SignatureOf(def).Check(lint.Call{Args: []lint.Arg{{}}, Fault: func(lint.Fault) { wrong = true }})
	if wrong {
		k.Fault(lint.Fault{At: RangeOf(def.Name), Code: diagnostic.Declaration, Message: def.Name.Name + " must have one parameter, which gets the functions of tests", Hint: fmt.Sprintf("write def %s(t):", def.Name.Name)})
	}
}

// testParams returns the parameters that certainly are t: those of test functions, and those that get t from them.
func (n *Names) testParams(tree *syntax.File) map[*syntax.Ident]bool {
	tests := map[*syntax.Ident]bool{}
	for _, stmt := range tree.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && isTest(def) && len(def.Params) > 0 {
			if id := paramName(def.Params[0]); id != nil && n.Once(id) {
				tests[id] = true
			}
		}
	}
	n.passOn(tree, false, func(p *syntax.Ident, args []syntax.Expr) bool {
		if isT := func(x syntax.Expr) bool { id, ok := x.(*syntax.Ident); return ok && tests[bindingOf(id)] }; tests[p] || !all(args, isT) {
			return false
		}
		tests[p] = true
		return true
	})
	return tests
}

// unknownOfTest reports a method that t does not have.
func (k *Calls) unknownOfTest(param string, x *syntax.DotExpr, methods map[string]*tool.Func) {
	name := x.Name.Name
	f := lacksFunction(param, x, slices.Sorted(maps.Keys(methods)))
	if other := otherMethods[name]; methods[other] != nil {
		f.Message, f.Hint, f.Rename = fmt.Sprintf("%s has no %s; did you mean %q?", param, name, other), "", other
	}
	k.Fault(f)
}

// testCall checks a call of a method of t. A call that must fail may have any arguments.
func (k *Calls) testCall(param string, callee *syntax.DotExpr, c *syntax.CallExpr, f *tool.Func) {
	k.arguments(lint.RowSignature(f, param+"."+f.Name), RangeOf(callee), c.Args)
	k.testValues(param, f, c)
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

// testValues checks the values of arguments of a method of t, without those that are unknown.
func (k *Calls) testValues(param string, f *tool.Func, c *syntax.CallExpr) {
	list := Args(c.Args)
	for i, x := range c.Args {
		a := list[i]
		name := a.Name
		if b, ok := x.(*syntax.BinaryExpr); ok && name != "" {
			x = b.Y
		}
		if name == "" && i < len(f.Params) {
			name = f.Params[i].Name
		}
		v, known := knownPart(x)
		if !known || name == "" || a.List || a.Dict {
			continue
		}
		args := &value.Dict{}
		args.Put(name, v)
		if _, err := f.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{}); err != nil {
			e := value.ErrorOf(err, value.Invalid)
			k.Fault(lint.Fault{At: a.At, Code: diagnostic.ArgumentType, Message: fmt.Sprintf("%s.%s: %s", param, f.Name, e.Message()), Hint: e.Hint})
		}
	}
}

// knownPart returns the value of an expression that is written out. The entries of a dict that are not are left out.
func knownPart(x syntax.Expr) (value.Value, bool) {
	d, ok := unparen(x).(*syntax.DictExpr)
	if !ok {
		return ConstantOf(x)
	}
	known := &value.Dict{}
	for _, x := range d.List {
		entry, ok := x.(*syntax.DictEntry)
		if !ok {
			return nil, false
		}
		key, _ := ConstantOf(entry.Key)
		if text, ok := key.(string); ok {
			v, _ := knownPart(entry.Value)
			known.Put(text, v)
		}
	}
	return known, true
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
