// Package loose reads JSON as language models write it: with single quotes, keys without quotes,
// comments, trailing commas, True, False and None, and line breaks in strings.
package loose

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Reader reads values in a text. It repairs only what the package comment lists, and missing
// braces at the end; everything else is a [Fault]. Numbers and escapes are read by
// [value.ParseJSON]. A Reader only moves forward: a caller that continues at the position of a
// fault reads any text in linear time. It is not safe for concurrent use.
type Reader struct {
	Text  string   // the text; a value may reach to its end
	At    int      // the position of the reader
	Notes []string // what was repaired, without duplicates
	// Cut says that braces were missing at the end of the text.
	Cut bool
	// First, if not nil, is called for each key up to the first value that is not an
	// object or an array: with nil before the value is read, and with that value.
	First func(key string, v value.Value)

	past  bool // First has been called with a value
	nodes int
	ends  *Finder
	// safe says that the last token is complete. A number or a word at the end of the text
	// may be cut off.
	safe  bool
	fault Fault
}

// New returns a reader of a text that starts at a position. The finder must be for the same text.
// Several readers may share it.
func New(text string, at int, ends *Finder) *Reader {
	return &Reader{Text: text, At: at, nodes: value.MaxNodes, ends: ends}
}

// Whole reads a text that is exactly one value.
func Whole(text string) (value.Value, *Fault) {
	r := New(text, 0, NewFinder(text))
	r.Space()
	v, err := r.Value()
	if err != nil {
		return nil, err
	}
	switch r.Space(); {
	case r.At < len(text):
		return nil, r.Fail("the end of the JSON")
	case r.Cut:
		return nil, r.Fail("a closing brace")
	}
	return v, nil
}

// FixedNesting is the note for arguments that are JSON in a string.
const FixedNesting = "arguments as a text of JSON"

// DictOf returns arguments as a dict. nil and an empty list are an empty dict. A string is read as
// JSON, at most three times. nested reports whether there was a string. ok is false for anything
// else.
func DictOf(v value.Value) (args *value.Dict, nested, ok bool) {
	for range 3 {
		switch x := v.(type) {
		case nil:
			return &value.Dict{}, nested, true
		case *value.Dict:
			return x, nested, true
		case value.List:
			return &value.Dict{}, nested, len(x) == 0
		case string:
			inner, err := Whole(x)
			if err != nil {
				return nil, true, false
			}
			v, nested = inner, true
		default:
			return nil, nested, false
		}
	}
	return nil, nested, false
}

// A Fault is a position in a text and the error there: What is wrong, or what was expected.
type Fault struct {
	At   int
	What string
	want string
}

// in returns the error as text.
func (f *Fault) in(text string) string {
	switch {
	case f.want == "":
		return f.What
	case f.At >= len(text):
		return f.What + "expected " + f.want + " but the text ends"
	}
	c, _ := utf8.DecodeRuneInString(text[f.At:])
	return f.What + "expected " + f.want + " but got \"" + string(c) + "\""
}

// Report returns the error for the model that wrote the text, with the line, the column and the
// text there.
func (f *Fault) Report(text string) string {
	at := min(f.At, len(text))
	before := text[:at]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	near := strings.Join(strings.Fields(strings.ToValidUTF8(text[max(0, at-30):min(len(text), at+30)], "")), " ")
	return fmt.Sprintf("line %d, column %d of your reply: %s (near: %s).", line, col, f.in(text), near)
}

// Of returns the fault with a prefix.
func (f *Fault) Of(what string) *Fault {
	return &Fault{f.At, what + ": " + f.What, f.want}
}

const (
	fixedQuotes   = "quotes that are not JSON's"
	fixedKeys     = "keys without quotes"
	fixedCommas   = "a comma too many"
	fixedComments = "comments in JSON"
	fixedPython   = "Python's True, False or None"
	fixedBreaks   = "line breaks in strings"
	fixedEscapes  = "escapes that JSON does not have"
	fixedEnd      = "closing braces missing at the end"
)

// Note adds a repair to the notes.
func (r *Reader) Note(what string) {
	if !slices.Contains(r.Notes, what) {
		r.Notes = append(r.Notes, what)
	}
}

// Fail returns a fault that says what was expected at the position of the reader. It is valid until
// the next fault of the reader.
func (r *Reader) Fail(want string) *Fault {
	r.fault = Fault{At: r.At, want: want}
	return &r.fault
}

func (r *Reader) wrong(at int, what string) *Fault {
	r.fault = Fault{At: at, What: what}
	return &r.fault
}

// Peek returns the next byte, or 0 at the end.
func (r *Reader) Peek() byte {
	if r.At < len(r.Text) {
		return r.Text[r.At]
	}
	return 0
}

