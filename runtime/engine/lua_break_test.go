package engine_test

import "testing"

// TestBreakAlone has loops with only a break, which the interpreter's compiler
// miscompiles in some positions.
func TestBreakAlone(t *testing.T) {
	for _, body := range []string{
		"for i = 1, 100 do for _, n in ipairs({1, 2}) do break end end",
		"for i = 1, 2 do for _, n in ipairs({1, 2}) do break end end return nil",
		"local f = function() for i = 1, 2 do for k in pairs({a = 1}) do break end end return nil end return f()",
		"for i = 1, 2 do for j = 1, 2 do for _, n in ipairs({1, 2}) do break end end end",
		"for _, n in ipairs({1, 2}) do for _, n in ipairs({1, 2}) do break end end",
		"while true do for _, n in ipairs({1}) do break end break end",
		"repeat for _, n in ipairs({1}) do break end until true",
	} {
		if got := runObject(t, "f.lua", "return tool{description = \"F.\", handler = function() "+body+" end}\n"); got != "null" {
			t.Errorf("%s: %s, want null", body, got)
		}
	}
	const after = "local n = 0 for i = 1, 3 do for _, x in ipairs({1, 2}) do break end end n = n + 7 return n"
	if got := runObject(t, "f.lua", "return tool{description = \"F.\", handler = function() "+after+" end}\n"); got != "7" {
		t.Errorf("%s: %s, want 7", after, got)
	}
}
