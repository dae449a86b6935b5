package lint

import "strings"

// maxSyntaxFaults is how many statements of the top level may be at fault, and maxReread how many bytes are parsed again to
// find them: the text is parsed again for each.
const (
	maxSyntaxFaults = 25
	maxReread       = 1 << 20
)

// SyntaxFaults returns how many faults of syntax are looked for in a text: many in one of usual size.
func SyntaxFaults(text string) int {
	return max(min(maxSyntaxFaults, maxReread/max(len(text), 1)), 1)
}

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
