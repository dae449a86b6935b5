package lua

import (
	"math"
	"math/big"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Lua has fewer types than [value.Value]. This is how types convert, in both
// directions:
//
//   - an integer is a number, and a number without a fraction is an integer
//     again, also one that was 3.0. Integers beyond 2^53, which numbers cannot
//     represent exactly, are userdata;
//   - bytes are a string, and a string that is not UTF-8 is bytes again;
//   - media are userdata;
//   - lists, tuples and sets are tables with the keys 1 to n, and such a table
//     is a list again; any other table is a dict, in the order in which its
//     keys were first set, after those from 1 on;
//   - an empty table is an empty list, unless a type says that it is an object;
//   - null is nil, and inside lists and dicts the value null, since a table
//     cannot hold nil.

// maxLuaInteger is the largest integer that Lua numbers represent exactly, with all
// smaller ones.
const maxLuaInteger = 1 << 53

// luaNull is null where nil is impossible. All scripts share it; they cannot change it.
var luaNull = &lua.LUserData{Value: "null", Metatable: luaNullMetatable()}

func luaNullMetatable() *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	mt.RawSetString("__metatable", lua.LFalse)
	mt.RawSetString("__tostring", luaBuiltin(luaResult(func(*lua.LState) (lua.LValue, error) { return lua.LString("null"), nil })))
	return mt
}

// toLua converts a value to Lua.
func toLua(L *lua.LState, v value.Value) (lua.LValue, error) {
	switch v := v.(type) {
	case nil:
		return lua.LNil, nil
	case bool:
		return lua.LBool(v), nil
	case int64:
		if v > maxLuaInteger || v < -maxLuaInteger {
			return &lua.LUserData{Value: v, Metatable: luaInteger}, nil
		}
		return lua.LNumber(v), nil
	case *big.Int:
		return &lua.LUserData{Value: v, Metatable: luaInteger}, nil
	case float64:
		return lua.LNumber(v), nil
	case string:
		return lua.LString(v), nil
	case []byte:
		return lua.LString(v), nil
	case value.Media:
		return &lua.LUserData{Value: v, Metatable: luaMedia}, nil
	case *value.Dict:
		return dictToLua(L, v)
	}
	items, ok := value.Elements(v)
	if !ok {
		return nil, script.NotValue(v)
	}
	table := L.CreateTable(len(items), 0)
	for i, item := range items {
		x, err := toLuaPart(L, item)
		if err != nil {
			return nil, err
		}
		table.RawSetInt(i+1, x)
	}
	return table, nil
}

// toLuaPart converts a part of a value to Lua.
func toLuaPart(L *lua.LState, v value.Value) (lua.LValue, error) {
	if v == nil {
		return luaNull, nil
	}
	return toLua(L, v)
}

func dictToLua(L *lua.LState, d *value.Dict) (lua.LValue, error) {
	table := L.CreateTable(0, d.Len())
	for k, v := range d.All() {
		if _, isTable := k.(value.Tuple); isTable {
			return nil, value.Errorf(value.Failed, "a dict with a tuple as key cannot be passed to Lua").WithHint("use a string as key")
		}
		key, err := toLuaPart(L, k)
		if err != nil {
			return nil, err
		}
		if n, ok := key.(lua.LNumber); ok && n != n {
			return nil, value.Errorf(value.Failed, "a dict with NaN as key cannot be passed to Lua")
		}
		value, err := toLuaPart(L, v)
		if err != nil {
			return nil, err
		}
		table.RawSet(key, value)
	}
	return table, nil
}

// fromLua converts a Lua value to one that can leave the script. It counts the parts: a
// small script can make a tree of a billion leaves, all of them the same table.
func fromLua(v lua.LValue) (value.Value, error) {
	return converter{nodes: value.MaxNodes}.one(v)
}

// A converter converts Lua values. Without callback, objects become plain values, and
// functions are rejected.
type converter struct {
	nodes    int
	callback func(*lua.LFunction) tool.Function
}

// one converts a value. The converter is a copy, so the limits apply to each value.
func (c converter) one(v lua.LValue) (value.Value, error) {
	return c.value(v, value.MaxDepth)
}

func (c *converter) value(v lua.LValue, depth int) (value.Value, error) {
	if c.nodes--; c.nodes < 0 {
		return nil, script.TooManyParts()
	}
	if depth < 0 {
		return nil, script.TooDeep()
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LNumber:
		return luaNumber(float64(v)), nil
	case lua.LString:
		return luaText(string(v)), nil
	case *lua.LTable:
		return c.table(v, depth)
	case *lua.LFunction:
		if c.callback != nil {
			return c.callback(v), nil
		}
		return nil, script.FunctionLeaves("a function")
	case *lua.LUserData:
		if v == luaNull {
			return nil, nil
		}
		switch v := v.Value.(type) {
		case value.Media, int64, *big.Int:
			return v, nil
		}
		if o, ok := v.Value.(object); ok && c.callback != nil {
			return o.Object, nil
		} else if ok {
			return o.call.r.Plain(o.Object, depth, &c.nodes)
		}
	}
	return nil, value.Errorf(value.Failed, "expected data but got a value of type %s", v.Type())
}

// table converts a table to a list if its keys are 1, 2, 3 …, else to a dict.
func (c *converter) table(t *lua.LTable, depth int) (value.Value, error) {
	list := value.List{}
	k, x := t.Next(lua.LNil)
	for ; k == lua.LNumber(len(list)+1); k, x = t.Next(k) {
		v, err := c.value(x, depth-1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if k == lua.LNil {
		return list, nil
	}
	d := &value.Dict{}
	for i, v := range list {
		if err := d.Set(int64(i+1), v); err != nil {
			return nil, value.Errorf(value.Failed, "%w", err)
		}
	}
	for ; k != lua.LNil; k, x = t.Next(k) {
		if _, isTable := k.(*lua.LTable); isTable {
			return nil, value.Errorf(value.Failed, "expected data but got a table that has a table as a key").WithHint("use a string as key")
		}
		key, err := c.value(k, depth-1)
		if err != nil {
			return nil, err
		}
		v, err := c.value(x, depth-1)
		if err != nil {
			return nil, err
		}
		if err := d.Set(key, v); err != nil {
			return nil, value.Errorf(value.Failed, "%w", err)
		}
	}
	return d, nil
}

// fitTable converts empty lists to empty objects where a type requires an object, also
// inside lists and objects.
func fitTable(t tool.Type, v value.Value) value.Value {
	switch v := v.(type) {
	case value.List:
		if len(v) == 0 && t.Name == tool.TypeObject {
			return &value.Dict{}
		}
		if t.Items != nil {
			for i, item := range v {
				v[i] = fitTable(*t.Items, item)
			}
		}
	case *value.Dict:
		for k, item := range v.All() {
			if name, ok := k.(string); ok {
				v.Put(name, fitTable(fieldType(t, name), item))
			}
		}
	}
	return v
}

// fieldType returns the type of a field of an object.
func fieldType(t tool.Type, name string) tool.Type {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return t.Fields[i].Type
		}
	}
	if t.Values != nil {
		return *t.Values
	}
	return tool.Type{}
}

// luaText converts a Lua string, which may hold any bytes.
func luaText(s string) value.Value {
	if utf8.ValidString(s) {
		return s
	}
	return []byte(s)
}

// luaNumber converts a Lua number.
func luaNumber(n float64) value.Value {
	if n == math.Trunc(n) && math.Abs(n) <= maxLuaInteger {
		return int64(n)
	}
	return n
}
