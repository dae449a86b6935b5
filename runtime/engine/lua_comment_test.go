package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLuaComment checks that the comment of a handler in Lua describes the same tool as the signature and the
// docstring of one in Starlark, in each place where a handler may be.
func TestLuaComment(t *testing.T) {
	t.Parallel()
	e := both(t, "lua")
	const (
		tags = `--- Cut a text into lines.
---
--- Use it for logs:
---   - large ones
-------
---@param path string The file
---   to read.
---@param limit? integer # How many.
--- @param names string[] Only those.
---@param counts? table<string, integer>
---@param more table
---@param any_value what it is
---@param args table of all arguments
---@field ignored string
---@example The first line { path = "a", limit = 1, names = {}, more = {}, any_value = 2 }, { "x" }
---@example All
---   lines { path = "a", names = { "b" }, more = { x = {} }, any_value = {} }
---@return string[] the lines
`
		star = `
def sample(path: str, names: list[str], more: dict, any_value, limit: int = 5, counts: dict[str, int] = None):
    """Cut a text into lines.

    Use it for logs:
      - large ones

    Args:
      path: The file to read.
      limit: How many.
      names: Only those.
      any_value: what it is

    Returns:
      the lines
    """
    return ["x"]

tool(sample, returns = "list[str]", params = {"limit": param(min = 1)}, examples = [
    example("The first line", {"path": "a", "limit": 1, "names": [], "more": {}, "any_value": 2}, ["x"]),
    example("All lines", {"path": "a", "names": ["b"], "more": {"x": []}, "any_value": []}),
])
`
		rest = `params = { limit = { min = 1, default = 5 } }`
	)
	want, err := both(t, "star").Describe(tool.Script{Name: "sample", Path: "sample.star", Source: star})
	if err != nil {
		t.Fatal(err)
	}
	byName := func(a, b tool.Param) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want.Params, byName)
	for name, s := range map[string]tool.Script{
		"a local function":    luaScript("-- Not this.\n" + tags + "local function run(args) return {'x'} end\nreturn tool{ handler = run, " + rest + " }"),
		"a global function":   luaScript("#!/usr/bin/lua\n" + tags + "function run(args) return {'x'} end\nreturn tool{ handler = run, " + rest + " }"),
		"a variable":          luaScript(tags + "local run = function(args) return {'x'} end\nlocal again = run\nreturn tool{ handler = again, " + rest + " }"),
		"a field":             luaScript("return tool{\n" + tags + "  handler = function(args) return {'x'} end, " + rest + " }"),
		"two dashes":          luaScript(strings.ReplaceAll(tags, "\n---", "\n--") + "local function run(args) return {'x'} end\nreturn tool{ handler = run, " + rest + " }"),
		"the ends of Windows": luaScript(strings.ReplaceAll(tags+"local function run(args) return {'x'} end\nreturn tool{ handler = run, "+rest+" }", "\n", "\r\n")),
		"Markdown":            {Name: "sample", Path: "sample.md", Source: "---\nparameters: {limit: {min: 1, default: 5}}\n---\n```lua\n" + tags + "function sample(args) return {'x'} end\n```\n"},
		"a block that returns": {Name: "sample", Path: "sample.md", Source: "---\nparameters: {limit: {min: 1, default: 5}}\n---\n```lua\n" +
			tags + "return function(args) return {'x'} end\n```\n"},
	} {
		got, err := e.Describe(s)
		if err != nil || len(got.Warnings) > 0 {
			t.Errorf("%s: %v, %q", name, err, got.Warnings)
			continue
		}
		var names []string
		for _, p := range got.Params {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, []string{"path", "limit", "names", "counts", "more", "any_value"}) {
			t.Errorf("%s: the parameters are %q, want the order of the comment", name, names)
		}
		slices.SortFunc(got.Params, byName)
		if diff := cmp.Diff(toolText(want), toolText(got)); diff != "" {
			t.Errorf("%s: (-Starlark +Lua)\n%s", name, diff)
		}
	}
}

