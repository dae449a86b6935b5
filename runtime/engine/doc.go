// Package engine runs Starlark and Lua scripts that can access only what they are
// granted.
//
// An [Engine] reads the declaration of a tool from its file without running it
// ([Engine.Describe]), and runs one function of the file ([Engine.Run]). A script can
// call only the functions of its modules. Pure functions run in the process of the
// script; all others become effects that are passed to a [tool.Effector]. Arguments and
// results are [value.Value]s. Starlark represents all of them, Lua only those that fit
// its number and table types.
//
// The suffix of a file determines its language:
//
//   - .star is Starlark with type annotations, and .lua is Lua 5.1.
//   - .md is Markdown with the declaration as YAML front matter, and the function in a
//     code block in Starlark or Lua.
//   - .code is a program that a model wrote: Starlark that runs from its first line to
//     its last and returns the value of its last expression. Python features that
//     Starlark lacks are reported, with a replacement, before the program runs.
//
// A compiled script is cached and shared. Its global values are frozen (Starlark) or
// created again for each call (Lua), so no call can change the data of another. Steps
// are counted, and a context stops a script between two steps. That bounds mistakes, not
// attacks: one operation can allocate all memory, or run for hours, before its steps
// are counted. Isolation needs another process, see package sandbox.
package engine
