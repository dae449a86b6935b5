package lua

import lua "github.com/yuin/gopher-lua"

// maxArray is how long the part of a Lua table may be that is an array. Beyond
// it keys are hashed, so that t[67108863] = 1 does not take a gigabyte.
const maxArray = 1_000_000

// Confine makes all tables of Lua in this process frugal.
func Confine() { lua.MaxArrayIndex = maxArray }
