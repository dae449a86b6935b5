package table

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The last row and column of a sheet, from 1: XFD1048576.
const (
	maxSheetRow    = 1 << 20
	maxSheetColumn = 1 << 14
)

// A sheetReader reads the table on a sheet.
//
// Empty rows and columns around the table are skipped. In a column of texts, a text is
// always itself. In a column of other types, the words for a missing value are missing
// values, and so is the empty text, which formulas return.
type sheetReader struct {
	file    *xlsxFile
	o       *readOptions
	sheet   *xlsxSheet
	missing []string // the texts that the caller specified as missing
	numbers numbers  // the format of numbers in texts

	lead        []sheetRow  // the first rows, until it is known where the table begins
	begun       bool        // it is known
	title       int         // the rows before it
	first       []sheetCell // the first row that is not empty
	firstRow    int
	lastRow     int // the last one that is not empty
	left, right int // the first and last column with cells
	columns     []kindSet
	headed      bool
}

// A sheetCell is a cell that is not empty.
type sheetCell struct {
	column int // from 1
	value  value.Value
}

// A sheetRow is a row that is not empty.
type sheetRow struct {
	n     int // from 1
	cells []sheetCell
}

// standsForMissing reports whether a cell is a missing value in a column of other types
// than text.
func standsForMissing(v value.Value) bool {
	s, ok := v.(string)
	return ok && (s == "" || isWord(s) || isSign(s))
}

// table reads the sheet twice.
func (r *sheetReader) table() (*Table, error) {
	if err := r.eachRow(r.survey); err != nil {
		return nil, err
	}
	r.begin()
	if r.firstRow == 0 {
		return nil, r.file.errorf("the sheet %q is empty", cut(r.sheet.name)).WithHint("set sheet to another one, such as 2")
	}
	names, notes, err := r.header()
	if err != nil {
		return nil, err
	}
	columns := r.columns[r.left:]
	for i := range columns {
		columns[i] &^= hasLarge // a cell holds only a float
	}
	types, err := r.o.typesOfColumns(names, columns)
	if err != nil {
		return nil, err
	}
	notes = append(notes, notesOfKinds(names, types, columns, r.o.types)...)
	rows := r.lastRow - r.firstRow + 1
	if r.headed {
		rows--
	}
	const cell = 9 // bytes of a missing cell
	if err := r.file.budget.take(int64(rows) * int64(len(types)) * cell); err != nil {
		return nil, r.tooLarge(rows, err)
	}
	b := newBatch(types)
	err = r.eachRow(func(n int, cells []sheetCell) error {
		return r.fill(b, names, n, cells)
	})
	if err != nil {
		return nil, err
	}
	notes = append(r.titleNotes(), notes...)
	return newHeld(names, b, append(notes, r.o.numberTexts(names, b, true)...)...), nil
}

// tooLarge returns the error for a table that is too large because of its extent.
// Usually there is a forgotten cell far from all others.
func (r *sheetReader) tooLarge(rows int, err error) error {
	return renamedError(err, "%s: sheet %q extends to cell %s%d: it needs more than %d MB of memory as a table of %s", r.file.name, cut(r.sheet.name),
		columnLetters(r.right), r.lastRow, r.file.budget.all>>20, extent(rows, len(r.columns[r.left:]))).
		WithHint("clear cells far from the data, such as %s%d, or save the sheet as .csv", columnLetters(r.right), r.lastRow)
}

// survey records the extent of the table and the kinds of its values.
func (r *sheetReader) survey(n int, cells []sheetCell) error {
	const most = 40
	switch {
	case n <= r.o.skip:
	case !r.begun:
		r.lead = append(r.lead, sheetRow{n, slices.Clone(cells)})
		if len(r.lead) == most {
			r.begin()
		}
	default:
		r.add(n, cells)
	}
	return nil
}

// begin determines where the table begins, and adds the rows that were read.
func (r *sheetReader) begin() {
	if !r.o.skips && (r.o.header == nil || *r.o.header) {
		r.title = titleRows(r.lead)
	}
	r.begun = true
	for _, row := range r.lead[r.title:] {
		r.add(row.n, row.cells)
	}
}

