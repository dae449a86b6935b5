package lua

import lua "github.com/yuin/gopher-lua"

// maxArray is the length of the array part of a Lua table. Higher keys are hashed, so
// that t[67108863] = 1 does not take a gigabyte.
const maxArray = 1_000_000

// Confine limits the array part of all Lua tables of this process.
func Confine() { lua.MaxArrayIndex = maxArray }
