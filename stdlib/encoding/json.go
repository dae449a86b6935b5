// Package encoding is what scripts can do with texts and bytes of known forms: JSON, YAML,
// CSV, base64, URLs and hashes, a module for each. The functions are pure, and safe for
// concurrent use.
package encoding

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// JSON returns the module json: encode, decode and indent.
func JSON() tool.Module {
	return row.Pure(tool.Module{
		Name: "json",
		Doc:  "JSON. The order of names in objects is preserved. Integers can have any size.",
		Funcs: []tool.Func{
			{
				Name: "encode",
				Doc: "Encode a value as JSON. Tuples and sets become arrays. Bytes become base64 text. Keys that are " +
					"numbers or booleans become text. NaN and infinity are errors.",
				Params: []tool.Param{
					tool.Required("value", tool.TypeAny, "The value."),
					tool.Optional("indent", tool.TypeAny, "", "The indentation of each level: spaces or tabs, or the number of spaces. Default: the JSON text has one line."),
				},
				Returns: "the JSON text",
				Do:      row.Do(jsonEncode),
			},
			{
				Name: "decode",
				Doc: "Decode a JSON text. The error for an invalid text has the line and column. An object with a repeated name is " +
					"an error.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The JSON text: one value."),
					tool.Maybe("default", tool.TypeAny, "The value to return if the text is invalid, such as None. If you omit this argument, an invalid text is an error."),
				},
				Returns: "the value: dicts, lists, strings, numbers, booleans and None",
				Do:      row.Do(jsonDecode),
			},
			{
				Name: "indent",
				Doc:  "Indent a JSON text, so that people can read it.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The JSON text."),
					tool.Optional("indent", tool.TypeAny, "\t", "The indentation of each level: spaces or tabs, or the number of spaces."),
				},
				Returns: "the same JSON, indented",
				Do:      row.Do(jsonIndent),
			},
		},
	})
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
	return "", row.Invalid("argument 'indent' should be a number from 0 to %d, or a string of at most %d spaces or tabs", jsonMaxIndent, jsonMaxIndent)
}

// jsonLayOut indents JSON that has no space between its parts.
func jsonLayOut(compact []byte, indent string) (value.Value, error) {
	if indent == "" {
		return string(compact), nil
	}
	text, fits := row.Indent(compact, indent)
	if !fits {
		return nil, row.TooLong()
	}
	return text, nil
}
