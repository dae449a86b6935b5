package engine_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaMarkdown is a Markdown tool with this code; its first line is line 11.
func luaMarkdown(code string) tool.Script {
	return tool.Script{Path: "word-count.md", Source: `---
description: Counts.
parameters:
  - name: text
    type: string
    required: true
---

Prose, and then:

` + "```lua\n" + code + "\n```\n\nMore prose.\n"}
}

func TestLuaMarkdown(t *testing.T) {
	args := value.NewDict("text", "a b c")
	const count = "local n = 0 for _ in args.text:gmatch('%w') do n = n + 1 end return n"
	for _, c := range []struct{ name, code string }{
		{"a function alone", "function(args) " + count + " end"},
		{"a function alone, spaced", "\n  function (args)\n" + count + "\nend\n"},
		{"a function after comments", "-- counts\n--[[ by\nletters ]]\n--[==[ ]] ]==] function(args) " + count + " end -- done"},
		{"a returned function", "local function helper(x) return x end\nreturn function(args) " + count + " end"},
		{"a returned name", "local function run(args) " + count + " end\nlocal function other() end\nreturn run"},
		{"the only function", "local function run(args) " + count + " end"},
		{"the only global function", "function run(args) " + count + " end"},
		{"the only function that is not a helper", "function _helper() end\nlocal run = function(args) " + count + " end"},
		{"the one named like the tool", "function a() end\nfunction word_count(args) " + count + " end\nfunction b() end"},
		{"the one named handler", "function a() end\nfunction handler(args) " + count + " end"},
		{"carriage returns", "function run(args)\r\n" + count + "\r\nend"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, s := both(t, "none"), luaMarkdown(c.code)
			got, err := e.Describe(s)
			if err != nil || got.Name != "word-count" || len(got.Params) != 1 || !got.Params[0].Required {
				t.Fatalf("Describe = %+v, %v", got, err)
			}
			out, err := e.Run(t.Context(), s, tool.Call{Args: args}, nil)
			if err != nil || out.Value != int64(3) {
				t.Errorf("Run = %v, %v; want 3", out.Value, err)
			}
		})
	}
}

func TestLuaMarkdownErrors(t *testing.T) {
	for _, c := range []struct {
		code, want string
		line       int
	}{
		{"", "Code block must define a function", 0},
		{"local x = 1", "Code block must define a function", 12},
		{"return 3", "Code block must define a function", 12},
		{"return tool{description = 'd', handler = function() end}", "Code block must define a function", 12},
		{"\nfunction a() end\nfunction b() end", "no function has the name of the tool: the code defines 2 functions (a, b)", 13},
		{"if x then return end\nfunction a() end", "return is only allowed at the end of the code", 12},
		{"\n\nfunction a( end", "syntax error near \"end\"", 14},
		{"function(args)\n  x = = 1\nend", "syntax error near \"=\"", 13},
	} {
		_, err := both(t, "none").Describe(luaMarkdown(c.code))
		got := value.ErrorOf(err, value.Internal)
		if got == nil || !strings.HasPrefix(got.Message(), c.want) || c.line != 0 && got.Pos.Line != c.line {
			t.Errorf("Describe(%q): %v, want %s at line %d", c.code, err, c.want, c.line)
		}
	}
}

func TestLuaMarkdownLines(t *testing.T) {
	s := luaMarkdown("-- a comment\nfunction(args)\n  local x = nil\n  return x.y\nend")
	_, err := both(t, "none").Run(t.Context(), s, tool.Call{Args: value.NewDict("text", "")}, nil)
	got := value.ErrorOf(err, value.Internal)
	if got == nil || got.Pos != (value.Position{File: "word-count.md", Line: 15}) || len(got.Trace) != 1 || got.Trace[0] != "word-count.md:15: in handler" {
		t.Errorf("error %v, trace %q; want one at line 15 of the handler", err, got.Trace)
	}
}

func TestLuaMarkdownAvailable(t *testing.T) {
	s := luaMarkdown("local function here() return true end\nlocal function word_count(args) return here() end")
	s.Source = strings.Replace(s.Source, "description: Counts.", "description: Counts.\navailable: here", 1)
	e := both(t, "none")
	described, err := e.Describe(s)
	if err != nil || described.Available != "here" {
		t.Fatalf("Describe: available %q, %v; want here", described.Available, err)
	}
	for _, entry := range []string{"", described.Available} {
		out, err := e.Run(t.Context(), s, tool.Call{Entry: entry, Args: value.NewDict("text", "")}, nil)
		if err != nil || out.Value != true {
			t.Errorf("Run(%q) = %v, %v; want true", entry, out.Value, err)
		}
	}
}