// titleRows returns the number of rows before a table: rows with fewer cells than all names of a header, which is as wide as most
// rows under it. One text above three names is surely a title; else there must be more than texts under the names.
func titleRows(rows []sheetRow) int {
	const most = 20
	widest := 0
	for n, row := range rows[:min(most, len(rows))] {
		wide, wider, under, values := 0, 0, rows[n+1:], false
		for _, below := range under {
			if len(below.cells) > widest {
				wide++
			}
			if len(below.cells) > len(row.cells) {
				wider++
			}
			values = values || !allTexts(below.cells)
		}
		if n > 0 && allTexts(row.cells) && len(row.cells) > widest && 2*wide >= len(under) && 2*wider < len(under) && (widest == 1 && len(row.cells) > 2 || values) {
			return n
		}
		widest = max(widest, len(row.cells))
	}
	return 0
}

func allTexts(cells []sheetCell) bool {
	return !slices.ContainsFunc(cells, func(c sheetCell) bool { return !isText(c.value) })
}

// titleNotes returns the note about the rows before the table.
func (r *sheetReader) titleNotes() []string {
	if r.title == 0 {
		return nil
	}
	rows := fmt.Sprintf("row %d is", r.lead[0].n)
	if r.title > 1 {
		rows = fmt.Sprintf("rows %d to %d are", r.lead[0].n, r.lead[r.title-1].n)
	}
	return []string{rows + " skipped as a title; if the table begins there, pass skip = 0"}
}

// add records a row of the table.
func (r *sheetReader) add(n int, cells []sheetCell) {
	last := cells[len(cells)-1].column
	if r.firstRow == 0 {
		r.firstRow, r.left = n, cells[0].column
		r.first = slices.Clone(cells)
	} else {
		r.left = min(r.left, cells[0].column)
	}
	r.lastRow, r.right = n, max(r.right, last)
	if len(r.columns) <= last {
		r.columns = append(r.columns, make([]kindSet, last+1-len(r.columns))...)
	}
	if n != r.firstRow {
		r.note(cells)
	}
}

func (r *sheetReader) note(cells []sheetCell) {
	for _, c := range cells {
		switch {
		case standsForMissing(c.value):
			r.columns[c.column] |= hasBlank
			if s, _ := c.value.(string); isSign(s) {
				r.columns[c.column] |= hasSign
			}
		case isText(c.value):
			r.columns[c.column] |= hasText
		default:
			r.columns[c.column].add(c.value)
		}
	}
}

// header determines whether the first row names the columns.
func (r *sheetReader) header() (names, notes []string, err error) {
	r.headed = allTexts(r.first)
	if r.o.header != nil {
		r.headed = *r.o.header
	}
	given := make([]string, r.right-r.left+1)
	if !r.headed {
		r.note(r.first)
	} else {
		for _, c := range r.first {
			name := newColumn(Text, 1)
			if err := name.addRead(c.value, nil); err != nil {
				return nil, nil, err
			}
			given[c.column-r.left] = headerName(name.Texts[0])
		}
	}
	names, notes = uniqueNames(given)
	return names, notes, nil
}

// fill appends a row, and the empty rows before it.
func (r *sheetReader) fill(b *Batch, names []string, n int, cells []sheetCell) error {
	start := r.firstRow
	if r.headed {
		start++
	}
	if n < start {
		return nil
	}
	for b.Rows < n-start {
		for _, c := range b.Columns {
			c.addMissing()
		}
		b.Rows++
	}
	b.Rows++
	for _, cell := range cells {
		c := b.Columns[cell.column-r.left]
		v := cell.value
		if c.Type != Text && c.Type != Any && standsForMissing(v) {
			v = nil
		}
		if s, ok := v.(string); ok || c.Type == Any {
			const stringBytes = 16 // the string header
			if err := r.file.budget.take(int64(len(s)) + stringBytes); err != nil {
				return err
			}
		}
		if err := c.addRead(v, &r.numbers); err != nil {
			return r.cellError(cell.column, n, "column %q: %s", cut(names[cell.column-r.left]), value.ErrorOf(err, value.Invalid).Message())
		}
	}
	for _, c := range b.Columns {
		if c.Len() < b.Rows {
			c.addMissing()
		}
	}
	return nil
}

