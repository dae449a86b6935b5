package engine_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestUndo checks that the function that undoes a call gets the call's arguments and
// its result, in every language and form.
func TestUndo(t *testing.T) {
	const star = "def put(path): return path\ndef _back(args, result):\n    return [args[\"path\"], result]\n"
	const lua = "local function _back(args, result) return { args.path, result } end\n"
	front := "---\ndescription: Put.\nundo: _back\n---\n"
	for _, s := range []tool.Script{
		{Path: "put.star", Source: star + "tool(put, description = 'Put.', undo = _back)\n"},
		{Path: "put.star", Source: "def put(path): return path\ndef _back(args, result = None):\n    return [args['path'], result]\ntool(put, description = 'Put.', undo = _back)\n"},
		{Path: "put.lua", Source: lua + "return tool{description = 'Put.', undo = _back, handler = function(args) return args.path end}\n"},
		{Path: "put.lua", Source: "return tool{description = 'Put.', handler = function(args) return args.path end,\n undo = function(args, result) return { args.path, result } end}\n"},
		{Path: "put.md", Source: front + "```starlark\n" + star + "```\n"},
		{Path: "put.md", Source: front + "```lua\n" + lua + "function put(args) return args.path end\n```\n"},
		{Path: "put.md", Source: front + "```lua\n" + lua + "local function put(args) return args.path end\n```\n"},
	} {
		e := both(t, "none")
		described, err := e.Describe(s)
		if err != nil || described.Undo == "" {
			t.Errorf("Describe(%s): undo %q, %v\n%s", s.Path, described.Undo, err, s.Source)
			continue
		}
		args := value.NewDict("result", int64(7), "args", value.NewDict("path", "a"))
		out, err := e.Run(t.Context(), s, tool.Call{Entry: described.Undo, Args: args}, nil)
		if got := value.FormatJSON(out.Value, ""); err != nil || got != `["a",7]` {
			t.Errorf("Run(%s) = %s, %v, want [\"a\",7]\n%s", s.Path, got, err, s.Source)
		}
	}
}
