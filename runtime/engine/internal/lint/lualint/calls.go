package lualint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleFunction returns the full name of a.b, if a is a module, and its function.
func (c *Check) moduleFunction(x ast.Expr) (name string, f *tool.Func, ok bool) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		f := c.Functions[x.Value]
		return x.Value, f, f != nil && c.isGlobal(x, x.Value)
	case *ast.AttrGetExpr:
		id, isName := x.Object.(*ast.IdentExpr)
		key, isKey := x.Key.(*ast.StringExpr)
		if isName && isKey && c.isGlobal(id, id.Value) {
			name = id.Value + "." + key.Value
			f = c.Functions[name]
			return name, f, f != nil || id.Value == "tools" && c.Globals["tools"].Other
		}
	}
	return "", nil, false
}

// mention records a function that is used without a call.
func (c *Check) mention(x ast.Expr, name, field string) {
	u := lint.Use{At: c.of(x), Name: name, Func: c.Functions[name]}
	if u.Func == nil {
		if _, f, ok := c.moduleFunction(x); !ok || f != nil {
			return
		}
		u.Tool = field
	}
	c.Uses.List = append(c.Uses.List, u)
}

// call checks a call.
func (c *Check) call(x *ast.FuncCallExpr) {
	if x == c.Skip {
		c.declaration(x)
		return
	}
	name, f, ok := c.moduleFunction(x.Func)
	if x.Func != nil && c.isGlobal(x.Func, "error") && len(x.Args) > 0 {
		c.reported(x.Func, x.Args[0])
	}
	if x.Func != nil && c.isGlobal(x.Func, "type") && len(x.Args) > 0 {
		if id, ok := x.Args[0].(*ast.IdentExpr); ok {
			if v := c.lookup(id.Value); v != nil {
				v.tested = true
			}
		}
	}
	switch {
	case x.Func == nil:
		c.method(x)
	case c.isGlobal(x.Func, "pcall") && len(x.Args) > 0:
		if called, g, ok := c.moduleFunction(x.Args[0]); ok && (g != nil || called != "") {
			c.check(called, g, x.Args[0], x.Args[1:])
			c.exprs(x.Args[1:])
			return
		}
		c.protected(x.Args[0])
	case ok:
		c.topLevel(name, f, x.Func)
		c.check(name, f, x.Func, x.Args)
	default:
		if id, isName := x.Func.(*ast.IdentExpr); isName {
			c.read(id, true)
			break
		}
		c.expr(x.Func)
		if dot, ok := x.Func.(*ast.AttrGetExpr); ok {
			id, isName := dot.Object.(*ast.IdentExpr)
			if key, isKey := dot.Key.(*ast.StringExpr); isName && isKey && c.bound[id] != nil {
				c.indexed(id, key, true)
			}
		}
	}
	c.exprs(x.Args)
}

// declaration walks the functions in the declaration: its values are read without running it.
func (c *Check) declaration(x *ast.FuncCallExpr) {
	for _, arg := range x.Args {
		if table, ok := arg.(*ast.TableExpr); ok {
			for _, field := range table.Fields {
				c.quietly(field.Value)
			}
		}
	}
}

// quietly walks an expression of the declaration, which calls param and example.
func (c *Check) quietly(x ast.Expr) {
	switch x := x.(type) {
	case *ast.TableExpr:
		for _, field := range x.Fields {
			c.quietly(field.Value)
		}
	case *ast.FuncCallExpr:
		for _, arg := range x.Args {
			c.quietly(arg)
		}
	case *ast.IdentExpr:
		if v := c.lookup(x.Value); v != nil {
			v.reads++
		}
	case *ast.FunctionExpr:
		c.function(x, "", lint.Range{})
	}
}

// check checks the arguments of a call of a function of a module, or of a tool.
func (c *Check) check(name string, f *tool.Func, callee ast.Expr, args []ast.Expr) {
	at := c.of(callee)
	u := lint.Use{At: at, Name: name, Func: f, Call: true}
	tools := c.Report.Known.Tools
	signature := lint.RowSignature(f, name)
	switch {
	case f == nil:
		u.Tool = callee.(*ast.AttrGetExpr).Key.(*ast.StringExpr).Value
		c.knownTool(c.at(callee.(*ast.AttrGetExpr).Key), u.Tool, tool.Key)
		signature = lint.ToolSignature(tools[tool.Key(u.Tool)], "tools."+tool.Key(u.Tool))
	case f.Mode == tool.ModeOther && len(args) > 0:
		if signature = c.toolNamed(args[0]); signature != nil {
			signature.Check(lint.Call{At: at, Args: c.args(nil, args[1:]), Fault: c.fault})
		}
		signature = nil
	case name == "tools.call_all" && len(args) == 1:
		c.listed(args[0])
	}
	u.Args = c.args(f, args)
	if signature != nil {
		signature.Check(lint.Call{At: at, Args: u.Args, Fault: c.fault})
	}
	c.Uses.List = append(c.Uses.List, u)
}

