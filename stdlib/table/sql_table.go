package table

import (
	"errors"
	"iter"
	"math"
	"strings"

	"modernc.org/sqlite/vtab"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// sqlTypes are the declared types of the columns of each type, from which a result
// restores the type. The last word determines how SQLite compares.
var sqlTypes = [...]string{"TEXT", "INTEGER", "REAL", "BOOLEAN", "DATE TEXT", "DATETIME TEXT", "INSTANT TEXT", "JSON TEXT"}

// declared returns the column declarations of the table.
func (s *sqlSource) declared() string {
	var b strings.Builder
	for i, name := range s.names {
		if i > 0 {
			b.WriteString(", ")
		}
		t := s.table.types[i]
		b.WriteString(quoteSQL(name) + " " + sqlTypes[t])
		if t.time() {
			b.WriteString(" COLLATE " + timeCollation)
		}
	}
	return b.String()
}

// A sqlTable is a virtual table of SQLite that reads a [Table].
type sqlTable struct {
	query  *sqlQuery
	source *sqlSource
}

// BestIndex is called whenever a query names the table. It records the used columns.
func (t *sqlTable) BestIndex(info *vtab.IndexInfo) error {
	const last = 63 // the bit for this column and all later ones
	t.source.named = true
	for i := range t.source.used {
		if info.ColUsed>>min(i, last)&1 != 0 {
			t.source.used[i] = true
		}
	}
	rows := int64(1_000_000) // the estimate if it is unknown
	if n := t.source.table.rows; n >= 0 {
		rows = int64(n)
	}
	info.EstimatedRows, info.EstimatedCost = rows, float64(rows)
	return nil
}

// Open implements [vtab.Table].
func (t *sqlTable) Open() (vtab.Cursor, error) { return &sqlCursor{table: t}, nil }

// Disconnect implements [vtab.Table].
func (t *sqlTable) Disconnect() error { return nil }

// Destroy implements [vtab.Table].
func (t *sqlTable) Destroy() error { return nil }

// A sqlCursor iterates over the rows of a table, batch by batch.
type sqlCursor struct {
	table *sqlTable
	next  func() (*Batch, error, bool)
	stop  func()
	batch *Batch // nil at the end
	row   int
	id    int64
}

// Filter moves to the first row.
func (c *sqlCursor) Filter(int, string, []vtab.Value) error {
	q, s := c.table.query, c.table.source
	if s.scans++; s.scans > 1 && !s.real {
		q.reloads = true
		return errReread
	}
	_ = c.Close()
	c.next, c.stop = iter.Pull2(s.table.batches(q.ctx, q.grant))
	c.row, c.id = 0, 0
	return c.more()
}

// more reads the next batch.
func (c *sqlCursor) more() error {
	b, err, ok := c.next()
	c.batch, c.row = b, 0
	if !ok {
		c.batch = nil
	}
	if err != nil {
		c.table.query.err = err
	}
	return err
}

// Next implements [vtab.Cursor].
func (c *sqlCursor) Next() error {
	c.id++
	if c.row++; c.row < c.batch.Rows {
		return nil
	}
	return c.more()
}

// Eof implements [vtab.Cursor].
func (c *sqlCursor) Eof() bool { return c.batch == nil }

// Column implements [vtab.Cursor].
func (c *sqlCursor) Column(i int) (vtab.Value, error) {
	if c.batch == nil || i < 0 || i >= len(c.batch.Columns) {
		return nil, errors.New("no such column")
	}
	v, err := c.batch.Columns[i].sqlValue(c.row)
	if err != nil {
		err = inCell(err, int(c.id)+1, c.table.source.names[i])
		c.table.query.err = err
	}
	return v, err
}

// Rowid implements [vtab.Cursor].
func (c *sqlCursor) Rowid() (int64, error) { return c.id + 1, nil }

// Close implements [vtab.Cursor].
func (c *sqlCursor) Close() error {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	return nil
}

// sqlValue returns the i-th value for SQLite.
func (c *Column) sqlValue(i int) (vtab.Value, error) {
	if c.missing(i) {
		return nil, nil
	}
	switch c.Type {
	case Text:
		return c.Texts[i], nil
	case Integer, Bool:
		return c.Ints[i], nil
	case Float:
		if math.IsNaN(c.Floats[i]) {
			return nil, nil
		}
		return c.Floats[i], nil
	case Any:
		if f, ok := c.Values[i].(float64); c.Values[i] == nil || ok && math.IsNaN(f) {
			return nil, nil
		}
		if s, ok := c.Values[i].(string); ok && !likeJSON(s) {
			return s, nil
		}
		text, err := value.AppendJSON(nil, c.Values[i])
		return string(text), err
	}
	return formatTime(c.Type, c.Ints[i]), nil
}

// likeJSON reports whether a text is JSON, as "13" is: in a column of several types it is in quotes, so that it differs from
// the number.
func likeJSON(s string) bool {
	_, err := value.ParseJSON([]byte(s))
	return err == nil
}
