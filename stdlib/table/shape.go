package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// shapeRows are the methods that choose, rename and add columns, and choose rows by
// their position.
func shapeRows() []member {
	columns := tool.Required("columns", tool.TypeCharacter, `The names, as a list or as separate arguments: "a", "b".`)
	return []member{
		{tool.Func{
			Name: "head", Doc: "Return the first rows.",
			Params:  []tool.Param{tool.Optional("n", tool.TypeInteger, int64(5), "The number of rows.")},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.head()) }},
		{tool.Func{
			Name: "tail", Doc: "Return the last rows.",
			Params:  []tool.Param{tool.Optional("n", tool.TypeInteger, int64(5), "The number of rows.")},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.tail()) }},
		{tool.Func{
			Name: "select", Doc: "Return the named columns, in the order in which you name them. Naming a column twice is an error.",
			Params: []tool.Param{columns}, Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.selected()) }},
		{tool.Func{
			Name: "drop", Doc: "Remove some of the columns. At least one must remain.",
			Params: []tool.Param{columns}, Mode: tool.ModeVariadic, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.dropped()) }},
		{tool.Func{
			Name: "rename", Doc: "Rename columns. Two columns with the same name are an error.",
			Params:  []tool.Param{tool.Required("names", tool.TypeObject, `The new names by the old names, as in {"old": "new"}.`)},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.renamed()) }},
		{tool.Func{
			Name: "column", Doc: `Return the values of a column, like t["name"]. In Lua, use this method for a column with the name of a method.`,
			Params:  []tool.Param{tool.Required("name", tool.TypeString, "The name of the column.")},
			Returns: "a list; a missing value is None",
		}, func(c *call) (value.Value, error) {
			return c.table().valuesOf(c.ctx, c.grant, c.args.Text("name"))
		}},
		{tool.Func{
			Name: "add_column",
			Doc: "Add a column at the end, or replace the column with that name. The type is inferred from the values: integer, float (also for integers mixed with floats), " +
				"bool, text, or any for lists, dicts and mixed values. None is a missing value. A text that looks like a date stays a text. To convert such texts, pass type = \"date\".",
			Params: []tool.Param{
				tool.Required("name", tool.TypeString, "The name of the column."),
				tool.Param{Name: "values", Type: tool.Type{Name: tool.TypeAny, Nullable: true}, Required: true,
					Description: "A list with a value for each row; or one text, number, bool or None for all rows; or a function that takes a row as a dict and returns the value."},
				tool.Maybe("type", tool.TypeString, "The type of the column. The values are converted by the rules of with_types."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withColumn()) }},
		{tool.Func{
			Name: "with_types",
			Doc: "Convert columns to other types:\n\n" +
				"- A text is parsed as a number as in JSON, as true or false, or as a date or time in ISO 8601. Spaces around the text are ignored.\n" +
				"- A float without a fraction converts to integer. An integer converts to float if the float has exactly this value.\n" +
				"- A bool converts to 0 or 1, and 0 and 1 convert to bool.\n" +
				"- A date converts to midnight of the day. A datetime or instant converts to a date only if it is midnight.\n" +
				"- A datetime converts to an instant in UTC, and an instant to a datetime.\n" +
				"- Every value converts to text, and to any.\n\n" +
				"All other conversions are errors, which name the row and the column. If a file is not kept in memory, the error occurs when its rows are read.",
			Params: []tool.Param{
				tool.Required("types", tool.TypeObject, `The new types by column name, as in {"age": "integer"}. The types are text, integer, float, bool, date, datetime, instant and any.`),
				tool.Optional("errors", tool.TypeString, "fail", `What happens if a value cannot be converted: "fail" causes an error, and "missing" makes the value missing.`),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withTypes()) }},
		{tool.Func{
			Name: "show",
			Doc: "Format the table like print(t): names, types, the first and the last rows, and the number of rows. Numbers are right-aligned and rounded to 10 digits. " +
				"A missing value is shown as –. Ambiguous texts are in double quotes, as in JSON: the empty text, the text –, texts with spaces around them, and texts with control characters. " +
				"Long cells are shortened. If lines would be too long, columns in the middle are omitted.",
			Params: []tool.Param{
				tool.Optional("rows", tool.TypeInteger, int64(shownRows), "The maximum number of rows."),
				tool.Optional("width", tool.TypeInteger, int64(shownWidth), "The maximum number of characters in a line."),
				tool.Optional("parts", tool.TypeBoolean, false, partsDoc),
			},
			Returns: "a text, or a dict with parts = True",
		}, func(c *call) (value.Value, error) {
			rows, err := c.count("rows")
			if err != nil {
				return nil, err
			}
			width, err := c.count("width")
			if err != nil {
				return nil, err
			}
			x, err := c.table().excerpt(c.ctx, c.grant, rows)
			if err != nil {
				return nil, err
			}
			text, err := x.text(c.grant, width)
			if err == nil && c.args.Bool("parts") {
				return textAndParts(text, x.parts()), nil
			}
			return text, err
		}},
	}
}

// count returns an argument that is a number of rows.
func (c *call) count(name string) (int, error) {
	n := c.args.Int(name)
	if n < 0 {
		return 0, value.Errorf(value.Invalid, "argument '%s' must be >= 0 (got %d)", name, n)
	}
	return int(n), nil
}

// head returns the first rows.
func (c *call) head() (*Table, error) {
	n, err := c.count("n")
	if err != nil {
		return nil, err
	}
	t := c.table()
	if t.held != nil {
		return newHeld(t.names, t.held.slice(0, min(n, t.rows)), t.notes...), nil
	}
	if n == 0 {
		return newHeld(t.names, newBatch(t.types), t.notes...), nil
	}
	rows := -1
	if t.rows >= 0 {
		rows = min(n, t.rows)
	}
	return t.streamed(t.names, t.types, rows, func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
		left := n
		err := t.walk(ctx, g, func(b *Batch) error {
			b = b.slice(0, min(left, b.Rows))
			left -= b.Rows
			if err := yield(b); err != nil || left > 0 {
				return err
			}
			return errStop
		})
		if err == errStop && left == 0 {
			return nil
		}
		return err
	})
}

