package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// The scanner goes through a reply once. It skips thinking, quoted lines and inline code, records
// fences and the position of "TASK COMPLETE", and reads candidates by the forms of candidate.go.

const (
	// maxCalls is the limit of calls in a reply. Models write at most a dozen.
	maxCalls = 64
	// maxCandidates is the limit of candidates in a reply.
	maxCandidates = 256
)

// A fence is a block of code.
type fence struct {
	mark  int // the position of the opening fence
	start int // of the content
	end   int // of the content
	info  string

	judged, strict, others bool // the result of othersIn
}

// A reader reads one reply.
type reader struct {
	text  string
	o     Options
	tools offered
	ends  *loose.Finder

	found    []candidate
	tags     []callTag
	fences   []fence
	inFence  bool
	thoughts [][2]int // start and end of each thinking, which is not part of the reply
	// lineThought: the last thinking begins at the start of a line.
	lineThought bool

	torn     []candidate // calls before a stray tag that ends thinking
	nested   int         // the end of the last invalid JSON
	tried    int         // the end of the last text that was not valid as arguments
	complete int         // the position of "TASK COMPLETE", plus 1; 0 if it is missing
	answer   int         // the start of the answer after it
	heard    string      // Options.Heard as it is compared; "" before the first use
	indent   int         // the indent of all lines, plus 1; 0 before the first use
	off      rule        // a rule that is disabled, to measure its effect
	words    phrases.Table

	nameKey, argsKey keyPlace // used by unread
}

func newReader(text string, o Options) *reader {
	return &reader{
		text: text, o: o, tools: offeredTools(o.Tools), ends: loose.NewFinder(text),
		nameKey: keyPlace{class: phrases.NameKey, start: -1}, argsKey: keyPlace{class: phrases.ArgsKey, start: -1},
	}
}

func (s *reader) scan() {
	line := true // at the start of a line
	for at := 0; at < len(s.text) && len(s.found) < maxCandidates; {
		next := at
		if line {
			next = s.lineStart(at)
		}
		if next == at {
			next = s.step(at)
		}
		line = s.text[next-1] == '\n' || s.isThought(next) && s.lineThought
		at = next
	}
	if s.inFence {
		s.fences[len(s.fences)-1].end = len(s.text)
	}
	s.group()
}

// step reads the text at a position, and returns where to continue.
func (s *reader) step(at int) int {
	switch c := s.text[at]; c {
	case '`':
		return s.backticks(at)
	case '<', '[', '{':
		next := s.thinking(at)
		for i := 0; i < len(forms) && next == at; i++ {
			if strings.IndexByte(forms[i].begin, c) >= 0 && s.off != forms[i].name {
				next = forms[i].read(s, at)
			}
		}
		return max(next, at+1)
	}
	return at + 1
}

// lineStart reads forms that are valid only at the start of a line. It returns where to continue,
// or line if there is no such form.
func (s *reader) lineStart(line int) int {
	at := prose.SkipBlank(s.text, line)
	switch {
	case at >= len(s.text) || s.text[at] == '\n':
		return line
	case s.text[at] == '>' && !s.inFence: // quoted from elsewhere
		return min(prose.LineEnd(s.text, at)+1, len(s.text))
	case strings.HasPrefix(s.text[at:], "~~~"):
		return s.fenceMark(at)
	}
	for _, f := range forms {
		if f.begin == "" && s.off != f.name {
			if next := f.read(s, at); next > at {
				return next
			}
		}
	}
	if !s.inFence && s.complete == 0 && (!s.isIndented(s.text[line:at]) || s.isThought(line)) {
		if answer, ok := prose.TaskComplete(s.text, at); ok {
			s.complete, s.answer = at+1, answer
			return max(answer, line+1)
		}
	}
	return line
}

// backticks skips inline code, and opens and closes fences. It does not skip inline code that is
// the complete reply.
func (s *reader) backticks(at int) int {
	if strings.HasPrefix(s.text[at:], "```") {
		return s.fenceMark(at)
	}
	i := s.ends.Find("`", at+1)
	if s.inFence || i < 0 || strings.IndexByte(s.text[at:i], '\n') >= 0 || prose.SkipSpace(s.text, i+1) == len(s.text) && s.replyStart() == at {
		return at + 1
	}
	return i + 1
}

