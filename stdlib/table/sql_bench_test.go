package table

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"
)

// sqlBenchTable has 100,000 rows of ten columns.
func sqlBenchTable() *Table {
	const rows = 100_000
	var names []string
	b := &Batch{Rows: rows}
	for i := range 10 {
		c := newColumn([]Type{Text, Float, Integer, Text, Float, Integer, Bool, Date, Text, Float}[i], rows)
		for r := range rows {
			switch c.Type {
			case Text:
				c.addText(fmt.Sprintf("key %d", (r*7919+i)%100))
			case Float:
				c.addFloat(float64(r%1000) / 8)
			case Bool:
				c.addInt(int64(r & 1))
			default:
				c.addInt(int64(r % 20_000))
			}
		}
		names, b.Columns = append(names, fmt.Sprintf("c%d", i)), append(b.Columns, c)
	}
	return newHeld(names, b)
}

const benchQuery = "select c0, count(*) as n, sum(c1) as s from t group by c0"

// openBench opens a database with the table as a virtual table.
func openBench(b *testing.B) *sqlQuery {
	e := &sqlEngine{}
	statement, err := parseStatement(benchQuery)
	if err != nil {
		b.Fatal(err)
	}
	table := sqlBenchTable()
	q := &sqlQuery{statement: statement, ctx: context.Background(), sources: []*sqlSource{{name: "t", table: table, used: make([]bool, len(table.names))}}}
	if q.vfs, err = newClocklessVFS(""); err != nil {
		b.Fatal(err)
	}
	d, leave := e.enter(q)
	db, conn, err := openSQL(q.ctx, sqlConnector{&d.Driver, 1 << 30 / sqlPage, q.vfs.name, false})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); db.Close(); q.vfs.close(); leave() })
	q.conn = conn
	if err := q.virtual("t", 0); err != nil {
		b.Fatal(err)
	}
	return q
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (q *sqlQuery) ask(b *testing.B) {
	columns, err := q.inspect()
	must(b, err)
	t, err := q.collect(columns)
	must(b, err)
	if t.rows != 100 {
		b.Fatalf("%d rows, want 100", t.rows)
	}
	must(b, q.exec(`DROP TABLE temp."result of the query"`, nil))
	q.sources[0].scans = 0
}

// BenchmarkSQL queries a table of 100,000 rows and ten columns, and reports how much
// slower that is than a table that is already in SQLite.
func BenchmarkSQL(b *testing.B) {
	f, tables := sqlFunc(), tablesNamed("t", sqlBenchTable())
	q := openBench(b)
	for i := range q.sources[0].used {
		q.sources[0].used[i] = true
	}
	must(b, q.copy(0, q.sources[0]))
	var ours, loaded time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := askSQL(b, f, benchQuery, tables)
		must(b, err)
		ours += time.Since(start)
		start = time.Now()
		q.ask(b)
		loaded += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(loaded), "x-loaded")
}

// BenchmarkSQLAll returns all rows and columns.
func BenchmarkSQLAll(b *testing.B) {
	f, tables := sqlFunc(), tablesNamed("t", sqlBenchTable())
	for b.Loop() {
		_, err := askSQL(b, f, "select * from t", tables)
		must(b, err)
	}
}

// BenchmarkSQLWays compares ways to provide the rows to SQLite.
func BenchmarkSQLWays(b *testing.B) {
	b.Run("virtual", func(b *testing.B) {
		q := openBench(b)
		for b.Loop() {
			q.ask(b)
		}
	})
	b.Run("copied from virtual", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			q := openBench(b)
			for i := range q.sources[0].used {
				q.sources[0].used[i] = true
			}
			b.StartTimer()
			must(b, q.copy(0, q.sources[0]))
		}
	})
	b.Run("copied by rows", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			q := openBench(b)
			b.StartTimer()
			must(b, q.conn.Raw(func(c any) error { return q.insertRows(c.(driver.Conn)) }))
		}
	})
}

// insertRows is the rejected alternative.
func (q *sqlQuery) insertRows(c driver.Conn) error {
	s := q.sources[0]
	x := c.(driver.ExecerContext)
	if _, err := x.ExecContext(q.ctx, "create table u("+s.declared()+")", nil); err != nil {
		return err
	}
	stmt, err := c.Prepare("insert into u values (?" + strings.Repeat(",?", len(s.table.names)-1) + ")")
	if err != nil {
		return err
	}
	defer stmt.Close()
	if _, err := x.ExecContext(q.ctx, "begin", nil); err != nil {
		return err
	}
	args := make([]driver.NamedValue, len(s.table.names))
	for row := range s.table.held.Rows {
		for i, col := range s.table.held.Columns {
			v, err := col.sqlValue(row)
			if err != nil {
				return err
			}
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		if _, err := stmt.(driver.StmtExecContext).ExecContext(context.TODO(), args); err != nil {
			return err
		}
	}
	_, err = x.ExecContext(q.ctx, "commit", nil)
	return err
}
