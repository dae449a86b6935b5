package decision

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ReadOptions say what the decisions of a reply can be. The zero value knows no
// tools: then only the formats that are ours are read.
type Options struct {
	Tools []tool.Tool // those that were offered
	// Format is how the model was asked to write. All formats are read; this one
	// is preferred where a reply says the same in two of them. "" prefers the
	// one that comes first.
	Format Format
	// NoInference keeps a reply without any call from being taken for one, see
	// [Decision.Inferred].
	NoInference bool
	// Heard are texts that the model got from tools, the latest last. A call that
	// stands in one of them as it is written in the reply, white space aside, is a
	// quotation. It must be 20 bytes long for that; of all texts together the last
	// MiB is looked at.
	Heard []string
}

const (
	// maxCalls is how many calls a reply may ask for. The most that anybody saw
	// a model write at once and mean it is a dozen.
	maxCalls = 64
	// maxCandidates is how many things that look like calls are looked at. A
	// reply with more is no reply of a model.
	maxCandidates = 256
)

// Read reads what a model's reply asks for: its calls in the order in which they
// are written, or one decision of another kind. It never returns none.
//
// A call in one of our formats is taken wherever it stands, unless the words
// around it, or its place, show it as an example or a quotation; behind "TASK
// COMPLETE:" only as a block of its own. Where a part of it cannot be
// read, nothing of the reply is called: the decision is an Invalid. Then come
// the calls in the tags of other vendors, then "TASK COMPLETE:", then calls that
// are bare JSON or look like a function's call, and at last a call that the text
// only speaks of. What counts as meant is told in intent.go. In the format
// [Code] a block of code comes before all of these, see code.go.
//
// It takes time linear in the length of the reply, whatever that holds.
func Read(reply string, o Options) []Decision {
	return read(reply, o, false)
}

// read reads a reply; cut says that it is known to be cut off at its end.
func read(reply string, o Options, cut bool) []Decision {
	s := newReader(reply, o)
	s.cut = cut
	s.scan()
	return s.choose()
}

func newReader(text string, o Options) *reader {
	s := &reader{text: text, o: o, tools: make(map[string]*tool.Tool, len(o.Tools))}
	s.ends.text = text
	s.skim.tells = s.tells
	for i := range o.Tools {
		s.tools[tool.Key(o.Tools[i].Name)] = &o.Tools[i]
	}
	return s
}

// A rank says how plainly a thing in a reply is a call.
type rank uint8

const (
	ours   rank = iota // in a format that the model was asked for
	tagged             // between tags that only calls have
	bare               // JSON, or what looks like a function's call
)

// A candidate is a thing in a reply that may be a call.
type candidate struct {
	start, end int
	rank       rank
	calls      []Decision
	err        *fault // why it cannot be read, if it cannot
	fence      int    // the number of the fence it is in, from 1; 0 for none
}

// A fence is a block of code.
type fence struct {
	mark  int // where the opening ``` stands
	start int // where its content starts
	end   int // where that ends
	info  string
}

// A reader reads one reply.
type reader struct {
	text  string
	o     Options
	cut   bool
	tools map[string]*tool.Tool // by their keys
	ends  finder
	skim  looseReader // reads what may not be a call

	found    []candidate
	fences   []fence
	inFence  bool
	thoughts [][2]int // what is thinking and no part of the reply
	// nested is up to where the text is the inside of something broken: what
	// looks like a call there is a part of what was not understood.
	nested   int
	torn     bool     // calls stand on both sides of a stray tag of thinking
	tried    int      // up to where the text was read as arguments of a call, in vain
	said     int      // how much the reply says around its candidates
	complete int      // where "TASK COMPLETE" stands, from 1; 0 for nowhere
	answer   int      // and where its answer starts
	heard    []string // what tools said, as it is compared; nil before the first time
	// mixedFence and pureFence are the last fences that were found to hold other
	// text beside calls, and none.
	mixedFence, pureFence int
	indent                int // how far all lines are indented, from 1; 0 for not known yet
}

// scan walks through the reply once.
func (s *reader) scan() {
	line := true // at the start of a line
	for i := 0; i < len(s.text) && len(s.found) < maxCandidates; {
		if line {
			line = false
			if next := s.lineStart(i); next > i {
				line = s.text[next-1] == '\n'
				i = next
				continue
			}
		}
		next := i + 1
		switch s.text[i] {
		case '\n':
			line = true
		case '`':
			next = s.backticks(i)
			line = next > i && s.text[next-1] == '\n'
		case '<':
			next = s.angle(i)
		case '{', '[':
			next = s.brace(i)
		}
		line = line || next > i && next == s.lastThought() && s.thoughtBeginsLine()
		i = next
	}
	if s.inFence {
		s.fences[len(s.fences)-1].end = len(s.text)
	}
}

