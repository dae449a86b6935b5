package table

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// groups are the rows of a table in groups, the result of group_by.
type groups struct {
	kinds   *kinds
	table   *Table
	columns []int // the columns of the key; without any, all rows are one group
}

// Type implements [tool.Object].
func (s *groups) Type() *tool.ObjectType { return &s.kinds.groups }

func (s *groups) TypeName() string { return s.kinds.groups.Name }

// Plain implements [tool.Object].
func (s *groups) Plain(context.Context, tool.Grant) (value.Value, error) {
	return nil, value.Errorf(value.Failed, "expected data but got the groups of a table").WithHint("call agg(…), and use the table that it returns")
}

// Text implements [tool.Object].
func (s *groups) Text(context.Context, tool.Grant) (string, error) {
	return "<groups of a table: call agg(…)>", nil
}

const aggDoc = "Pass one named argument for each column of the result, as in `agg(total = (\"amount\", \"sum\"), n = \"count\")`. The name of the argument is the name of the column. The value is a pair of a column and a function. In Lua, write `agg{total = {\"amount\", \"sum\"}, n = \"count\"}`. The value \"count\", without a column, counts the rows. The functions are:\n\n" +
	"- count and missing: the numbers of present and missing values\n" +
	"- distinct: the number of different values\n" +
	"- first and last: the first and the last value that is present\n" +
	"- min and max: for all types except any\n" +
	"- sum and mean: for numbers and bools\n" +
	"- stdev and variance: for numbers; the values are treated as a sample\n" +
	"- median, q1, q3 and p01 to p99: quantiles, for numbers, dates, datetimes and instants\n\n" +
	"These rules apply:\n\n" +
	"- Missing values are ignored. If a column has only missing values, count and distinct are 0, and the other results are missing.\n" +
	"- A sum of integers is an integer. If a sum does not fit in 64 bits, the column is float.\n" +
	"- NaN is a value. Sums, means and deviations with NaN are NaN. min, max and quantiles ignore NaN.\n" +
	"- Quantiles are interpolated linearly between the two nearest values, as in R and numpy. Between dates, the result is rounded down.\n" +
	"- distinct is exact up to 10,000 values in a group. Larger results are estimates, within 2 %.\n" +
	"- The quantiles of a group with more than 100,000 values are estimates, accurate to half a percentile. If all groups together have more than 1,000,000 values, this applies to groups with more than 2,048 values.\n\n" +
	"All estimates are listed in `notes` of the result."

func groupRows() []member {
	return append([]member{
		{tool.Func{
			Name: "group_by",
			Doc: "Group the rows with the same values in some columns. To make a table of the groups, call agg. " +
				"Missing values are one group. Groups are in the order of their first row.",
			Params:  []tool.Param{tool.Required("columns", tool.TypeCharacter, "The names, as a list or as separate arguments; at least one.")},
			Mode:    tool.ModeVariadic,
			Returns: "groups",
		}, groupBy},
		{tool.Func{
			Name:    "agg",
			Doc:     "Return a table with one row that aggregates all rows. " + aggDoc,
			Rest:    "columns",
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return agg(c, &groups{table: c.table()}) }},
	}, pivotRows()...)
}

func groupsRows() []member {
	return []member{
		{tool.Func{
			Name:    "agg",
			Doc:     "Return a table with a row for each group: the columns of group_by, then a column for each argument. " + aggDoc,
			Rest:    "columns",
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return agg(c, c.self.(*groups)) }},
		{tool.Func{
			Name:    "count",
			Doc:     "Count the rows of each group. The largest group is first. Groups of equal size are in the order of their first row.",
			Params:  []tool.Param{tool.Optional("name", tool.TypeString, "count", "The name of the column of counts.")},
			Returns: "a table",
		}, countGroups},
	}
}

func groupBy(c *call) (value.Value, error) {
	t, names := c.table(), row.Strings(c.args, "columns")
	if len(names) == 0 {
		return nil, value.Errorf(value.Invalid, "group_by needs a column").WithHint("the columns are %s", someNames(t.names))
	}
	indexes, err := t.columns(names)
	if err != nil {
		return nil, err
	}
	if name, twice := repeated(names); twice {
		return nil, namedTwice(name)
	}
	return &groups{table: t, columns: indexes}, nil
}