// tail returns the last rows. While it reads a table that is not held, it keeps only the
// batches that contain them.
func (c *call) tail() (*Table, error) {
	n, err := c.count("n")
	if err != nil {
		return nil, err
	}
	t := c.table()
	if t.held != nil {
		return newHeld(t.names, t.held.slice(max(0, t.rows-n), t.rows), t.notes...), nil
	}
	var kept []*Batch
	rows := 0
	budget := newBudget(c.grant)
	err = t.each(c.ctx, c.grant, func(b *Batch) error {
		kept = append(kept, b)
		rows += b.Rows
		for len(kept) > 0 && rows-kept[0].Rows >= n {
			rows -= kept[0].Rows
			if err := budget.take(-kept[0].size()); err != nil {
				return err
			}
			kept = kept[1:]
		}
		return budget.take(b.size())
	})
	if err != nil {
		return nil, err
	}
	all := newBatch(t.types)
	for _, b := range kept {
		all.extend(b.owned())
	}
	return newHeld(t.names, all.slice(max(0, rows-n), rows), t.notes...), nil
}

// selected returns the named columns.
func (c *call) selected() (*Table, error) {
	names := row.Strings(c.args, "columns")
	if name, twice := repeated(names); twice {
		return nil, namedTwice(name)
	}
	indexes, err := c.table().columns(names)
	if err != nil {
		return nil, err
	}
	return c.table().only(c.ctx, indexes)
}

// dropped returns the columns that are not named.
func (c *call) dropped() (*Table, error) {
	t := c.table()
	names := row.Strings(c.args, "columns")
	if _, err := t.columns(names); err != nil {
		return nil, err
	}
	var indexes []int
	out := setOf(names)
	for at, name := range t.names {
		if !out[name] {
			indexes = append(indexes, at)
		}
	}
	return t.only(c.ctx, indexes)
}

// only returns the columns at these indexes, in the order of the indexes.
func (t *Table) only(ctx context.Context, indexes []int) (*Table, error) {
	if len(indexes) == 0 {
		return nil, value.Errorf(value.Invalid, "the result has no columns").WithHint("the columns are %s", someNames(t.names))
	}
	names, types := make([]string, len(indexes)), make([]Type, len(indexes))
	for i, at := range indexes {
		names[i], types[i] = t.names[at], t.types[at]
	}
	from := *t
	if t.held == nil && t.part != nil {
		from.scan = t.part(indexes)
	}
	return from.derived(ctx, names, types, t.rows, func() mapper {
		return func(_ context.Context, b *Batch) (*Batch, error) {
			return &Batch{Rows: b.Rows, Columns: b.chosen(indexes)}, nil
		}
	})
}

// renamed returns the same columns under other names.
func (c *call) renamed() (*Table, error) {
	t := c.table()
	names := slices.Clone(t.names)
	given, _ := c.value("names").(*value.Dict)
	find := t.finder(given.Len())
	for from, to := range given.All() {
		old, isOld := from.(string)
		name, isNew := to.(string)
		if !isOld || !isNew || name == "" {
			return nil, value.Errorf(value.Invalid, `argument 'names' should be a dict from old to new column names, as in {"old": "new"}`)
		}
		at, err := find(old)
		if err != nil {
			return nil, err
		}
		names[at] = name
	}
	seen := make(map[string]int, len(names))
	for i, name := range names {
		if other, twice := seen[name]; twice {
			return nil, value.Errorf(value.Invalid, "rename: columns %q and %q have the same new name %q", cut(t.names[other]), cut(t.names[i]), cut(name))
		}
		seen[name] = i
	}
	return t.derived(c.ctx, names, t.types, t.rows, func() mapper {
		return func(_ context.Context, b *Batch) (*Batch, error) { return b, nil }
	})
}

// withTypes returns the table with columns converted to other types.
func (c *call) withTypes() (*Table, error) {
	t := c.table()
	given, err := c.typesOf("types")
	if err != nil {
		return nil, err
	}
	rule := c.args.Text("errors")
	if rule != "fail" && rule != "missing" {
		return nil, value.Errorf(value.Invalid, `argument 'errors' should be "fail" or "missing", not %s`, valueShown(rule))
	}
	dict, _ := c.value("types").(*value.Dict)
	types, find := slices.Clone(t.types), t.finder(dict.Len())
	for name := range dict.All() { // in the order of the script, so the first of several errors is reported
		at, err := find(name.(string))
		if err != nil {
			return nil, err
		}
		types[at] = given[t.names[at]]
		if err := (&conversion{column: t.names[at], to: types[at]}).check(t.types[at]); err != nil {
			return nil, err
		}
	}
	return t.derived(c.ctx, t.names, types, t.rows, func() mapper { return t.conversions(types, rule == "missing") })
}

// conversions returns a mapper that converts the columns of t to these types.
func (t *Table) conversions(types []Type, missing bool) mapper {
	first := 0
	return func(ctx context.Context, b *Batch) (*Batch, error) {
		d := &Batch{Rows: b.Rows, Columns: make([]*Column, len(types))}
		for i, column := range b.Columns {
			v := &conversion{column: t.names[i], to: types[i], missing: missing, first: first}
			var err error
			if d.Columns[i], err = v.convert(ctx, column); err != nil {
				return nil, err
			}
		}
		first += b.Rows
		return d, nil
	}
}
