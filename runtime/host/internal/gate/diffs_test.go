package gate

import (
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func stateOf(text string) tool.FileState {
	return tool.FileState{Exists: true, Data: []byte(text), Hash: tool.HashBytes([]byte(text))}
}

func TestDiffs(t *testing.T) {
	unread := stateOf("old")
	unread.Data = nil
	long := strings.Repeat("the same line\n", 20_000)
	for _, c := range []struct {
		name          string
		before, after tool.FileState
		want          string
	}{
		{"new", tool.FileState{}, stateOf("a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		{"deleted", stateOf("a\n"), tool.FileState{}, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		{"the same", stateOf("a\n"), stateOf("a\n"), ""},
		{"no newline at the end", stateOf("a\nb"), stateOf("a\nb\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"binary", stateOf("a\n"), stateOf("\x00"), ""},
		{"not text", stateOf("\xff"), stateOf("a"), ""},
		{"unread", unread, stateOf("a"), ""},
		{"a directory", tool.FileState{}, tool.FileState{Exists: true, Dir: true}, ""},
		{"far inside", stateOf(long + "old\n" + long), stateOf(long + "new\n" + long),
			"--- a/f\n+++ b/f\n@@ -19998,7 +19998,7 @@\n the same line\n the same line\n the same line\n-old\n+new\n the same line\n the same line\n the same line\n"},
		{"too different", stateOf(long), stateOf(strings.ReplaceAll(long, "same", "other")), ""},
	} {
		if got := diffOfChange(&tool.Change{Path: "f", Before: c.before, After: c.after}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestClipped checks that a recorded question has what shows each change: its diff, or the
// contents.
func TestClipped(t *testing.T) {
	large, other := strings.Repeat("the same line\n", 20_000), strings.Repeat("another\n", 30_000)
	huge := strings.Repeat("x", maxRecorded-len(large))
	list := withDiffs([]tool.Change{
		{Path: "edited", Before: stateOf(large), After: stateOf(large + "new\n")},
		{Path: "new", After: stateOf(large)},
		{Path: "rewritten", Before: stateOf(large), After: stateOf(other)},
		{Path: "huge", Before: stateOf("old"), After: stateOf(huge)},
	})
	got := clippedDiffs(list)
	for i, want := range []struct{ before, after string }{{"", ""}, {"", large}, {large, other}, {"old", ""}} {
		c := got[i]
		if string(c.Before.Data) != want.before || string(c.After.Data) != want.after {
			t.Errorf("%s: the record has %d and %d bytes, want %d and %d", c.Path, len(c.Before.Data), len(c.After.Data), len(want.before), len(want.after))
		}
		if (c.Diff != "") != (c.Path == "edited") || c.After.Hash != list[i].After.Hash {
			t.Errorf("%s: diff %q, hash %s", c.Path, c.Diff, c.After.Hash)
		}
	}
	if list[0].After.Data == nil {
		t.Error("Clipped has changed its argument")
	}
}

// TestDiffsAreLinear compares the most that is compared, with nothing in common, and half of it.
// An algorithm that is quadratic in the number of differences keeps as much as it computes.
func TestDiffsAreLinear(t *testing.T) {
	allocated := func(lines int) uint64 {
		a, b := stateOf(strings.Repeat("a\n", lines)), stateOf(strings.Repeat("b\n", lines))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := diffOfChange(&tool.Change{Path: "f", Before: a, After: b}); got == "" {
			t.Errorf("there is no diff of %d lines", lines)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if half, whole := allocated(maxDiffed/4), allocated(maxDiffed/2); whole > 3*half {
		t.Errorf("a diff allocates %d bytes, and %d for twice as many lines", half, whole)
	}
}

// TestDiffsApply checks that a diff, applied to what was before, gives what is after.
func TestDiffsApply(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(line, 0, 40).Draw(t, "before")
		at := rapid.IntRange(0, len(before)).Draw(t, "at")
		to := rapid.IntRange(at, len(before)).Draw(t, "to")
		after := append(append(append([]string{}, before[:at]...), rapid.SliceOfN(line, 0, 5).Draw(t, "new")...), before[to:]...)
		c := tool.Change{Path: "f", Before: stateOf(strings.Join(before, "")), After: stateOf(strings.Join(after, ""))}
		d := diffOfChange(&c)
		if got := patched(t, before, d); got != string(c.After.Data) {
			t.Fatalf("%q with\n%sis %q, want %q", before, d, got, c.After.Data)
		}
	})
}

// patched applies a unified diff to lines.
func patched(t *rapid.T, before []string, diff string) string {
	var out strings.Builder
	next := 0
	for i, l := range strings.SplitAfter(diff, "\n") {
		switch {
		case i < 2 || l == "":
		case l[0] == '@':
			from, count := 0, 1
			for _, c := range strings.TrimPrefix(l, "@@ -") {
				if c < '0' || c > '9' {
					break
				}
				from = from*10 + int(c-'0')
			}
			if head, _, _ := strings.Cut(l, " +"); strings.HasSuffix(head, ",0") {
				count = 0
			}
			for ; next < from-count; next++ {
				out.WriteString(before[next])
			}
		case l[0] == '+':
			out.WriteString(l[1:])
		default:
			if next >= len(before) || before[next] != l[1:] {
				t.Fatalf("line %d is not %q in\n%s", next+1, l[1:], diff)
			}
			if next++; l[0] == ' ' {
				out.WriteString(l[1:])
			}
		}
	}
	out.WriteString(strings.Join(before[next:], ""))
	return out.String()
}