func agg(c *call, s *groups) (value.Value, error) {
	wanted, _ := c.value("columns").(*value.Dict)
	if wanted == nil || wanted.Len() == 0 {
		return nil, value.Errorf(value.Invalid, "agg needs at least one column to compute").
			WithHint("in a script, write agg(n = \"count\", total = (\"amount\", \"sum\"))")
	}
	a := &aggregates{}
	for name, v := range wanted.All() {
		if err := s.addAggregate(a, name.(string), v); err != nil {
			return nil, err
		}
	}
	return s.reduce(c.ctx, c.grant, a)
}

// addAggregate adds the aggregate of one argument of agg.
func (s *groups) addAggregate(a *aggregates, name string, v value.Value) error {
	for _, at := range s.columns {
		if s.table.names[at] == name {
			return value.Errorf(value.Invalid, "agg: column %q already exists: it is a column of group_by", cut(name)).WithHint("use another name")
		}
	}
	from, function := -1, ""
	switch items, _ := value.Elements(v); {
	case len(items) == 2:
		column, ok := items[0].(string)
		function, _ = items[1].(string)
		if !ok || function == "" {
			return wrongAggregate(name)
		}
		at, err := s.table.column(column)
		if err != nil {
			return err
		}
		from = at
	default:
		if function, _ = v.(string); function == "" {
			return wrongAggregate(name)
		}
	}
	if err := checkFit(s.table, function, from); err != nil {
		return err
	}
	t := Any
	if from >= 0 {
		t = s.table.types[from]
	}
	a.put(name, function, from, t, s.table.held == nil)
	return nil
}

func wrongAggregate(name string) error {
	return value.Errorf(value.Invalid, "agg: the value of %q should be \"count\", or a column and a function", cut(name)).
		WithHint("write %s = (\"amount\", \"sum\")", cut(name))
}

