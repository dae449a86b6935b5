// Package encoding is what scripts can do with texts and bytes of known forms: JSON, YAML,
// CSV, base64, URLs and hashes.
package encoding

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// JSON returns the module json.
func JSON() tool.Module {
	return tool.Module{
		Name: "json",
		Doc:  "Reads and writes JSON, keeping the order of objects and integers of any size.",
		Funcs: []tool.Func{
			{
				Name: "encode",
				Doc: "Writes a value as JSON. Tuples and sets become arrays, bytes base64 text, and keys that are " +
					"numbers or booleans text. NaN and infinity have no JSON form and fail.",
				Params: []tool.Param{
					tool.Required("value", tool.TypeAny, "What to write."),
					tool.Optional("indent", tool.TypeAny, "", "Spaces or tabs for each level, or how many spaces; without it, all is one line."),
				},
				Returns: "the JSON text",
				Do:      row.Do(jsonEncode),
			},
			{
				Name: "decode",
				Doc: "Reads a JSON text. The error for a broken text says at which line and column; a name given " +
					"twice in one object is broken too.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The JSON text, one value and nothing after it."),
					tool.Maybe("default", tool.TypeAny, "What to give for a broken text instead of failing; None counts."),
				},
				Returns: "the value: dicts, lists, strings, numbers, booleans and None",
				Do:      row.Do(jsonDecode),
			},
			{
				Name: "indent",
				Doc:  "Lays a JSON text out on several lines for people.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The JSON text."),
					tool.Optional("indent", tool.TypeAny, "\t", "Spaces or tabs for each level, or how many spaces."),
				},
				Returns: "the same JSON, indented",
				Do:      row.Do(jsonIndent),
			},
		},
	}
}

func jsonEncode(a *value.Dict) (value.Value, error) {
	indent, err := jsonIndentation(row.Arg(a, "indent"))
	if err != nil {
		return nil, err
	}
	text, err := value.AppendJSON(nil, row.Arg(a, "value"))
	if err != nil {
		return nil, err
	}
	return jsonLayOut(text, indent)
}

func jsonDecode(a *value.Dict) (value.Value, error) {
	v, err := value.ParseJSON(jsonBytes(a))
	return orDefault(a, v, err)
}

// jsonBytes returns the text without the mark that some editors put before it.
func jsonBytes(a *value.Dict) []byte {
	return []byte(strings.TrimPrefix(a.Text("text"), "\ufeff"))
}

// orDefault gives the default, where the caller named one, for a text that
// is broken. A text that is too much stays an error: a default that hides a
// limit would pass for data.
func orDefault(a *value.Dict, v value.Value, err error) (value.Value, error) {
	if err != nil && value.KindOf(err) == value.Invalid {
		if otherwise, given := a.Get("default"); given {
			return otherwise, nil
		}
	}
	return v, err
}

func jsonIndent(a *value.Dict) (value.Value, error) {
	indent, err := jsonIndentation(row.Arg(a, "indent"))
	if err != nil {
		return nil, err
	}
	v, err := value.ParseJSON(jsonBytes(a))
	if err != nil {
		return nil, err
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	return jsonLayOut(text, indent)
}

// jsonMaxIndent is how wide a level may be; the widest in use is 8.
const jsonMaxIndent = 16

// jsonIndentation reads an indent, which is a text or, as Python has it, a
// number of spaces.
func jsonIndentation(v value.Value) (string, error) {
	switch n := v.(type) {
	case nil:
		return "", nil
	case string:
		if len(n) <= jsonMaxIndent && strings.Trim(n, " \t") == "" {
			return n, nil
		}
	case int64:
		if 0 <= n && n <= jsonMaxIndent {
			return strings.Repeat(" ", int(n)), nil
		}
	case float64:
		if i, ok := row.Number(n).(int64); ok {
			return jsonIndentation(i)
		}
	}
	return "", row.Invalid("argument 'indent' should be at most %d spaces or tabs, or their number", jsonMaxIndent)
}

// jsonLayOut indents JSON that has no space between its parts.
func jsonLayOut(compact []byte, indent string) (value.Value, error) {
	if indent == "" {
		return string(compact), nil
	}
	var b row.Builder
	level := 0
	line := func() {
		b.Add("\n")
		b.Repeat(indent, level)
	}
	for i := 0; i < len(compact) && !b.Full; i++ {
		switch c := compact[i]; c {
		case '"':
			end := jsonStringEnd(compact, i)
			b.Add(string(compact[i:end]))
			i = end - 1
		case '{', '[':
			b.WriteByte(c)
			if compact[i+1] == c+2 { // the bracket that closes it
				i++
				b.WriteByte(c + 2)
				continue
			}
			level++
			line()
		case '}', ']':
			level--
			line()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.Add(": ")
		default:
			b.WriteByte(c)
		}
	}
	return b.Text()
}

// jsonStringEnd returns where the string ends that begins at start.
func jsonStringEnd(text []byte, start int) int {
	i := start + 1
	for text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}
