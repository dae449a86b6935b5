package lua

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/lualint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaFunction returns a function of a module for Lua. All states share it, since it
// holds no data of a call.
func luaFunction(f script.Function) *lua.LFunction {
	return luaBuiltin(luaResult(func(L *lua.LState) (lua.LValue, error) { return luaCallOf(L).invoke(L, f) }))
}

// luaResult returns the interpreter's form of a function with one result.
func luaResult(fn func(*lua.LState) (lua.LValue, error)) lua.LGFunction {
	return func(L *lua.LState) int {
		v, err := fn(L)
		if err != nil {
			luaCallOf(L).raise(L, err)
		}
		L.Push(v)
		return 1
	}
}

func luaBuiltin(fn lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: fn}
}

// invoke calls a function of a module with the arguments on the stack.
func (c *call) invoke(L *lua.LState, f script.Function) (lua.LValue, error) {
	if c.loading && f.Kind != tool.Pure {
		return nil, value.Errorf(value.Invalid, "%s is only available inside a function", f.DisplayName()).
			WithHint("move the call into a function")
	}
	args := make([]lua.LValue, L.GetTop())
	for i := range args {
		args[i] = L.Get(i + 1)
	}
	conv := converter{nodes: value.MaxNodes}
	if f.TakesObjects() {
		conv.callback = func(fn *lua.LFunction) tool.Function { return c.callback(L, fn) }
	}
	positional, named, err := conv.arguments(f, args)
	if err != nil {
		return nil, script.WithOp(err, f.DisplayName())
	}
	v, err := c.r.Invoke(f, positional, named)
	if c.r.Fatal != nil {
		c.stop = true // before the script's next step
	}
	if err != nil {
		return nil, err
	}
	result, err := c.value(L, v)
	if err != nil {
		return nil, script.WithOp(err, f.DisplayName())
	}
	return result, nil
}

// arguments splits the arguments of a call into positional and named ones. Lua has no
// named arguments, so a table at the end holds them, as in fs.read{path = "x"} and
// fs.list("docs", {recursive = true}). All its keys are names, and the parameter in its
// position is not a table.
func (c converter) arguments(f script.Function, args []lua.LValue) ([]value.Value, *value.Dict, error) {
	named := &value.Dict{}
	if n := len(args); n > 0 {
		if table, ok := args[n-1].(*lua.LTable); ok && namesOnly(table) && !lualint.TakesTable(f.Func, n-1, isEmpty(table)) {
			v, err := c.one(table)
			if err != nil {
				return nil, nil, err
			}
			args = args[:n-1]
			if d, ok := v.(*value.Dict); ok {
				named = d // otherwise the table is empty
			}
		}
	}
	for n := len(args); n > 0 && n <= len(f.Params) && args[n-1] == lua.LNil && !f.Params[n-1].Required; n-- {
		args = args[:n-1] // nil means absent, if the parameter is optional
	}
	positional := make([]value.Value, len(args))
	for i, arg := range args {
		v, err := c.one(arg)
		if err != nil {
			return nil, nil, err
		}
		if i < len(f.Params) {
			v = fitTable(f.Params[i].Type, v)
		}
		positional[i] = v
	}
	for k, v := range named.All() {
		name, _ := k.(string)
		for _, p := range f.Params {
			if p.Name == name {
				named.Put(name, fitTable(p.Type, v))
			}
		}
	}
	return positional, named, nil
}

// namesOnly reports whether all keys of a table are strings.
func namesOnly(table *lua.LTable) bool {
	for k, _ := table.Next(lua.LNil); k != lua.LNil; k, _ = table.Next(k) {
		if _, ok := k.(lua.LString); !ok {
			return false
		}
	}
	return true
}

// isEmpty reports whether a table has no keys.
func isEmpty(table *lua.LTable) bool {
	k, _ := table.Next(lua.LNil)
	return k == lua.LNil
}
