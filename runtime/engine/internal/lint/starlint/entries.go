package starlint

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// PassModules records the parameters that certainly are modules: those of functions that the host calls, and those that get
// a module in each call.
func (k *Calls) PassModules(tree *syntax.File, names *Names, known *lint.Known) {
	k.passed = map[*syntax.Ident]string{}
	for _, stmt := range tree.Stmts {
		def, e := entryOf(stmt, known.Entries)
		if e == nil {
			continue
		}
		for _, p := range def.Params {
			if id, ok := p.(*syntax.Ident); ok && k.Modules[id.Name] && !slices.Contains(e.Params, id.Name) && names.Once(id) {
				k.passed[id] = id.Name
			}
		}
	}
	loadable := known.Kind == lint.KindLibrary || known.Kind == lint.KindScript
	names.passOn(tree, loadable, func(p *syntax.Ident, args []syntax.Expr) bool {
		name := k.module(args[0])
		if name == "" || k.passed[p] != "" || !all(args, func(x syntax.Expr) bool { return k.module(x) == name }) {
			return false
		}
		k.passed[p] = name
		return true
	})
}

func all(list []syntax.Expr, is func(syntax.Expr) bool) bool {
	return !slices.ContainsFunc(list, func(x syntax.Expr) bool { return !is(x) })
}

// entryOf returns the function that a statement defines, and the entry if the host calls it.
func entryOf(stmt syntax.Stmt, entries []lint.Entry) (*syntax.DefStmt, *lint.Entry) {
	def, ok := stmt.(*syntax.DefStmt)
	if !ok {
		return nil, nil
	}
	if i := slices.IndexFunc(entries, func(e lint.Entry) bool { return e.Name == def.Name.Name }); i >= 0 {
		return def, &entries[i]
	}
	return def, nil
}

// passOn calls add for the parameters of the functions that the file only calls, with the arguments that the parameter
// gets, until nothing is added: a function may get an argument that another one has got. loadable says that other files
// may load the file, and call its functions whose names do not begin with _.
func (n *Names) passOn(tree *syntax.File, loadable bool, add func(param *syntax.Ident, args []syntax.Expr) bool) {
	calls := map[*syntax.Ident][]*given{} // by the names of the called functions
	syntax.Walk(tree, func(x syntax.Node) bool {
		if call, ok := x.(*syntax.CallExpr); ok {
			if id, ok := call.Fn.(*syntax.Ident); ok && bindingOf(id) != nil {
				calls[bindingOf(id)] = append(calls[bindingOf(id)], givenBy(call))
			}
		}
		return true
	})
	type passed struct {
		param  *syntax.Ident
		args   []syntax.Expr
		queued bool
	}
	var queue []*passed
	using := map[*syntax.Ident][]*passed{} // by the parameters that are arguments
	for _, stmt := range tree.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok || !n.onlyCalled(def.Name) || loadable && !strings.HasPrefix(def.Name.Name, "_") {
			continue
		}
		for i, p := range def.Params {
			id := paramName(p)
			if _, rest := p.(*syntax.UnaryExpr); rest {
				break // what follows is not by position
			}
			if args := argsOf(calls[bindingOf(def.Name)], i, id.Name); len(args) > 0 && n.Once(id) {
				x := &passed{param: id, args: args, queued: true}
				queue = append(queue, x)
				for _, arg := range args {
					if v := variableOf(arg); v != nil {
						using[v] = append(using[v], x)
					}
				}
			}
		}
	}
	for len(queue) > 0 {
		x := queue[0]
		queue, x.queued = queue[1:], false
		if !add(x.param, x.args) {
			continue
		}
		for _, next := range using[x.param] {
			if !next.queued {
				queue, next.queued = append(queue, next), true
			}
		}
	}
}

// A given has the arguments of a call.
type given struct {
	list  []syntax.Expr
	named map[string]syntax.Expr
}

