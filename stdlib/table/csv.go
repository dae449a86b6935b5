package table

import (
	"context"
	"fmt"
	"io"
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
	delimiter,
	quote string
	skip    int
	fill    bool
	header  *bool // whether the first row names the columns; nil until it is detected
	numbers numbers
	missing map[string]bool // the texts that mean a missing value in every column; nil: the default ones
	columns []*csvColumn
	width   int    // the cells of each row; 0 before the first one
	wanted  []bool // the columns to convert; nil: all

	filled, firstFilled int // the number of filled rows, and the line of the first
	notes               []string
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
	mostly, err := mostlyUTF8(in.name, p.Next)
	if err != nil {
		return nil, err
	}
	p.at = 0
	if mostly {
		return inferCSV(ctx, g, p, o, utf8Encoding)
	}
	return inferCSV(ctx, g, p, o, windowsEncoding)
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
		f.encoding = encoding
		f.noteEncoding()
		if encoding == utf8Encoding {
			f.bad = &badBytes{}
		}
	} else if err := f.findEncoding(p, o.encoding); err != nil {
		return nil, err
	}
	pass := &csvPass{file: f, forms: forms, types: o.types, budget: newBudget(g), keep: p.in.held != nil}
	if err := pass.run(ctx, p); err != nil {
		return nil, err
	}
	return pass.table()
}

// newCSVFile returns a file with the options, which it checks.
func newCSVFile(in *input, o *readOptions) (*csvFile, error) {
	f := &csvFile{in: in, delimiter: o.delimiter, quote: o.quote, skip: o.skip, fill: o.fill, header: o.header}
	if f.delimiter != "" && !oneCharacter(f.delimiter) {
		return nil, value.Errorf(value.Invalid, "argument 'delimiter' should be one character other than a line break").WithHint(`in a script, for example delimiter = ";" or "\t"`)
	}
	if f.quote != "" && (!oneCharacter(f.quote) || f.quote == f.delimiter) {
		return nil, errQuote()
	}
	if f.skip < 0 {
		return nil, value.Errorf(value.Invalid, "argument 'skip' should not be negative")
	}
	if o.missing != nil {
		f.missing = setOf(o.missing)
	}
	var err error
	f.numbers, err = newNumbers(o.thousands, o.decimal, o.percent)
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
	text.skip, text.guessed, text.bad = f.mark, f.guessed, f.bad
	s := csv.New(f.in.name, maxCells, text.checked)
	if err := s.More(); err != nil {
		return err
	}
	if err := s.SkipLines(f.skip); err != nil {
		return err
	}
	if f.delimiter == "" {
		if err := s.FirstLine(); err != nil {
			return err
		}
		f.findDelimiter(s)
		if f.delimiter == f.quote {
			return errQuote()
		}
	}
	s.Begin(f.delimiter, f.quote)
	head := &csv.Rows{}
	f.width = 0
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
				return err
			}
			if !ok {
				break
			}
			if n := len(b.Spans) - before; n != f.width && f.width > 0 {
				if err := f.ragged(s, b, n); err != nil {
					return err
				}
			}
		}
		switch {
		case len(b.Lines) > 0:
			return nil
		case s.Ended():
			return io.EOF
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
	if n == 1 && b.Spans[first].Mark == csv.Plain && blank(b.Cell(b.Spans[first], f.quote)) {
		b.Spans, b.Lines = b.Spans[:first], b.Lines[:last] // a line of spaces counts as blank
		return nil
	}
	if n < f.width && f.fill {
		if f.filled++; f.filled == 1 {
			f.firstFilled = line
		}
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
	if n < f.width {
		return err.WithHint("fix the row, or set fill to true to fill short rows with missing values")
	}
	return err.WithHint("fix the row, put quotes around cells with the delimiter %q, or set another delimiter", f.delimiter)
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
	return newHeld(names, all, notes...), nil
}

// stream returns a table that reads the file on demand.
func (f *csvFile) stream(names []string, types []Type, rows int, notes []string) *Table {
	t := newStream(names, types, rows, f.read, notes...)
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
	notes := f.notes
	if note := f.bad.note(); note != "" {
		notes = append(notes, note)
	}
	if f.skip > 0 {
		notes = append(notes, counted(f.skip, "line")+" skipped")
	}
	if f.filled > 0 {
		were := "were"
		if f.filled == 1 {
			were = "was"
		}
		notes = append(notes, fmt.Sprintf("%s %s short, the first on line %d: filled with missing values", counted(f.filled, "row"), were, f.firstFilled))
	}
	return notes
}
