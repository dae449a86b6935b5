package draw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// seen returns what is on a terminal after it got a text: a return and an erasure of the line replace it.
func seen(t interface{ Fatalf(string, ...any) }, text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if at := strings.LastIndex(line, "\r\x1b[K"); at >= 0 {
			line = line[at+len("\r\x1b[K"):]
		}
		if strings.Contains(line, "\r") {
			t.Fatalf("a return without an erasure: %q", line)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// streamed returns what a stream writes for pieces.
func streamed(s Screen, margin bool, pieces ...string) string {
	m := &Stream{Margin: margin}
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(m.Add(s, piece))
	}
	return b.String() + m.End(s)
}

const streamedPage = "# A title\n\nSome **bold words that are** long and `code`, a *b* 2 * 3 snake_case, [1] and [a\nlink](https://x.example/a_b_c) & more of it.\n" +
	"- one **two\n  three** four\n- two\n\n  more\n\n1. a\n2. `b` | c\n---\n| name | n |\n|---|--:|\n| a **b** | 1 |\nc | 22\n\n> quote\n> * item\n\n" +
	"```go\nfunc main() {\n\n\t// a line that is longer than the terminal\n}\n```\nend <b>x</b> **open"

func TestStream(t *testing.T) {
	t.Parallel()
	for _, s := range []Screen{{Width: 30}, {Width: 80, Color: true}, {Width: 20, ASCII: true}, {Width: 40, Plain: true, ASCII: true}} {
		want := strings.Join(s.Markdown(streamedPage), "\n") + "\n"
		for size := 1; size < len(streamedPage); size += 1 + size/3 {
			var pieces []string
			for rest := streamedPage; rest != ""; rest = rest[min(size, len(rest)):] {
				pieces = append(pieces, rest[:min(size, len(rest))])
			}
			if diff := cmp.Diff(want, seen(t, streamed(s, false, pieces...))); diff != "" {
				t.Fatalf("in pieces of %d on %+v (-want +got):\n%s", size, s, diff)
			}
		}
	}
}

// TestStreamBreaks streams lines that end with a backslash, which counts as a character until the next line has come.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"- [x] dek\\\nckefmazg", "one two\\\nthree", "one two\\\\\nthree", "> abcd efg\\\nh\\\ni", "one two  \nthree"} {
		for width := 8; width < 14; width++ {
			s := Screen{Width: width}
			want := strings.Join(s.Markdown(text), "\n") + "\n"
			for size := 1; size <= len(text); size++ {
				var pieces []string
				for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
					pieces = append(pieces, rest[:min(size, len(rest))])
				}
				if diff := cmp.Diff(want, seen(t, streamed(s, false, pieces...))); diff != "" {
					t.Errorf("%q in pieces of %d, in %d cells (-want +got):\n%s", text, size, width, diff)
				}
			}
		}
	}
}

// TestStreamAny cuts any Markdown into any pieces: the screen is the same at the end.
func TestStreamAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := Screen{Width: rapid.SampledFrom([]int{12, 20, 40, 80}).Draw(r, "width"), Color: rapid.Bool().Draw(r, "color")}
		margin := rapid.Bool().Draw(r, "margin")
		var b strings.Builder
		for range rapid.IntRange(1, 30).Draw(r, "parts") {
			b.WriteString(rapid.SampledFrom([]string{"\n", "\n\n", "  \n", "# ", "- ", "  - ", "> ", "1. ", "7) ", "**", "*", "_", "`", "```\n", "~~", "<div>", "<b>", "[x](y) ", "[x]", "![a](b)",
				"---", "===", "|", "| a | b |\n|---|:-:|\n", "\\", "&amp;", "    ", "\t", "日本", "- [x] "}).Draw(r, "mark"))
			b.WriteString(rapid.StringMatching(`[a-z ]{0,20}`).Draw(r, "text"))
		}
		text := b.String()
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "piece")
			n = min(n, rapid.SampledFrom([]int{1, 3, 1000}).Draw(r, "most"))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		all := func(pieces ...string) string { // a word may be bold in parts
			text := strings.ReplaceAll(seen(r, streamed(s, margin, pieces...)), "\x1b[0m\x1b[1m", "")
			return strings.TrimRight(text, "\n│\x1b[0m2") // an empty line before what turns out to be empty
		}
		once, cut := all(text), all(pieces...)
		if diff := cmp.Diff(once, cut); diff != "" {
			t.Fatalf("%q in pieces %q (-once +cut):\n%s", text, pieces, diff)
		}
		for line := range strings.SplitSeq(once, "\n") {
			if margin && Cells(line) >= s.Width || margin && line != "" && !strings.HasPrefix(unpaint(line, 0), "│") && !strings.HasPrefix(unpaint(line, 0), "┊") {
				t.Fatalf("a line leaves the margin: %q", line)
			}
		}
	})
}

// TestStreamWhileItComes shows the line that is being written, and nothing twice.
func TestStreamWhileItComes(t *testing.T) {
	t.Parallel()
	s, m := Screen{Width: 20}, &Stream{}
	var all strings.Builder
	for _, step := range []struct{ piece, want string }{
		{"Some **bo", "Some **bo"},
		{"ld** words", "Some bold words"},
		{" that are long", "Some bold words\nthat are long"},
		{"\n\n| a | b |\n", "Some bold words\nthat are long\n\n| a | b |"},
		{"|---|---|\n| 1 | 2 |\n", "Some bold words\nthat are long\n\n1  2"},
		{"\nEnd", "Some bold words\nthat are long\n\na  b\n1  2\n\nEnd"},
	} {
		all.WriteString(m.Add(s, step.piece))
		if got := seen(t, all.String()); got != step.want {
			t.Errorf("after %q it shows %q, want %q", step.piece, got, step.want)
		}
	}
	all.WriteString(m.Add(s, " of it, on a terminal that was"))
	all.WriteString(m.Add(Screen{Width: 8}, " wide before it")) // the block stays as it began, but for the line with the cursor
	if got, want := seen(t, all.String()), "\nEnd of it, on a\nterminal that was\nwide b…"; !strings.HasSuffix(got, want) {
		t.Errorf("on a narrow terminal it shows %q, want %q", got, want)
	}
	all.WriteString(m.End(Screen{Width: 8}))
	if got, want := seen(t, all.String()), "\nEnd of it, on a\nterminal that was\nwide before it\n"; !strings.HasSuffix(got, want) {
		t.Errorf("at the end it shows %q, want %q", got, want)
	}
}

// TestStreamLong draws long lines, which come in small pieces.
func TestStreamLong(t *testing.T) {
	t.Parallel()
	size := testutil.Times(1<<14, 1<<17)
	for _, word := range []string{"x", "word ", "| ", "**a ", "[", "- a\n"} {
		m, n, s := &Stream{Margin: true}, 0, Screen{Width: 80}
		for range size / len(word) / 64 {
			n += len(m.Add(s, strings.Repeat(word, 64)))
		}
		if n += len(m.End(s)); n > 32*size {
			t.Errorf("much of %q writes %d bytes", word, n)
		}
	}
}
