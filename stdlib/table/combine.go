package table

import (
	"context"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// combineRows are the methods that make one table of several.
func combineRows() []row {
	return []row{
		{tool.Func{
			Name: "concat",
			Doc: "Puts the rows of other tables after those of this one. All have the same columns, in any order. " +
				"A column that is integer in one and float in another becomes float, and otherwise one whose types differ becomes any.",
			Params: []tool.Param{
				tool.Required("others", "tables", "The tables, as a list or one after the other."),
				tool.Optional("fill", tool.TypeBoolean, false, "Whether a table has missing values for the columns that it lacks. Without it, that is an error."),
			},
			Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.concatenated()) }},
		{tool.Func{
			Name: "join",
			Doc: "Joins the rows of two tables whose keys are equal; where several match, each of them gives a row. inner keeps the rows that match, left all rows of this table, outer those of both; " +
				"semi keeps the rows of this table that match, anti those that do not, both without columns of the other. A missing key matches nothing, the integer 1 matches 1.0, and text only text. " +
				"The columns of this table come first, then the others of the right one; the keys come once, under their names in this table. Rows keep the order of this table, and those that match one row the order " +
				"of the right one; what of it matches nothing comes last.",
			Params: []tool.Param{
				tool.Required("other", "table", "The table on the right, which is held in memory."),
				tool.Required("on", tool.TypeAny, `The columns that must be equal: names that both tables have, or {"left": "right"}.`),
				tool.Optional("how", tool.TypeString, "inner", "inner, left, outer, semi or anti."),
				tool.Optional("suffix", tool.TypeString, "_right", "What the name of a column of the right table ends with where this one has a column of that name."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.joined()) }},
	}
}

// A concatenation is several tables that become one.
type concatenation struct {
	tables []*Table
	names  []string
	types  []Type
	places [][]int // of each table's columns by those of the result; -1: it has none
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
			return nil, value.Errorf(value.Limit, "the tables have more rows than can be counted")
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

// tables are the table of the call and those that it is given.
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
				WithHint("data.read and data.parse give tables")
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// plan finds the columns of the result, and where each table has them.
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
		places := slices.Repeat([]int{-1}, len(a.names))
		for i, name := range t.names {
			places[at[name]] = i
		}
		if missing := slices.Index(places, -1); missing >= 0 && !fill {
			return lacks(n+1, 1, a.names[missing])
		}
		a.places = append(a.places, places)
	}
	return nil
}

// lacks is the error of a column that one table has and another has not; tables
// are counted from 1, which is the one whose method was called.
func lacks(without, with int, name string) error {
	return value.Errorf(value.Invalid, "table %d has a column %q, which table %d has not", with, cut(name), without).
		WithHint("choose the same columns with select, or say fill = True to have missing values there")
}

// scan reads the tables one after the other.
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

// convert makes a batch of the result from one of the n-th table.
func (a *concatenation) convert(ctx context.Context, n int, b *Batch, first int) (*Batch, error) {
	d := &Batch{Rows: b.Rows, Columns: make([]*Column, len(a.names))}
	for i, at := range a.places[n] {
		if at < 0 {
			d.Columns[i] = missingColumn(a.types[i], b.Rows)
			continue
		}
		var err error
		v := &conversion{column: a.names[i], to: a.types[i], first: first}
		if d.Columns[i], err = v.of(ctx, b.Columns[at]); err != nil {
			return nil, value.ErrorOf(err, value.Failed).WithHint("give the column the same type in all tables, with with_types")
		}
	}
	return d, nil
}
