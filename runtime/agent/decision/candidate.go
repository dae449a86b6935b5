package decision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/fields"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A candidate is a part of a reply that may be a call. Each form of calls has a row in [forms]
// and a function that reads it. candidate_shape.go decides which JSON is a call. Package fields
// reads the formats with fields, markup reads tags, and loose reads JSON.

// A rank is how plainly a candidate is a call.
type rank uint8

const (
	ours   rank = iota // in a format that the model was asked for
	tagged             // in tags that only calls have
	bare               // JSON without tags, or written as in a program
)

// A candidate is a part of a reply that may be a call.
type candidate struct {
	start, end int
	rank       rank
	calls      []Decision
	err        *loose.Fault // why it cannot be read, or nil
	fence      int          // the number of its fence, from 1; 0 outside of fences
	inner      int          // its end without closing tags
	open       int          // the start of the tag of its group, if only marks are between them, else its own
	group      int          // the number of the tag around it and others, from 1; see group.go
}

// The repairs of calls, except those of JSON.
const (
	fixedWrapper  = "a call in another form than asked for"
	fixedName     = "the tool's name"
	fixedTags     = "a missing tag"
	fixedFence    = fields.FixedFence
	fixedThoughts = "thinking beside it"
)

// A form is a way to write calls. It begins with one of the characters in begin, or at the start
// of a line if begin is "". read returns where to continue, or at if there is no such call.
type form struct {
	name  rule
	begin string
	read  func(s *reader, at int) int
}

var forms = [...]form{
	{"our fields in tags", "<", (*reader).ourBlock},
	{"a vendor's tag", "<[", (*reader).vendorTag},
	{"a channel", "<", (*reader).channel},
	{"a tag with the tool's name", "<", (*reader).namedTag},
	{"a list as in a program", "[", (*reader).programList},
	{"JSON", "[{", (*reader).json},
	{"our fields without tags", "", (*reader).fieldLines},
	{"a line as in a program", "", (*reader).programLine},
	{"a word before a list", "", (*reader).wordAndList},
}

// add adds a candidate.
func (s *reader) add(c candidate) {
	if s.inFence {
		c.fence = len(s.fences)
	}
	c.inner, c.open = cmp.Or(c.inner, c.end), c.start
	s.found = append(s.found, c)
}

// addShape adds a candidate with the calls of a shape, if it has any. The caller has set the end.
func (s *reader) addShape(c candidate, sh shape, err *loose.Fault) bool {
	c.calls, c.err = sh.calls, err
	if err == nil && sh.err != "" {
		c.err = &loose.Fault{At: c.start, What: sh.err}
	}
	if c.err != nil || sh.call {
		s.add(c)
	}
	return c.err != nil || sh.call
}

// json reads JSON.
func (s *reader) json(at int) int {
	p := s.jsonAt(at)
	v, err := p.Value()
	if err != nil {
		s.broken(candidate{start: at, rank: bare}, p, err)
		return max(err.At, at+1)
	}
	s.addJSON(candidate{start: at, end: p.At, rank: bare}, v, p)
	return p.At
}

// A jsonReader records whether a value begins as a call does.
type jsonReader struct {
	*loose.Reader
	ours  bool // it begins with the key of PureJSON
	named bool // it begins with the name of a tool
}

func (s *reader) jsonAt(at int) *jsonReader {
	p := &jsonReader{Reader: loose.New(s.text, at, s.ends)}
	p.First = func(key string, v value.Value) {
		text, isText := v.(string)
		p.ours = p.ours || strings.EqualFold(key, "tool_decision")
		p.named = p.named || isText && slices.Contains(s.words.Of(phrases.NameKey), key) && s.tools.Find(text) != nil
	}
	return p
}

// addJSON adds a value if it is one or more calls.
func (s *reader) addJSON(c candidate, v value.Value, p *jsonReader) bool {
	sh := s.shape(v)
	if sh.ours {
		c.rank = ours
	}
	if c.rank == bare && c.start < s.nested {
		return false
	}
	var err *loose.Fault
	if p.Cut && c.rank == ours && !s.completeArgs(sh.calls) {
		err = &loose.Fault{At: p.At, What: "the text ends inside the decision"}
	}
	for i := range sh.calls {
		sh.calls[i].Repaired = append(slices.Clone(p.Notes), sh.calls[i].Repaired...)
	}
	return sh.call && s.addShape(c, sh, err)
}

