package value

import (
	"strings"
	"unicode"
)

// Clean makes a text that others wrote fit to be shown: valid UTF-8, at most n
// bytes and a mark that it was longer, and without what a terminal obeys or what
// turns the direction of the text around it. It is a copy: what is kept of a
// long message does not keep all of it.
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
