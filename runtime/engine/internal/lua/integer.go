package lua

import (
	"math/big"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaInteger is the metatable of integers that numbers cannot represent, such as the IDs
// of chat services. They are userdata: a script can compare them, write them with
// tostring and .., and pass them on without loss, but not compute with them.
var luaInteger = luaIntegerMetatable()

func luaIntegerMetatable() *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	compare := func(holds func(order int) bool) func(*lua.LState) (lua.LValue, error) {
		return func(L *lua.LState) (lua.LValue, error) {
			a, b := luaIntegerAt(L, 1), luaIntegerAt(L, 2)
			return lua.LBool(a != nil && b != nil && holds(a.Cmp(b))), nil
		}
	}
	for name, fn := range map[string]func(*lua.LState) (lua.LValue, error){
		"__eq": compare(func(order int) bool { return order == 0 }),
		"__lt": compare(func(order int) bool { return order < 0 }),
		"__le": compare(func(order int) bool { return order <= 0 }),
		"__tostring": func(L *lua.LState) (lua.LValue, error) {
			return lua.LString(luaIntegerAt(L, 1).String()), nil
		},
		"__concat": func(L *lua.LState) (lua.LValue, error) {
			text := ""
			for i := 1; i <= 2; i++ {
				switch v := L.Get(i).(type) {
				case lua.LString, lua.LNumber:
					text += v.String()
				default:
					n := luaIntegerAt(L, i)
					if n == nil {
						return nil, value.Errorf(value.Failed, "attempt to concatenate a %s value", v.Type())
					}
					text += n.String()
				}
			}
			return lua.LString(text), nil
		},
		"__unm": luaNoArithmetic, "__add": luaNoArithmetic, "__sub": luaNoArithmetic, "__mul": luaNoArithmetic,
		"__div": luaNoArithmetic, "__mod": luaNoArithmetic, "__pow": luaNoArithmetic,
	} {
		mt.RawSetString(name, luaBuiltin(luaResult(fn)))
	}
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}

func luaNoArithmetic(L *lua.LState) (lua.LValue, error) {
	n := luaIntegerAt(L, 1)
	if n == nil {
		n = luaIntegerAt(L, 2)
	}
	return nil, value.Errorf(value.Failed, "the integer %v cannot be represented exactly as a Lua number", n).
		WithHint("compute with it in a tool in Starlark, or with tonumber(tostring(n)), which rounds it")
}

// luaIntegerAt returns the i-th argument of a metamethod as an integer, or nil.
func luaIntegerAt(L *lua.LState, i int) *big.Int {
	u, _ := L.Get(i).(*lua.LUserData)
	if u == nil {
		return nil
	}
	switch n := u.Value.(type) {
	case int64:
		return big.NewInt(n)
	case *big.Int:
		return n
	}
	return nil
}
