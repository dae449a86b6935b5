package table

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// jsonWriteRows are the methods that write a table as JSON, or as records.
func jsonWriteRows() []row {
	return []row{
		{tool.Func{
			Name: "to_json",
			Doc: "Writes the table as a JSON list of objects, of at most 8 MB. Dates and times are texts by ISO 8601, and a missing value is null; " +
				"a number that JSON has not, NaN or an infinite one, is an error. data.parse reads it back.",
			Params:  []tool.Param{tool.Maybe("indent", tool.TypeInteger, "How many spaces to indent each level by; without it, all is one line.")},
			Returns: "a text",
		}, func(c *call) (value.Value, error) {
			const most = 16 // spaces
			indent := c.args.Int("indent")
			if indent < 0 || indent > most {
				return nil, value.Errorf(value.Invalid, "argument 'indent' should be from 0 to %d but got %d", most, indent)
			}
			return c.writeJSON("[", ",", "]", int(indent))
		}},
		{tool.Func{
			Name:    "to_jsonl",
			Doc:     "Writes the table as JSON Lines: an object a line, of at most 8 MB in all. The values are written as to_json does.",
			Returns: "a text",
		}, func(c *call) (value.Value, error) {
			return c.writeJSON("", "", "", -1)
		}},
		{tool.Func{
			Name:    "to_records",
			Doc:     "Gives the rows as a list of dicts, as many as a value can hold.",
			Returns: "a list of dicts",
		}, func(c *call) (value.Value, error) {
			return c.table().Plain(c.ctx, c.grant)
		}},
	}
}

// writeJSON writes the records. With a negative indent each is on a line of its own.
func (c *call) writeJSON(begin, between, end string, indent int) (value.Value, error) {
	t := c.table()
	out := []byte(begin)
	n := 0
	err := t.each(c.ctx, c.grant, func(b *Batch) error {
		for i := range b.Rows {
			if n++; n > 1 {
				out = append(out, between...)
			}
			var err error
			if out, err = t.appendRecord(out, b, i); err != nil {
				return value.Errorf(value.KindOf(err), "row %d, %s", n, value.ErrorOf(err, value.Failed).Message())
			}
			if indent < 0 {
				out = append(out, '\n')
			}
			if len(out) > maxWritten {
				return tooLongText()
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out = append(out, end...)
	if indent > 0 {
		if indentedSize(out, indent) > maxWritten {
			return nil, tooLongText()
		}
		var laidOut bytes.Buffer
		if err := json.Indent(&laidOut, out, "", strings.Repeat(" ", indent)); err != nil {
			return nil, err
		}
		out = laidOut.Bytes()
	}
	return string(out), nil
}

// appendRecord appends a row as an object.
func (t *Table) appendRecord(out []byte, b *Batch, row int) ([]byte, error) {
	out = append(out, '{')
	for i, c := range b.Columns {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = value.AppendJSON(out, t.names[i]); err == nil {
			out = append(out, ':')
			out, err = value.AppendJSON(out, c.value(row))
		}
		if err != nil {
			e := value.ErrorOf(err, value.Failed)
			return nil, value.Errorf(e.Kind, "column %q: %s", cut(t.names[i]), e.Message())
		}
	}
	return append(out, '}'), nil
}

// indentedSize is how long JSON becomes when it is indented: values may be nested
// deeply, and each line begins with spaces.
func indentedSize(text []byte, indent int) int {
	size, depth := len(text), 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			depth++
			size += 1 + depth*indent
		case '}', ']':
			depth--
			size += 1 + depth*indent
		case ',':
			size += 1 + depth*indent
		case ':':
			size++
		}
	}
	return size
}
