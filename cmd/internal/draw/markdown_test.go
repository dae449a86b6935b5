package draw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source string
		screen       Screen
		want         string
	}{
		{"a page", "# Title\n\nSome **bold words** and `code`, a [link](https://x.example/a), <https://y.example>\nand *more* &amp; \\*that\\*.\n\n---\n", Screen{Width: 80}, `
Title

Some bold words and ` + "`code`" + `, a link (https://x.example/a), https://y.example and
more & *that*.

────────────────────
`},
		{"lists", "- one\n- two words that are long\n  1. inner\n  2. other\n- [x] done\n\nafter\n\n3. three\n4. four\n", Screen{Width: 20}, `
• one
• two words that
  are long
  1. inner
  2. other
• [x] done

after

3. three
4. four
`},
		{"a loose list", "- one\n\n  more\n\n- two\n", Screen{Width: 80, ASCII: true}, `
- one

  more

- two
`},
		{"a quote", "> first\n> second line that is long\n>\n> - item\n", Screen{Width: 20}, `
▏ first second line
▏ that is long
▏
▏ • item
`},
		{"code", "```go\nfunc main() {\n\tx := \"a long line that stays as it is\"\n}\n```\n\n    indented\n", Screen{Width: 30}, `
    go
    func main() {
        x := "a long line that stays as it is"
    }

    indented
`},
		{"a diff", "```diff\n-a\n+b\n c\n```\n", Screen{Width: 80, Color: true}, "\n    \x1b[2mdiff\x1b[0m\n    \x1b[31m-\x1b[0ma\n    \x1b[32m+\x1b[0mb\n     c\n"},
		{"a table", "| name | n |\n|---|--:|\n| a **b** | 1 |\n| c | 22 |\n", Screen{Width: 80}, `
name   n
a b    1
c     22
`},
		{"a wide table", "| name | text |\n|---|---|\n| a | some words that do not fit |\n| b | c |\n", Screen{Width: 24}, `
name  a
text  some words that
      do not fit

name  b
text  c
`},
		{"HTML and images", "<b>x</b> ![alt](i.png)\n\n<div>\ny\n</div>\n", Screen{Width: 80}, "\n<b>x</b> image: alt (i.png)\n\n<div>\ny\n</div>\n"},
		{"colours", "# A b\n\n**c d**", Screen{Width: 80, Color: true}, "\n\x1b[1mA\x1b[0m \x1b[1mb\x1b[0m\n\n\x1b[1mc\x1b[0m \x1b[1md\x1b[0m\n"},
		{"a character that nobody sees", "a&#x202e;b &zwj;", Screen{Width: 80}, "\na&#x202e;b &zwj;\n"},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), strings.Join(c.screen.Markdown(c.source), "\n")+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestMarkdownFits draws any Markdown: nothing but code is wider than the screen, and each letter is there.
func TestMarkdownFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := Screen{Width: rapid.SampledFrom([]int{20, 40, 80}).Draw(r, "width"), ASCII: rapid.Bool().Draw(r, "ascii")}
		var b strings.Builder
		for range rapid.IntRange(1, 20).Draw(r, "lines") {
			b.WriteString(rapid.SampledFrom([]string{"", "# ", "- ", "  - ", "> ", "1. ", "**", "<div>", "[x](y) ", "~~", "---"}).Draw(r, "begin"))
			b.WriteString(rapid.StringMatching(`[a-z日 *_<>-]{0,60}`).Draw(r, "text") + "\n")
		}
		got := s.Markdown(b.String())
		for _, line := range got {
			if Cells(line) >= s.Width && !strings.HasPrefix(strings.TrimLeft(line, "▏| •-0123456789."), "    ") && !strings.Contains(line, "    ") {
				t.Fatalf("a line of %d cells on a screen of %d: %q\nof:\n%s", Cells(line), s.Width, line, b.String())
			}
		}
		left := letters(b.String())
		for _, c := range letters(strings.Join(got, "")) {
			if left != "" && rune(left[0]) == c {
				left = left[1:]
			}
		}
		if left != "" {
			t.Fatalf("%q is lost in:\n%s\nof:\n%s", left, strings.Join(got, "\n"), b.String())
		}
	})
}

// letters returns the small letters of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, text)
}