// toolNamed checks an expression that is the name of a tool. It returns what the tool accepts, or nil.
func (c *Check) toolNamed(x ast.Expr) *lint.Signature {
	s, ok := x.(*ast.StringExpr)
	if !ok {
		return nil
	}
	c.knownTool(c.of(s), s.Value, func(key string) string { return fmt.Sprintf("%q", key) })
	key := tool.Key(s.Value)
	return lint.ToolSignature(c.Report.Known.Tools[key], "tools."+key)
}

// listed checks the calls that tools.call_all makes: pairs of a name and arguments.
func (c *Check) listed(calls ast.Expr) {
	for _, x := range elementsOf(calls) {
		pair := elementsOf(x)
		if len(pair) == 0 || len(pair) > 2 {
			continue
		}
		table, isTable := pair[len(pair)-1].(*ast.TableExpr)
		if s := c.toolNamed(pair[0]); s != nil && (len(pair) == 1 || isTable && namesOnly(table)) {
			s.Check(lint.Call{At: c.of(pair[0]), Args: c.args(nil, pair[1:]), Fault: c.fault})
		}
	}
}

// elementsOf returns the elements of a table without keys, or nil.
func elementsOf(x ast.Expr) []ast.Expr {
	table, ok := x.(*ast.TableExpr)
	if !ok {
		return nil
	}
	var list []ast.Expr
	for _, field := range table.Fields {
		if field.Key != nil {
			return nil
		}
		list = append(list, field.Value)
	}
	return list
}

// reported checks the error value of error({message = …, type = …, hint = …}). An error value without a
// message is for the script itself.
func (c *Check) reported(callee, x ast.Expr) {
	table, ok := x.(*ast.TableExpr)
	isMessage := func(field *ast.Field) bool {
		key, ok := field.Key.(*ast.StringExpr)
		return ok && key.Value == "message"
	}
	if !ok || !namesOnly(table) {
		return
	}
	if c.misspelled(table, []string{"message", "type", "hint"}); !slices.ContainsFunc(table.Fields, isMessage) {
		return
	}
	errorType, text := script.FailureParams()
	signature := &lint.Signature{Name: "error", Named: true, Params: []lint.Param{
		{Name: "message", Type: &text}, {Name: "type", Type: &errorType, Omits: true}, {Name: "hint", Type: &text, Omits: true},
	}}
	signature.Check(lint.Call{At: c.of(callee), Args: c.args(nil, []ast.Expr{table}), Fault: c.fault})
}

// misspelled reports keys of an error value that resemble those with a meaning. Other keys are for the script
// itself, and so are all if neither a message nor a misspelled one is among them.
func (c *Check) misspelled(table *ast.TableExpr, known []string) {
	given := map[string]bool{}
	meant := map[string]string{}
	for _, field := range table.Fields {
		key := field.Key.(*ast.StringExpr).Value
		given[key] = true
		meant[key] = lint.Meant(key, known)
	}
	isError := given["message"] || slices.Contains(slices.Collect(maps.Values(meant)), "message")
	for _, field := range table.Fields {
		key := field.Key.(*ast.StringExpr)
		if m := meant[key.Value]; isError && m != "" && m != key.Value && !given[m] {
			c.fault(lint.Fault{At: c.at(key), Code: diagnostic.UnknownArgument, Message: fmt.Sprintf("error has no parameter %q; did you mean %q?", key.Value, m), Rename: m})
		}
	}
}

// knownTool checks that a tool exists.
func (c *Check) knownTool(at lint.Range, name string, written func(key string) string) {
	tools := c.Report.Known.Tools
	if _, known := tools[tool.Key(name)]; known || tools == nil || lint.OfUnknownServer(name, tools) {
		return
	}
	names := slices.Sorted(maps.Keys(tools))
	f := lint.Fault{At: at, Code: diagnostic.UnknownTool, Message: fmt.Sprintf("unknown tool %q%s", name, value.DidYouMean(tool.Key(name), names)), Hint: "list the tools: cassidy tool list"}
	if meant := lint.Meant(tool.Key(name), names); meant != "" {
		f.Rename, f.Hint = written(meant), ""
	}
	c.fault(f)
}

