package table

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// filterRows are the methods that choose rows by what they hold, order them, and
// deal with missing values.
func filterRows() []row {
	some := tool.Maybe("columns", tool.TypeCharacter, `The names, as a list or one after the other; without any, all columns count.`)
	return []row{
		{tool.Func{
			Name: "filter",
			Doc: "Gives the rows for which something holds: a function of the row, or a comparison of a column, as in `t.filter(\"price\", \">\", 10)`. " +
				"The operators are == != < <= > >=, in and \"not in\" (with a list), contains, starts_with, ends_with and matches (a regular expression of RE2, found anywhere; all four for texts, and contains " +
				"for lists too), missing and present (without a value). Numbers are compared with numbers, texts with texts character by character, and a date or a time with a text that says one. " +
				"A missing value matches nothing but missing, not even != or \"not in\"; and NaN is unequal to all. In a column of type any, values of another kind than the one given are unequal to it. " +
				"The function gives True or False; None is False.",
			Params: []tool.Param{
				tool.Required("where", tool.TypeAny, "The name of a column, or a function that is given each row as a dict."),
				tool.Maybe("op", tool.TypeString, "The operator, after the name of a column."),
				tool.Maybe("value", tool.TypeAny, "What the column is compared with."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.filtered()) }},
		{tool.Func{
			Name: "sort",
			Doc: "Sorts the rows by columns, or by what a function gives for each row. Rows that are alike keep their order. Numbers are sorted by size, with NaN after them, texts by the code points of their " +
				"characters, and false before true; missing values come last, always. A column of type any is sorted if its values can be compared with each other: all numbers, all texts, all bools, or lists of such. " +
				"\"-name\" is that column from the largest.",
			Params: []tool.Param{
				tool.Maybe("by", "names", `The names, as a list or one after the other, the most important first; or a function that is given a row as a dict.`),
				tool.Optional("descending", tool.TypeBoolean, false, "Whether to sort from the largest."),
				tool.Maybe("key", "function", "Another way to give the function."),
			},
			Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.sorted()) }},
		{tool.Func{
			Name: "distinct", Doc: "Gives each row once, or the first row for each combination of values of some columns. The order stays. Two missing values are alike here.",
			Params: []tool.Param{some}, Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.distinct()) }},
		{tool.Func{
			Name: "sample", Doc: "Draws rows by chance, each at most once and all as likely. They stay in their order. All rows come where there are no more than n.",
			Params: []tool.Param{
				tool.Required("n", tool.TypeInteger, "How many."),
				tool.Maybe("seed", tool.TypeInteger, "A number that makes the choice the same each time. Without it, the call's random numbers are used, as the module random does."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.sampled()) }},
		{tool.Func{
			Name: "drop_missing", Doc: "Leaves out the rows in which a value is missing.",
			Params: []tool.Param{some}, Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withoutMissing()) }},
		{tool.Func{
			Name: "fill_missing",
			Doc: "Puts values in the place of missing ones. One value is for all columns whose type it fits; a dict gives a value for each column, and one that does not fit the type of its column is an error. " +
				"A date or a time is given as a text.",
			Params:  []tool.Param{tool.Required("value", tool.TypeAny, `The value; or values by the names of columns, as in {"price": 0, "note": ""}.`)},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.filled()) }},
	}
}

// filtered returns the rows that match.
func (c *call) filtered() (*Table, error) {
	op, _ := c.value("op").(string)
	switch where := c.value("where").(type) {
	case tool.Function:
		if op != "" || c.value("value") != nil {
			return nil, value.Errorf(value.Invalid, "filter takes a function, or a column with an operator and a value, not both")
		}
		return c.filteredBy(where)
	case string:
		return c.filteredWhere(where, op)
	default:
		return nil, value.Errorf(value.Invalid, "argument 'where' should be the name of a column or a function but got %s", value.TypeOf(where)).
			WithHint(`as in filter("price", ">", 10), or filter(lambda row: row["price"] > 10)`)
	}
}

