package lua

import (
	"fmt"
	"math/rand/v2"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaNoop takes one call's room and gives it back.
var luaNoop = luaBuiltin(func(*lua.LState) int { return 0 })

// luaGuard calls the function that is its first argument with the others. It
// stands between a pcall and what that calls: the interpreter's pcall takes
// our Panic away, which this puts back.
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

// caughtSteps is what an error that is caught costs, in the time of steps.
const caughtSteps = 100

// guardedLua calls a function that lies on the stack with its arguments, nargs of
// them, and reports what it raised. If it did, nothing is left of them.
func guardedLua(L *lua.LState, nargs int) *lua.ApiError {
	L.Push(luaNoop)
	L.Call(0, 0) // raises here, not in PCall, where there is no room for luaGuard
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
		return 2
	}
	L.Insert(lua.LTrue, 1)
	return L.GetTop()
}

// luaXpcall runs the handler after the function has ended, not inside it:
// without debug it could not tell.
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

// luaAssert fails with its message; one without a message is a fault of the
// script.
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

func luaPrint(L *lua.LState) int {
	parts := make([]string, L.GetTop())
	for i := range parts {
		parts[i] = luaClean(L.ToStringMeta(L.Get(i + 1)).String())
	}
	c := luaCallOf(L)
	// A lost line of print is no reason to fail: the effect's own limits speak.
	_, _ = c.r.Effect("log", value.NewDict("message", strings.Join(parts, "\t")))
	if c.r.Fatal != nil {
		c.stop = true
	}
	return 0
}

// luaSetMetatable changes tables only. The interpreter's own changes what all
// strings or numbers have in common.
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

// luaRandom draws from the call's recorded random numbers.
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
		c.raise(L, value.Errorf(value.Invalid, "math.random is not available while the file is loaded").WithHint("call it inside a function"))
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

// luaRandomSeed starts the call's random numbers anew, from a seed that the
// script chooses.
func luaRandomSeed(L *lua.LState) int {
	seed := L.CheckInt64(1)
	luaCallOf(L).r.Random = rand.New(rand.NewPCG(uint64(seed), 0))
	return 0
}
