package engine

import lua "github.com/yuin/gopher-lua"

// maxArray is how long the part of a Lua table may be that is an array. Beyond
// it keys are hashed, so that t[67108863] = 1 does not take a gigabyte.
const maxArray = 1_000_000

// Confine makes the interpreters of this process as frugal as a worker's must
// be. It changes settings that they share, so it is for a process that does
// nothing else, before the first engine.
func Confine() { lua.MaxArrayIndex = maxArray }