func (r *Reader) has(s string) bool { return strings.HasPrefix(r.Text[r.At:], s) }

// Space skips white space and comments.
func (r *Reader) Space() {
	for r.At < len(r.Text) {
		switch c := r.Text[r.At]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.At++
		case c == '#' || r.has("//"):
			r.Note(fixedComments)
			r.At = prose.LineEnd(r.Text, r.At)
		case r.has("/*"):
			end := r.ends.Find("*/", r.At+2)
			if end < 0 || end > len(r.Text) {
				return
			}
			r.Note(fixedComments)
			r.At = end + 2
		default:
			return
		}
	}
}

// Value reads a value.
func (r *Reader) Value() (value.Value, *Fault) { return r.value(value.MaxDepth) }

func (r *Reader) value(depth int) (value.Value, *Fault) {
	r.nodes--
	switch {
	case r.nodes < 0:
		return nil, r.wrong(r.At, fmt.Sprintf("the JSON value has more than %d elements in total", value.MaxNodes))
	case depth == 0:
		return nil, r.wrong(r.At, fmt.Sprintf("the JSON value is nested more than %d levels deep", value.MaxDepth))
	}
	r.safe = true
	switch c := r.Peek(); {
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(']', depth)
	case c == '(':
		return r.array(')', depth)
	case r.quote() != "":
		return r.quoted()
	case c == '-' || c == '+' || '0' <= c && c <= '9':
		return r.number()
	}
	return r.word()
}

func (r *Reader) array(closer byte, depth int) (value.Value, *Fault) {
	r.At++
	list := value.List{}
	for {
		r.Space()
		if r.Peek() == closer && r.At < len(r.Text) {
			r.At++
			r.safe = true
			return list, nil
		}
		v, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if done, err := r.between(closer); done || err != nil {
			return list, err
		}
	}
}

// between skips a comma after an item, or reads the closing bracket and reports that the list is
// complete.
func (r *Reader) between(closer byte) (done bool, err *Fault) {
	r.Space()
	switch {
	case r.Peek() == ',':
		r.At++
		r.Space()
		if r.Peek() == closer {
			r.Note(fixedCommas)
			r.At++
			r.safe = true
			return true, nil
		}
		return false, nil
	case r.Peek() == closer && r.At < len(r.Text):
		r.At++
		r.safe = true
		return true, nil
	case r.safe && (r.At >= len(r.Text) || r.has("```") || r.has("</")):
		r.Cut = true
		r.Note(fixedEnd)
		return true, nil
	}
	return false, r.Fail(map[byte]string{']': "a comma or ]", '}': "a comma or }", ')': "a comma or )"}[closer])
}

func (r *Reader) object(depth int) (value.Value, *Fault) {
	r.At++
	d := &value.Dict{}
	for {
		r.Space()
		if r.Peek() == '}' {
			r.At++
			r.safe = true
			return d, nil
		}
		start := r.At
		name, err := r.key()
		if err != nil {
			return nil, err
		}
		if d.Has(name) {
			return nil, r.wrong(start, "the name \""+name+"\" is duplicated")
		}
		r.Space()
		if r.Peek() != ':' {
			return nil, r.Fail("a colon")
		}
		r.At++
		r.Space()
		if r.First != nil && !r.past {
			r.First(name, nil)
		}
		v, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		if r.First != nil && !r.past {
			r.First(name, v)
			r.past = true
		}
		d.Put(name, v)
		if done, err := r.between('}'); done || err != nil {
			return d, err
		}
	}
}

func (r *Reader) key() (string, *Fault) {
	if r.quote() != "" {
		return r.quoted()
	}
	start := r.At
	for r.At < len(r.Text) && prose.IsName(r.Text[r.At]) {
		r.At++
	}
	if r.At == start || !prose.IsWord(r.Text[start]) || '0' <= r.Text[start] && r.Text[start] <= '9' {
		r.At = start
		return "", r.Fail("a name in double quotes")
	}
	r.Note(fixedKeys)
	return r.Text[start:r.At], nil
}

// quote returns the closing quote of the string at the position, or "" if there is no string.
func (r *Reader) quote() string {
	switch {
	case r.has(`"""`):
		return `"""`
	case r.has("'''"):
		return "'''"
	case r.has(`"`):
		return `"`
	case r.has("'"):
		return "'"
	case r.has("<escape>"): // FunctionGemma's
		return "<escape>"
	case r.has(gemmaQuote):
		return gemmaQuote
	case r.has("“"), r.has("”"):
		return "”"
	}
	return ""
}

// gemmaQuote is around the strings of Gemma 4. In it, and in <escape>, nothing is escaped.
const gemmaQuote = `<|"|>`

