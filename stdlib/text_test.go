package stdlib

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func textCounts(words, lines, characters, bytes int64) *value.Dict {
	return value.NewDict("words", words, "lines", lines, "characters", characters, "bytes", bytes)
}

func TestTextMeasures(t *testing.T) {
	pureTable(t, false, []pureCase{
		{fn: "text.count", args: []any{""}, want: textCounts(0, 0, 0, 0)},
		{fn: "text.count", args: []any{"one"}, want: textCounts(1, 1, 3, 3)},
		{fn: "text.count", args: []any{" one\ttwo\r\n\n thrée\u00a0four\n"}, want: textCounts(4, 3, 23, 25)},
		{fn: "text.count", args: []any{"\n"}, want: textCounts(0, 1, 1, 1)},
		{fn: "text.count", args: []any{[]byte("x")}, err: "should be string"},

		{fn: "text.frequencies", args: []any{"b a b The the, a b"},
			want: value.NewDict("b", int64(3), "a", int64(2), "The", int64(1), "the,", int64(1))},
		{fn: "text.frequencies", args: []any{"b a b The the, «THE» a b -- don't", pureNamed{"fold", true}},
			want: value.NewDict("b", int64(3), "the", int64(3), "a", int64(2), "don't", int64(1))},
		{fn: "text.frequencies", args: []any{"b a b c", int64(2)}, want: value.NewDict("b", int64(2), "a", int64(1))},
		{fn: "text.frequencies", args: []any{"", int64(2)}, want: value.NewDict()},
		{fn: "text.frequencies", args: []any{"a", int64(-1)}, err: "must not be negative"},

		{fn: "text.similarity", args: []any{"kitten", "kitten"}, want: 1.0},
		{fn: "text.similarity", args: []any{"", ""}, want: 1.0},
		{fn: "text.similarity", args: []any{"abc", ""}, want: 0.0},
		{fn: "text.similarity", args: []any{"abc", "xyz"}, want: 0.0},
		{fn: "text.similarity", args: []any{"éa", "éb"}, want: 0.5},
		{fn: "text.similarity", args: []any{"abcd", "bcde"}, want: 0.5},
		{fn: "text.similarity", args: []any{strings.Repeat("x", 10_001), "x"}, err: "more than 10000"},

		{fn: "text.width", args: []any{"abc"}, want: int64(3)},
		{fn: "text.width", args: []any{"日本e\u0301😀"}, want: int64(7)},
		{fn: "text.width", args: []any{"👩\u200d👩\u200d👧"}, want: int64(2)},
		{fn: "text.width", args: []any{"\x1b\u200b한"}, want: int64(2)},
	})
}

func TestTextShapes(t *testing.T) {
	pureTable(t, false, []pureCase{
		{fn: "text.lines", args: []any{"a\r\n\nb\rc\n"}, want: value.List{"a", "", "b\rc"}},
		{fn: "text.lines", args: []any{""}, want: value.List{}},
		{fn: "text.lines", args: []any{"\n"}, want: value.List{""}},
		{fn: "text.lines", args: []any{"a"}, want: value.List{"a"}},

		{fn: "text.wrap", args: []any{"the quick brown fox", int64(10)}, want: "the quick\nbrown fox"},
		{fn: "text.wrap", args: []any{"short\n\nunbreakable word\n", int64(8)}, want: "short\n\nunbreakable\nword\n"},
		{fn: "text.wrap", args: []any{"  - a b c\r\n", int64(5)}, want: "  - a\nb c\r\n"},
		{fn: "text.wrap", args: []any{"日本 日本 日本", int64(9)}, want: "日本 日本\n日本"},
		{fn: "text.wrap", args: []any{"a   b"}, want: "a   b"},
		{fn: "text.wrap", args: []any{"a b", int64(0)}, err: "must be >= 1"},

		{fn: "text.dedent", args: []any{"    a\n\n      b\n   \n    c"}, want: "a\n\n  b\n\nc"},
		{fn: "text.dedent", args: []any{"\ta\n  b\n"}, want: "\ta\n  b\n"},
		{fn: "text.dedent", args: []any{"  a\r\n  b"}, want: "a\r\nb"},
		{fn: "text.dedent", args: []any{""}, want: ""},

		{fn: "text.indent", args: []any{"a\n\n  b", "> "}, want: "> a\n\n>   b"},
		{fn: "text.indent", args: []any{"a\n"}, want: "    a\n"},

		{fn: "text.truncate", args: []any{"héllo wörld", int64(8)}, want: "héllo w…"},
		{fn: "text.truncate", args: []any{"héllo", int64(5)}, want: "héllo"},
		{fn: "text.truncate", args: []any{"hello", int64(2), "..."}, want: ".."},
		{fn: "text.truncate", args: []any{"hello", int64(0)}, want: ""},
		{fn: "text.truncate", args: []any{"hello", int64(3), ""}, want: "hel"},
		{fn: "text.truncate", args: []any{"hello", int64(-1)}, err: "must be >= 0"},

		{fn: "text.slice", args: []any{"héllo", int64(1), int64(3)}, want: "él"},
		{fn: "text.slice", args: []any{"héllo", int64(-3)}, want: "llo"},
		{fn: "text.slice", args: []any{"héllo", int64(-99), int64(-3)}, want: "hé"},
		{fn: "text.slice", args: []any{"héllo", int64(3), int64(1)}, want: ""},
		{fn: "text.slice", args: []any{"héllo", int64(9), int64(99)}, want: ""},
		{fn: "text.slice", args: []any{"héllo"}, want: "héllo"},

		{fn: "text.normalize_space", args: []any{" a \n\t b\u00a0c  "}, want: "a b c"},

		{fn: "text.slug", args: []any{"Hello, World!"}, want: "hello-world"},
		{fn: "text.slug", args: []any{"  Crème Brûlée — Größe Ångström Æsir Łódź Đà Nẵng "}, want: "creme-brulee-grosse-angstrom-aesir-lodz-da-nang"},
		{fn: "text.slug", args: []any{"e\u0301te\u0301 don't don’t"}, want: "ete-dont-dont"},
		{fn: "text.slug", args: []any{"東京 Привет 42"}, want: "東京-привет-42"},
		{fn: "text.slug", args: []any{"a/b", "_"}, want: "a_b"},
		{fn: "text.slug", args: []any{"../..", "-"}, want: ""},
	})
}

