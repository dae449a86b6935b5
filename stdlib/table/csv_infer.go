package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// A csvColumn is a column of a file: the kinds of cells seen in it, and how it is
// parsed.
type csvColumn struct {
	name   string
	typ    Type
	forced bool      // the caller specified the type
	words  bool      // NA and the like are missing values
	form   *dateForm // the format of its dates, or nil

	seen kindSet
	last kindSet // the kind of the last cell, as a guess for the next
	fits *formFits

	lookalike string // the number format that its first cells match, or ""
	guess     columnGuess
}

// A csvPass reads all rows of a file to infer the types of its columns.
type csvPass struct {
	file   *csvFile
	forms  []*dateForm
	types  map[string]Type
	budget *budget
	keep   bool // keep the rows, to convert them to columns
	kept   []*csv.Rows
	rows   int
	quoted bool // all cells so far were quoted
}

func (p *csvPass) run(ctx context.Context, from *parts) error {
	err := p.file.scan(from, p.first, p.look)
	if err != nil {
		return err
	}
	f := p.file
	f.guessed = false
	for _, c := range f.columns {
		note := c.settle(p.quoted)
		if note != "" {
			f.notes = append(f.notes, note)
		}
	}
	return ctx.Err()
}

// first processes the first row of the file.
func (p *csvPass) first(b *csv.Rows) error {
	f := p.file
	if err := f.findHeader(b, p.types, p.forms); err != nil {
		return err
	}
	// to_csv quotes a name only if it contains a possible delimiter.
	p.quoted = allQuoted(b) && slices.ContainsFunc(b.Spans, func(sp csv.Span) bool {
		return sp.Mark == csv.Free && sp.End > sp.Start && !strings.ContainsAny(b.Text[sp.Start:sp.End], ",;\t|\ufeff")
	})
	if len(p.forms) > 0 {
		for _, c := range f.columns {
			c.fits = &formFits{forms: p.forms, alive: 1<<len(p.forms) - 1}
		}
	}
	if *f.header {
		return nil
	}
	_, err := p.look(b)
	return err
}

// allQuoted reports whether each nonempty cell is quoted.
func allQuoted(b *csv.Rows) bool {
	for _, sp := range b.Spans {
		if sp.Mark == csv.Plain && sp.End > sp.Start {
			return false
		}
	}
	return true
}

// look processes some rows.
func (p *csvPass) look(b *csv.Rows) (again bool, err error) {
	f := p.file
	if p.quoted {
		p.quoted = allQuoted(b)
	}
	if p.rows == 0 && f.formless && *f.header {
		f.guessForm(b)
	}
	for i, c := range f.columns {
		if c.seen&hasText == 0 && (p.quoted || c.seen&hasQuoted == 0) || c.fits.some() {
			before := c.seen
			c.look(f, b, i)
			if c.seen&hasText != 0 && p.rows > 1 && before&^(hasBlank|hasSign) != 0 {
				c.guess.counted, c.guess.fit, c.guess.kinds = true, p.rows, before
			}
		}
		if c.guess.counted {
			c.count(f, b, i)
		}
		if c.forced && c.typ != Text && c.fits == nil { // report a misfit now, not when the table is used
			if err := f.convertColumn(c, b, i, &Column{Type: c.typ}); err != nil {
				return false, err
			}
		}
	}
	if p.rows < batchRows/2 { // the first batch
		f.lookAlikes(b, p.quoted)
	}
	p.rows += len(b.Lines)
	if p.keep {
		const spanSize = 12 // bytes of a span
		p.keep = p.budget.take(int64(len(b.Spans)*spanSize)) == nil
		p.kept = append(p.kept, b)
	}
	if !p.keep {
		p.kept = nil
	}
	return !p.keep, nil
}

// look records the kinds of the cells of the column.
func (c *csvColumn) look(f *csvFile, b *csv.Rows, column int) {
	usual := f.numbers.usual && c.fits == nil && f.missing == nil
	for k := column; k < len(b.Spans); k += f.width {
		sp := b.Spans[k]
		s := b.Text[sp.Start:sp.End]
		if usual && (sp.Mark == csv.Plain || sp.Mark == csv.Free && c.seen&hasQuoted != 0) && c.same(s) {
			continue
		}
		c.lookAt(f, b, sp)
	}
}

