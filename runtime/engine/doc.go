// Package engine runs Starlark and Lua scripts that can touch nothing they are
// not given.
//
// An [Engine] reads what a tool's file declares without running any of it
// ([Engine.Describe]), and runs one of its functions ([Engine.Run]). A script
// sees the functions of the modules it was given and nothing else: pure ones
// compute in the script's own process, all others become effects that are
// handed to a [tool.Effector]. Values cross that border as [value.Value]s:
// without loss in Starlark, and in Lua as far as its one kind of number and of
// table goes.
//
// A script whose path ends in .code is a program that a model wrote: Starlark
// that is run from its first line to its last, and gives what its last
// expression gives. What its author is used to from Python and Starlark has not
// is told, with what to write instead, before anything of it runs.
//
// A compiled script is kept and shared; what its top level made is frozen
// (Starlark) or made anew for each call (Lua), so no call sees another's. Steps
// are counted and a context stops a script between two of them. That bounds
// honest mistakes. It is no wall: one operation of a script can allocate all
// memory there is, or run for hours, before anything is counted. The wall is
// another process, see package sandbox.
package engine
