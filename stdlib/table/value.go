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
			return value.Errorf(value.Limit, "the table has more rows than can leave the script").
				WithHint("give a part of it with head, or a text with to_csv")
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

// At returns the values of a column for its name, and a row for its number.
func (t *Table) At(ctx context.Context, g tool.Grant, key value.Value) (value.Value, error) {
	switch k := key.(type) {
	case string:
		return t.valuesOf(ctx, g, k)
	case int64:
		return t.row(ctx, g, k)
	}
	return nil, value.Errorf(value.Invalid, "a table is asked for a column by its name or for a row by its number, not by %s", value.TypeOf(key))
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
		const room = 64 // of a value in a script
		if err := budget.take(int64(b.Rows) * room); err != nil {
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

// row returns the n-th row as a dict, or from the end where n is negative.
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
		return nil, value.Errorf(value.Invalid, "there is no row %d: the table has %s", n, counted(size, "row"))
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

// Equal reports whether two tables have the same names, types and values. What
// was noted when they were read is of no account.
func (t *Table) Equal(ctx context.Context, g tool.Grant, other tool.Collection) (bool, error) {
	u, ok := other.(*Table)
	if !ok || !slices.Equal(t.names, u.names) || !slices.Equal(t.types, u.types) {
		return false, nil
	}
	next, stop := iter.Pull2(u.batches(ctx, g))
	defer stop()
	var rest *Batch // what is left of the batch of u
	same := true
	err := t.each(ctx, g, func(b *Batch) error {
		for i := 0; same && i < b.Rows; {
			if rest == nil || rest.Rows == 0 {
				more, err, ok := next()
				if err != nil {
					return err
				}
				if same = ok; !ok {
					break
				}
				rest = more
			}
			n := min(b.Rows-i, rest.Rows)
			same = b.slice(i, i+n).equal(rest.slice(0, n))
			rest = rest.slice(n, rest.Rows)
			i += n
		}
		if !same {
			return errStop
		}
		return nil
	})
	if err != nil || !same {
		return false, err
	}
	if rest != nil && rest.Rows > 0 {
		return false, nil
	}
	_, err, more := next()
	return !more, err
}

// batches is each as a sequence; an error comes last, without a batch.
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

func (b *Batch) equal(d *Batch) bool {
	for i, c := range b.Columns {
		for row := range b.Rows {
			if !c.equal(row, d.Columns[i], row) {
				return false
			}
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
