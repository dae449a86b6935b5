package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const blockTag = "TOOL_DECISION"

// A block is the text of one <TOOL_DECISION>, field by field, in any order.
type block struct {
	s         *reader
	at        int
	untagged  bool // the tags are missing: it ends where no field follows
	end       int
	closed    bool
	fields    map[field]bool
	action    string
	reasoning string
	status    string
	input     *value.Dict
	texts     bool // the input is a list of parameters
	cut       bool // its JSON lacked braces at the end
	notes     []string
	err       *fault
	whole     *candidate // the block holds a decision as JSON instead of fields
}

type field uint8

const (
	noField field = iota
	actionField
	inputField
	reasoningField
	statusField
)

// fieldNames has the names of the fields, the longer before those that they
// begin with. Parameters is the heading of the format with a list.
var fieldNames = []struct {
	name  string
	field field
}{
	{"ACTION INPUT", inputField}, {"ACTION_INPUT", inputField}, {"ACTION", actionField}, {"INPUT", inputField},
	{"PARAMETERS", inputField}, {"REASONING", reasoningField}, {"STATUS", statusField},
}

// decisionBlock reads the block whose tag ends at a place. It returns where to
// go on.
func (s *reader) decisionBlock(start, at int) int {
	b := &block{s: s, at: at, fields: map[field]bool{}}
	b.read()
	switch {
	case b.whole != nil:
		b.whole.start, b.whole.end = start, b.end
		s.add(*b.whole)
	case len(b.fields) > 0:
		if c, ok := b.candidate(start); ok {
			s.add(c)
		}
	default: // the tag is only spoken of
		return at
	}
	return b.end
}

func (b *block) read() {
	text := b.s.text
	for b.err == nil {
		b.at = skipSpace(text, b.at)
		b.end = b.at
		if b.at >= len(text) {
			return
		}
		if end, ok := tagEnd(text, b.at, "/"+blockTag); ok {
			b.end, b.closed = end, true
			return
		}
		if _, ok := tagEnd(text, b.at, blockTag); ok {
			return
		}
		f, value := fieldAt(text, b.at, false)
		switch {
		case f != noField && b.fields[f]:
			if b.untagged {
				return
			}
			b.err = &fault{at: b.at, what: "a field of the decision is given twice: write one block for each call"}
		case f != noField:
			b.fields[f] = true
			b.readField(f, value)
		case len(b.fields) == 0 && b.jsonInside():
			return
		case b.untagged:
			return
		default:
			b.at = b.lineEnd(b.at)
		}
	}
	b.end = b.skipBroken()
}

// skipBroken returns where a block ends in which something is wrong, so that
// what else is in it is not looked at.
func (b *block) skipBroken() int {
	at := max(b.err.at, b.at)
	for at < len(b.s.text) {
		i := strings.IndexByte(b.s.text[at:], '<')
		if i < 0 {
			return len(b.s.text)
		}
		at += i
		if end, ok := tagEnd(b.s.text, at, "/"+blockTag); ok {
			return end
		}
		if _, ok := tagEnd(b.s.text, at, blockTag); ok {
			return at
		}
		at++
	}
	return at
}

// lineEnd returns where the line ends, or the tag in it that ends the block.
func (b *block) lineEnd(at int) int {
	for i := at; i < len(b.s.text); i++ {
		if c := b.s.text[i]; c == '\n' || c == '<' && b.endsAt(i) {
			return i
		}
	}
	return len(b.s.text)
}

func (b *block) readField(f field, value int) {
	switch f {
	case actionField:
		b.action = b.line(value)
	case statusField:
		b.status = b.line(value)
	case reasoningField:
		b.reasoning = b.line(value)
		b.moreReasoning()
	case inputField:
		b.readInput(value)
	}
}

// line reads the rest of a line, up to another field in it.
func (b *block) line(at int) string {
	text, end := b.s.text, b.lineEnd(at)
	for i := at; i < end; i++ {
		next := text[i] == ' ' && i+1 < end && 'A' <= text[i+1] && text[i+1] <= 'Z'
		if next && i > at {
			if f, value := fieldAt(text, i+1, false); f != noField && value <= end && text[i+2] < 'a' && !b.fields[f] {
				end = i
			}
		}
		if text[i] == '<' && i+1 < end && text[i+1] == '/' {
			if close := strings.IndexByte(text[i:end], '>'); close > 0 && isField(text[i+2:i+close]) {
				b.at = i + close + 1
				return strings.TrimSpace(text[at:i])
			}
		}
	}
	b.at = end
	return strings.TrimSpace(text[at:end])
}

func isField(name string) bool {
	for _, f := range fieldNames {
		if strings.EqualFold(f.name, name) {
			return true
		}
	}
	return false
}

