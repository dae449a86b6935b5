package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A csvColumn is a column of a file: what was seen in it, and so how it is read.
type csvColumn struct {
	name   string
	typ    Type
	forced bool      // the type was said
	words  bool      // NA and the like are missing values
	form   *dateForm // how its dates are written, or nil

	seen seen
	last seen // what the last cell was, which the next may be, too
	fits *formFits

	lookalike string // how its first cells would be numbers, or ""
}

// A csvPass looks at all rows of a file, to find the types of its columns.
type csvPass struct {
	file   *csvFile
	forms  []*dateForm
	types  map[string]Type
	budget *budget
	keep   bool // the rows, until they can be made columns
	kept   []*csvRows
	rows   int
	quoted bool // all cells so far were
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

// first looks at the first row of the file.
func (p *csvPass) first(b *csvRows) error {
	f := p.file
	if err := f.findHeader(b, p.types, p.forms); err != nil {
		return err
	}
	// to_csv puts quotes around a name only where there could be a delimiter in it.
	p.quoted = allQuoted(b) && slices.ContainsFunc(b.spans, func(sp span) bool {
		return sp.mark == free && sp.end > sp.start && !strings.ContainsAny(b.text[sp.start:sp.end], ",;\t|\ufeff")
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

// allQuoted reports whether each cell with something in it is quoted.
func allQuoted(b *csvRows) bool {
	for _, sp := range b.spans {
		if sp.mark == plain && sp.end > sp.start {
			return false
		}
	}
	return true
}

// look looks at some rows.
func (p *csvPass) look(b *csvRows) (again bool, err error) {
	f := p.file
	if p.quoted {
		p.quoted = allQuoted(b)
	}
	for i, c := range f.columns {
		if c.seen&seenText == 0 && (p.quoted || c.seen&seenFree == 0) || c.fits.some() {
			c.look(f, b, i)
		}
		if c.forced && c.typ != Text && c.fits == nil { // whether it fits is said now, and not when the table is used
			if err := f.convertColumn(c, b, i, &Column{Type: c.typ}); err != nil {
				return false, err
			}
		}
	}
	if p.rows < batchRows/2 { // the first batch, whose rows come after the very first
		f.lookAlikes(b)
	}
	p.rows += len(b.lines)
	if p.keep {
		const room = 12 // of a span
		p.keep = p.budget.take(int64(len(b.spans)*room)) == nil
		p.kept = append(p.kept, b)
	}
	if !p.keep {
		p.kept = nil
	}
	return !p.keep, nil
}

// look notes what the cells of the column are.
func (c *csvColumn) look(f *csvFile, b *csvRows, column int) {
	usual := f.numbers.usual && c.fits == nil && f.missing == nil
	for k := column; k < len(b.spans); k += b.width {
		sp := b.spans[k]
		s := b.text[sp.start:sp.end]
		if usual && (sp.mark == plain || sp.mark == free && c.seen&seenFree != 0) && c.same(s) {
			continue
		}
		c.lookAt(f, b, sp)
	}
}

// same reports whether a cell is what the one before was, for what that can be
// told quickly.
func (c *csvColumn) same(s string) bool {
	if s == "" {
		return true
	}
	ok := false
	switch c.last {
	case seenText:
		return true
	case seenInteger:
		_, ok = parseInteger(s)
	case seenFloat:
		ok = quickFloat(s)
	case seenDate:
		_, ok = parseDate(s)
	case seenDateTime:
		var zoned bool
		_, zoned, ok = parseDateTime(s)
		ok = ok && !zoned
	}
	return ok
}

// quickFloat reports whether a cell is digits with a point between them.
func quickFloat(s string) bool {
	if s[0] == '-' {
		s = s[1:]
	}
	before := countDigits(s)
	if before == 0 || before > 1 && s[0] == '0' || before == len(s) || s[before] != '.' || before > 300 {
		return false
	}
	return before+1+countDigits(s[before+1:]) == len(s)
}

// lookAt notes what a cell is.
func (c *csvColumn) lookAt(f *csvFile, b *csvRows, sp span) {
	s := b.cell(sp, f.quote)
	trimmed := trimSpaces(s)
	if trimmed == "" || f.missing[s] {
		return
	}
	if sp.mark == free {
		c.seen |= seenFree
	}
	if f.missing == nil && isWord(s) {
		c.seen |= seenWord
		return
	}
	if c.fits.some() {
		c.fits.look(trimmed)
	}
	if c.seen&seenText != 0 {
		return
	}
	c.last = f.numbers.kindOf(trimmed)
	c.seen |= c.last
}

// settle decides the type of the column from all that was seen. It returns a note
// where that needs one.
func (c *csvColumn) settle(quoted bool) (note string) {
	if !quoted && c.seen&seenFree != 0 {
		c.seen |= seenText
	}
	values := c.seen &^ (seenWord | seenFree)
	found := Text
	switch values {
	case seenInteger:
		found = Integer
	case seenFloat, seenFloat | seenInteger:
		found = Float
	case seenBool:
		found = Bool
	case seenDate:
		found = Date
	case seenDateTime, seenDateTime | seenDate:
		found = DateTime
	case seenInstant:
		found = Instant
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
	c.words = c.typ != Text || values == 0
	if ambiguous != "" && c.typ == Text && !c.forced {
		return fmt.Sprintf("column %s is text, since its dates fit %s", quoteCut(c.name), ambiguous)
	}
	if c.lookalike != "" && c.typ == Text && !c.forced {
		return fmt.Sprintf("column %s is text, whose first values are numbers with %s", quoteCut(c.name), c.lookalike)
	}
	return ""
}

// convert makes columns of rows.
func (f *csvFile) convert(b *csvRows) (*Batch, error) {
	made := &Batch{Rows: len(b.lines), Columns: make([]*Column, len(f.columns))}
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

func (f *csvFile) convertColumn(c *csvColumn, b *csvRows, column int, d *Column) error {
	n := len(b.lines)
	switch c.typ {
	case Text:
		d.Texts = make([]string, n)
	case Float:
		d.Floats = make([]float64, n)
	default:
		d.Ints = make([]int64, n)
	}
	usual := f.numbers.usual && f.missing == nil && c.form == nil
	for row, k := 0, column; k < len(b.spans); row, k = row+1, k+b.width {
		sp := b.spans[k]
		s := b.text[sp.start:sp.end]
		ok := false
		if usual && len(s) > 0 {
			switch c.typ {
			case Text:
				if ok = sp.mark != doubled && s[0] != ' ' && !c.words; ok {
					d.Texts[row] = s
				}
			case Integer:
				d.Ints[row], ok = parseInteger(s)
			case Float:
				if s[0] != 'N' { // NaN stands for a missing value, unless others are said
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
		if !ok && !f.convertCell(c, b.cell(sp, f.quote), sp.mark, d, row) {
			return f.misfit(c, b.cell(sp, f.quote), b.lines[row], column)
		}
	}
	return nil
}

// convertCell sets a value of a column by a cell of any form; ok says that it
// fits.
func (f *csvFile) convertCell(c *csvColumn, s string, m mark, d *Column, row int) (ok bool) {
	trimmed := trimSpaces(s)
	switch {
	case f.missing[s], trimmed == "" && (m == plain || c.typ != Text), f.missing == nil && c.words && isWord(s):
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

// parse reads a value that is kept as an integer.
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

// misfit is the error for a cell that is not of the type that was said.
func (f *csvFile) misfit(c *csvColumn, s string, line, column int) error {
	if !c.forced {
		return f.in.changed()
	}
	err := value.Errorf(value.Failed, "%s, line %d, column %s (%d): %s is not of type %s", f.in.name, line, quoteCut(c.name), column+1, quoteCut(s), c.typ)
	return err.WithHint(`read the column as text, with types = {%q: "text"}, or say what stands for a missing value: missing = [%q]`, c.name, string(wholeRunes([]byte(s[:min(len(s), 60)]))))
}

// formFits are the forms of dates that all values of a column fit so far.
type formFits struct {
	forms  []*dateForm
	alive  uint16
	differ [maxForms]uint16 // by form, the others that once read another value
	any    bool
}

func (s *formFits) some() bool { return s != nil && s.alive != 0 }

// look tries a value.
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

// choose returns the one form that all values fit, or those that read them as
// different values: none of them is guessed to be meant.
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
	return nil, fmt.Sprintf("%s alike", someNames(slices.Compact(texts)))
}
