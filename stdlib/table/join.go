package table

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The kinds of joins.
const (
	joinInner = "inner"
	joinLeft  = "left"
	joinOuter = "outer"
	joinSemi  = "semi"
	joinAnti  = "anti"
)

var joinNames = []string{joinInner, joinLeft, joinOuter, joinSemi, joinAnti}

// A joinPlan combines two tables into one: it looks up the rows of the left table in an
// index of the right one.
type joinPlan struct {
	how         string
	left, right *Table
	leftKeys    []int
	rightKeys   []int
	isKey       []bool // by columns of the right table
	keyAt       []int  // by columns of the left table: the number of the key from 1, or 0
	others      []int  // the columns of the right table that are not keys
	names       []string
	types       []Type

	rows   *Batch         // of the right table
	first  map[string]int // the first row of the right table by key
	follow []int          // the next row with the same key by row, or -1
}

// joined returns the rows of two tables with equal keys.
func (c *call) joined() (*Table, error) {
	right, err := c.otherTable("other")
	if err != nil {
		return nil, err
	}
	j := &joinPlan{how: c.args.Text("how"), left: c.table(), right: right}
	if err := checkJoin(j.how); err != nil {
		return nil, err
	}
	if err := j.findKeys(c.value("on")); err != nil {
		return nil, err
	}
	if err := j.nameColumns(c.args.Text("suffix")); err != nil {
		return nil, err
	}
	if err := j.index(c); err != nil {
		return nil, err
	}
	made, err := j.left.streamed(j.names, j.types, -1, j.scan)
	if err == nil && j.left.held != nil {
		return made.hold(c.ctx, c.grant)
	}
	return made, err
}

func checkJoin(how string) error {
	if how == "cross" {
		return value.Errorf(value.Invalid, "unknown join %q", how).
			WithHint("for all combinations of rows, add a column with the same value to both tables, as in add_column(\"all\", 1), and join on this column")
	}
	return oneOf("join", how, joinNames)
}

// findKeys parses the argument on.
func (j *joinPlan) findKeys(on value.Value) error {
	pairs, _ := on.(*value.Dict)
	if pairs == nil {
		names, err := textsOf("on", on)
		if err != nil {
			return err
		}
		pairs = &value.Dict{}
		for _, name := range names {
			pairs.Put(name, name)
		}
	}
	if pairs.Len() == 0 {
		return value.Errorf(value.Invalid, "argument 'on' needs at least one column").WithHint(`in a script, for example join(other, "id"), or join(other, {"id": "customer_id"})`)
	}
	j.isKey, j.keyAt = make([]bool, len(j.right.names)), make([]int, len(j.left.names))
	left, right := j.left.finder(pairs.Len()), j.right.finder(pairs.Len())
	for k, v := range pairs.All() {
		l, isLeft := k.(string)
		r, isRight := v.(string)
		if !isLeft || !isRight {
			return value.Errorf(value.Invalid, `argument 'on' should be column names, or a dict from columns of the left table to columns of the right table, as in {"id": "customer_id"}`)
		}
		from, err := left(l)
		if err != nil {
			return err
		}
		to, err := right(r)
		if err != nil {
			e := value.ErrorOf(err, value.Invalid)
			return value.Errorf(e.Kind, "in the right table, %w", e).WithHint("%s", e.Hint)
		}
		if err := j.addKey(from, to); err != nil {
			return err
		}
	}
	return nil
}

func (j *joinPlan) addKey(l, r int) error {
	left, right := j.left.names[l], j.right.names[r]
	if j.isKey[r] {
		return value.Errorf(value.Invalid, "column %q of the right table is used twice as a key", cut(right))
	}
	if t, u := j.left.types[l], j.right.types[r]; !t.mayEqual(u) {
		return value.Errorf(value.Invalid, "values of column %q (%s) and column %q of the right table (%s) are never equal", cut(left), t, cut(right), u).
			WithHint(`convert one of the columns, as in with_types({%q: %q})`, cut(right), t)
	}
	j.isKey[r] = true
	j.leftKeys, j.rightKeys = append(j.leftKeys, l), append(j.rightKeys, r)
	if j.keyAt[l] == 0 {
		j.keyAt[l] = len(j.leftKeys)
	}
	return nil
}

// mayEqual reports whether values of two types can be equal.
func (t Type) mayEqual(u Type) bool {
	switch {
	case t == u, t.number() && u.number():
		return true
	case t == Any:
		return !u.time()
	}
	return u == Any && !t.time()
}

