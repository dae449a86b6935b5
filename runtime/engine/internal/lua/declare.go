package lua

import (
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// declaration reads the file's return tool{…}, and which of its fields are
// functions: the handler, available and undo.
func (f *file) declaration() (*script.Declaration, map[string]ast.Expr, error) {
	table, err := f.toolTable()
	if err != nil {
		return nil, nil, err
	}
	d := &script.Declaration{
		Fields: &value.Dict{},
		At:     map[string]value.Position{},
		Pos:    value.Position{File: f.path, Line: table.Line()},

		Functions: map[string][]string{},
	}
	functions := map[string]ast.Expr{}
	for _, field := range table.Fields {
		if err := f.readField(field, d, functions); err != nil {
			return nil, nil, err
		}
	}
	if functions["handler"] == nil {
		return nil, nil, f.errorAt(d.Pos.Line, "tool() has no handler").
			WithHint("write handler = function(args) … end")
	}
	fitEmptyTables(d)
	return d, functions, nil
}

// toolTable finds the table of the declaration, which is all that the file
// returns.
func (f *file) toolTable() (*ast.TableExpr, error) {
	const form = "end the file with return tool{ description = …, handler = function(args) … end }"
	for _, word := range []string{"tool", "param", "example"} {
		if f.given[word] > 0 {
			return nil, f.errorAt(0, "%s is the file's own, but it is the word that declares a tool", word).
				WithHint("give what the file calls %s another name", word)
		}
	}
	switch {
	case len(f.tools) == 0:
		return nil, f.errorAt(0, "the file declares no tool").WithHint(form)
	case len(f.tools) > 1:
		return nil, f.errorAt(f.tools[1], "a second tool(…) in one file").WithHint("write one tool a file")
	case len(f.returns) > 0:
		return nil, f.errorAt(f.returns[0], "the file returns before its end").WithHint(form)
	}
	r, ok := f.stmts[len(f.stmts)-1].(*ast.ReturnStmt)
	if !ok || len(r.Exprs) != 1 {
		return nil, f.errorAt(f.tools[0], "the tool is not what the file returns").WithHint(form)
	}
	call, ok := r.Exprs[0].(*ast.FuncCallExpr)
	if !ok || !isLuaName(call.Func, "tool") {
		return nil, f.errorAt(f.tools[0], "the tool is not what the file returns").WithHint(form)
	}
	if len(call.Args) == 1 {
		if table, ok := call.Args[0].(*ast.TableExpr); ok {
			return table, nil
		}
	}
	return nil, f.errorAt(call.Line(), "tool() takes one table, written out").WithHint(form)
}

func isLuaName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.IdentExpr)
	return ok && id.Value == name
}

func (f *file) readField(field *ast.Field, d *script.Declaration, functions map[string]ast.Expr) error {
	if field.Key == nil {
		return f.errorAt(field.Value.Line(), "tool() takes its fields by name").WithHint("write name = value")
	}
	key, ok := field.Key.(*ast.StringExpr)
	if !ok {
		return f.errorAt(field.Value.Line(), "the names of fields are written out")
	}
	name, line := key.Value, key.Line()
	if d.Fields.Has(name) || functions[name] != nil {
		return f.errorAt(line, "'%s' is given twice", name)
	}
	d.At[name] = value.Position{File: f.path, Line: line}
	var v value.Value
	if fn, ok := field.Value.(*ast.FunctionExpr); ok {
		v = script.FuncName(name)
		f.names[fn.Line()] = name
	} else {
		var err error
		if v, err = f.literal(field.Value, value.MaxDepth); err != nil && name != "handler" {
			return err
		}
	}
	fn, isFunc := v.(script.FuncName)
	switch name {
	case "handler":
		if !isFunc {
			return f.errorAt(line, "handler must be a function").
				WithHint("write handler = function(args) … end, or name a function that this file defines once")
		}
		d.Handler = string(fn)
		functions[name] = field.Value
		return nil
	case "available", "undo":
		if isFunc {
			functions[name] = field.Value
			d.Functions[name] = f.parameters(field.Value)
			v = script.FuncName(name) // under which the chunk returns it, see exporting
		}
	}
	d.Fields.Put(name, v)
	return nil
}

// parameters returns the parameters of a function, or of the one that a name
// stands for.
func (f *file) parameters(x ast.Expr) []string {
	for range value.MaxDepth { // a name may stand for a name
		switch e := x.(type) {
		case *ast.IdentExpr:
			x = f.constants[e.Value]
		case *ast.FunctionExpr:
			names := e.ParList.Names
			if e.ParList.HasVargs {
				names = append(names[:len(names):len(names)], "...")
			}
			return names
		}
	}
	return nil
}

