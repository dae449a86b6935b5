package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// step returns a step, which is named as its path is.
func step(mark describe.Mark, path ...int) describe.Step {
	s := describe.Step{Mark: mark, Result: "because"}
	for _, n := range path {
		s.StepPath = s.StepPath.Child(n)
	}
	s.Name = s.StepPath.String()
	return s
}

// TestRows checks which steps are shown, and that the others are counted.
func TestRows(t *testing.T) {
	t.Parallel()
	internal := step(describe.Done, 1)
	internal.Internal = true
	reply := step(describe.Done, 5)
	reply.Calls = []describe.Step{step(describe.Done, 5, 1), step(describe.Failed, 5, 2)}
	for i := range reply.Calls {
		reply.Calls[i].Called = true
	}
	asks := step(describe.Waits, 6, 1, 1)
	steps := []describe.Step{
		internal, step(describe.Done, 2), step(describe.Done, 2, 1), step(describe.Failed, 2, 2), step(describe.Failed, 3), step(describe.Failed, 3, 1), step(describe.Unknown, 4),
		reply, step(describe.Done, 5, 1, 1), step(describe.Waits, 6), step(describe.Done, 6, 1), asks, step(describe.Waits, 7), step(describe.Waits, 7, 1),
	}
	show := func(all bool) string {
		var words []string
		v := &view{Screen: draw.Screen{Width: 80}, all: all, run: &history.Run{}}
		rows, hidden := v.rowsOf(steps)
		for i := range rows {
			words = append(words, fmt.Sprintf("%s+%d", rows[i].StepPath, rows[i].inside))
		}
		return strings.Join(append(words, fmt.Sprint(hidden)), " ")
	}
	if diff := cmp.Diff("2+2 3+1 4+0 5.1+1 5.2+0 6+1 6.1.1+0 7+0 7.1+0 1", show(false)); diff != "" {
		t.Errorf("the steps that are shown (-want +got):\n%s", diff)
	}
	if got := show(true); strings.Count(got, " ") != len(steps)+len(reply.Calls) || !strings.HasSuffix(got, " 0") {
		t.Errorf("all steps: %s", got)
	}
}

// TestManySteps checks that the middle of a long run is left out, but for what did not succeed.
func TestManySteps(t *testing.T) {
	t.Parallel()
	var rows []row
	for n := range 30 {
		mark := describe.Done
		if n == 19 {
			mark = describe.Failed
		}
		rows = append(rows, row{Step: step(mark, n+1)})
	}
	v := &view{Screen: draw.Screen{Width: 80}, run: &history.Run{}}
	var got []string
	for _, line := range v.steps(rows, 0)[14:] {
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{"✓ 15  15", "▸ 4 steps (--all)", "✗ 20  20", "because", "▸ 8 steps (--all)", "✓ 29  29", "✓ 30  30"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSayWhyOnce checks that the error of a step is not repeated, and what was called neither.
func TestSayWhyOnce(t *testing.T) {
	t.Parallel()
	v := &view{Screen: draw.Screen{Width: 80}, run: &history.Run{}}
	s := describe.Step{StepPath: tool.StepPath{1}, Mark: describe.Failed, Name: "read_file", Result: `read_file(filepath="a"): File not found: a`, Notes: []string{"approved"}}
	if diff := cmp.Diff([]string{"  approved", "  File not found: a"}, v.below(&row{Step: s}, "  ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStepsFit draws steps of any names on any screen: no line is wider, and none of a question is lost.
func TestStepsFit(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", "read_file", "a/long/path/to/some/file.txt", "日本語 日本語 日本語", strings.Repeat("name", 20), "two words", "\x1b[31mred", "line\nafter\nline", strings.Repeat("word ", 30)})
	rapid.Check(t, func(r *rapid.T) {
		v := &view{run: &history.Run{}, all: rapid.Bool().Draw(r, "all")}
		v.Screen = draw.Screen{Width: rapid.SampledFrom([]int{40, 80, 200}).Draw(r, "width"), Plain: rapid.Bool().Draw(r, "plain")}
		v.ASCII = v.Plain
		var rows []row
		for n := range rapid.IntRange(1, 4).Draw(r, "rows") {
			s := step(rapid.SampledFrom([]describe.Mark{describe.Done, describe.Failed, describe.Waits, describe.Unknown}).Draw(r, "mark"), n+1)
			s.Name, s.About, s.Result, s.Brief = text.Draw(r, "name"), text.Draw(r, "about"), text.Draw(r, "result"), text.Draw(r, "brief")
			s.Asks = s.Mark == describe.Waits
			s.Own, s.Notes = s.Asks, []string{text.Draw(r, "note")}
			rows = append(rows, row{Step: s, inside: rapid.IntRange(0, 2).Draw(r, "inside")})
		}
		lines := v.steps(rows, 0)
		for _, line := range lines {
			if draw.Cells(line) >= v.Width || strings.ContainsAny(line, "\x1b\n") {
				t.Fatalf("a line of %d cells on a screen of %d: %q", draw.Cells(line), v.Width, line)
			}
		}
		joined := strings.Join(lines, "")
		for i := range rows {
			if rows[i].Own && strings.Count(joined, "line")+strings.Count(joined, "after") < len(strings.Fields(rows[i].About)) && strings.Contains(rows[i].About, "after") {
				t.Fatalf("a part of the question %q is lost:\n%s", rows[i].About, strings.Join(lines, "\n"))
			}
		}
	})
}
