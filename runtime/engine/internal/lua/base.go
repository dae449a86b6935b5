package lua

import (
	"fmt"
	"math/rand/v2"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaNoop does nothing. Calling it reserves stack for one call.
var luaNoop = luaBuiltin(func(*lua.LState) int { return 0 })

// luaGuard calls its first argument with the others. It wraps the functions that pcall
// calls: the interpreter's pcall removes our Panic, and luaGuard restores it.
var luaGuard = luaBuiltin(func(L *lua.LState) int {
	L.Panic = luaPanic
	done := false
	defer func() {
		if done {
			return
		}
		cause := recover()
		if _, ok := cause.(*lua.ApiError); !ok {
			v := lua.LString(luaClean(fmt.Sprintf("the interpreter failed: %v", cause)))
			luaCallOf(L).note(L, v)
			cause = &lua.ApiError{Type: lua.ApiErrorPanic, Object: v, StackTrace: "-"}
		}
		panic(cause)
	}()
	L.Call(L.GetTop()-1, lua.MultRet)
	done = true
	return L.GetTop()
})

// caughtSteps is the cost of a caught error, in steps.
const caughtSteps = 100

// guardedLua calls a function on the stack with nargs arguments, and returns the error
// that it raised. After an error they are off the stack.
func guardedLua(L *lua.LState, nargs int) *lua.ApiError {
	L.Push(luaNoop)
	L.Call(0, 0) // a stack overflow is raised here, not in PCall, which has no stack left for luaGuard
	L.Insert(luaGuard, L.GetTop()-nargs)
	c := luaCallOf(L)
	c.guards++
	err := L.PCall(nargs+1, lua.MultRet, nil)
	c.guards--
	if err == nil {
		return nil
	}
	c.work(L, caughtSteps)
	return err.(*lua.ApiError)
}

// luaPcall returns the type and the hint of the error of a module's function as a third result.
func luaPcall(L *lua.LState) int {
	fn := L.CheckAny(1)
	if fn.Type() != lua.LTFunction && L.GetMetaField(fn, "__call").Type() != lua.LTFunction {
		L.Push(lua.LFalse)
		L.Push(lua.LString("attempt to call a " + fn.Type().String() + " value"))
		return 2
	}
	if err := guardedLua(L, L.GetTop()-1); err != nil {
		L.Push(lua.LFalse)
		L.Push(err.Object)
		if details := luaCallOf(L).details(L, err.Object); details != lua.LNil {
			L.Push(details)
			return 3
		}
		return 2
	}
	L.Insert(lua.LTrue, 1)
	return L.GetTop()
}

// luaXpcall runs the handler after the function has ended, not inside it: without debug
// a handler cannot see the difference.
func luaXpcall(L *lua.LState) int {
	fn, handler := L.CheckFunction(1), L.CheckFunction(2)
	L.SetTop(0)
	L.Push(fn)
	err := guardedLua(L, 0)
	if err == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.Push(handler)
	L.Push(err.Object)
	if err := guardedLua(L, 1); err != nil {
		L.Push(err.Object)
	}
	L.SetTop(1)
	L.Insert(lua.LFalse, 1)
	return 2
}

func luaError(L *lua.LState) int {
	v, level := L.CheckAny(1), L.OptInt(2, 1)
	luaCallOf(L).own = true
	L.Panic = luaPanic
	L.Error(v, level)
	return 0
}

// luaAssert fails with its message; without a message the error is the script's fault.
func luaAssert(L *lua.LState) int {
	if L.ToBool(1) {
		return L.GetTop()
	}
	c := luaCallOf(L)
	message := L.OptString(2, "assertion failed!")
	c.own = L.Get(2) != lua.LNil
	c.fail(L, message)
	return 0
}

func luaToString(L *lua.LState) int {
	L.Push(luaCallOf(L).text(L, L.CheckAny(1)))
	return 1
}

// text converts a value as tostring does. A table, and any other value that would be named by
// its address, is numbered instead: a replayed script must get the same text.
func (c *call) text(L *lua.LState, v lua.LValue) lua.LValue {
	switch v.Type() {
	case lua.LTTable, lua.LTFunction, lua.LTUserData, lua.LTThread, lua.LTChannel:
	default:
		return L.ToStringMeta(v)
	}
	if L.GetMetaField(v, "__tostring") != lua.LNil {
		return L.ToStringMeta(v)
	}
	n, known := c.numbers[v]
	if !known {
		if c.numbers == nil {
			c.numbers = map[lua.LValue]int{}
		}
		n = len(c.numbers) + 1
		c.numbers[v] = n
	}
	return lua.LString(fmt.Sprintf("%s: 0x%08x", v.Type(), n))
}

func luaPrint(L *lua.LState) int {
	parts := make([]string, L.GetTop())
	c := luaCallOf(L)
	for i := range parts {
		parts[i] = luaClean(c.text(L, L.Get(i+1)).String())
	}
	c.r.Print(strings.Join(parts, "\t"))
	if c.r.Fatal != nil {
		c.stop = true
	}
	return 0
}

// luaSetMetatable accepts only tables. The interpreter's version changes the metatable
// of all strings or numbers.
func luaSetMetatable(native *lua.LState) lua.LGFunction {
	set := nativeLua(native, "", "setmetatable").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		L.CheckTable(1)
		return set(L)
	}
}

func luaUnpack(native *lua.LState) lua.LGFunction {
	unpack := nativeLua(native, "", "unpack").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		from, to := L.OptInt(2, 1), L.OptInt(3, L.CheckTable(1).Len())
		if to >= from && (to-from < 0 || to-from >= luaMaxValues-luaValues) {
			luaCallOf(L).fail(L, "too many results to unpack")
		}
		return unpack(L)
	}
}

// luaRandom returns one of the call's recorded random numbers.
func luaRandom(L *lua.LState) int {
	low, high := int64(1), int64(0)
	switch L.GetTop() {
	case 0:
	case 1:
		high = L.CheckInt64(1)
	default:
		low, high = L.CheckInt64(1), L.CheckInt64(2)
	}
	if L.GetTop() > 0 && (high < low || high-low < 0) {
		L.ArgError(L.GetTop(), "interval is empty")
	}
	c := luaCallOf(L)
	if c.loading {
		c.raise(L, value.Errorf(value.Invalid, "math.random is only available inside a function").WithHint("move the call into a function"))
	}
	random, err := c.r.Rand()
	if c.r.Fatal != nil {
		c.stop = true
	}
	if err != nil {
		c.raise(L, script.WithOp(err, "math.random"))
	}
	if L.GetTop() == 0 {
		L.Push(lua.LNumber(random.Float64()))
	} else {
		L.Push(lua.LNumber(low + int64(random.Uint64N(uint64(high-low)+1))))
	}
	return 1
}

// luaRandomSeed restarts the call's random numbers with a seed of the script.
func luaRandomSeed(L *lua.LState) int {
	seed := L.CheckInt64(1)
	luaCallOf(L).r.Random = rand.New(rand.NewPCG(uint64(seed), 0))
	return 0
}
