package table

import (
	"fmt"
	"io"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// findEncoding settles the encoding: what was said, else what the first bytes
// tell, else UTF-8 until that turns out to be wrong.
func (f *csvFile) findEncoding(p *parts, said string) error {
	name, err := parseEncoding(said)
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	n, err := p.ReadAt(head[:min(headSize, f.in.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	found, mark := findEncoding(head[:n])
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
		f.notes = append(f.notes, "encoding "+f.encoding+" (found)")
	}
}

// delimiters are what is tried as one, the most usual first.
var delimiters = []string{",", ";", "\t", "|"}

// findDelimiter takes the delimiter that divides the first rows alike: that by
// which most of them have as many cells as the first row, and that more than one;
// of equals the one with more cells. A file which none divides has one column.
func (f *csvFile) findDelimiter(s *scanner) {
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
		f.notes = append(f.notes, fmt.Sprintf("delimiter %q (found)", f.delimiter))
	}
}

// try returns how large a share of the first rows has as many cells as the first,
// and how many that are.
func (f *csvFile) try(s *scanner, delimiter string) (share float64, cells int) {
	const enough = 50 // rows
	one := *s
	one.begin(delimiter, f.quote)
	b := &csvRows{}
	rows, alike := 0, 0
	for rows < enough {
		b.spans, b.lines = b.spans[:0], b.lines[:0]
		ok, err := one.row(b)
		if err != nil {
			return 0, 0 // quotes do not fit this delimiter
		}
		if !ok {
			break
		}
		if rows++; rows == 1 {
			cells = len(b.spans)
		}
		if len(b.spans) == cells {
			alike++
		}
	}
	if rows == 0 {
		return 0, 0
	}
	return float64(alike) / float64(rows), cells
}

// findHeader settles whether the first row names the columns, and how they are
// called.
func (f *csvFile) findHeader(b *csvRows, types map[string]Type, forms []*dateForm) error {
	cells := make([]string, b.width)
	for i, sp := range b.spans {
		cells[i] = b.cell(sp, f.quote)
	}
	if f.header == nil {
		header := f.isHeader(cells, forms)
		f.header = &header
		if !header {
			f.notes = append(f.notes, "no header: the first row has values only")
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
				return value.Errorf(value.Invalid, "a column of a CSV file cannot be of type any").WithHint(`read it as text: types = {%q: "text"}`, name)
			}
		}
	}
	return checkTypes(types, names)
}

// isHeader reports whether a first row names columns: unless each of its cells is
// empty or reads as a number, a date or a time.
func (f *csvFile) isHeader(cells []string, forms []*dateForm) bool {
	values := seenInteger | seenFloat | seenDate | seenDateTime | seenInstant
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
	return !some // a first row of empty cells, as of an index without a name
}
