package review

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxInline is how many characters a list or dict has that is shown on one line.
const maxInline = 76

// block returns the arguments of a call or an effect, a line for each. They are written like JSON, but a string with several
// lines is a block of these lines, below its name.
func block(args *value.Dict) Part {
	w := valueWriter{}
	for k, v := range args.All() {
		w.value(name(k)+": ", v, "", 0)
	}
	if w.lines == nil {
		w.line(0, "{}")
	}
	return Part{Kind: Block, Lines: w.lines}
}

// name writes the name of an argument. It has quotes unless it is a word.
func name(k value.Value) string {
	word := func(r rune) bool {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if text, ok := k.(string); ok && text != "" && strings.IndexFunc(text, func(r rune) bool { return !word(r) }) < 0 {
		return text
	}
	return key(k)
}

// A size stands for a text that is not shown.
type size string

// maxBrief is the length of a text that brief keeps, in bytes.
const maxBrief = 100

// brief returns arguments with the sizes of long texts instead of their contents, for a call
// that has run.
func brief(args *value.Dict) *value.Dict {
	d := &value.Dict{}
	for k, v := range args.All() {
		if text, ok := v.(string); ok && (len(text) > maxBrief || strings.Contains(text, "\n")) {
			v = size(fmt.Sprintf("a text of %d bytes", len(text)))
		}
		d.Put(k.(string), v)
	}
	return d
}

type valueWriter struct{ lines []Line }

func (w *valueWriter) line(depth int, text string) {
	w.lines = append(w.lines, oneLine(Plain, depth, text))
}

// value writes a value after a name, or "", and before a comma, or "".
func (w *valueWriter) value(name string, v value.Value, comma string, depth int) {
	if text, ok := inline(v); ok && (utf8.RuneCountInString(name+text)+DepthColumns*depth <= maxInline || !nested(v)) {
		w.line(depth, name+text+comma)
		return
	}
	if text, ok := v.(string); ok {
		w.text(name, text, depth)
		return
	}
	begin, end := "[", "]"
	d, isDict := v.(*value.Dict)
	items, _ := value.Elements(v)
	if isDict {
		begin, end = "{", "}"
		items = nil
	}
	w.line(depth, name+begin)
	for i, item := range items {
		w.value("", item, commaAt(i, len(items)), depth+1)
	}
	if isDict {
		i := 0
		for k, item := range d.All() {
			w.value(key(k)+": ", item, commaAt(i, d.Len()), depth+1)
			i++
		}
	}
	w.line(depth, end+comma)
}

func commaAt(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}

// text writes a string with several lines.
func (w *valueWriter) text(name, text string, depth int) {
	lines := strings.Count(text, "\n")
	more := ""
	if !strings.HasSuffix(text, "\n") {
		lines++
		more = ", no newline at the end"
	}
	about := fmt.Sprintf("a text of %d lines, %d bytes%s", lines, len(text), more)
	head := oneLine(Plain, depth, strings.TrimSuffix(name, " "))
	if name != "" {
		about = " " + about
	}
	head.Spans = append(head.Spans, note(about).Spans...)
	w.lines = append(w.lines, head)
	w.lines = append(w.lines, textLines(Text, depth+1, text)...)
}

// nested reports whether a value is a list or a dict with something in it.
func nested(v value.Value) bool {
	if d, ok := v.(*value.Dict); ok {
		return d.Len() > 0
	}
	items, ok := value.Elements(v)
	return ok && len(items) > 0
}

// inline writes a value on one line. ok is false if a string in it has several lines.
func inline(v value.Value) (text string, ok bool) {
	var b strings.Builder
	if !appendInline(&b, v) {
		return "", false
	}
	return b.String(), true
}

func appendInline(b *strings.Builder, v value.Value) bool {
	switch v := v.(type) {
	case string:
		b.WriteString(quoted(v))
		return !strings.Contains(v, "\n")
	case size:
		b.WriteString(string(v))
	case value.Media:
		b.WriteString(v.String())
	case []byte:
		fmt.Fprintf(b, "bytes(%d) %s", len(v), strconv.Quote(base64.StdEncoding.EncodeToString(v)))
	case *value.Dict:
		b.WriteByte('{')
		i := 0
		for k, item := range v.All() {
			if i > 0 {
				b.WriteString(", ")
			}
			i++
			b.WriteString(key(k) + ": ")
			if !appendInline(b, item) {
				return false
			}
		}
		b.WriteByte('}')
	default:
		items, ok := value.Elements(v)
		if !ok {
			b.WriteString(value.FormatJSON(v, ""))
			return true
		}
		b.WriteByte('[')
		for i, item := range items {
			if i > 0 {
				b.WriteString(", ")
			}
			if !appendInline(b, item) {
				return false
			}
		}
		b.WriteByte(']')
	}
	return true
}

// key writes the name of a field. One that is not a string has no quotes.
func key(k value.Value) string {
	if name, ok := k.(string); ok {
		return quoted(name)
	}
	text, _ := inline(k)
	return text
}

// quoted writes a string in quotes. Only quotes and backslashes are escaped: the other
// characters are made visible when the line is.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