// same reports whether a cell has the kind of the previous one. It checks only what is
// fast to check.
func (c *csvColumn) same(s string) bool {
	if s == "" {
		return true
	}
	ok := false
	switch c.last {
	case hasText:
		return true
	case hasInteger:
		var n int64
		n, ok = parseInteger(s)
		ok = ok && exact(n)
	case hasFloat:
		var f float64
		f, ok = parseFloat(s)
		ok = ok && -1<<53 < f && f < 1<<53 && strings.IndexByte(s, '.') >= 0
	case hasDate:
		_, ok = parseDate(s)
	case hasDateTime:
		var zoned bool
		_, zoned, ok = parseDateTime(s)
		ok = ok && !zoned
	}
	return ok
}

// lookAt records the kind of a cell.
func (c *csvColumn) lookAt(f *csvFile, b *csv.Rows, sp csv.Span) {
	s := b.Cell(sp)
	trimmed := trimSpaces(s)
	if trimmed == "" || f.missing[s] {
		return
	}
	if sp.Mark == csv.Free && !strings.Contains(s, f.dialect.Delimiter) { // else the quotes had to be there
		c.seen |= hasQuoted
	}
	if f.missing == nil && isWord(s) {
		c.seen |= hasBlank
		return
	}
	if f.missing == nil && isSign(trimmed) {
		c.seen |= hasSign
		c.guess.sign = strings.Clone(trimmed)
		return
	}
	if c.fits.some() {
		c.fits.look(trimmed)
	}
	if c.seen&hasText != 0 {
		return
	}
	c.last = f.numbers.kindOf(trimmed)
	c.seen |= c.last
	if c.last&(hasInteger|hasFloat) != 0 {
		c.guess.number(trimmed, c.last)
	}
}

// settle determines the type of the column from all cells. It returns a note if one is
// needed.
func (c *csvColumn) settle(quoted bool) (note string) {
	const noValues = hasBlank | hasQuoted | hasSign | hasDressed
	bare := (c.seen &^ noValues).columnType()
	if !quoted && c.seen&hasQuoted != 0 || c.guess.isText() {
		c.seen |= hasText
	}
	values := c.seen &^ noValues
	found := values.columnType()
	if found == Any {
		found = Text
	}
	form, ambiguous := c.fits.choose()
	if form != nil {
		found = form.typ
	}
	switch {
	case c.forced && form != nil && (form.typ == c.typ || form.typ == Date && c.typ == DateTime):
		c.form = form
	case !c.forced:
		c.typ, c.form = found, form
	}
	c.words = c.typ != Text || values == 0 && c.seen&hasSign == 0
	if ambiguous != "" && c.typ == Text && !c.forced {
		return fmt.Sprintf("column %s is text: the dates match several formats: %s", quoteCut(c.name), ambiguous)
	}
	return c.note(bare)
}