// moreReasoning adds the lines that follow, up to the next field.
func (b *block) moreReasoning() {
	text := b.s.text
	var more strings.Builder
	for b.at < len(text) && text[b.at] == '\n' {
		i := skipBlank(text, b.at+1)
		f, _ := fieldAt(text, i, false)
		if f != noField || i >= len(text) || text[i] == '<' || b.untagged && text[i] == '\n' {
			break
		}
		end := b.lineEnd(i)
		more.WriteByte('\n')
		more.WriteString(strings.TrimSpace(text[i:end]))
		b.at = end
	}
	b.reasoning = strings.TrimSpace(b.reasoning + more.String())
}

// fieldAt reads the name of a field at a place, with what Markdown may put
// around it, and returns where its value starts. A heading needs no colon. In a
// list of parameters, a bullet is a parameter whatever its name.
func fieldAt(text string, at int, inList bool) (field, int) {
	i, heading := at, false
	for i < len(text) && i < at+8 && strings.IndexByte("#*_-< ", text[i]) >= 0 {
		if inList && (text[i] == '-' || text[i] == '*' && i+1 < len(text) && text[i+1] == ' ') {
			return noField, 0
		}
		heading = heading || text[i] != ' ' && text[i] != '-'
		i++
	}
	for _, f := range fieldNames {
		if !hasFold(text[i:], f.name) {
			continue
		}
		j := i + len(f.name)
		for j < len(text) && strings.IndexByte("*_ \t", text[j]) >= 0 {
			j++
		}
		switch {
		case j < len(text) && (text[j] == ':' || text[j] == '>' && text[max(i-1, 0)] == '<'):
			j++
			for strings.HasPrefix(text[j:], "*") || strings.HasPrefix(text[j:], "_") {
				j++
			}
			return f.field, j
		case heading && f.field == inputField && (j >= len(text) || text[j] == '\n' || text[j] == '\r'):
			return f.field, j
		}
	}
	return noField, 0
}

// tagEnd reports whether a tag of this name, in any case, stands at a place, and
// where it ends.
func tagEnd(text string, at int, name string) (int, bool) {
	if text[at] != '<' || !hasFold(text[at+1:], name) {
		return 0, false
	}
	i := skipBlank(text, at+1+len(name))
	if i >= len(text) || text[i] != '>' {
		return 0, false
	}
	return i + 1, true
}

// readInput reads the value of INPUT or what stands under ## Parameters: JSON,
// also in a fence, or a list of parameters.
func (b *block) readInput(at int) {
	text := b.s.text
	i := skipSpace(text, at)
	fenced := strings.HasPrefix(text[i:], "```")
	if fenced {
		b.notes = append(b.notes, mendedFence)
		i = skipSpace(text, fenceContent(text, i))
	}
	switch {
	case i < len(text) && (text[i] == '{' || text[i] == '"'):
		b.readJSON(i, fenced)
	case i < len(text) && isBullet(text, i):
		b.texts = true
		b.input = &value.Dict{}
		b.readParameters(i)
	default:
		b.at = at
		if rest := b.line(at); rest != "" && !isNobody(rest) {
			b.err = &fault{at: i, what: "a JSON object should follow INPUT"}
			return
		}
		b.input = &value.Dict{}
	}
}

// fenceContent returns where the content of the fence starts that opens here.
func fenceContent(text string, at int) int {
	for at < len(text) && (text[at] == '`' || prose.IsWord(text[at])) {
		at++
	}
	return at
}

func (b *block) readJSON(at int, fenced bool) {
	p := newLoose(b.s.text, at, &b.s.ends)
	v, err := p.value(value.MaxDepth)
	if err != nil {
		b.err = err.of("the INPUT is not valid JSON")
		return
	}
	args, nested, ok := dictOf(v)
	if !ok {
		b.err = &fault{at: at, what: "the INPUT should be a JSON object"}
		return
	}
	if nested {
		p.note(mendedNesting)
	}
	b.input, b.cut = args, p.cut
	b.notes = append(b.notes, p.notes...)
	b.at = skipSpace(b.s.text, p.at)
	if fenced && strings.HasPrefix(b.s.text[b.at:], "```") {
		b.at += 3
	}
	if strings.HasPrefix(b.s.text[b.at:], "</") { // of a field
		if end := strings.IndexByte(b.s.text[b.at:min(b.at+20, len(b.s.text))], '>'); end > 0 && isField(b.s.text[b.at+2:b.at+end]) {
			b.at += end + 1
		}
	}
	b.at = skipSpace(b.s.text, b.at)
	f, _ := fieldAt(b.s.text, min(b.at, len(b.s.text)), false)
	if f == noField && b.at < len(b.s.text) && b.s.text[b.at] != '<' && !b.untagged {
		b.err = &fault{at: b.at, what: "the INPUT is followed by something else; it should be one JSON object"}
	}
}

