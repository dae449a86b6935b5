package table

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// readJSON reads a list of objects (records), a list of lists (rows), a list of
// plain values (one column), an object of equally long lists (columns), or an
// object in which exactly one member is a list of objects (those).
//
// The text is read twice: to find out the columns and their types, and for the
// rows. A large file is so a table that is read again whenever it is looked at;
// only the columns of an object are held, whatever they take.
func readJSON(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	if o.skip > 0 {
		return nil, value.Errorf(value.Invalid, "%s: lines of JSON cannot be passed over", in.name).WithHint("leave skip out")
	}
	r := &jsonReader{in: in, o: o}
	s, err := r.open(ctx, g)
	if err != nil {
		return nil, err
	}
	switch c, err := s.peek(); {
	case err != nil:
		return nil, err
	case c == '{':
		members, err := surveyMembers(s)
		if err != nil {
			return nil, err
		}
		if err := r.endOf(s); err != nil {
			return nil, err
		}
		if allColumns(members) {
			return r.readColumns(ctx, g, members)
		}
		if err := r.findRecords(members); err != nil {
			return nil, err
		}
	case c != '[':
		return nil, r.shapeError(s)
	}
	return r.table(ctx, g)
}

// readJSONLines reads one JSON value a line: objects, or lists. Blank lines are
// passed over.
func readJSONLines(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	r := &jsonReader{in: in, o: o, lines: true}
	return r.table(ctx, g)
}

// A jsonReader reads the records of an input.
type jsonReader struct {
	in     *input
	o      *readOptions
	lines  bool   // one a line
	member string // they are in this member of an object,
	within bool   // if so

	kind    recordKind // of all records
	names   []string
	places  map[string]int // of the names
	columns []kindSet
	types   []Type
	headed  bool // the first record has the names
	rows    int
	notes   []string
}

// A recordKind is what the records are.
type recordKind uint8

const (
	anObject recordKind = iota + 1
	aList
	aValue
)

var recordKinds = [...]string{anObject: "an object", aList: "a list", aValue: "a plain value"}

func kindOfRecord(v value.Value) recordKind {
	switch v.(type) {
	case *value.Dict:
		return anObject
	case value.List:
		return aList
	}
	return aValue
}

// A record is one of the records, counted from 1.
type record struct {
	n     int
	line  int
	size  int // in bytes
	value value.Value
}

// open begins to read the input from its start.
func (r *jsonReader) open(ctx context.Context, g tool.Grant) (*jsonScanner, error) {
	p, err := r.in.open(ctx, g)
	if err != nil {
		return nil, err
	}
	return newJSONScanner(r.in.name, r.o.encoding, p.Next)
}

// shapeError says what is read.
func (r *jsonReader) shapeError(s *jsonScanner) error {
	_, v, err := s.value()
	if err != nil {
		return err
	}
	return value.Errorf(value.Invalid, "%s: %s is no table", r.in.name, value.TypeOf(v)).WithHint("%s", shapesRead)
}

const shapesRead = "these are read: a list of objects, a list of lists, a list of plain values, an object of equally long lists, " +
	"and an object with exactly one list of objects in it; of JSON, json.decode reads the rest"

// endOf fails where something follows the value.
func (r *jsonReader) endOf(s *jsonScanner) error {
	c, err := s.peek()
	if err != nil || c == 0 && s.at >= len(s.buf) {
		return err
	}
	e := value.ErrorOf(s.unexpected("the end"), value.Invalid)
	if c == '{' || c == '[' {
		return e.WithHint("if there is a value on each line, say format = %q", formatLines)
	}
	return e
}

