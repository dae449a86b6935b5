package table

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// newStream returns a table whose rows are read when they are wanted. rows is how
// many there are, or -1.
func newStream(names []string, types []Type, rows int, scan Scan, notes ...string) *Table {
	return &Table{names: names, types: types, notes: notes, rows: rows, scan: scan}
}

// maxDepth is how many tables may be read through one another: each takes room on
// the stack, and time for each batch.
const maxDepth = 1000

// streamed returns a table whose rows are read through t.
func (t *Table) streamed(names []string, types []Type, rows int, scan Scan) (*Table, error) {
	return streamedThrough([]*Table{t}, names, types, rows, scan)
}

// streamedThrough returns a table whose rows are read through others. It has the
// notes of the first.
func streamedThrough(of []*Table, names []string, types []Type, rows int, scan Scan) (*Table, error) {
	made := newStream(names, types, rows, scan, of[0].notes...)
	for _, t := range of {
		made.depth = max(made.depth, t.depth+1)
	}
	if made.depth > maxDepth {
		return nil, overMemory("the table would be read through more than %s others", thousands(maxDepth)).
			WithHint("make it in fewer steps: one filter with a function, or one concat of a list of tables")
	}
	return made, nil
}

// rowsPerBatch is how many rows a batch of so many columns has: a table of very
// many columns is read in smaller ones.
func rowsPerBatch(columns int) int {
	const cells = 1 << 20
	return max(1, min(batchRows, cells/max(1, columns)))
}

// errStop ends a scan early.
var errStop = value.Errorf(value.Canceled, "enough rows")

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

// eachOf is each for who looks at the columns at these places only: the others
// may be nil.
func (t *Table) eachOf(ctx context.Context, g tool.Grant, places []int, yield func(*Batch) error) error {
	if t.held == nil && t.part != nil {
		some := *t
		some.scan = t.part(places)
		t = &some
	}
	return t.each(ctx, g, yield)
}

// walk is each, but tells its caller that yield returned errStop: whoever reads
// two tables one after the other has to know.
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

// A mapper makes a batch of each batch of one reading of a table, in their order.
type mapper func(context.Context, *Batch) (*Batch, error)

// derived returns a table whose rows a mapper makes of those of t: at once where t
// is held, else whenever it is read. start makes the mapper of one reading, which
// may count. rows is how many there will be, or -1.
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
		all.extend(b.owned())
		return nil
	})
	return all, err
}

// record returns a row of a batch of the table as scripts see it.
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
