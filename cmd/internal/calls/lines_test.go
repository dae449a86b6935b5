package calls

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMade(t *testing.T) {
	t.Parallel()
	done := func(v value.Value, took time.Duration) tool.ToolCallEnd {
		return tool.ToolCallEnd{Success: true, Result: v, Duration: took}
	}
	failed := func(err *value.Error) tool.ToolCallEnd { return tool.ToolCallEnd{Err: err} }
	for _, tt := range []struct {
		tool  string
		args  *value.Dict
		end   tool.ToolCallEnd
		want  string
		below []string
	}{
		{"edit_file", value.NewDict("filepath", "a/b.py", "old_text", "x\ny"), done("File edited\n\n--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-x\n-y\n+z\n", 0), "✓ 1  edit_file    a/b.py                    +1 −2", nil},
		{"write_file", value.NewDict("filepath", "a.txt"), done("File written successfully: a.txt (8 bytes)", 0), "✓ 1  write_file   a.txt                   8 bytes", nil},
		{"slow", value.NewDict("n", int64(4), "s", "a b"), done(value.NewDict("ok", true), time.Second), "✓ 1  slow         n=4 s=\"a b\"      ok yes     1s", nil},
		{"read", value.NewDict("path", "a\nb"), done("one\ntwo\n", 0), "✓ 1  read         a↵b                   ▸ 2 lines", nil},
		{"none", nil, done(nil, 0), "✓ 1  none", nil},
		{"wait", nil, tool.ToolCallEnd{Waits: true}, "… 1  wait                                waits", nil},
		{"own", nil, tool.ToolCallEnd{Success: true, Shown: true, Preview: "3 found\na\nb"}, "✓ 1  own                               3 found", []string{"a", "b"}},
		{
			"run_command", value.NewDict("command", "pytest -q"), failed(&value.Error{Kind: value.Command, Err: value.Errorf(value.Command, "sh: exit code 1\nstderr:\nno pytest").Err}),
			"✗ 1  run_command  pytest -q                exit 1", []string{"no pytest"},
		},
		{"read", value.NewDict("path", "b"), failed(value.Errorf(value.NotFound, "File not found: b")), "✗ 1  read         b", []string{"File not found: b"}},
	} {
		s := draw.Screen{Width: 65}
		m := &Made{Number: 1, Tool: tt.tool, Args: tt.args, End: tt.end}
		figures, below := m.came(s)
		got := strings.Join(strings.Fields(m.line(s, leastName, figures)), " ")
		if want := strings.Join(strings.Fields(tt.want), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if diff := cmp.Diff(tt.below, below); diff != "" {
			t.Errorf("below %q (-want +got):\n%s", got, diff)
		}
	}
}

// TestOutput shows the beginning of a long line, whose pieces come one after the other, and of many lines.
func TestOutput(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("x", 1<<20) + "\nend\n", strings.Repeat("line\n", 1000)} {
		var shown strings.Builder
		o := &output{app: &app.App{Printer: ui.NewPrinter(io.Discard, &shown, func(string) (string, bool) { return "", false })}, indent: "  ", most: maxOutput}
		for ; text != ""; text = text[min(len(text), 1000):] {
			o.add("call", text[:min(len(text), 1000)])
		}
		if !o.flush("call") {
			t.Error("the call had no output")
		}
		lines := strings.Split(strings.TrimSuffix(shown.String(), "\n"), "\n")
		if len(lines) != maxOutput+1 || lines[maxOutput] != "  ▸ more output (--verbose)" {
			t.Errorf("it shows %d lines, the last is %q", len(lines), lines[len(lines)-1])
		}
	}
}

// TestMadeFits draws calls with any arguments and results: each line fits the terminal, and nothing but marks is in the gutter.
func TestMadeFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string {
			return strings.Repeat(rapid.StringOfN(rapid.SampledFrom([]rune("ab /日\n\x1b\u202e👩🏽\u200d")), 0, 30, -1).Draw(r, name), rapid.SampledFrom([]int{1, 1, 3000}).Draw(r, "times"))
		}
		s := draw.Screen{Width: rapid.IntRange(20, 200).Draw(r, "width"), ASCII: rapid.Bool().Draw(r, "ascii"), Plain: rapid.Bool().Draw(r, "plain")}
		m := &Made{Number: rapid.IntRange(1, 9999).Draw(r, "number"), Tool: text("tool"), Args: value.NewDict(rapid.SampledFrom([]string{"path", "n"}).Draw(r, "name"), text("argument"))}
		m.End = tool.ToolCallEnd{Success: rapid.Bool().Draw(r, "success"), Result: text("result"), Preview: text("preview"), Duration: time.Duration(rapid.IntRange(0, 1<<40).Draw(r, "took"))}
		figures, below := m.came(s)
		for line := range strings.SplitSeq(m.line(s, leastName, figures), "\n") {
			if draw.Cells(line) >= s.Width || strings.ContainsAny(line, "\x1b\u202e") {
				t.Fatalf("a line of %d cells: %q", draw.Cells(line), line)
			}
		}
		for _, line := range s.Behind("     ", below) {
			if draw.Cells(line) >= s.Width || !strings.HasPrefix(line, "     ") {
				t.Fatalf("a line of %d cells: %q", draw.Cells(line), line)
			}
		}
	})
}
