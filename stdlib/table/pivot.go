package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// pivotColumns is the maximum number of columns of pivot. With more, the column was
// probably chosen by mistake, and the table would be unreadable.
const pivotColumns = 1000

func pivotRows() []member {
	return []member{
		{tool.Func{
			Name: "pivot",
			Doc: "Return a wide table: the values of one column become columns. The new columns are in the order in which the values first occur. There can be at most 1,000 new columns. " +
				"Each row of the result combines the rows that have the same values in the columns of index. Each cell aggregates the values of these rows with the function in argument agg. " +
				"A cell without values is missing. The column for missing values is named (missing). The column for the empty text is named (empty).",
			Params: []tool.Param{
				tool.Required("index", tool.TypeCharacter, "The columns that identify the rows."),
				tool.Required("columns", tool.TypeString, "The column whose values become columns."),
				tool.Required("values", tool.TypeString, "The column with the values of the cells."),
				tool.Optional("agg", tool.TypeString, "first", "The function that aggregates several values: one of the functions of table.agg."),
			}, Returns: "a table",
		}, pivot},
		{tool.Func{
			Name: "unpivot",
			Doc: "Return a long table: each row becomes several rows, one for each of the given columns. Each new row has the name and the value of its column. " +
				"Integers mixed with floats become floats. Other mixed types become any.",
			Params: []tool.Param{
				tool.Maybe("columns", tool.TypeCharacter, "The columns that become rows. Default: all that are not in keep."),
				tool.Maybe("keep", tool.TypeCharacter, "The columns to keep. Default: all that are not in columns."),
				tool.Optional("name", tool.TypeString, "name", "The name of the new column of names."),
				tool.Optional("value", tool.TypeString, "value", "The name of the new column of values."),
			}, Returns: "a table",
		}, unpivot},
	}
}

func pivot(c *call) (value.Value, error) {
	t, index := c.table(), row.Strings(c.args, "index")
	across, values := c.args.Text("columns"), c.args.Text("values")
	if len(index) == 0 {
		return nil, value.Errorf(value.Invalid, "pivot: argument 'index' needs at least one column").WithHint("the columns are %s", someNames(t.names))
	}
	if slices.Contains(index, across) {
		return nil, value.Errorf(value.Invalid, "column %q cannot be both in index and in columns", cut(across))
	}
	grouped, err := groupBy(&call{c.ctx, c.grant, value.NewDict("columns", row.List(append(slices.Clone(index), across))), t})
	if err != nil {
		return nil, err
	}
	from, err := t.column(values)
	if err != nil {
		return nil, err
	}
	function := c.args.Text("agg")
	if err := checkFit(t, function, from); err != nil {
		return nil, err
	}
	a := &aggregates{}
	a.put("values", function, from, t.types[from], t.held == nil)
	long, err := grouped.(*groups).reduce(c.ctx, c.grant, a)
	if err != nil {
		return nil, err
	}
	return widen(c.ctx, c.grant, long, len(index))
}

// widen converts a long table to a wide one. The columns of long are the index, the
// names of the new columns, and the values.
func widen(ctx context.Context, g tool.Grant, long *Table, index int) (*Table, error) {
	all := long.held
	ids := make([]int32, all.Rows)
	across := newInterner(false)
	across.ids(all.Columns[index], ids)
	if across.n > pivotColumns {
		return nil, value.Errorf(value.Limit, "pivot: the result has %s new columns: the limit is 1,000", thousands(int64(across.n))).
			WithHint("choose a column with fewer values, or filter first")
	}
	indexes := make([][]int, across.n) // the rows with the cells of each new column
	for row, id := range ids {
		indexes[id] = append(indexes[id], row)
	}
	names := slices.Clone(long.names[:index])
	taken := setOf(names)
	for _, rows := range indexes {
		name := pivotName(all.Columns[index], rows[0])
		if taken[name] {
			return nil, value.Errorf(value.Invalid, "pivot: the result has two columns named %q", cut(name)).WithHint("rename the index column, or change the values first")
		}
		taken[name] = true
		names = append(names, name)
	}
	b := newBudget(g)
	keys := (&groups{table: long, columns: upTo(index)}).keys()
	lines, bytes := keys.ids(all)
	if err := b.take(bytes); err != nil {
		return nil, err
	}
	wide := &Batch{Rows: keys.n, Columns: keys.values.Columns}
	for _, rows := range indexes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		column := filled(all.Columns[index+1], rows, lines, keys.n)
		if err := b.take(column.size()); err != nil {
			return nil, err
		}
		wide.Columns = append(wide.Columns, column)
	}
	return newHeld(names, wide, long.notes...), nil
}

