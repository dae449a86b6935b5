package table

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// filterRows are the methods that select rows by their values, sort them, and handle
// missing values.
func filterRows() []member {
	some := tool.Maybe("columns", tool.TypeCharacter, `The names, as a list or as separate arguments. Default: all columns.`)
	return []member{
		{tool.Func{
			Name: "filter",
			Doc: "Return the rows that match. Pass a function, or compare a column with a value, as in `t.filter(\"price\", \">\", 10)`. The operators are:\n\n" +
				"- == != < <= > >=\n" +
				"- in and \"not in\", with a list\n" +
				"- contains, for texts and lists\n" +
				"- starts_with and ends_with, for texts\n" +
				"- matches, for texts: a regular expression (RE2) that may match anywhere\n" +
				"- missing and present, without a value\n\n" +
				"Numbers are compared with numbers, and texts with texts, character by character. A date or time is compared with a text in ISO 8601. " +
				"A missing value matches only the operator missing. NaN is unequal to everything. In a column of type any, values of different types are unequal. " +
				"A function must return True if the row matches, else False or None.",
			Params: []tool.Param{
				tool.Required("where", tool.TypeAny, "The name of a column, or a function that takes a row as a dict."),
				tool.Maybe("op", tool.TypeString, "The operator, after the name of a column."),
				tool.Maybe("value", tool.TypeAny, "The value to compare with."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.filtered()) }},
		{tool.Func{
			Name: "sort",
			Doc: "Sort the rows by columns, or by the results of a function for each row. Equal rows keep their order. A name with a minus, such as \"-price\", sorts by the column price in descending order. Numbers are sorted by size. NaN comes after all numbers. Texts are sorted by the code points of their characters. False comes before True. " +
				"Missing values always come last. A column of type any can be sorted if it has only numbers, only texts, only bools, or only lists of one of these types.",
			Params: []tool.Param{
				tool.Maybe("by", "names", `The names, as a list or as separate arguments; or a function that takes a row as a dict. The first name is the most important.`),
				tool.Optional("descending", tool.TypeBoolean, false, "Whether to sort in descending order."),
				tool.Maybe("key", "function", "A function, as in key = f. You can also pass the function as the first argument."),
			},
			Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.sorted()) }},
		{tool.Func{
			Name: "distinct", Doc: "Return the distinct rows, in order. With columns, return the first row for each combination of their values. For this function, all missing values are equal.",
			Params: []tool.Param{some}, Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.distinct()) }},
		{tool.Func{
			Name: "sample", Doc: "Return n random rows, in the order of the table. No row is repeated. All rows are equally probable. A table with fewer rows is returned completely.",
			Params: []tool.Param{
				tool.Required("n", tool.TypeInteger, "The number of rows."),
				tool.Maybe("seed", tool.TypeInteger, "The seed of the random choice. The same seed gives the same rows. Default: a random seed, which is recorded with the call, as in the module random."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.sampled()) }},
		{tool.Func{
			Name: "drop_missing", Doc: "Remove the rows that have a missing value.",
			Params: []tool.Param{some}, Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withoutMissing()) }},
		{tool.Func{
			Name: "fill_missing",
			Doc: "Replace missing values. A single value is used for all columns with a suitable type. A dict has values by column name. Columns that are not in the dict are not changed. A value in the dict with the wrong type for its column is an error. " +
				"Pass dates and times as texts.",
			Params:  []tool.Param{tool.Required("value", tool.TypeAny, `The value, or values by column name, as in {"price": 0, "note": ""}.`)},
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
			return nil, value.Errorf(value.Invalid, "filter: pass a function, or a column with an operator and a value, not both")
		}
		return c.filteredBy(where)
	case string:
		return c.filteredWhere(where, op)
	default:
		return nil, value.Errorf(value.Invalid, "argument 'where' should be the name of a column or a function but got %s", value.TypeOf(where)).
			WithHint(`for example: filter("price", ">", 10), or filter(lambda row: row["price"] > 10)`)
	}
}

// filteredWhere returns the rows whose value in a column matches.
func (c *call) filteredWhere(name, op string) (*Table, error) {
	t := c.table()
	at, err := t.column(name)
	if err != nil {
		if op == "" && strings.ContainsAny(name, "<>=") {
			return nil, value.Errorf(value.Invalid, "no column %s", quoteCut(name)).WithHint(`in a script, write a condition as three arguments: filter("price", ">", 10)`)
		}
		return nil, err
	}
	switch {
	case op == "":
		return nil, value.Errorf(value.Invalid, "filter(%q): expected an operator after the column", cut(name)).WithHint(`for example: filter(%[1]q, "==", value); or filter(%[1]q, "missing") for the rows without a value`, cut(name))
	case op != "missing" && op != "present":
	case c.value("value") != nil:
		return nil, value.Errorf(value.Invalid, "operator %q does not accept a value", op)
	}
	holds, err := (&condition{name, t.types[at], op, c.value("value")}).test()
	if err != nil {
		return nil, err
	}
	return t.where(c.ctx, func(b *Batch, rows []int) []int {
		column := b.Columns[at]
		for i := range b.Rows {
			if column.missing(i) && op == "missing" || !column.missing(i) && holds(column, i) {
				rows = append(rows, i)
			}
		}
		return rows
	})
}

// where returns the selected rows. choose appends the indexes of the rows of a batch.
func (t *Table) where(ctx context.Context, choose func(b *Batch, rows []int) []int) (*Table, error) {
	if t.held == nil {
		return t.derived(ctx, t.names, t.types, -1, func() mapper {
			var rows []int // reused for each batch
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

// filteredBy returns the rows for which a function of the script returns True.
func (c *call) filteredBy(f tool.Function) (*Table, error) {
	t, first := c.table(), 0
	return c.keepRows(func(b *Batch, rows []int) ([]int, error) {
		for i := range b.Rows {
			keep, err := c.test(f, t.record(b, i), first+i)
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

// keepRows returns the selected rows in memory. choose appends the indexes of the rows
// of a batch. It is called immediately, and once for each row.
func (c *call) keepRows(choose func(b *Batch, rows []int) ([]int, error)) (*Table, error) {
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

// test calls a function of the script with a row.
func (c *call) test(f tool.Function, record value.Value, row int) (bool, error) {
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
		return false, nil // as in r["x"] and r["x"] > 3 with a missing value
	default:
		return false, value.Errorf(value.Invalid, "row %d: expected True or False from the function but got %s", row+1, valueShown(v))
	}
}
