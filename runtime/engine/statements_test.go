package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestStatements checks the statements of each language, and that a call reports those that it runs,
// also if it fails.
func TestStatements(t *testing.T) {
	cover := tool.Module{Name: "cover", Funcs: []tool.Func{{Name: "lines", Kind: tool.Recorded, Params: []tool.Param{tool.Required("files", tool.TypeObject, "The lines.")}}}}
	e := engine.New(&engine.Options{Modules: []tool.Module{cover}})
	for _, test := range []struct {
		script    tool.Script
		want, ran string
		fails     bool
	}{
		{tool.Script{Path: "s.star", Libs: map[string]string{"lib/x.star": "def x(n):\n    return 1\n\ndef unused():\n    return 2\n"}, Source: `load("lib/x.star", "x")

def never():
    """Doc."""
    pass

def s(n: int = 2) -> int:
    """Doc."""
    plain = []
    for i in range(n):
        if i == 0:
            continue
        elif i > 5:
            return 1
        else:
            plain.append(
                x(i),
            )
    def inner():
        return None
    f = lambda: (
        n
    )
    if len(plain) == 9: return 1
    return f() + 1 // len(plain)

tool(s)
`}, "5 9 10 11 12 13 14 16 19 20 21 24 25", "lib/x.star:2 s.star:9 10 11 12 13 16 19 21 24 25", false},
		{tool.Script{Path: "s.star", Source: "def s(n):\n    x = 1\n    fail(\"no\")\n    return x\n"}, "2 3 4", "s.star:2 3", true},
		{tool.Script{Path: "s.lua", Source: `local function helper(x)
  return x + 1
end

return tool{description = "S.", handler = function(args)
  local list = {}
  for i = 1, 2 do
    list[i] = helper(i)
  end
  if args.n == 9 then
    return 1
  end
  return #list
end}
`}, "2 6 7 8 10 11 13", "s.lua:1 2 5 6 7 8 10 13", false},
		{tool.Script{Path: "s.md", Source: "---\ndescription: S.\n---\n\n```starlark\ndef s():\n    x = 1\n    return x\n```\n"}, "7 8", "s.md:7 8", false},
	} {
		lines, err := e.Statements(test.script)
		if got := strings.Trim(fmt.Sprint(lines), "[]"); err != nil || got != test.want {
			t.Errorf("%s: the statements are %s, %v, want %s", test.script.Path, got, err, test.want)
		}
		var ran []string
		do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			v, _ := e.Args.Get("files")
			files, _ := v.(*value.Dict)
			for file, lines := range files.All() {
				ran = append(ran, fmt.Sprintf("%s:%s", file, strings.Trim(fmt.Sprint(lines), "[]")))
			}
			return tool.Outcome{}, nil
		}
		_, err = e.Run(context.Background(), test.script, tool.Call{Args: value.NewDict("n", 2)}, do)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", test.script.Path, err)
		}
		if got := strings.Join(ran, " "); got != test.ran {
			t.Errorf("%s: the lines that have run are %s, want %s", test.script.Path, got, test.ran)
		}
	}
	plain := engine.New(nil)
	_, err := plain.Run(context.Background(), tool.Script{Path: "s.star", Source: "def s():\n    return 1\n"}, tool.Call{}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		t.Errorf("a call without cover has the effect %s", e.Func)
		return tool.Outcome{}, nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := e.Statements(tool.Script{Path: "s.star", Source: "def s(:\n"}); value.KindOf(err) != value.Invalid {
		t.Errorf("Statements of an invalid file: %v", err)
	}
}