// nameColumns sets the columns of the result.
func (j *joinPlan) nameColumns(suffix string) error {
	j.names, j.types = slices.Clone(j.left.names), slices.Clone(j.left.types)
	if j.how == joinSemi || j.how == joinAnti {
		return nil
	}
	if j.how == joinOuter {
		for i, at := range j.leftKeys {
			j.types[at] = j.types[at].join(j.right.types[j.rightKeys[i]])
		}
	}
	taken := setOf(j.names)
	for at, name := range j.right.names {
		if j.isKey[at] {
			continue
		}
		if taken[name] {
			name += suffix
		}
		if taken[name] {
			return value.Errorf(value.Invalid, "join: the result has two columns named %q", cut(name)).WithHint("use another suffix, or rename a column first")
		}
		taken[name] = true
		j.others = append(j.others, at)
		j.names, j.types = append(j.names, name), append(j.types, j.right.types[at])
	}
	return nil
}

// index builds the index of the right table.
func (j *joinPlan) index(c *call) error {
	var err error
	if j.rows, err = j.right.gather(c.ctx, c.grant); err != nil {
		return err
	}
	j.first = make(map[string]int)
	j.follow = make([]int, j.rows.Rows)
	columns := j.rows.chosen(j.rightKeys)
	budget := newBudget(c.grant)
	var key []byte
	for i := j.rows.Rows - 1; i >= 0; i-- { // backwards, so that the first row with a key comes first
		if i%batchRows == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		j.follow[i] = -1
		var missing bool
		if key, missing = appendRowKey(key[:0], columns, i); missing {
			continue
		}
		if next, ok := j.first[string(key)]; ok {
			j.follow[i] = next
		} else if err := budget.take(int64(len(key)) + mapEntry); err != nil {
			return err
		}
		j.first[string(key)] = i
	}
	return nil
}

// A joinScan is one pass over the result.
type joinScan struct {
	*joinPlan
	ctx     context.Context
	yield   func(*Batch) error
	matched []bool // the matched rows of the right table; nil if they are not needed
	left    []int  // pairs of rows of the next batch; -1: no row
	right   []int
}

// scan reads the result.
func (j *joinPlan) scan(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
	r := &joinScan{joinPlan: j, ctx: ctx, yield: yield}
	if j.how == joinOuter {
		r.matched = make([]bool, j.rows.Rows)
	}
	var key []byte
	err := j.left.walk(ctx, g, func(b *Batch) error {
		columns := b.chosen(j.leftKeys)
		for i := range b.Rows {
			at := -1
			var missing bool
			if key, missing = appendRowKey(key[:0], columns, i); !missing {
				if first, ok := j.first[string(key)]; ok {
					at = first
				}
			}
			if err := r.row(b, i, at); err != nil {
				return err
			}
		}
		return r.flush(b)
	})
	if err != nil || j.how != joinOuter {
		return err
	}
	for i, matched := range r.matched {
		if matched {
			continue
		}
		if err := r.add(nil, -1, i); err != nil {
			return err
		}
	}
	return r.flush(nil)
}

// row adds the results of a row of the left table. at is its first match in the right
// table, or -1.
func (r *joinScan) row(b *Batch, i, at int) error {
	switch r.how {
	case joinSemi, joinAnti:
		if (at >= 0) == (r.how == joinSemi) {
			return r.add(b, i, -1)
		}
		return nil
	case joinLeft, joinOuter:
		if at < 0 {
			return r.add(b, i, -1)
		}
	}
	for ; at >= 0; at = r.follow[at] {
		if r.matched != nil {
			r.matched[at] = true
		}
		if err := r.add(b, i, at); err != nil {
			return err
		}
	}
	return nil
}

// add adds a pair of rows, one of them may be -1.
func (r *joinScan) add(b *Batch, left, right int) error {
	r.left, r.right = append(r.left, left), append(r.right, right)
	if len(r.left) < batchRows {
		return nil
	}
	return r.flush(b)
}

// flush yields the collected pairs of rows; b is the batch of the left ones.
func (r *joinScan) flush(b *Batch) error {
	n := len(r.left)
	if n == 0 {
		return nil
	}
	if err := r.ctx.Err(); err != nil { // one row can match millions of others
		return err
	}
	made := &Batch{Rows: n, Columns: make([]*Column, 0, len(r.names))}
	for at, t := range r.types[:len(r.joinPlan.left.names)] {
		c, err := r.leftColumn(b, at, t)
		if err != nil {
			return err
		}
		made.Columns = append(made.Columns, c)
	}
	for _, at := range r.others {
		made.Columns = append(made.Columns, r.rows.Columns[at].pick(r.right))
	}
	r.left, r.right = r.left[:0], r.right[:0]
	return r.yield(made)
}

// leftColumn returns a column of the left table. A key is taken from the right table if
// only that has the row.
func (r *joinScan) leftColumn(b *Batch, at int, t Type) (*Column, error) {
	key := r.keyAt[at] - 1
	var c *Column
	switch {
	case b != nil:
		c = b.Columns[at].pick(r.left)
	case key >= 0:
		c = r.rows.Columns[r.rightKeys[key]].pick(r.right)
	default:
		return missingColumn(t, len(r.left)), nil
	}
	return (&conversion{column: r.names[at], to: t}).convert(r.ctx, c)
}
