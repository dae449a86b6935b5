package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestExcerpts checks that errors of running and of reading a script have its lines, the innermost
// last, also where the file has Windows line ends or the error is in a loaded file.
func TestExcerpts(t *testing.T) {
	skipWithoutWorkers(t)
	for name, s := range map[string]sandbox.Sandbox{"inline": sandbox.NewInline(), "process": newProcess(t, nil)} {
		for _, test := range []struct {
			script tool.Script
			want   []string
		}{
			{
				tool.Script{Path: "t.star", Source: "load(\"lib/a.star\", \"a\")\r\ndef t():\r\n    return a(0)\r\n", Libs: map[string]string{"lib/a.star": "def a(n):\n    return b(n)\n\ndef b(n):\n    return c(n)\n\ndef c(n):\n    return 1 // n\n"}},
				[]string{"lib/a.star:2:13     return b(n)", "lib/a.star:5:13     return c(n)", "lib/a.star:8:14     return 1 // n"},
			},
			{tool.Script{Path: "t.lua", Source: "return tool{description = \"T.\", handler = function()\n  error(\"no\")\nend}\n"}, []string{"t.lua:2   error(\"no\")"}},
			{tool.Script{Path: "t.md", Source: "---\ndescription: T.\n---\n```starlark\ndef t():\n    fail(\"no\")\n```\n"}, []string{"t.md:6:9     fail(\"no\")"}},
		} {
			_, err := s.Run(context.Background(), test.script, tool.Call{Args: &value.Dict{}}, nil)
			if diff := cmp.Diff(test.want, excerpts(err)); diff != "" {
				t.Errorf("%s: Run of %s: %v: the lines (-want +got)\n%s", name, test.script.Path, err, diff)
			}
		}
		_, err := s.Describe(context.Background(), tool.Script{Path: "t.star", Source: "def t():\n    return nobody\n\ntool(t)\n"})
		if diff := cmp.Diff([]string{"t.star:2:12     return nobody"}, excerpts(err)); diff != "" {
			t.Errorf("%s: Describe: %v: the lines (-want +got)\n%s", name, err, diff)
		}
	}
}

func excerpts(err error) (lines []string) {
	for _, x := range value.ErrorOf(err, value.Internal).Excerpts {
		lines = append(lines, x.Pos.String()+" "+x.Text)
	}
	return lines
}

// TestLinesOfKilledCall checks that the lines of a call are known whose worker is killed, since it
// computes, or waits for an effect, until the time is over.
func TestLinesOfKilledCall(t *testing.T) {
	skipWithoutWorkers(t)
	wait := tool.Func{Name: "wait", Kind: tool.Read}
	s := newProcess(t, nil, tool.Module{Name: "world", Funcs: []tool.Func{wait}})
	for what, text := range map[string]string{
		"computes": "def t():\n    n = 0\n    for i in range(1 << 40):\n        n += i\n",
		"waits":    "def t():\n    n = 0\n    for i in range(1000):\n        n += i\n    world.wait()\n",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		c := tool.Call{Args: &value.Dict{}, Trace: trace.Lines, Limits: tool.Limits{Steps: 1 << 40, CPU: time.Hour}}
		do := func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
			if e.Func != "world.wait" {
				t.Errorf("%s: the worker asks for %s", what, e.Func)
			}
			<-ctx.Done()
			return tool.Outcome{}, ctx.Err()
		}
		out, err := s.Run(ctx, tool.Script{Path: "t.star", Source: text}, c, do)
		if value.KindOf(err) != value.Timeout && value.KindOf(err) != value.Canceled {
			t.Errorf("%s: %v, want a timeout", what, err)
		}
		var hot trace.Line
		for _, l := range out.Lines {
			if l.Steps > hot.Steps {
				hot = l
			}
		}
		if hot.Steps < 2000 || hot.Line != 3 && hot.Line != 4 || strings.TrimSpace(hot.Text) == "" {
			t.Errorf("%s: the line with most steps is %+v, want one of the loop", what, hot)
		}
	}
}
