package prose

import "strings"

// TaskComplete reads "TASK COMPLETE", ignoring case and emphasis, and returns the start of the
// answer. It must be followed by punctuation or the end of the line.
func TaskComplete(text string, at int) (answer int, ok bool) {
	for end := at + 12; at < min(end, len(text)) && strings.IndexByte("*_# ", text[at]) >= 0; {
		at++
	}
	if !HasFold(text[at:], "TASK COMPLETE") && !HasFold(text[at:], "TASK_COMPLETE") {
		return 0, false
	}
	for at += len("TASK COMPLETE"); at < len(text) && strings.IndexByte("*_ \t\r", text[at]) >= 0; {
		at++
	}
	if at >= len(text) || text[at] == '\n' {
		return at, true
	}
	for _, mark := range []string{":", ".", "!", "- ", "– ", "— "} {
		if strings.HasPrefix(text[at:], mark) {
			for at += len(mark); at < len(text) && strings.IndexByte("*_!", text[at]) >= 0; {
				at++
			}
			return at, true
		}
	}
	return 0, false
}

// IsPlaceholder reports whether a text is "[your answer]", with any words after "your".
func IsPlaceholder(text string) bool {
	return strings.HasPrefix(strings.ToLower(text), "[your ") && strings.IndexByte(text, ']') == len(text)-1
}

// Once returns an answer without its repetitions after further lines "TASK COMPLETE".
func Once(answer string) string {
	first := ""
	for line := 0; line < len(answer); line = LineEnd(answer, line) + 1 {
		start, ok := TaskComplete(answer, line)
		if !ok {
			continue
		}
		if first == "" {
			first = strings.TrimSpace(answer[:line])
		}
		if rest := strings.TrimSpace(answer[start:]); rest == first {
			return first
		}
	}
	return answer
}