// TestLuaCommentTypes checks which words of a tag are a type.
func TestLuaCommentTypes(t *testing.T) {
	t.Parallel()
	e := both(t, "lua")
	for _, tt := range []struct{ tag, typ, text, warning string }{
		{"p", "any", "", ""},
		{"p string", "string", "", ""},
		{"p string a text", "string", "a text", ""},
		{"p File to read.", "any", "File to read.", ""},
		{"p number of lines", "number", "of lines", ""},
		{"p boolean[][] x", "array of array of boolean", "x", ""},
		{"p table<string, string[]> x", "object of array of string", "x", ""},
		{"p table<string, table<string,integer>>[] x", "array of object of object of integer", "x", ""},
		{"p table<integer, string> x", "", "x", `the type "table<integer, string>" of @param p cannot be read`},
		{"p table<string x", "", "", "cannot be read"},
		{"p table<string, list[string]> x", "object of array of string", "x", ""},
		{"p? string|nil x", "string", "x", ""},
		{"p string? x", "string", "x", ""},
		{"p str x", "string", "x", ""},
		{"p string|integer x", "", "x", `the type "string|integer" of @param p cannot be read`},
		{"p {a: string} x", "", "x", `the type "{a: string}" of @param p cannot be read`},
		{"p fun(a: string) x", "", "x", "cannot be read"},
		{"p (string) x", "", "x", "write string, integer"},
		{"p list<string", "", "", "cannot be read"},
	} {
		got, err := e.Describe(luaScript("--- Text.\n---@param " + tt.tag + "\nlocal function run(args) end\nreturn tool{ handler = run }"))
		if err != nil || len(got.Params) != 1 {
			t.Errorf("@param %s: %v, %v", tt.tag, got.Params, err)
			continue
		}
		p := got.Params[0]
		if tt.typ == "" {
			tt.typ = "any"
		}
		if p.Type.String() != tt.typ || p.Description != tt.text || !strings.Contains(strings.Join(got.Warnings, "\n"), tt.warning) || len(got.Warnings) > 0 != (tt.warning != "") {
			t.Errorf("@param %s is %s: %q, %q; want %s: %q, %q", tt.tag, p.Type, p.Description, got.Warnings, tt.typ, tt.text, tt.warning)
		}
	}
}

// TestLuaCommentFaults checks what is said of a comment that cannot be read, which the tool then lacks.
func TestLuaCommentFaults(t *testing.T) {
	t.Parallel()
	e := both(t, "lua")
	for _, tt := range []struct{ tags, want string }{
		{"---@param", `@param needs a name, not "": write ---@param NAME TYPE what it is`},
		{"---@param path: string", `@param needs a name, not "path:"`},
		{"---@param ... any", `@param needs a name, not "..."`},
		{"---@param p string\n---@param p integer", "@param describes 'p' twice"},
		{"---@parm p string", `the tag '@parm' is not known; did you mean "param"?`},
		{"---@exampel { }", `did you mean "example"?`},
		{"---@class other", ""},
		{"---@deprecated", ""},
		{"--- Text\n--[[\n---@param\n]]", ""},
		{"---@param\n\n", ""},
		{"----@param", ""},
		{"--@param", ""},
		{"---@param\r\r\r", ""},
		{"---@example Just text", "@example cannot be read: write ---@example what it shows { name = value }, and after a comma the result"},
		{"---@example { p = }", "@example cannot be read"},
		{"---@example { p = f() }", "@example cannot be read"},
		{"---@example {}, 1, 2", "@example cannot be read"},
		{"---@example {}) + (1", "@example cannot be read"},
		{"---@example {}); f(", "@example cannot be read"},
		{"---@example {}), example(nil", "@example cannot be read"},
		{"---@example {}).x(1", "@example cannot be read"},
		{"---@example " + strings.Repeat("{", 30_000), "@example cannot be read"},
		{"---@example {" + strings.Repeat("{", 1000) + strings.Repeat("}", 1000) + "}", "@example cannot be read"},
		{"---@param p " + strings.Repeat("list<", 30_000), "cannot be read"},
		{"---@param p string" + strings.Repeat("[]", 30_000), "cannot be read"},
		{"---@param p string" + strings.Repeat("?", 30_000), ""}, // no type, but a text
	} {
		got, err := e.Describe(luaScript(tt.tags + "\nlocal function run(args) end\nreturn tool{ description = 'x', handler = run }"))
		if all := strings.Join(got.Warnings, "\n"); err != nil || !strings.Contains(all, tt.want) || (all != "") != (tt.want != "") {
			t.Errorf("%.60s: %v, %.200q; want %q", tt.tags, err, got.Warnings, tt.want)
		}
	}
	for source, hint := range map[string]string{
		"--- Text\nlocal function run(args) end\n":                 "end the file with return tool{ handler = run }",
		"--- Text\nfunction _f() end\nfunction sample(args) end\n": "end the file with return tool{ description = …, handler = function(args) … end }",
		"--- Text\n": "end the file with return tool{ description = …, handler = function(args) … end }",
	} {
		if _, err := e.Describe(luaScript(source)); value.ErrorOf(err, value.Failed).Hint != hint {
			t.Errorf("%q: %v, want the hint %q", source, err, hint)
		}
	}
	_, err := e.Describe(luaScript("---@example { p = 1 }\nlocal function run(args) end\nreturn tool{ description = 'x', handler = run }"))
	if err == nil || !strings.Contains(err.Error(), "sample.lua:1: example 1 is invalid") {
		t.Errorf("an example of another tool: %v", err)
	}
}