// literal evaluates an expression of a declaration: a literal, a name of a
// literal constant or a function of the file, or param(…) and example(…) of
// such. Nothing is run.
func (f *file) literal(x ast.Expr, depth int) (value.Value, error) {
	if depth == 0 {
		return nil, f.errorAt(x.Line(), "nested more than %d deep", value.MaxDepth)
	}
	// A constant that names another twice, and so on, is a tree of any size.
	if f.read++; f.read > value.MaxNodes {
		return nil, f.errorAt(x.Line(), "the declaration has more than %d parts", value.MaxNodes)
	}
	switch x := x.(type) {
	case *ast.NilExpr:
		return nil, nil
	case *ast.TrueExpr:
		return true, nil
	case *ast.FalseExpr:
		return false, nil
	case *ast.StringExpr:
		return luaText(x.Value), nil
	case *ast.NumberExpr:
		return f.number(x)
	case *ast.UnaryMinusOpExpr:
		return f.negative(x, depth)
	case *ast.IdentExpr:
		return f.name(x, depth)
	case *ast.TableExpr:
		return f.table(x, depth)
	case *ast.FuncCallExpr:
		switch {
		case isLuaName(x.Func, "param"):
			return f.param(x, depth)
		case isLuaName(x.Func, "example"):
			return f.example(x, depth)
		}
	}
	return nil, f.computed(x)
}

func (f *file) computed(x ast.Expr) error {
	return f.errorAt(x.Line(), "a declaration is read without running it, so this cannot be computed").
		WithHint("write the value out, or name a constant or function of this file")
}

// number reads a number as Lua would, and refuses one that Lua would change.
func (f *file) number(x *ast.NumberExpr) (value.Value, error) {
	if i, err := strconv.ParseInt(x.Value, 0, 64); err == nil {
		if i > maxLuaInteger {
			return nil, f.errorAt(x.Line(), "%s is beyond what a Lua number holds exactly", x.Value)
		}
		return i, nil
	}
	n, err := strconv.ParseFloat(x.Value, 64)
	if err != nil {
		return nil, f.errorAt(x.Line(), "the number %s is malformed or out of range", x.Value)
	}
	return luaNumber(n), nil
}

func (f *file) negative(x *ast.UnaryMinusOpExpr, depth int) (value.Value, error) {
	v, err := f.literal(x.Expr, depth-1)
	if err != nil {
		return nil, err
	}
	switch n := v.(type) {
	case int64:
		return -n, nil
	case float64:
		return -n, nil
	}
	return nil, f.computed(x)
}

func (f *file) name(x *ast.IdentExpr, depth int) (value.Value, error) {
	value, ok := f.constants[x.Value]
	switch {
	case x.Value == "null" && f.given["null"] == 0:
		return nil, nil
	case f.given[x.Value] > 1:
		return nil, f.errorAt(x.Line(), "%s is given a value more than once, and a declaration is read without running it", x.Value).
			WithHint("write the value out, or name a constant or function that the file defines once")
	case !ok:
		return nil, f.errorAt(x.Line(), "%s is not a constant or function of this file", x.Value).
			WithHint("a declaration is read without running it: write the value out")
	}
	if _, ok := value.(*ast.FunctionExpr); ok {
		return script.FuncName(x.Value), nil
	}
	return f.literal(value, depth-1)
}

// table reads a table: a list where its keys are 1 to n, else an object. It is
// an empty list where it is empty; what must be an object is made one later.
func (f *file) table(x *ast.TableExpr, depth int) (value.Value, error) {
	d := &value.Dict{}
	count := int64(0)
	for _, field := range x.Fields {
		var key value.Value
		line := field.Value.Line()
		if field.Key == nil {
			count++
			key = count
		} else {
			var err error
			if key, err = f.literal(field.Key, depth-1); err != nil {
				return nil, err
			}
			line = field.Key.Line()
		}
		v, err := f.literal(field.Value, depth-1)
		if err != nil {
			return nil, err
		}
		before := d.Len()
		if err := d.Set(key, v); err != nil || key == nil {
			return nil, f.errorAt(line, "%s cannot be a key", value.TypeOf(key))
		}
		if d.Len() == before {
			return nil, f.errorAt(line, "the key %s is given twice", value.FormatJSON(key, ""))
		}
	}
	return listOrDict(d), nil
}

// listOrDict returns a dict whose keys are 1 to n as a list.
func listOrDict(d *value.Dict) value.Value {
	list := make(value.List, d.Len())
	for k, v := range d.All() {
		i, ok := k.(int64)
		if !ok || i < 1 || i > int64(len(list)) {
			return d
		}
		list[i-1] = v
	}
	return list
}

