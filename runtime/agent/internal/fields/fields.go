// Package fields reads decisions that are written as fields: ACTION, INPUT, REASONING and STATUS,
// in any order, with or without tags around them.
package fields

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const blockTag = "TOOL_DECISION"

// A Block is one decision.
type Block struct {
	text      string
	ends      *loose.Finder
	at        int
	End       int  // its end in the text
	open      bool // it has no tags: it ends where no field follows
	Closed    bool // it has the closing tag, or no tags
	fields    map[field]bool
	Action    string // as written, like Reasoning and Status
	Reasoning string
	Status    string
	Input     *value.Dict  // nil if it is missing
	Texts     bool         // the input is a list of parameters
	Cut       bool         // the JSON of the input lacked braces at the end
	Notes     []string     // what was repaired
	Err       *loose.Fault // why the block cannot be read, or nil
	Stray     *loose.Fault // text where parameters are expected, if there are none
}

type field uint8

const (
	noField field = iota
	actionField
	inputField
	reasoningField
	statusField
)

// fieldNames are the names of the fields. A longer name is before its prefix. PARAMETERS is the
// heading of a list of parameters.
var fieldNames = []struct {
	name  string
	field field
}{
	{"ACTION INPUT", inputField}, {"ACTION_INPUT", inputField}, {"ACTION", actionField}, {"INPUT", inputField},
	{"PARAMETERS", inputField}, {"REASONING", reasoningField}, {"STATUS", statusField},
}

// FixedFence is the note for an input in a fence.
const FixedFence = "a code fence"

// Read reads the fields that start at a position, up to the closing tag. Without tags, they end
// where no other field follows. It never returns nil.
func Read(text string, at int, tags bool, ends *loose.Finder) *Block {
	b := &Block{text: text, ends: ends, at: at, open: !tags, Closed: !tags, fields: map[field]bool{}}
	b.read()
	return b
}

// Tag reports whether the opening tag is at a position, and returns its end.
func Tag(text string, at int) (end int, ok bool) { return tagEnd(text, at, blockTag) }

// Action reports whether the field ACTION is at a position, and returns the start of its value.
func Action(text string, at int) (start int, ok bool) {
	f, start := fieldAt(text, at, false)
	return start, f == actionField
}

// Empty reports whether no field was found.
func (b *Block) Empty() bool { return len(b.fields) == 0 }

// HasInput reports whether there is an INPUT, or parameters.
func (b *Block) HasInput() bool { return b.fields[inputField] }

func (b *Block) read() {
	text := b.text
	for b.Err == nil {
		b.at = prose.SkipSpace(text, b.at)
		b.End = b.at
		if end, closes := tagEnd(text, b.at, "/"+blockTag); closes {
			b.End, b.Closed = end, true
			return
		}
		if b.at >= len(text) || b.endsAt(b.at) {
			return
		}
		f, value := fieldAt(text, b.at, false)
		switch {
		case b.open && (f == noField || b.fields[f]):
			return
		case f == noField:
			b.at = b.lineEnd(b.at)
		case b.fields[f]:
			b.Err = &loose.Fault{At: b.at, What: "a field of the decision is duplicated: write one block for each call"}
		default:
			b.fields[f] = true
			b.readField(f, value)
		}
	}
	// Skip the rest of the block.
	for b.End = max(b.Err.At, b.at); b.End < len(text); b.End++ {
		if end, closes := tagEnd(text, b.End, "/"+blockTag); closes {
			b.End = end
			return
		}
		if b.endsAt(b.End) {
			return
		}
	}
}

func (b *Block) readField(f field, at int) {
	switch f {
	case actionField:
		b.Action = b.line(at)
	case statusField:
		b.Status = b.line(at)
	case reasoningField:
		b.Reasoning = b.line(at)
		b.moreReasoning()
	case inputField:
		b.readInput(at)
	}
}

// endsAt reports whether a tag of a block is at a position.
func (b *Block) endsAt(at int) bool {
	_, opens := tagEnd(b.text, at, blockTag)
	_, closes := tagEnd(b.text, at, "/"+blockTag)
	return opens || closes
}

