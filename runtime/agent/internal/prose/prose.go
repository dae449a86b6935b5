// Package prose takes texts apart for what a model is told: its words, lines and sentences.
package prose

import (
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// OneLine makes a text fit for one line of a list.
func OneLine(text string) string {
	return strings.Join(strings.Fields(value.Clean(text, len(text))), " ")
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

// LastSentence returns the end of a text from where its last sentence or line
// begins.
func LastSentence(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' && !strings.HasSuffix(text[:i+1], "e.g.") {
			return text[i+1:]
		}
	}
	return text
}

// FirstSentence returns a text up to where its first sentence or line ends.
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

// LineEnd returns where the line of a place ends.
func LineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// Clip cuts a text to so many characters.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return FirstRunes(text, most-1) + "…"
}
