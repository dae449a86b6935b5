package decision

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A looseReader reads JSON as models write it: with single quotes, bare keys,
// comments, trailing commas, Python's words and line breaks in strings. It
// guesses nothing else: what is not one of those is a fault. Numbers and escapes
// are read by [value.ParseJSON].
//
// It moves forward only. A caller that goes on at the place of a fault, and not
// behind the place where the reading began, reads a text in linear time whatever
// it holds.
type looseReader struct {
	text  string // up to where the value may reach
	at    int
	nodes int
	notes []string // what was mended, each once
	ends  *finder
	// cut says that braces were missing at the end of the text, and safe that
	// what stood there was whole: neither a number nor a word can be, for more
	// of it may have followed.
	cut   bool
	safe  bool
	fault fault
	// skim reads without making values, and notes in telling whether one of the
	// outermost keys satisfies tells: most JSON in a reply is no call.
	skim    bool
	telling bool
	tells   func(key string, v value.Value) bool
}

// A fault is why a text cannot be read, and where: what is wrong in words, or
// what was expected there.
type fault struct {
	at   int
	what string
	want string
}

// in says in words what is wrong in a text.
func (f *fault) in(text string) string {
	switch {
	case f.want == "":
		return f.what
	case f.at >= len(text):
		return f.what + "the text ends where " + f.want + " should follow"
	}
	r, _ := utf8.DecodeRuneInString(text[f.at:])
	return f.what + "\"" + string(r) + "\" where " + f.want + " should follow"
}

// of returns the fault with what it is about before it.
func (f *fault) of(what string) *fault {
	return &fault{f.at, what + ": " + f.what, f.want}
}

const (
	mendedQuotes   = "quotes that are not JSON's"
	mendedKeys     = "keys without quotes"
	mendedCommas   = "a comma too many"
	mendedComments = "comments in JSON"
	mendedPython   = "Python's True, False or None"
	mendedBreaks   = "line breaks in strings"
	mendedEscapes  = "escapes that JSON does not have"
	mendedEnd      = "closing braces missing at the end"
	mendedNesting  = "arguments as a text of JSON"
	mendedWrapper  = "a call in another form than asked for"
	mendedName     = "the tool's name"
	mendedTags     = "a missing tag"
	mendedFence    = "a code fence"
	mendedThoughts = "thinking beside it"
)

func newLoose(text string, at int, ends *finder) *looseReader {
	return &looseReader{text: text, at: at, nodes: value.MaxNodes, ends: ends}
}

func (p *looseReader) note(what string) {
	if !p.skim && !slices.Contains(p.notes, what) {
		p.notes = append(p.notes, what)
	}
}

// fail and wrong return a fault that holds until the next one.
func (p *looseReader) fail(want string) *fault {
	p.fault = fault{at: p.at, want: want}
	return &p.fault
}

func (p *looseReader) wrong(at int, what string) *fault {
	p.fault = fault{at: at, what: what}
	return &p.fault
}

func (p *looseReader) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *looseReader) has(s string) bool { return strings.HasPrefix(p.text[p.at:], s) }

// space steps over white space and comments.
func (p *looseReader) space() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '#' || p.has("//"):
			p.note(mendedComments)
			p.at = prose.LineEnd(p.text, p.at)
		case p.has("/*"):
			end := p.ends.find("*/", p.at+2)
			if end < 0 || end > len(p.text) {
				return
			}
			p.note(mendedComments)
			p.at = end + 2
		default:
			return
		}
	}
}

func (p *looseReader) value(depth int) (value.Value, *fault) {
	p.nodes--
	if p.nodes < 0 || depth == 0 {
		return nil, p.wrong(p.at, "more or deeper nested values than anybody needs")
	}
	p.safe = true
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(']', depth)
	case c == '(':
		return p.array(')', depth)
	case p.quote() != "":
		return p.quoted()
	case c == '-' || c == '+' || '0' <= c && c <= '9':
		return p.number()
	}
	return p.word()
}

func (p *looseReader) array(closer byte, depth int) (value.Value, *fault) {
	p.at++
	list := value.List{}
	for {
		p.space()
		if p.peek() == closer && p.at < len(p.text) {
			p.at++
			p.safe = true
			return list, nil
		}
		v, err := p.value(depth - 1)
		if err != nil {
			return nil, err
		}
		if !p.skim {
			list = append(list, v)
		}
		if done, err := p.between(closer); done || err != nil {
			return list, err
		}
	}
}

// between steps over what may stand after an item: a comma, or the closer, and
// then it is done.
func (p *looseReader) between(closer byte) (done bool, err *fault) {
	p.space()
	switch {
	case p.peek() == ',':
		p.at++
		p.space()
		if p.peek() == closer {
			p.note(mendedCommas)
			p.at++
			p.safe = true
			return true, nil
		}
		return false, nil
	case p.peek() == closer && p.at < len(p.text):
		p.at++
		p.safe = true
		return true, nil
	case p.safe && (p.at >= len(p.text) || p.has("```") || p.has("</")):
		p.cut = true
		p.note(mendedEnd)
		return true, nil
	}
	return false, p.fail(map[byte]string{']': "a comma or ]", '}': "a comma or }", ')': "a comma or )"}[closer])
}

