package lua

import (
	"iter"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A luaObject is a [tool.Object] inside a Lua state: the value of a userdata.
type object struct {
	tool.Object
	call *call
}

// value turns what a function gave into Lua's.
func (c *call) value(L *lua.LState, v value.Value) (lua.LValue, error) {
	o, ok := v.(tool.Object)
	if !ok {
		return toLua(L, v)
	}
	mt := c.metatables[o.Type()]
	if mt == nil {
		mt = luaObjectMetatable(L)
		if c.metatables == nil {
			c.metatables = map[*tool.ObjectType]*lua.LTable{}
		}
		c.metatables[o.Type()] = mt
	}
	return &lua.LUserData{Value: object{o, c}, Metatable: mt}, nil
}

// luaObjectMetatable makes what the objects of one kind have in common: t:head(3),
// t.columns, t[1], t["name"], #t, t == u, tostring(t).
func luaObjectMetatable(L *lua.LState) *lua.LTable {
	mt := L.CreateTable(0, 5)
	for name, fn := range map[string]lua.LGFunction{"__index": luaObjectIndex, "__len": luaObjectLen, "__eq": luaObjectEqual, "__tostring": luaObjectText} {
		mt.RawSetString(name, luaBuiltin(fn))
	}
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}

// luaObjectAt returns the object that a metamethod is called with.
func luaObjectAt(L *lua.LState, i int) object {
	u, ok := L.Get(i).(*lua.LUserData)
	if ok {
		if o, ok := u.Value.(object); ok {
			return o
		}
	}
	luaCallOf(L).fail(L, "this takes an object, as a table of the module data is one")
	return object{}
}

// luaPartsAt is luaObjectAt for an object that has parts.
func luaPartsAt(L *lua.LState, i int) (object, tool.Collection) {
	o := luaObjectAt(L, i)
	parts, ok := o.Object.(tool.Collection)
	if !ok {
		o.call.raise(L, value.Errorf(value.Failed, "a %s has no parts", o.Type().Name))
	}
	return o, parts
}

func luaObjectIndex(L *lua.LState) int {
	o, key := luaObjectAt(L, 1), L.Get(2)
	v, err := o.index(L, key)
	if err != nil {
		o.call.raise(L, err)
	}
	L.Push(v)
	return 1
}

// index is o[key]: a field or a method of that name, else a part. Parts are
// counted from 1, as everything in Lua.
func (o object) index(L *lua.LState, key lua.LValue) (lua.LValue, error) {
	r := o.call.r
	if name, ok := key.(lua.LString); ok {
		f, isMethod, ok := script.Attribute(o.Object, string(name))
		if isMethod {
			return luaMethod(f), nil
		}
		if ok {
			v, err := r.Invoke(f, nil, nil)
			if err != nil {
				return nil, err
			}
			return o.call.value(L, v)
		}
	}
	parts, ok := o.Object.(tool.Collection)
	if !ok {
		return nil, script.NoAttribute(o.Object, key.String())
	}
	k, err := fromLua(key)
	if err != nil {
		return nil, err
	}
	if i, ok := k.(int64); ok && i >= 0 {
		n, err := parts.Len(r.Ctx, r.Grant())
		if err != nil {
			return nil, script.InScript(err)
		}
		if i == 0 || i > int64(n) {
			return nil, value.Errorf(value.Failed, "a %s of %d has no [%d]: the first is [1]", o.Type().Name, n, i)
		}
		k = i - 1
	}
	v, err := parts.At(r.Ctx, r.Grant(), k)
	if name, ok := k.(string); ok && err != nil && script.Lacks(o.Object, name) != "" {
		return nil, script.NoAttribute(o.Object, name)
	}
	if err != nil {
		return nil, script.InScript(err)
	}
	return o.call.value(L, v)
}

// luaMethod is a method as Lua calls it, with the object before its arguments:
// t:head(3).
func luaMethod(f script.Function) *lua.LFunction {
	return luaBuiltin(func(L *lua.LState) int {
		var o object
		if u, ok := L.Get(1).(*lua.LUserData); ok {
			o, _ = u.Value.(object)
		}
		if o.Object == nil || o.Type() != f.Self.Type() {
			luaCallOf(L).fail(L, "write object:"+f.Name+"(…), with a colon")
		}
		f.Self = o.Object
		L.Remove(1)
		return luaCallFunction(L, f)
	})
}

func luaObjectLen(L *lua.LState) int {
	o, parts := luaPartsAt(L, 1)
	n, err := parts.Len(o.call.r.Ctx, o.call.r.Grant())
	if err != nil {
		o.call.raise(L, err)
	}
	L.Push(lua.LNumber(n))
	return 1
}

func luaObjectEqual(L *lua.LState) int {
	o, x := luaPartsAt(L, 1)
	_, y := luaPartsAt(L, 2)
	same, err := x.Equal(o.call.r.Ctx, o.call.r.Grant(), y)
	if err != nil {
		o.call.raise(L, err)
	}
	L.Push(lua.LBool(same))
	return 1
}

func luaObjectText(L *lua.LState) int {
	o := luaObjectAt(L, 1)
	L.Push(lua.LString(o.call.r.Shows(o.Object)))
	return 1
}

// maxLuaLoops is how many loops over objects of a call may have been left before
// their end: each holds what it was reading.
const maxLuaLoops = 16

// A luaLoop goes through the parts of an object.
type loop struct {
	call    *call
	next    func() (value.Value, bool)
	stop    func()
	failure error
	done    int // parts
}

// loop begins to go through the parts of an object.
func (c *call) loop(parts tool.Collection) (*loop, error) {
	if len(c.loops) == maxLuaLoops {
		return nil, luaLimit("more than %d loops over tables were left before their end", maxLuaLoops).
			WithHint("take what the loop needs with t:head(n) or t:filter(…), and go through that")
	}
	l := &loop{call: c}
	l.next, l.stop = iter.Pull(func(yield func(value.Value) bool) {
		l.failure = parts.Each(c.r.Ctx, c.r.Grant(), yield)
	})
	c.loops = append(c.loops, l)
	return l, nil
}

// end gives back what the loop holds.
func (l *loop) end() {
	l.stop()
	l.call.loops = slices.DeleteFunc(l.call.loops, func(other *loop) bool { return other == l })
}

// step is the iterator of a for: it gives a number and a part, or nil.
func (l *loop) step(L *lua.LState) int {
	v, ok := l.next()
	if !ok {
		l.end()
		if l.failure != nil {
			l.call.raise(L, l.failure)
		}
		L.Push(lua.LNil)
		return 1
	}
	x, err := l.call.value(L, v)
	if err != nil {
		l.call.raise(L, err)
	}
	l.done++
	L.Push(lua.LNumber(l.done))
	L.Push(x)
	return 2
}

// luaIpairs goes through a table, or through the parts of an object.
func luaIpairs(native *lua.LState) *lua.LFunction {
	ipairs := nativeLua(native, "", "ipairs").(*lua.LFunction)
	return &lua.LFunction{IsG: true, Upvalues: ipairs.Upvalues, GFunction: func(L *lua.LState) int {
		if _, ok := L.Get(1).(*lua.LUserData); !ok {
			return ipairs.GFunction(L)
		}
		o, parts := luaPartsAt(L, 1)
		l, err := o.call.loop(parts)
		if err != nil {
			o.call.raise(L, err)
		}
		L.Push(luaBuiltin(l.step))
		L.Push(L.Get(1))
		L.Push(lua.LNumber(0))
		return 3
	}}
}

// lent makes a function of the script one that a builtin can call. What it
// raises goes past the builtin, to the script's pcall if it has one.
func (c *call) lent(L *lua.LState, fn *lua.LFunction) tool.Function {
	return func(args ...value.Value) (value.Value, error) {
		L.Push(fn)
		for _, arg := range args {
			v, err := c.value(L, arg)
			if err != nil {
				return nil, err
			}
			L.Push(v)
		}
		L.Call(len(args), 1)
		v := L.Get(-1)
		L.Pop(1)
		return fromLua(v)
	}
}
