package prose

import "strings"

// IsName reports whether a byte is valid in the name of a tool.
func IsName(c byte) bool { return IsWord(c) || c == '-' || c == '.' }

// SkipSpace returns the first position at or after at that is not white space.
func SkipSpace(text string, at int) int { return Skip(text, at, " \t\r\n") }

// SkipBlank is SkipSpace within a line.
func SkipBlank(text string, at int) int { return Skip(text, at, " \t\r") }

// Skip returns the first position at or after at whose byte is not one of some.
func Skip(text string, at int, some string) int {
	for at < len(text) && strings.IndexByte(some, text[at]) >= 0 {
		at++
	}
	return at
}

// Column returns the offset of a position in its line, up to 200.
func Column(text string, at int) int {
	from := max(0, at-200)
	return at - from - 1 - strings.LastIndexByte(text[from:at], '\n')
}

// HasFold reports whether a text begins with an ASCII prefix, ignoring case.
func HasFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// FenceOf returns the backquotes or tildes at the beginning of a text.
func FenceOf(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	return text[:len(text)-len(strings.TrimLeft(text, text[:1]))]
}

// FenceEnd returns the end of a block of code: the position of a fence like its own. A fence in a
// string in triple quotes counts only if no other follows.
func FenceEnd(text string, from int, fence string) (end int, closed bool) {
	inString, quote := -1, ""
	for at := from; at < len(text); {
		next := LineEnd(text, at)
		line := strings.TrimSpace(text[at:next])
		if len(line) >= len(fence) && line == FenceOf(line) && line[0] == fence[0] {
			if quote == "" {
				return at, true
			}
			if inString < 0 {
				inString = at
			}
		}
		quote = openString(text[at:next], quote)
		at = next + 1
	}
	if inString >= 0 {
		return inString, true
	}
	return len(text), false
}

// openString returns the triple quotes of the string that is open at the end of a line of code,
// or "". quote is that at its start.
func openString(line, quote string) string {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\':
			i += 2
		case quote != "" && strings.HasPrefix(line[i:], quote):
			i += len(quote)
			quote = ""
		case quote != "":
			i++
		case c == '#':
			return ""
		case c == '"' || c == '\'':
			quote = line[i : i+1]
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(line[i:], triple) {
				quote = triple
			}
			i += len(quote)
		default:
			i++
		}
	}
	if len(quote) == 1 {
		return "" // a string in single quotes ends with its line
	}
	return quote
}

// Unindented removes up to columns bytes of white space from the start of each line.
func Unindented(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(line[Skip(line[:min(columns, len(line))], 0, " \t"):])
	}
	return b.String()
}

// A Fence is a fenced block of code.
type Fence struct {
	Mark, Start, End int    // positions of its fence, and of the start and end of its content
	Tag              string // the language, in lower case
	Indent           int    // of the fence
	Closed           bool
}

// FenceAt reads the block whose fence is at a position. line is the start of its line.
func FenceAt(text string, line, at int) (b Fence, ok bool) {
	fence := FenceOf(text[at:])
	if len(fence) < 3 {
		return b, false
	}
	end := LineEnd(text, at)
	info := strings.TrimSpace(text[at+len(fence) : end])
	if strings.Contains(info, "`") {
		return b, false // inline code
	}
	tag, _, _ := strings.Cut(strings.ToLower(info), " ")
	b = Fence{Mark: at, Start: min(end+1, len(text)), Tag: strings.Trim(tag, "{.}"), Indent: at - line}
	b.End, b.Closed = FenceEnd(text, b.Start, fence)
	return b, true
}
