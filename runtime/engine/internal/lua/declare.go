package lua

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// declaration reads the file's return tool{…}, and its function fields: the handler,
// available and undo.
func (f *file) declaration() (*script.Declaration, map[string]ast.Expr, error) {
	table, err := f.toolTable()
	if err != nil {
		return nil, nil, err
	}
	d := script.New("", f.position(table.Line()), map[string][]string{})
	functions := map[string]ast.Expr{}
	wrong := false // whether a handler is given that is not a function
	for _, field := range table.Fields {
		err := f.readField(field, d, functions)
		f.fault(err)
		key, _ := field.Key.(*ast.StringExpr)
		wrong = wrong || err != nil && key != nil && key.Value == "handler"
	}
	if functions["handler"] == nil && !wrong {
		f.fault(f.errorAt(d.Pos.Line, "tool() has no handler").
			WithHint("write handler = function(args) … end"))
	}
	d.DocHint = "describe above the handler what the tool does and when to use it: --- TEXT"
	f.describe(d, functions["handler"])
	fitEmptyTables(d)
	if len(f.faults) > 0 {
		return d, functions, f.faults[0]
	}
	return d, functions, nil
}

// fault records a fault of the declaration, unless err is nil.
func (f *file) fault(err error) {
	if err != nil {
		f.faults = append(f.faults, err)
	}
}

// toolTable finds the table of the declaration, which must be the only result of the
// file.
func (f *file) toolTable() (*ast.TableExpr, error) {
	const form = "end the file with return tool{ description = …, handler = function(args) … end }"
	for _, word := range []string{"tool", "param", "example"} {
		if f.assigned[word] > 0 {
			return nil, f.errorAt(0, "the file defines %s, which is reserved for declarations", word).
				WithHint("rename %s", word)
		}
	}
	switch {
	case len(f.tools) == 0:
		err := f.errorAt(0, "the file does not declare a tool")
		if name, other := script.HandlerName(f.order, script.Stem(f.path)); other == nil && f.hasComment(name) {
			return nil, err.WithHint("end the file with return tool{ handler = %s }", name)
		}
		return nil, err.WithHint(form)
	case len(f.tools) > 1:
		return nil, f.errorAt(f.tools[1], "the file has more than one tool(…)").WithHint("declare one tool per file")
	case len(f.returns) > 0:
		return nil, f.errorAt(f.returns[0], "return is only allowed at the end of the file").WithHint(form)
	}
	var call *ast.FuncCallExpr
	if r, ok := f.stmts[len(f.stmts)-1].(*ast.ReturnStmt); ok && len(r.Exprs) == 1 {
		call, _ = r.Exprs[0].(*ast.FuncCallExpr)
	}
	if call == nil || !isLuaName(call.Func, "tool") {
		return nil, f.errorAt(f.tools[0], "the file must end with return tool{…}").WithHint(form)
	}
	if len(call.Args) == 1 {
		if table, ok := call.Args[0].(*ast.TableExpr); ok {
			return table, nil
		}
	}
	return nil, f.errorAt(call.Line(), "tool() takes one table constructor").WithHint(form)
}

func isLuaName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.IdentExpr)
	return ok && id.Value == name
}