// givenBy returns the arguments of a call, or nil if one is unknown.
func givenBy(c *syntax.CallExpr) *given {
	g := &given{}
	for _, x := range c.Args {
		switch x := x.(type) {
		case *syntax.UnaryExpr:
			if x.Op == syntax.STAR || x.Op == syntax.STARSTAR {
				return nil
			}
		case *syntax.BinaryExpr:
			if id, ok := x.X.(*syntax.Ident); ok && x.Op == syntax.EQ {
				if g.named == nil {
					g.named = map[string]syntax.Expr{}
				}
				g.named[id.Name] = x.Y
				continue
			}
		}
		g.list = append(g.list, x) // the named ones follow
	}
	return g
}

// argsOf returns the argument of each call for a parameter, or nil if one is unknown.
func argsOf(calls []*given, i int, name string) []syntax.Expr {
	var args []syntax.Expr
	for _, g := range calls {
		if g == nil {
			return nil
		}
		x := g.named[name]
		if i < len(g.list) {
			x = g.list[i]
		}
		if x == nil {
			return nil
		}
		args = append(args, x)
	}
	return args
}

// lacksFunction returns the fault of a function that a module or an object does not have.
func lacksFunction(shown string, x *syntax.DotExpr, names []string) lint.Fault {
	name := x.Name.Name
	return lint.Fault{At: at(x.Name.NamePos), Code: diagnostic.UnknownFunction, Message: fmt.Sprintf("%s has no %s%s", shown, name, value.DidYouMean(name, names)),
		Hint: "use one of the functions: " + strings.Join(names, ", "), Rename: lint.Meant(name, names)}
}

// ofModule checks a function of a module that is the value of a parameter.
func (k *Calls) ofModule(x *syntax.DotExpr) {
	id, ok := x.X.(*syntax.Ident)
	if !ok || k.passed[bindingOf(id)] == "" {
		return
	}
	module, ok := k.Predeclared[k.module(id)].(starlark.HasAttrs)
	if !ok {
		return
	}
	if v, err := module.Attr(x.Name.Name); v == nil || err != nil {
		k.Fault(lacksFunction(id.Name, x, module.AttrNames()))
	}
}

// Entries checks the functions that the host calls: whether there is one, its parameters, and what it returns. It returns the
// names of the functions that are called from outside of the file.
func (k *Calls) Entries(tree *syntax.File, n *Names, known *lint.Known, hidden map[string]bool) (roots []string) {
	names := value.Map(known.Entries, func(e lint.Entry) string { return e.Name })
	var public []*syntax.DefStmt
	for _, stmt := range tree.Stmts {
		def, e := entryOf(stmt, known.Entries)
		switch {
		case e != nil:
			roots = append(roots, e.Name)
			k.entry(def, e, known.Strict)
		case def != nil && !strings.HasPrefix(def.Name.Name, "_"):
			public = append(public, def)
		}
	}
	defined := len(roots) > 0 || slices.ContainsFunc(names, func(name string) bool {
		return hidden[name] || !known.Strict && n.Global(name) != nil // a variable may have the function
	})
	if defined && !known.Strict {
		return roots
	}
	faults := 0
	for _, def := range public { // a function of another name may be a misspelled one
		name := def.Name.Name
		roots = append(roots, name)
		meant := lint.Meant(name, names)
		if !known.Strict && meant == "" {
			continue
		}
		if faults++; n.Called(def.Name) {
			meant = ""
		}
		k.Fault(lint.Fault{At: RangeOf(def.Name), Code: diagnostic.Declaration, Message: fmt.Sprintf("the host never calls %s%s", name, value.DidYouMean(name, names)), Rename: meant,
			Hint: fmt.Sprintf("the host calls %s; if the function is not one of them, begin its name with _", strings.Join(names, ", "))})
	}
	if !defined && faults == 0 {
		e := known.Entries[0]
		k.Fault(lint.Fault{At: lint.Range{Start: lint.Pos{Line: 1, Col: 1}, End: lint.Pos{Line: 1, Col: 1}}, Code: diagnostic.Declaration, Message: "the file has no function " + strings.Join(names, " or "),
			Hint: fmt.Sprintf("add to the file: def %s(%s):", e.Name, strings.Join(e.Params, ", "))})
	}
	return roots
}

