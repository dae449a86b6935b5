package table

import (
	"fmt"
	"io"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// findEncoding determines the encoding: the specified one, else the one detected from
// the first bytes, else UTF-8 until that fails.
func (f *csvFile) findEncoding(p *parts, specified string) error {
	name, err := parseEncoding(specified)
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	n, err := p.ReadAt(head[:min(headSize, f.in.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	found, mark := detectEncoding(head[:n])
	switch {
	case name == "" && found == "":
		f.encoding, f.guessed = utf8Encoding, true
	case name == "":
		f.encoding = found
	case name == utf16Encoding:
		f.encoding = utf16LEEncoding
		if found == utf16BEEncoding {
			f.encoding = found
		}
	default:
		f.encoding = name
	}
	if f.encoding == found {
		f.mark = mark
	}
	if name == "" {
		f.noteEncoding()
	}
	return nil
}

func (f *csvFile) noteEncoding() {
	if f.encoding != utf8Encoding {
		f.notes = append(f.notes, "encoding "+f.encoding+" (detected)")
	}
}

// delimiters are the candidates for a delimiter, the most usual first.
var delimiters = []string{",", ";", "\t", "|"}

// findDelimiter detects the delimiter: the one for which the largest share of the first
// rows has as many cells as the first row, and more than one. If several are equal, it
// takes the one with more cells. A file without a delimiter has one column.
func (f *csvFile) findDelimiter(s *csv.Scanner) {
	f.delimiter = delimiters[0]
	best, cells := 0.0, 1
	for _, d := range delimiters {
		if d == f.quote {
			continue
		}
		share, n := f.try(s, d)
		if n > 1 && (share > best || share == best && n > cells) {
			f.delimiter, best, cells = d, share, n
		}
	}
	if f.delimiter != delimiters[0] {
		f.notes = append(f.notes, fmt.Sprintf("delimiter %q (detected)", f.delimiter))
	}
}

// try returns the share of the first rows that have as many cells as the first row, and
// that number of cells.
func (f *csvFile) try(s *csv.Scanner, delimiter string) (share float64, cells int) {
	const enough = 50 // rows
	one := *s
	one.Begin(delimiter, f.quote)
	b := &csv.Rows{}
	rows, alike := 0, 0
	for rows < enough {
		b.Spans, b.Lines = b.Spans[:0], b.Lines[:0]
		ok, err := one.Row(b)
		if err != nil {
			return 0, 0 // the quotes are invalid with this delimiter
		}
		if !ok {
			break
		}
		if rows++; rows == 1 {
			cells = len(b.Spans)
		}
		if len(b.Spans) == cells {
			alike++
		}
	}
	if rows == 0 {
		return 0, 0
	}
	return float64(alike) / float64(rows), cells
}

// findHeader determines whether the first row names the columns, and their names.
func (f *csvFile) findHeader(b *csv.Rows, types map[string]Type, forms []*dateForm) error {
	cells := make([]string, f.width)
	for i, sp := range b.Spans {
		cells[i] = b.Cell(sp, f.quote)
	}
	if f.header == nil {
		header := f.isHeader(cells, forms)
		f.header = &header
		if !header {
			f.notes = append(f.notes, "no header: the first row has only values")
		}
	}
	if !*f.header {
		clear(cells)
	}
	for i, cell := range cells {
		cells[i] = headerName(cell)
	}
	names, notes := uniqueNames(cells)
	f.notes = append(f.notes, notes...)
	f.columns = make([]*csvColumn, len(names))
	columns := make([]csvColumn, len(names))
	for i, name := range names {
		f.columns[i] = &columns[i]
		f.columns[i].name = name
		if t, ok := types[name]; ok {
			f.columns[i].typ, f.columns[i].forced, f.columns[i].words = t, true, t != Text
			if t == Any {
				return value.Errorf(value.Invalid, "argument 'types': a column of a CSV file cannot have the type any").WithHint(`use text: types = {%q: "text"}`, name)
			}
		}
	}
	return checkTypes(types, names)
}

// isHeader reports whether a first row names columns. It does not if each of its cells
// is empty or reads as a number, a date or a time.
func (f *csvFile) isHeader(cells []string, forms []*dateForm) bool {
	values := hasInteger | hasFloat | hasDate | hasDateTime | hasInstant
	some := false
	for _, s := range cells {
		if blank(s) {
			continue
		}
		some = true
		s = trimSpaces(s)
		isDate := func(form *dateForm) bool { _, ok := form.parse(s); return ok }
		if f.numbers.kindOf(s)&values == 0 && !slices.ContainsFunc(forms, isDate) {
			return true
		}
	}
	return !some // a row of empty cells is a header, as for an index without a name
}
