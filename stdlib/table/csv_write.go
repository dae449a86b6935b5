package table

import (
	"context"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// csvWriteRows are the methods that write CSV.
func csvWriteRows() []row {
	return []row{
		{tool.Func{
			Name: "to_csv",
			Doc: "Writes the table as CSV text, which data.parse reads back as the same table. A missing value is an empty cell, and an empty text is \"\". A text is put in quotes where " +
				"it would be read back as something else: a number, a date, NA, spaces around it; and a column with a text in quotes that need not be is read back as text. " +
				"A float that is no number is written nan. Lists and objects are written as JSON, and are read back as text; so are columns in which every value is missing, and those of a table without rows. " +
				"If each name of a column reads as a number, say header = True when it is read. Names of columns lose the spaces around them, and tabs and line breaks in them become spaces, when they are read. A text with a NUL character is an error, since it could not be read back. The text may have 8 MB.",
			Params: []tool.Param{
				tool.Optional("delimiter", tool.TypeString, ",", "The character between cells: one that no number or date has."),
				tool.Optional("header", tool.TypeBoolean, true, "Whether to begin with a row of the names of the columns."),
			},
			Returns: "a text, in which a line break ends each row",
		}, func(c *call) (value.Value, error) {
			return writeCSV(c.ctx, c.grant, c.table(), c.args.Text("delimiter"), c.args.Bool("header"))
		}},
	}
}

// maxWritten is how long a text may be that a table is written into: what one
// effect may carry.
const maxWritten = maxHeld

func tooLongText() error {
	return overMemory("the text would be longer than %d MB", maxWritten>>20).
		WithHint("write a part of the table, with head, filter or select")
}

// writeCSV writes a table as CSV.
func writeCSV(ctx context.Context, g tool.Grant, t *Table, delimiter string, header bool) (value.Value, error) {
	if !oneCharacter(delimiter) || insideValues(delimiter) {
		return nil, value.Errorf(value.Invalid, "argument 'delimiter' should be one character that is no quote, no line break and in no number or date").
			WithHint(`as in delimiter = ";" or "\t"`)
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

// insideValues reports whether a delimiter may be a part of a value: cells in
// quotes would then not tell a number from a text.
func insideValues(delimiter string) bool {
	r := []rune(delimiter)[0]
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`".-+:/ `, r)
}

type csvTableWriter struct {
	text      strings.Builder
	delimiter string
	columns   []string
	rows      int // that were written before the batch at hand
}

func (w *csvTableWriter) names(names []string) error {
	for i, name := range names {
		if hasNUL(name) {
			return value.Errorf(value.Invalid, "the name of column %d has a NUL character, with which CSV could not be read back: %s", i+1, quoteCut(name)).
				WithHint("rename it")
		}
		if i > 0 {
			w.text.WriteString(w.delimiter)
		}
		if name == "" || w.mustQuote(name) || strings.HasPrefix(name, "\ufeff") {
			w.quote(name)
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
				return value.Errorf(value.Invalid, "row %d, column %s: the text has a NUL character, with which CSV could not be read back: %s",
					w.rows+row+1, quoteCut(w.columns[i]), quoteCut(c.text(row))).WithHint("take it out first, or write JSON with to_json")
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

// cell writes a value. A missing one that is alone in its row would be a blank
// line, which is none: it is "" where it can be no text, and else a space. It reports whether the value
// can be written.
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
		w.text.WriteString("nan") // NaN stands for a missing value
		return true
	}
	s := c.text(row)
	if hasNUL(s) {
		return false
	}
	if textual && (w.mustQuote(s) || w.otherwise(s)) {
		w.quote(s)
	} else {
		w.text.WriteString(s)
	}
	return true
}

// mustQuote reports whether a text could not stand without quotes. What is found
// out as a delimiter must not be found in one.
func (w *csvTableWriter) mustQuote(s string) bool {
	return strings.ContainsAny(s, "\"\r\n,;\t|") || strings.Contains(s, w.delimiter)
}

// otherwise reports whether a text would be read back as something else.
func (w *csvTableWriter) otherwise(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || isWord(s) || strings.HasPrefix(s, "\ufeff") {
		return true
	}
	usual := numbers{usual: true}
	return usual.kindOf(s) != seenText
}

func (w *csvTableWriter) quote(s string) {
	w.text.WriteByte('"')
	w.text.WriteString(strings.ReplaceAll(s, `"`, `""`))
	w.text.WriteByte('"')
}