// entry checks a function that the host calls.
func (k *Calls) entry(def *syntax.DefStmt, e *lint.Entry, strict bool) {
	var params []string
	for _, p := range def.Params {
		id := paramName(p)
		if id == nil {
			continue
		}
		params = append(params, id.Name)
		if _, plain := p.(*syntax.Ident); plain && !strict && !slices.Contains(e.Params, id.Name) && !k.Modules[id.Name] {
			k.Fault(lint.Fault{At: RangeOf(id), Warning: true, Code: diagnostic.Declaration, Message: fmt.Sprintf("the parameter %s of %s is always None%s", id.Name, e.Name, value.DidYouMean(id.Name, e.Params)),
				Hint: "the host passes " + strings.Join(e.Params, ", ") + ", and modules by their names"})
		}
	}
	if strict && !slices.Equal(params, e.Params) {
		k.Fault(lint.Fault{At: RangeOf(def.Name), Code: diagnostic.Declaration, Message: fmt.Sprintf("%s has the wrong parameters (%s)", e.Name, strings.Join(params, ", ")),
			Hint: fmt.Sprintf("write def %s(%s):", e.Name, strings.Join(e.Params, ", "))})
	}
	Returns(def, func(x syntax.Expr) {
		if v := k.example(x); v != nil && !slices.Contains(e.Types, v.Type()) && v != starlark.None {
			k.Fault(lint.Fault{At: RangeOf(x), Code: diagnostic.ResultType, Message: fmt.Sprintf("%s returns a value of the type %s, but it must return %s", e.Name, v.Type(), e.Result)})
		}
		if d, ok := unparen(x).(*syntax.DictExpr); ok && e.Keys != nil {
			k.resultKeys(d, e)
		}
	})
}

// resultKeys checks the keys of the result of a function that the host calls.
func (k *Calls) resultKeys(d *syntax.DictExpr, e *lint.Entry) {
	for _, x := range d.List {
		entry, ok := x.(*syntax.DictEntry)
		if !ok {
			continue
		}
		v, _ := ConstantOf(entry.Key)
		key, ok := v.(string)
		if !ok || slices.Contains(e.Keys, key) {
			continue
		}
		f := lint.Fault{At: RangeOf(entry.Key), Code: diagnostic.ResultType, Message: fmt.Sprintf("%s returns the unknown key %q%s", e.Name, key, value.DidYouMean(key, e.Keys)), Hint: "it must return " + e.Result}
		if meant := lint.Meant(key, e.Keys); meant != "" {
			f.Rename = fmt.Sprintf("%q", meant)
		}
		k.Fault(f)
	}
}

// Effects reports the effects of functions that can have none.
func (k *Calls) Effects(tree *syntax.File) {
	for _, stmt := range tree.Stmts {
		if _, ok := stmt.(*syntax.DefStmt); ok {
			k.effects(stmt, false, "%s is refused here: the functions of this file can only compute", "remove the call")
		}
	}
}

// effects reports the effects of a statement. outside says that functions inside of it are not called.
func (k *Calls) effects(stmt syntax.Stmt, outside bool, format, hint string) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			return !outside
		case *syntax.CallExpr:
			if u, ok := k.use(x.Fn); ok && (u.Func == nil || u.Func.Kind != tool.Pure || len(u.Func.Requests) > 0) {
				k.Fault(lint.Fault{At: RangeOf(x.Fn), Code: diagnostic.InvalidCode, Message: fmt.Sprintf(format, u.Name), Hint: hint})
			}
		}
		return true
	})
}
