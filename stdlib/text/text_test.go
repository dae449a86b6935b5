package text

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func counts(words, lines, characters, bytes int64) *value.Dict {
	return value.NewDict("words", words, "lines", lines, "characters", characters, "bytes", bytes)
}

func TestTextMeasures(t *testing.T) {
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "text.count", Args: []any{""}, Want: counts(0, 0, 0, 0)},
		{Fn: "text.count", Args: []any{"one"}, Want: counts(1, 1, 3, 3)},
		{Fn: "text.count", Args: []any{" one\ttwo\r\n\n thrée\u00a0four\n"}, Want: counts(4, 3, 23, 25)},
		{Fn: "text.count", Args: []any{"\n"}, Want: counts(0, 1, 1, 1)},
		{Fn: "text.count", Args: []any{[]byte("x")}, Err: "should be string"},

		{Fn: "text.frequencies", Args: []any{"b a b The the, a b"},
			Want: value.NewDict("b", int64(3), "a", int64(2), "The", int64(1), "the,", int64(1))},
		{Fn: "text.frequencies", Args: []any{"b a b The the, «THE» a b -- don't", rowtest.Named("fold", true)},
			Want: value.NewDict("b", int64(3), "the", int64(3), "a", int64(2), "don't", int64(1))},
		{Fn: "text.frequencies", Args: []any{"b a b c", int64(2)}, Want: value.NewDict("b", int64(2), "a", int64(1))},
		{Fn: "text.frequencies", Args: []any{"", int64(2)}, Want: value.NewDict()},
		{Fn: "text.frequencies", Args: []any{"a", int64(-1)}, Err: "must not be negative"},

		{Fn: "text.similarity", Args: []any{"kitten", "kitten"}, Want: 1.0},
		{Fn: "text.similarity", Args: []any{"", ""}, Want: 1.0},
		{Fn: "text.similarity", Args: []any{"abc", ""}, Want: 0.0},
		{Fn: "text.similarity", Args: []any{"abc", "xyz"}, Want: 0.0},
		{Fn: "text.similarity", Args: []any{"éa", "éb"}, Want: 0.5},
		{Fn: "text.similarity", Args: []any{"abcd", "bcde"}, Want: 0.5},
		{Fn: "text.similarity", Args: []any{strings.Repeat("x", 10_001), "x"}, Err: "the text is longer than 10000 characters"},

		{Fn: "text.width", Args: []any{"abc"}, Want: int64(3)},
		{Fn: "text.width", Args: []any{"日本e\u0301😀"}, Want: int64(7)},
		{Fn: "text.width", Args: []any{"👩\u200d👩\u200d👧"}, Want: int64(2)},
		{Fn: "text.width", Args: []any{"\x1b\u200b한"}, Want: int64(2)},
	})
}

func TestTextShapes(t *testing.T) {
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "text.lines", Args: []any{"a\r\n\nb\rc\n"}, Want: value.List{"a", "", "b\rc"}},
		{Fn: "text.lines", Args: []any{""}, Want: value.List{}},
		{Fn: "text.lines", Args: []any{"\n"}, Want: value.List{""}},
		{Fn: "text.lines", Args: []any{"a"}, Want: value.List{"a"}},

		{Fn: "text.wrap", Args: []any{"the quick brown fox", int64(10)}, Want: "the quick\nbrown fox"},
		{Fn: "text.wrap", Args: []any{"short\n\nunbreakable word\n", int64(8)}, Want: "short\n\nunbreakable\nword\n"},
		{Fn: "text.wrap", Args: []any{"  - a b c\r\n", int64(5)}, Want: "  - a\nb c\r\n"},
		{Fn: "text.wrap", Args: []any{"日本 日本 日本", int64(9)}, Want: "日本 日本\n日本"},
		{Fn: "text.wrap", Args: []any{"a   b"}, Want: "a   b"},
		{Fn: "text.wrap", Args: []any{"a b", int64(0)}, Err: "must be >= 1"},

		{Fn: "text.dedent", Args: []any{"    a\n\n      b\n   \n    c"}, Want: "a\n\n  b\n\nc"},
		{Fn: "text.dedent", Args: []any{"\ta\n  b\n"}, Want: "\ta\n  b\n"},
		{Fn: "text.dedent", Args: []any{"  a\r\n  b"}, Want: "a\r\nb"},
		{Fn: "text.dedent", Args: []any{""}, Want: ""},

		{Fn: "text.indent", Args: []any{"a\n\n  b", "> "}, Want: "> a\n\n>   b"},
		{Fn: "text.indent", Args: []any{"a\n"}, Want: "    a\n"},

		{Fn: "text.truncate", Args: []any{"héllo wörld", int64(8)}, Want: "héllo w…"},
		{Fn: "text.truncate", Args: []any{"héllo", int64(5)}, Want: "héllo"},
		{Fn: "text.truncate", Args: []any{"hello", int64(2), "..."}, Want: ".."},
		{Fn: "text.truncate", Args: []any{"hello", int64(0)}, Want: ""},
		{Fn: "text.truncate", Args: []any{"hello", int64(3), ""}, Want: "hel"},
		{Fn: "text.truncate", Args: []any{"hello", int64(-1)}, Err: "must be >= 0"},

		{Fn: "text.slice", Args: []any{"héllo", int64(1), int64(3)}, Want: "él"},
		{Fn: "text.slice", Args: []any{"héllo", int64(-3)}, Want: "llo"},
		{Fn: "text.slice", Args: []any{"héllo", int64(-99), int64(-3)}, Want: "hé"},
		{Fn: "text.slice", Args: []any{"héllo", int64(3), int64(1)}, Want: ""},
		{Fn: "text.slice", Args: []any{"héllo", int64(9), int64(99)}, Want: ""},
		{Fn: "text.slice", Args: []any{"héllo"}, Want: "héllo"},

		{Fn: "text.normalize_space", Args: []any{" a \n\t b\u00a0c  "}, Want: "a b c"},

		{Fn: "text.slug", Args: []any{"Hello, World!"}, Want: "hello-world"},
		{Fn: "text.slug", Args: []any{"  Crème Brûlée — Größe Ångström Æsir Łódź Đà Nẵng "}, Want: "creme-brulee-grosse-angstrom-aesir-lodz-da-nang"},
		{Fn: "text.slug", Args: []any{"e\u0301te\u0301 don't don’t"}, Want: "ete-dont-dont"},
		{Fn: "text.slug", Args: []any{"東京 Привет 42"}, Want: "東京-привет-42"},
		{Fn: "text.slug", Args: []any{"a/b", "_"}, Want: "a_b"},
		{Fn: "text.slug", Args: []any{"../..", "-"}, Want: ""},
	})
}