func (r *sheetReader) cellError(column, row int, format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	return value.Errorf(value.Invalid, "%s, sheet %q, cell %s%d: %s", r.file.name, cut(r.sheet.name), columnLetters(column), row, e.Message())
}

// columnLetters returns the name of a column in a sheet: 28 is AB.
func columnLetters(n int) string {
	const letters = 26
	name := ""
	for ; n > 0; n = (n - 1) / letters {
		name = string(rune('A'+(n-1)%letters)) + name
	}
	return name
}

// eachRow calls f with each row that is not empty, and its cells from left to right. The
// cells are valid until the next row.
func (r *sheetReader) eachRow(f func(row int, cells []sheetCell) error) error {
	row, cells := 0, []sheetCell(nil)
	found := false
	err := r.file.eachElement(r.sheet.part, func(x *xmlReader) error {
		if x.name != "sheetData" {
			return nil
		}
		found = true
		err := x.children(func() (err error) {
			if x.name != "row" {
				return nil
			}
			if row, err = rowNumber(x, row); err != nil {
				return err
			}
			if cells, err = r.readRow(x, row, cells[:0]); err != nil || len(cells) == 0 {
				return err
			}
			return f(row, cells)
		})
		if err != nil {
			return err
		}
		return errStop
	})
	if err == nil && !found {
		err = r.file.errorf("the sheet %q is damaged: no cells", cut(r.sheet.name))
	}
	return err
}

// rowNumber returns the number of a row: the next one if it is not specified.
func rowNumber(x *xmlReader, last int) (int, error) {
	n := last + 1
	if raw := x.attr("r"); raw != "" {
		var ok bool
		if n, ok = smallNumber(raw); !ok {
			return 0, x.errorf("invalid row number %q", cut(raw))
		}
	}
	switch {
	case n <= last:
		return 0, x.errorf("row %d comes after row %d", n, last)
	case n > maxSheetRow:
		return 0, x.errorf("row %d is after the last possible row %d", n, maxSheetRow)
	}
	return n, nil
}

// smallNumber parses at most nine digits.
func smallNumber(s string) (int, bool) {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(s) > 0 && len(s) <= 9
}

// readRow reads the cells of the current row.
func (r *sheetReader) readRow(x *xmlReader, row int, cells []sheetCell) ([]sheetCell, error) {
	last := 0
	err := x.children(func() (err error) {
		if x.name != "c" {
			return nil
		}
		if last, err = columnNumber(x, last, row); err != nil {
			return err
		}
		v, err := r.readCell(x, last, row)
		if v != nil {
			cells = append(cells, sheetCell{last, v})
		}
		return err
	})
	return cells, err
}

// columnNumber returns the column of a cell: the next one if it is not specified.
func columnNumber(x *xmlReader, last, row int) (int, error) {
	raw := x.attr("r")
	n := last + 1
	if raw != "" {
		n = 0
		i := 0
		for ; i < len(raw) && i < 4 && 'A' <= raw[i] && raw[i] <= 'Z'; i++ {
			n = n*26 + int(raw[i]-'A') + 1
		}
		if in, ok := smallNumber(raw[i:]); !ok || in != row || i == 0 {
			return 0, x.errorf("invalid cell %q in row %d", cut(raw), row)
		}
	}
	switch {
	case n > maxSheetColumn:
		return 0, x.errorf("cell %q is after the last possible column %s", cut(raw), columnLetters(maxSheetColumn))
	case n <= last:
		return 0, x.errorf("cell %s%d comes after %s%d", columnLetters(n), row, columnLetters(last), row)
	}
	return n, nil
}

