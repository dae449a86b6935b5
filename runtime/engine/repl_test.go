package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// converse types lines at a prompt, and returns what it shows: printed lines after "|", values,
// errors after "!". Lines typed by a person end a block with an empty line.
func converse(t *testing.T, person bool, lines ...string) []string {
	t.Helper()
	var shown []string
	do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		switch e.Func {
		case "repl.print":
			shown = append(shown, "| "+e.Args.Text("text"))
		case "repl.poll":
		case "repl.next":
			v, _ := e.Args.Get("report")
			report := v.(*value.Dict)
			if report.Has("input") {
				text := report.Text("text")
				if failure, ok := report.Get("error"); ok {
					err, ok := value.ErrorFromValue(failure)
					if !ok {
						t.Fatalf("the report has no error: %v", report)
					}
					text = "! " + err.Error()
				}
				if text != "" {
					shown = append(shown, text)
				}
			}
			ahead, _ := report.Get("ahead")
			if len(lines) == 0 || ahead == true {
				return tool.Outcome{}, nil
			}
			line := lines[0]
			lines = lines[1:]
			return tool.Outcome{Value: value.NewDict("line", line, "blank_ends", person)}, nil
		case "world.get":
			if e.Args.Text("name") == "stopped" {
				return tool.Outcome{}, value.Errorf(value.Canceled, "interrupted")
			}
			return tool.Outcome{Value: "got " + e.Args.Text("name")}, nil
		}
		return tool.Outcome{}, nil
	}
	libs := map[string]string{"tools.star": "def greet(name): return \"hello \" + name\n"}
	c := tool.Call{Args: &value.Dict{}, Limits: tool.Limits{Steps: 100_000}}
	_, err := both(t, "trace").Run(context.Background(), tool.Script{Path: "prompt.repl", Libs: libs}, c, do)
	if err != nil {
		t.Errorf("the prompt ended with %v", err)
	}
	return shown
}

func TestRepl(t *testing.T) {
	endless := "for i in range(1 << 40): pass"
	for _, test := range []struct {
		name   string
		person bool
		typed  string // lines
		want   []string
	}{
		{"values", true, "1 + 1\n_ * 2\nx = 3\nx\nNone\n\"a\\n\"\n", []string{"2", "4", "3", `"a\n"`}},
		{"state", true, "d = {}\nd[\"k\"] = [1]\nd[\"k\"].append(2)\nd\nx = 1; y = 2\n(x, y)\n", []string{`{"k": [1, 2]}`, "(1, 2)"}},
		{"effects and tools", true, "a = world.get(\"a\")\na\ngreet(a)\nprint(a, 1)\n", []string{`"got a"`, `"hello got a"`, "| got a 1"}},
		{"a block", true, "def f(n: int = 2) -> int:\n    # twice\n    return n * 2\n\nf(4)\nfor i in range(2):\n    print(i)\n\nf", []string{"8", "| 0", "| 1", "<function f>"}},
		{"a block from a pipe", false, "def f(n):\n\n    if n:\n        return 1\n\n    else:\n        return 2\nf(0)\nif f(0) == 1:\n    print(1)\nelif f(0) == 2:\n    print(2)\nelse:\n    print(3)", []string{"2", "| 2"}},
		{"brackets", true, "x = [\n\n  1,\n  2\n]\nx\ntext = '''a\n\nb'''\nlen(text)\n", []string{"[1, 2]", "4"}},
		{"errors end only the input", true, "x = 1\n1 // 0\nx +\nnobody\nx", []string{
			"! input 2:1:3: floored division by zero", "! input 3:1:4: got newline, want primary expression", "! input 4:1:1: undefined: nobody", "1"}},
		{"an error in a function", true, "def f():\n    return [][1]\n\nf()\n", []string{"! input 1:2:14: index 1 out of range: empty list"}},
		{"limits are those of an input", true, "x = 5\n" + endless + "\nx\n" + endless + "\nx\n", []string{"! the script took more than 100000 steps", "5", "! the script took more than 100000 steps", "5"}},
		{"an interrupted effect", true, "x = 1\nattempt(world.get, \"stopped\")\nx\nworld.get(\"z\")", []string{"! interrupted", "1", `"got z"`}},
		{"prints without end", true, "for i in range(1000): print(i)\n1\n", nil},
		{"unbalanced to the end", false, "x = (1,\n2,\n", []string{"! input 1:1:5: '(' is never closed"}},
		{"loads", true, "load(\"lib/a.star\", \"a\")\n", []string{"! input 1:1:1: load is not supported in programs"}},
		{"Python", true, "import os\n1", []string{"! input 1:1:1: ", "1"}},
		{"a comment", true, "# nothing\n   \n1", []string{"1"}},
	} {
		got := converse(t, test.person, strings.Split(test.typed, "\n")...)
		if test.want == nil { // prints without end
			if len(got) != 202 || got[0] != "| 0" || !strings.Contains(got[200], "dropped") || got[201] != "1" {
				t.Errorf("%s: %d lines: %q", test.name, len(got), got)
			}
			continue
		}
		same := len(got) == len(test.want)
		for i := range min(len(got), len(test.want)) {
			same = same && (got[i] == test.want[i] || strings.HasPrefix(test.want[i], "! ") && strings.Contains(got[i], test.want[i][2:]))
		}
		if !same {
			t.Errorf("%s:\n%s", test.name, cmp.Diff(test.want, got))
		}
	}
}

// TestReplTooLong checks that an input that does not end is refused, and that the prompt continues.
func TestReplTooLong(t *testing.T) {
	testutil.SkipShort(t)
	lines := []string{"x = ["}
	for i := range 999 {
		lines = append(lines, fmt.Sprintf("%d,", i))
	}
	got := converse(t, true, append(lines, "1,", "2")...)
	if len(got) < 2 || !strings.Contains(got[0], "the input is longer than 64 KB or 1000 lines") || got[len(got)-1] != "2" {
		t.Errorf("got %q", got)
	}
}
