package visible

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 100) + "X" + strings.Repeat("b", 100)
	for _, test := range []struct {
		name                    string
		line                    string
		column, length, columns int
		text, carets            string
	}{
		{"a column", "    return n // 0", 14, 1, 80, "return n // 0", "         ^"},
		{"some characters", "\tfs.reed(x)", 2, 7, 80, "fs.reed(x)", "^^^^^^^"},
		{"unknown", "  local x = y.z  ", 0, 0, 80, "local x = y.z", "^^^^^^^^^^^^^"},
		{"in the indentation", "    x", 2, 1, 80, "x", "^"},
		{"behind the end", "x = (", 6, 1, 80, "x = (", "     ^"},
		{"far behind the end", "x = (", 600, 5, 80, "x = (", "     ^"},
		{"empty", "", 1, 1, 80, "", "^"},
		{"wide characters", "x = \"日本\" + 1 // 0", 15, 1, 80, "x = \"日本\" + 1 // 0", "                ^"},
		{"combining characters", "x = \"e\u0301\" // 0", 10, 1, 80, "x = \"e⟨U+0301⟩\" // 0", "                ^"},
		{"invisible", "x = \"\u202e\" + 1", 9, 1, 80, "x = \"⟨U+202E⟩\" + 1", "               ^"},
		{"at a mark", "x = \u202e", 5, 1, 80, "x = ⟨U+202E⟩", "    ^^^^^^^^"},
		{"escape sequence", "\x1b[31mred", 6, 3, 80, "⟨U+001B⟩[31mred", "            ^^^"},
		{"cut", long, 101, 1, 22, "…" + strings.Repeat("a", 10) + "X" + strings.Repeat("b", 9) + "…", strings.Repeat(" ", 11) + "^"},
		{"cut at the end", long, 1, 1, 22, strings.Repeat("a", 20) + "…", "^"},
		{"cut at the start", long, 201, 1, 22, "…" + strings.Repeat("b", 10) + "b", strings.Repeat(" ", 11) + "^"},
		{"very long", strings.Repeat("日", 50_000) + "x // 0" + strings.Repeat("ü", 50_000), 50_003, 2, 22, "…" + strings.Repeat("日", 4) + "x // 0" + strings.Repeat("ü", 6) + "…", "           ^^"},
		{"unknown and cut", long, 0, 0, 22, strings.Repeat("a", 20) + "…", strings.Repeat("^", 20)},
	} {
		text, carets := Excerpt(test.line, test.column, test.length, test.columns)
		if text != test.text || carets != test.carets {
			t.Errorf("%s:\n%q\n%q, want\n%q\n%q", test.name, text, carets, test.text, test.carets)
		}
	}
}

// FuzzExcerpt checks that an excerpt fits its columns, and has one caret at least.
func FuzzExcerpt(f *testing.F) {
	f.Add("  x = \u202e日 // 0", 5, 2, 40)
	f.Add("\x1b]0;\xff", 0, 0, 1)
	f.Add(strings.Repeat(" ", 90)+"x", 91, -1, 30)
	f.Fuzz(func(t *testing.T, line string, column, length, columns int) {
		line, _, _ = strings.Cut(line, "\n")
		columns %= 500
		text, carets := Excerpt(line, column, length, columns)
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			t.Errorf("Excerpt(%q) = %q", line, text)
		}
		if !strings.Contains(carets, "^") && strings.Trim(line, " \t") != "" {
			t.Errorf("Excerpt(%q, %d, %d) has no caret: %q %q", line, column, length, text, carets)
		}
		longest := 0 // a mark is not cut
		for _, c := range cellsOf(line) {
			longest = max(longest, c.width)
		}
		if got := Width(text); got > max(columns, 20)+longest {
			t.Errorf("Excerpt(%q, %d, %d, %d) takes %d columns: %q", line, column, length, columns, got, text)
		}
	})
}
