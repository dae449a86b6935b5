package table

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// newStream returns a table whose rows are read on demand. rows is their number, or -1
// if it is unknown.
func newStream(names []string, types []Type, rows int, scan Scan, notes ...string) *Table {
	return &Table{names: names, types: types, notes: notes, rows: rows, scan: scan}
}

// maxDepth is the maximum number of tables that are read through one another. Each takes
// space on the stack, and time for each batch.
const maxDepth = 1000

// streamed returns a table whose rows are read through t.
func (t *Table) streamed(names []string, types []Type, rows int, scan Scan) (*Table, error) {
	return streamedThrough([]*Table{t}, names, types, rows, scan)
}

// streamedThrough returns a table whose rows are read through others. It has the notes
// of the first of them.
func streamedThrough(of []*Table, names []string, types []Type, rows int, scan Scan) (*Table, error) {
	made := newStream(names, types, rows, scan, of[0].notes...)
	for _, t := range of {
		made.depth = max(made.depth, t.depth+1)
	}
	if made.depth > maxDepth {
		return nil, row.Limit("the table is the result of more than %s chained operations", thousands(maxDepth)).
			WithHint("use fewer operations, as in one filter with a function, or one concat of a list of tables")
	}
	return made, nil
}

// rowsPerBatch returns the number of rows in a batch with so many columns: a table with
// very many columns is read in smaller batches.
func rowsPerBatch(columns int) int {
	const cells = 1 << 20
	return max(1, min(batchRows, cells/max(1, columns)))
}

// errStop ends a scan early.
var errStop = value.Errorf(value.Canceled, "enough rows")

// each yields the rows in batches. It stops when the context is done. It returns nil if
// yield returns errStop.
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

// eachOf is each for callers that use only the columns at these indexes. The other
// columns may be nil.
func (t *Table) eachOf(ctx context.Context, g tool.Grant, indexes []int, yield func(*Batch) error) error {
	if t.held == nil && t.part != nil {
		some := *t
		some.scan = t.part(indexes)
		t = &some
	}
	return t.each(ctx, g, yield)
}

// walk is each, except that it returns errStop if yield does. Callers that read several
// tables in sequence need it.
func (t *Table) walk(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	stopped := false
	err := t.each(ctx, g, func(b *Batch) error {
		err := yield(b)
		stopped = err == errStop
		return err
	})
	if err == nil && stopped {
		return errStop
	}
	return err
}

// A mapper transforms the batches of one pass over a table, in order.
type mapper func(context.Context, *Batch) (*Batch, error)

// derived returns a table with the rows of t transformed by a mapper: immediately if t
// is held, otherwise whenever it is read. start returns the mapper for one pass, which
// may have state. rows is the resulting number of rows, or -1 if it is unknown.
func (t *Table) derived(ctx context.Context, names []string, types []Type, rows int, start func() mapper) (*Table, error) {
	if t.held != nil {
		b, err := start()(ctx, t.held)
		if err != nil {
			return nil, err
		}
		return newHeld(names, b, t.notes...), nil
	}
	return t.streamed(names, types, rows, func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
		f := start()
		return t.walk(ctx, g, func(b *Batch) error {
			made, err := f(ctx, b)
			if err != nil || made.Rows == 0 {
				return err
			}
			return yield(made)
		})
	})
}

// gather returns all rows in memory. It returns an error if they would take more memory
// than a table may.
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
		all.extend(b.owned())
		return nil
	})
	return all, err
}

// record returns a row of a batch as scripts see it.
func (t *Table) record(b *Batch, row int) *value.Dict {
	d := &value.Dict{}
	for i, c := range b.Columns {
		v := c.value(row)
		if s, ok := v.(string); ok && t.held == nil {
			v = strings.Clone(s) // see [Batch.owned]
		}
		d.Put(t.names[i], v)
	}
	return d
}