// replyStart returns the start of the reply after white space and thinking.
func (s *reader) replyStart() int {
	from := 0
	if n := len(s.thoughts); n > 0 {
		from = s.thoughts[n-1][1]
	}
	return prose.SkipSpace(s.text, from)
}

// fenceMark opens or closes a fence and returns where to continue.
func (s *reader) fenceMark(at int) int {
	end := at + len(prose.FenceOf(s.text[at:]))
	if s.inFence {
		s.inFence = false
		s.fences[len(s.fences)-1].end = at
		return end
	}
	s.inFence = true
	info := end
	for end < len(s.text) && (prose.IsName(s.text[end]) || s.text[end] == '+') {
		end++
	}
	s.fences = append(s.fences, fence{mark: at, start: end, info: strings.ToLower(s.text[info:end])})
	// The rest of the line is content if a call can begin there.
	if rest := prose.SkipBlank(s.text, end); rest < len(s.text) && strings.IndexByte("{[<", s.text[rest]) >= 0 {
		return rest
	}
	return min(prose.LineEnd(s.text, end)+1, len(s.text))
}

// thinkTags are the tags around thinking, which is not part of the reply.
var thinkTags = [][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|end|>"}, {"<|channel>thought", "<channel|>"},
}

// thinking skips the thinking of a model, up to the end of the text if it is not closed. Some
// models omit the opening tag: then everything before the closing tag is thinking.
func (s *reader) thinking(at int) int {
	if s.text[at] == '{' || s.inFence || quotedAt(s.text, at) {
		return at
	}
	for _, tag := range thinkTags {
		if !prose.HasFold(s.text[at:], tag[0]) || s.off == rule("thinking: "+tag[0]) {
			continue
		}
		end := s.ends.Find(tag[1], at) + len(tag[1])
		if end < len(tag[1]) { // not closed
			if end = len(s.text); !s.beginsLine(at) {
				return at
			}
		}
		s.lineThought = s.beginsLine(at)
		s.thoughts = append(s.thoughts, [2]int{at, end})
		return end
	}
	end := s.endsThinking(at)
	if end == 0 {
		return at
	}
	// If there are only calls before it, these may not be thinking.
	if n := len(s.found); n > 0 && s.found[0].start == s.replyStart() && prose.SkipSpace(s.text, s.found[n-1].end) == at {
		s.torn = append(s.torn, s.found...)
	}
	s.thoughts, s.lineThought = append(s.thoughts[:0], [2]int{0, end}), true
	s.found, s.tags, s.complete, s.nested = nil, nil, 0, 0
	return end
}

// endsThinking returns the end of a tag that closes thinking even if nothing opened it, or
// 0 if none is at this place. <|end|> also ends other channels.
func (s *reader) endsThinking(at int) int {
	for _, tag := range thinkTags {
		if tag[1] != "<|end|>" && strings.HasPrefix(s.text[at:], tag[1]) && s.off != rule("thinking: "+tag[0]) {
			return at + len(tag[1])
		}
	}
	return 0
}

// isThought reports whether the last thinking ends at a position.
func (s *reader) isThought(at int) bool {
	n := len(s.thoughts)
	return n > 0 && s.thoughts[n-1][1] == at
}

// beginsLine reports whether there is only white space and thinking before a position on its line.
func (s *reader) beginsLine(at int) bool {
	at = len(strings.TrimRight(s.text[:at], " \t"))
	return at == 0 || s.text[at-1] == '\n' || s.lineThought && s.isThought(at)
}

// quotedAt reports whether there is a quotation mark before a position: then the text only mentions
// the tag there.
func quotedAt(text string, at int) bool {
	return at > 0 && strings.IndexByte("`\"'", text[at-1]) >= 0 || strings.HasSuffix(text[:at], "“")
}

// without returns the text after a position without thinking.
func (s *reader) without(from int) string {
	var b strings.Builder
	for _, t := range s.thoughts {
		if t[0] >= from {
			b.WriteString(s.text[from:t[0]])
		}
		from = max(from, t[1])
	}
	b.WriteString(s.text[min(from, len(s.text)):])
	return b.String()
}