// param reads param("type", "description", { … }), of which each part may be
// left out.
func (f *file) param(call *ast.FuncCallExpr, depth int) (value.Value, error) {
	args := call.Args
	var named *ast.TableExpr
	if n := len(args); n > 0 {
		if table, ok := args[n-1].(*ast.TableExpr); ok && (n == 1 || hasLuaNames(table)) {
			args, named = args[:n-1], table
		}
	}
	return f.declared("param", call, args, named, depth)
}

// example reads example("description", { args }, expect), or one table with
// these names.
func (f *file) example(call *ast.FuncCallExpr, depth int) (value.Value, error) {
	if len(call.Args) == 1 {
		if table, ok := call.Args[0].(*ast.TableExpr); ok {
			return f.declared("example", call, nil, table, depth)
		}
	}
	return f.declared("example", call, call.Args, nil, depth)
}

// hasLuaNames reports whether a table gives names to all its values, or has none.
func hasLuaNames(table *ast.TableExpr) bool {
	return !slices.ContainsFunc(table.Fields, func(field *ast.Field) bool {
		_, ok := field.Key.(*ast.StringExpr)
		return !ok
	})
}

func (f *file) declared(kind string, call *ast.FuncCallExpr, args []ast.Expr, named *ast.TableExpr, depth int) (value.Value, error) {
	names := script.ParamFields
	if kind == "example" {
		names = script.ExampleFields
	}
	d := script.Declared{Kind: kind, Fields: &value.Dict{}, At: map[string]value.Position{}, Pos: value.Position{File: f.path, Line: call.Line()}}
	if len(args) > len(names) {
		return nil, f.errorAt(args[len(names)].Line(), "%s() takes at most %d arguments", kind, len(names))
	}
	put := func(name string, x ast.Expr) error {
		switch {
		case !slices.Contains(names, name):
			return f.errorAt(x.Line(), "%s() has no field '%s'%s", kind, name, value.DidYouMean(name, names))
		case d.Fields.Has(name):
			return f.errorAt(x.Line(), "'%s' is given twice", name)
		}
		v, err := f.literal(x, depth-1)
		if err == nil && (v != nil || name == "default" || name == "expect") { // else it is absent, as in Lua
			d.Fields.Put(name, v)
			d.At[name] = value.Position{File: f.path, Line: x.Line()}
		}
		return err
	}
	for i, x := range args {
		if err := put(names[i], x); err != nil {
			return nil, err
		}
	}
	if named == nil {
		return d, nil
	}
	for _, field := range named.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok {
			return nil, f.errorAt(field.Value.Line(), "%s() takes the fields of its table by name", kind)
		}
		if err := put(key.Value, field.Value); err != nil {
			return nil, err
		}
	}
	if kind == "param" {
		fitParam(d.Fields)
	}
	return d, nil
}

// fitParam makes the empty tables of a param(…) objects where its own type
// says so, and returns that type.
func fitParam(fields *value.Dict) tool.Type {
	if properties, ok := fields.Get("properties"); ok {
		fields.Put("properties", fitTable(tool.Type{Name: tool.TypeObject}, properties))
	}
	t, err := script.TypeWith(tool.Type{}, fields)
	if v, ok := fields.Get("default"); ok && err == nil { // an error is told where the tool is made
		fields.Put("default", fitTable(t, v))
	}
	return t
}

// fitEmptyTables makes the empty tables of a declaration objects where the
// types that it declares say so.
func fitEmptyTables(d *script.Declaration) {
	types := map[string]tool.Type{}
	v, _ := d.Fields.Get("params")
	params, _ := v.(*value.Dict)
	for k, v := range params.All() {
		if name, ok := k.(string); ok {
			types[name] = fitParam(declaredFields(v, "param"))
		}
	}
	r := script.Reader{D: d}
	returns := r.Returns()
	for _, v := range r.List("examples") {
		fields := declaredFields(v, "example")
		args, _ := fields.Get("args")
		if named, ok := args.(*value.Dict); ok {
			for k, v := range named.All() {
				if name, ok := k.(string); ok {
					named.Put(name, fitTable(types[name], v))
				}
			}
		}
		if v, ok := fields.Get("expect"); ok && returns != nil {
			fields.Put("expect", fitTable(*returns, v))
		}
	}
}

// declaredFields returns the fields of a param(…) or example(…), or of the
// plain table that stands for one.
func declaredFields(v value.Value, kind string) *value.Dict {
	switch v := v.(type) {
	case script.Declared:
		if v.Kind == kind {
			return v.Fields
		}
	case *value.Dict:
		return v
	}
	return &value.Dict{}
}
