package table

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A sortKey is one of the columns that rows are sorted by.
type sortKey struct {
	name       string // as errors show it
	column     *Column
	descending bool
	common     int // length of the common prefix of all texts, which does not affect the order
}

// A sortItem is a row to sort. Most comparisons need only the prefix: if two prefixes
// differ, they have the order of the rows.
type sortItem struct {
	prefix uint64
	row    int
}

// sorted returns the rows in another order.
func (c *call) sorted() (*Table, error) {
	options, err := c.sortOptions()
	if err != nil {
		return nil, err
	}
	b, err := c.table().gather(c.ctx, c.grant)
	if err != nil {
		return nil, err
	}
	keys, err := c.sortKeys(options, b)
	if err != nil {
		return nil, err
	}
	rows, err := sortRows(c.ctx, keys, b.Rows)
	if err != nil {
		return nil, err
	}
	return newHeld(c.table().names, b.pick(rows), c.table().notes...), nil
}

// sortOptions are the arguments of sort.
type sortOptions struct {
	names      []string
	key        tool.Function
	descending bool
}

func (c *call) sortOptions() (*sortOptions, error) {
	o := &sortOptions{descending: c.args.Bool("descending")}
	by := c.value("by")
	key := c.value("key")
	if items, ok := value.Elements(by); ok && len(items) == 1 && key == nil {
		if f, ok := items[0].(tool.Function); ok {
			key, by = f, nil
		}
	}
	if key != nil {
		var ok bool
		if o.key, ok = key.(tool.Function); !ok {
			return nil, value.Errorf(value.Invalid, "argument 'key' should be function but got %s", value.TypeOf(key))
		}
	}
	var err error
	if o.names, err = textsOf("by", by); err != nil {
		return nil, err
	}
	if (o.key != nil) == (len(o.names) > 0) {
		return nil, value.Errorf(value.Invalid, "sort: pass either column names or one function of the row").
			WithHint(`for example: sort("city", "-age"), or sort(key = lambda row: row["first"] + row["last"])`)
	}
	return o, nil
}

// textsOf returns an argument that is a list of texts, or one text.
func textsOf(argument string, v value.Value) ([]string, error) {
	if s, ok := v.(string); ok {
		return []string{s}, nil
	}
	items, _ := value.Elements(v)
	texts := make([]string, len(items))
	ok := v == nil || items != nil
	for i, item := range items {
		var isText bool
		texts[i], isText = item.(string)
		ok = ok && isText
	}
	if !ok {
		return nil, value.Errorf(value.Invalid, "argument '%s' should be column names but got %s", argument, valueShown(v))
	}
	return texts, nil
}

// sortKeys returns the columns to sort by, or one with the results of the key function.
func (c *call) sortKeys(o *sortOptions, b *Batch) ([]sortKey, error) {
	if o.key != nil {
		values, err := c.valuesBy(o.key, b, "key")
		if err != nil {
			return nil, err
		}
		return []sortKey{{name: "key", column: columnOfValues(values), descending: o.descending}}, nil
	}
	t := c.table()
	keys, find := make([]sortKey, len(o.names)), t.finder(len(o.names))
	for i, name := range o.names {
		descending := o.descending
		if bare, minus := strings.CutPrefix(name, "-"); minus && !slices.Contains(t.names, name) {
			name, descending = bare, !descending
		}
		at, err := find(name)
		if err != nil {
			return nil, err
		}
		keys[i] = sortKey{name: name, column: b.Columns[at], descending: descending}
	}
	return keys, nil
}

// sortRows returns the row numbers in sorted order.
func sortRows(ctx context.Context, keys []sortKey, n int) ([]int, error) {
	items := make([]sortItem, n)
	keys[0].common = keys[0].column.commonPrefix()
	for i := range items {
		items[i] = sortItem{keys[0].prefix(i), i}
	}
	var failed error
	asked := 0
	slices.SortFunc(items, func(x, y sortItem) int {
		if order := cmp.Compare(x.prefix, y.prefix); order != 0 {
			return order
		}
		if asked++; failed == nil && asked%batchRows == 0 {
			failed = ctx.Err()
		}
		if failed != nil {
			return 0 // to finish quickly
		}
		for i := range keys {
			order, ok := keys[i].compare(x.row, y.row)
			if !ok {
				failed = keys[i].incomparable(x.row, y.row)
				return 0
			}
			if order != 0 {
				return order
			}
		}
		return cmp.Compare(x.row, y.row)
	})
	rows := make([]int, n)
	for i, item := range items {
		rows[i] = item.row
	}
	return rows, failed
}

// lastPrefix is the prefix of missing values and NaN, which come last in both
// directions.
const lastPrefix = math.MaxUint64

// prefix returns a number for a row. If the numbers of two rows differ, the rows have
// the same order.
func (k *sortKey) prefix(i int) uint64 {
	c := k.column
	if c.missing(i) {
		return lastPrefix
	}
	const sign = 1 << 63
	var p uint64
	switch c.Type {
	case Any:
		return 0
	case Text:
		p = textPrefix(c.Texts[i][k.common:])
	case Float:
		f := c.Floats[i] + 0 // -0 is 0
		if f != f {
			return lastPrefix
		}
		if p = math.Float64bits(f); p&sign != 0 {
			p = ^p
		} else {
			p |= sign
		}
	default:
		p = uint64(c.Ints[i]) ^ sign
	}
	if k.descending {
		p = ^p
	}
	return p
}

// commonPrefix returns the length in bytes of the common prefix of all texts of a
// column.
func (c *Column) commonPrefix() int {
	first, common := -1, 0
	for i, s := range c.Texts {
		switch {
		case c.missing(i):
		case first < 0:
			first, common = i, len(s)
		default:
			common = sharedPrefix(s, c.Texts[first][:common])
		}
	}
	return common
}

// sharedPrefix returns the length in bytes of the common prefix of two texts.
func sharedPrefix(s, t string) int {
	n := min(len(s), len(t))
	for i := range n {
		if s[i] != t[i] {
			return i
		}
	}
	return n
}

// textPrefix returns the first eight bytes of a text as a number.
func textPrefix(s string) uint64 {
	p := uint64(0)
	for i := range 8 {
		p <<= 8
		if i < len(s) {
			p |= uint64(s[i])
		}
	}
	return p
}

// compare compares two rows. ok is false if their values have no order.
func (k *sortKey) compare(i, j int) (order int, ok bool) {
	c := k.column
	if c.missing(i) || c.missing(j) {
		return bit(c.missing(i)) - bit(c.missing(j)), true
	}
	ok = true
	switch c.Type {
	case Text:
		order = strings.Compare(c.Texts[i], c.Texts[j])
	case Float:
		order = compareFloats(c.Floats[i], c.Floats[j])
	case Any:
		order, ok = compareValues(c.Values[i], c.Values[j])
	default:
		order = cmp.Compare(c.Ints[i], c.Ints[j])
	}
	if order == unordered {
		return bit(isNaN(c.value(i))) - bit(isNaN(c.value(j))), ok
	}
	if k.descending {
		order = -order
	}
	return order, ok
}

func isNaN(v value.Value) bool {
	f, ok := v.(float64)
	return ok && f != f
}

// incomparable returns the error for two rows whose values have no order.
func (k *sortKey) incomparable(i, j int) error {
	i, j = min(i, j), max(i, j)
	return value.Errorf(value.Invalid, "rows %d and %d cannot be sorted by %q: cannot compare %s with %s",
		i+1, j+1, cut(k.name), valueShown(k.column.value(i)), valueShown(k.column.value(j))).
		WithHint("convert the column with with_types, or sort by a function of the row")
}
