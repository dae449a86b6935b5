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
func searched(t *testing.T, pattern string, most int64, texts ...string) string {
	t.Helper()
	s, err := New(pattern, false, false, most)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, text := range texts {
		err := s.File(context.Background(), iotest.OneByteReader(strings.NewReader(text)),
			func(line int64, text string) bool {
				all = append(all, fmt.Sprintf("%d:%.20s", line, text))
				return true
			},
			func(line int64, why string) { all = append(all, fmt.Sprintf("%d skipped: %s", line, why)) })
		if err != nil {
			t.Fatal(err)
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
		{[]string{"needle\x00"}, 1000, ""},
		{[]string{long + "needle\nneedle"}, 1 << 20, "1 skipped: line too long: the last 6 bytes were not searched; 2:needle"},
		{[]string{"needle" + long + "\r\nneedle"}, 1 << 20, "1:needlexxxxxxxxxxxxxx; 2:needle"},
		{[]string{"needle\nneedle\n", "needle"}, 10, "1:needle; 2 skipped: the limit on searched bytes is reached: not searched from this line on; 0 skipped: the limit on searched bytes is reached"},
		{[]string{""}, 10, ""},
	} {
		if got := searched(t, "needle", tt.most, tt.texts...); got != tt.want {
			t.Errorf("a search of %.40q = %s, want %s", tt.texts, got, tt.want)
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
