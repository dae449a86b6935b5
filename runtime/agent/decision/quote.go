package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// What stands where only quoted things do is no call, in any format: behind a
// line's number, a mark of a diff or of a quotation, in a block of code that is
// indented, among other text in a fence, inside of the answer that follows "TASK
// COMPLETE", or word for word in what the model was told by a tool.

const (
	// codeIndent is from how many columns on an indented line is a block of code.
	codeIndent = 4
	// minHeard is how long a call must be to be known again in a tool's text, in
	// bytes without white space.
	minHeard = 20
	// maxHeard is how much of what tools said is looked at, in bytes: the last.
	maxHeard = 1 << 20
)

// isQuoted reports whether a candidate stands where only quoted things do.
func (s *reader) isQuoted(c candidate, from, next int) bool {
	head := s.lineHead(c, from)
	return s.marksQuote(head, c) || s.inCodeBlock(c, head, from) || s.amongOthers(c) || s.inAnswer(c, head, from, next) ||
		s.asked(c) || s.wasHeard(s.text[c.start:c.end])
}

// lineHead returns what stands before a candidate on its line, behind the one
// before it.
func (s *reader) lineHead(c candidate, from int) string {
	start := max(c.start-column(s.text, c.start), min(from, c.start))
	if c.fence > 0 {
		start = max(start, min(s.fences[c.fence-1].start, c.start))
	}
	for _, t := range s.thoughts {
		if t[1] <= c.start {
			start = max(start, t[1])
		}
	}
	return s.text[start:c.start]
}

// marksQuote reports whether the line of a candidate begins as one that is shown
// of a file, a table, a diff, a log or a terminal.
func (s *reader) marksQuote(head string, c candidate) bool {
	mark := strings.TrimSpace(head)
	if mark == "" {
		return false
	}
	switch {
	case strings.IndexByte(">|+$", mark[0]) >= 0, strings.Trim(mark, "#") == "", strings.HasPrefix(mark, "//"), strings.HasPrefix(mark, "<!--"):
		return true
	case mark == "-":
		return strings.HasSuffix(head, "-") || s.neighbour(c, func(line string) bool { return line[0] == '+' || strings.HasPrefix(line, "@@") })
	case isLineNumber(mark):
		return true
	case strings.Trim(mark, "0123456789.)") == "":
		return s.neighbour(c, func(line string) bool {
			return '0' <= line[0] && line[0] <= '9' && !strings.ContainsAny(line, "{<")
		})
	}
	last := mark[len(mark)-1]
	return (last == '"' || last == '\'' || strings.HasSuffix(mark, "“")) && !strings.HasSuffix(head, " ") &&
		(c.end < len(s.text) && s.text[c.end] == last || strings.HasPrefix(s.text[c.end:], "”"))
}

// isLineNumber reports whether a mark is the number of a line, also with the
// name of its file before it, or the time of an entry.
func isLineNumber(mark string) bool {
	const digits = "0123456789"
	low := strings.ToLower(mark)
	for _, prefix := range []string{"line ", "l", "[", "("} {
		low = strings.TrimPrefix(low, prefix)
	}
	rest := strings.TrimLeft(low, digits)
	if rest != low {
		if slices.Contains([]string{"", ":", "|", "→", "│", "-", ">", "]", "]:", "=>", "->"}, strings.TrimSpace(rest)) {
			return true
		}
		if len(rest) > 1 && strings.IndexByte("-:/", rest[0]) >= 0 && strings.IndexByte(digits, rest[1]) >= 0 {
			return true // a time
		}
	}
	place := strings.TrimRight(low, ":-")
	i := strings.LastIndexAny(place, ":-")
	return place != low && i > 0 && i+1 < len(place) && strings.Trim(place[i+1:], digits) == "" && strings.IndexByte(place, ' ') < 0
}

// neighbour reports whether the line before or after a candidate is such a one.
func (s *reader) neighbour(c candidate, is func(line string) bool) bool {
	line := max(0, c.start-column(s.text, c.start)-1)
	before := strings.TrimSpace(s.text[line-column(s.text, line) : line])
	end := prose.LineEnd(s.text, c.end)
	after := ""
	if end < len(s.text) {
		after = strings.TrimSpace(s.text[end+1 : min(prose.LineEnd(s.text, end+1), end+1+wordsWindow)])
	}
	return before != "" && is(before) || after != "" && is(after)
}

// inCodeBlock reports whether a candidate is indented as Markdown's blocks of code
// are, further than the whole reply, behind something else that the reply says.
func (s *reader) inCodeBlock(c candidate, head string, from int) bool {
	if c.fence > 0 || strings.TrimSpace(head) != "" || strings.TrimSpace(s.text[max(min(from, c.start), min(s.replyStart(), c.start)):c.start]) == "" {
		return false
	}
	return indentOf(head) >= codeIndent && indentOf(head)-s.leastIndent() >= codeIndent
}

