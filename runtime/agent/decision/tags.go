package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// thinkTags are between what models think: no part of the reply, whatever
// stands there.
var thinkTags = [][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
	{"<seed:think>", "</seed:think>"}, {"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|end|>"},
}

// callTags begin a call in the forms of the vendors: Hermes and Qwen, Llama,
// Granite and Phi, Cohere, DeepSeek, Kimi, InternLM, gpt-oss, Gemma, Mistral.
var callTags = []string{
	"<tool_call>", "<tool_calls>", "<function_call>", "<function_calls>", "<functioncall>", "<tool_use>", "<tool_code>",
	"<|tool_call|>", "<|tool_calls|>", "<|tool_call>", "<|python_tag|>", "<|START_ACTION|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|action_start|>",
	"[TOOL_CALLS]", "[TOOL_REQUEST]",
}

// callMarks may stand between such a tag, the name of the tool, and its
// arguments.
var callMarks = []string{
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "function<｜tool▁sep｜>",
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<tool_call>",
	"<|plugin|>", "<|constrain|>", "<|message|>", "[ARGS]", "```json", "```python", "```tool_code", "```", "json\n", "print(",
}

// angle looks at a tag and returns where to go on.
func (s *reader) angle(at int) int {
	if at+2 >= len(s.text) || !(prose.IsWord(s.text[at+1]) && (prose.IsWord(s.text[at+2]) || s.text[at+2] == ':')) && strings.IndexByte("|/\xef", s.text[at+1]) < 0 {
		return at + 1
	}
	if next := s.thinking(at); next > at {
		return next
	}
	if quotedAt(s.text, at) {
		return at + 1
	}
	if end, ok := tagEnd(s.text, at, blockTag); ok {
		return s.decisionBlock(at, end)
	}
	for _, tag := range callTags {
		if hasTag(s.text[at:], tag) {
			return s.tagged(at, at+len(tag))
		}
	}
	if next := s.harmony(at); next > at {
		return next
	}
	return s.namedTag(at)
}

// hasTag reports whether a text begins with a tag, in any case.
func hasTag(text, tag string) bool {
	return len(text) >= len(tag) && text[2]|' ' == tag[2]|' ' && text[1]|' ' == tag[1]|' ' && strings.EqualFold(text[:len(tag)], tag)
}

// bracketTag looks at a tag in square brackets.
func (s *reader) bracketTag(at int) int {
	if next := s.thinking(at); next > at {
		return next
	}
	if s.text[at:min(at+6, len(s.text))] != "[TOOL_" || quotedAt(s.text, at) {
		return at
	}
	for _, tag := range callTags {
		if strings.HasPrefix(s.text[at:], tag) {
			return s.tagged(at, at+len(tag))
		}
	}
	return at
}

// quotedAt reports whether a quotation mark stands before a place: then the tag
// there is only spoken of.
func quotedAt(text string, at int) bool {
	before := text[max(0, at-3):at]
	return strings.HasSuffix(before, "`") || strings.HasSuffix(before, `"`) || strings.HasSuffix(before, "'") || strings.HasSuffix(before, "“")
}

// thinking steps over what a model thinks, to the end of the text where that is
// not closed. Some models leave out the opening tag: then all that stands before
// the closing one is thinking.
func (s *reader) thinking(at int) int {
	if s.inFence {
		return at
	}
	for _, tag := range thinkTags {
		switch {
		case hasTag(s.text[at:], tag[0]):
			end := s.ends.find(tag[1], at)
			start := len(strings.TrimRight(s.text[:at], " \t"))
			lineStart := start == 0 || s.text[start-1] == '\n' || start == s.lastThought()
			if !lineStart && (end < 0 || quotedAt(s.text, at)) {
				return at
			}
			if end < 0 {
				end = len(s.text)
			} else {
				end += len(tag[1])
			}
			s.thoughts = append(s.thoughts, [2]int{at, end})
			return end
		case strings.HasPrefix(s.text[at:], tag[1]) && tag[1] != "<|end|>" && !quotedAt(s.text, at):
			end := at + len(tag[1])
			// Where nothing but calls stands before it, it was no thinking, and
			// what is meant of the calls before and after nobody can say.
			s.torn = len(s.found) > 0 && s.around(at) < 40
			s.thoughts = append(s.thoughts[:0], [2]int{0, end})
			s.found, s.complete, s.nested = nil, 0, 0
			return end
		}
	}
	return at
}

func (s *reader) lastThought() int {
	if n := len(s.thoughts); n > 0 {
		return s.thoughts[n-1][1]
	}
	return -1
}

// thoughtBeginsLine reports whether the last thinking began where a line does, so
// that what follows it begins one too.
func (s *reader) thoughtBeginsLine() bool {
	last := s.thoughts[len(s.thoughts)-1][0]
	start := len(strings.TrimRight(s.text[:last], " \t"))
	return start == 0 || s.text[start-1] == '\n' || len(s.thoughts) > 1 && start == s.thoughts[len(s.thoughts)-2][1]
}

// skipMarks steps over white space and the marks of vendors.
func skipMarks(text string, at int) int {
	for {
		i := skipSpace(text, at)
		for _, mark := range callMarks {
			if strings.HasPrefix(text[i:], mark) {
				i += len(mark)
				break
			}
		}
		if i == at {
			return at
		}
		at = i
	}
}