// lineEnd returns the end of the line, or the position of a tag in it that ends the block.
func (b *Block) lineEnd(at int) int {
	for at < len(b.text) && b.text[at] != '\n' && (b.text[at] != '<' || !b.endsAt(at)) {
		at++
	}
	return at
}

// line reads the rest of a line, up to another field.
func (b *Block) line(at int) string {
	text, end := b.text, b.lineEnd(at)
	for i := at; i < end; i++ {
		if close := b.fieldTag(i); close > 0 {
			b.at = close
			return strings.TrimSpace(text[at:i])
		}
		if text[i] == ' ' && i > at && i+2 < end && 'A' <= text[i+2] && text[i+2] <= 'Z' {
			if f, value := fieldAt(text, i+1, false); f != noField && value <= end && !b.fields[f] && b.plausible(f, value) {
				end = i
			}
		}
	}
	b.at = end
	return strings.TrimSpace(text[at:end])
}

// fieldTag returns the end of a tag that closes a field, or 0.
func (b *Block) fieldTag(at int) int {
	for _, f := range fieldNames {
		if end, ok := tagEnd(b.text, at, "/"+f.name); ok {
			return end
		}
	}
	return 0
}

// plausible reports whether the value of a field within a text is valid. The names of fields are
// also words in reasoning.
func (b *Block) plausible(f field, at int) bool {
	text := b.text
	at = prose.SkipBlank(text, at)
	end := at
	for end < len(text) && strings.IndexByte(" \t\r\n", text[end]) < 0 && (text[end] != '<' || !b.endsAt(end)) {
		end++
	}
	word, rest := text[at:end], prose.SkipBlank(text, end)
	alone := rest >= len(text) || text[rest] == '\n' || b.endsAt(rest) // on the rest of the line
	switch f {
	case inputField:
		return word == "" || strings.IndexByte("{\"`-*+", word[0]) >= 0 || IsNobody(word)
	case actionField:
		return word != "" && alone
	case statusField:
		return alone || word == "continue" || word == "final"
	}
	return !b.fields[f]
}

// moreReasoning adds the lines that follow, except empty ones, up to the next field.
func (b *Block) moreReasoning() {
	text, lines := b.text, []string{b.Reasoning}
	for b.at < len(text) && text[b.at] == '\n' {
		i := prose.SkipBlank(text, b.at+1)
		f, value := fieldAt(text, i, false)
		if f != noField && b.plausible(f, value) || i >= len(text) || text[i] == '<' || b.open && text[i] == '\n' {
			break
		}
		b.at = b.lineEnd(i)
		if line := strings.TrimSpace(text[i:b.at]); line != "" {
			lines = append(lines, line)
		}
	}
	b.Reasoning = strings.TrimPrefix(strings.Join(lines, "\n"), "\n")
}

// fieldAt reads the name of a field, with the emphasis of Markdown, and returns the start of its
// value. A heading needs no colon. In a list of parameters, a bullet is always a parameter.
func fieldAt(text string, at int, inList bool) (field, int) {
	i, heading := at, false
	for i < len(text) && i < at+8 && strings.IndexByte("#*_-< ", text[i]) >= 0 {
		if inList && isBullet(text, i) {
			return noField, 0
		}
		heading = heading || text[i] != ' ' && text[i] != '-'
		i++
	}
	for _, f := range fieldNames {
		if !prose.HasFold(text[i:], f.name) {
			continue
		}
		j := prose.Skip(text, i+len(f.name), "*_ \t")
		switch {
		case j < len(text) && (text[j] == ':' || text[j] == '>' && text[max(i-1, 0)] == '<'):
			return f.field, prose.Skip(text, j+1, "*_")
		case heading && f.field == inputField && (j >= len(text) || text[j] == '\n' || text[j] == '\r'):
			return f.field, j
		}
	}
	return noField, 0
}

// tagEnd reports whether a tag is at a position, ignoring case, and returns its end.
func tagEnd(text string, at int, name string) (int, bool) {
	if at >= len(text) || text[at] != '<' || !prose.HasFold(text[at+1:], name) {
		return 0, false
	}
	i := prose.SkipBlank(text, at+1+len(name))
	return i + 1, i < len(text) && text[i] == '>'
}

