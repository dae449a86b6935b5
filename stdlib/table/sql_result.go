package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A sqlResult collects the rows of a query as a virtual table: SQLite inserts a row
// before it computes the next, and can be interrupted at any time.
type sqlResult struct {
	names     []string
	decltypes []string
	columns   []*Column // nil if all values so far are missing
	rows      int
	budget    *budget
	flush     func() error // takes the rows of a batch, after which they are removed; or nil
	err       error
}

func newSQLResult(columns []sqlite.ColumnInfo, g tool.Grant) *sqlResult {
	r := &sqlResult{}
	given := make([]string, len(columns))
	for i, c := range columns {
		given[i] = strings.ToValidUTF8(c.Name, "\ufffd")
		r.decltypes = append(r.decltypes, c.DeclType)
	}
	r.names, _ = uniqueNames(given)
	r.clear(g)
	return r
}

// clear removes the rows.
func (r *sqlResult) clear(g tool.Grant) {
	r.columns, r.rows, r.budget, r.err = make([]*Column, len(r.names)), 0, newBudget(g), nil
}

// declared returns the column declarations of the virtual table. They accept any value.
func (r *sqlResult) declared() string {
	columns := make([]string, len(r.names))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	return strings.Join(columns, ", ")
}

// Insert implements [vtab.Updater].
func (r *sqlResult) Insert(values []vtab.Value, _ *int64) error { return r.add(values) }

// add appends a row.
func (r *sqlResult) add(values []vtab.Value) error {
	size := int64(0)
	for i, v := range values {
		n, err := r.put(i, v)
		if err != nil {
			r.err = err
			return err
		}
		size += n
	}
	r.rows++
	if err := r.budget.take(size); err != nil {
		r.err = err
		return err
	}
	if r.flush != nil && r.rows == batchRows {
		if r.err = r.flush(); r.err != nil {
			return r.err
		}
	}
	return nil
}

// put appends a value to the i-th column, and returns its approximate size.
func (r *sqlResult) put(i int, v vtab.Value) (int64, error) {
	c := r.columns[i]
	if v == nil {
		if c != nil {
			c.addMissing()
		}
		return valueSize(nil), nil
	}
	t := Integer
	switch s := v.(type) {
	case float64:
		t = Float
	case string:
		t, v = Text, strings.Clone(strings.ToValidUTF8(s, "\ufffd")) // the text is owned by SQLite
	case []byte:
		return 0, value.Errorf(value.Failed, "row %d, column %q of the result: bytes are not supported", r.rows+1, cut(r.names[i])).
			WithHint("convert the bytes with cast(… as text) or hex(…)")
	}
	if c == nil {
		c = missingColumn(t, r.rows)
	}
	if c.Type != t {
		wide := c.Type.join(t)
		if wide == Float && c.Type != Float && !c.exact() {
			wide = Any // a float would round the integers
		}
		if n, ok := v.(int64); ok && wide == Float && kindOfInteger(n) != hasInteger {
			wide = Any
		}
		c = c.widened(wide)
	}
	r.columns[i] = c
	c.add(v)
	return valueSize(v), nil
}

// exact reports whether floats can hold the integers of the column.
func (c *Column) exact() bool {
	return !slices.ContainsFunc(c.Ints, func(n int64) bool { return kindOfInteger(n) != hasInteger })
}

// widened returns the values in a column of a type that can hold them.
func (c *Column) widened(t Type) *Column {
	if c.Type == t {
		return c
	}
	d := newColumn(t, c.Len())
	for i := range c.Len() {
		d.add(c.value(i))
	}
	return d
}

// table returns the rows so far.
func (r *sqlResult) table() (*Table, error) {
	b := &Batch{Rows: r.rows, Columns: make([]*Column, len(r.names))}
	for i, c := range r.columns {
		t, known := Text, false
		if at := slices.Index(sqlTypes[:], r.decltypes[i]); at >= 0 {
			t, known = Type(at), true
		}
		if c == nil {
			c = missingColumn(t, r.rows)
		}
		if known {
			c = c.restored(t)
		}
		b.Columns[i] = c
	}
	return newHeld(r.names, b), nil
}

// restored returns the column with its type before SQL if all its values have that type:
// other parts of a query may have added others.
func (c *Column) restored(t Type) *Column {
	if t == Float && c.Type == Integer && c.exact() {
		return c.widened(Float)
	}
	if c.Type == t || !(c.Type == Text && t > Bool || c.Type == Integer && t == Bool) {
		return c
	}
	d := newColumn(t, c.Len())
	for i := range c.Len() {
		if c.missing(i) {
			d.addMissing()
			continue
		}
		if !d.addRestored(c, i) {
			return c
		}
	}
	return d
}

// addRestored converts the i-th value of a column from SQL and appends it.
func (c *Column) addRestored(from *Column, i int) bool {
	switch c.Type {
	case Bool:
		c.addInt(from.Ints[i])
		return from.Ints[i] == 0 || from.Ints[i] == 1
	case Any:
		if v, err := value.ParseJSON([]byte(from.Texts[i])); err == nil {
			c.addAny(v)
		} else {
			c.addAny(from.Texts[i]) // see likeJSON
		}
		return true
	}
	n, ok := parseTime(c.Type, from.Texts[i])
	c.addInt(n)
	return ok && formatTime(c.Type, n) == from.Texts[i]
}

// Update implements [vtab.Updater].
func (r *sqlResult) Update(int64, []vtab.Value, *int64) error { return errResult }

// Delete implements [vtab.Updater].
func (r *sqlResult) Delete(int64) error { return errResult }

// BestIndex implements [vtab.Table]: a query cannot read its own result.
func (r *sqlResult) BestIndex(*vtab.IndexInfo) error { return errResult }

// Open implements [vtab.Table].
func (r *sqlResult) Open() (vtab.Cursor, error) { return nil, errResult }

// Disconnect implements [vtab.Table].
func (r *sqlResult) Disconnect() error { return nil }

// Destroy implements [vtab.Table].
func (r *sqlResult) Destroy() error { return nil }

var errResult = errors.New("a query cannot use the table of its own result")