// tagged reads the calls that follow a tag which only calls have. Anything else
// after it means that the tag is only spoken of.
func (s *reader) tagged(start, at int) int {
	for {
		at = skipMarks(s.text, at)
		if at >= len(s.text) {
			return len(s.text)
		}
		end, ok := s.oneTagged(start, at)
		if !ok {
			return max(end, at)
		}
		at = s.closingTag(end)
		if n := len(s.found); n > 0 {
			s.found[n-1].end = at
		}
		next := skipSpace(s.text, at)
		if next >= len(s.text) || strings.IndexByte("{;,", s.text[next]) < 0 || len(s.found) >= maxCandidates {
			return at
		}
		if start, at = next, next; s.text[next] != '{' {
			at++
		}
	}
}

// oneTagged reads one call. It reports false, and where to go on, where there is
// none.
func (s *reader) oneTagged(start, at int) (int, bool) {
	c := candidate{start: start, rank: tagged}
	if s.text[at] == '{' || s.text[at] == '[' {
		p := newLoose(s.text, at, &s.ends)
		v, err := p.value(value.MaxDepth)
		if err == nil {
			c.end = p.at
			before := len(s.found)
			s.json(c, v, p)
			return p.at, len(s.found) > before
		}
		if list, end, ok := s.listOfCalls(at); ok {
			c.end, c.calls = end, list
			s.add(c)
			return end, true
		}
		if _, is := s.beginsCall(at); is {
			c.end, c.err = max(err.at, at+1), err.of("the JSON of the call is not valid")
			s.add(c)
		}
		if err.at >= s.nested {
			s.nested = s.brokenEnd(at, err.at)
		}
		return max(err.at, at+1), false
	}
	if end, ok := s.elements(c, at); ok {
		return end, true
	}
	t, name, next := s.nameAt(at)
	if t == nil {
		return at, false
	}
	if i := skipSpace(s.text, next); strings.HasPrefix(s.text[i:], "<arg_key>") {
		return s.argPairs(c, t, name, i)
	}
	if next < len(s.text) && s.text[next] == ':' { // NAME:0, the number of the call
		for next++; next < len(s.text) && '0' <= s.text[next] && s.text[next] <= '9'; {
			next++
		}
	}
	sh, end, err := s.writtenCall(t, name, next, true)
	switch {
	case err != nil:
		c.end, c.err = max(err.at, at+1), err
		s.add(c)
		return c.end, false
	case !sh.call:
		return max(end, at), false
	case sh.err != "":
		c.err = &fault{at: start, what: sh.err}
	}
	c.end, c.calls = end, sh.calls
	s.add(c)
	return end, true
}

// listOfCalls reads [f(a=1), g(b=2)], as some models write between their tags.
func (s *reader) listOfCalls(at int) (calls []Decision, end int, ok bool) {
	for s.text[at] == '[' || s.text[at] == ',' {
		i := skipSpace(s.text, at+1)
		t, name, next := s.nameAt(i)
		if t == nil || next >= len(s.text) || s.text[next] != '(' || len(calls) > maxCalls {
			return nil, 0, false
		}
		sh, end, err := s.writtenCall(t, name, next, true)
		if err != nil || !sh.call || sh.err != "" {
			return nil, 0, false
		}
		calls = append(calls, sh.calls...)
		if at = skipSpace(s.text, end); at >= len(s.text) {
			return nil, 0, false
		}
	}
	return calls, at + 1, s.text[at] == ']'
}

// closingTag steps over a fence's end and a tag that closes what was read.
func (s *reader) closingTag(at int) int {
	for {
		i := skipSpace(s.text, at)
		switch {
		case strings.HasPrefix(s.text[i:], "```"):
			if s.inFence {
				return at
			}
			at = i + 3
		case strings.HasPrefix(s.text[i:], "</"), strings.HasPrefix(s.text[i:], "<|"), strings.HasPrefix(s.text[i:], "<｜"), strings.HasPrefix(s.text[i:], "[/"):
			for _, tag := range callTags {
				if hasFold(s.text[i:], tag) {
					return at
				}
			}
			end := strings.IndexAny(s.text[i:min(i+60, len(s.text))], ">]")
			if end < 0 || hasFold(s.text[i:], "<|channel|>") || hasFold(s.text[i:], "<|start|>") {
				return at
			}
			at = i + end + 1
		default:
			return at
		}
	}
}

// harmony reads <|channel|>commentary to=functions.NAME ...<|message|>{...}.
func (s *reader) harmony(at int) int {
	for _, tag := range []string{"<|channel|>", "<|start|>"} {
		rest, ok := strings.CutPrefix(s.text[at:], tag)
		if !ok {
			continue
		}
		head := rest[:min(200, len(rest))]
		end := strings.Index(head, "<|message|>")
		to := strings.Index(head, "to=")
		if end < 0 || to < 0 || to > end {
			return at
		}
		body := at + len(tag) + end + len("<|message|>")
		t, name, _ := s.nameAt(at + len(tag) + to + len("to="))
		if t == nil {
			return body
		}
		sh, next, err := s.writtenCall(t, name, body, true)
		c := candidate{start: at, end: max(next, body), rank: tagged, calls: sh.calls, err: err}
		if sh.err != "" {
			c.err = &fault{at: at, what: sh.err}
		}
		if err != nil || sh.call {
			c.end = s.closingTag(c.end)
			s.add(c)
		}
		return c.end
	}
	return at
}
