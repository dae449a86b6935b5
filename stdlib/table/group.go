package table

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// groups are the rows of a table in groups: what group_by gives.
type groups struct {
	kinds   *kinds
	of      *Table
	columns []int // by whose values; none: all rows are one group
}

// Type implements [tool.Object].
func (s *groups) Type() *tool.ObjectType { return &s.kinds.groups }

func (s *groups) TypeName() string { return s.kinds.groups.Name }

// Plain implements [tool.Object].
func (s *groups) Plain(context.Context, tool.Grant) (value.Value, error) {
	return nil, value.Errorf(value.Failed, "groups cannot leave the script").WithHint("call agg(…), and give its table")
}

// Text implements [tool.Object].
func (s *groups) Text(context.Context, tool.Grant) (string, error) {
	return "<groups of a table: call agg(…)>", nil
}

const aggDoc = "Each named argument is a column of the result: " +
	"`(\"amount\", \"sum\")`, a column and a function, or \"count\", the number of rows (in Lua `{\"amount\", \"sum\"}`). The functions: count (the values that are not missing), missing, " +
	"distinct, first and last (the first and the last value that is not missing), min and max (not of any columns), sum and mean (of numbers and bools), stdev and " +
	"variance (of a sample; of numbers), median, q1, q3 and p01 to p99 (of numbers and dates). Missing values are left out; of none, " +
	"all but the counts are missing. A sum of integers is an integer, or a float where one of the sums does not fit in 64 bits. Quantiles lie by linear interpolation " +
	"between the two nearest values (as in R and numpy; between dates rounded down). NaN is a value: it makes a sum, a mean and a deviation NaN, " +
	"and is passed over by min, max and quantiles. distinct is exact up to 10,000 in a group, beyond that an estimate (within 2 %); quantiles are exact up to " +
	"100,000 values in a group and 1,000,000 in all, then of groups with more than 2,048 an estimate (by 0.5 % of the rank). The notes of the result say where one is."

func groupRows() []row {
	return append([]row{
		{tool.Func{
			Name: "group_by",
			Doc: "Puts the rows into groups that have the same values in some columns; agg makes a table of them. " +
				"A missing value is a group of its own. Groups stand in the order in which they first appear.",
			Params:   []tool.Param{tool.Required("columns", tool.TypeCharacter, "The names, as a list or one after the other; at least one.")},
			Variadic: true,
			Returns:  "groups",
		}, groupBy},
		{tool.Func{
			Name:    "agg",
			Doc:     "Makes a table of one row that sums up all rows. " + aggDoc,
			Rest:    "columns",
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return agg(c, &groups{of: c.table()}) }},
	}, pivotRows()...)
}

func groupsRows() []row {
	return []row{
		{tool.Func{
			Name:    "agg",
			Doc:     "Makes a table with a row for each group: the columns that it is grouped by, then those that are asked for. " + aggDoc,
			Rest:    "columns",
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return agg(c, c.self.(*groups)) }},
		{tool.Func{
			Name:    "count",
			Doc:     "Counts the rows of each group, the largest group first. Groups of one size stay in the order in which they first appear.",
			Params:  []tool.Param{tool.Optional("name", tool.TypeString, "count", "The name of the column of counts.")},
			Returns: "a table",
		}, countGroups},
	}
}

func groupBy(c *call) (value.Value, error) {
	t, names := c.table(), c.names("columns")
	if len(names) == 0 {
		return nil, value.Errorf(value.Invalid, "group_by needs a column").WithHint("the columns are %s", someNames(t.names))
	}
	places, err := t.columns(names)
	if err != nil {
		return nil, err
	}
	if name, twice := repeated(names); twice {
		return nil, namedTwice(name)
	}
	return &groups{of: t, columns: places}, nil
}

func agg(c *call, s *groups) (value.Value, error) {
	wanted, _ := c.value("columns").(*value.Dict)
	if wanted == nil || wanted.Len() == 0 {
		return nil, value.Errorf(value.Invalid, "agg needs a column to make").
			WithHint("write agg(n = \"count\", total = (\"amount\", \"sum\"))")
	}
	a := &aggregates{}
	for name, v := range wanted.All() {
		if err := s.want(a, name.(string), v); err != nil {
			return nil, err
		}
	}
	return s.reduce(c.ctx, c.grant, a)
}

