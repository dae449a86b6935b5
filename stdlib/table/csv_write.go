package table

import (
	"context"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// csvWriteRows are the methods that write CSV.
func csvWriteRows() []member {
	return []member{
		{tool.Func{
			Name: "to_csv",
			Doc: "Format the table as CSV text of at most 8 MB. data.parse reads the text back as the same table, with these exceptions:\n\n" +
				"- Lists and objects are written as JSON, and become text.\n" +
				"- Columns without values become text.\n" +
				"- Spaces around column names are removed. Tabs and line breaks in column names become spaces.\n" +
				"- If all column names are numbers, pass header = True to data.parse.\n\n" +
				"A missing value is an empty cell, and an empty text is \"\". A text that looks like another value, such as a number or a date, is in quotes. So data.parse reads the column as text. NaN is written as nan. A text with a NUL character is an error.",
			Params: []tool.Param{
				tool.Optional("delimiter", tool.TypeString, ",", "The character between cells. It must not occur in numbers or dates."),
				tool.Optional("header", tool.TypeBoolean, true, "Whether to begin with a row of the column names."),
			},
			Returns: "a text in which each row ends with a line break",
		}, func(c *call) (value.Value, error) {
			return writeCSV(c.ctx, c.grant, c.table(), c.args.Text("delimiter"), c.args.Bool("header"))
		}},
	}
}

// maxWritten is the maximum length of the text of a table: the most that one effect may
// carry.
const maxWritten = maxHeld

func tooLongText() error {
	return row.Limit("the result is longer than the limit of %d MB", maxWritten>>20).
		WithHint("write a part of the table with head, filter or select")
}

// writeCSV writes a table as CSV.
func writeCSV(ctx context.Context, g tool.Grant, t *Table, delimiter string, header bool) (value.Value, error) {
	if !oneCharacter(delimiter) || insideValues(delimiter) {
		return nil, value.Errorf(value.Invalid, "argument 'delimiter' should be one character, and not a letter, a digit, a space, a line break or one of \" . - + : /").
			WithHint(`in a script, for example delimiter = ";" or "\t"`)
	}
	w := &csvTableWriter{delimiter: delimiter, columns: t.names}
	if header {
		if err := w.names(t.names); err != nil {
			return nil, err
		}
	}
	err := t.each(ctx, g, w.batch)
	if err != nil {
		return nil, err
	}
	return w.text.String(), nil
}

// insideValues reports whether a delimiter may be part of a value. Quotes would then not
// distinguish a number from a text.
func insideValues(delimiter string) bool {
	r := []rune(delimiter)[0]
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`".-+:/ `, r)
}

type csvTableWriter struct {
	text      strings.Builder
	delimiter string
	columns   []string
	rows      int // written before the current batch
}

func (w *csvTableWriter) names(names []string) error {
	for i, name := range names {
		if hasNUL(name) {
			return value.Errorf(value.Invalid, "the name of column %d contains a NUL character: %s", i+1, quoteCut(name)).
				WithHint("rename the column")
		}
		if i > 0 {
			w.text.WriteString(w.delimiter)
		}
		if name == "" || w.mustQuote(name) || strings.HasPrefix(name, "\ufeff") {
			w.text.WriteString(csv.Quote(name))
		} else {
			w.text.WriteString(name)
		}
	}
	w.text.WriteByte('\n')
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// batch writes rows.
func (w *csvTableWriter) batch(b *Batch) error {
	for row := range b.Rows {
		for i, c := range b.Columns {
			if i > 0 {
				w.text.WriteString(w.delimiter)
			}
			if !w.cell(c, row, len(b.Columns) == 1) {
				return value.Errorf(value.Invalid, "row %d, column %s: the text contains a NUL character: %s",
					w.rows+row+1, quoteCut(w.columns[i]), quoteCut(c.text(row))).WithHint("remove the NUL character, or write JSON with to_json")
			}
		}
		w.text.WriteByte('\n')
		if w.text.Len() > maxWritten {
			return tooLongText()
		}
	}
	w.rows += b.Rows
	return nil
}

// cell writes a value. A missing value that is alone in its row would be a blank line,
// which is skipped when it is read: it is written as "" if the column cannot have texts,
// otherwise as a space. It reports whether the value can be written.
func (w *csvTableWriter) cell(c *Column, row int, alone bool) bool {
	textual := c.Type == Text || c.Type == Any
	switch {
	case c.missing(row):
		if alone && textual {
			w.text.WriteByte(' ')
		} else if alone {
			w.text.WriteString(`""`)
		}
		return true
	case c.Type == Float && c.Floats[row] != c.Floats[row]:
		w.text.WriteString("nan") // NaN is read as a missing value
		return true
	}
	s := c.text(row)
	if hasNUL(s) {
		return false
	}
	if textual && (w.mustQuote(s) || w.ambiguous(s)) {
		w.text.WriteString(csv.Quote(s))
	} else {
		w.text.WriteString(s)
	}
	return true
}

// mustQuote reports whether a text needs quotes. A text must not contain an unquoted
// character that could be detected as the delimiter.
func (w *csvTableWriter) mustQuote(s string) bool {
	return strings.ContainsAny(s, "\"\r\n,;\t|") || strings.Contains(s, w.delimiter)
}

// ambiguous reports whether a text would be read back as something else.
func (w *csvTableWriter) ambiguous(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || isWord(s) || isSign(s) || strings.HasPrefix(s, "\ufeff") {
		return true
	}
	usual := numbers{usual: true, percents: true}
	return usual.kindOf(s) != hasText
}
