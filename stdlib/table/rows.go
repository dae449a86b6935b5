package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tableLacks says how that is done of which a table has no method under the name
// that other libraries have for it.
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

// kinds are the types of the objects that the rows of one [Module] give.
type kinds struct{ table, groups tool.ObjectType }

// Module returns the module data: the functions that give tables, and with them
// the methods that tables have.
func Module() tool.Module {
	k := &kinds{}
	k.table = tool.ObjectType{
		Name: "table",
		Doc: "A table: rows under named columns, each of one type: text, integer, float, bool, date, datetime (without a zone), " +
			"instant (in UTC) or any (lists and objects, or several types). `t[\"name\"]` gives the values of a column as a list, " +
			"`t[0]` a row as a dict (in Lua the first row is `t[1]`), `len(t)` the number of rows, and a loop the rows. A missing value is None, " +
			"and is not the empty text; in a row in Lua it is null, which a condition takes for true, so compare: `row.x == null`. Nothing changes a table: each method gives another; of a file that is not kept in memory, at most 1,000 one from the other. Where a table leaves the script, as " +
			"a tool's result, it is a list of dicts; print(t) and str(t) show it as text.",
		Lacks:   tableLacks,
		Fields:  bound(k, tableFields()),
		Methods: bound(k, slices.Concat(shapeRows(), filterRows(), combineRows(), groupRows(), describeRows(), writeRows())),
	}
	k.groups = tool.ObjectType{
		Name:    "groups",
		Doc:     "The rows of a table in groups, as group_by gives them.",
		Lacks:   func(string) string { return `as in t.group_by("city").agg(total = ("amount", "sum"), n = "count")` },
		Methods: bound(k, groupsRows()),
	}
	return tool.Module{
		Name:    "data",
		Doc:     "Reads tables from files and texts, and asks SQL of them.",
		Funcs:   bound(k, slices.Concat(readRows(), sqlRows())),
		Objects: []*tool.ObjectType{&k.table, &k.groups},
	}
}

// A call is one call of a row.
type call struct {
	ctx   context.Context
	grant tool.Grant
	args  *value.Dict
	self  tool.Object // whose method it is, or nil
}

// A row is a [tool.Func] and what it does.
type row struct {
	tool.Func
	do func(c *call) (value.Value, error)
}

// bound completes rows: what they give are objects of these kinds.
func bound(k *kinds, rows []row) []tool.Func {
	funcs := make([]tool.Func, len(rows))
	for i, r := range rows {
		funcs[i] = r.Func
		funcs[i].Kind = tool.Pure
		funcs[i].Objects = true
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

// table is the table whose method is called.
func (c *call) table() *Table { return c.self.(*Table) }

// value is an argument, or nil.
func (c *call) value(name string) value.Value {
	v, _ := c.args.Get(name)
	return v
}

// names is an argument that is a list of texts.
func (c *call) names(name string) []string {
	items, _ := value.Elements(c.value(name))
	texts := make([]string, len(items))
	for i, v := range items {
		texts[i], _ = v.(string)
	}
	return texts
}

// otherTable is an argument that is a table.
func (c *call) otherTable(name string) (*Table, error) {
	t, ok := c.value(name).(*Table)
	if !ok {
		return nil, value.Errorf(value.Invalid, "argument '%s' should be table but got %s", name, value.TypeOf(c.value(name))).
			WithHint("data.read and data.parse give tables")
	}
	return t, nil
}

// tableFields are what is read of a table without a call.
func tableFields() []row {
	return []row{
		{tool.Func{Name: "columns", Doc: "The names of the columns, in their order.", Returns: "a list of texts"}, func(c *call) (value.Value, error) {
			return textList(c.table().names), nil
		}},
		{tool.Func{Name: "types", Doc: "The type of each column.", Returns: `a dict, as in {"name": "text", "age": "integer"}`}, func(c *call) (value.Value, error) {
			d := &value.Dict{}
			for i, name := range c.table().names {
				d.Put(name, c.table().types[i].String())
			}
			return d, nil
		}},
		{tool.Func{Name: "rows", Doc: "The number of rows, as len(t) gives it.", Returns: "an integer"}, func(c *call) (value.Value, error) {
			n, err := c.table().Len(c.ctx, c.grant)
			return int64(n), err
		}},
		{tool.Func{Name: "notes", Doc: "What was found out or decided when the table was read: its encoding and delimiter where they were not said, columns that were given a name, rows that were filled.",
			Returns: "a list of texts"}, func(c *call) (value.Value, error) {
			return textList(c.table().notes), nil
		}},
	}
}

func textList(texts []string) value.List {
	list := make(value.List, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}
