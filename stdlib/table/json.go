package table

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// readJSON reads a list of objects (records), a list of lists (rows), a list of plain
// values (one column), an object of equally long lists (columns), or an object in which
// exactly one member is a list of objects (records).
//
// The text is read twice: for the columns and their types, and for the rows. So the
// table of a large file is read again for each operation. The columns of an object are
// always held in memory.
func readJSON(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	if o.skip > 0 {
		return nil, value.Errorf(value.Invalid, "%s: argument 'skip' is not supported for JSON", in.name).WithHint("omit skip")
	}
	n, err := o.numberFormat()
	if err != nil {
		return nil, err
	}
	r := &jsonReader{in: in, o: o, numbers: n}
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
		if err := r.expectEnd(s); err != nil {
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

// readJSONLines reads one JSON value per line: objects, or lists. Blank lines are
// skipped.
func readJSONLines(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	n, err := o.numberFormat()
	if err != nil {
		return nil, err
	}
	r := &jsonReader{in: in, o: o, numbers: n, lines: true, rejects: &rejects{}}
	return r.table(ctx, g)
}

// A jsonReader reads the records of an input.
type jsonReader struct {
	numbers numbers // the format of numbers in texts
	in      *input
	o       *readOptions
	lines   bool   // one per line
	member  string // the object member with the records,
	within  bool   // if set

	kind    recordKind // of all records
	names   []string
	indexes map[string]int // of the names in names
	columns []kindSet
	types   []Type
	headed  bool // the first record is the header
	rows    int
	notes   []string
	kept    []record // all records, or nil
	rejects *rejects // nil: the rejected lines are known
}

// A recordKind is the kind of all records of an input.
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

// A record is one record, with its number from 1.
type record struct {
	n     int
	line  int
	size  int // in bytes
	value value.Value
}

// open starts to read the input from its beginning.
func (r *jsonReader) open(ctx context.Context, g tool.Grant) (*jsonScanner, error) {
	p, err := r.in.open(ctx, g)
	if err != nil {
		return nil, err
	}
	return newJSONScanner(r.in.name, r.o.encoding, p.Next)
}

// shapeError returns the error for a value that is not a table.
func (r *jsonReader) shapeError(s *jsonScanner) error {
	_, v, err := s.value()
	if err != nil {
		return err
	}
	return value.Errorf(value.Invalid, "%s: expected a table in JSON but got %s", r.in.name, value.TypeOf(v)).WithHint("%s", shapesRead)
}

const shapesRead = "use a list of objects, a list of lists, a list of plain values, an object of equally long lists, " +
	"or an object with exactly one list of objects; for other JSON, call json.decode"

// expectEnd returns an error if something follows the value.
func (r *jsonReader) expectEnd(s *jsonScanner) error {
	c, err := s.peek()
	if err != nil || c == 0 && s.at >= len(s.buf) {
		return err
	}
	e := value.ErrorOf(s.unexpected("the end of the JSON"), value.Invalid)
	if c == '{' || c == '[' {
		return e.WithHint("if each line has a value, set format to %q", formatLines)
	}
	return e
}

// each calls f with each record.
func (r *jsonReader) each(ctx context.Context, g tool.Grant, f func(record) error) error {
	for _, rec := range r.kept {
		if err := f(rec); err != nil {
			return err
		}
	}
	if r.kept != nil {
		return ctx.Err()
	}
	s, err := r.open(ctx, g)
	if err != nil {
		return err
	}
	rec, n := record{}, 0
	read := func(raw []byte) error {
		if n++; n%batchRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := s.parse(raw)
		rec.line, rec.size, rec.value = s.line+1, len(raw), v
		if err == nil && r.lenient() {
			err = r.admit(rec)
		}
		if err != nil && r.lenient() {
			r.rejects.add(r.in.name, rec.line, err, string(raw))
			return nil
		}
		if err != nil {
			return err
		}
		rec.n++
		return f(rec)
	}
	if r.lines {
		return r.eachLine(s, read)
	}
	list := func() error {
		return s.list(func() error { return s.take(read) })
	}
	if !r.within {
		err = list()
	} else {
		err = s.object(func(name string) error {
			if name == r.member {
				return list()
			}
			return s.take(func([]byte) error { return nil })
		})
	}
	if err != nil {
		return err
	}
	return r.expectEnd(s)
}

func (r *jsonReader) eachLine(s *jsonScanner, read func([]byte) error) error {
	for {
		raw, more, err := s.lineText()
		if err != nil && r.lenient() && value.KindOf(err) == value.Limit {
			r.rejects.add(r.in.name, s.line+1, err, string(s.buf[s.at:s.at+1000]))
			if err := s.skipLine(); err != nil {
				return err
			}
			continue
		}
		if err != nil || !more {
			return err
		}
		last := s.at+len(raw) == len(s.buf)
		if len(bytes.TrimSpace(raw)) > 0 && s.line >= r.o.skip {
			if err := read(raw); err != nil {
				if e := value.ErrorOf(err, value.Invalid); last && e.Kind == value.Invalid && e.Hint == "" && !bytes.HasSuffix(bytes.TrimSpace(raw), []byte("}")) {
					return e.WithHint("check that the file is complete: the error is in the last line; to leave such lines out, set lenient to true")
				} else if e.Kind == value.Invalid && e.Hint == "" && strings.HasPrefix(e.Message(), r.in.name) {
					return e.WithHint("to leave such lines out, set lenient to true")
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

// lenient reports whether lines that cannot be read are left out.
func (r *jsonReader) lenient() bool { return r.lines && r.o.lenient }

// admit returns an error if a record does not fit the others or the specified types.
func (r *jsonReader) admit(rec record) error {
	kind := kindOfRecord(rec.value)
	switch {
	case r.kind == 0 && kind == aValue:
		return r.noRecord(rec)
	case r.kind != 0 && kind != r.kind:
		return r.otherKind(rec, kind)
	}
	check := func(name string, v value.Value) error {
		t, ok := r.o.types[name]
		if !ok {
			return nil
		}
		return newColumn(t, 1).addRead(r.nonMissing(v), &r.numbers)
	}
	if d, ok := rec.value.(*value.Dict); ok {
		for k, v := range d.All() {
			if name, _ := k.(string); name != "" {
				if err := check(name, v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if r.kind == 0 {
		return nil
	}
	cells, err := r.cells(rec)
	for i, v := range cells {
		if err := check(r.names[i], v); err != nil {
			return err
		}
	}
	return err
}

func (r *jsonReader) noRecord(rec record) error {
	return value.Errorf(value.Invalid, "%s should be an object or a list but got %s", r.at(rec), value.TypeOf(rec.value))
}

func (r *jsonReader) otherKind(rec record, kind recordKind) error {
	return value.Errorf(value.Invalid, "%s is %s, but each previous record is %s", r.at(rec), recordKinds[kind], recordKinds[r.kind])
}

// at formats the position of a record for errors.
func (r *jsonReader) at(rec record) string {
	if r.lines {
		return fmt.Sprintf("%s, line %d", r.in.name, rec.line)
	}
	return fmt.Sprintf("%s, record %d (line %d)", r.in.name, rec.n, rec.line)
}

// table reads the records twice. Those of a held input are kept in between, if they do
// not take too much memory.
func (r *jsonReader) table(ctx context.Context, g tool.Grant) (*Table, error) {
	var kept []record
	keep, budget := r.in.held != nil, newBudget(g)
	err := r.each(ctx, g, func(rec record) error {
		if keep = keep && budget.take(valueSize(rec.value)) == nil; keep {
			kept = append(kept, rec)
		} else {
			kept = nil
		}
		return r.survey(rec)
	})
	if err != nil {
		return nil, err
	}
	if r.types, err = r.o.typesOfColumns(r.names, r.columns); err != nil {
		return nil, err
	}
	r.notes = append(r.notes, notesOfKinds(r.names, r.types, r.columns, r.o.types)...)
	r.notes = append(r.notes, r.rejects.notes()...)
	rejected := r.rejects.table()
	r.rejects = nil
	t := newStream(r.names, r.types, r.rows, r.scan, r.notes...)
	if r.in.held != nil {
		r.kept = kept
		if t, err = t.hold(ctx, g); err != nil {
			return nil, err
		}
	}
	first := t.held
	if first == nil {
		err := t.scan(ctx, g, func(b *Batch) error {
			first = b
			return errStop
		})
		if err != nil && err != errStop {
			return nil, err
		}
	}
	if first != nil {
		t.notes = append(t.notes, r.o.numberTexts(r.names, first, false)...)
	}
	t.rejected = rejected
	return t, nil
}

// survey records the columns of a record and the kinds of their values.
func (r *jsonReader) survey(rec record) error {
	kind := kindOfRecord(rec.value)
	if r.kind == 0 {
		r.indexes = map[string]int{}
		if r.lines && kind == aValue {
			return r.noRecord(rec)
		}
		r.kind = kind
		if header, err := r.begin(rec); header || err != nil {
			return err
		}
	}
	if kind != r.kind {
		return r.otherKind(rec, kind)
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

// begin sets the columns of lists and plain values from the first record. It reports
// whether that record is the header.
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
				return false, value.Errorf(value.Invalid, "%s is not a header: expected a list of one or more strings", r.at(rec)).WithHint("set header to false")
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

// maxJSONColumns is the maximum number of columns. With more, the input is probably not
// a table, but records that each have their own keys.
const maxJSONColumns = 100_000

func (r *jsonReader) tooWide(rec record) error {
	return row.Limit("%s: more than %d columns", r.at(rec), maxJSONColumns).
		WithHint("use json.decode")
}

func (r *jsonReader) surveyObject(rec record) error {
	i := -1
	for k, v := range rec.value.(*value.Dict).All() {
		name, _ := k.(string)
		at, ok := r.column(name, i+1)
		if !ok {
			at = len(r.names)
			if at == maxJSONColumns {
				return r.tooWide(rec)
			}
			r.indexes[name] = at
			r.names, r.columns = append(r.names, name), append(r.columns, 0)
		}
		i = at
		r.columns[at].add(r.nonMissing(v))
	}
	return nil
}

// column returns the column of a name, which is usually the one at likely.
func (r *jsonReader) column(name string, likely int) (int, bool) {
	if likely < len(r.names) && r.names[likely] == name {
		return likely, true
	}
	at, ok := r.indexes[name]
	return at, ok
}

// nonMissing returns v, or nil if it is a text that means a missing value.
func (r *jsonReader) nonMissing(v value.Value) value.Value {
	if s, ok := v.(string); ok && slices.Contains(r.o.missing, s) {
		return nil
	}
	return v
}

// cells returns the values of a record that is a list or a plain value.
func (r *jsonReader) cells(rec record) ([]value.Value, error) {
	items := []value.Value{rec.value}
	if r.kind == aList {
		items, _ = value.Elements(rec.value)
		if len(items) > len(r.names) || len(items) < len(r.names) && !r.o.fill {
			e := value.Errorf(value.Invalid, "%s: expected %s but got %d", r.at(rec), counted(len(r.names), "value"), len(items))
			if len(items) < len(r.names) {
				return nil, e.WithHint("to fill short rows with missing values, set fill to true")
			}
			return nil, e
		}
	}
	if len(r.o.missing) > 0 {
		items = slices.Clone(items)
		for i, v := range items {
			items[i] = r.nonMissing(v)
		}
	}
	return items, nil
}

// scan reads the rows.
func (r *jsonReader) scan(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	const maxBatchBytes = 4 << 20 // a record may be long
	most, bytes := rowsPerBatch(len(r.types)), 0
	b := newBatch(r.types)
	err := r.each(ctx, g, func(rec record) error {
		if r.headed && rec.n == 1 {
			return nil
		}
		if kindOfRecord(rec.value) != r.kind {
			return r.in.changedError()
		}
		if err := r.fill(b, rec); err != nil {
			return err
		}
		if bytes += rec.size; b.Rows < most && bytes < maxBatchBytes {
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
			at, ok := r.column(name, i+1)
			if !ok {
				return r.in.changedError()
			}
			i = at
			if err := b.Columns[at].addRead(r.nonMissing(v), &r.numbers); err != nil {
				return r.misfit(rec, at, err)
			}
		}
	} else {
		cells, err := r.cells(rec)
		if err != nil {
			return err
		}
		for i, v := range cells {
			if err := b.Columns[i].addRead(v, &r.numbers); err != nil {
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