// filteredWhere returns the rows whose value of a column matches.
func (c *call) filteredWhere(name, op string) (*Table, error) {
	t := c.table()
	at, err := t.column(name)
	if err != nil {
		if op == "" && strings.ContainsAny(name, "<>=") {
			return nil, value.Errorf(value.Invalid, "there is no column %s", quoteCut(name)).WithHint(`a condition is three arguments: filter("price", ">", 10)`)
		}
		return nil, err
	}
	switch {
	case op == "":
		return nil, value.Errorf(value.Invalid, "filter(%q) lacks an operator", cut(name)).WithHint(`as in filter(%q, "missing") or filter(%q, "==", value)`, name, cut(name))
	case op != "missing" && op != "present":
		return c.filteredTest(at, &condition{name, t.types[at], op, c.value("value")})
	case c.value("value") != nil:
		return nil, value.Errorf(value.Invalid, "%q takes no value", op)
	}
	want := op == "missing"
	return t.where(c.ctx, func(b *Batch, rows []int) []int {
		for i := range b.Rows {
			if b.Columns[at].missing(i) == want {
				rows = append(rows, i)
			}
		}
		return rows
	})
}

func (c *call) filteredTest(at int, n *condition) (*Table, error) {
	holds, err := n.test()
	if err != nil {
		return nil, err
	}
	return c.table().where(c.ctx, func(b *Batch, rows []int) []int {
		column := b.Columns[at]
		for i := range b.Rows {
			if !column.missing(i) && holds(column, i) {
				rows = append(rows, i)
			}
		}
		return rows
	})
}

// where returns the rows that choose appends the places of, batch by batch.
func (t *Table) where(ctx context.Context, choose func(b *Batch, rows []int) []int) (*Table, error) {
	if t.held == nil {
		return t.derived(ctx, t.names, t.types, -1, func() mapper {
			var rows []int // used again for each batch
			return func(_ context.Context, b *Batch) (*Batch, error) {
				rows = choose(b, rows[:0])
				if len(rows) == b.Rows {
					return b, nil
				}
				return b.pick(rows), nil
			}
		})
	}
	var rows, part []int
	for i := 0; i < t.rows; i += batchRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part = choose(t.held.slice(i, min(i+batchRows, t.rows)), part[:0])
		for _, at := range part {
			rows = append(rows, i+at)
		}
	}
	return newHeld(t.names, t.held.pick(rows), t.notes...), nil
}

// filteredBy returns the rows for which a function of the script says so.
func (c *call) filteredBy(f tool.Function) (*Table, error) {
	t, first := c.table(), 0
	return c.kept(func(b *Batch, rows []int) ([]int, error) {
		for i := range b.Rows {
			keep, err := c.holds(f, t.record(b, i), first+i)
			if err != nil {
				return nil, err
			}
			if keep {
				rows = append(rows, i)
			}
		}
		first += b.Rows
		return rows, nil
	})
}

// kept holds the rows that choose appends the places of, batch by batch: it is
// asked once about each row, and now.
func (c *call) kept(choose func(b *Batch, rows []int) ([]int, error)) (*Table, error) {
	t := c.table()
	kept := newBatch(t.types)
	budget := newBudget(c.grant)
	var rows []int
	err := t.each(c.ctx, c.grant, func(b *Batch) (err error) {
		if rows, err = choose(b, rows[:0]); err != nil {
			return err
		}
		b = b.pick(rows).owned()
		kept.extend(b)
		return budget.take(b.size())
	})
	if err != nil {
		return nil, err
	}
	return newHeld(t.names, kept, t.notes...), nil
}

// holds asks a function of the script about a row.
func (c *call) holds(f tool.Function, record value.Value, row int) (bool, error) {
	if err := c.ctx.Err(); err != nil {
		return false, err
	}
	v, err := f(record)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil // as of r["x"] and r["x"] > 3, where it is missing
	default:
		return false, value.Errorf(value.Invalid, "row %d: the function gave %s, not True or False", row+1, valueShown(v))
	}
}
