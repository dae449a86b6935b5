package table

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A csvFile is a CSV file, and what is known of it.
type csvFile struct {
	in       *input
	encoding string
	mark     int  // bytes of the byte order mark
	guessed  bool // that it is UTF-8
	delimiter,
	quote string
	skip    int
	fill    bool
	header  *bool // whether the first row names the columns; nil until it is known
	numbers numbers
	missing map[string]bool // what stands for a missing value in every column; nil: the rule
	columns []*csvColumn
	wanted  []bool // of the columns, those that are converted; nil: all

	filled, firstFilled int // rows that were, and the line of the first
	notes               []string
}

// readCSV reads a CSV file. It looks at all of it once, to find the types of the
// columns; a small one is then held, and a large one read again for each scan.
func readCSV(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	p, err := in.open(ctx, g)
	if err != nil {
		return nil, err
	}
	t, err := findCSV(ctx, g, p, o, "")
	if err == errNotUTF8 {
		p.at = 0
		return findCSV(ctx, g, p, o, windowsEncoding)
	}
	return t, err
}

// findCSV finds out all about a file. encoding is "", or what it must be.
func findCSV(ctx context.Context, g tool.Grant, p *parts, o *readOptions, encoding string) (*Table, error) {
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
	} else if err := f.findEncoding(p, o.encoding); err != nil {
		return nil, err
	}
	pass := &csvPass{file: f, forms: forms, types: o.types, budget: newBudget(g), keep: p.in.held != nil}
	if err := pass.run(ctx, p); err != nil {
		return nil, err
	}
	return pass.table()
}

// newCSVFile checks what was said about a file.
func newCSVFile(in *input, o *readOptions) (*csvFile, error) {
	f := &csvFile{in: in, delimiter: o.delimiter, quote: o.quote, skip: o.skip, fill: o.fill, header: o.header}
	if f.delimiter != "" && !oneCharacter(f.delimiter) {
		return nil, value.Errorf(value.Invalid, "argument 'delimiter' should be one character, and no line break").WithHint(`as in delimiter = ";" or "\t"`)
	}
	if f.quote != "" && (!oneCharacter(f.quote) || f.quote == f.delimiter) {
		return nil, errQuote()
	}
	if f.skip < 0 {
		return nil, value.Errorf(value.Invalid, "argument 'skip' should not be negative")
	}
	if o.missing != nil {
		f.missing = make(map[string]bool, len(o.missing))
		for _, s := range o.missing {
			f.missing[s] = true
		}
	}
	var err error
	f.numbers, err = newNumbers(o.thousands, o.decimal, o.percent)
	return f, err
}

func errQuote() error {
	return value.Errorf(value.Invalid, "argument 'quote' should be one character, which is no line break and not the delimiter").
		WithHint(`as in quote = "'", or "" for none`)
}

// oneCharacter reports whether s can be a delimiter or a quote.
func oneCharacter(s string) bool {
	runes := []rune(s)
	return len(runes) == 1 && runes[0] != '\n' && runes[0] != '\r' && runes[0] != 0 && runes[0] != '\ufffd' && runes[0] != '\ufeff'
}

// scanner begins to read the file.
func (f *csvFile) scanner(p *parts) *scanner {
	return &scanner{name: f.in.name, guessed: f.guessed, line: 1, source: newSource(p, f.encoding, f.mark)}
}

// scan reads the rows of the file: first the first one alone, then the others in
// batches. A batch that was yielded is used again if again says so.
func (f *csvFile) scan(p *parts, first func(*csvRows) error, yield func(*csvRows) (again bool, err error)) error {
	s := f.scanner(p)
	if err := s.more(); err != nil {
		return err
	}
	if err := s.skipLines(f.skip); err != nil {
		return err
	}
	if f.delimiter == "" {
		if err := s.firstLine(); err != nil {
			return err
		}
		f.findDelimiter(s)
		if f.delimiter == f.quote {
			return errQuote()
		}
	}
	s.begin(f.delimiter, f.quote)
	head := &csvRows{}
	if err := f.next(s, head, 1); err != nil {
		if err == io.EOF {
			return value.Errorf(value.Failed, "%s is empty: a table has at least a row that names its columns", f.in.name)
		}
		return err
	}
	head.width = len(head.spans)
	if err := first(head); err != nil {
		return err
	}
	b := &csvRows{}
	for {
		b.width, b.spans, b.lines = head.width, b.spans[:0], b.lines[:0]
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
			b = &csvRows{}
		}
	}
}

