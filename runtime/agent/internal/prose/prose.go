// Package prose splits text into words, lines and sentences.
package prose

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// OneLine returns a text on one line, without control characters.
func OneLine(text string) string {
	return strings.Join(strings.Fields(value.Clean(text, math.MaxInt)), " ")
}

// FirstRunes returns the first n characters of a text.
func FirstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// LastSentence returns the last sentence or line of a text.
func LastSentence(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' && !strings.HasSuffix(text[:i+1], "e.g.") {
			return text[i+1:]
		}
	}
	return text
}

// FirstSentence returns the first sentence or line of a text.
func FirstSentence(text string) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' {
			return text[:i+1]
		}
	}
	return text
}

// IsWord reports whether a byte is a letter, a digit or _, in ASCII.
func IsWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// LineEnd returns the end of the line at a position.
func LineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// Clip cuts a text to most characters.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return FirstRunes(text, most-1) + "…"
}

// WithCommas returns a number as in 200,000.
func WithCommas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
