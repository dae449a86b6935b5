package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// traced are scripts that read a file in a loop, print, and call a function of their own.
var traced = []struct {
	script tool.Script
	calls  []string         // the effects with their positions
	hot    string           // the line with most of the steps
	lines  map[string]int64 // the least number of steps of some lines; 0: the line is not counted
}{
	{
		script: tool.Script{Path: "t.star", Libs: map[string]string{"lib/twice.star": "def twice(f):\n    f()\n    return f()\n"}, Source: `load("lib/twice.star", "twice")

def spin(n):
    total = 0
    for i in range(n):
        total += i % 7 * i
    return total

def ask():
    return world.get(name = "x")

def never():
    return 1

def t(n: int = 500):
    "T."
    print("begin")
    spin(n)
    twice(ask)
    return attempt(world.get, name = "y")["ok"]

tool(t, needs = ["fs.read"])
`},
		calls: []string{"log t.star:17:10", "world.get t.star:10:21", "world.get t.star:10:21", "world.get t.star:20:19"},
		hot:   "t.star:6",
		lines: map[string]int64{"t.star:5": 500, "t.star:7": 1, "t.star:10": 2, "t.star:13": 0, "t.star:20": 1, "lib/twice.star:2": 1, "lib/twice.star:3": 1},
	},
	{
		script: tool.Script{Path: "t.lua", Source: `local function spin(n)
  local total = 0
  for i = 1, n do
    total = total + i % 7 * i
  end
  return total
end

local co = coroutine.wrap(function()
  coroutine.yield(world.get("x"))
end)

return tool{description = "T.", params = {n = "int"}, handler = function(args)
  print("begin")
  spin(500)
  co()
  pcall(function()
    world.get("y")
  end)
  return true
end}
`},
		calls: []string{"log t.lua:14", "world.get t.lua:10", "world.get t.lua:18"},
		hot:   "t.lua:4",
		lines: map[string]int64{"t.lua:3": 500, "t.lua:6": 1, "t.lua:10": 2, "t.lua:18": 1, "t.lua:8": 0},
	},
	{
		script: tool.Script{Path: "t.md", Source: "---\ndescription: T.\n---\n\n```starlark\ndef t():\n    for i in range(900):\n        i * i % 7 + i * 3 - i\n    return world.get(\"x\")\n```\n"},
		calls:  []string{"world.get t.md:9:21"},
		hot:    "t.md:8",
		lines:  map[string]int64{"t.md:7": 900, "t.md:9": 1, "t.md:2": 0},
	},
}

func traceModules() []tool.Module {
	get := tool.Func{Name: "get", Kind: tool.Read, Params: []tool.Param{tool.Required("name", tool.TypeString, "The name.")}}
	return []tool.Module{{Name: "world", Funcs: []tool.Func{get}}}
}

// TestTrace checks that effects have the positions of their calls, and that the steps of each
// line are counted, in both languages, in the engine and in a worker.
func TestTrace(t *testing.T) {
	e := both(t, "trace")
	for _, test := range traced {
		var calls []string
		do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			calls = append(calls, e.Func+" "+e.Pos.String())
			return tool.Outcome{Value: "z"}, nil
		}
		args := value.NewDict("n", 500)
		plain, err := e.Run(context.Background(), test.script, tool.Call{Args: args}, do)
		if err != nil || plain.Lines != nil || strings.Contains(strings.Join(calls, "\n"), ":") {
			t.Errorf("%s without a trace: lines %v, calls %q, %v", test.script.Path, plain.Lines, calls, err)
		}
		calls = nil
		out, err := e.Run(context.Background(), test.script, tool.Call{Args: args, Trace: trace.Calls | trace.Lines}, do)
		if err != nil {
			t.Errorf("%s: %v", test.script.Path, err)
			continue
		}
		if diff := cmp.Diff(test.calls, calls); diff != "" {
			t.Errorf("%s: the calls (-want +got)\n%s", test.script.Path, diff)
		}
		total, hot, counted := int64(0), trace.Line{}, map[string]int64{}
		for _, l := range out.Lines {
			total += l.Steps
			counted[fmt.Sprintf("%s:%d", l.File, l.Line)] = l.Steps
			if l.Steps > hot.Steps {
				hot = l
			}
		}
		if got := fmt.Sprintf("%s:%d", hot.File, hot.Line); got != test.hot {
			t.Errorf("%s: the line with most steps is %s (%d steps), want %s", test.script.Path, got, hot.Steps, test.hot)
		}
		if total != out.Usage.Steps || out.Usage.Steps != plain.Usage.Steps {
			t.Errorf("%s: the lines have %d steps, the call has %d, and without a trace %d", test.script.Path, total, out.Usage.Steps, plain.Usage.Steps)
		}
		for line, least := range test.lines {
			if got := counted[line]; got < least || least == 0 && got > 0 {
				t.Errorf("%s: %s has %d steps, want at least %d", test.script.Path, line, got, least)
			}
		}
	}
}

// TestLinesOfFailure checks that the lines of a call that fails are known: those of an error, and
// those of a loop without end, in which nearly all steps are.
func TestLinesOfFailure(t *testing.T) {
	e := bothSteps(t, "trace", 200_000)
	for _, s := range []tool.Script{
		{Path: "t.star", Source: "def t():\n    n = 0\n    for i in range(1 << 40):\n        n += i\n    return n\n"},
		{Path: "t.lua", Source: "return tool{description = \"T.\", handler = function()\n  local n = 0\n  while true do\n    n = n + 1\n  end\nend}\n"},
	} {
		out, err := e.Run(context.Background(), s, tool.Call{Args: &value.Dict{}, Trace: trace.Lines}, nil)
		if value.KindOf(err) != value.Limit {
			t.Errorf("%s: %v, want the limit of steps", s.Path, err)
		}
		steps := int64(0)
		for _, l := range out.Lines {
			if l.Line >= 3 && l.Line <= 5 {
				steps += l.Steps
			}
		}
		if steps < 199_000 {
			t.Errorf("%s: the loop has %d steps, want nearly 200,000: %v", s.Path, steps, out.Lines)
		}
	}
	for _, s := range []tool.Script{
		{Path: "t.star", Source: "def t():\n    n = 1\n    return n // 0\n"},
		{Path: "t.lua", Source: "return tool{description = \"T.\", handler = function()\n  local n\n  return n.x\nend}\n"},
	} {
		out, err := e.Run(context.Background(), s, tool.Call{Args: &value.Dict{}, Trace: trace.Lines}, nil)
		if err == nil || len(out.Lines) == 0 || out.Lines[len(out.Lines)-1].Line != 3 {
			t.Errorf("%s: lines %v, %v, want them to end with line 3", s.Path, out.Lines, err)
		}
	}
}

// BenchmarkTrace measures what a trace costs a call, most of which is a loop.
func BenchmarkTrace(b *testing.B) {
	e := engine.New(&engine.Options{Modules: traceModules()})
	do := func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{}, nil }
	for _, test := range traced[:2] {
		for name, trace := range map[string]trace.Mode{"off": 0, "calls": trace.Calls, "lines": trace.Lines} {
			b.Run(test.script.Path[2:]+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Run(context.Background(), test.script, tool.Call{Args: value.NewDict("n", 500), Trace: trace}, do); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