func (f *file) readField(field *ast.Field, d *script.Declaration, functions map[string]ast.Expr) error {
	if field.Key == nil {
		return f.errorAt(field.Value.Line(), "tool() has a field without a name").WithHint("write name = value")
	}
	key, ok := field.Key.(*ast.StringExpr)
	if !ok {
		return f.errorAt(field.Value.Line(), "the name of a field must be a constant")
	}
	name, line := key.Value, key.Line()
	if d.Fields.Has(name) || functions[name] != nil {
		return f.errorAt(line, "'%s' is given twice", name)
	}
	d.At[name] = f.position(line)
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
			unknown := ""
			if id, ok := field.Value.(*ast.IdentExpr); ok {
				if f.hidden[id.Value] { // the function does not parse
					d.Handler, functions[name] = id.Value, field.Value
					return nil
				}
				if f.constants[id.Value] == nil && f.assigned[id.Value] == 0 {
					unknown = fmt.Sprintf(", but %q is not defined%s", id.Value, value.DidYouMean(id.Value, f.functionNames()))
				}
			}
			return f.errorAt(line, "handler must be a function%s", unknown).
				WithHint("write handler = function(args) … end, or the name of a function that is defined once in this file")
		}
		d.Handler = string(fn)
		functions[name] = field.Value
		return nil
	case "available", "undo", "preview":
		if isFunc {
			functions[name] = field.Value
			d.Functions[name] = f.parameters(field.Value)
			v = script.FuncName(name) // the chunk returns it under this name, see exporting
		}
	}
	d.Fields.Put(name, v)
	x := field.Value
	if id, ok := x.(*ast.IdentExpr); ok {
		x = f.constants[id.Value]
	}
	if list, ok := x.(*ast.TableExpr); ok {
		for _, item := range list.Fields {
			d.Elements[name] = append(d.Elements[name], f.position(item.Value.Line()))
		}
	}
	return nil
}

// parameters returns the parameters of a function or of the function that a name refers
// to.
func (f *file) parameters(x ast.Expr) []string {
	fn := f.function(x)
	if fn == nil {
		return nil
	}
	names := fn.ParList.Names
	if fn.ParList.HasVargs {
		names = append(names[:len(names):len(names)], "...")
	}
	return names
}

// function returns a function, or the one that a name refers to, or nil.
func (f *file) function(x ast.Expr) *ast.FunctionExpr {
	for range value.MaxDepth { // a name may refer to another name
		switch e := x.(type) {
		case *ast.IdentExpr:
			x = f.constants[e.Value]
		case *ast.FunctionExpr:
			return e
		}
	}
	return nil
}

// literal evaluates an expression of a declaration: a literal, the name of a literal
// constant or a function of the file, or param(…) and example(…) of these. Nothing is
// run.
func (f *file) literal(x ast.Expr, depth int) (value.Value, error) {
	if depth == 0 {
		return nil, f.errorAt(x.Line(), "the declaration is nested more than %d levels deep", value.MaxDepth)
	}
	// Constants that contain each other have exponential size.
	if f.read++; f.read > value.MaxNodes {
		return nil, f.errorAt(x.Line(), "the declaration has more than %d values", value.MaxNodes)
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
		for _, kind := range []string{"param", "example"} {
			if isLuaName(x.Func, kind) {
				return f.declared(kind, x, depth)
			}
		}
	}
	return nil, script.Computed(f.position(x.Line()))
}

