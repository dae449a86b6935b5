package lua

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaMedia is the metatable of all userdata with a [value.Media]: m.type, m.size, m.data,
// m == n, tostring(m). Scripts cannot change it.
var luaMedia = luaMediaMetatable()

func luaMediaMetatable() *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	for name, fn := range map[string]func(*lua.LState) (lua.LValue, error){
		"__index": func(L *lua.LState) (lua.LValue, error) {
			m, _ := luaMediaAt(L, 1)
			switch name := L.Get(2); name {
			case lua.LString("type"):
				return lua.LString(m.Type), nil
			case lua.LString("size"):
				return lua.LNumber(len(m.Data)), nil
			case lua.LString("data"):
				return lua.LString(m.Data), nil
			default:
				return nil, value.Errorf(value.Failed, "media has no field %s", name).WithHint("use type, size or data")
			}
		},
		"__eq": func(L *lua.LState) (lua.LValue, error) {
			a, isA := luaMediaAt(L, 1)
			b, isB := luaMediaAt(L, 2)
			return lua.LBool(isA && isB && value.Equal(a, b)), nil
		},
		"__tostring": func(L *lua.LState) (lua.LValue, error) {
			m, _ := luaMediaAt(L, 1)
			return lua.LString(m.String()), nil
		},
	} {
		mt.RawSetString(name, luaBuiltin(luaResult(fn)))
	}
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}

// luaMediaAt returns the i-th argument of a metamethod as a media.
func luaMediaAt(L *lua.LState, i int) (value.Media, bool) {
	u, ok := L.Get(i).(*lua.LUserData)
	if !ok {
		return value.Media{}, false
	}
	m, ok := u.Value.(value.Media)
	return m, ok
}
