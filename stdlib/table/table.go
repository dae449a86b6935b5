package table

import (
	"context"
	"slices"
	"strings"

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

// defaultMemory is taken for the memory of the process where nobody says.
const defaultMemory = tool.DefaultMemory

// newHeld returns a table of rows in memory.
func newHeld(names []string, rows *Batch, notes ...string) *Table {
	types := make([]Type, len(rows.Columns))
	for i, c := range rows.Columns {
		types[i] = c.Type
	}
	return &Table{names: names, types: types, notes: notes, rows: rows.Rows, held: rows}
}

// newStream returns a table whose rows are read when they are wanted. rows is how
// many there are, or -1.
func newStream(names []string, types []Type, rows int, scan Scan, notes ...string) *Table {
	return &Table{names: names, types: types, notes: notes, rows: rows, scan: scan}
}

// errStop ends a scan early.
var errStop = tool.Errorf(tool.Canceled, "enough rows")

// each yields the rows in batches. It stops when the context does; where yield
// returns errStop, that is no error.
func (t *Table) each(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	scan := t.scan
	if t.held != nil {
		scan = t.held.scan
	}
	err := scan(ctx, g, func(b *Batch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return yield(b)
	})
	if err == errStop {
		return nil
	}
	return err
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

// record returns a row as scripts see it.
func (b *Batch) record(names []string, row int) *tool.Dict {
	d := &tool.Dict{}
	for i, c := range b.Columns {
		d.Put(names[i], c.value(row))
	}
	return d
}

// gather returns all rows in memory. It fails where they would take more than a
// table may.
func (t *Table) gather(ctx context.Context, g tool.Grant) (*Batch, error) {
	if t.held != nil {
		return t.held, nil
	}
	all := newBatch(t.types)
	budget := newBudget(g)
	err := t.each(ctx, g, func(b *Batch) error {
		if err := budget.take(b.size()); err != nil {
			return err
		}
		all.extend(b)
		return nil
	})
	return all, err
}

// A budget is how much memory an operation may still take for what it makes.
type budget struct{ left, all int64 }

// newBudget returns a third of the memory of the process: slices that grow take
// twice what they hold, and the script has more than one table.
func newBudget(g tool.Grant) *budget {
	n := int64(defaultMemory)
	if g.Memory > 0 {
		n = g.Memory
	}
	return &budget{n / 3, n / 3}
}

func (b *budget) take(n int64) error {
	if b.left -= n; b.left >= 0 {
		return nil
	}
	e := tool.Errorf(tool.Limit, "the rows take more than %d MB of memory", b.all>>20)
	e.Limit = "memory"
	return e.WithHint("take fewer rows or columns with filter, head or select, group them, or declare limits = {\"memory\": …}")
}

// column returns the place of a column.
func (t *Table) column(name string) (int, error) {
	if i := slices.Index(t.names, name); i >= 0 {
		return i, nil
	}
	return 0, tool.Errorf(tool.Invalid, "there is no column %q%s", name, tool.DidYouMean(name, t.names)).
		WithHint("the columns are %s", someNames(t.names))
}

// columns returns the places of some columns.
func (t *Table) columns(names []string) ([]int, error) {
	places := make([]int, len(names))
	for i, name := range names {
		at, err := t.column(name)
		if err != nil {
			return nil, err
		}
		places[i] = at
	}
	return places, nil
}

// someNames lists names, at most twenty of them.
func someNames(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}

// mapped returns the table that f makes of each batch of t: at once where t is
// held, else whenever it is read. rows is how many it has, or -1.
func (t *Table) mapped(names []string, types []Type, rows int, f func(*Batch) (*Batch, error)) (*Table, error) {
	if t.held != nil {
		b, err := f(t.held)
		if err != nil {
			return nil, err
		}
		return newHeld(names, b, t.notes...), nil
	}
	return newStream(names, types, rows, func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
		return t.scan(ctx, g, func(b *Batch) error {
			made, err := f(b)
			if err != nil || made.Rows == 0 {
				return err
			}
			return yield(made)
		})
	}, t.notes...), nil
}
