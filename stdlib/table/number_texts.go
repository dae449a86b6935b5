package table

import (
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// In spreadsheets and JSON, a cell says whether it is a number or a text. But programs also write numbers as texts.

// numberFormat returns the format of numbers in texts.
func (o *readOptions) numberFormat() (numbers, error) {
	n, err := newNumbers(o.thousands, o.decimal, o.percent)
	n.percents = !o.noPercent
	return n, err
}

// formless reports whether the format of numbers was not specified.
func (o *readOptions) formless() bool { return o.decimal == "" && o.thousands == "" }

// ofText returns the number that a text is in a column of numbers, or the text.
func (n *numbers) ofText(s string, t Type) value.Value {
	trimmed := trimSpaces(s)
	switch t {
	case Integer:
		if v, ok := n.integer(trimmed); ok {
			return v
		}
	case Float:
		if v, ok := n.float(trimmed); ok {
			return v
		}
	}
	return s
}

// numberTexts returns notes about the columns whose texts are numbers. With read, those in a format that was specified, or that
// can be no other, become numbers.
func (o *readOptions) numberTexts(names []string, b *Batch, read bool) []string {
	const enough = 100
	n, err := o.numberFormat()
	if err != nil {
		return nil
	}
	var columns []numberCells
	var indexes []int
	for i, c := range b.Columns {
		if _, given := o.types[names[i]]; given {
			continue
		}
		if cells, ok := c.textCells(enough); ok {
			columns, indexes = append(columns, numberCells{names[i], cells}), append(indexes, i)
		}
	}
	guess := ""
	if o.formless() {
		n, guess = n.guess(columns)
	}
	var notes []string
	for k, c := range columns {
		fits, how := allNumbers(n, c.cells), ""
		if fits && read && !n.usual {
			if column, ok := b.Columns[indexes[k]].parsed(&n); ok {
				b.Columns[indexes[k]] = column
				if guess != "" {
					notes, guess = append(notes, guess), ""
				}
				continue
			}
		}
		if o.formless() && !(fits && n.usual) {
			if how = lookalike(c.cells); how != "" {
				how += ", "
			}
			fits = how != ""
		}
		if fits {
			notes = append(notes, fmt.Sprintf("column %s: its texts are numbers, as %s: to read them as numbers, pass %stypes = {%q: \"float\"}", quoteCut(c.name), quoteCut(c.cells[0]), how, c.name))
		}
	}
	return notes
}

// textCells returns the first texts of a column that has texts, and perhaps numbers.
func (c *Column) textCells(most int) (cells []string, ok bool) {
	for i := range c.Len() {
		if len(cells) == most {
			break
		}
		var v value.Value
		switch {
		case c.missing(i):
			continue
		case c.Type == Text:
			v = c.Texts[i]
		case c.Type == Any:
			v = c.Values[i]
		default:
			return nil, false
		}
		switch v := v.(type) {
		case string:
			if s := trimSpaces(v); s != "" && !isWord(s) && !isSign(s) {
				cells = append(cells, s)
			}
		case int64, float64:
		default:
			return nil, false
		}
	}
	return cells, len(cells) > 0
}

// parsed returns a column of the numbers that all values of a column of texts are, or false.
func (c *Column) parsed(n *numbers) (*Column, bool) {
	d := newColumn(Float, c.Len())
	for i := range c.Len() {
		v := c.value(i)
		if standsForMissing(v) {
			v = nil
		}
		if err := d.addRead(v, n); err != nil {
			return nil, false
		}
	}
	return d, true
}