// quoted reads a string in any quotes.
func (r *Reader) quoted() (string, *Fault) {
	closer, start := r.quote(), r.At
	r.At += len(closer)
	plain, from, closed := closer == `"`, r.At, false
	if len(closer) > 1 { // search the closing quote only once
		if end := r.ends.Find(closer, r.At); end < 0 || end >= len(r.Text) {
			r.At = start
			return "", r.wrong(start, "an unclosed string")
		}
	}
	verbatim := closer[0] == '<'
	for r.At < len(r.Text) {
		c := r.Text[r.At]
		if c == closer[0] && r.has(closer) {
			closed = true
			break
		}
		if c == '\\' && !verbatim {
			r.At++
		}
		if c == '\\' || c < 0x20 {
			plain = false
		}
		r.At++
	}
	if !closed {
		r.At = start
		return "", r.wrong(start, "an unclosed string")
	}
	raw := r.Text[from:r.At]
	r.At += len(closer)
	if closer != `"` {
		r.Note(fixedQuotes)
	}
	if (plain || verbatim) && utf8.ValidString(raw) {
		return raw, nil
	}
	v, err := value.ParseJSON(r.strict(raw))
	s, ok := v.(string)
	switch {
	case !utf8.ValidString(raw):
		return "", r.wrong(start, "a string that is not valid UTF-8")
	case err != nil || !ok:
		return "", r.wrong(start, "a string with an incomplete escape")
	}
	return s, nil
}

// strict returns the content of a string as a JSON string.
func (r *Reader) strict(raw string) []byte {
	b := make([]byte, 0, len(raw)+len(raw)/8+2)
	b = append(b, '"')
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			b = append(b, '\\', '"')
		case c < 0x20:
			r.Note(fixedBreaks)
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c != '\\' || i+1 >= len(raw):
			b = append(b, c)
		default:
			i++
			b = r.strictEscape(b, raw[i])
		}
	}
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

func (r *Reader) strictEscape(b []byte, c byte) []byte {
	switch {
	case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
		return append(b, '\\', c)
	case c == '\'':
		r.Note(fixedEscapes)
		return append(b, c)
	case c == '\n':
		r.Note(fixedBreaks)
		return append(b, `\n`...)
	}
	// As in \d of a pattern: the backslash is meant literally.
	r.Note(fixedEscapes)
	return append(b, '\\', '\\', c)
}

func (r *Reader) number() (value.Value, *Fault) {
	start := r.At
	for r.At < len(r.Text) && strings.IndexByte("+-.0123456789eE", r.Text[r.At]) >= 0 {
		r.At++
	}
	v, err := value.ParseJSON([]byte(r.Text[start:r.At]))
	if err != nil || r.At < len(r.Text) && prose.IsWord(r.Text[r.At]) {
		r.At = start
		return nil, r.wrong(start, "a malformed number")
	}
	r.safe = false
	return v, nil
}

func (r *Reader) word() (value.Value, *Fault) {
	start := r.At
	for r.At < len(r.Text) && prose.IsWord(r.Text[r.At]) {
		r.At++
	}
	r.safe = false
	switch r.Text[start:r.At] {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	case "True", "False", "None":
		r.Note(fixedPython)
		if r.Text[start] == 'N' {
			return nil, nil
		}
		return r.Text[start] == 'T', nil
	}
	r.At = start
	return nil, r.Fail("a value")
}

// A Finder searches strings in a text. It caches the last position of each, so that repeated
// searches from increasing positions take linear time.
type Finder struct {
	text string
	last map[string]finding
}

// NewFinder returns a finder of a text.
func NewFinder(text string) *Finder { return &Finder{text: text, last: map[string]finding{}} }

// A finding is the first position at or after from, or a negative number.
type finding struct{ from, at int }

// Find returns the first position of a string at or after from, or a negative number.
func (f *Finder) Find(what string, from int) int {
	if last, ok := f.last[what]; ok && from >= last.from && (last.at < 0 || from <= last.at) {
		return last.at
	}
	at := -1
	if from <= len(f.text) {
		if at = strings.Index(f.text[from:], what); at >= 0 {
			at += from
		}
	}
	f.last[what] = finding{from, at}
	return at
}

// BrokenEnd estimates the end of invalid JSON that begins at a position: where its braces are closed
// after from, the end of the fence, or an empty line.
func BrokenEnd(text string, at, from int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 && i >= from {
				return i + 1
			}
		case '`', '\n':
			if i >= from && (strings.HasPrefix(text[i:], "```") || strings.HasPrefix(text[i:], "\n\n")) {
				return i
			}
		}
	}
	return len(text)
}
