package table

import (
	"bytes"
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
// Empty rows and columns around the table are left out. Where the types are of
// account, a text that stands for a missing value is one in a column of other
// values, and so is the empty text, which formulas give; in a column of texts it
// is what it is.
type sheetReader struct {
	file    *xlsxFile
	o       *readOptions
	sheet   *xlsxSheet
	missing []string // what the caller says is missing

	first       []sheetCell // the first row that is not empty
	firstRow    int
	lastRow     int // the last one that is not empty
	left, right int // the columns between which all cells are
	columns     []kindSet
	headed      bool
}

// A sheetCell is a cell that is not empty.
type sheetCell struct {
	column int // from 1
	value  value.Value
}

// standsForMissing reports whether a cell is a missing value in a column of others
// than texts.
func standsForMissing(v value.Value) bool {
	s, ok := v.(string)
	return ok && (s == "" || isWord(s))
}

// table reads the sheet twice.
func (r *sheetReader) table() (*Table, error) {
	if err := r.eachRow(r.survey); err != nil {
		return nil, err
	}
	if r.firstRow == 0 {
		return nil, r.file.errorf("the sheet %q is empty", cut(r.sheet.name)).WithHint("choose another with sheet")
	}
	names, notes, err := r.header()
	if err != nil {
		return nil, err
	}
	columns := r.columns[r.left:]
	for i := range columns {
		columns[i] &^= hasLarge // a cell holds no more than a float does
	}
	types, err := r.o.typesOfColumns(names, columns)
	if err != nil {
		return nil, err
	}
	rows := r.lastRow - r.firstRow + 1
	if r.headed {
		rows--
	}
	const cell = 9 // bytes of one that is missing
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
	return newHeld(names, b, notes...), nil
}

// tooLarge is the error of a table that is too large for its extent: mostly there
// is a cell far from all others, which nobody knows of.
func (r *sheetReader) tooLarge(rows int, err error) error {
	return renamedError(err, "%s: sheet %q, which goes to cell %s%d, takes more than %d MB of memory as a table of %s", r.file.name, cut(r.sheet.name),
		columnLetters(r.right), r.lastRow, r.file.budget.all>>20, extent(rows, len(r.columns[r.left:]))).
		WithHint("clear what stands far from the data, as in cell %s%d, and save the file; or save the sheet as .csv", columnLetters(r.right), r.lastRow)
}

// survey notes the extent of the table and the kinds of its values.
func (r *sheetReader) survey(n int, cells []sheetCell) error {
	if n <= r.o.skip {
		return nil
	}
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
	return nil
}

func (r *sheetReader) note(cells []sheetCell) {
	for _, c := range cells {
		switch {
		case standsForMissing(c.value):
			r.columns[c.column] |= hasBlank
		case isText(c.value):
			r.columns[c.column] |= hasText
		default:
			r.columns[c.column].add(c.value)
		}
	}
}

// header decides whether the first row names the columns.
func (r *sheetReader) header() (names, notes []string, err error) {
	r.headed = true
	for _, c := range r.first {
		r.headed = r.headed && isText(c.value)
	}
	if r.o.header != nil {
		r.headed = *r.o.header
	}
	given := make([]string, r.right-r.left+1)
	if !r.headed {
		r.note(r.first)
	} else {
		for _, c := range r.first {
			name := newColumn(Text, 1)
			if err := name.addRead(c.value); err != nil {
				return nil, nil, err
			}
			given[c.column-r.left] = headerName(name.Texts[0])
		}
	}
	names, notes = uniqueNames(given)
	return names, notes, nil
}

// fill appends a row, and the empty ones that the sheet has before it.
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
			const room = 16 // of a string
			if err := r.file.budget.take(int64(len(s)) + room); err != nil {
				return err
			}
		}
		if err := c.addRead(v); err != nil {
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

// columnLetters is the name of a column in a sheet: 28 is AB.
func columnLetters(n int) string {
	const letters = 26
	name := ""
	for ; n > 0; n = (n - 1) / letters {
		name = string(rune('A'+(n-1)%letters)) + name
	}
	return name
}

// eachRow calls f with each row that is not empty, and with its cells from the left.
// The cells are good until the next row.
func (r *sheetReader) eachRow(f func(row int, cells []sheetCell) error) error {
	row, cells := 0, []sheetCell(nil)
	found := false
	err := r.file.eachToken(r.sheet.part, func(s *xmlScanner) error {
		if s.name != "sheetData" {
			return nil
		}
		found = true
		for {
			if err := s.next(); err != nil {
				return unended(err)
			}
			switch {
			case s.token == xmlEnd && s.name == "sheetData":
				return errStop
			case s.token == xmlStart && s.name == "row":
				var err error
				if row, err = rowNumber(s, row); err != nil {
					return err
				}
				if cells, err = r.readRow(s, row, cells[:0]); err != nil {
					return err
				}
				if len(cells) == 0 {
					continue
				}
				if err := f(row, cells); err != nil {
					return err
				}
			}
		}
	})
	if err == nil && !found {
		err = r.file.errorf("the sheet %q has no cells: it is damaged", cut(r.sheet.name))
	}
	return err
}

// rowNumber is where a row stands: after the last one, if it does not say.
func rowNumber(s *xmlScanner, last int) (int, error) {
	n := last + 1
	if raw := s.rawAttr("r"); raw != nil {
		var ok bool
		if n, ok = smallNumber(raw); !ok {
			return 0, s.errorf("a row has the number %q", cut(string(raw)))
		}
	}
	switch {
	case n <= last:
		return 0, s.errorf("row %d stands after row %d", n, last)
	case n > maxSheetRow:
		return 0, s.errorf("there is a row %d, past %d", n, maxSheetRow)
	}
	return n, nil
}

// smallNumber reads digits, at most nine.
func smallNumber(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 9
}

// readRow reads the cells of the row whose start is at hand.
func (r *sheetReader) readRow(s *xmlScanner, row int, cells []sheetCell) ([]sheetCell, error) {
	last := 0
	for {
		if err := s.next(); err != nil {
			return nil, unended(err)
		}
		switch {
		case s.token == xmlEnd && s.name == "row":
			return cells, nil
		case s.token == xmlStart && s.name == "c":
			column, err := columnNumber(s, last, row)
			if err != nil {
				return nil, err
			}
			last = column
			v, err := r.readCell(s, column, row)
			if err != nil {
				return nil, err
			}
			if v != nil {
				cells = append(cells, sheetCell{column, v})
			}
		}
	}
}

// columnNumber is where a cell stands: after the last one, if it does not say.
func columnNumber(s *xmlScanner, last, row int) (int, error) {
	raw := s.rawAttr("r")
	n := last + 1
	if raw != nil {
		n = 0
		i := 0
		for ; i < len(raw) && i < 4 && 'A' <= raw[i] && raw[i] <= 'Z'; i++ {
			n = n*26 + int(raw[i]-'A') + 1
		}
		if in, ok := smallNumber(raw[i:]); !ok || in != row {
			return 0, s.errorf("there is a cell %q in row %d", cut(string(raw)), row)
		}
	}
	switch {
	case n == 0 || n > maxSheetColumn:
		return 0, s.errorf("there is a cell %q, past column %s", cut(string(raw)), columnLetters(maxSheetColumn))
	case n <= last:
		return 0, s.errorf("cell %s%d stands after %s%d", columnLetters(n), row, columnLetters(last), row)
	}
	return n, nil
}

// readCell reads the cell whose start is at hand; nil is an empty one.
func (r *sheetReader) readCell(s *xmlScanner, column, row int) (value.Value, error) {
	kind, style := string(s.rawAttr("t")), s.rawAttr("s")
	format := formatNumber
	if n, ok := smallNumber(style); ok && n < len(r.file.formats) {
		format = r.file.formats[n]
	}
	var text []byte
	var hasValue, formula bool
	for depth := len(s.open) - 1; len(s.open) > depth; {
		if err := s.next(); err != nil {
			return nil, unended(err)
		}
		if s.token == xmlStart {
			var err error
			switch s.name {
			case "f":
				formula = true
				err = s.skip()
			case "v":
				hasValue = true
				text, err = s.plain(nil)
			case "is":
				hasValue = true
				text, err = s.richText(nil)
			default:
				err = s.skip()
			}
			if err != nil {
				return nil, unended(err)
			}
		}
	}
	if formula && (!hasValue || len(text) == 0 && kind != "str") {
		return nil, r.cellError(column, row, "the formula has no value").
			WithHint("open the file in a spreadsheet program and save it, which works out the formulas")
	}
	if !hasValue {
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

// plain returns the text of the element whose start is at hand.
func (s *xmlScanner) plain(to []byte) ([]byte, error) {
	for depth := len(s.open) - 1; len(s.open) > depth; {
		if err := s.next(); err != nil {
			return nil, err
		}
		if s.token == xmlText {
			if len(to)+len(s.text) > maxCellText {
				return nil, s.limit("a text of more than %d MB", maxCellText>>20)
			}
			to = append(to, s.text...)
		}
	}
	return to, nil
}

// cellValue is the value of a cell of a kind (ECMA-376, ST_CellType). Of the errors
// that a formula may have, #N/A says that a value is not available.
func (r *sheetReader) cellValue(kind string, text []byte, format cellFormat) (value.Value, error) {
	switch kind {
	case "s":
		n, ok := smallNumber(bytes.TrimSpace(text))
		if !ok || n >= len(r.file.strings) {
			e := value.Errorf(value.Invalid, "there is no shared text %q", cut(string(text)))
			if len(r.file.strings) == 0 {
				e = e.WithHint("the file has no shared texts: it is damaged; save it again in a spreadsheet program")
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
		return nil, value.Errorf(value.Invalid, "%q is neither true nor false", cut(string(text)))
	case "e":
		if s := string(text); s == "#N/A" || slices.Contains(r.missing, s) {
			return nil, nil
		}
		return nil, value.Errorf(value.Invalid, "the formula failed: %s", cut(string(text))).
			WithHint("mend it, or say missing = [%q] to have it missing", cut(string(text)))
	case "d":
		return isoTime(strings.TrimSpace(string(text)))
	case "", "n":
		return r.file.number(strings.TrimSpace(string(text)), format)
	}
	return nil, value.Errorf(value.Invalid, "a cell of the unknown kind %q", cut(kind))
}

// isoTime reads the dates of ISO 8601 that strict files have.
func isoTime(s string) (value.Value, error) {
	if n, ok := parseDate(s); ok {
		return foundTime{Date, n}, nil
	}
	n, zoned, ok := parseDateTime(s)
	switch {
	case !ok:
		return nil, value.Errorf(value.Invalid, "%q is no date", cut(s))
	case zoned:
		return formatTime(Instant, n), nil
	}
	return foundTime{DateTime, n}, nil
}

// number reads a number. Under a format of dates it is one, if it can be.
func (f *xlsxFile) number(s string, format cellFormat) (value.Value, error) {
	if s == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v || v-v != 0 || strings.ContainsAny(s, "xXpP_") {
		return nil, value.Errorf(value.Invalid, "%q is no number", cut(s))
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
