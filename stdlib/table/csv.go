package table

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// A csvFile is a CSV file with its specified and detected properties.
type csvFile struct {
	in       *input
	encoding string
	mark     int  // bytes of the byte order mark
	guessed  bool // the encoding UTF-8 is a guess
	bad      *badBytes
	dialect  csv.Dialect
	detected bool // the dialect is known
	skip     int
	titled   bool  // skip is known
	spaced   *bool // whether spaces around cells are skipped; nil until it is detected
	fill     bool
	lenient  bool
	rejects  *rejects // nil: the rejected rows are known
	header   *bool    // whether the first row names the columns; nil until it is detected
	numbers  numbers
	formless bool            // the format of numbers was not specified
	missing  map[string]bool // the texts that mean a missing value in every column; nil: the default ones
	columns  []*csvColumn
	width    int    // the cells of each row; 0 before the first one
	fresh    bool   // no rows were read after the first one
	wanted   []bool // the columns to convert; nil: all

	filled, trailing lineCount // rows that were filled, and rows with empty cells beyond the header
	notes            []string
}

// A lineCount counts rows, and has the line of the first.
type lineCount struct{ n, first int }

func (c *lineCount) add(line int) {
	if c.n++; c.n == 1 {
		c.first = line
	}
}

// note says how the rows were and what was done, if there are any.
func (c *lineCount) note(how, what string) []string {
	were := "were"
	switch c.n {
	case 0:
		return nil
	case 1:
		were = "was"
	}
	return []string{fmt.Sprintf("%s %s %s, the first on line %d: %s", counted(c.n, "row"), were, how, c.first, what)}
}

// readCSV reads a CSV file. It first reads the entire file to infer the types of the
// columns. A small file is then held in memory, and a large one is read again for each
// scan.
func readCSV(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	p, err := in.open(ctx, g)
	if err != nil {
		return nil, err
	}
	t, err := inferCSV(ctx, g, p, o, "")
	if err != errNotUTF8 {
		return t, err
	}
	p.at = 0
	encoding, err := guessEncoding(in.name, p.Next)
	if err != nil {
		return nil, err
	}
	p.at = 0
	return inferCSV(ctx, g, p, o, encoding)
}

// inferCSV infers the properties of a file and returns its table. encoding is the
// encoding, or "" to detect it; bytes that are not UTF-8 are replaced if it is UTF-8.
func inferCSV(ctx context.Context, g tool.Grant, p *parts, o *readOptions, encoding string) (*Table, error) {
	f, err := newCSVFile(p.in, o)
	if err != nil {
		return nil, err
	}
	forms, err := parseDateForms(o.dates)
	if err != nil {
		return nil, err
	}
	if encoding != "" {
		f.encoding, f.bad = encoding, &badBytes{}
		if encoding != utf8Encoding {
			other := windowsEncoding
			if encoding == other {
				other = "windows-1251"
			}
			f.notes = append(f.notes, fmt.Sprintf("encoding %s (guessed): if it is another, pass it, as in encoding = %q", encoding, other))
		}
	} else if err := f.findEncoding(p, o.encoding); err != nil {
		return nil, err
	}
	if f.lenient && f.bad == nil {
		f.bad = &badBytes{}
	}
	pass := &csvPass{file: f, forms: forms, types: o.types, budget: newBudget(g), keep: p.in.held != nil}
	if err := pass.run(ctx, p); err != nil {
		return nil, err
	}
	return pass.table()
}

// newCSVFile returns a file with the options, which it checks.
func newCSVFile(in *input, o *readOptions) (*csvFile, error) {
	f := &csvFile{in: in, dialect: csv.Dialect{Delimiter: o.delimiter, Quote: o.quote, Escape: o.escape, Comment: o.comment},
		skip: o.skip, titled: o.skips || o.skip > 0, spaced: o.trim, fill: o.fill, lenient: o.lenient, rejects: &rejects{}, header: o.header}
	if o.delimiter != "" && !oneCharacter(o.delimiter) {
		return nil, value.Errorf(value.Invalid, "argument 'delimiter' should be one character other than a line break").WithHint(`in a script, for example delimiter = ";" or "\t"`)
	}
	if o.quote != "" && (!oneCharacter(o.quote) || o.quote == o.delimiter) {
		return nil, errQuote()
	}
	if o.escape != "" && (len(o.escape) != 1 || !oneCharacter(o.escape) || o.escape == o.delimiter || o.escape == o.quote) {
		return nil, value.Errorf(value.Invalid, "argument 'escape' should be one ASCII character other than a line break, the delimiter or the quote").WithHint(`for example, set escape to "\\"`)
	}
	const longest = 16 // bytes
	if len(o.comment) > longest || strings.ContainsAny(o.comment, "\r\n\x00") {
		return nil, value.Errorf(value.Invalid, "argument 'comment' should be the few characters at the beginning of a comment").WithHint(`for example, set comment to "#"`)
	}
	if f.skip < 0 {
		return nil, value.Errorf(value.Invalid, "argument 'skip' should not be negative")
	}
	if o.missing != nil {
		f.missing = setOf(o.missing)
	}
	var err error
	f.numbers, err = o.numberFormat()
	f.formless = o.formless()
	return f, err
}

