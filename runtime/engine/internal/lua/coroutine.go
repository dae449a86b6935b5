package lua

import (
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxCoroutines is how many coroutines of a call may be unfinished at a time. Each
// takes at least 30 KB, and a Go stack while it runs.
const maxCoroutines = 64

// coroutineSteps is the cost of making a coroutine, in steps.
const coroutineSteps = 500

// luaCreate makes a coroutine whose steps count as steps of the call.
func luaCreate(native *lua.LState) lua.LGFunction {
	create := nativeLua(native, "coroutine", "create").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		newCoroutine(L, create, func() *lua.LState { return L.Get(-1).(*lua.LState) })
		return 1
	}
}

// luaWrap makes a coroutine that is called like a function.
func luaWrap(native *lua.LState) lua.LGFunction {
	wrap := nativeLua(native, "coroutine", "wrap").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		newCoroutine(L, wrap, func() *lua.LState {
			fn := L.Get(-1).(*lua.LFunction)
			thread := fn.Upvalues[0].Value().(*lua.LState)
			L.Pop(1)
			L.Push(L.NewClosure(resumeWrapped(fn.GFunction), thread))
			return thread
		})
		return 1
	}
}

// newCoroutine has the interpreter make a coroutine. It removes the context meanwhile:
// from a context the interpreter would derive another one, which does not count steps.
func newCoroutine(L *lua.LState, create lua.LGFunction, made func() *lua.LState) {
	if L.CheckFunction(1).IsG {
		L.ArgError(1, "function of the script expected, got a builtin") // for a builtin the interpreter would never return
	}
	c := luaCallOf(L)
	if len(c.coroutines) >= maxCoroutines {
		c.coroutines = slices.DeleteFunc(c.coroutines, func(t *lua.LState) bool { return t.Dead })
	}
	if len(c.coroutines) >= maxCoroutines {
		c.raise(L, value.Limitf(value.LimitMemory, "more than %d coroutines at the same time", maxCoroutines))
	}
	c.work(L, coroutineSteps)
	L.RemoveContext()
	create(L)
	L.SetContext(c)
	thread := made()
	thread.SetContext(c)
	c.coroutines = append(c.coroutines, thread)
}

// luaResume resumes a coroutine. It rejects one that waits for this one: the
// interpreter would resume it and recurse without end.
func luaResume(native *lua.LState) lua.LGFunction {
	resume := nativeLua(native, "coroutine", "resume").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		if waitsFor(L.CheckThread(1), L) {
			L.Push(lua.LFalse)
			L.Push(lua.LString("can not resume a normal thread"))
			return 2
		}
		return resume(L)
	}
}

// waitsFor reports whether a coroutine resumed the running one, directly or indirectly.
func waitsFor(thread, running *lua.LState) bool {
	for t := running.Parent; t != nil; t = t.Parent {
		if t == thread {
			return true
		}
	}
	return false
}

// resumeWrapped resumes a coroutine that is called like a function. It marks a failed
// one as dead, which the interpreter does not.
func resumeWrapped(resume lua.LGFunction) lua.LGFunction {
	return func(L *lua.LState) int {
		thread := L.ToThread(lua.UpvalueIndex(1))
		if waitsFor(thread, L) {
			luaCallOf(L).fail(L, "can not resume a normal thread")
		}
		if thread.Dead || thread == L {
			return resume(L) // which returns the error
		}
		done := false
		defer func() {
			if !done {
				thread.Dead = true
				thread.Parent = nil
				L.G.CurrentThread = L
			}
		}()
		n := resume(L)
		done = true
		return n
	}
}

// luaYield pauses a coroutine. It fails inside a builtin that called back, such as
// pcall or table.sort: the interpreter would lose its position. The same is true if a
// metamethod or the iterator of a for yields, but that cannot be detected here, and
// ends in some other error.
func luaYield(L *lua.LState) int {
	for level := 1; level < luaMaxLevels; level++ {
		debug, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("S", debug, lua.LNil); err == nil && debug.What == "G" {
			luaCallOf(L).fail(L, "attempt to yield across a builtin, such as pcall or table.sort")
		}
	}
	return -1
}