// jsonInside reads a block that holds a decision as JSON.
func (b *block) jsonInside() bool {
	text, at := b.s.text, b.at
	if strings.HasPrefix(text[at:], "```") {
		at = skipSpace(text, fenceContent(text, at))
	}
	if b.untagged || at >= len(text) || text[at] != '{' {
		return false
	}
	p := newLoose(text, at, &b.s.ends)
	v, err := p.value(value.MaxDepth)
	if err != nil {
		b.err = err.of("the decision is not valid JSON")
		b.whole = &candidate{rank: ours, err: b.err}
		b.at, b.end = err.at, b.skipBroken()
		return true
	}
	d := v.(*value.Dict)
	sh := b.s.shape(d)
	if !sh.ours {
		sh = b.s.ourCall(d)
	}
	b.at = p.at
	b.end = b.skipToClose()
	if !sh.call {
		return true
	}
	b.whole = &candidate{rank: ours, calls: sh.calls}
	for i := range sh.calls {
		sh.calls[i].Repaired = append(sh.calls[i].Repaired, append(p.notes, mendedWrapper)...)
	}
	if sh.err != "" {
		b.whole.err = &fault{at: at, what: sh.err}
	}
	if p.cut && !b.s.completeArgs(sh.calls) || p.cut && b.s.cut {
		b.whole.err = &fault{at: p.at, what: "the text ends before the decision does"}
	}
	return true
}

func (b *block) skipToClose() int {
	at := skipSpace(b.s.text, b.at)
	if strings.HasPrefix(b.s.text[at:], "```") {
		at = skipSpace(b.s.text, at+3)
	}
	if at < len(b.s.text) {
		if end, ok := tagEnd(b.s.text, at, "/"+blockTag); ok {
			return end
		}
	}
	return b.at
}

// candidate makes a call of the fields. It is none where the block says that
// nothing is to be called, or only shows how one is written.
func (b *block) candidate(start int) (candidate, bool) {
	s := b.s
	c := candidate{start: start, end: b.end, rank: ours}
	name := plainName(b.action)
	unnamed := s.lookupFold(name) == nil
	switch {
	case b.err != nil:
		c.err = b.err
		return c, true
	case unnamed && (isNobody(name) || isStandIn(name) || name == "" && !b.fields[inputField]):
		return c, false
	case name == "":
		c.err = &fault{at: start, what: "the decision has no ACTION: it should be the name of a tool"}
		return c, true
	}
	d := Decision{Kind: ToolCall, Format: XMLJSON, Input: b.input, Texts: b.texts,
		Reasoning: b.reasoning, Status: statusOf(b.status), Repaired: b.notes}
	if b.texts {
		d.Format = Markdown
	}
	d.Action = s.actionName(b.action, &d)
	if d.Input == nil {
		d.Input = &value.Dict{}
	}
	if !b.closed {
		d.Repaired = append(d.Repaired, mendedTags)
	}
	t := s.lookup(d.Action)
	switch {
	case !b.closed && s.cut:
		c.err = &fault{at: b.end, what: cutOff}
	case !b.closed && !b.fields[inputField] && (t == nil || len(t.Params) > 0):
		c.err = &fault{at: b.end, what: "the text ends before the INPUT of the decision"}
	case b.cut && (t == nil || missingArg(t, d.Input) != ""):
		c.err = &fault{at: b.end, what: "the INPUT is not closed"}
	}
	c.calls = []Decision{d}
	return c, true
}

// untaggedBlock reads a decision that lacks its tags, from the line of its
// ACTION: a tool that was offered, and its INPUT.
func (s *reader) untaggedBlock(start int) (int, bool) {
	f, value := fieldAt(s.text, start, false)
	if f != actionField {
		return 0, false
	}
	line := s.text[value:prose.LineEnd(s.text, value)]
	if len(line) > 2*tool.MaxName || s.lookupFold(line) == nil {
		return 0, false
	}
	b := &block{s: s, at: start, untagged: true, fields: map[field]bool{}}
	b.read()
	if !b.fields[inputField] {
		return 0, false
	}
	b.closed = true
	c, ok := b.candidate(start)
	if !ok {
		return 0, false
	}
	c.rank = bare
	t := s.lookupFold(line)
	for i := range c.calls {
		c.calls[i].Format = Other
		c.calls[i].Repaired = append(c.calls[i].Repaired, mendedTags)
		if c.err == nil && missingArg(t, c.calls[i].Input) != "" {
			c.err = &fault{at: start, what: "the call of " + t.Name + " has no " + missingArg(t, c.calls[i].Input) + ", which is required"}
		}
	}
	s.add(c)
	return max(b.end, start+1), true
}
