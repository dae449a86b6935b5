package draw

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/markdown"
)

// TestLongLines draws lines that are read in parts, since the time for one grows faster than it, and streams them to the same lines.
func TestLongLines(t *testing.T) {
	s := Screen{Width: 80}
	for _, part := range []string{"[a](http://", "> ", "_a*b`c", "- "} {
		if lines := s.Markdown(strings.Repeat(part, 30_000/len(part)) + "end"); len(lines) == 0 {
			t.Errorf("a line of %q: nothing was drawn", part)
		}
		deep := s.Markdown(strings.Repeat(part, 200) + "end")
		for _, line := range deep {
			if Cells(line) >= s.Width {
				t.Errorf("a line of %q: %q has %d cells", part, line, Cells(line))
			}
		}
	}
	for _, text := range []string{strings.Repeat("word ", 5000), strings.Repeat("x", 3*markdown.MaxLine) + "\nend", strings.Repeat("漢", markdown.MaxLine)} {
		var m Stream
		var out strings.Builder
		for piece := range strings.SplitSeq(text, "d") {
			out.WriteString(m.Add(s, piece+"d"))
		}
		out.WriteString(m.End(s))
		lines := s.Markdown(text + "d")
		if got := out.String(); !strings.HasSuffix(got, lines[len(lines)-1]+"\n") || strings.Count(got, "\n") != len(lines) {
			t.Errorf("%.20q: the stream has %d lines, want %d", text, strings.Count(got, "\n"), len(lines))
		}
	}
}

// TestExcerptNarrow checks that the line of a script fits a narrow terminal.
func TestExcerptNarrow(t *testing.T) {
	for _, line := range (Screen{Width: 20}).Excerpt("  110", "reply = agent.ask(message, results = results)", 18, 1) {
		if Cells(line) >= 20 {
			t.Errorf("%q has %d cells", line, Cells(line))
		}
	}
}
