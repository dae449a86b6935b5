package lsp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/assist"
)

func TestPositions(t *testing.T) {
	const text = "aä𝄞z\r\nb\rc\n"
	for _, tt := range []struct {
		at     position
		offset int
	}{
		{position{0, 0}, 0}, {position{0, 1}, 1}, {position{0, 2}, 3}, {position{0, 3}, 3}, {position{0, 4}, 7}, {position{0, 5}, 8},
		{position{0, 99}, 8}, {position{1, 0}, 10}, {position{1, 9}, 11}, {position{2, 0}, 12}, {position{3, 0}, 14}, {position{3, 1}, 14}, {position{99, 0}, 14},
	} {
		if got := offsetOf(text, tt.at); got != tt.offset {
			t.Errorf("offsetOf(%v) = %d, want %d", tt.at, got, tt.offset)
		}
	}
	for offset, want := range map[int]position{0: {0, 0}, 3: {0, 2}, 7: {0, 4}, 8: {0, 5}, 10: {1, 0}, 12: {2, 0}, 14: {3, 0}, 99: {3, 0}, -1: {0, 0}} {
		if got := positionOf(text, offset); got != want {
			t.Errorf("positionOf(%d) = %v, want %v", offset, got, want)
		}
	}
}

// TestManySymbols has the longest text with the most functions: its lines are counted once, and not
// for each of them.
func TestManySymbols(t *testing.T) {
	const function = "def f():\n    pass\n"
	text := strings.Repeat(function, maxText/len(function))
	symbols := symbolsOf(newIndex(text), assist.Read(assist.Starlark, text).Symbols())
	if len(symbols) == 0 {
		t.Fatal("no symbols")
	}
	last := symbols[len(symbols)-1]
	want := textRange{position{uint32(2 * (len(symbols) - 1)), 4}, position{uint32(2 * (len(symbols) - 1)), 5}}
	if last.SelectionRange != want {
		t.Errorf("the last of %d functions is at %v, want %v", len(symbols), last.SelectionRange, want)
	}
}

func TestURIs(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b%20c/%C3%A4.star": "/a/b c/ä.star", "file:///a/../b": "/b", "file://localhost/a": "/a", "file://other/a": "",
		"http://x/a": "", "untitled:1": "", "": "", "%": "", "file:": "", "file:///a%00b": "",
	} {
		if got := pathOf(uri); got != want {
			t.Errorf("pathOf(%q) = %q, want %q", uri, got, want)
		}
	}
	for _, path := range []string{"/a b/ä#?.star", "/100%"} {
		if got := pathOf(uriOf(path)); got != path {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}

// FuzzPositions checks that each offset of a character has a position which leads back to it, and
// that each position has an offset in the text.
func FuzzPositions(f *testing.F) {
	f.Add("aä𝄞z\r\nb\rc\n", uint32(1), uint32(3))
	f.Add("\r\r\n\n\r", uint32(2), uint32(0))
	f.Fuzz(func(t *testing.T, text string, line, character uint32) {
		if !utf8.ValidString(text) || len(text) > 1<<12 {
			return
		}
		if at := offsetOf(text, position{line, character}); at < 0 || at > len(text) || at < len(text) && !utf8.RuneStart(text[at]) {
			t.Errorf("offsetOf(%d, %d) = %d in %q", line, character, at, text)
		}
		for offset := range text + "x" {
			if offset > 0 && offset < len(text) && text[offset-1] == '\r' && text[offset] == '\n' {
				continue // inside of a line break
			}
			if got := offsetOf(text, positionOf(text, offset)); got != offset {
				t.Fatalf("the offset %d of %q becomes %v and then %d", offset, text, positionOf(text, offset), got)
			}
		}
	})
}