// convert returns the columns of some rows.
func (f *csvFile) convert(b *csv.Rows) (*Batch, error) {
	made := &Batch{Rows: len(b.Lines), Columns: make([]*Column, len(f.columns))}
	columns := make([]Column, len(f.columns))
	for i, c := range f.columns {
		if f.wanted != nil && !f.wanted[i] {
			continue
		}
		made.Columns[i] = &columns[i]
		columns[i].Type = c.typ
		if err := f.convertColumn(c, b, i, &columns[i]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (f *csvFile) convertColumn(c *csvColumn, b *csv.Rows, column int, d *Column) error {
	n := len(b.Lines)
	switch c.typ {
	case Text:
		d.Texts = make([]string, n)
	case Float:
		d.Floats = make([]float64, n)
	default:
		d.Ints = make([]int64, n)
	}
	usual := f.numbers.usual && f.missing == nil && c.form == nil
	for row, k := 0, column; k < len(b.Spans); row, k = row+1, k+f.width {
		sp := b.Spans[k]
		s := b.Text[sp.Start:sp.End]
		ok := false
		if usual && len(s) > 0 {
			switch c.typ {
			case Text:
				if ok = sp.Mark < csv.Doubled && s[0] != ' ' && !c.words; ok {
					d.Texts[row] = s
				}
			case Integer:
				d.Ints[row], ok = parseInteger(s)
			case Float:
				if s[0] != 'N' { // NaN is a missing value, unless others are specified
					d.Floats[row], ok = parseFloat(s)
				}
			case Date:
				d.Ints[row], ok = parseDate(s)
			case DateTime:
				var zoned bool
				d.Ints[row], zoned, ok = parseDateTime(s)
				ok = ok && !zoned
			}
		}
		if !ok && !f.convertCell(c, b.Cell(sp), sp.Mark, d, row) {
			return f.misfit(c, b.Cell(sp), b.Lines[row], column)
		}
	}
	return nil
}

// convertCell parses a cell with any option and sets the value. ok is false if the cell
// does not fit the type.
func (f *csvFile) convertCell(c *csvColumn, s string, m csv.Mark, d *Column, row int) (ok bool) {
	trimmed := trimSpaces(s)
	switch {
	case f.missing[s], trimmed == "" && (m == csv.Plain || c.typ != Text), f.missing == nil && c.words && (isWord(s) || isSign(trimmed)):
		if d.Missing == nil {
			d.Missing = make([]bool, d.Len())
		}
		d.Missing[row] = true
		return true
	case c.typ == Text:
		d.Texts[row] = s
		return true
	case c.typ == Float:
		d.Floats[row], ok = f.numbers.float(trimmed)
		return ok
	}
	d.Ints[row], ok = f.parse(c, trimmed)
	return ok
}

// parse parses a value that is stored as an integer.
func (f *csvFile) parse(c *csvColumn, s string) (v int64, ok bool) {
	if c.form != nil {
		if v, ok = c.form.parse(s); ok && c.form.typ == Date && c.typ == DateTime {
			v *= microsPerDay
		}
		return v, ok
	}
	switch c.typ {
	case Integer:
		return f.numbers.integer(s)
	case Bool:
		b, ok := parseBool(s)
		if b {
			v = 1
		}
		return v, ok
	case Date:
		return parseDate(s)
	}
	v, zoned, ok := parseDateTime(s)
	if !ok && c.typ == DateTime {
		v, ok = parseDate(s)
		v *= microsPerDay
	}
	return v, ok && zoned == (c.typ == Instant)
}

// misfit returns the error for a cell that does not have the specified type.
func (f *csvFile) misfit(c *csvColumn, s string, line, column int) error {
	if !c.forced {
		return f.in.changedError()
	}
	err := value.Errorf(value.Failed, "%s, line %d, column %s (%d): %s is not of type %s", f.in.name, line, quoteCut(c.name), column+1, quoteCut(s), c.typ)
	return err.WithHint(`to read the column as text, set types to {%q: "text"}; to read the value as missing, set missing to [%q]`, c.name, string(completeRunes([]byte(s[:min(len(s), 60)]))))
}

// formFits records which date formats all values of a column match so far.
type formFits struct {
	forms  []*dateForm
	alive  uint16
	differ [maxForms]uint16 // by format, the others that once parsed another value
	any    bool
}

func (s *formFits) some() bool { return s != nil && s.alive != 0 }

// look checks a value.
func (s *formFits) look(text string) {
	s.any = true
	var values [maxForms]int64
	for i, form := range s.forms {
		if s.alive>>i&1 == 0 {
			continue
		}
		v, ok := form.parse(text)
		if !ok {
			s.alive &^= 1 << i
			continue
		}
		values[i] = v
		for j := range i {
			if s.alive>>j&1 == 1 && (values[j] != v || s.forms[j].typ != form.typ) {
				s.differ[i] |= 1 << j
			}
		}
	}
}

// choose returns the format that all values match. If several match and parse the values
// differently, it returns none of them and lists them in ambiguous.
func (s *formFits) choose() (form *dateForm, ambiguous string) {
	if !s.some() || !s.any {
		return nil, ""
	}
	var texts []string
	different := false
	for i, f := range s.forms {
		if s.alive>>i&1 == 0 {
			continue
		}
		if form == nil {
			form = f
		}
		texts = append(texts, f.text)
		different = different || s.differ[i]&s.alive != 0
	}
	if !different {
		return form, ""
	}
	return nil, "all of " + someNames(slices.Compact(texts))
}
