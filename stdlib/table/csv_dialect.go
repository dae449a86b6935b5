package table

import (
	"fmt"
	"io"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// findEncoding determines the encoding: the specified one, else the one detected from
// the first bytes, else UTF-8 until that fails.
func (f *csvFile) findEncoding(p *parts, specified string) error {
	name, err := parseEncoding(specified)
	if err != nil {
		return err
	}
	head := make([]byte, charset.HeadSize)
	n, err := p.ReadAt(head[:min(charset.HeadSize, f.in.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	found, mark := charset.Detect(head[:n])
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
	if name == "" && f.encoding != utf8Encoding {
		f.notes = append(f.notes, "encoding "+f.encoding+" (detected)")
	}
	return nil
}

// detect determines what was not specified of the dialect, by the first lines: the
// delimiter, lines before the table, and whether there are spaces before quotes.
func (f *csvFile) detect(s *csv.Scanner) error {
	d := &f.dialect
	if err := s.FirstLine(); err != nil {
		return err
	}
	if named := s.Separator(); named != "" && !f.titled && (d.Delimiter == "" || d.Delimiter == named) {
		if d.Delimiter == "" {
			f.notes = append(f.notes, fmt.Sprintf("delimiter %q (from the line sep=%s)", named, named))
		}
		d.Delimiter, f.skip = named, 1
	} else if !f.titled && s.Commented(*d) {
		d.Comment = "#"
		f.notes = append(f.notes, "lines that begin with # are skipped as comments; to read them, pass skip = 0")
	} else if n := s.Title(*d); n > 0 && !f.titled {
		lines := fmt.Sprintf("lines 1 to %d are", n)
		if n == 1 {
			lines = "line 1 is"
		}
		f.notes = append(f.notes, lines+" skipped as a title; if the table begins there, pass skip = 0")
		f.skip = n
	}
	if !f.titled && f.skip > 0 {
		if err := s.SkipLines(f.skip); err != nil {
			return err
		}
		if err := s.FirstLine(); err != nil {
			return err
		}
	}
	if d.Delimiter == "" {
		if d.Delimiter = s.Delimiter(*d); d.Delimiter != "," {
			f.notes = append(f.notes, fmt.Sprintf("delimiter %q (detected)", d.Delimiter))
		}
	}
	switch {
	case f.spaced != nil:
		d.Trim = *f.spaced
	case s.SpacedQuotes(*d):
		d.Trim = true
		f.notes = append(f.notes, "spaces around cells are skipped, because there are some before quotes; to keep them, pass trim = False")
	}
	f.detected = true
	if d.Delimiter == d.Quote || d.Delimiter == d.Escape {
		return errQuote()
	}
	return nil
}

// findHeader determines whether the first row names the columns, and their names.
func (f *csvFile) findHeader(b *csv.Rows, types map[string]Type, forms []*dateForm) error {
	cells := make([]string, f.width)
	for i, sp := range b.Spans {
		cells[i] = b.Cell(sp)
	}
	if f.header == nil {
		header := f.isHeader(cells, forms)
		f.header = &header
		if !header {
			f.notes = append(f.notes, "no header: the first row has only values; if they are names, pass header = True")
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
				return value.Errorf(value.Invalid, "argument 'types': a column of a CSV file cannot have the type any").WithHint(`use text: set types to {%q: "text"}`, name)
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