// readInput reads the value of INPUT or of ## Parameters: JSON, also in a fence, or a list of
// parameters.
func (b *Block) readInput(at int) {
	text := b.text
	i := prose.SkipSpace(text, at)
	fenced := strings.HasPrefix(text[i:], "```")
	if fenced {
		b.Notes = append(b.Notes, FixedFence)
		for i += 3; i < len(text) && prose.IsWord(text[i]); {
			i++
		}
		i = prose.SkipSpace(text, i)
	}
	switch {
	case i < len(text) && (text[i] == '{' || text[i] == '"'):
		b.readJSON(i, fenced)
	case i < len(text) && isBullet(text, i):
		b.Texts = true
		b.Input = &value.Dict{}
		b.readParameters(i)
	default:
		b.at = at
		if rest := b.line(at); rest != "" && !IsNobody(rest) {
			b.Err = &loose.Fault{At: i, What: "expected a JSON object after INPUT"}
		}
		b.Input = &value.Dict{}
		b.Stray = b.strayAt(i)
	}
}

// strayAt returns the error of text on the lines after an INPUT without a value, or nil.
func (b *Block) strayAt(at int) *loose.Fault {
	if at < b.at || at >= len(b.text) || b.text[at] == '<' {
		return nil
	}
	f, _ := fieldAt(b.text, at, false)
	if f != noField || b.open || IsNobody(b.text[at:b.lineEnd(at)]) {
		return nil
	}
	return &loose.Fault{At: at, What: "expected a parameter as \"- key: value\", or a JSON object"}
}

func (b *Block) readJSON(at int, fenced bool) {
	p := loose.New(b.text, at, b.ends)
	v, err := p.Value()
	if err != nil {
		b.Err = err.Of("the INPUT is not valid JSON")
		return
	}
	args, nested, ok := loose.DictOf(v)
	if !ok {
		b.Err = &loose.Fault{At: at, What: "the INPUT is not a JSON object"}
		return
	}
	if nested {
		p.Note(loose.FixedNesting)
	}
	b.Input, b.Cut = args, p.Cut
	b.Notes = append(b.Notes, p.Notes...)
	b.at = prose.SkipSpace(b.text, p.At)
	if fenced && strings.HasPrefix(b.text[b.at:], "```") {
		b.at += 3
	}
	b.at = prose.SkipSpace(b.text, max(b.at, b.fieldTag(b.at)))
	f, _ := fieldAt(b.text, min(b.at, len(b.text)), false)
	if f == noField && b.at < len(b.text) && b.text[b.at] != '<' && !b.open {
		b.Err = &loose.Fault{At: b.at, What: "unexpected text after the INPUT: expected only one JSON object"}
	}
}

// isBullet reports whether an item of a list is at a position.
func isBullet(text string, at int) bool {
	return at+1 < len(text) && strings.IndexByte("-*+", text[at]) >= 0 && (text[at+1] == ' ' || text[at+1] == '\t')
}

// readParameters reads lines "- key: value". A value continues in lines that are indented further
// than its bullet, or is a fence below it. Nested JSON stays text. Any other line is a fault: it may
// belong to a value, and a tool must not run with a part of it.
func (b *Block) readParameters(at int) {
	text := b.text
	for at < len(text) {
		i := prose.SkipBlank(text, at)
		if i < len(text) && text[i] == '\n' {
			at = i + 1
			continue
		}
		f, _ := fieldAt(text, i, true)
		if i >= len(text) || b.endsAt(i) || f != noField || strings.HasPrefix(text[i:], "```") || b.open && !isBullet(text, i) {
			break
		}
		key, start := parameterAt(text, i)
		switch {
		case !isBullet(text, i):
			b.Err = &loose.Fault{At: i, What: "expected \"- key: value\": indent the other lines of a value, or put the value in a code fence"}
		case key == "":
			b.Err = &loose.Fault{At: i, What: "expected a parameter as \"- key: value\""}
		case b.Input.Has(key):
			b.Err = &loose.Fault{At: i, What: "the parameter \"" + key + "\" is duplicated"}
		}
		if b.Err != nil {
			return
		}
		v, next := b.parameterValue(start, prose.Column(text, i))
		b.Input.Put(key, v)
		at = next
	}
	b.at = min(at, len(text))
	if rest := prose.SkipSpace(text, b.at); strings.HasPrefix(text[rest:], "```") {
		b.at = rest + 3
	}
}