func errQuote() error {
	return value.Errorf(value.Invalid, "argument 'quote' should be empty or one character other than a line break or the delimiter").
		WithHint(`for example, set quote to "'", or to "" for none`)
}

// oneCharacter reports whether s can be a delimiter or a quote.
func oneCharacter(s string) bool {
	runes := []rune(s)
	return len(runes) == 1 && runes[0] != '\n' && runes[0] != '\r' && runes[0] != 0 && runes[0] != '\ufffd' && runes[0] != '\ufeff'
}

// maxCells is the maximum number of cells of a row.
const maxCells = 100_000

// scan reads the rows of the file: first the first row alone, then the others in
// batches. If yield returns again, its batch is reused.
func (f *csvFile) scan(p *parts, first func(*csv.Rows) error, yield func(*csv.Rows) (again bool, err error)) error {
	text := newSource(f.in.name, f.encoding, p.Next)
	text.skip, text.guessed, text.bad, text.lenient = f.mark, f.guessed, f.bad, f.lenient
	s := csv.New(f.in.name, maxCells, text.checked)
	if err := s.More(); err != nil {
		return err
	}
	if err := s.SkipLines(f.skip); err != nil {
		return err
	}
	if !f.detected {
		if err := f.detect(s); err != nil {
			return err
		}
	}
	s.Begin(f.dialect)
	head := &csv.Rows{}
	f.width, f.fresh = 0, true
	if err := f.next(s, head, 1); err != nil {
		if err == io.EOF {
			return value.Errorf(value.Failed, "%s is empty: expected at least a row of column names", f.in.name)
		}
		return err
	}
	f.width = len(head.Spans)
	if err := first(head); err != nil {
		return err
	}
	b := &csv.Rows{}
	for {
		b.Spans, b.Lines = b.Spans[:0], b.Lines[:0]
		err := f.next(s, b, batchRows)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		f.fresh = false
		again, err := yield(b)
		if err != nil {
			return err
		}
		if !again {
			b = &csv.Rows{}
		}
	}
}

// next reads at least one row and at most most rows. It returns io.EOF if there are no
// more.
func (f *csvFile) next(s *csv.Scanner, b *csv.Rows, most int) error {
	const maxBatchCells = 1 << 17 // a batch of a wide table has fewer rows
	for {
		for len(b.Lines) < most && len(b.Spans) < maxBatchCells {
			before := len(b.Spans)
			ok, err := s.Row(b)
			if err != nil {
				if len(b.Lines) > 0 && f.lenient {
					return nil // the error comes again, when no row refers to the text
				}
				if err := f.reject(s, err); err != nil {
					return err
				}
				continue
			}
			if !ok {
				break
			}
			n := len(b.Spans) - before
			if n != f.width && f.width > 0 {
				err = f.ragged(s, b, n)
			}
			if err == nil && f.lenient && f.width > 0 && len(b.Spans) > before {
				err = f.checkForced(b, before)
			}
			if err != nil {
				if !f.lenient {
					return err
				}
				last := len(b.Lines) - 1
				f.rejects.add(f.in.name, b.Lines[last], err, s.Last())
				b.Spans, b.Lines = b.Spans[:before], b.Lines[:last]
			}
		}
		switch {
		case len(b.Lines) > 0:
			return nil
		case s.Ended():
			return io.EOF
		}
		if err := s.Full(); err != nil {
			if err := f.reject(s, err); err != nil {
				return err
			}
			continue
		}
		if err := s.More(); err != nil {
			return err
		}
	}
}

// ragged handles a last row of the wrong length: it fills it with missing values or
// returns an error.
func (f *csvFile) ragged(s *csv.Scanner, b *csv.Rows, n int) error {
	last, first := len(b.Lines)-1, len(b.Spans)-n
	line := b.Lines[last]
	if n == 1 && b.Spans[first].Mark == csv.Plain && blank(b.Cell(b.Spans[first])) {
		b.Spans, b.Lines = b.Spans[:first], b.Lines[:last] // a line of spaces counts as blank
		return nil
	}
	extra := b.Spans[first+min(n, f.width):]
	if n > f.width && !slices.ContainsFunc(extra, func(sp csv.Span) bool { return sp.Mark != csv.Plain || !blank(b.Cell(sp)) }) {
		f.trailing.add(line)
		b.Spans = b.Spans[:first+f.width]
		return nil
	}
	if n < f.width && f.fill {
		f.filled.add(line)
		for range f.width - n {
			b.Spans = append(b.Spans, csv.Span{})
		}
		return nil
	}
	whose := "the header"
	if f.header != nil && !*f.header {
		whose = "the first row"
	}
	err := s.Fail(line, "the row has %s, but %s has %d", counted(n, "cell"), whose, f.width)
	how := fmt.Sprintf("fix the row, put quotes around cells with the delimiter %q, or set another delimiter", f.dialect.Delimiter)
	mark := ""
	for _, usual := range []string{"#", "%", "//", "--"} {
		if strings.HasPrefix(s.Last(), usual) {
			mark = usual
		}
	}
	switch {
	case f.dialect.Comment == "" && mark != "":
		how = fmt.Sprintf("if lines that begin with %s are comments, set comment to %q", mark, mark)
	case b.SpacedQuote(f.dialect.Quote):
		how = "to skip the spaces before quotes, set trim to true"
	case n < f.width:
		how = "fix the row, or set fill to true to fill short rows with missing values"
	case f.fresh && last == 0:
		how = fmt.Sprintf("fix the row; if the table begins on line %d, set skip to %d", line, line-1)
	}
	return err.WithHint("%s; %s", how, orLenient)
}

