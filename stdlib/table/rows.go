package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// tableLacks returns a hint for a method that other libraries have and a table does not,
// or "".
func tableLacks(name string) string {
	known := map[string]string{
		"merge": `t.join(u, "key")`, "fillna": `t.fill_missing(0)`, "dropna": `t.drop_missing("column")`, "apply": `t.add_column("name", function)`,
		"assign": `t.add_column("name", function)`, "with_column": `t.add_column("name", function)`, "value_counts": `t.group_by("column").count()`,
		"unique": `t.distinct("column")`, "drop_duplicates": `t.distinct()`, "shape": "t.rows and t.columns", "size": "t.rows", "dtypes": "t.types", "astype": `t.with_types({"column": "integer"})`,
		"iterrows": "for row in t", "itertuples": "for row in t", "where": `t.filter("column", ">", 3)`, "query": `t.filter("column", ">", 3), or data.sql(query, {"t": t})`,
		"order_by": `t.sort("column")`, "sort_values": `t.sort("column")`, "groupby": `t.group_by("column").agg(n = "count")`, "pivot_table": `t.pivot("row", "column", "value", agg = "sum")`,
		"melt": "t.unpivot()", "append": "t.concat(u)", "to_dict": "t.to_records()", "info": "t.describe()", "loc": "t[0], and t.filter(…)", "iloc": "t[0], and t.head(n)",
		"sum": `t.agg(total = ("column", "sum"))`, "mean": `t.agg(mean = ("column", "mean"))`, "count": "t.rows", "write": "fs.write(path, t.to_csv())", "save": "fs.write(path, t.to_csv())",
	}
	if how, ok := known[name]; ok {
		return "write " + how
	}
	return ""
}

// kinds are the object types of the values that the rows of one [Module] return.
type kinds struct{ table, groups tool.ObjectType }

// Module returns the module data: the functions that return tables, and the types of
// tables and groups with their methods.
func Module() tool.Module {
	k, e := &kinds{}, &sqlEngine{}
	k.table = tool.ObjectType{
		Name: "table",
		Doc: "A table has rows and named columns. The type of a column is text, integer, float, bool, date, datetime (without a zone), " +
			"instant (in UTC) or any. Type any is for lists, objects and mixed types.\n\n" +
			"- `t[\"name\"]`: the values of a column as a list\n" +
			"- `t[0]`: a row as a dict; in Lua the first row is `t[1]`\n" +
			"- `len(t)`: the number of rows; in Lua `#t`\n" +
			"- `t.head(3)`: a method; in Lua with a colon, as in `t:head(3)`\n" +
			"- a loop iterates over the rows\n\n" +
			"A missing value is None, not the empty text. In Lua, a missing value in a row is null. null is true in a condition, so compare: `row.x == null`. " +
			"A table is immutable: each method returns a new table. For a file that is not kept in memory, at most 1,000 operations can be chained. " +
			"If a tool returns a table, its result is a list of dicts. print(t) shows the table as text. str(t) returns this text; in Lua, write tostring(t).",
		Lacks:   tableLacks,
		Fields:  bound(k, tableFields()),
		Methods: bound(k, slices.Concat(shapeRows(), filterRows(), combineRows(), groupRows(), describeRows(), chartRows(), writeRows())),
	}
	k.groups = tool.ObjectType{
		Name:    "groups",
		Doc:     "The rows of a table in groups, as returned by group_by.",
		Lacks:   func(string) string { return `as in t.group_by("city").agg(total = ("amount", "sum"), n = "count")` },
		Methods: bound(k, groupsRows()),
	}
	return tool.Module{
		Name:    "data",
		Doc:     "Tables from files and texts, and SQL queries on them.",
		Funcs:   bound(k, slices.Concat(readRows(e), sqlRows(e))),
		Objects: []*tool.ObjectType{&k.table, &k.groups},
	}
}

// A call is one call of a row.
type call struct {
	ctx   context.Context
	grant tool.Grant
	args  *value.Dict
	self  tool.Object // the receiver of a method, or nil
}

// A member is a [tool.Func] and its implementation.
type member struct {
	tool.Func
	do func(c *call) (value.Value, error)
}

// bound completes functions: the values that they return get the object types in k.
func bound(k *kinds, members []member) []tool.Func {
	funcs := make([]tool.Func, len(members))
	for i, r := range members {
		funcs[i] = r.Func
		funcs[i].Kind = tool.Pure
		if funcs[i].Mode == tool.ModePlain {
			funcs[i].Mode = tool.ModeObjects
		}
		funcs[i].Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			v, err := r.do(&call{ctx, g, e.Args, e.Self})
			if err != nil {
				return tool.Outcome{}, value.AsError(err, value.Failed)
			}
			switch made := v.(type) {
			case *Table:
				if made.kinds == nil {
					made.kinds = k
				}
			case *groups:
				made.kinds = k
			}
			return tool.Outcome{Value: v}, nil
		}
	}
	return funcs
}

// table returns the receiver of the method.
func (c *call) table() *Table { return c.self.(*Table) }

// value returns an argument, or nil.
func (c *call) value(name string) value.Value {
	v, _ := c.args.Get(name)
	return v
}

// otherTable returns an argument that is a table.
func (c *call) otherTable(name string) (*Table, error) {
	t, ok := c.value(name).(*Table)
	if !ok {
		return nil, value.Errorf(value.Invalid, "argument '%s' should be table but got %s", name, value.TypeOf(c.value(name))).
			WithHint("in a script, pass a table from data.read or data.parse")
	}
	return t, nil
}

// tableFields are the properties of a table, which are read without a call.
func tableFields() []member {
	return []member{
		{tool.Func{Name: "columns", Doc: "The names of the columns, in order.", Returns: "a list of texts"}, func(c *call) (value.Value, error) {
			return row.List(c.table().names), nil
		}},
		{tool.Func{Name: "types", Doc: "The type of each column.", Returns: `a dict, as in {"name": "text", "age": "integer"}`}, func(c *call) (value.Value, error) {
			d := &value.Dict{}
			for i, name := range c.table().names {
				d.Put(name, c.table().types[i].String())
			}
			return d, nil
		}},
		{tool.Func{Name: "rows", Doc: "The number of rows, the same as len(t).", Returns: "an integer"}, func(c *call) (value.Value, error) {
			n, err := c.table().Len(c.ctx, c.grant)
			return int64(n), err
		}},
		{tool.Func{Name: "notes", Doc: "Notes on how the table was read: the detected encoding and delimiter, renamed columns and filled rows.",
			Returns: "a list of texts"}, func(c *call) (value.Value, error) {
			return row.List(c.table().notes), nil
		}},
		{tool.Func{Name: "rejected", Doc: "The rows that data.read or data.parse left out with lenient = True: a table with the columns line, reason and text. It has the first 1,000; notes has their number. Only the table that data.read or data.parse returns has this property.",
			Returns: "a table"}, func(c *call) (value.Value, error) {
			if c.table().rejected == nil {
				return nil, value.Errorf(value.Invalid, "the table has no rejected rows: it was not read with data.read or data.parse").WithHint("in a script, use .rejected of the table that one of them returned")
			}
			return c.table().rejected, nil
		}},
	}
}
