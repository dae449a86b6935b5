package starlint

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxTyped is how many parts of an expression are followed to find its type.
const maxTyped = 100

// example returns a value of the type that an expression certainly has, or nil.
func (k *Calls) example(x syntax.Expr) starlark.Value {
	steps := 0
	return k.exampleOf(x, &steps)
}

func (k *Calls) exampleOf(x syntax.Expr, steps *int) starlark.Value {
	if *steps++; *steps > maxTyped {
		return nil
	}
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return k.exampleOf(x.X, steps)
	case *syntax.ListExpr:
		return starlark.NewList(nil)
	case *syntax.DictExpr:
		return starlark.NewDict(0)
	case *syntax.TupleExpr:
		return starlark.Tuple{}
	case *syntax.Comprehension:
		if _, isDict := x.Body.(*syntax.DictEntry); isDict {
			return starlark.NewDict(0)
		} else if !x.Curly {
			return starlark.NewList(nil)
		}
	case *syntax.Literal:
		switch x.Token {
		case syntax.STRING:
			return starlark.String("")
		case syntax.INT:
			return starlark.MakeInt(0)
		case syntax.FLOAT:
			return starlark.Float(0)
		}
	case *syntax.Ident:
		if v, ok := constant(x); ok {
			if b, isBool := v.(bool); isBool {
				return starlark.Bool(b)
			}
			return starlark.None
		}
		if k.Tested != nil && k.Tested(x) {
			return nil
		}
		if v := k.Params[bindingOf(x)]; v != nil {
			return v
		}
		if k.Value != nil {
			if v := k.Value(x); v != nil {
				return setting(k.exampleOf(v, steps))
			}
		}
	case *syntax.BinaryExpr:
		return k.exampleOfBinary(x, steps)
	case *syntax.CallExpr:
		return k.exampleOfCall(x, steps)
	}
	return nil
}

// setting returns a value of a variable, or nil if the variable may be a setting that is switched off: the file may
// only use it where it is on.
func setting(v starlark.Value) starlark.Value {
	if _, isBool := v.(starlark.Bool); isBool || v == starlark.None {
		return nil
	}
	return v
}

func (k *Calls) exampleOfBinary(x *syntax.BinaryExpr, steps *int) starlark.Value {
	left := k.exampleOf(x.X, steps)
	switch _, isText := left.(starlark.String); {
	case x.Op == syntax.PERCENT && isText:
		return left
	case x.Op == syntax.PLUS && left != nil:
		if right := k.exampleOf(x.Y, steps); right != nil && right.Type() == left.Type() {
			return left
		}
	}
	return nil
}

// ExampleOf returns a value of a type, or nil.
func ExampleOf(t *tool.Type) starlark.Value {
	if t == nil || t.Nullable {
		return nil
	}
	switch t.Name {
	case tool.TypeString:
		return starlark.String("")
	case tool.TypeInteger:
		return starlark.MakeInt(0)
	case tool.TypeBoolean:
		return starlark.False
	case tool.TypeArray:
		return starlark.NewList(nil)
	case tool.TypeObject:
		return starlark.NewDict(0)
	}
	return nil
}

// exampleOfCall knows the functions of Starlark whose result has one type.
func (k *Calls) exampleOfCall(x *syntax.CallExpr, steps *int) starlark.Value {
	switch fn := x.Fn.(type) {
	case *syntax.Ident:
		if ScopeOf(fn) != resolve.Universal {
			return nil
		}
		switch fn.Name {
		case "str", "repr", "chr", "type":
			return starlark.String("")
		case "len", "int", "ord", "hash":
			return starlark.MakeInt(0)
		case "float":
			return starlark.Float(0)
		case "list", "sorted", "reversed", "enumerate", "zip", "dir":
			return starlark.NewList(nil)
		case "dict":
			return starlark.NewDict(0)
		case "tuple":
			return starlark.Tuple{}
		case "bool", "any", "all", "hasattr":
			return starlark.False
		}
	case *syntax.DotExpr:
		if u, ok := k.use(fn); ok {
			if u.Func == nil {
				return nil
			}
			return ExampleOf(u.Func.Result)
		}
		if _, isText := k.exampleOf(fn.X, steps).(starlark.String); !isText {
			return nil
		}
		switch fn.Name.Name {
		case "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "replace", "join", "format", "removeprefix", "removesuffix":
			return starlark.String("")
		case "split", "rsplit", "splitlines":
			return starlark.NewList(nil)
		case "find", "rfind", "index", "rindex", "count":
			return starlark.MakeInt(0)
		case "startswith", "endswith", "isdigit", "isalpha", "isalnum", "islower", "isupper", "isspace", "istitle":
			return starlark.False
		}
	}
	return nil
}

// Types finds operations that certainly fail, since the types of their operands are certain.
func (k *Calls) Types(tree *syntax.File) {
	k.Methods(tree)
	k.keys(tree)
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryExpr:
			switch n.Op {
			case syntax.PLUS, syntax.MINUS:
				k.sum(n)
			case syntax.PERCENT:
				k.verbs(n)
			}
		case *syntax.ForStmt:
			k.iterates(n.X)
		case *syntax.ForClause:
			k.iterates(n.X)
		}
		return true
	})
}

// Methods finds methods and fields that values of certain types do not have.
func (k *Calls) Methods(tree *syntax.File) {
	called := map[syntax.Expr]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			called[n.Fn] = true
		case *syntax.DotExpr:
			k.attribute(n, called[n])
		}
		return true
	})
}