// next reads at least one row, and at most as many as are asked for; io.EOF says
// that there is none.
func (f *csvFile) next(s *scanner, b *csvRows, most int) error {
	const room = 1 << 17 // cells in a batch: a wide table has fewer rows in one
	for {
		for len(b.lines) < most && len(b.spans) < room {
			before := len(b.spans)
			ok, err := s.row(b)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			b.text = s.text
			if n := len(b.spans) - before; n != b.width && b.width > 0 {
				if err := f.ragged(s, b, n); err != nil {
					return err
				}
			}
		}
		switch {
		case len(b.lines) > 0:
			return nil
		case s.ended:
			return io.EOF
		}
		if err := s.more(); err != nil {
			return err
		}
	}
}

// ragged fills the last row, which is not as long as it should be, or fails.
func (f *csvFile) ragged(s *scanner, b *csvRows, n int) error {
	last, first := len(b.lines)-1, len(b.spans)-n
	line := b.lines[last]
	if n == 1 && b.spans[first].mark == plain && blank(b.cell(b.spans[first], f.quote)) {
		b.spans, b.lines = b.spans[:first], b.lines[:last] // a line of spaces is as good as an empty one
		return nil
	}
	if n < b.width && f.fill {
		if f.filled++; f.filled == 1 {
			f.firstFilled = line
		}
		for range b.width - n {
			b.spans = append(b.spans, span{})
		}
		return nil
	}
	whose := "the header has"
	if f.header != nil && !*f.header {
		whose = "the first row has"
	}
	err := s.fail(line, "the row has %s where %s %d", counted(n, "cell"), whose, b.width)
	if n < b.width {
		return err.WithHint("mend the row, or read the file with fill = True, which fills short rows with missing values")
	}
	return err.WithHint("mend the row, put quotes around a cell that holds the delimiter %q, or say another delimiter", f.delimiter)
}

// blank reports whether a text has nothing but spaces.
func blank(s string) bool { return trimSpaces(s) == "" }

// trimSpaces is [strings.Trim] of spaces, for the many cells that have none.
func trimSpaces(s string) string {
	if s == "" || s[0] != ' ' && s[len(s)-1] != ' ' {
		return s
	}
	return strings.Trim(s, " ")
}

// table makes the table of what a pass has found.
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

// held makes a table of the rows that were kept; where they take too much memory
// as columns, of the bytes of the file.
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

// stream returns the table of a file that is read whenever it is looked at.
func (f *csvFile) stream(names []string, types []Type, rows int, notes []string) *Table {
	t := newStream(names, types, rows, f.read, notes...)
	t.part = func(places []int) Scan {
		part := *f
		part.wanted = make([]bool, len(names))
		for _, at := range places {
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
	one := *f // scans may run side by side, and count the rows they fill
	convert := func(b *csvRows) error {
		made, err := one.convert(b)
		if err != nil {
			return err
		}
		return yield(made)
	}
	return one.scan(p, func(b *csvRows) error {
		if *one.header {
			return nil
		}
		return convert(b)
	}, func(b *csvRows) (bool, error) { return true, convert(b) })
}

// allNotes are the notes of a table.
func (f *csvFile) allNotes() []string {
	notes := f.notes
	if f.skip > 0 {
		notes = append(notes, counted(f.skip, "line")+" skipped")
	}
	if f.filled > 0 {
		were := "were"
		if f.filled == 1 {
			were = "was"
		}
		notes = append(notes, fmt.Sprintf("%s %s short and filled with missing values, the first in line %d", counted(f.filled, "row"), were, f.firstFilled))
	}
	return notes
}