// number reads a number as Lua does, and rejects a number that Lua cannot represent
// exactly.
func (f *file) number(x *ast.NumberExpr) (value.Value, error) {
	if i, err := strconv.ParseInt(x.Value, 0, 64); err == nil {
		if i > maxLuaInteger {
			return nil, f.errorAt(x.Line(), "%s cannot be represented exactly as a Lua number", x.Value)
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
	return nil, script.Computed(f.position(x.Line()))
}

func (f *file) name(x *ast.IdentExpr, depth int) (value.Value, error) {
	value, ok := f.constants[x.Value]
	switch {
	case x.Value == "null" && f.assigned["null"] == 0:
		return nil, nil
	case f.assigned[x.Value] > 1:
		return nil, f.errorAt(x.Line(), "%s is assigned more than once, so its value in the declaration is unknown", x.Value).
			WithHint("write the value, or the name of a constant or function with one assignment")
	case !ok && f.hidden[x.Value]:
		return nil, nil // what it is does not parse
	case !ok:
		return nil, f.errorAt(x.Line(), "%s is not a constant or function of this file", x.Value).
			WithHint("write the value: the declaration is read without running the file")
	}
	if _, ok := value.(*ast.FunctionExpr); ok {
		return script.FuncName(x.Value), nil
	}
	return f.literal(value, depth-1)
}

// table reads a table: a list if its keys are 1 to n, else an object. An empty table is
// a list at first; fitEmptyTables corrects it.
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
			return nil, f.errorAt(line, "unsupported type of a key: %s", value.TypeOf(key))
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

// hasLuaNames reports whether all values of a table have names.
func hasLuaNames(table *ast.TableExpr) bool {
	return !slices.ContainsFunc(table.Fields, func(field *ast.Field) bool {
		_, ok := field.Key.(*ast.StringExpr)
		return !ok
	})
}

// declared reads param("type", "description", { … }), of which each part is optional,
// and example("description", { args }, expect). Both may be one table with the fields.
func (f *file) declared(kind string, call *ast.FuncCallExpr, depth int) (value.Value, error) {
	args := call.Args
	var named *ast.TableExpr
	if n := len(args); n > 0 {
		if table, ok := args[n-1].(*ast.TableExpr); ok && (n == 1 || kind == "param" && hasLuaNames(table)) {
			args, named = args[:n-1], table
		}
	}
	d := script.NewDeclared(kind, f.position(call.Line()))
	names := d.Names()
	if len(args) > len(names) {
		return nil, f.errorAt(args[len(names)].Line(), "%s() takes at most %d arguments", kind, len(names))
	}
	put := func(name string, x ast.Expr) error {
		v, err := f.literal(x, depth-1)
		if err != nil || v == nil && slices.Contains(names, name) && name != "default" && name != "expect" {
			return err // a nil is absent, as in Lua
		}
		return d.Put(name, v, f.position(x.Line()))
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
			return nil, f.errorAt(field.Value.Line(), "%s() has a field without a name", kind)
		}
		if err := put(key.Value, field.Value); err != nil {
			return nil, err
		}
	}
	if kind == "param" {
		fitParam(d, tool.Type{})
	}
	return d, nil
}

// fitParam converts the empty tables of a param(…) that must be objects according to
// its type, which adds to base, and returns that type.
func fitParam(p script.Declared, base tool.Type) tool.Type {
	if properties, ok := p.Fields.Get("properties"); ok {
		p.Fields.Put("properties", fitTable(tool.Type{Name: tool.TypeObject}, properties))
	}
	t, err := p.Type(base)
	if v, ok := p.Fields.Get("default"); ok && err == nil { // script.Declaration.Tool reports an error
		p.Fields.Put("default", fitTable(t, v))
	}
	return t
}

// fitEmptyTables converts the empty tables of a declaration that must be objects
// according to the declared types.
func fitEmptyTables(d *script.Declaration) {
	types := map[string]tool.Type{}
	for _, p := range d.Signature {
		if p.Annotated != nil {
			types[p.Name] = *p.Annotated
		}
	}
	v, _ := d.Fields.Get("params")
	params, _ := v.(*value.Dict)
	for k, v := range params.All() {
		if name, ok := k.(string); ok {
			p, _ := script.DeclaredOf("param", v)
			types[name] = fitParam(p, types[name])
		}
	}
	r := script.Reader{D: d}
	returns := r.Returns()
	for _, v := range r.List("examples") {
		example, _ := script.DeclaredOf("example", v)
		args, _ := example.Fields.Get("args")
		if named, ok := args.(*value.Dict); ok {
			for k, v := range named.All() {
				if name, ok := k.(string); ok {
					named.Put(name, fitTable(types[name], v))
				}
			}
		}
		if v, ok := example.Fields.Get("expect"); ok && returns != nil {
			example.Fields.Put("expect", fitTable(*returns, v))
		}
	}
}

// functionNames lists the functions of the top level that a field can name.
func (f *file) functionNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.constants)) {
		if _, ok := f.constants[name].(*ast.FunctionExpr); ok {
			names = append(names, name)
		}
	}
	return names
}