const orLenient = "to leave such rows out, set lenient to true"

// reject skips a line that cannot be read if the file is read leniently.
func (f *csvFile) reject(s *csv.Scanner, err error) error {
	if f.width == 0 {
		return err
	}
	if !f.lenient {
		e := value.ErrorOf(err, value.Failed)
		return e.WithHint("%s", strings.TrimPrefix(e.Hint+"; "+orLenient, "; "))
	}
	line, text, more := s.Reject()
	f.rejects.add(f.in.name, line, err, text)
	return more
}

// checkForced returns an error if a cell of the last row does not have the type that was
// specified for its column.
func (f *csvFile) checkForced(b *csv.Rows, first int) error {
	for i, c := range f.columns {
		if !c.forced || c.typ == Text || c.fits != nil {
			continue
		}
		sp := b.Spans[first+i]
		d := newColumn(c.typ, 1)
		d.addMissing()
		if !f.convertCell(c, b.Cell(sp), sp.Mark, d, 0) {
			return f.misfit(c, b.Cell(sp), b.Lines[len(b.Lines)-1], i)
		}
	}
	return nil
}

// blank reports whether a text is empty or only spaces.
func blank(s string) bool { return trimSpaces(s) == "" }

// trimSpaces is [strings.Trim] of spaces, optimized for cells without them.
func trimSpaces(s string) string {
	if s == "" || s[0] != ' ' && s[len(s)-1] != ' ' {
		return s
	}
	return strings.Trim(s, " ")
}

// table returns the table of the file after a pass.
func (p *csvPass) table() (*Table, error) {
	f := p.file
	names, types := make([]string, len(f.columns)), make([]Type, len(f.columns))
	for i, c := range f.columns {
		names[i], types[i] = c.name, c.typ
	}
	notes := f.allNotes()
	if p.keep {
		return p.held(names, types, notes)
	}
	return f.stream(names, types, p.rows, notes), nil
}

// held returns a table of the rows that were kept. If their columns take too much
// memory, the table reads the bytes of the file instead.
func (p *csvPass) held(names []string, types []Type, notes []string) (*Table, error) {
	f := p.file
	all := newBatch(types)
	for _, b := range p.kept {
		made, err := f.convert(b)
		if err != nil {
			return nil, err
		}
		if p.budget.take(made.size()) != nil {
			return f.stream(names, types, p.rows, notes), nil
		}
		if len(p.kept) == 1 {
			all = made
			break
		}
		all.extend(made)
	}
	t := newHeld(names, all, notes...)
	t.rejected = f.rejects.table()
	return t, nil
}

// stream returns a table that reads the file on demand.
func (f *csvFile) stream(names []string, types []Type, rows int, notes []string) *Table {
	t := newStream(names, types, rows, f.read, notes...)
	t.rejected = f.rejects.table()
	t.part = func(indexes []int) Scan {
		part := *f
		part.wanted = make([]bool, len(names))
		for _, at := range indexes {
			part.wanted[at] = true
		}
		return part.read
	}
	return t
}

// read is the [Scan] of the file.
func (f *csvFile) read(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	p, err := f.in.open(ctx, g)
	if err != nil {
		return err
	}
	one := *f // scans may run in parallel, and each counts what it changes
	one.rejects = nil
	if f.bad != nil {
		one.bad = &badBytes{}
	}
	convert := func(b *csv.Rows) error {
		made, err := one.convert(b)
		if err != nil {
			return err
		}
		return yield(made)
	}
	return one.scan(p, func(b *csv.Rows) error {
		if *one.header {
			return nil
		}
		return convert(b)
	}, func(b *csv.Rows) (bool, error) { return true, convert(b) })
}

// allNotes returns the notes of the table.
func (f *csvFile) allNotes() []string {
	notes := append(f.notes, f.bad.notes(f.encoding)...)
	if f.skip > 0 && f.titled {
		notes = append(notes, counted(f.skip, "line")+" skipped")
	}
	notes = append(notes, f.filled.note("short", "filled with missing values")...)
	notes = append(notes, f.trailing.note("too long", "the cells beyond the header are empty, and left out")...)
	return append(notes, f.rejects.notes()...)
}
