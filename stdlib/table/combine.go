package table

import (
	"context"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// combineRows are the methods that combine several tables.
func combineRows() []member {
	return []member{
		{tool.Func{
			Name: "concat",
			Doc: "Append the rows of other tables. All tables must have the same columns, in any order, unless fill is True. " +
				"Integer and float columns become float. Other columns with different types become any.",
			Params: []tool.Param{
				tool.Required("others", "tables", "The tables, as a list or as separate arguments."),
				tool.Optional("fill", tool.TypeBoolean, false, "What happens if one of the tables lacks a column. If True, the rows of this table get missing values in the column. If False, the missing column is an error."),
			},
			Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.concatenated()) }},
		{tool.Func{
			Name: "join",
			Doc: "Join the rows of two tables with equal keys. A row with several matches gives a row for each match. The kinds of joins are:\n\n" +
				"- inner: the rows with a match\n" +
				"- left: all rows of this table\n" +
				"- outer: all rows of both tables\n" +
				"- semi: the rows of this table with a match, without the columns of the right table\n" +
				"- anti: the rows of this table without a match, without the columns of the right table\n\n" +
				"A missing key matches nothing. The integer 1 matches 1.0. A text matches only a text. " +
				"The columns of this table come first, then the columns of the right table without its keys. The keys occur once, with their names in this table. " +
				"Rows are in the order of this table. Several matches of a row are in the order of the right table. " +
				"Rows of the right table without a match come last.",
			Params: []tool.Param{
				tool.Required("other", "table", "The right table. It is kept in memory."),
				tool.Required("on", tool.TypeAny, `The key columns: the names of columns that both tables have, or a dict from columns of this table to columns of the right table, as in {"id": "customer_id"}.`),
				tool.Optional("how", tool.TypeString, "inner", "inner, left, outer, semi or anti."),
				tool.Optional("suffix", tool.TypeString, "_right", "The suffix for a column of the right table, if this table has a column with the same name."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.joined()) }},
	}
}

// A concatenation combines several tables into one.
type concatenation struct {
	tables  []*Table
	names   []string
	types   []Type
	indexes [][]int // the columns of each table by those of the result; -1: lacking
}

// concatenated returns the rows of several tables.
func (c *call) concatenated() (*Table, error) {
	tables, err := c.tables()
	if err != nil {
		return nil, err
	}
	all := &concatenation{tables: tables}
	if err := all.plan(c.args.Bool("fill")); err != nil {
		return nil, err
	}
	rows, held := 0, true
	for _, t := range tables {
		held = held && t.held != nil
		if t.rows < 0 || rows < 0 {
			rows = -1
			continue
		}
		if rows > math.MaxInt-t.rows {
			return nil, value.Errorf(value.Limit, "concat: the tables have too many rows in total")
		}
		rows += t.rows
	}
	made, err := streamedThrough(tables, all.names, all.types, rows, all.scan)
	if err == nil && held {
		return made.hold(c.ctx, c.grant)
	}
	return made, err
}

// hold returns the table with its rows in memory.
func (t *Table) hold(ctx context.Context, g tool.Grant) (*Table, error) {
	b, err := t.gather(ctx, g)
	if err != nil {
		return nil, err
	}
	return newHeld(t.names, b, t.notes...), nil
}

// tables returns the receiver and the tables in the arguments.
func (c *call) tables() ([]*Table, error) {
	others := []value.Value{c.value("others")}
	if list, ok := value.Elements(c.value("others")); ok {
		others = list
	}
	tables := []*Table{c.table()}
	for _, v := range others {
		t, ok := v.(*Table)
		if !ok {
			return nil, value.Errorf(value.Invalid, "argument 'others' should be tables but got %s", value.TypeOf(v)).
				WithHint("in a script, pass a table from data.read or data.parse")
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// plan determines the columns of the result, and their indexes in each table.
func (a *concatenation) plan(fill bool) error {
	at := map[string]int{}
	for n, t := range a.tables {
		for i, name := range t.names {
			place, ok := at[name]
			switch {
			case ok:
				a.types[place] = a.types[place].join(t.types[i])
			case n > 0 && !fill:
				return lacks(1, n+1, name)
			default:
				at[name] = len(a.names)
				a.names = append(a.names, name)
				a.types = append(a.types, t.types[i])
			}
		}
	}
	for n, t := range a.tables {
		indexes := slices.Repeat([]int{-1}, len(a.names))
		for i, name := range t.names {
			indexes[at[name]] = i
		}
		if missing := slices.Index(indexes, -1); missing >= 0 && !fill {
			return lacks(n+1, 1, a.names[missing])
		}
		a.indexes = append(a.indexes, indexes)
	}
	return nil
}

// lacks returns the error for a column that only one of two tables has. Tables are
// numbered from 1, the receiver.
func lacks(without, with int, name string) error {
	return value.Errorf(value.Invalid, "table %d has a column %q, but table %d does not", with, cut(name), without).
		WithHint("in a script, select the same columns with select, or pass fill = True for missing values")
}

// scan reads the tables in sequence.
func (a *concatenation) scan(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	for n, t := range a.tables {
		first := 0
		err := t.walk(ctx, g, func(b *Batch) error {
			made, err := a.convert(ctx, n, b, first)
			if err != nil {
				return err
			}
			first += b.Rows
			return yield(made)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// convert converts a batch of the n-th table to the columns of the result.
func (a *concatenation) convert(ctx context.Context, n int, b *Batch, first int) (*Batch, error) {
	d := &Batch{Rows: b.Rows, Columns: make([]*Column, len(a.names))}
	for i, at := range a.indexes[n] {
		if at < 0 {
			d.Columns[i] = missingColumn(a.types[i], b.Rows)
			continue
		}
		var err error
		v := &conversion{column: a.names[i], to: a.types[i], first: first}
		if d.Columns[i], err = v.convert(ctx, b.Columns[at]); err != nil {
			return nil, value.ErrorOf(err, value.Failed).WithHint("convert the column to the same type in all tables with with_types")
		}
	}
	return d, nil
}