// indentOf returns the columns of white space that a line begins with.
func indentOf(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += codeIndent - n%codeIndent
		default:
			return n
		}
	}
	return n
}

// leastIndent returns how far all lines of the reply are indented. It looks once.
func (s *reader) leastIndent() int {
	if s.indent > 0 {
		return s.indent - 1
	}
	least := -1
	for line := range strings.Lines(s.without(0)) {
		if strings.TrimSpace(line) != "" && (least < 0 || indentOf(line) < least) {
			least = indentOf(line)
		}
	}
	s.indent = max(least, 0) + 1
	return s.indent - 1
}

// amongOthers reports whether the fence of a candidate holds other text too, as
// one with the text of a file does. A reply that is a fence as a whole is none.
func (s *reader) amongOthers(c candidate) bool {
	if c.fence == 0 || c.err != nil || c.rank == bare {
		return false
	}
	f := s.fences[c.fence-1]
	if slices.Contains([]string{"diff", "patch", "log", "console", "email"}, f.info) {
		return true
	}
	if f.mark == s.replyStart() {
		return false
	}
	if s.mixedFence != c.fence && s.pureFence != c.fence {
		if s.isMixed(c.fence) {
			s.mixedFence = c.fence
		} else {
			s.pureFence = c.fence
		}
	}
	return s.mixedFence == c.fence
}

// isMixed reports whether a fence holds other text beside its candidates.
func (s *reader) isMixed(n int) bool {
	f := s.fences[n-1]
	from := f.start
	for _, other := range s.found {
		if other.fence == n {
			if isOther(s.text[from:max(from, other.start)]) {
				return true
			}
			from = max(from, other.end)
		}
	}
	closed := f.end < len(s.text)
	return closed && isOther(s.text[from:max(from, f.end)])
}

// isOther reports whether a text has words that are no comment and do not say what
// is being done.
func isOther(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.ContainsAny(line, "abcdefghijklmnopqrstuvwxyz") && line != "print(" && line[0] != '#' && !strings.HasPrefix(line, "//") &&
			!saysItDoes(strings.ToLower(line)) {
			return true
		}
	}
	return false
}

// inAnswer reports whether a candidate is a part of the answer that follows "TASK
// COMPLETE". It is none where it is a block of its own: a fence, or lines behind
// an empty one, which nothing introduces with a colon and nothing follows.
func (s *reader) inAnswer(c candidate, head string, from, next int) bool {
	if s.complete == 0 || c.start < s.complete {
		return false
	}
	start := c.start
	if c.fence > 0 {
		start = max(s.fences[c.fence-1].mark, min(from, start))
		head = s.text[start-column(s.text, start) : start]
		head = head[min(len(head), max(0, from-start+len(head))):]
	}
	lead := s.text[min(start, max(from, s.answer)):start]
	said := strings.ToLower(strings.TrimSpace(lead))
	gap := lead[len(strings.TrimRight(lead, " \t\r\n")):]
	switch {
	case strings.TrimSpace(head) != "":
		return true
	case said == "" && from > s.complete:
		return false // its fate is that of the one before it
	case strings.Count(gap, "\n") < 2 && (c.fence == 0 || !strings.Contains(gap, "\n")):
		return true
	case strings.HasSuffix(said, ":") && !saysItDoes(lastClause(prose.LastSentence(said))):
		return true
	}
	after := s.after(c, next)
	_, again := taskComplete(after, 0)
	return after != "" && !again && !saysItDoes(prose.FirstSentence(after))
}

// asked reports whether a candidate is what a question asks about.
func (s *reader) asked(c candidate) bool {
	i := skipBlank(s.text, c.end)
	return i < len(s.text) && s.text[i] == '?'
}

// wasHeard reports whether a text is a part of what a tool told the model, but for
// white space, the numbers of lines and the escapes of JSON. Of this, it is no
// matter who wrote it first.
func (s *reader) wasHeard(text string) bool {
	if len(s.o.Heard) == 0 {
		return false
	}
	if s.heard == nil {
		s.heard = []string{}
		left := maxHeard
		for _, told := range slices.Backward(s.o.Heard) {
			if left <= 0 {
				break
			}
			told = told[max(0, len(told)-left):]
			left -= len(told)
			s.heard = append(s.heard, plainText(told))
		}
	}
	text = plainText(text)
	return len(text) >= minHeard && slices.ContainsFunc(s.heard, func(told string) bool { return strings.Contains(told, text) })
}

var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`)

// plainText returns a text without white space, numbers of lines and escapes.
func plainText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(unescape.Replace(text)) {
		rest := strings.TrimLeft(line, " \t")
		number := strings.TrimLeft(rest, "0123456789")
		if number != rest {
			for _, mark := range []string{"\t", ":", " |", "|", "→"} {
				if after, ok := strings.CutPrefix(number, mark); ok {
					rest = after
					break
				}
			}
		}
		for _, word := range strings.Fields(rest) {
			b.WriteString(word)
		}
	}
	return b.String()
}