// lineStart looks at what counts only at the start of a line. It returns where
// to go on, or the same place for nothing.
func (s *reader) lineStart(at int) int {
	i := skipBlank(s.text, at)
	if i >= len(s.text) {
		return at
	}
	switch c := s.text[i]; {
	case c == '\n':
		return at
	case c == '>' && !s.inFence: // quoted from elsewhere
		return min(prose.LineEnd(s.text, i)+1, len(s.text))
	case c == '~' && strings.HasPrefix(s.text[i:], "~~~"):
		return s.fenceMark(i, "~~~")
	}
	if next := s.wordAtStart(i, at); next > at {
		return next
	}
	if !s.inFence && s.complete == 0 {
		if answer, ok := taskComplete(s.text, i); ok {
			s.complete, s.answer = i+1, answer
			return answer
		}
	}
	return at
}

// backticks steps over code in a line, which only speaks of something, and
// opens and closes fences.
func (s *reader) backticks(at int) int {
	if strings.HasPrefix(s.text[at:], "```") {
		return s.fenceMark(at, "```")
	}
	if s.inFence {
		return at + 1
	}
	i := s.ends.find("`", at+1)
	if i < 0 || strings.IndexByte(s.text[at:i], '\n') >= 0 || s.aloneInBackticks(at, i+1) {
		return at + 1
	}
	return i + 1
}

// aloneInBackticks reports whether a piece of code is all that a reply says.
func (s *reader) aloneInBackticks(start, end int) bool {
	return skipSpace(s.text, end) == len(s.text) && s.replyStart() == start
}

// replyStart returns where the reply begins, behind white space and thinking.
func (s *reader) replyStart() int {
	from := 0
	if n := len(s.thoughts); n > 0 {
		from = s.thoughts[n-1][1]
	}
	return skipSpace(s.text, from)
}

// fenceMark opens or closes a fence and returns where to go on.
func (s *reader) fenceMark(at int, mark string) int {
	end := at + len(mark)
	for end < len(s.text) && s.text[end] == mark[0] {
		end++
	}
	if s.inFence {
		s.inFence = false
		s.fences[len(s.fences)-1].end = at
		return end
	}
	s.inFence = true
	info := end
	for end < len(s.text) && (isName(s.text[end]) || s.text[end] == '+') {
		end++
	}
	s.fences = append(s.fences, fence{mark: at, start: end, info: strings.ToLower(s.text[info:end])})
	// What follows on the line is content if a call can begin there.
	if rest := skipBlank(s.text, end); rest < len(s.text) && strings.IndexByte("{[<", s.text[rest]) >= 0 {
		return rest
	}
	return min(prose.LineEnd(s.text, end)+1, len(s.text))
}

// brace reads JSON, and returns where to go on.
func (s *reader) brace(at int) int {
	if s.text[at] == '[' {
		if next := s.bracketTag(at); next > at {
			return next
		}
	}
	if s.text[at] == '{' && !beginsObject(s.text, at) {
		return at + 1
	}
	p := &s.skim
	*p = looseReader{text: s.text, at: at, nodes: value.MaxNodes, ends: &s.ends, skim: true, tells: p.tells}
	v, err := p.value(value.MaxDepth)
	if err == nil && !p.telling {
		return p.at
	}
	if err == nil {
		p = newLoose(s.text, at, &s.ends)
		v, err = p.value(value.MaxDepth)
	}
	if err == nil {
		s.json(candidate{start: at, end: p.at, rank: bare}, v, p)
		return p.at
	}
	s.broken(at, err)
	return max(err.at, at+1)
}

// beginsObject reports whether what follows a brace can be a key.
func beginsObject(text string, at int) bool {
	i := skipSpace(text, at+1)
	return i < len(text) && (prose.IsWord(text[i]) || strings.IndexByte("\"'}/#", text[i]) >= 0 || text[i] >= utf8.RuneSelf)
}

// tells reports whether a key, with a text if that is its value, is one of a call.
func (s *reader) tells(key string, v value.Value) bool {
	if slices.Contains(nameKeys, key) {
		if name, ok := v.(string); ok {
			return s.lookup(name) != nil
		}
	}
	return slices.Contains(innerKeys, key) || slices.Contains(listKeys, key) || key == "content" ||
		strings.EqualFold(key, "tool_decision") || s.lookup(key) != nil
}