// completeArgs reports whether each call has the required arguments. It is false for calls of
// unknown tools.
func (s *reader) completeArgs(calls []Decision) bool {
	return !slices.ContainsFunc(calls, func(d Decision) bool {
		t := s.tools.Find(d.Action)
		return t == nil || missing(t, d.Input) != ""
	})
}

// broken records invalid JSON. It is an error if it begins as a call does. Nothing inside of it
// is read as a call.
func (s *reader) broken(c candidate, p *jsonReader, err *loose.Fault) {
	c.end = max(err.At, c.start+1)
	if err.At >= s.nested && err.At > c.start+1 {
		c.end = loose.BrokenEnd(s.text, c.start, err.At)
	}
	if p.ours || p.named && c.start >= s.nested {
		c.err = err.Of("the JSON of the call is not valid")
		if p.ours {
			c.rank = ours
		}
		s.add(c)
	}
	s.nested = max(s.nested, c.end)
}

// is reports whether the name of a tag contains a word of a class.
func (s *reader) is(m mark, c phrases.Class) bool {
	return slices.ContainsFunc(s.words.Of(c), func(name string) bool { return strings.Contains(m.Name, name) })
}

func (s *reader) beginsCall(m mark) bool {
	return s.is(m, phrases.CallTag) && !s.is(m, phrases.OtherTag) && m.Name[0] != '/'
}

// vendorTag reads the calls after a tag that only calls have. If anything else follows, the text
// only mentions the tag.
func (s *reader) vendorTag(start int) int {
	m, ok := markAt(s.text, start)
	if !ok || !s.beginsCall(m) || quotedAt(s.text, start) {
		return start
	}
	return s.taggedCalls(start, m.End)
}

// wordAndList reads a list of calls after a word that only calls have, outside of fences.
func (s *reader) wordAndList(start int) int {
	for _, word := range s.words.Of(phrases.CallWord) {
		if rest := s.text[start:]; strings.HasPrefix(rest, word) && strings.HasPrefix(rest[len(word):], "[") && !s.inFence {
			return s.taggedCalls(start, start+len(word))
		}
	}
	return start
}

// taggedCalls reads the calls after a tag, which ends at a position.
func (s *reader) taggedCalls(start, at int) int {
	s.opened(start, at)
	tag := &s.tags[len(s.tags)-1]
	for {
		if at = s.skipMarks(at); at >= len(s.text) {
			return len(s.text)
		}
		end, ok := s.taggedCall(candidate{start: start, rank: tagged}, at)
		if !ok {
			return max(end, at)
		}
		for tag.end = end; end < len(s.text) && s.text[end] == ')'; { // of print(
			end++
		}
		at = s.closingTag(end)
		s.found[len(s.found)-1].end = at
		start = prose.SkipSpace(s.text, at)
		if len(s.found) >= maxCandidates || !s.continues(start, strings.ContainsAny(s.text[end:at], "<[")) {
			return at
		}
		if at = start; strings.IndexByte(";,", s.text[start]) >= 0 {
			at++
		}
	}
}

// continues reports whether another call can follow one after a tag, which is closed or not.
func (s *reader) continues(at int, closed bool) bool {
	switch {
	case at >= len(s.text):
		return false
	case strings.IndexByte("{;,", s.text[at]) >= 0 || closed:
		return strings.IndexByte("{;,", s.text[at]) >= 0
	}
	name := s.skipWrappers(at)
	if strings.HasPrefix(s.text[name:], "call:") {
		name += len("call:")
	}
	t, _, _ := s.nameAt(name)
	_, tag := markAt(s.text, at)
	return t != nil || s.text[at] == '[' && !tag
}

// skipWrappers skips what some models write before a call in a program.
func (s *reader) skipWrappers(at int) int {
	for _, wrapper := range []string{"print(", "await "} {
		if strings.HasPrefix(s.text[at:], wrapper) {
			at += len(wrapper)
		}
	}
	return at
}

