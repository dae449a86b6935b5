package assist_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/assist"
)

// TestLuaCATS checks that the definitions parse as Lua, and have modules, tools, methods and declarations.
func TestLuaCATS(t *testing.T) {
	text := world(t).LuaCATS()
	for _, want := range []string{
		"---@meta\n", "---@param path string the file\n---@param offset? integer", "function fs.read(path, offset, limit, encoding) end\n",
		"---@field text string the text\n---@field limit? integer the length\n", "function tools.make_slug(args) end\n",
		"function table_methods:filter(", "---@return cassidy.table # a table", "---@field needs? table", "function tool(fields) end\n", "function param(",
		"---@class cassidy.options.http.post\n", "---@field headers? table ",
		"---@overload fun(url: string, options: cassidy.options.http.post): any\nfunction http.post(url, ",
		"---@overload fun(self: cassidy.table, ", "---@return string # the slug\nfunction tools.make_slug(args) end\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the definitions lack %q", want)
		}
	}
	d := assist.Read(assist.Lua, text)
	if !d.HasAllParts() || len(d.Symbols()) < 100 {
		t.Errorf("the definitions have %d functions, and all parts: %v", len(d.Symbols()), d.HasAllParts())
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "-- ") && line != "\n" && !strings.HasPrefix(line, "function ") && !strings.Contains(line, " = ") {
			t.Errorf("a line is not a definition: %q", line)
		}
	}
}
