package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// withColumn returns the table with a column added or replaced.
func (c *call) withColumn() (*Table, error) {
	var to *Type
	if name, ok := c.value("type").(string); ok {
		t, err := ParseType(name)
		if err != nil {
			return nil, err
		}
		to = &t
	}
	if c.args.Text("name") == "" {
		return nil, value.Errorf(value.Invalid, "the name of the new column is empty")
	}
	switch v := c.value("values").(type) {
	case tool.Function:
		return c.computedColumn(v, to)
	case value.List:
		return c.listedColumn(v, to)
	case value.Tuple:
		return c.listedColumn(v, to)
	case nil, string, int64, float64, bool:
		return c.constantColumn(v, to)
	default:
		return nil, value.Errorf(value.Invalid, "argument 'values' should be a function of a row, a list, or one string, number or bool, but got %s", value.TypeOf(v))
	}
}

// computedColumn calls a function of the script for the value of each row.
func (c *call) computedColumn(f tool.Function, to *Type) (*Table, error) {
	t := c.table()
	b, err := t.gather(c.ctx, c.grant)
	if err != nil {
		return nil, err
	}
	values, err := c.valuesBy(f, b, c.args.Text("name"))
	if err != nil {
		return nil, err
	}
	column, err := c.typed(values, to)
	if err != nil {
		return nil, err
	}
	return newHeld(t.names, b, t.notes...).placed(c.ctx, c.args.Text("name"), column)
}

// valuesBy calls a function of the script for a value of each row. Errors name the
// column.
func (c *call) valuesBy(f tool.Function, b *Batch, column string) ([]value.Value, error) {
	values := make([]value.Value, 0, b.Rows)
	budget := newBudget(c.grant)
	of := newHeld(c.table().names, b)
	for i := range b.Rows {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		v, err := f(of.record(b, i))
		if err != nil {
			return nil, err
		}
		if err := checkPlain(v); err != nil {
			return nil, inCell(err, i+1, column)
		}
		if err := budget.take(valueSize(v)); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// typed returns a column of values, of a type if one is specified.
func (c *call) typed(values []value.Value, to *Type) (*Column, error) {
	column := columnOfValues(values)
	if to == nil {
		return column, nil
	}
	v := &conversion{column: c.args.Text("name"), to: *to}
	column, err := v.convert(c.ctx, column)
	if err != nil {
		err = value.ErrorOf(err, value.Failed).WithHint("use values of this type, and None for missing values")
	}
	return column, err
}

// listedColumn adds a list with one value for each row.
func (c *call) listedColumn(values []value.Value, to *Type) (*Table, error) {
	t := c.table()
	n, err := t.Len(c.ctx, c.grant)
	if err != nil {
		return nil, err
	}
	if n != len(values) {
		return nil, value.Errorf(value.Invalid, "the list has %s, but the table has %s", counted(len(values), "value"), counted(n, "row"))
	}
	for i, v := range values {
		if err := checkPlain(v); err != nil {
			return nil, inCell(err, i+1, c.args.Text("name"))
		}
	}
	column, err := c.typed(values, to)
	if err != nil {
		return nil, err
	}
	return t.placed(c.ctx, c.args.Text("name"), column)
}

// constantColumn adds a column with the same value in each row.
func (c *call) constantColumn(v value.Value, to *Type) (*Table, error) {
	one, err := c.typed([]value.Value{v}, to)
	if err != nil {
		return nil, err
	}
	return c.table().withEach(c.ctx, c.args.Text("name"), one.Type, func(_, rows int) *Column {
		d := newColumn(one.Type, rows)
		for range rows {
			d.addFrom(one, 0)
		}
		return d
	})
}

// placed returns the table with a column that is already complete.
func (t *Table) placed(ctx context.Context, name string, column *Column) (*Table, error) {
	return t.withEach(ctx, name, column.Type, func(first, rows int) *Column {
		if first+rows > column.Len() {
			return nil
		}
		return column.slice(first, first+rows)
	})
}

// withEach returns the table with a column that part computes: it returns the values of
// rows rows from the row first on, or nil if it has none because the file has grown.
func (t *Table) withEach(ctx context.Context, name string, typ Type, part func(first, rows int) *Column) (*Table, error) {
	at := slices.Index(t.names, name)
	names, types := slices.Clone(t.names), slices.Clone(t.types)
	if at < 0 {
		names, types, at = append(names, name), append(types, typ), len(names)
	}
	types[at] = typ
	return t.derived(ctx, names, types, t.rows, func() mapper {
		first := 0
		return func(_ context.Context, b *Batch) (*Batch, error) {
			columns := slices.Grow(slices.Clone(b.Columns), 1)
			if at == len(columns) {
				columns = append(columns, nil)
			}
			if columns[at] = part(first, b.Rows); columns[at] == nil {
				return nil, value.Errorf(value.Failed, "column %q has too few values: the table has more rows now", cut(name))
			}
			first += b.Rows
			return &Batch{Rows: b.Rows, Columns: columns}, nil
		}
	})
}