// parameterAt returns the key of an item, or "", and the start of its value.
func parameterAt(text string, at int) (key string, start int) {
	from := prose.Skip(text, at+1, " \t*`\"")
	to := from
	for to < len(text) && (prose.IsName(text[to]) || text[to] >= utf8.RuneSelf) {
		to++
	}
	i := prose.Skip(text, to, "*`\" ")
	if i >= len(text) || text[i] != ':' {
		return "", 0
	}
	if i++; strings.HasPrefix(text[i:], "**") {
		i += 2
	}
	return text[from:to], i
}

// parameterValue reads a value, and returns the start of the next line.
func (b *Block) parameterValue(at, indent int) (value.Value, int) {
	text := b.text
	end := b.lineEnd(at)
	first := strings.TrimSpace(text[at:end])
	if end < len(text) && text[end] != '\n' {
		return plainValue(first), end // the closing tag is in the line
	}
	if first == "|" {
		first = ""
	}
	if i := prose.SkipSpace(text, at); first == "" && strings.HasPrefix(text[prose.SkipSpace(text, end):], "```") || strings.HasPrefix(first, "```") {
		return b.fencedValue(max(i, strings.Index(text[i:], "```")+i))
	}
	next, used := min(end+1, len(text)), 0
	var lines []string
	for next < len(text) {
		i, stop := prose.SkipBlank(text, next), b.lineEnd(next)
		f, _ := fieldAt(text, i, true)
		blank := i < len(text) && text[i] == '\n' // part of the value if an indented line follows
		if !blank && (i-next <= indent || i >= len(text) || b.endsAt(i) || f != noField && i-next < indent+2) {
			break
		}
		lines = append(lines, strings.TrimRight(text[next:stop], " \t\r"))
		if next = min(stop+1, len(text)); !blank {
			used = len(lines)
		}
		if stop < len(text) && text[stop] != '\n' {
			next = stop
			break
		}
	}
	if used == 0 {
		return plainValue(first), next
	}
	more := dedent(lines[:used])
	if first != "" {
		more = first + "\n" + more
	}
	return more, next
}

// plainValue removes quotes or backticks around a value.
func plainValue(val string) string {
	if n := len(val); n >= 2 && val[0] == '`' && strings.IndexByte(val[1:], '`') == n-2 {
		return val[1 : n-1]
	}
	if n := len(val); n >= 2 && val[0] == '"' && val[n-1] == '"' {
		if v, err := value.ParseJSON([]byte(val)); err == nil {
			return v.(string)
		}
	}
	return val
}

// fencedValue reads a fence as a value: its lines without the indent of the fence.
func (b *Block) fencedValue(at int) (value.Value, int) {
	text := b.text
	indent := prose.Column(text, at)
	if prose.SkipBlank(text, at-indent) != at {
		indent = 0 // the fence is after the key
	}
	start := min(prose.LineEnd(text, at)+1, len(text))
	end, closed := prose.FenceEnd(text, start, prose.FenceOf(text[at:]))
	if !closed {
		b.Err = &loose.Fault{At: at, What: "an unclosed code fence"}
		return nil, len(text)
	}
	content := strings.TrimSuffix(strings.ReplaceAll(text[start:end], "\r\n", "\n"), "\n")
	return prose.Unindented(content, indent), min(prose.LineEnd(text, end)+1, len(text))
}

// dedent joins lines without their common indent.
func dedent(lines []string) string {
	least := -1
	for _, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); rest != "" && (least < 0 || len(line)-len(rest) < least) {
			least = len(line) - len(rest)
		}
	}
	return prose.Unindented(strings.Join(lines, "\n"), max(least, 0))
}

// IsNobody reports whether an action is a word for no action, such as none.
func IsNobody(name string) bool {
	return slices.Contains([]string{"none", "null", "nothing", "n/a"}, strings.ToLower(strings.Trim(strings.TrimSpace(name), "`\"'*.()")))
}
