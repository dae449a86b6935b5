package starlint

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Uses collects the functions of modules that a statement uses, and the tools that it calls. If at
// is not zero, that is where they are reported.
func (k *Calls) Uses(stmt syntax.Node, at lint.Range, uses *lint.Uses) {
	add := func(n syntax.Node, u lint.Use) {
		if u.At = at; at == (lint.Range{}) {
			u.At = RangeOf(n)
		}
		uses.List = append(uses.List, u)
	}
	done := map[syntax.Node]bool{} // what a call or a name after a dot has covered
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CallExpr:
			fn, args := x.Fn, x.Args
			if k.isAttempt(fn) && len(args) > 0 {
				fn, args = args[0], args[1:]
			}
			if u, ok := k.use(fn); ok {
				u.Call, u.Args = true, k.usedArgs(args)
				done[fn] = true
				add(fn, u)
			}
		case *syntax.DotExpr:
			if u, ok := k.use(x); ok && !done[x] {
				add(x, u)
			}
			done[x.X] = done[x.X] || k.module(x.X) != ""
		case *syntax.Ident:
			if done[x] || ScopeOf(x) != resolve.Predeclared {
				return true
			}
			if u, ok := k.use(x); ok {
				add(x, u)
			}
			uses.Unknown = uses.Unknown || k.Modules[x.Name]
		}
		return true
	})
}

// TopLevel reports effects outside of functions: they fail when the file is loaded.
func (k *Calls) TopLevel(tree *syntax.File) {
	for _, stmt := range tree.Stmts {
		k.effects(stmt, true, "%s is only available inside a function", "move the call into a function")
	}
}

// use returns the use of a function of a module, or of a tool by its name.
func (k *Calls) use(x syntax.Expr) (lint.Use, bool) {
	switch x := x.(type) {
	case *syntax.Ident:
		if f := k.Functions[x.Name]; f != nil && ScopeOf(x) == resolve.Predeclared {
			return lint.Use{Name: x.Name, Func: f}, true
		}
	case *syntax.DotExpr:
		module := k.module(x.X)
		if module == "" {
			return lint.Use{}, false
		}
		full := module + "." + x.Name.Name
		if f := k.Functions[full]; f != nil {
			return lint.Use{Name: full, Func: f}, true
		}
		if module == "tools" {
			return lint.Use{Name: full, Tool: x.Name.Name}, true
		}
	}
	return lint.Use{}, false
}

// usedArgs is Args with the parts of each argument that are written out.
func (k *Calls) usedArgs(list []syntax.Expr) []lint.Arg {
	args := Args(list)
	for i, x := range list {
		if b, ok := x.(*syntax.BinaryExpr); ok && args[i].Name != "" {
			x = b.Y
		}
		args[i].Partial = func(mark string) value.Value { return k.partial(x, &lint.Partial{Mark: mark}) }
	}
	return args
}

var formatField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) })

// partial returns the value of an expression, with a mark in place of what is not written out.
func (k *Calls) partial(x syntax.Expr, p *lint.Partial) value.Value {
	if v, ok := ConstantOf(x); ok {
		return v
	}
	if p.Enough() {
		return p.Mark
	}
	items := func(list []syntax.Expr) []value.Value {
		values := make([]value.Value, len(list))
		for i, x := range list {
			values[i] = k.partial(x, p)
		}
		return values
	}
	switch x := x.(type) {
	case *syntax.Ident:
		if k.Value != nil {
			if v := k.Value(x); v != nil {
				return p.Text(k.partial(v, p))
			}
		}
	case *syntax.ParenExpr:
		return k.partial(x.X, p)
	case *syntax.ListExpr:
		return value.List(items(x.List))
	case *syntax.TupleExpr:
		return value.List(items(x.List))
	case *syntax.DictExpr:
		d := &value.Dict{}
		for _, e := range x.List {
			if entry, ok := e.(*syntax.DictEntry); ok {
				if key, ok := k.partial(entry.Key, p).(string); ok {
					d.Put(key, k.partial(entry.Value, p))
				}
			}
		}
		return d
	case *syntax.BinaryExpr:
		first := k.partial(x.X, p)
		left, isText := first.(string)
		list, isList := first.(value.List)
		switch {
		case isList && x.Op == syntax.PLUS:
			if more, ok := k.partial(x.Y, p).(value.List); ok {
				return slices.Concat(list, more)
			}
			return append(slices.Clone(list), p.Mark) // the beginning is known
		case isText && x.Op == syntax.PLUS:
			if right, ok := k.partial(x.Y, p).(string); ok {
				return p.Join(left, right)
			}
		case isText && x.Op == syntax.PERCENT:
			marked := strings.NewReplacer("%s", p.Mark, "%r", p.Mark, "%d", p.Mark).Replace(left)
			return strings.ReplaceAll(marked, "%%", "%")
		}
	case *syntax.CallExpr:
		if dot, ok := x.Fn.(*syntax.DotExpr); ok && dot.Name.Name == "format" {
			if text, ok := k.partial(dot.X, p).(string); ok {
				return formatField().ReplaceAllLiteralString(text, p.Mark)
			}
		}
	}
	return p.Mark
}

// Returns calls do for each value that a function returns, without those of functions inside of it.
func Returns(def *syntax.DefStmt, do func(x syntax.Expr)) {
	for _, stmt := range def.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.DefStmt:
				return false
			case *syntax.ReturnStmt:
				if x.Result != nil {
					do(x.Result)
				}
			}
			return true
		})
	}
}