// keys checks x["key"], where x is the result of a function whose keys are known. If x is a variable, the file only reads its keys.
func (k *Calls) keys(tree *syntax.File) {
	var found []*syntax.IndexExpr
	reads, uses := map[*syntax.Ident]int{}, map[*syntax.Ident]int{}
	writes := func(target syntax.Expr) {
		syntax.Walk(target, func(n syntax.Node) bool {
			if x, ok := n.(*syntax.IndexExpr); ok {
				uses[variableOf(x.X)]++
			}
			return true
		})
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			writes(n.LHS)
		case *syntax.ForStmt:
			writes(n.Vars)
		case *syntax.ForClause:
			writes(n.Vars)
		case *syntax.IndexExpr:
			found = append(found, n)
			reads[variableOf(n.X)]++
		case *syntax.DotExpr:
			if !slices.Contains([]string{"clear", "pop", "popitem", "setdefault", "update"}, n.Name.Name) {
				reads[variableOf(n.X)]++
			}
		case *syntax.Ident:
			uses[variableOf(n)]++
		}
		return true
	})
	for _, x := range found {
		source := unparen(x.X)
		if id, ok := source.(*syntax.Ident); ok && k.Value != nil && uses[variableOf(id)] == reads[variableOf(id)]+1 { // the other one is the assignment
			source = k.Value(id)
		}
		call, ok := source.(*syntax.CallExpr)
		key, _ := ConstantOf(x.Y)
		name, isText := key.(string)
		if !ok || !isText {
			continue
		}
		u, ok := k.use(call.Fn)
		if !ok || u.Func == nil || u.Func.Result == nil || len(u.Func.Result.Fields) == 0 {
			continue
		}
		names := value.Map(u.Func.Result.Fields, func(p tool.Param) string { return p.Name })
		if slices.Contains(names, name) {
			continue
		}
		f := lint.Fault{At: RangeOf(x.Y), Code: diagnostic.InvalidCode, Message: fmt.Sprintf("the result of %s has no key %q%s", u.Name, name, value.DidYouMean(name, names)),
			Hint: "it has the keys " + strings.Join(names, ", ")}
		if meant := lint.Meant(name, names); meant != "" {
			f.Rename = fmt.Sprintf("%q", meant)
		}
		k.Fault(f)
	}
}

// variableOf returns the variable that an expression is, or nil.
func variableOf(x syntax.Expr) *syntax.Ident {
	id, ok := unparen(x).(*syntax.Ident)
	if !ok {
		return nil
	}
	return bindingOf(id)
}

// sum checks x + y and x - y.
func (k *Calls) sum(x *syntax.BinaryExpr) {
	left, right := k.example(x.X), k.example(x.Y)
	if left == nil || right == nil {
		return
	}
	if _, err := starlark.Binary(x.Op, left, right); err == nil {
		return
	}
	f := lint.Fault{At: at(x.OpPos), Code: diagnostic.InvalidCode, Message: fmt.Sprintf("cannot compute %s %s %s", left.Type(), x.Op, right.Type())}
	if x.Op == syntax.PLUS && (left.Type() == "string" || right.Type() == "string") {
		f.Hint = "convert the other value with str(…)"
	}
	k.Fault(f)
}

// verbs checks how many values text % values formats.
func (k *Calls) verbs(x *syntax.BinaryExpr) {
	v, _ := ConstantOf(x.X)
	text, isText := v.(string)
	text = strings.ReplaceAll(text, "%%", "")
	if !isText || strings.Contains(text, "%(") {
		return
	}
	want, got := strings.Count(text, "%"), 0
	switch y := unparen(x.Y).(type) {
	case *syntax.TupleExpr:
		got = len(y.List)
	default:
		switch k.example(y).(type) {
		case nil, starlark.Tuple, *starlark.Dict:
			return
		}
		got = 1
	}
	if got != want {
		k.fault(at(x.OpPos), diagnostic.InvalidCode, "the text has %d places for values, but gets %d", want, got)
	}
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		paren, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = paren.X
	}
}

// iterates checks that a value can be iterated over.
func (k *Calls) iterates(x syntax.Expr) {
	v := k.example(x)
	if v == nil {
		return
	}
	if _, ok := v.(starlark.Iterable); ok {
		return
	}
	f := lint.Fault{At: RangeOf(x), Code: diagnostic.InvalidCode, Message: v.Type() + " is not a list: a for loop cannot iterate over it"}
	switch v.Type() {
	case "int":
		f.Hint = "write range(n)"
	case "string":
		f.Hint = "write text.elems() for the characters, or text.splitlines() for the lines"
	}
	k.Fault(f)
}

// attribute checks x.name, where it is certain what x is. Methods of Python that have a replacement are found elsewhere.
func (k *Calls) attribute(x *syntax.DotExpr, called bool) {
	v := k.example(x.X)
	if v == nil || Advice(k.Predeclared, "."+x.Name.Name) != "" {
		return
	}
	var names []string
	if has, ok := v.(starlark.HasAttrs); ok {
		names = has.AttrNames()
	}
	name := x.Name.Name
	if slices.Contains(names, name) {
		return
	}
	f := lint.Fault{At: at(x.Name.NamePos), Code: diagnostic.UnknownFunction,
		Message: fmt.Sprintf("the type %s has no method %s%s", v.Type(), name, value.DidYouMean(name, names)), Rename: lint.Meant(name, names)}
	switch _, isDict := v.(*starlark.Dict); {
	case isDict && !called:
		f.Message, f.Hint, f.Rename = fmt.Sprintf("the type dict has no attribute %s", name), fmt.Sprintf("write [%q]", name), ""
	case f.Rename == "" && len(names) > 0 && len(names) < 15:
		f.Hint = "use one of the methods: " + strings.Join(names, ", ")
	}
	k.Fault(f)
}