func (p *looseReader) object(depth int) (value.Value, *fault) {
	p.at++
	var d *value.Dict
	if !p.skim {
		d = &value.Dict{}
	}
	for {
		p.space()
		if p.peek() == '}' {
			p.at++
			p.safe = true
			return d, nil
		}
		start := p.at
		name, err := p.key()
		if err != nil {
			return nil, err
		}
		if d.Has(name) {
			return nil, p.wrong(start, "the name \""+name+"\" is given twice")
		}
		p.space()
		if p.peek() != ':' {
			return nil, p.fail("a colon")
		}
		p.at++
		p.space()
		v, err := p.value(depth - 1)
		if err != nil {
			return nil, err
		}
		if !p.skim {
			d.Put(name, v)
		} else if !p.telling && depth >= value.MaxDepth-1 {
			p.telling = p.tells(name, v)
		}
		if done, err := p.between('}'); done || err != nil {
			return d, err
		}
	}
}

func (p *looseReader) key() (string, *fault) {
	if p.quote() != "" {
		return p.quoted()
	}
	start := p.at
	for p.at < len(p.text) && prose.IsWord(p.text[p.at]) {
		p.at++
	}
	if p.at == start || '0' <= p.text[start] && p.text[start] <= '9' {
		p.at = start
		return "", p.fail("a name in double quotes")
	}
	p.note(mendedKeys)
	return p.text[start:p.at], nil
}

// quote returns what closes the string that begins here, or "" where none does.
func (p *looseReader) quote() string {
	switch {
	case p.has(`"""`):
		return `"""`
	case p.has("'''"):
		return "'''"
	case p.has(`"`):
		return `"`
	case p.has("'"):
		return "'"
	case p.has("“"), p.has("”"):
		return "”"
	}
	return ""
}

// quoted reads a string in whatever quotes.
func (p *looseReader) quoted() (string, *fault) {
	closer, start := p.quote(), p.at
	p.at += len(closer)
	plain, from, closed := closer == `"`, p.at, false
	if len(closer) > 1 { // one that can be opened without being closed
		if end := p.ends.find(closer, p.at); end < 0 || end >= len(p.text) {
			p.at = start
			return "", p.wrong(start, "a string that is not closed")
		}
	}
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c == closer[0] && p.has(closer) {
			closed = true
			break
		}
		if c == '\\' {
			p.at++
		}
		if c == '\\' || c < 0x20 {
			plain = false
		}
		p.at++
	}
	if !closed {
		p.at = start
		return "", p.wrong(start, "a string that is not closed")
	}
	raw := p.text[from:p.at]
	p.at += len(closer)
	if closer != `"` {
		p.note(mendedQuotes)
	}
	if plain && utf8.ValidString(raw) || p.skim {
		return raw, nil
	}
	v, err := value.ParseJSON(p.strict(raw))
	s, ok := v.(string)
	if err != nil || !ok {
		return "", p.wrong(start, "a string that is no valid text, or has an escape that is cut off")
	}
	return s, nil
}

// strict writes the inside of a string as JSON has it.
func (p *looseReader) strict(raw string) []byte {
	b := make([]byte, 0, len(raw)+len(raw)/8+2)
	b = append(b, '"')
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			b = append(b, '\\', '"')
		case c < 0x20:
			p.note(mendedBreaks)
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c != '\\' || i+1 >= len(raw):
			b = append(b, c)
		default:
			i++
			b = p.strictEscape(b, raw[i])
		}
	}
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

func (p *looseReader) strictEscape(b []byte, c byte) []byte {
	switch {
	case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
		return append(b, '\\', c)
	case c == '\'':
		p.note(mendedEscapes)
		return append(b, c)
	case c == '\n':
		p.note(mendedBreaks)
		return append(b, `\n`...)
	}
	// Such as \d of a pattern: who writes it means the backslash.
	p.note(mendedEscapes)
	return append(b, '\\', '\\', c)
}

func (p *looseReader) number() (value.Value, *fault) {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.skim {
		p.safe = false
		return nil, nil
	}
	v, err := value.ParseJSON([]byte(p.text[start:p.at]))
	if err != nil || p.at < len(p.text) && prose.IsWord(p.text[p.at]) {
		p.at = start
		return nil, p.wrong(start, "a malformed number")
	}
	p.safe = false
	return v, nil
}

func (p *looseReader) word() (value.Value, *fault) {
	start := p.at
	for p.at < len(p.text) && prose.IsWord(p.text[p.at]) {
		p.at++
	}
	p.safe = false
	switch p.text[start:p.at] {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	case "True", "False", "None":
		p.note(mendedPython)
		if p.text[start] == 'N' {
			return nil, nil
		}
		return p.text[start] == 'T', nil
	}
	p.at = start
	return nil, p.fail("a value")
}

// A finder finds texts, and remembers the last place of each, so that looking
// for one again and again from places that move forward looks at nothing twice.
type finder struct {
	text string
	last map[string]finding
}

// A finding says that the next place of a text behind from is at, or none.
type finding struct{ from, at int }

func (f *finder) find(what string, from int) int {
	if last, ok := f.last[what]; ok && from >= last.from && (last.at < 0 || from <= last.at) {
		return last.at
	}
	at := -1
	if from <= len(f.text) {
		if at = strings.Index(f.text[from:], what); at >= 0 {
			at += from
		}
	}
	if f.last == nil {
		f.last = map[string]finding{}
	}
	f.last[what] = finding{from, at}
	return at
}

// isName reports whether a byte can be part of a tool's name.
func isName(c byte) bool { return prose.IsWord(c) || c == '-' || c == '.' }

// skipSpace returns the first place from here that is no white space.
func skipSpace(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// skipBlank does so within the line.
func skipBlank(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r", text[at]) >= 0 {
		at++
	}
	return at
}

// hasFold reports whether a text begins with an ASCII prefix, in any case.
func hasFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