// readCell reads the current cell. It returns nil if the cell is empty.
func (r *sheetReader) readCell(x *xmlReader, column, row int) (value.Value, error) {
	kind, style := x.attr("t"), x.attr("s")
	format := formatNumber
	if n, ok := smallNumber(style); ok && n < len(r.file.formats) {
		format = r.file.formats[n]
	}
	var text []byte
	var hasValue, formula bool
	err := x.children(func() (err error) {
		switch x.name {
		case "f":
			formula = true
		case "v":
			hasValue = true
			text, err = x.appendText(nil)
		case "is":
			hasValue = true
			text, err = x.richText(nil)
			text = plainText(text)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if formula && (!hasValue || len(text) == 0 && kind != "str") {
		return nil, r.cellError(column, row, "the formula has no value").
			WithHint("to calculate the formulas, open and save the file in a spreadsheet program")
	}
	if !hasValue || len(text) == 0 && kind != "str" && kind != "inlineStr" { // some programs write <v/>
		return nil, nil
	}
	v, err := r.cellValue(kind, text, format)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		return nil, r.cellError(column, row, "%s", e.Message()).WithHint("%s", e.Hint)
	}
	if t, ok := v.(string); ok && slices.Contains(r.missing, t) {
		v = nil
	}
	return v, nil
}

// cellValue returns the value of a cell of a kind (ECMA-376, ST_CellType). Of the errors
// of formulas, #N/A is a missing value.
func (r *sheetReader) cellValue(kind string, text []byte, format cellFormat) (value.Value, error) {
	switch kind {
	case "s":
		n, ok := smallNumber(string(bytes.TrimSpace(text)))
		if !ok || n >= len(r.file.strings) {
			e := value.Errorf(value.Invalid, "the cell refers to the shared string number %q, but the file has %d shared strings", cut(string(text)), len(r.file.strings))
			if len(r.file.strings) == 0 {
				e = e.WithHint("repair the file: open and save it in a spreadsheet program")
			}
			return nil, e
		}
		return r.file.strings[n], nil
	case "str":
		return string(plainText(text)), nil
	case "inlineStr":
		return string(text), nil
	case "b":
		switch string(bytes.TrimSpace(text)) {
		case "1", "true":
			return true, nil
		case "0", "false":
			return false, nil
		}
		return nil, value.Errorf(value.Invalid, "invalid bool %q", cut(string(text)))
	case "e":
		if s := string(text); s == "#N/A" || slices.Contains(r.missing, s) {
			return nil, nil
		}
		return nil, value.Errorf(value.Invalid, "the formula failed: %s", cut(string(text))).
			WithHint("fix the formula, or set missing to [%q] to read the cell as missing", cut(string(text)))
	case "d":
		return isoTime(strings.TrimSpace(string(text)), format), nil
	case "", "n":
		return r.file.number(strings.TrimSpace(string(text)), format)
	}
	return nil, value.Errorf(value.Invalid, "unknown kind of cell %q", cut(kind))
}

// isoTime parses the ISO 8601 dates of strict files. A midnight that is shown as a date is
// one. What is no date, such as a time of day, stays a text.
func isoTime(s string, format cellFormat) value.Value {
	if n, ok := parseDate(s); ok {
		return foundTime{Date, n}
	}
	n, zoned, ok := parseDateTime(s)
	switch {
	case !ok:
		return s
	case zoned:
		return formatTime(Instant, n)
	case format == formatDate && n%microsPerDay == 0:
		return foundTime{Date, n / microsPerDay}
	}
	return foundTime{DateTime, n}
}

// number parses a number. With a date format it returns a date or time if the number can
// be one.
func (f *xlsxFile) number(s string, format cellFormat) (value.Value, error) {
	if s == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v || v-v != 0 || strings.ContainsAny(s, "xXpP_") {
		return nil, value.Errorf(value.Invalid, "invalid number %q", cut(s))
	}
	if format != formatNumber {
		if t := f.timeOf(v, format); t != nil {
			return t, nil
		}
	}
	if n, ok := parseInteger(s); ok {
		return n, nil
	}
	if n := int64(v); float64(n) == v && exact(n) {
		return n, nil
	}
	return v, nil
}