// each calls f with each record.
func (r *jsonReader) each(ctx context.Context, g tool.Grant, f func(record) error) error {
	s, err := r.open(ctx, g)
	if err != nil {
		return err
	}
	rec := record{}
	read := func(raw []byte) error {
		rec.n++
		if rec.n%batchRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := s.parse(raw)
		if err != nil {
			return err
		}
		rec.line, rec.size, rec.value = s.line+1, len(raw), v
		return f(rec)
	}
	if r.lines {
		return r.eachLine(s, read)
	}
	list := func() error {
		return s.list(func() error {
			raw, err := s.element()
			if err == nil {
				err = read(raw)
			}
			if err == nil {
				s.step(len(raw))
			}
			return err
		})
	}
	if !r.within {
		err = list()
	} else {
		err = s.object(func(name string) error {
			if name == r.member {
				return list()
			}
			raw, err := s.element()
			if err == nil {
				s.step(len(raw))
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	return r.endOf(s)
}

func (r *jsonReader) eachLine(s *jsonScanner, read func([]byte) error) error {
	for {
		raw, more, err := s.lineText()
		if err != nil || !more {
			return err
		}
		last := s.at+len(raw) == len(s.buf)
		if len(bytes.TrimSpace(raw)) > 0 && s.line >= r.o.skip {
			if err := read(raw); err != nil {
				if e := value.ErrorOf(err, value.Invalid); last && e.Kind == value.Invalid && e.Hint == "" && !bytes.HasSuffix(bytes.TrimSpace(raw), []byte("}")) {
					return e.WithHint("it is the last line, and seems to be cut off")
				}
				return err
			}
		}
		if !last {
			s.step(len(raw) + 1)
			continue
		}
		s.step(len(raw))
	}
}

// at names a record in errors.
func (r *jsonReader) at(rec record) string {
	if r.lines {
		return fmt.Sprintf("%s, line %d", r.in.name, rec.line)
	}
	return fmt.Sprintf("%s, record %d (line %d)", r.in.name, rec.n, rec.line)
}

// table reads the records twice. What is held is mostly read in one go, by the types
// that the first records have.
func (r *jsonReader) table(ctx context.Context, g tool.Grant) (*Table, error) {
	if r.in.held != nil {
		return r.heldTable(ctx, g)
	}
	if err := r.each(ctx, g, r.survey); err != nil {
		return nil, err
	}
	var err error
	if r.types, err = r.o.typesOfColumns(r.names, r.columns); err != nil {
		return nil, err
	}
	return newStream(r.names, r.types, r.rows, r.scan, r.notes...), nil
}

func (r *jsonReader) heldTable(ctx context.Context, g tool.Grant) (*Table, error) {
	const first = 1000 // records, whose types are mostly those of all
	guess := *r
	err := guess.each(ctx, g, func(rec record) error {
		if rec.n > first {
			return errStop
		}
		return guess.survey(rec)
	})
	if err != nil && err != errStop {
		return nil, err
	}
	types, err := r.o.typesOfColumns(guess.names, guess.columns)
	f := &filling{r: r, types: types, fits: err == nil, all: newBatch(types), batch: newBatch(types), budget: newBudget(g)}
	if err := r.each(ctx, g, f.add); err != nil {
		return nil, err
	}
	if r.types, err = r.o.typesOfColumns(r.names, r.columns); err != nil {
		return nil, err
	}
	if f.fits && slices.Equal(r.types, types) {
		if err := f.flush(); err != nil {
			return nil, err
		}
		return newHeld(r.names, f.all, r.notes...), nil
	}
	return newStream(r.names, r.types, r.rows, r.scan, r.notes...).hold(ctx, g)
}

// A filling surveys records and fills columns of guessed types, while they fit.
type filling struct {
	r          *jsonReader
	types      []Type
	fits       bool
	all, batch *Batch
	budget     *budget
}

func (f *filling) add(rec record) error {
	if err := f.r.survey(rec); err != nil {
		return err
	}
	f.fits = f.fits && len(f.r.names) == len(f.types)
	if !f.fits || f.r.headed && rec.n == 1 {
		return nil
	}
	if f.fits = f.r.fill(f.batch, rec) == nil; f.fits && f.batch.Rows == rowsPerBatch(len(f.types)) {
		return f.flush()
	}
	return nil
}

func (f *filling) flush() error {
	if err := f.budget.take(f.batch.size()); err != nil {
		return err
	}
	f.all.extend(f.batch)
	f.batch = newBatch(f.types)
	return nil
}

// survey notes the columns of a record and the kinds of their values.
func (r *jsonReader) survey(rec record) error {
	kind := kindOfRecord(rec.value)
	if r.kind == 0 {
		r.places = map[string]int{}
		if r.lines && kind == aValue {
			return value.Errorf(value.Invalid, "%s is %s, and should be an object or a list", r.at(rec), value.TypeOf(rec.value))
		}
		r.kind = kind
		if header, err := r.begin(rec); header || err != nil {
			return err
		}
	}
	if kind != r.kind {
		return value.Errorf(value.Invalid, "%s is %s, where the ones before are each %s", r.at(rec), recordKinds[kind], recordKinds[r.kind])
	}
	r.rows++
	if r.kind == anObject {
		return r.surveyObject(rec)
	}
	cells, err := r.cells(rec)
	for i, v := range cells {
		r.columns[i].add(v)
	}
	return err
}

// begin takes the columns of lists and plain values from the first record, and
// reports whether that is the header.
func (r *jsonReader) begin(rec record) (isHeader bool, err error) {
	width := 1
	switch r.kind {
	case anObject:
		return false, nil
	case aValue:
		r.names = []string{"value"}
	case aList:
		items, _ := value.Elements(rec.value)
		texts := make([]string, 0, len(items))
		for _, v := range items {
			if s, ok := v.(string); ok {
				texts = append(texts, s)
			}
		}
		r.headed = len(items) > 0 && len(texts) == len(items)
		if r.o.header != nil {
			if *r.o.header && !r.headed {
				return false, value.Errorf(value.Invalid, "%s is no header: not all of its values are texts", r.at(rec)).WithHint("say header = False")
			}
			r.headed = *r.o.header
		}
		if !r.headed {
			texts = nil
		}
		width = len(items)
		given := make([]string, width)
		for i, s := range texts {
			given[i] = headerName(s)
		}
		var notes []string
		r.names, notes = uniqueNames(given)
		r.notes = append(r.notes, notes...)
	}
	if width > maxJSONColumns {
		return false, r.tooWide(rec)
	}
	r.columns = make([]kindSet, width)
	return r.headed, nil
}

// maxJSONColumns is how many columns records may have: more are not a table, but
// records with keys of their own each.
const maxJSONColumns = 100_000

func (r *jsonReader) tooWide(rec record) error {
	return overMemory("%s: with it there are more than %d columns", r.at(rec), maxJSONColumns).
		WithHint("read it with json.decode")
}

func (r *jsonReader) surveyObject(rec record) error {
	i := -1
	for k, v := range rec.value.(*value.Dict).All() {
		name, _ := k.(string)
		at, ok := r.place(name, i+1)
		if !ok {
			at = len(r.names)
			if at == maxJSONColumns {
				return r.tooWide(rec)
			}
			r.places[name] = at
			r.names, r.columns = append(r.names, name), append(r.columns, 0)
		}
		i = at
		r.columns[at].add(r.present(v))
	}
	return nil
}

// place returns the column of a name. It is mostly the one after the last.
func (r *jsonReader) place(name string, likely int) (int, bool) {
	if likely < len(r.names) && r.names[likely] == name {
		return likely, true
	}
	at, ok := r.places[name]
	return at, ok
}

// present is nil for a text that stands for a missing value.
func (r *jsonReader) present(v value.Value) value.Value {
	if s, ok := v.(string); ok && slices.Contains(r.o.missing, s) {
		return nil
	}
	return v
}

// cells are the values of a record that is a list or a plain value.
func (r *jsonReader) cells(rec record) ([]value.Value, error) {
	items := []value.Value{rec.value}
	if r.kind == aList {
		items, _ = value.Elements(rec.value)
		if len(items) > len(r.names) || len(items) < len(r.names) && !r.o.fill {
			e := value.Errorf(value.Invalid, "%s has %s, and should have %d", r.at(rec), counted(len(items), "value"), len(r.names))
			if len(items) < len(r.names) {
				return nil, e.WithHint("fill = True fills short rows with missing values")
			}
			return nil, e
		}
	}
	if len(r.o.missing) > 0 {
		items = slices.Clone(items)
		for i, v := range items {
			items[i] = r.present(v)
		}
	}
	return items, nil
}

// scan reads the rows.
func (r *jsonReader) scan(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	const mostBytes = 4 << 20 // of a batch: a record may be long
	most, bytes := rowsPerBatch(len(r.types)), 0
	b := newBatch(r.types)
	err := r.each(ctx, g, func(rec record) error {
		if r.headed && rec.n == 1 {
			return nil
		}
		if kindOfRecord(rec.value) != r.kind {
			return r.in.changed()
		}
		if err := r.fill(b, rec); err != nil {
			return err
		}
		if bytes += rec.size; b.Rows < most && bytes < mostBytes {
			return nil
		}
		full := b
		b, bytes = newBatch(r.types), 0
		return yield(full)
	})
	if err != nil || b.Rows == 0 {
		return err
	}
	return yield(b)
}

// fill appends a record to a batch.
func (r *jsonReader) fill(b *Batch, rec record) error {
	if r.kind == anObject {
		i := -1
		for k, v := range rec.value.(*value.Dict).All() {
			name, _ := k.(string)
			at, ok := r.place(name, i+1)
			if !ok {
				return r.in.changed()
			}
			i = at
			if err := b.Columns[at].addRead(r.present(v)); err != nil {
				return r.misfit(rec, at, err)
			}
		}
	} else {
		cells, err := r.cells(rec)
		if err != nil {
			return err
		}
		for i, v := range cells {
			if err := b.Columns[i].addRead(v); err != nil {
				return r.misfit(rec, i, err)
			}
		}
	}
	b.Rows++
	for _, c := range b.Columns {
		if c.Len() < b.Rows {
			c.addMissing()
		}
	}
	return nil
}

func (r *jsonReader) misfit(rec record, column int, err error) error {
	return value.Errorf(value.Invalid, "%s, column %q: %s", r.at(rec), cut(r.names[column]), value.ErrorOf(err, value.Invalid).Message())
}

func formatCount(n int) string { return strconv.Itoa(n) }
