package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// pivotColumns is how many columns pivot may make: more is a mistake in the choice
// of the column, or a table that nobody can read.
const pivotColumns = 1000

func pivotRows() []row {
	return []row{
		{tool.Func{
			Name: "pivot",
			Doc: "Makes a wide table: the values of one column become columns, in the order in which they first appear, at most 1,000 of them. " +
				"A row stands for the rows with the same values in the index. A cell sums up the values of its rows by a function of agg; " +
				"where there are none, it is missing. The column of a missing value is named (missing), that of the empty text (empty).",
			Params: []tool.Param{
				tool.Required("index", tool.TypeCharacter, "The columns whose values name the rows."),
				tool.Required("columns", tool.TypeString, "The one column whose values become columns."),
				tool.Required("values", tool.TypeString, "The column whose values go into the cells."),
				tool.Optional("agg", tool.TypeString, "first", "The function that makes one value of several, as in agg."),
			},
			Returns: "a table",
		}, pivot},
		{tool.Func{
			Name: "unpivot",
			Doc: "Makes a long table: each row becomes one row for each of some columns, with the column's name and the value there. " +
				"The values have the type that can hold all of them: integers and floats become floats, and other types together any.",
			Params: []tool.Param{
				tool.Maybe("columns", tool.TypeCharacter, "The columns that become rows; without any, all that are not in keep."),
				tool.Maybe("keep", tool.TypeCharacter, "The columns that stay; without any, all that are not in columns."),
				tool.Optional("name", tool.TypeString, "name", "The name of the new column of names."),
				tool.Optional("value", tool.TypeString, "value", "The name of the new column of values."),
			},
			Returns: "a table",
		}, unpivot},
	}
}

func pivot(c *call) (value.Value, error) {
	t, index := c.table(), c.names("index")
	across, values := c.args.Text("columns"), c.args.Text("values")
	if len(index) == 0 {
		return nil, value.Errorf(value.Invalid, "pivot has no index").WithHint("the columns are %s", someNames(t.names))
	}
	if slices.Contains(index, across) {
		return nil, value.Errorf(value.Invalid, "column %q cannot be in the index and become columns", cut(across))
	}
	grouped, err := groupBy(&call{c.ctx, c.grant, value.NewDict("columns", textList(append(slices.Clone(index), across))), t})
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
	return spreadOut(c.ctx, c.grant, long, len(index))
}

// spreadOut makes a wide table of a long one: its first columns are the index, then
// come the names of the new columns, and the values.
func spreadOut(ctx context.Context, g tool.Grant, long *Table, index int) (*Table, error) {
	all := long.held
	ids := make([]int32, all.Rows)
	across := newInterner(false)
	across.ids(all.Columns[index], ids)
	if across.n > pivotColumns {
		return nil, value.Errorf(value.Limit, "pivot would make %s columns, and may make 1,000", thousands(int64(across.n))).
			WithHint("choose a column with fewer values, or filter first")
	}
	places := make([][]int, across.n) // of the cells of each new column
	for row, id := range ids {
		places[id] = append(places[id], row)
	}
	names := slices.Clone(long.names[:index])
	taken := setOf(names)
	for _, rows := range places {
		name := pivotName(all.Columns[index], rows[0])
		if taken[name] {
			return nil, value.Errorf(value.Invalid, "pivot would make two columns named %q", cut(name)).WithHint("rename the column of the index, or change the values first")
		}
		taken[name] = true
		names = append(names, name)
	}
	b := newBudget(g)
	keys := (&groups{of: long, columns: upTo(index)}).keys()
	lines, bytes := keys.ids(all)
	if err := b.take(bytes); err != nil {
		return nil, err
	}
	wide := &Batch{Rows: keys.n, Columns: keys.values.Columns}
	for _, rows := range places {
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

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
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

// filled returns a column of n values: that of each of these rows at its line.
func filled(values *Column, rows []int, lines []int32, n int) *Column {
	at := slices.Repeat([]int{-1}, n)
	for _, row := range rows {
		at[lines[row]] = row
	}
	return values.pick(at)
}

func unpivot(c *call) (value.Value, error) {
	t := c.table()
	columns, keep := c.names("columns"), c.names("keep")
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
		return nil, value.Errorf(value.Invalid, "unpivot has no columns to make rows of").WithHint("the columns are %s", someNames(t.names))
	}
	u := &unpivoting{of: t, from: from, stay: stay, value: t.types[from[0]]}
	names := append(slices.Clone(keep), c.args.Text("name"), c.args.Text("value"))
	if name, twice := repeated(names); twice {
		return nil, value.Errorf(value.Invalid, "unpivot would make two columns named %q", cut(name)).WithHint("give name = or value = another name")
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

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// unpivoting is what unpivot does to each batch.
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
