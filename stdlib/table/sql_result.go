package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A sqlResult takes the rows of a query, into a virtual table: SQLite gives a row
// to it before it computes the next, and can be interrupted at any time.
type sqlResult struct {
	names     []string
	decltypes []string
	columns   []*Column // nil where no value is known so far
	rows      int
	budget    *budget
	err       error
}

func newSQLResult(columns []sqlite.ColumnInfo, g tool.Grant) *sqlResult {
	r := &sqlResult{}
	for i, c := range columns {
		r.names = append(r.names, freeName(r.names, c.Name, i))
		r.decltypes = append(r.decltypes, c.DeclType)
	}
	r.clear(g)
	return r
}

// clear forgets the rows.
func (r *sqlResult) clear(g tool.Grant) {
	r.columns, r.rows, r.budget, r.err = make([]*Column, len(r.names)), 0, newBudget(g), nil
}

// freeName is the name of the i-th column, which no other has.
func freeName(taken []string, name string, i int) string {
	if name = strings.ToValidUTF8(name, "\ufffd"); name == "" {
		name = fmt.Sprintf("column_%d", i+1)
	}
	free := name
	for n := 2; slices.Contains(taken, free); n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	return free
}

// declared is the columns as the virtual table declares them: they take any value.
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
	room := int64(0)
	for i, v := range values {
		n, err := r.put(i, v)
		if err != nil {
			r.err = err
			return err
		}
		room += n
	}
	r.rows++
	if err := r.budget.take(room); err != nil {
		r.err = err
		return err
	}
	return nil
}

// put appends a value to the i-th column, and returns about how large it is.
func (r *sqlResult) put(i int, v vtab.Value) (int64, error) {
	const room = 16
	c := r.columns[i]
	if v == nil {
		if c != nil {
			c.addMissing()
		}
		return room, nil
	}
	t := Integer
	switch v.(type) {
	case float64:
		t = Float
	case string:
		t = Text
	case []byte:
		return 0, tool.Errorf(tool.Failed, "row %d of the result holds bytes in the column %q", r.rows+1, cutText(r.names[i])).
			WithHint("make a text of them with cast(… as text) or hex(…)")
	}
	if c == nil {
		c = newColumn(t, 0)
		for range r.rows {
			c.addMissing()
		}
	}
	if c.Type != t {
		c = c.widened(c.Type.join(t))
	}
	r.columns[i] = c
	c.addSQL(v)
	if s, ok := v.(string); ok {
		return 2*room + int64(len(s)), nil
	}
	return room, nil
}

// addSQL appends a value that the column can hold.
func (c *Column) addSQL(v vtab.Value) {
	if s, ok := v.(string); ok {
		v = strings.Clone(strings.ToValidUTF8(s, "\ufffd")) // the text is SQLite's
	}
	switch c.Type {
	case Integer:
		c.addInt(v.(int64))
	case Float:
		if n, ok := v.(int64); ok {
			v = float64(n)
		}
		c.addFloat(v.(float64))
	case Text:
		c.addText(v.(string))
	default:
		c.addAny(v)
	}
}

// widened returns the values in a column of a type that can hold them.
func (c *Column) widened(t Type) *Column {
	if c.Type == t {
		return c
	}
	d := newColumn(t, c.Len())
	for i := range c.Len() {
		if c.missing(i) {
			d.addMissing()
			continue
		}
		d.addSQL(c.value(i))
	}
	return d
}

// table is the rows so far.
func (r *sqlResult) table() (*Table, error) {
	b := &Batch{Rows: r.rows, Columns: make([]*Column, len(r.names))}
	for i, c := range r.columns {
		t, known := Text, false
		if at := slices.Index(sqlTypes[:], r.decltypes[i]); at >= 0 {
			t, known = Type(at), true
		}
		if c == nil {
			c = newColumn(t, r.rows)
			for range r.rows {
				c.addMissing()
			}
		}
		if known {
			c = c.restored(t)
		}
		b.Columns[i] = c
	}
	return newHeld(r.names, b), nil
}

// restored returns the column with the type that it had before SQL, where all
// its values are of it: other parts of a query may have put others in between.
func (c *Column) restored(t Type) *Column {
	if t == Float && c.Type == Integer {
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

// addRestored appends what the i-th value of a column from SQL stands for.
func (c *Column) addRestored(from *Column, i int) bool {
	switch c.Type {
	case Bool:
		c.addInt(from.Ints[i])
		return from.Ints[i] == 0 || from.Ints[i] == 1
	case Any:
		v, err := tool.ParseJSON([]byte(from.Texts[i]))
		c.addAny(v)
		return err == nil
	}
	n, ok := readISO(c.Type, from.Texts[i])
	c.addInt(n)
	return ok
}

// readISO reads what formatTime has written.
func readISO(t Type, s string) (int64, bool) {
	layout := map[Type]string{Date: time.DateOnly, DateTime: "2006-01-02T15:04:05", Instant: time.RFC3339}[t]
	at, err := time.Parse(layout, s)
	n := at.UnixMicro()
	if t == Date {
		n = at.Unix() / secondsPerDay
	}
	return n, err == nil && formatTime(t, n) == s
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

var errResult = errors.New("the result of the query cannot be read")
