package agent

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// oneLine makes a text fit for one line of a list.
func oneLine(text string) string {
	return strings.Join(strings.Fields(tool.Clean(text, len(text))), " ")
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// lastSentence returns the end of a text from where its last sentence or line
// begins.
func lastSentence(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' && !strings.HasSuffix(text[:i+1], "e.g.") {
			return text[i+1:]
		}
	}
	return text
}

func firstSentence(text string) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\n' || strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' {
			return text[:i+1]
		}
	}
	return text
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// lineEnd returns where the line of a place ends.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}
