package table

import (
	"context"
	"iter"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Type implements [tool.Object].
func (t *Table) Type() *tool.ObjectType { return &t.kinds.table }

func (t *Table) TypeName() string { return t.kinds.table.Name }

// Plain returns the rows as a list of dicts.
func (t *Table) Plain(ctx context.Context, g tool.Grant) (value.Value, error) {
	list := value.List{}
	nodes := 1
	err := t.each(ctx, g, func(b *Batch) error {
		if nodes += b.Rows * (1 + 2*len(t.names)); nodes > value.MaxNodes {
			return value.Errorf(value.Limit, "the table has too many rows to be returned as a list").
				WithHint("return a part of the table with head, or a string with to_csv")
		}
		for i := range b.Rows {
			list = append(list, t.record(b, i))
		}
		return nil
	})
	return list, err
}

// Len returns the number of rows.
func (t *Table) Len(ctx context.Context, g tool.Grant) (int, error) {
	if t.rows >= 0 {
		return t.rows, nil
	}
	n := 0
	err := t.each(ctx, g, func(b *Batch) error {
		n += b.Rows
		return nil
	})
	return n, err
}

// At returns the values of a column if key is its name, and a row if key is its number.
func (t *Table) At(ctx context.Context, g tool.Grant, key value.Value) (value.Value, error) {
	switch k := key.(type) {
	case string:
		return t.valuesOf(ctx, g, k)
	case int64:
		return t.row(ctx, g, k)
	}
	return nil, value.Errorf(value.Invalid, "invalid index of a table: expected the name of a column or the number of a row but got %s", value.TypeOf(key))
}

// valuesOf returns the values of a column as a list.
func (t *Table) valuesOf(ctx context.Context, g tool.Grant, name string) (value.Value, error) {
	at, err := t.column(name)
	if err != nil {
		return nil, err
	}
	list := value.List{}
	budget := newBudget(g)
	err = t.eachOf(ctx, g, []int{at}, func(b *Batch) error {
		const valueBytes = 64 // of a value in a script
		if err := budget.take(int64(b.Rows) * valueBytes); err != nil {
			return err
		}
		column := b.Columns[at]
		if t.held == nil {
			column = column.owned()
		}
		for i := range b.Rows {
			list = append(list, column.value(i))
		}
		return nil
	})
	return list, err
}

// row returns the n-th row as a dict. A negative n counts from the end.
func (t *Table) row(ctx context.Context, g tool.Grant, n int64) (value.Value, error) {
	size, err := t.Len(ctx, g)
	if err != nil {
		return nil, err
	}
	at := n
	if n < 0 {
		at += int64(size)
	}
	if at < 0 || at >= int64(size) {
		return nil, value.Errorf(value.Invalid, "no row %d: the table has %s", n, counted(size, "row"))
	}
	if t.held != nil {
		return t.record(t.held, int(at)), nil
	}
	var record value.Value
	err = t.each(ctx, g, func(b *Batch) error {
		if at < int64(b.Rows) {
			record = t.record(b, int(at))
			return errStop
		}
		at -= int64(b.Rows)
		return nil
	})
	return record, err
}

// Each yields the rows as dicts.
func (t *Table) Each(ctx context.Context, g tool.Grant, yield func(value.Value) bool) error {
	return t.each(ctx, g, func(b *Batch) error {
		for i := range b.Rows {
			if !yield(t.record(b, i)) {
				return errStop
			}
		}
		return nil
	})
}

// Equal reports whether two tables have the same names, types and values. Their notes
// are ignored.
func (t *Table) Equal(ctx context.Context, g tool.Grant, other tool.Collection) (bool, error) {
	u, ok := other.(*Table)
	if !ok || !slices.Equal(t.names, u.names) || !slices.Equal(t.types, u.types) {
		return false, nil
	}
	next, stop := iter.Pull2(u.batches(ctx, g))
	defer stop()
	d, row, same := &Batch{}, 0, true // the next row of u, and whether all before are the same
	err := t.each(ctx, g, func(b *Batch) (err error) {
		for i := range b.Rows {
			if row == d.Rows {
				row = 0
				if d, err, same = next(); err != nil {
					return err
				}
			}
			if same = same && b.equal(i, d, row); !same {
				return errStop
			}
			row++
		}
		return nil
	})
	if err != nil || !same || row < d.Rows {
		return false, err
	}
	_, err, more := next()
	return !more, err
}

// batches yields what each yields, as a sequence. An error comes last, without a batch.
func (t *Table) batches(ctx context.Context, g tool.Grant) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		err := t.each(ctx, g, func(b *Batch) error {
			if b.Rows > 0 && !yield(b, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// equal reports whether two rows of batches with the same types are the same.
func (b *Batch) equal(row int, d *Batch, other int) bool {
	for i, c := range b.Columns {
		if !c.equal(row, d.Columns[i], other) {
			return false
		}
	}
	return true
}

// equal reports whether two values of columns of the same type are the same.
func (c *Column) equal(i int, d *Column, j int) bool {
	if c.missing(i) || d.missing(j) {
		return c.missing(i) == d.missing(j)
	}
	switch c.Type {
	case Text:
		return c.Texts[i] == d.Texts[j]
	case Float:
		return c.Floats[i] == d.Floats[j] || c.Floats[i] != c.Floats[i] && d.Floats[j] != d.Floats[j]
	case Any:
		return value.Equal(c.Values[i], d.Values[j])
	}
	return c.Ints[i] == d.Ints[j]
}
