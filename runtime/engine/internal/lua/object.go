package lua

import (
	"iter"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An object is a [tool.Object] in a Lua state: the value of a userdata.
type object struct {
	tool.Object
	call *call
}

// value converts the result of a function to Lua.
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

// luaObjectMetatable returns the metatable of the objects of a type: t:head(3),
// t.columns, t[1], t["name"], #t, t == u, tostring(t).
func luaObjectMetatable(L *lua.LState) *lua.LTable {
	mt := L.CreateTable(0, 5)
	for name, fn := range map[string]func(*lua.LState) (lua.LValue, error){
		"__index": func(L *lua.LState) (lua.LValue, error) { return luaObjectAt(L, 1).index(L, L.Get(2)) },
		"__len": func(L *lua.LState) (lua.LValue, error) {
			o, parts := luaPartsAt(L, 1)
			n, err := parts.Len(o.call.r.Ctx, o.call.r.Grant())
			return lua.LNumber(n), err
		},
		"__eq": func(L *lua.LState) (lua.LValue, error) {
			o, x := luaPartsAt(L, 1)
			_, y := luaPartsAt(L, 2)
			same, err := x.Equal(o.call.r.Ctx, o.call.r.Grant(), y)
			return lua.LBool(same), err
		},
		"__tostring": func(L *lua.LState) (lua.LValue, error) {
			o := luaObjectAt(L, 1)
			return lua.LString(o.call.r.TextOf(o.Object)), nil
		},
	} {
		mt.RawSetString(name, luaBuiltin(luaResult(fn)))
	}
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}

// luaObjectAt returns the i-th argument of a metamethod as an object.
func luaObjectAt(L *lua.LState, i int) object {
	u, ok := L.Get(i).(*lua.LUserData)
	if ok {
		if o, ok := u.Value.(object); ok {
			return o
		}
	}
	luaCallOf(L).fail(L, "expected an object, such as a table of the module data")
	return object{}
}

// luaPartsAt is luaObjectAt for collections.
func luaPartsAt(L *lua.LState, i int) (object, tool.Collection) {
	o := luaObjectAt(L, i)
	parts, ok := o.Object.(tool.Collection)
	if !ok {
		o.call.raise(L, value.Errorf(value.Failed, "type %s is not a collection: #, == and ipairs are not supported", o.Type().Name))
	}
	return o, parts
}

// index is o[key]: a field or a method of that name, else a part. Parts are numbered
// from 1, as always in Lua.
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
			return nil, value.Errorf(value.Failed, "index %[3]d is out of range: the length of the %[1]s is %[2]d, and the first index is 1", o.Type().Name, n, i)
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

// luaMethod returns a method for Lua. The object is the first argument: t:head(3).
func luaMethod(f script.Function) *lua.LFunction {
	return luaBuiltin(luaResult(func(L *lua.LState) (lua.LValue, error) {
		var o object
		if u, ok := L.Get(1).(*lua.LUserData); ok {
			o, _ = u.Value.(object)
		}
		if o.Object == nil || o.Type() != f.Self.Type() {
			luaCallOf(L).fail(L, "write object:"+f.Name+"(…), with a colon")
		}
		f.Self = o.Object
		L.Remove(1)
		return luaCallOf(L).invoke(L, f)
	}))
}

// maxLuaLoops is how many loops over objects a call may leave before their end. Each of
// them holds its reader.
const maxLuaLoops = 16

// A loop iterates over the parts of an object.
type loop struct {
	call    *call
	next    func() (value.Value, bool)
	stop    func()
	failure error
	done    int // parts so far
}

// loop starts a loop over the parts of an object.
func (c *call) loop(parts tool.Collection) (*loop, error) {
	if len(c.loops) == maxLuaLoops {
		return nil, value.Limitf(value.LimitMemory, "more than %d loops over tables ended early with break or return", maxLuaLoops).
			WithHint("select the rows with t:head(n) or t:filter(…), and loop over the result")
	}
	l := &loop{call: c}
	l.next, l.stop = iter.Pull(func(yield func(value.Value) bool) {
		l.failure = parts.Each(c.r.Ctx, c.r.Grant(), yield)
	})
	c.loops = append(c.loops, l)
	return l, nil
}

// end releases the resources of the loop.
func (l *loop) end() {
	l.stop()
	l.call.loops = slices.DeleteFunc(l.call.loops, func(other *loop) bool { return other == l })
}

// step is the iterator of a for: it returns a number and a part, or nil.
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

// luaIpairs iterates over a table or over the parts of an object.
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

// callback makes a function of the script callable for a builtin. An error that it
// raises passes the builtin and reaches the script's pcall, if any.
func (c *call) callback(L *lua.LState, fn *lua.LFunction) tool.Function {
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
