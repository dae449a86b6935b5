package engine_test

import (
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// patternResult calls functions of string with our matcher and returns their results as
// text.
const patternResult = `
local function all(...)
  if select("#", ...) == 0 then return "nil" end
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  return table.concat(parts, "|")
end
local function result(s, p, r)
  local parts = {}
  local ok, found = pcall(function() return all(string.find(s, p)) end)
  parts[1] = ok and found or "error"
  ok, found = pcall(function() return all(string.match(s, p)) end)
  parts[2] = ok and found or "error"
  ok, found = pcall(function() return all(string.gsub(s, p, r)) end)
  parts[3] = ok and found or "error"
  ok, found = pcall(function()
    local list = {}
    for a, b in string.gmatch(s, p) do list[#list + 1] = all(a, b) end
    return table.concat(list, ",")
  end)
  parts[4] = ok and found or "error"
  return table.concat(parts, "\n")
end
`

func nativePattern(t *rapid.T, s, p, r string) string {
	L := lua.NewState()
	defer L.Close()
	if err := L.DoString(patternResult + "answer = result"); err != nil {
		t.Fatalf("%v", err)
	}
	if err := L.CallByParam(lua.P{Fn: L.GetGlobal("answer"), NRet: 1, Protect: true}, lua.LString(s), lua.LString(p), lua.LString(r)); err != nil {
		t.Fatalf("gopher-lua: %v", err)
	}
	return L.Get(-1).String()
}

func ourPattern(t *rapid.T, e *enginetest.Twice, s, p, r string) string {
	script := tool.Script{Path: "sample.lua", Source: patternResult + `return tool{description = "d", handler = function(args) return result(args.s, args.p, args.r) end}`}
	out, err := e.Run(t.Context(), script, tool.Call{Args: value.NewDict("s", s, "p", p, "r", r)}, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if b, ok := out.Value.([]byte); ok {
		return string(b)
	}
	return out.Value.(string)
}

// drawLuaPattern draws a pattern for which gopher-lua follows Lua: it also accepts
// malformed ones, and deviates for %f, for ranges at the edges of sets, and for the
// empty pattern.
func drawLuaPattern(t *rapid.T) string {
	class := rapid.SampledFrom([]string{"a", "b", "1", " ", ".", "%a", "%A", "%d", "%s", "%w", "%W", "%p", "%x", "%.", "%%", "[ab]", "[^a]", "[a-z]", "[^%d]", "[%w_]", "[a-c1]"})
	repeat := rapid.SampledFrom([]string{"", "", "", "*", "+", "-", "?"})
	one := func() string { return class.Draw(t, "class") + repeat.Draw(t, "repeat") }
	var p string
	captures := 0
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		switch rapid.IntRange(0, 9).Draw(t, "form") {
		case 0:
			captures++
			p += "(" + one() + one() + ")"
		case 1:
			captures++
			p += "()" + one()
		case 2:
			captures++
			p += "(" + one() + fmt.Sprintf(")%%%d", captures)
		case 3:
			p += "%b()" + one()
		default:
			p += one()
		}
	}
	if rapid.Bool().Draw(t, "anchored") {
		p = "^" + p
	}
	if rapid.IntRange(0, 4).Draw(t, "end") == 0 {
		p += "$"
	}
	return p
}

func TestLuaPatternsLikeTheInterpreter(t *testing.T) {
	e := both(t, "none")
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aab1 ().,_ö")), 0, 20, -1)
	rapid.Check(t, func(t *rapid.T) {
		s, p := text.Draw(t, "text"), drawLuaPattern(t)
		r := rapid.SampledFrom([]string{"x", "", "<%0>", "%%", "%1", "%2-", "%"}).Draw(t, "replacement")
		if got, want := ourPattern(t, e, s, p, r), nativePattern(t, s, p, r); got != want {
			t.Fatalf("find, match, gsub, gmatch of (%q, %q, %q):\n%s\nwant, as with gopher-lua:\n%s", s, p, r, got, want)
		}
	})
}

// TestLuaPatterns has examples of Lua's manual, also those where gopher-lua deviates.
func TestLuaPatterns(t *testing.T) {
	e := both(t, "none")
	for _, c := range []struct{ code, want string }{
		{`("THE (quick) fox"):find("%((%a+)%)")`, "5|11|quick"},
		{`("abc"):find("b", 1, true)`, "2|2"},
		{`("a.c"):find(".c", 1, true)`, "2|3"},
		{`("abc"):find("b", 10, true)`, "nil"},
		{`("abc"):find("b", -2)`, "2|2"},
		{`("abc"):find("", 2)`, "2|1"},
		{`("abc"):find("", 10)`, "4|3"},
		{`("abc"):find("c", -100)`, "3|3"},
		{`("key = value"):match("^(%w+)%s*=%s*(%w+)$")`, "key|value"},
		{`("2026-11-21"):match("(%d+)-(%d+)-(%d+)")`, "2026|11|21"},
		{`("  trim  "):match("^%s*(.-)%s*$")`, "trim"},
		{`("THE (quick) fox"):gsub("%f[%a]%a+", string.lower)`, "the (quick) fox|3"},
		{`("a]b"):match("[]]")`, "]"},
		{`("a]b"):match("[^]]+")`, "a"},
		{`("a-b"):match("[a-]+")`, "a-"},
		{`("a^b"):match("[b^]+")`, "^b"},
		{`("a%b"):match("[%%b]+")`, "%b"},
		{`("x\0y"):match("%z")`, "\x00"},
		{`("aXb"):gsub("%u", "%%")`, "a%b|1"},
		{`("hello world"):gsub("o", "0", 1)`, "hell0 world|1"},
		{`("hello world"):gsub("o", "0", 0)`, "hello world|0"},
		{`("hello"):gsub("l", {l = 1})`, "he11o|2"},
		{`("hello"):gsub("(e)(l)", function(a, b) return b .. a end)`, "hlelo|1"},
		{`("hello"):gsub("l", function() end)`, "hello|2"},
		{`("hello"):gsub("l", function() return false end)`, "hello|2"},
		{`("hello"):gsub("", "-")`, "-h-e-l-l-o-|6"},
		{`("abc"):gsub("%w", "%0%0")`, "aabbcc|3"},
		{`("abc"):gsub("b", 5)`, "a5c|1"},
		{`string.rep(5, 2)`, "55"},
		{`("x = 1, y = 2"):gsub("(%w) = (%w)", "%2 = %1")`, "1 = x, 2 = y|2"},
		{`(function() local it, n = ("a b c"):gmatch("%a"), 0 while it() do n = n + 1 end return n, it() end)()`, "3|nil"},
		{`(function() local t = {} for k, v in ("a=1, b=2"):gmatch("(%w)=(%w)") do t[#t + 1] = k .. v end return table.concat(t, ";") end)()`, "a1;b2"},
		{`("x"):rep(0)`, ""},
		{`("x"):rep(-1)`, ""},
		{`("ab"):rep(3)`, "ababab"},
		{`table.concat({1, "b", 2.5}, "-")`, "1-b-2.5"},
		{`table.concat({1, 2, 3}, ",", 2)`, "2,3"},
		{`table.concat({1, 2, 3}, ",", 2, 2)`, "2"},
		{`table.concat({1, 2, 3}, ",", 3, 2)`, ""},
		{`table.concat({})`, ""},
	} {
		script := tool.Script{Path: "sample.lua", Source: patternResult + `return tool{description = "d", handler = function(args) return all(` + c.code + `) end}`}
		out, err := e.Run(t.Context(), script, tool.Call{}, nil)
		if err != nil || out.Value != c.want {
			t.Errorf("%s = %q, %v; want %q", c.code, out.Value, err, c.want)
		}
	}
	for _, c := range []struct{ code, want string }{
		{`("a"):find("%")`, "malformed pattern (ends with '%')"},
		{`("a"):find("[a")`, "malformed pattern (missing ']')"},
		{`("a"):find("[a%")`, "malformed pattern (missing ']')"},
		{`("a"):find("[]")`, "malformed pattern (missing ']')"},
		{`("a"):find("(a")`, "unfinished capture"},
		{`("a"):find("a)")`, "invalid pattern capture"},
		{`("a"):find("%1")`, "invalid capture index"},
		{`("a"):find("(a%1)")`, "invalid capture index"},
		{`("a"):find("%0")`, "invalid capture index"},
		{`("a"):find("%b(")`, "malformed pattern (missing arguments to '%b')"},
		{`("a"):find("%f")`, "malformed pattern (missing '[' after '%f')"},
		{`("a"):find(("(a?)"):rep(33))`, "too many captures"},
		{`("a"):find(("a"):rep(1000) .. ("."):rep(25))`, "the pattern is longer than 1024 characters"},
		{`("a"):gsub("a", "%2")`, "invalid capture index"},
		{`("a"):gsub("a", {a = {}})`, "invalid replacement value (a table)"},
		{`("a"):gsub("a", true)`, "bad argument #3 to gsub"},
		{`table.concat({1, {}, 3})`, "invalid value (table) at index 2 in table for concat"},
		{`table.concat({1}, "", 1, 2)`, "invalid value (nil) at index 2 in table for concat"},
		{`("%d"):format("x")`, "bad argument #2 to format (number expected, got string)"},
		{`("%d"):format()`, "bad argument #2 to format (value expected)"},
		{`("%v"):format(1)`, "invalid option '%v' to 'format'"},
		{`("%T"):format(1)`, "invalid option '%T' to 'format'"},
		{`("%[1]d"):format(1)`, "invalid option '%[' to 'format'"},
		{`("%*d"):format(1)`, "invalid option '%*' to 'format'"},
		{`("%5%"):format(1)`, "invalid option '%5%' to 'format'"},
		{`("%100d"):format(1)`, "invalid format (width or precision too long)"},
		{`("%.100f"):format(1)`, "invalid format (width or precision too long)"},
		{`("%"):format(1)`, "invalid format (ends with '%')"},
	} {
		script := tool.Script{Path: "sample.lua", Source: `return tool{description = "d", handler = function(args) return ` + c.code + ` end}`}
		_, err := e.Run(t.Context(), script, tool.Call{}, nil)
		if got := value.ErrorOf(err, value.Internal); got == nil || !strings.HasPrefix(got.Message(), c.want) {
			t.Errorf("%s: %v, want %s", c.code, err, c.want)
		}
	}
}
