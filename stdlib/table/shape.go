package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// shapeRows are the methods that choose, name and make columns, and choose rows by
// their place.
func shapeRows() []row {
	columns := tool.Required("columns", tool.TypeCharacter, `The names, as a list or one after the other: "a", "b".`)
	return []row{
		{tool.Func{
			Name: "head", Doc: "Gives the first rows.",
			Params:  []tool.Param{tool.Optional("n", tool.TypeInteger, int64(5), "How many.")},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.head()) }},
		{tool.Func{
			Name: "tail", Doc: "Gives the last rows.",
			Params:  []tool.Param{tool.Optional("n", tool.TypeInteger, int64(5), "How many.")},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.tail()) }},
		{tool.Func{
			Name: "select", Doc: "Gives some of the columns, in the order in which they are named. One that is named twice is an error.",
			Params: []tool.Param{columns}, Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.selected()) }},
		{tool.Func{
			Name: "drop", Doc: "Leaves out some of the columns. One must remain.",
			Params: []tool.Param{columns}, Variadic: true, Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.dropped()) }},
		{tool.Func{
			Name: "rename", Doc: "Gives columns other names. Two columns of one name are an error.",
			Params:  []tool.Param{tool.Required("names", tool.TypeObject, `The new name by the old one, as in {"old": "new"}.`)},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.renamed()) }},
		{tool.Func{
			Name: "column", Doc: `Gives the values of a column, as t["name"] does. In Lua, this is the way to a column that has the name of a method.`,
			Params:  []tool.Param{tool.Required("name", tool.TypeString, "The name of the column.")},
			Returns: "a list; a missing value is None",
		}, func(c *call) (value.Value, error) {
			return c.table().valuesOf(c.ctx, c.grant, c.args.Text("name"))
		}},
		{tool.Func{
			Name: "add_column",
			Doc: "Adds a column at the end, or puts another in the place of the one that has its name. Its type is found out from the values: integers, floats (with integers " +
				"among them), bools, texts, and any for lists, dicts and a mixture; None is missing. A text is text even where it says a date, unless type = \"date\" is given.",
			Params: []tool.Param{
				tool.Required("name", tool.TypeString, "The name of the column."),
				tool.Param{Name: "values", Type: tool.Type{Name: tool.TypeAny, Nullable: true}, Required: true,
					Description: "A function that is given each row as a dict and gives its value; or a list with a value for each row; or one text, number, bool or None for all."},
				tool.Maybe("type", tool.TypeString, "The type of the column. The values are converted as with_types does it."),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withColumn()) }},
		{tool.Func{
			Name: "with_types",
			Doc: "Converts columns to other types. A text becomes what it says, spaces around it apart: a number as JSON writes it, true or false, a date or a time by ISO 8601. A float " +
				"becomes an integer where it is whole, a bool 0 or 1, and 0 or 1 a bool. A date is the midnight with which it begins, a datetime an instant in UTC, and the other way round; what is not " +
				"midnight does not become a date. Everything becomes text or any. A value that does not fit is an error, which names row and column; of a table that is read from a large file it comes when its rows are read.",
			Params: []tool.Param{
				tool.Required("types", tool.TypeObject, `The new type by the name of the column, as in {"age": "integer"}: text, integer, float, bool, date, datetime, instant or any.`),
				tool.Optional("errors", tool.TypeString, "fail", `fail or missing: with missing, a value that does not fit becomes a missing one.`),
			},
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return asTable(c.withTypes()) }},
		{tool.Func{
			Name: "show",
			Doc: "Shows the table as print(t) does: names, types, the first and the last rows, and how many there are. Numbers are right-aligned and rounded to 10 digits, " +
				"a missing value is –, and a text that could be taken for something else (empty, –, with spaces around it or control characters) is in double quotes, as in JSON. " +
				"Long cells are cut, and columns in the middle left out where the line would become too long.",
			Params: []tool.Param{
				tool.Optional("rows", tool.TypeInteger, int64(shownRows), "At most how many rows."),
				tool.Optional("width", tool.TypeInteger, int64(shownWidth), "At most how many characters a line has."),
			},
			Returns: "a text",
		}, func(c *call) (value.Value, error) {
			rows, err := c.count("rows")
			if err != nil {
				return nil, err
			}
			width, err := c.count("width")
			if err != nil {
				return nil, err
			}
			return c.table().render(c.ctx, c.grant, rows, width)
		}},
	}
}

// count is an argument that says how many.
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

// tail returns the last rows. Of a table that is not held, it keeps no more than
// these while it reads.
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

// selected returns the columns that are named.
func (c *call) selected() (*Table, error) {
	names := c.names("columns")
	if name, twice := repeated(names); twice {
		return nil, namedTwice(name)
	}
	places, err := c.table().columns(names)
	if err != nil {
		return nil, err
	}
	return c.table().only(c.ctx, places)
}

// dropped returns the columns that are not named.
func (c *call) dropped() (*Table, error) {
	t := c.table()
	without, err := t.columns(c.names("columns"))
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(t.names))
	for _, at := range without {
		out[at] = true
	}
	var places []int
	for at := range t.names {
		if !out[at] {
			places = append(places, at)
		}
	}
	return t.only(c.ctx, places)
}

// only returns the columns at these places, in their order.
func (t *Table) only(ctx context.Context, places []int) (*Table, error) {
	if len(places) == 0 {
		return nil, value.Errorf(value.Invalid, "no column would remain").WithHint("the columns are %s", someNames(t.names))
	}
	names, types := make([]string, len(places)), make([]Type, len(places))
	for i, at := range places {
		names[i], types[i] = t.names[at], t.types[at]
	}
	from := *t
	if t.held == nil && t.part != nil {
		from.scan = t.part(places)
	}
	return from.derived(ctx, names, types, t.rows, func() mapper {
		return func(_ context.Context, b *Batch) (*Batch, error) {
			return &Batch{Rows: b.Rows, Columns: b.chosen(places)}, nil
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
			return nil, value.Errorf(value.Invalid, `argument 'names' should give the new name of each column by the old one, as in {"old": "new"}`)
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
			return nil, value.Errorf(value.Invalid, "columns %q and %q would both be named %q", cut(t.names[other]), cut(t.names[i]), cut(name))
		}
		seen[name] = i
	}
	return t.derived(c.ctx, names, t.types, t.rows, func() mapper {
		return func(_ context.Context, b *Batch) (*Batch, error) { return b, nil }
	})
}

// withTypes returns the columns in other types.
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
	for name := range dict.All() { // in the order of the script, so that of two errors it is always the first
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

// conversions makes the mapper that converts the columns of t to these types.
func (t *Table) conversions(types []Type, missing bool) mapper {
	first := 0
	return func(ctx context.Context, b *Batch) (*Batch, error) {
		d := &Batch{Rows: b.Rows, Columns: make([]*Column, len(types))}
		for i, column := range b.Columns {
			v := &conversion{column: t.names[i], to: types[i], missing: missing, first: first}
			var err error
			if d.Columns[i], err = v.of(ctx, column); err != nil {
				return nil, err
			}
		}
		first += b.Rows
		return d, nil
	}
}
