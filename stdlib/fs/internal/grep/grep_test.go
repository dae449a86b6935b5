package grep

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// searched searches texts one after the other, and returns what it found and what it skipped.
func searched(t *testing.T, o Options, texts ...string) string {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, text := range texts {
		err := s.File(context.Background(), iotest.OneByteReader(strings.NewReader(text)),
			func(l Line) bool {
				mark := ":"
				if l.Context {
					mark = "-"
				}
				all = append(all, fmt.Sprintf("%d%s%.20s", l.Number, mark, l.Text))
				return true
			},
			func(line int64, why string) { all = append(all, fmt.Sprintf("%d skipped: %s", line, why)) })
		if err != nil {
			all = append(all, err.Error())
		}
	}
	return strings.Join(all, "; ")
}

func TestSearchSaysWhatItLeavesOut(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, tt := range []struct {
		texts []string
		most  int64
		want  string
	}{
		{[]string{"a\nneedle\r\nb\nneedle"}, 1000, "2:needle; 4:needle"},
		{[]string{"needle\x00"}, 1000, "binary file"},
		{[]string{long + "needle\nneedle"}, 1 << 20, "1 skipped: line too long: the last 6 bytes were not searched; 2:needle"},
		{[]string{"needle" + long + "\r\nneedle"}, 1 << 20, "1:needlexxxxxxxxxxxxxx; 2:needle"},
		{[]string{"needle\nneedle\n", "needle"}, 10, "1:needle; 2 skipped: the limit on searched bytes is reached: not searched from this line on; 0 skipped: the limit on searched bytes is reached"},
		{[]string{""}, 10, ""},
	} {
		if got := searched(t, Options{Pattern: "needle", Most: tt.most}, tt.texts...); got != tt.want {
			t.Errorf("a search of %.40q = %s, want %s", tt.texts, got, tt.want)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	const code = "func a() {\r\n\tx\r\n}\r\n\r\nfunc b() {\r\n\ty\r\n}"
	for _, tt := range []struct {
		name, text, want string
		o                Options
	}{
		{"UTF-16", "\xff\xfeh\x00i\x00\n\x00", "1:hi", Options{Pattern: "^hi$"}},
		{"a byte order mark", "\ufeffhello", "1:hello", Options{Pattern: "^hello"}},
		{"Latin-1", "a\ncaf\xe9", "2:café", Options{Pattern: "café"}},
		{"CR alone", "one\rtwo\rthree", "2:two", Options{Pattern: "^two$"}},
		{"before and after", "1\n2\nx\n4\n5\nx\nx\n8\n9\nx", "2-2; 3:x; 4-4; 5-5; 6:x; 7:x; 8-8; 9-9; 10:x", Options{Pattern: "x", Before: 1, After: 1}},
		{"after", "1\nx\n3\n4\n5", "2:x; 3-3; 4-4", Options{Pattern: "x", After: 2}},
		{"before", "1\n2\n3\nx", "2-2; 3-3; 4:x", Options{Pattern: "x", Before: 2}},
		{"a line break", code, "1:func a() {\n\tx", Options{Pattern: `a\(\) \{\n\tx`}},
		{"a literal line break", code, "5:func b() {\n\ty", Options{Pattern: "b() {\n\ty", Literal: true}},
		{"a line break in a class", code, "", Options{Pattern: `x\s+\}`}},
		{"many lines", code, "1:func a() {\n\tx\n}; 5:func b() {\n\ty\n}", Options{Pattern: `^func \w+\(\) \{\s+\w\s+\}$`, Multiline: true}},
		{"in any case", code, "1:func a() {\n\tx", Options{Pattern: "A() {\n\tX", Literal: true, IgnoreCase: true}},
		{"single lines", "a\nb\na", "1:a; 3:a", Options{Pattern: "^a$", Multiline: true}},
		{"two in a line", "aXaY\nb", "1:aXaY", Options{Pattern: "a", Multiline: true}},
		{"around lines", "1\n2\nx\ny\n5\n6", "2-2; 3:x\ny; 5-5", Options{Pattern: `x\ny`, Before: 1, After: 1}},
		{"an empty match", "a\n\nb", "2:", Options{Pattern: "^$", Multiline: true}},
		{"the end of a line", "a\nb\n", "1:a; 2:b", Options{Pattern: `\n`}},
		{"an empty pattern", "a\nb\n", "1:a; 2:b", Options{Pattern: "z*", Multiline: true}},
		{"nothing", "a\nb", "", Options{Pattern: `a\nc`}},
		{"too large", strings.Repeat("abcdefg\n", maxWhole/8) + "x", "0 skipped: larger than 8 MB, so not searched with a pattern for several lines", Options{Pattern: `a\nx`}},
	} {
		tt.o.Most = 1 << 30
		if got := searched(t, tt.o, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPart(t *testing.T) {
	text := "one\ntwo\r\n\nfour" + strings.Repeat("x", 100_000) + "\nfive"
	for _, tt := range []struct {
		first, count int64
		want         string
	}{
		{1, 2, "one\ntwo\r\n"}, {2, 1, "two\r\n"}, {3, 1, "\n"}, {5, 1, "five"}, {5, 100, "five"}, {6, 1, ""}, {1, 100, text},
	} {
		got, err := Part(context.Background(), strings.NewReader(text), tt.first, tt.count, 1<<20)
		if err != nil || string(got) != tt.want {
			t.Errorf("Part(%d, %d) = %.40q, %v, want %.40q", tt.first, tt.count, got, err, tt.want)
		}
	}
	if _, err := Part(context.Background(), strings.NewReader(text), 4, 1, 1000); value.KindOf(err) != value.Limit {
		t.Errorf("Part of a long line = %v, want a limit", err)
	}
}
