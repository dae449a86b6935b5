package lint

import "strings"

// Hide replaces lines by empty ones, and records their words.
func Hide(text string, begin, end int, hidden map[string]bool) string {
	lines := strings.Split(text, "\n")
	for i := begin - 1; i < min(end-1, len(lines)); i++ {
		for word := range strings.FieldsFuncSeq(lines[i], func(r rune) bool { return r != '_' && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z') }) {
			hidden[word] = true
		}
		lines[i] = ""
	}
	return strings.Join(lines, "\n")
}
