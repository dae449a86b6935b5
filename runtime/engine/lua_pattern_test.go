package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// patternResult calls functions of string with ours and writes what they give.
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

func nativePattern(t fataler, s, p, r string) string {
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

type fataler interface{ Fatalf(string, ...any) }

func ourPattern(t fataler, s, p, r string) string {
	script := tool.Script{Path: "sample.lua", Source: patternResult + `return tool{description = "d", handler = function(args) return result(args.s, args.p, args.r) end}`}
	out, err := New(nil).Run(t.(interface{ Context() context.Context }).Context(), script, tool.Call{Args: tool.NewDict("s", s, "p", p, "r", r)}, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if b, ok := out.Value.([]byte); ok {
		return string(b)
	}
	return out.Value.(string)
}

// TestLuaPatternsLikeTheInterpreter compares our matcher with gopher-lua's, on
// patterns in which that one follows Lua: it also takes malformed ones, and has
// ideas of its own of %f, of sets with ranges, and of an empty pattern.
func TestLuaPatternsLikeTheInterpreter(t *testing.T) {
	class := rapid.SampledFrom([]string{"a", "b", "1", " ", ".", "%a", "%A", "%d", "%s", "%w", "%W", "%p", "%x", "%.", "%%", "[ab]", "[^a]", "[a-z]", "[^%d]", "[%w_]", "[a-c1]"})
	repeat := rapid.SampledFrom([]string{"", "", "", "*", "+", "-", "?"})
	item := rapid.Custom(func(t *rapid.T) string {
		one := class.Draw(t, "class") + repeat.Draw(t, "repeat")
		switch rapid.IntRange(0, 9).Draw(t, "form") {
		case 0:
			return "(" + one + class.Draw(t, "class") + repeat.Draw(t, "repeat") + ")"
		case 1:
			return "()" + one
		case 2:
			return "(" + one + ")%1"
		case 3:
			return "%b()" + one
		}
		return one
	})
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aab1 ().,_ö")), 0, 20, -1)
	rapid.Check(t, func(t *rapid.T) {
		s, r := text.Draw(t, "text"), rapid.SampledFrom([]string{"x", "", "<%0>", "%%", "%1"}).Draw(t, "replacement")
		p := strings.Join(rapid.SliceOfN(item, 1, 4).Draw(t, "items"), "")
		p = strings.Replace(p, "%1", fmt.Sprintf("%%%d", 1+strings.Count(p[:max(strings.Index(p, "%1"), 0)], "(")-1), 1)
		if strings.Contains(p, "%0") || strings.Count(p, "%1") > 1 {
			return
		}
		if rapid.Bool().Draw(t, "anchored") {
			p = "^" + p
		}
		if rapid.IntRange(0, 4).Draw(t, "end") == 0 {
			p += "$"
		}
		if got, want := ourPattern(t, s, p, r), nativePattern(t, s, p, r); got != want {
			t.Fatalf("find, match, gsub, gmatch of (%q, %q, %q):\n%s\nwant, as with gopher-lua:\n%s", s, p, r, got, want)
		}
	})
}