// json adds a value that is a call, or several.
func (s *reader) json(c candidate, v value.Value, p *looseReader) {
	sh := s.shape(v)
	if sh.ours {
		c.rank = ours
	}
	if !sh.call || c.rank == bare && c.start < s.nested {
		return
	}
	c.calls = sh.calls
	switch {
	case sh.err != "":
		c.err = &fault{at: c.start, what: sh.err}
	case p.cut && s.cut:
		c.err = &fault{at: p.at, what: cutOff}
	case p.cut && c.rank == ours && !s.completeArgs(c.calls):
		c.err = &fault{at: p.at, what: "the text ends before the decision does"}
	}
	for i := range c.calls {
		c.calls[i].Repaired = append(slices.Clone(p.notes), c.calls[i].Repaired...)
	}
	s.add(c)
}

// broken notes JSON that cannot be read: as an error where it plainly was to be
// a call, and so that nothing inside it is taken for one.
func (s *reader) broken(at int, err *fault) {
	end := max(err.at, at+1)
	if err.at >= s.nested && err.at > at+1 {
		end = s.brokenEnd(at, err.at)
	}
	if end < at+len("{name:") { // too short for a call
		s.nested = max(s.nested, end)
		return
	}
	if name, is := s.beginsCall(at); is && (at >= s.nested || name == "tool_decision") {
		c := candidate{start: at, end: end, rank: bare}
		if name == "tool_decision" {
			c.rank = ours
		}
		c.err = err.of("the JSON of the call is not valid")
		s.add(c)
	}
	s.nested = max(s.nested, end)
}

// brokenEnd guesses where something broken ends: where its braces are closed, or
// at an empty line or the end of the fence.
func (s *reader) brokenEnd(at, from int) int {
	depth := 0
	for i := at; i < len(s.text); i++ {
		switch s.text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 && i >= from {
				return i + 1
			}
		case '`':
			if i >= from && strings.HasPrefix(s.text[i:], "```") {
				return i
			}
		case '\n':
			if j := skipBlank(s.text, i+1); i >= from && j < len(s.text) && s.text[j] == '\n' {
				return i
			}
		}
	}
	return len(s.text)
}

// beginsCall reports whether the JSON at a place begins as a call does: with the
// key of our format, or with a name under which calls hold their tool's and the
// name of one that was offered.
func (s *reader) beginsCall(at int) (string, bool) {
	text := s.text[at:min(len(s.text), at+256)]
	word := func() string {
		i, marks := 0, 0
		for i < len(text) && marks < 6 && strings.IndexByte(" \t\r\n{[:\"'\xe2\x80\x9c\x9d", text[i]) >= 0 {
			if text[i] > ' ' {
				marks++
			}
			i++
		}
		text = text[i:]
		i = 0
		for i < len(text) && isName(text[i]) {
			i++
		}
		w := text[:i]
		text = text[i:]
		return w
	}
	key := word()
	if strings.EqualFold(key, "tool_decision") {
		return "tool_decision", true
	}
	if key == "tool_calls" || key == "function" || key == "function_call" || key == "tool_call" {
		if strings.HasPrefix(strings.TrimLeft(text, "\"' \t\r\n:"), "{") || key == "tool_calls" {
			key = word()
		}
	}
	if !slices.Contains(nameKeys, key) {
		return "", false
	}
	name := word()
	return name, s.lookup(name) != nil
}

// add adds a candidate.
func (s *reader) add(c candidate) {
	if s.inFence {
		c.fence = len(s.fences)
	}
	s.found = append(s.found, c)
}

// completeArgs reports whether each call has the arguments that its tool
// requires; of a tool that was not offered, nobody knows.
func (s *reader) completeArgs(calls []Decision) bool {
	for _, d := range calls {
		if t := s.lookup(d.Action); t == nil || missingArg(t, d.Input) != "" {
			return false
		}
	}
	return true
}

// cutOff is wrong with a call at the end of a reply that reached its longest.
const cutOff = "the reply was cut off at its longest, before the call ended"

// problem says what is wrong where, for the model.
func (s *reader) problem(f *fault) string {
	at, what := min(f.at, len(s.text)), f.in(s.text)
	before := s.text[:at]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	from, to := max(0, at-30), min(len(s.text), at+30)
	near := strings.Join(strings.Fields(strings.ToValidUTF8(s.text[from:to], "")), " ")
	return fmt.Sprintf("line %d, column %d of your reply: %s (near: %s). Nothing was called: write the whole call again, as valid JSON.",
		line, col, what, near)
}