// args returns the arguments of a call. A table at the end whose keys are all names holds the
// named ones, unless the parameter in its position takes a table. f is nil for a tool.
func (c *Check) args(f *tool.Func, list []ast.Expr) []lint.Arg {
	var args []lint.Arg
	for i, x := range list {
		last := i == len(list)-1
		if table, ok := x.(*ast.TableExpr); ok && last && namesOnly(table) && (f == nil || !TakesTable(f, i, len(table.Fields) == 0)) {
			for _, field := range table.Fields {
				key := field.Key.(*ast.StringExpr)
				args = append(args, c.arg(field.Value))
				a := &args[len(args)-1]
				a.Name, a.NameAt = key.Value, c.at(key)
			}
			continue
		}
		a := c.arg(x)
		switch x.(type) {
		case *ast.FuncCallExpr, *ast.Comma3Expr:
			a.List = last // it may have any number of results
		case *ast.NilExpr:
			if last && f != nil { // a nil at the end is absent
				continue
			}
		case *ast.StringExpr, *ast.NumberExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.FunctionExpr, *ast.StringConcatOpExpr, *ast.ArithmeticOpExpr, *ast.TableExpr:
		default:
			a.Dict = last // it may be a table with the named arguments
		}
		args = append(args, a)
	}
	return args
}

func (c *Check) arg(x ast.Expr) lint.Arg {
	a := lint.Arg{At: c.of(x)}
	a.Value, a.Known = constantOf(x, 0)
	if _, isTable := x.(*ast.TableExpr); isTable {
		a.Known = false // whether an empty table is a list depends on the type
	}
	a.Partial = func(mark string) value.Value { return c.partial(x, &lint.Partial{Mark: mark}) }
	return a
}

// TakesTable reports whether the i-th parameter of a function accepts a table whose
// keys are all names. empty says that it has no keys.
func TakesTable(f *tool.Func, i int, empty bool) bool {
	if i >= len(f.Params) {
		return false
	}
	switch f.Params[i].Type.Name {
	case "", tool.TypeAny, tool.TypeObject, tool.TypeList:
		return true
	case tool.TypeArray, tool.TypeCharacter:
		return empty // an empty list
	}
	return false // a plain value, or an object
}

func namesOnly(table *ast.TableExpr) bool {
	return !slices.ContainsFunc(table.Fields, func(field *ast.Field) bool {
		_, ok := field.Key.(*ast.StringExpr)
		return !ok
	})
}

// maxDepth is how deep an expression is followed.
const maxDepth = 100

// constantOf returns the value of an expression that is written out in full.
func constantOf(x ast.Expr, depth int) (value.Value, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch x := x.(type) {
	case *ast.NilExpr:
		return nil, true
	case *ast.TrueExpr:
		return true, true
	case *ast.FalseExpr:
		return false, true
	case *ast.StringExpr:
		return x.Value, true
	case *ast.NumberExpr:
		if i, err := strconv.ParseInt(x.Value, 0, 64); err == nil {
			return i, true
		}
		n, err := strconv.ParseFloat(x.Value, 64)
		return n, err == nil
	case *ast.UnaryMinusOpExpr:
		switch n, _ := constantOf(x.Expr, depth+1); n := n.(type) {
		case int64:
			return -n, true
		case float64:
			return -n, true
		}
	case *ast.TableExpr:
		list := value.List{}
		for _, field := range x.Fields {
			v, ok := constantOf(field.Value, depth+1)
			if field.Key != nil || !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	}
	return nil, false
}

// partial returns the value of an expression, with a mark in place of what is not written out.
func (c *Check) partial(x ast.Expr, p *lint.Partial) value.Value {
	if p.Enough() {
		return p.Mark
	}
	switch x := x.(type) {
	case *ast.StringConcatOpExpr:
		left, isText := c.partial(x.Lhs, p).(string)
		right, ok := c.partial(x.Rhs, p).(string)
		if isText && ok {
			return p.Join(left, right)
		}
	case *ast.TableExpr:
		list, d := value.List{}, &value.Dict{}
		for _, field := range x.Fields {
			v := c.partial(field.Value, p)
			if key, ok := field.Key.(*ast.StringExpr); ok {
				d.Put(key.Value, v)
			} else {
				list = append(list, v)
			}
		}
		if d.Len() > 0 {
			return d
		}
		return list
	case *ast.IdentExpr:
		if v := c.bound[x]; v != nil && v.value != nil && v.writes == 0 {
			return p.Text(c.partial(v.value, p))
		}
		return p.Mark
	case *ast.FuncCallExpr, *ast.AttrGetExpr:
		return p.Mark
	}
	if v, ok := constantOf(x, 0); ok {
		return v
	}
	return p.Mark
}