// reduce reads the rows once and returns a row for each group.
func (s *groups) reduce(ctx context.Context, g tool.Grant, a *aggregates) (*Table, error) {
	b := newBudget(g)
	keys := s.keys()
	err := s.table.eachOf(ctx, g, a.columns(s.columns), func(rows *Batch) error {
		before := keys.n
		ids, bytes := keys.ids(rows)
		for k, with := range a.shared {
			var c *Column
			if k.from >= 0 {
				c = rows.Columns[k.from]
			}
			bytes += with.add(keys.n, ids, c)
		}
		// Slices that grow are copied, and temporarily take twice their size.
		bytes += int64(keys.n-before) * 2 * a.bytes
		if b.take(bytes) != nil {
			return tooManyGroups(keys.n, b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(s.columns)+len(a.list))
	made := &Batch{Rows: keys.n, Columns: keys.values.Columns}
	for _, at := range s.columns {
		names = append(names, s.table.names[at])
	}
	for _, x := range a.list {
		names = append(names, x.name)
		made.Columns = append(made.Columns, x.column(keys.n))
	}
	return newHeld(names, made, a.notes(s.table)...), nil
}

// columns returns the columns to read, including the keys.
func (a *aggregates) columns(keys []int) []int {
	indexes := slices.Clone(keys)
	for k := range a.shared {
		if k.from >= 0 {
			indexes = append(indexes, k.from)
		}
	}
	return indexes
}

func tooManyGroups(n int, b *budget) error {
	return b.over(counted(n, "group")).
		WithHint("group by columns with fewer values, or compute fewer columns; in a script, declare limits = {\"memory\": …}")
}

// notes lists the columns that are estimates.
func (a *aggregates) notes(t *Table) []string {
	var notes []string
	for _, x := range a.list {
		switch with := x.with.(type) {
		case *groupDistinct:
			if with.estimated {
				notes = append(notes, x.name+" is an estimate above 10,000 distinct values, within 2 %")
			}
		case *groupQuantiles:
			if with.estimated() {
				notes = append(notes, x.name+" is an estimate, accurate to half a percentile, for groups with many values")
			}
		}
	}
	return notes
}

func countGroups(c *call) (value.Value, error) {
	s := c.self.(*groups)
	a := &aggregates{}
	name := c.args.Text("name")
	if err := s.addAggregate(a, name, "count"); err != nil {
		return nil, err
	}
	t, err := s.reduce(c.ctx, c.grant, a)
	if err != nil {
		return nil, err
	}
	counts := t.held.Columns[len(t.names)-1].Ints
	order := upTo(t.rows)
	slices.SortStableFunc(order, func(i, j int) int { return int(counts[j] - counts[i]) })
	return newHeld(t.names, t.held.pick(order)), nil
}

// groupKeys numbers the groups of rows in the order of their first row.
type groupKeys struct {
	columns []int
	by      []*interner        // one for each column
	pairs   []map[uint64]int32 // the group by the previous columns and the value of the next one
	n       int
	values  *Batch // the values of the groups
	buffer  [2][]int32
}

func (s *groups) keys() *groupKeys {
	k := &groupKeys{columns: s.columns, values: &Batch{}}
	for i, at := range s.columns {
		k.by = append(k.by, newInterner(s.table.held == nil))
		if i > 0 {
			k.pairs = append(k.pairs, map[uint64]int32{})
		}
		k.values.Columns = append(k.values.Columns, newColumn(s.table.types[at], 0))
	}
	if len(s.columns) == 0 {
		k.n = 1
	}
	return k
}

// ids returns the group of each row, and the number of bytes that new groups take. The
// ids are valid until the next call.
func (k *groupKeys) ids(rows *Batch) ([]int32, int64) {
	for i := range k.buffer {
		k.buffer[i] = grown(k.buffer[i], rows.Rows)[:rows.Rows]
	}
	ids, next := k.buffer[0], k.buffer[1]
	if len(k.columns) == 0 {
		clear(ids)
		return ids, 0
	}
	bytes := k.by[0].ids(rows.Columns[k.columns[0]], ids)
	for i, pairs := range k.pairs {
		bytes += k.by[i+1].ids(rows.Columns[k.columns[i+1]], next)
		before := len(pairs)
		for row, id := range ids {
			key := uint64(id)<<32 | uint64(uint32(next[row]))
			group, ok := pairs[key]
			if !ok {
				group = int32(len(pairs))
				pairs[key] = group
			}
			ids[row] = group
		}
		bytes += int64(len(pairs)-before) * mapEntry
	}
	return ids, bytes + k.keep(rows, ids)
}

// keep adds the values of new groups.
func (k *groupKeys) keep(rows *Batch, ids []int32) int64 {
	bytes := int64(0)
	for row, id := range ids {
		if int(id) < k.n {
			continue
		}
		k.n++
		for i, c := range k.values.Columns {
			from := rows.Columns[k.columns[i]]
			c.addFrom(from, row)
			if c.Type == Text && k.by[i].copies {
				c.Texts[len(c.Texts)-1] = strings.Clone(c.Texts[len(c.Texts)-1])
			}
			bytes += 40
			if c.Type == Any {
				bytes += valueSize(from.Values[row])
			}
		}
	}
	return bytes
}

// An interner numbers the values of a column in the order of their first occurrence.
type interner struct {
	copies  bool // texts must be copied, because they are part of the text of a file
	texts   map[string]int32
	ints    map[int64]int32
	missing int32 // the number of a missing value, or -1
	n       int32
}

func newInterner(copies bool) *interner {
	return &interner{copies: copies, texts: map[string]int32{}, ints: map[int64]int32{}, missing: -1}
}

// ids sets the number of each value, and returns the number of bytes that new values
// take.
func (k *interner) ids(c *Column, ids []int32) (bytes int64) {
	before := k.n
	for i := range ids {
		switch {
		case c.missing(i):
			if k.missing < 0 {
				k.missing = k.next()
			}
			ids[i] = k.missing
		case c.Type == Text || c.Type == Any:
			s := ""
			if c.Type == Any {
				s = identity(c.Values[i])
			} else {
				s = c.Texts[i]
			}
			id, ok := k.texts[s]
			if !ok {
				if k.copies {
					s = strings.Clone(s)
				}
				id = k.next()
				k.texts[s] = id
				bytes += 2 * int64(len(s))
			}
			ids[i] = id
		default:
			key := int64(0)
			if c.Type == Float {
				key = floatKey(c.Floats[i])
			} else {
				key = c.Ints[i]
			}
			id, ok := k.ints[key]
			if !ok {
				id = k.next()
				k.ints[key] = id
			}
			ids[i] = id
		}
	}
	return bytes + int64(k.n-before)*mapEntry
}

// next returns an unused number. The memory budget is exceeded long before the numbers
// are.
func (k *interner) next() int32 {
	k.n++
	return k.n - 1
}
