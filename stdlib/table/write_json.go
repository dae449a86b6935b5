package table

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// jsonWriteRows are the methods that format a table as JSON, or return records.
func jsonWriteRows() []member {
	return []member{
		{tool.Func{
			Name: "to_json",
			Doc: "Format the table as a JSON list of objects, at most 8 MB. Dates and times are texts in ISO 8601. A missing value is null. " +
				"NaN and infinite numbers are an error. data.parse can read the text.",
			Params:  []tool.Param{tool.Maybe("indent", tool.TypeInteger, "The number of spaces for each level of indentation. Default: the text has one line.")},
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
			Doc:     "Format the table as JSON Lines: one object per line, at most 8 MB in total. The values have the same form as in to_json.",
			Returns: "a text",
		}, func(c *call) (value.Value, error) {
			return c.writeJSON("", "", "", -1)
		}},
		{tool.Func{
			Name:    "to_records",
			Doc:     "Return the rows as a list of dicts. A list that is larger than the size limit of a value is an error.",
			Returns: "a list of dicts",
		}, func(c *call) (value.Value, error) {
			return c.table().Plain(c.ctx, c.grant)
		}},
	}
}

// writeJSON writes the records. With a negative indent each record is on a line of its
// own.
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
				return renamedError(err, "row %d, %s", n, value.ErrorOf(err, value.Failed).Message())
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
		text, fits := row.Indent(out, strings.Repeat(" ", indent))
		if !fits {
			return nil, tooLongText()
		}
		return text, nil
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
			return nil, renamedError(err, "column %q: %s", cut(t.names[i]), value.ErrorOf(err, value.Failed).Message())
		}
	}
	return append(out, '}'), nil
}