func TestTextColumns(t *testing.T) {
	rows := value.List{value.NewDict("name", "tea", "price", 1.5), value.NewDict("name", "日本茶\n", "price", int64(12), "note", true)}
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "text.pad_left", Args: []any{"7", int64(3)}, Want: "  7"},
		{Fn: "text.pad_left", Args: []any{"7", int64(3), "0"}, Want: "007"},
		{Fn: "text.pad_right", Args: []any{"日本", int64(6)}, Want: "日本  "},
		{Fn: "text.pad_right", Args: []any{"long", int64(2)}, Want: "long"},
		{Fn: "text.center", Args: []any{"ab", int64(5), "*"}, Want: "*ab**"},
		{Fn: "text.center", Args: []any{"ab", int64(3), "--"}, Err: "one character that is one column wide"},
		{Fn: "text.center", Args: []any{"ab", int64(3), "日"}, Err: "one character that is one column wide"},
		{Fn: "text.center", Args: []any{"ab", int64(-3)}, Err: "negative"},

		{Fn: "text.table", Args: []any{rows}, Want: "" +
			"name     price  note\n" +
			"-------  -----  ----\n" +
			"tea        1.5\n" +
			"日本茶      12  true\n"},
		{Fn: "text.table", Args: []any{rows, value.List{"price", "none"}}, Want: "" +
			"price  none\n" +
			"-----  ----\n" +
			"  1.5\n" +
			"   12\n"},
		{Fn: "text.table", Args: []any{value.List{value.List{"a", int64(10)}, value.List{"bcd", int64(5), "x"}}}, Want: "a    10\nbcd   5  x\n"},
		{Fn: "text.table", Args: []any{value.List{}, value.List{"a"}}, Want: "a\n-\n"},
		{Fn: "text.table", Args: []any{value.List{}}, Want: ""},
		{Fn: "text.table", Args: []any{value.List{value.List{"\x1b[31mred\t"}}}, Want: "\\u001b[31mred \n"},
		{Fn: "text.table", Args: []any{value.List{value.List{value.NewDict()}}}, Err: "a cell cannot hold"},
	})
}

func TestTextWrapKeepsWordsAndWidth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab 日\u00a0\t"))).Draw(r, "text")
		width := rapid.IntRange(1, 20).Draw(r, "width")
		got := rowtest.Must(t, modules(), "text.wrap", text, int64(width)).(string)
		if a, b := strings.Fields(got), strings.Fields(text); strings.Join(a, "|") != strings.Join(b, "|") {
			r.Fatalf("wrap(%q, %d) = %q, which has other words", text, width, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if displayWidth(line) > width && len(strings.Fields(line)) > 1 {
				r.Fatalf("wrap(%q, %d) = %q, where %q is too wide", text, width, got, line)
			}
		}
	})
}

func TestTextCountAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a \n\r\t\u0085\u2028é")))).Draw(r, "text")
		got := rowtest.Must(t, modules(), "text.count", text)
		lines := len(rowtest.Must(t, modules(), "text.lines", text).(value.List))
		want := counts(int64(len(strings.Fields(text))), int64(lines), int64(utf8.RuneCountInString(text)), int64(len(text)))
		if !value.Equal(got, want) {
			r.Fatalf("count(%q) = %s, want %s", text, rowtest.Show(got), rowtest.Show(want))
		}
	})
}

func millionWords() string {
	var b strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&b, "word%d", i%5000)
		b.WriteByte(" \n"[i%12/11])
	}
	return b.String()
}

func BenchmarkTextCount(b *testing.B) {
	text := millionWords()
	b.Run("text.count", func(b *testing.B) {
		f := rowtest.Find(b, modules(), "text.count")
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
			rowtest.Must(b, modules(), "text.frequencies", text, int64(10))
		}
	})
}