// skipMarks skips white space and the marks of vendors between the tag of a call, the name of the
// tool, and its arguments.
func (s *reader) skipMarks(at int) int {
	for {
		at = prose.SkipSpace(s.text, at)
		m, ok := markAt(s.text, at)
		switch {
		case ok && (s.is(m, phrases.InnerTag) || s.beginsCall(m)):
			for at = m.End; m.Name == "callid" && at < len(s.text) && prose.IsName(s.text[at]); {
				at++
			}
		case strings.HasPrefix(s.text[at:], "```"):
			for at += 3; at < len(s.text) && prose.IsWord(s.text[at]); {
				at++
			}
		default:
			next := at
			for _, word := range []string{"json\n", "print(", "call:", "function<"} {
				if strings.HasPrefix(s.text[at:], word) {
					next = at + len(word) - strings.Count(word, "<")
				}
			}
			if next == at {
				return at
			}
			at = next
		}
	}
}

// taggedCall reads a call after a tag. It returns where to continue, and false if there is no
// call.
func (s *reader) taggedCall(c candidate, at int) (int, bool) {
	switch s.text[at] {
	case '{', '[':
		p := s.jsonAt(at)
		v, err := p.Value()
		if p.Cut && p.At == len(s.text) && s.text[at] == '[' {
			err = &loose.Fault{At: p.At, What: "the list of calls is not closed"}
		}
		if err == nil {
			c.end = p.At
			return p.At, s.addJSON(c, v, p)
		}
		if calls, end, ok := s.listOfCalls(at); ok {
			c.end = end
			return end, s.addShape(c, shape{call: true, calls: calls}, nil)
		}
		s.broken(c, p, err)
		return max(err.At, at+1), false
	case '<':
		return s.elements(c, at)
	}
	t, name, next := s.nameAt(at)
	if t == nil {
		return at, false
	}
	if i := prose.SkipSpace(s.text, next); strings.HasPrefix(s.text[i:], "<arg_key>") {
		texts, end, err := elements(s.text, i, s.ends)
		if n := len(texts); n%2 == 1 && n > 1 {
			end = texts[n-1].At
		}
		args := &value.Dict{}
		for i := 0; i+1 < len(texts) && err == nil; i += 2 {
			if i > 0 && texts[i].Tag != "arg_key" { // of another call
				end = texts[i].At
				break
			}
			if texts[i].Tag != "arg_key" || texts[i+1].Tag != "arg_value" || args.Has(texts[i].Text) {
				err = &loose.Fault{At: texts[i].At, What: "the argument " + texts[i].Text + " must have exactly one value"}
			}
			args.Put(texts[i].Text, texts[i+1].Text)
		}
		c.end = end
		return end, s.addShape(c, s.calledTexts(t, name, args), err)
	}
	if next < len(s.text) && s.text[next] == ':' { // NAME:0, the number of the call
		for next++; next < len(s.text) && '0' <= s.text[next] && s.text[next] <= '9'; {
			next++
		}
	}
	sh, end, err := s.writtenCall(t, name, s.skipMarks(next), true)
	if i := prose.SkipSpace(s.text, next); err == nil && !sh.call && strings.HasPrefix(s.text[i:], "</") {
		sh = s.withArguments(t, &value.Dict{}, s.foreign(t, name)) // a call without arguments
		end = i
	}
	c.end = max(end, at+1)
	return c.end, s.addShape(c, sh, err) && err == nil
}

// programList reads [f(a=1), g(b=2)] without a tag.
func (s *reader) programList(at int) int {
	calls, end, ok := s.listOfCalls(at)
	if !ok || at < s.nested {
		return at
	}
	s.addShape(candidate{start: at, end: end, rank: bare}, shape{call: true, calls: calls}, nil)
	return end
}

// listOfCalls reads a list of calls as in a program. A comma may follow the last one.
func (s *reader) listOfCalls(at int) (calls []Decision, end int, ok bool) {
	for at++; ; {
		at = prose.SkipSpace(s.text, at)
		if len(calls) > 0 && strings.HasPrefix(s.text[at:], "]") {
			return calls, at + 1, true
		}
		t, name, next := s.nameAt(at)
		if t == nil || !strings.HasPrefix(s.text[next:], "(") || len(calls) > maxCalls || at < s.tried {
			return nil, 0, false
		}
		sh, end, err := s.writtenCall(t, name, next, true)
		if err != nil {
			s.tried = err.At
		}
		if err != nil || !sh.call || sh.err != "" {
			return nil, 0, false
		}
		calls = append(calls, sh.calls...)
		if at = prose.SkipSpace(s.text, end); strings.HasPrefix(s.text[at:], ",") {
			at++
		} else if !strings.HasPrefix(s.text[at:], "]") {
			return nil, 0, false
		}
	}
}

