package text

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestDiff(t *testing.T) {
	old, changed := "a\nb\nc\nd\ne\nf\n", "a\nb\nC\nd\ne\nf\ng"
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "diff.unified", Args: []any{old, changed}, Want: "--- a\n+++ b\n@@ -1,6 +1,7 @@\n a\n b\n-c\n+C\n d\n e\n f\n+g\n\\ No newline at end of file\n"},
		{Fn: "diff.unified", Args: []any{old, changed, "x", "y", int64(0)}, Want: "--- x\n+++ y\n@@ -3 +3 @@\n-c\n+C\n@@ -7 +7 @@\n+g\n\\ No newline at end of file\n"},
		{Fn: "diff.unified", Args: []any{old, old}, Want: ""},
		{Fn: "diff.unified", Args: []any{"", "x\n"}, Want: "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"},
		{Fn: "diff.unified", Args: []any{old, changed, "x\ny"}, Err: "must not contain line breaks"},
		{Fn: "diff.unified", Args: []any{old, changed, rowtest.Named("context", int64(-1))}, Err: "negative"},
		{Fn: "diff.stats", Args: []any{old, changed}, Want: value.NewDict("added", int64(2), "removed", int64(1))},
		{Fn: "diff.stats", Args: []any{"a", "a\n"}, Want: value.NewDict("added", int64(1), "removed", int64(1))},
		{Fn: "diff.stats", Args: []any{"", ""}, Want: value.NewDict("added", int64(0), "removed", int64(0))},
	})
	all := rowtest.Must(t, modules(), "diff.unified", old, changed, rowtest.Named("context", int64(row.MaxText)))
	if want := rowtest.Must(t, modules(), "diff.unified", old, changed); all != want {
		t.Errorf("with all context it is %q, want %q", all, want)
	}
}

// A diff leads from one text to the other, and stats count its lines.
func TestDiffApplies(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "-\n", "\r\n"})
	text := rapid.Custom(func(r *rapid.T) string {
		lines := rapid.SliceOfN(line, 0, 60).Draw(r, "lines")
		return strings.Join(lines, "") + rapid.SampledFrom([]string{"", "end"}).Draw(r, "end")
	})
	rapid.Check(t, func(r *rapid.T) {
		old, changed := text.Draw(r, "old"), text.Draw(r, "new")
		context := rapid.Int64Range(0, 5).Draw(r, "context")
		diff := rowtest.Must(t, modules(), "diff.unified", old, changed, rowtest.Named("context", context)).(string)
		got, added, removed, err := diffApply(old, diff)
		if err != nil || got != changed {
			r.Fatalf("unified(%q, %q) = %q, which leads to %q, %v", old, changed, diff, got, err)
		}
		want := value.NewDict("added", added, "removed", removed)
		if stats := rowtest.Must(t, modules(), "diff.stats", old, changed); !value.Equal(stats, want) {
			r.Fatalf("stats(%q, %q) = %s, want %s", old, changed, rowtest.Show(stats), rowtest.Show(want))
		}
	})
}

// diffApply carries a unified diff out, strictly.
func diffApply(old, diff string) (result string, added, removed int64, err error) {
	rest := strings.SplitAfter(old, "\n")
	var b strings.Builder
	lines := strings.SplitAfter(diff, "\n")
	at := 0
	for i, l := range lines {
		if i < 2 || l == "" || l[0] == '\\' {
			continue
		}
		body := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			body = strings.TrimSuffix(body, "\n")
		}
		switch l[0] {
		case '@':
			var from, count int
			if n, _ := fmt.Sscanf(l, "@@ -%d,%d", &from, &count); n < 2 {
				count = 1
				fmt.Sscanf(l, "@@ -%d", &from)
			}
			for ; at < from-1; at++ {
				b.WriteString(rest[at])
			}
			continue
		case '+':
			added++
			b.WriteString(body)
			continue
		case '-':
			removed++
		case ' ':
			b.WriteString(body)
		}
		if at >= len(rest) || rest[at] != body {
			return "", 0, 0, fmt.Errorf("line %d of the diff, %q, does not fit", i+1, l)
		}
		at++
	}
	for ; at < len(rest); at++ {
		b.WriteString(rest[at])
	}
	return b.String(), added, removed, nil
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "b\na", int64(3))
	f.Add(strings.Repeat("x\ny\n", 200), strings.Repeat("y\nx\nz\n", 200), int64(1))
	f.Fuzz(func(t *testing.T, old, changed string, context int64) {
		old, changed = strings.ToValidUTF8(old, ""), strings.ToValidUTF8(changed, "")
		rowtest.Call(t, modules(), "diff.unified", old, changed, "a", "b", context)
		rowtest.Call(t, modules(), "diff.stats", old, changed)
	})
}
