package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func slug(a *value.Dict) (value.Value, error) {
	separator := a.Text("separator")
	var b row.Builder
	gap := false
	for _, r := range a.Text("text") {
		letters := plainLetter(r)
		if letters == "" {
			// A combining accent belongs to the letter before it, and an apostrophe to
			// the word around it.
			gap = gap || !(unicode.Is(unicode.Mn, r) || r == '\'' || r == '’')
			continue
		}
		if gap && b.Len() > 0 {
			b.Add(separator)
		}
		gap = false
		if b.Add(letters); b.Full {
			break
		}
	}
	return b.Text()
}

// plainLetter returns a letter or digit in lower case and without an accent, or "" for
// anything else.
func plainLetter(r rune) string {
	if r < 0xc0 && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') || 0x300 <= r && r <= 0x36f {
		return ""
	}
	lower := string(unicode.ToLower(r))
	if base := norm.NFD.String(lower)[:1]; 'a' <= base[0] && base[0] <= 'z' {
		return base
	}
	if s := ligature(lower); s != "" {
		return s
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return lower
	}
	return ""
}

// ligature returns the ASCII form of a Latin letter that is not an ASCII letter with an
// accent, or "".
func ligature(letter string) string {
	const letters = "æae ððd øo þth ßss đd ħh ıi ĸk łl ŋn œoe ŧt ĳij ŀl ſs ẛs "
	i := strings.Index(letters, letter)
	if i < 0 || letter[0] < utf8.RuneSelf {
		return ""
	}
	s := letters[i+len(letter):]
	return s[:strings.IndexByte(s, ' ')]
}
