package value

import (
	"strings"
	"unicode"
)

// MaxErrorText is how much of the text of an error is kept, in bytes.
const MaxErrorText = 4 << 10

// Clean makes untrusted text safe to show. The result is valid UTF-8 of at most n
// bytes, with a "…" where it was cut, and without control characters and characters
// that change the text direction. It is a copy, so it does not keep a long message in
// memory.
func Clean(text string, n int) string {
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return strings.Clone(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
}
