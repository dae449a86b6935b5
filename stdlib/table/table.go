package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Table has rows under named columns, each of one type. It is a value of scripts
// ([tool.Collection]) and is immutable.
type Table struct {
	kinds *kinds // set by the row that returns it
	names []string
	types []Type
	notes []string // what was detected or decided when the table was read, for people
	rows  int      // -1: unknown until they have been read
	held  *Batch   // all rows, or nil
	scan  Scan     // reads the rows if they are not held
	// part returns a scan that reads only some of the columns, which is faster. The
	// other columns are nil in its batches. part may be nil.
	part     func(indexes []int) Scan
	depth    int    // how many tables are read through one another
	rejected *Table // the rows of a file that were left out; nil for a table that was not read
}

// A Batch is some rows of a table, column by column.
type Batch struct {
	Rows    int
	Columns []*Column
}

// A Scan reads the rows of a table from first to last each time it is called, in batches
// of at most batchRows. An error of yield ends the scan and becomes its error. A batch
// is not modified after it was yielded.
type Scan func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error

// batchRows is the maximum number of rows in a batch.
const batchRows = 4096

// newHeld returns a table that holds its rows in memory.
func newHeld(names []string, rows *Batch, notes ...string) *Table {
	types := make([]Type, len(rows.Columns))
	for i, c := range rows.Columns {
		types[i] = c.Type
	}
	return &Table{names: names, types: types, notes: notes, rows: rows.Rows, held: rows}
}

// scan yields the rows of b, which may be larger than a batch of a [Scan].
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

// pick returns the rows at these indexes, in the order of the indexes.
func (b *Batch) pick(rows []int) *Batch {
	return b.convert(len(rows), func(c *Column) *Column { return c.pick(rows) })
}

// convert returns a batch with the given number of rows that has f(c) for each column c.
func (b *Batch) convert(rows int, f func(*Column) *Column) *Batch {
	d := &Batch{Rows: rows, Columns: make([]*Column, len(b.Columns))}
	for i, c := range b.Columns {
		d.Columns[i] = f(c)
	}
	return d
}

// owned returns the batch with a copy of its texts. The texts of a file are parts of
// large pieces of it: keeping a few of them would keep the pieces in memory.
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

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// upTo returns the indexes below n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// repeated returns the first name that occurs a second time.
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

// column returns the index of a column.
func (t *Table) column(name string) (int, error) {
	if i := slices.Index(t.names, name); i >= 0 {
		return i, nil
	}
	return 0, noSuchColumn(name, t.names)
}

// finder returns a lookup of columns by name for about the given number of lookups. For
// a few it searches the list of names; for more it builds an index.
func (t *Table) finder(times int) func(name string) (int, error) {
	const few = 8
	if times <= few {
		return t.column
	}
	indexes := make(map[string]int, len(t.names))
	for i, name := range t.names {
		indexes[name] = i
	}
	return func(name string) (int, error) {
		if at, ok := indexes[name]; ok {
			return at, nil
		}
		return 0, noSuchColumn(name, t.names)
	}
}

// columns returns the indexes of some columns.
func (t *Table) columns(names []string) ([]int, error) {
	indexes, find := make([]int, len(names)), t.finder(len(names))
	for i, name := range names {
		at, err := find(name)
		if err != nil {
			return nil, err
		}
		indexes[i] = at
	}
	return indexes, nil
}
