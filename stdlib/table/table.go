package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Table is rows under named columns, each of one type. It is a value of scripts
// ([tool.Collection]), and nothing changes it.
type Table struct {
	kinds *kinds // set by the row that gives it
	names []string
	types []Type
	notes []string // what was found out or decided when it was read, for people
	rows  int      // -1: not known before they have been read
	held  *Batch   // all rows, or nil
	scan  Scan     // reads them, where they are not held
	// part gives a scan that reads some of the columns, in less time; the others are
	// nil in its batches. It may be nil.
	part  func(places []int) Scan
	depth int // how many tables are read through one another for that
}

// A Batch is some rows of a table, column by column.
type Batch struct {
	Rows    int
	Columns []*Column
}

// A Scan reads the rows of a table from the first to the last, each time that it
// is called, in batches of at most batchRows. An error of yield ends it, and is
// its error. A batch is not touched any more once it was yielded.
type Scan func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error

// batchRows is how many rows a batch has at most.
const batchRows = 4096

// newHeld returns a table of rows in memory.
func newHeld(names []string, rows *Batch, notes ...string) *Table {
	types := make([]Type, len(rows.Columns))
	for i, c := range rows.Columns {
		types[i] = c.Type
	}
	return &Table{names: names, types: types, notes: notes, rows: rows.Rows, held: rows}
}

// scan yields the rows of a batch that is larger than one.
func (b *Batch) scan(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
	for i := 0; i < b.Rows; i += batchRows {
		if err := yield(b.slice(i, min(i+batchRows, b.Rows))); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) slice(i, j int) *Batch {
	if i == 0 && j == b.Rows {
		return b
	}
	return b.convert(j-i, func(c *Column) *Column { return c.slice(i, j) })
}

// pick returns the rows at these places, in their order.
func (b *Batch) pick(rows []int) *Batch {
	return b.convert(len(rows), func(c *Column) *Column { return c.pick(rows) })
}

// convert makes a batch of that many rows from each column.
func (b *Batch) convert(rows int, f func(*Column) *Column) *Batch {
	d := &Batch{Rows: rows, Columns: make([]*Column, len(b.Columns))}
	for i, c := range b.Columns {
		d.Columns[i] = f(c)
	}
	return d
}

// owned returns the batch with texts in memory of its own. Those of a file are
// parts of large pieces of it: who keeps a few of them would keep the pieces.
func (b *Batch) owned() *Batch { return b.convert(b.Rows, (*Column).owned) }

func (b *Batch) size() int64 {
	n := int64(0)
	for _, c := range b.Columns {
		n += c.size()
	}
	return n
}

// newBatch returns a batch without rows.
func newBatch(types []Type) *Batch {
	b := &Batch{Columns: make([]*Column, len(types))}
	for i, t := range types {
		b.Columns[i] = newColumn(t, 0)
	}
	return b
}

// extend appends the rows of a batch with the same types.
func (b *Batch) extend(d *Batch) {
	for i, c := range b.Columns {
		c.extend(d.Columns[i])
	}
	b.Rows += d.Rows
}

// repeated returns the first name that was there before.
func repeated(names []string) (string, bool) {
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, ok := seen[name]; ok {
			return name, true
		}
		seen[name] = struct{}{}
	}
	return "", false
}

// column returns the place of a column.
func (t *Table) column(name string) (int, error) {
	if i := slices.Index(t.names, name); i >= 0 {
		return i, nil
	}
	return 0, noSuchColumn(name, t.names)
}

// finder returns column for who asks it so many times: of a few names the list is
// searched, of more an index is made.
func (t *Table) finder(times int) func(name string) (int, error) {
	const few = 8
	if times <= few {
		return t.column
	}
	places := make(map[string]int, len(t.names))
	for i, name := range t.names {
		places[name] = i
	}
	return func(name string) (int, error) {
		if at, ok := places[name]; ok {
			return at, nil
		}
		return 0, noSuchColumn(name, t.names)
	}
}

// columns returns the places of some columns.
func (t *Table) columns(names []string) ([]int, error) {
	places, find := make([]int, len(names)), t.finder(len(names))
	for i, name := range names {
		at, err := find(name)
		if err != nil {
			return nil, err
		}
		places[i] = at
	}
	return places, nil
}