func TestTextColumns(t *testing.T) {
	rows := value.List{value.NewDict("name", "tea", "price", 1.5), value.NewDict("name", "日本茶\n", "price", int64(12), "note", true)}
	pureTable(t, false, []pureCase{
		{fn: "text.pad_left", args: []any{"7", int64(3)}, want: "  7"},
		{fn: "text.pad_left", args: []any{"7", int64(3), "0"}, want: "007"},
		{fn: "text.pad_right", args: []any{"日本", int64(6)}, want: "日本  "},
		{fn: "text.pad_right", args: []any{"long", int64(2)}, want: "long"},
		{fn: "text.center", args: []any{"ab", int64(5), "*"}, want: "*ab**"},
		{fn: "text.center", args: []any{"ab", int64(3), "--"}, err: "one character of one column"},
		{fn: "text.center", args: []any{"ab", int64(3), "日"}, err: "one character of one column"},
		{fn: "text.center", args: []any{"ab", int64(-3)}, err: "negative"},

		{fn: "text.table", args: []any{rows}, want: "" +
			"name     price  note\n" +
			"-------  -----  ----\n" +
			"tea        1.5\n" +
			"日本茶      12  true\n"},
		{fn: "text.table", args: []any{rows, value.List{"price", "none"}}, want: "" +
			"price  none\n" +
			"-----  ----\n" +
			"  1.5\n" +
			"   12\n"},
		{fn: "text.table", args: []any{value.List{value.List{"a", int64(10)}, value.List{"bcd", int64(5), "x"}}}, want: "a    10\nbcd   5  x\n"},
		{fn: "text.table", args: []any{value.List{}, value.List{"a"}}, want: "a\n-\n"},
		{fn: "text.table", args: []any{value.List{}}, want: ""},
		{fn: "text.table", args: []any{value.List{value.List{"\x1b[31mred\t"}}}, want: " [31mred \n"},
		{fn: "text.table", args: []any{value.List{value.List{value.NewDict()}}}, err: "no cell can hold"},
	})
}

func TestTextWrapKeepsWordsAndWidth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab 日\u00a0\t"))).Draw(r, "text")
		width := rapid.IntRange(1, 20).Draw(r, "width")
		got := pureMust(t, "text.wrap", text, int64(width)).(string)
		if a, b := strings.Fields(got), strings.Fields(text); strings.Join(a, "|") != strings.Join(b, "|") {
			r.Fatalf("wrap(%q, %d) = %q, which has other words", text, width, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if textWidth(line) > width && len(strings.Fields(line)) > 1 {
				r.Fatalf("wrap(%q, %d) = %q, where %q is too wide", text, width, got, line)
			}
		}
	})
}

func TestTextCountAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a \n\r\t\u0085\u2028é")))).Draw(r, "text")
		got := pureMust(t, "text.count", text)
		lines := len(pureMust(t, "text.lines", text).(value.List))
		want := textCounts(int64(len(strings.Fields(text))), int64(lines), int64(utf8.RuneCountInString(text)), int64(len(text)))
		if !value.Equal(got, want) {
			r.Fatalf("count(%q) = %s, want %s", text, pureShow(got), pureShow(want))
		}
	})
}

func textMillionWords() string {
	var b strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&b, "word%d", i%5000)
		b.WriteByte(" \n"[i%12/11])
	}
	return b.String()
}

func BenchmarkTextCount(b *testing.B) {
	text := textMillionWords()
	b.Run("text.count", func(b *testing.B) {
		f := pureFind(b, "text.count")
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			args, _ := f.Bind([]value.Value{text}, nil)
			out, err := f.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{})
			if err != nil || out.Value.(*value.Dict).Int("words") != 1_000_000 {
				b.Fatal(out, err)
			}
		}
	})
	b.Run("strings.Fields", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			n := 0
			for _, word := range strings.Fields(text) {
				if word != "" {
					n++
				}
			}
			if n != 1_000_000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("text.frequencies", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			pureMust(b, "text.frequencies", text, int64(10))
		}
	})
}