// closingTag skips the end of a fence and closing tags after a call, except one that ends thinking.
func (s *reader) closingTag(at int) int {
	for {
		i := prose.SkipSpace(s.text, at)
		if strings.HasPrefix(s.text[i:], "```") && !s.inFence {
			at = i + 3
			continue
		}
		m, ok := markAt(s.text, i)
		if !ok || m.Name == "" || s.endsThinking(i) > 0 || s.beginsCall(m) || m.Name == "channel" || m.Name == "start" || m.Name[0] != '/' && prose.IsWord(s.text[i+1]) && !s.is(m, phrases.OtherTag) {
			return at
		}
		at = m.End
	}
}

// channel reads <|channel|>commentary to=functions.NAME ...<|message|>{...}.
func (s *reader) channel(at int) int {
	m, ok := markAt(s.text, at)
	if !ok || m.Name != "channel" && m.Name != "start" {
		return at
	}
	head := s.text[m.End:min(m.End+200, len(s.text))]
	end, to := strings.Index(head, "<|message|>"), strings.Index(head, "to=")
	if end < 0 || to < 0 || to > end {
		return at
	}
	body := m.End + end + len("<|message|>")
	t, name, _ := s.nameAt(m.End + to + len("to="))
	if t == nil {
		return body
	}
	sh, next, err := s.writtenCall(t, name, body, true)
	next = s.closingTag(max(next, body))
	s.addShape(candidate{start: at, end: next, rank: tagged}, sh, err)
	return next
}

// programLine reads a call that fills a line: NAME(...), NAME{...}, NAME: {...}, or NAME with JSON
// on the next line.
func (s *reader) programLine(start int) int {
	at := s.skipWrappers(start)
	t, name, next := s.nameAt(at)
	if t == nil || at < s.tried || at < s.nested {
		return start
	}
	sh, end, err := s.writtenCall(t, name, next, false)
	if err != nil {
		s.tried = err.At
		return start
	}
	// Other text on the line means that the call is part of a sentence or a program.
	s.tried = end
	line := prose.LineEnd(s.text, end)
	rest, _, _ := strings.Cut(s.text[end:line], "```")
	if strings.Trim(rest, " \t\r;)") != "" || !s.addShape(candidate{start: start, end: end + len(rest), rank: bare}, sh, nil) {
		return start
	}
	return end + len(rest)
}

// nameAt reads the name of a tool. It returns the tool or nil, the name, and its end.
func (s *reader) nameAt(at int) (*tool.Tool, string, int) {
	end := at
	for end < len(s.text) && end < at+tool.MaxName+16 && prose.IsName(s.text[end]) {
		end++
	}
	if end == at {
		return nil, "", at
	}
	return s.tools.Find(s.text[at:end]), s.text[at:end], end
}

// writtenCall reads the arguments after the name of a tool: as JSON, on the same line or the next,
// or in round brackets. Without arguments there is no call and no error.
func (s *reader) writtenCall(t *tool.Tool, name string, at int, inTags bool) (shape, int, *loose.Fault) {
	if inTags {
		at = s.skipMarks(at)
	}
	i := prose.SkipBlank(s.text, at)
	if i < len(s.text) && strings.IndexByte(":\n", s.text[i]) >= 0 {
		if i = prose.SkipBlank(s.text, i+1); i < len(s.text) && s.text[i] != '{' {
			return shape{}, at, nil
		}
	}
	switch {
	case i < len(s.text) && s.text[i] == '(':
		args, end, err := bracketArgs(t, loose.New(s.text, i+1, s.ends))
		if err != nil {
			return shape{}, i, err
		}
		return s.withArguments(t, args, s.foreign(t, name)), end, nil
	case i >= len(s.text) || s.text[i] != '{':
		return shape{}, at, nil
	}
	p := loose.New(s.text, i, s.ends)
	v, err := p.Value()
	if err != nil {
		return shape{}, i, err
	}
	args := v.(*value.Dict)
	if inTags && p.Cut && p.At == len(s.text) {
		return shape{}, i, &loose.Fault{At: p.At, What: "the arguments of " + name + " are not closed"}
	}
	if !inTags && missing(t, args) == "" && (!fits(t, args) || args.Len() == 0 && i > at) {
		return shape{}, at, nil // a block of a program
	}
	d := s.foreign(t, name)
	d.Repaired = append(d.Repaired, p.Notes...)
	return s.withArguments(t, args, d), p.At, nil
}