// want adds what one argument of agg asks for.
func (s *groups) want(a *aggregates, name string, v value.Value) error {
	for _, at := range s.columns {
		if s.of.names[at] == name {
			return value.Errorf(value.Invalid, "the table is grouped by %q, so no other column can have that name", cut(name)).WithHint("give it another name")
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
		at, err := s.of.column(column)
		if err != nil {
			return err
		}
		from = at
	default:
		if function, _ = v.(string); function == "" {
			return wrongAggregate(name)
		}
	}
	if err := checkFit(s.of, function, from); err != nil {
		return err
	}
	t := Any
	if from >= 0 {
		t = s.of.types[from]
	}
	a.put(name, function, from, t, s.of.held == nil)
	return nil
}

func wrongAggregate(name string) error {
	return value.Errorf(value.Invalid, "column %q should be \"count\", or a column and a function", cut(name)).
		WithHint("write %s = (\"amount\", \"sum\")", cut(name))
}

// reduce reads the rows once, and makes a row of each group.
func (s *groups) reduce(ctx context.Context, g tool.Grant, a *aggregates) (*Table, error) {
	b := newBudget(g)
	keys := s.keys()
	err := s.of.eachOf(ctx, g, a.places(s.columns), func(rows *Batch) error {
		before := keys.n
		ids, bytes := keys.ids(rows)
		for k, with := range a.shared {
			var c *Column
			if k.from >= 0 {
				c = rows.Columns[k.from]
			}
			bytes += with.add(keys.n, ids, c)
		}
		// What grows is copied, and so there for a time twice.
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
		names = append(names, s.of.names[at])
	}
	for _, x := range a.list {
		names = append(names, x.name)
		made.Columns = append(made.Columns, x.column(keys.n))
	}
	return newHeld(names, made, a.notes(s.of)...), nil
}

// places are the columns that are looked at, those of the keys among them.
func (a *aggregates) places(keys []int) []int {
	places := slices.Clone(keys)
	for k := range a.shared {
		if k.from >= 0 {
			places = append(places, k.from)
		}
	}
	return places
}

func tooManyGroups(n int, b *budget) error {
	return b.over(counted(n, "group")).
		WithHint("group by columns with fewer values, ask for fewer or simpler functions, or declare limits = {\"memory\": …}")
}

// notes says which columns are estimates.
func (a *aggregates) notes(t *Table) []string {
	var notes []string
	for _, x := range a.list {
		switch with := x.with.(type) {
		case *groupDistinct:
			if with.estimated {
				notes = append(notes, x.name+" is an estimate, within 2 %, where there are more than 10,000 distinct values")
			}
		case *groupQuantiles:
			if with.estimated() {
				notes = append(notes, x.name+" is an estimate, within 0.5 % of the rank, where a group has many values")
			}
		}
	}
	return notes
}

func countGroups(c *call) (value.Value, error) {
	s := c.self.(*groups)
	a := &aggregates{}
	name := c.args.Text("name")
	if err := s.want(a, name, "count"); err != nil {
		return nil, err
	}
	t, err := s.reduce(c.ctx, c.grant, a)
	if err != nil {
		return nil, err
	}
	counts := t.held.Columns[len(t.names)-1].Ints
	order := make([]int, t.rows)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(counts[j] - counts[i]) })
	return newHeld(t.names, t.held.pick(order)), nil
}

// groupKeys numbers the groups of rows, in the order in which they first appear.
type groupKeys struct {
	columns []int
	by      []*interner        // one for each column
	pairs   []map[uint64]int32 // of the group by the columns before and the value of the next
	n       int
	values  *Batch // what the groups are of
	buffer  [2][]int32
}

func (s *groups) keys() *groupKeys {
	k := &groupKeys{columns: s.columns, values: &Batch{}}
	for i, at := range s.columns {
		k.by = append(k.by, newInterner(s.of.held == nil))
		if i > 0 {
			k.pairs = append(k.pairs, map[uint64]int32{})
		}
		k.values.Columns = append(k.values.Columns, newColumn(s.of.types[at], 0))
	}
	if len(s.columns) == 0 {
		k.n = 1
	}
	return k
}

// ids returns the group of each row, and how many bytes the groups that are new
// take. The ids are good until the next call.
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

// keep takes over the values of groups that are new.
func (k *groupKeys) keep(rows *Batch, ids []int32) int64 {
	bytes := int64(0)
	for row, id := range ids {
		if int(id) < k.n {
			continue
		}
		k.n++
		for i, c := range k.values.Columns {
			from := rows.Columns[k.columns[i]]
			if c.Type == Text && !from.missing(row) {
				c.addText(k.by[i].text(from.Texts[row]))
			} else {
				c.addFrom(from, row)
			}
			bytes += 40
			if c.Type == Any {
				bytes += valueSize(from.Values[row])
			}
		}
	}
	return bytes
}

// An interner numbers the values of a column, in the order in which they first
// appear.
type interner struct {
	copies  bool // texts must be copied, since they are part of a file's
	texts   map[string]int32
	ints    map[int64]int32
	kept    []string // the texts by their numbers, where they are copied
	missing int32    // the number of a missing value, or -1
	n       int32
}

func newInterner(copies bool) *interner {
	return &interner{copies: copies, texts: map[string]int32{}, ints: map[int64]int32{}, missing: -1}
}

// text returns a text as the interner holds it.
func (k *interner) text(s string) string {
	if !k.copies {
		return s
	}
	return k.kept[k.texts[s]]
}

// ids sets the number of each value, and returns how many bytes those that are
// new take.
func (k *interner) ids(c *Column, ids []int32) int64 {
	before, bytes := k.n, int64(0)
	switch c.Type {
	case Text, Any:
		bytes = k.textIDs(c, ids)
	default:
		k.intIDs(c, ids)
	}
	return bytes + int64(k.n-before)*mapEntry
}

func (k *interner) textIDs(c *Column, ids []int32) int64 {
	bytes := int64(0)
	for i := range ids {
		if c.missing(i) {
			ids[i] = k.missingID()
			continue
		}
		var s string
		if c.Type == Any {
			s = value.FormatJSON(c.Values[i], "")
		} else {
			s = c.Texts[i]
		}
		id, ok := k.texts[s]
		if !ok {
			if k.copies {
				s = strings.Clone(s)
				for int(k.n) > len(k.kept) {
					k.kept = append(k.kept, "") // a missing one has a number as well
				}
				k.kept = append(k.kept, s)
			}
			id = k.next()
			k.texts[s] = id
			bytes += int64(len(s))
		}
		ids[i] = id
	}
	return bytes
}

func (k *interner) intIDs(c *Column, ids []int32) {
	for i := range ids {
		if c.missing(i) {
			ids[i] = k.missingID()
			continue
		}
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

func (k *interner) missingID() int32 {
	if k.missing < 0 {
		k.missing = k.next()
	}
	return k.missing
}

// next returns a number that was not given yet. The budget of memory ends long
// before there are none.
func (k *interner) next() int32 {
	if k.n == math.MaxInt32 {
		panic("table: too many groups for the budget to have let them pass")
	}
	k.n++
	return k.n - 1
}
