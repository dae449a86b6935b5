package table

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// withoutMissing returns the rows that have no missing value in some columns.
func (c *call) withoutMissing() (*Table, error) {
	t := c.table()
	indexes, err := t.someColumns(row.Strings(c.args, "columns"))
	if err != nil {
		return nil, err
	}
	return t.where(c.ctx, func(b *Batch, rows []int) []int {
		columns := b.chosen(indexes)
	next:
		for i := range b.Rows {
			for _, column := range columns {
				if column.missing(i) {
					continue next
				}
			}
			rows = append(rows, i)
		}
		return rows
	})
}

// filled returns the table with the missing values replaced.
func (c *call) filled() (*Table, error) {
	t := c.table()
	v := c.value("value")
	d, byName := v.(*value.Dict)
	if v == nil || !byName && checkPlain(v) != nil {
		return nil, value.Errorf(value.Invalid, "argument 'value' should be a single value or a dict from column names to values, but got %s", value.TypeOf(v))
	}
	fills := make([]*Column, len(t.names)) // each has one value, or is nil
	if !byName {
		if !fillAll(fills, t.types, v) {
			return nil, value.Errorf(value.Invalid, "no column has a suitable type for %s", valueShown(v)).
				WithHint(`in a script, pass values by column name: fill_missing({"name": value})`)
		}
	}
	find := t.finder(d.Len())
	for k, v := range d.All() {
		name, ok := k.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "argument 'value' should be a dict from column names to values: the key %s is not a string", valueShown(k))
		}
		at, err := find(name)
		if err != nil {
			return nil, err
		}
		if err := checkPlain(v); err != nil {
			return nil, renamedError(err, "column %s: %s", quoteCut(name), value.ErrorOf(err, value.Failed).Message())
		}
		if fills[at] = operand(t.types[at], v); fills[at] == nil {
			return nil, (&condition{name, t.types[at], "fill_missing", v}).unfit()
		}
	}
	return t.derived(c.ctx, t.names, t.types, t.rows, func() mapper {
		return func(_ context.Context, b *Batch) (*Batch, error) {
			return fillBatch(b, fills), nil
		}
	})
}

// fillAll sets the fill of each column whose type the value fits. It reports whether
// there is one.
func fillAll(fills []*Column, types []Type, v value.Value) bool {
	found := false
	for i, typ := range types {
		fills[i] = operand(typ, v)
		found = found || fills[i] != nil
	}
	return found
}

// unfit returns the error for a value that a column cannot hold.
func (n *condition) unfit() error {
	e := value.Errorf(value.Invalid, "column %q has type %s and cannot hold %s", cut(n.column), n.typ, valueShown(n.value))
	if n.typ.time() {
		return e.WithHint("write a date as 2024-02-29, a datetime as 2024-02-29T12:30:00 and an instant as 2024-02-29T12:30:00Z")
	}
	return e.WithHint("in a script, pass a value of the column's type, or convert the column with with_types")
}

// operand returns a column with the value v, or nil if v does not have type t. A text is
// parsed as a date or time if t is one of those; otherwise it is only a text.
func operand(t Type, v value.Value) *Column {
	c := newColumn(t, 1)
	fits := false
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		fits = (t == Text || t.time()) && c.addValue(v)
	case bool:
		fits = t == Bool && c.addValue(v)
	case int64, float64:
		fits = t.number() && c.addValue(v)
	}
	if t == Any {
		c.addAny(v)
		fits = true
	}
	if !fits {
		return nil
	}
	return c
}

// fillBatch returns the batch with the missing values replaced.
func fillBatch(b *Batch, fills []*Column) *Batch {
	d := &Batch{Rows: b.Rows, Columns: make([]*Column, len(b.Columns))}
	for i, c := range b.Columns {
		d.Columns[i] = c
		if c.Missing == nil || fills[i] == nil {
			continue
		}
		filled := newColumn(c.Type, b.Rows)
		for row := range b.Rows {
			if c.missing(row) {
				filled.addFrom(fills[i], 0)
			} else {
				filled.addFrom(c, row)
			}
		}
		d.Columns[i] = filled
	}
	return d
}