// calledTexts returns a call whose arguments are text.
func (s *reader) calledTexts(t *tool.Tool, name string, args *value.Dict) shape {
	d := s.foreign(t, name)
	d.Texts = true
	return s.withArguments(t, args, d)
}

// namedTag reads a call whose tag holds the name of its tool, and returns where to
// continue:
//
//	<function=NAME>{...}</function>
//	<function=NAME><parameter=KEY>value</parameter></function>
//	<invoke name="NAME"><parameter name="KEY">value</parameter></invoke>
//	<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">value</｜DSML｜parameter></｜DSML｜invoke>
//	<NAME><KEY>value</KEY></NAME>
func (s *reader) namedTag(at int) int {
	end := strings.IndexAny(s.text[at+1:min(len(s.text), at+160)], "<>\n")
	if end < 1 || !beginsTag(s.text, at) || s.text[at+1+end] != '>' || quotedAt(s.text, at) {
		return at
	}
	head, body := s.text[at+1:at+1+end], at+end+2
	full, name := headOf(head)
	tag := localName(full)
	own := name == "" && !s.inFence // the tag is the name of the tool
	if own {
		name = tag
	}
	t := s.tools.Find(name)
	if t == nil || !own && !slices.Contains([]string{"function", "invoke", "tool_call", "tool"}, tag) {
		return at
	}
	c := candidate{start: at, rank: tagged}
	if i := prose.SkipSpace(s.text, body); i < len(s.text) && s.text[i] == '{' {
		sh, next, err := s.writtenCall(t, name, i, true)
		c.inner, c.end = max(next, i+1), s.closingTag(max(next, i+1))
		s.addShape(c, sh, err)
		return c.end
	}
	list, next, err := elements(s.text, body, s.ends)
	args := &value.Dict{}
	for _, e := range list {
		if own {
			_, is := t.Param(e.Tag)
			if e.Name = e.Tag; !is {
				return body
			}
		}
		if args.Has(e.Name) {
			err = &loose.Fault{At: e.At, What: "the parameter " + e.Name + " is duplicated"}
		}
		v, wrong := e.value()
		err = cmp.Or(err, wrong)
		args.Put(e.Name, v)
	}
	sh := s.calledTexts(t, name, args)
	if full != tag && strings.HasPrefix(full, bar) { // with typed elements
		sh = s.withArguments(t, args, s.foreign(t, name))
		if !strings.HasPrefix(s.text[prose.SkipSpace(s.text, next):], "</"+full+">") && err == nil {
			err = &loose.Fault{At: next, What: "the call of " + name + " is not closed"}
		}
	}
	if own && (err != nil || sh.err != "" || args.Len() == 0) {
		return body
	}
	c.inner, c.end = next, s.closingTag(next)
	s.addShape(c, sh, err)
	return max(c.end, body)
}

// elements reads <name>NAME</name><input>{...}</input>. The tags are any keys that calls have in
// JSON.
func (s *reader) elements(c candidate, at int) (int, bool) {
	list, end, err := elements(s.text, at, s.ends)
	if err != nil || len(list) != 2 || !slices.Contains(s.words.Of(phrases.NameKey), list[0].Tag) || !slices.Contains(s.words.Of(phrases.ArgsKey), list[1].Tag) {
		return at, false
	}
	t := s.tools.Find(strings.TrimSpace(list[0].Text))
	args, _, ok := loose.DictOf(list[1].Text)
	if t == nil || !ok {
		return at, false
	}
	c.end = end
	return end, s.addShape(c, s.withArguments(t, args, s.foreign(t, t.Name)), nil)
}