func pivotName(c *Column, row int) string {
	switch {
	case c.missing(row):
		return "(missing)"
	case c.text(row) == "":
		return "(empty)"
	}
	return c.text(row)
}

// filled returns a column of n values: the value of each of these rows at its line, the
// others missing.
func filled(values *Column, rows []int, lines []int32, n int) *Column {
	at := slices.Repeat([]int{-1}, n)
	for _, row := range rows {
		at[lines[row]] = row
	}
	return values.pick(at)
}

func unpivot(c *call) (value.Value, error) {
	t := c.table()
	columns, keep := row.Strings(c.args, "columns"), row.Strings(c.args, "keep")
	kept, moved := setOf(keep), setOf(columns)
	for _, name := range t.names {
		switch {
		case c.value("columns") == nil && !kept[name]:
			columns = append(columns, name)
		case c.value("columns") != nil && c.value("keep") == nil && !moved[name]:
			keep = append(keep, name)
		}
	}
	from, err := t.columns(columns)
	if err != nil {
		return nil, err
	}
	stay, err := t.columns(keep)
	if err != nil {
		return nil, err
	}
	if len(from) == 0 {
		return nil, value.Errorf(value.Invalid, "unpivot: no columns to convert to rows").WithHint("the columns are %s", someNames(t.names))
	}
	u := &unpivoting{of: t, from: from, stay: stay, value: t.types[from[0]]}
	names := append(slices.Clone(keep), c.args.Text("name"), c.args.Text("value"))
	if name, twice := repeated(names); twice {
		return nil, value.Errorf(value.Invalid, "unpivot: the result has two columns named %q", cut(name)).WithHint("in a script, pass another column name as argument 'name' or 'value'")
	}
	types := make([]Type, 0, len(names))
	for _, at := range stay {
		types = append(types, t.types[at])
	}
	for _, at := range from {
		u.value = u.value.join(t.types[at])
	}
	rows := -1
	if t.rows >= 0 {
		rows = t.rows * len(from)
	}
	long, err := t.streamed(names, append(types, Text, u.value), rows, u.scan)
	if err == nil && t.held != nil {
		long, err = long.hold(c.ctx, c.grant)
	}
	return asTable(long, err)
}

// An unpivoting converts batches for unpivot.
type unpivoting struct {
	of         *Table
	from, stay []int
	value      Type
}

func (u *unpivoting) scan(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	most := rowsPerBatch(len(u.stay) + 2)
	return u.of.each(ctx, g, func(b *Batch) error {
		made := u.empty(most)
		for row := range b.Rows {
			for _, at := range u.from {
				u.put(made, b, row, at)
				if made.Rows < most {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := yield(made); err != nil {
					return err
				}
				made = u.empty(most)
			}
		}
		if made.Rows == 0 {
			return nil
		}
		return yield(made)
	})
}

func (u *unpivoting) empty(rows int) *Batch {
	b := &Batch{}
	for _, at := range u.stay {
		b.Columns = append(b.Columns, newColumn(u.of.types[at], rows))
	}
	b.Columns = append(b.Columns, newColumn(Text, rows), newColumn(u.value, rows))
	return b
}

// put appends the row of one value.
func (u *unpivoting) put(made, b *Batch, row, at int) {
	for i, stay := range u.stay {
		made.Columns[i].addFrom(b.Columns[stay], row)
	}
	made.Columns[len(u.stay)].addText(u.of.names[at])
	value, from := made.Columns[len(u.stay)+1], b.Columns[at]
	if from.Type == value.Type {
		value.addFrom(from, row)
	} else {
		value.add(from.value(row))
	}
	made.Rows++
}
