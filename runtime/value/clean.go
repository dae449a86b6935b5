package value

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxErrorText is how much of the text of an error is kept, in bytes.
const MaxErrorText = 4 << 10

// Clean makes untrusted text safe to show. The result is valid UTF-8 of at most n
// bytes, with a "…" where it was cut. Control characters and characters that change the text
// direction are escaped as in JSON, as in \u202e, and bytes that are not UTF-8 as in \xff: two
// texts that differ stay different. A carriage return before a line end is dropped. The result is a copy,
// so it does not keep a long message in memory.
func Clean(text string, n int) string {
	if len(text) <= n && utf8.ValidString(text) && !strings.ContainsFunc(text, steers) {
		return strings.Clone(text)
	}
	var b strings.Builder
	for i, r := range text {
		size := utf8.RuneLen(r)
		part := ""
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(r)):
			size, part = 1, fmt.Sprintf(`\x%02x`, text[i])
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
			continue
		case steers(r):
			part = fmt.Sprintf(`\u%04x`, r)
		default:
			part = text[i : i+size]
		}
		if b.Len()+len(part) > n {
			b.WriteString("…")
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// steers reports whether a character could control a terminal, or change the text direction.
func steers(r rune) bool {
	return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
