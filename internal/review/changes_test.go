package review

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// shown returns lines with their signs.
func shown(lines []Line) []string {
	var list []string
	for _, l := range lines {
		list = append(list, strings.TrimSpace(string(l.Sign)+" "+l.shown()))
	}
	return list
}

// lineText returns the lines that a line of a diff stands for, which are several if it is a
// run of blank ones.
func lineText(l Line) []string {
	if strings.HasSuffix(l.shown(), " blank lines⟩") {
		return make([]string, l.Size)
	}
	return []string{l.shown()}
}

// TestDiffLong checks that a small change in a long text is found, and that texts
// without common lines are shown in full.
func TestDiffLong(t *testing.T) {
	long := strings.Repeat("the same line\n", 200_000)
	got := shown(diff(long+"old\n"+long, long+"new\n"+long))
	want := []string{"hunk @@ line 199998 @@", "context the same line", "context the same line", "context the same line",
		"removed old", "added new", "context the same line", "context the same line", "context the same line"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a small change (-want +got):\n%s", d)
	}
	other := strings.Repeat("another\n", 200_000)
	if got, want := len(diff(long, other)), 1+400_000; got != want {
		t.Errorf("texts that have nothing in common make %d lines, want %d", got, want)
	}
}

// TestDiffRebuilds checks with texts of all shapes that the lines of a diff
// that are not new are lines of the old text, in order, and the others of the new.
func TestDiffRebuilds(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"})
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "after"), "")
		lines := diff(before, after)
		if (before == after) != (len(lines) == 0) {
			t.Fatalf("diff(%q, %q) = %v", before, after, lines)
		}
		var old, new []string
		for _, l := range lines {
			switch l.Sign {
			case Removed:
				old = append(old, lineText(l)...)
			case Added:
				new = append(new, lineText(l)...)
			}
		}
		count := func(text, of string) int { return strings.Count("\n"+text+"\n", "\n"+of+"\n") }
		for _, l := range old {
			if count(strings.ReplaceAll(before, "\n", "\n\n"), l) == 0 {
				t.Fatalf("diff(%q, %q): %q was never there", before, after, l)
			}
		}
		if got, want := len(new)-len(old), countLines(after)-countLines(before); got != want {
			t.Fatalf("diff(%q, %q) adds %d lines, want %d", before, after, got, want)
		}
	})
}

func countLines(text string) int {
	n := 0
	for range strings.Lines(text) {
		n++
	}
	return n
}
