package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func toolsModules() []tool.Module {
	return []tool.Module{
		{Name: "tools", Funcs: []tool.Func{
			{Name: "call", Kind: tool.External, Rest: "args", Mode: tool.ModeOther, Params: []tool.Param{{Name: "name", Type: tool.Type{Name: tool.TypeString}, Required: true}}},
			{Name: "list", Kind: tool.Read},
		}},
		{Name: "plain", Funcs: []tool.Func{{Name: "f", Kind: tool.Read}}},
	}
}

// TestOther checks that a module's Other function handles all its undefined names, in
// both languages, and no other names.
func TestOther(t *testing.T) {
	star := func(body string) tool.Script {
		return tool.Script{Path: "t.star", Source: "def t():\n    \"D.\"\n    " + body + "\n\ntool(t)\n"}
	}
	lua := func(body string) tool.Script {
		return tool.Script{Path: "t.lua", Source: "return tool{ description = \"D.\", handler = function() " + body + " end }"}
	}
	cases := []struct {
		name   string
		script tool.Script
		want   string // the effect, or an error
	}{
		{"call", star("tools.call('slug', x = 1)"), `tools.call {"name":"slug","args":{"x":1}}`},
		{"another name", star("tools.slug(x = 1, name = 2)"), `tools.call {"name":"slug","args":{"x":1,"name":2}}`},
		{"a name that is there", star("tools.list()"), `tools.list {}`},
		{"by place", star("tools.slug(1)"), `tools.slug: the arguments of a tool must be named`},
		{"a value that cannot leave", star("tools.slug(x = len)"), `tools.slug: expected data but got the function len`},
		{"a module without", star("plain.g()"), `plain has no g`},
		{"call, in Lua", lua(`tools.call("slug", {x = 1})`), `tools.call {"name":"slug","args":{"x":1}}`},
		{"another name, in Lua", lua(`tools.slug{x = 1, name = 2}`), `tools.call {"name":"slug","args":{"x":1,"name":2}}`},
		{"without arguments, in Lua", lua(`tools.slug()`), `tools.call {"name":"slug","args":{}}`},
		{"an empty table, in Lua", lua(`tools.slug({})`), `tools.call {"name":"slug","args":{}}`},
		{"a name that is there, in Lua", lua(`tools.list()`), `tools.list {}`},
		{"by place, in Lua", lua(`tools.slug(1)`), `tools.slug: the arguments of a tool must be named`},
		{"a number as a name, in Lua", lua(`tools[1]()`), `attempt to call a non-function object`},
		{"a module without, in Lua", lua(`plain.g()`), `attempt to call a non-function object`},
		{"another module's, in Lua", lua(`getmetatable(tools).__index = nil`), `attempt to index`},
		{"while it is loaded", tool.Script{Path: "t.star", Source: "x = tools.slug()\n\ndef t():\n    \"D.\"\n\ntool(t)\n"}, "tools.call is only available inside a function"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := both(t, "tools")
			got := ""
			do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
				got = e.Func + " " + value.FormatJSON(e.Args, "")
				return tool.Outcome{}, nil
			}
			_, err := e.Describe(c.script)
			if err == nil {
				_, err = e.Run(context.Background(), c.script, tool.Call{}, do)
			}
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
