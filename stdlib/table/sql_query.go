package table

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A sqlEngine opens a database for each query. It has its own driver, separate from that
// of the records.
type sqlEngine struct {
	driver     sqlite.Driver
	mu         sync.Mutex
	last       int
	open       map[string]*sqlQuery // the running queries, by the number that their virtual tables use
	configured bool                 // SQLite was configured to count its memory
	counts     bool                 // SQLite counts its memory
	heap       int64                // the memory limit for the running queries
}

// sqlModule is the name of the virtual tables in SQL.
const sqlModule = "cassidy"

func newSQLEngine() *sqlEngine {
	e := &sqlEngine{open: map[string]*sqlQuery{}}
	if err := errors.Join(e.driver.RegisterModule(sqlModule, e), e.driver.RegisterCollationUtf8(timeCollation, compareTimes), withoutRandom(&e.driver)); err != nil {
		panic("table: " + err.Error()) // the driver is new, so the names are unused
	}
	return e
}

// enter registers a query under a number that its virtual tables use.
func (e *sqlEngine) enter(q *sqlQuery) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	q.id = fmt.Sprint(e.last)
	e.open[q.id] = q
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, q.id)
	}
}

// A sqlQuery is one call of data.sql.
type sqlQuery struct {
	id        string
	statement *sqlStatement
	sources   []*sqlSource
	params    []driver.NamedValue
	grant     tool.Grant
	ctx       context.Context
	conn      *sql.Conn
	vfs       *clocklessVFS
	result    *sqlResult
	reloads   bool  // a virtual table was read again, and must be copied
	err       error // of a table that was read, or of the result
}

// A sqlConn is the used part of the connection of the driver.
type sqlConn interface {
	driver.ExecerContext
	driver.QueryerContext
	ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
}

// run runs the query. First the tables are virtual, so that SQLite reports which columns
// it needs. A table that is read once stays virtual, and its rows are not copied. If a
// query reads several tables, they are copied into real ones, which SQLite can index.
func (q *sqlQuery) run(ctx context.Context, e *sqlEngine) (t *Table, err error) {
	defer e.enter(q)()
	e.countMemory()
	q.ctx = ctx
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if q.vfs, err = newClocklessVFS(); err != nil {
		return nil, err
	}
	defer q.vfs.close()
	db, conn, err := openSQL(ctx, sqlConnector{&e.driver, newBudget(q.grant).all / sqlPage, q.vfs.name})
	if err != nil {
		return nil, q.explain(err)
	}
	share := newBudget(q.grant).all
	e.adjustMemory(share)
	defer e.adjustMemory(-share)
	defer db.Close()
	defer conn.Close()
	defer func() {
		r := recover()
		if _, bug := r.(runtime.Error); bug {
			panic(r)
		}
		if r != nil { // the driver panics if it cannot allocate a text
			t, err = nil, errSQLMemory(fmt.Sprint(r))
		}
	}()
	q.conn = conn
	for i := range q.sources {
		if err := q.virtual(quoteSQL(q.sources[i].name), i); err != nil {
			return nil, err
		}
	}
	columns, err := q.inspect()
	if err != nil {
		return nil, err
	}
	if q.statement.explain {
		return q.explained()
	}
	if q.severalNamed() {
		if err := q.copyNamed(); err != nil {
			return nil, err
		}
	}
	return q.collect(columns)
}

// virtual creates a virtual table for the i-th table.
func (q *sqlQuery) virtual(name string, i int) error {
	return q.exec(fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s(%s, %d)", name, sqlModule, q.id, i), nil)
}

// exec runs a statement to its end. Then the driver checks the context throughout; it
// does not if rows are read one by one.
func (q *sqlQuery) exec(text string, params []driver.NamedValue) error {
	err := q.conn.Raw(func(c any) error {
		_, err := c.(sqlConn).ExecContext(q.ctx, text, params)
		return err
	})
	return q.explain(err)
}

// inspect returns the columns of the query. The text must be valid where only a query is
// allowed, so it cannot change anything.
func (q *sqlQuery) inspect() (columns []sqlite.ColumnInfo, err error) {
	text := q.statement.text
	err = q.conn.Raw(func(c any) (err error) {
		if columns, err = c.(sqlConn).ColumnInfo(text); err != nil {
			return err
		}
		_, err = c.(sqlConn).ColumnInfo("SELECT 1 FROM (" + text + "\n)")
		if err != nil && strings.Contains(err.Error(), "syntax error") {
			return errNoQuery("this")
		}
		return err
	})
	return columns, q.explain(err)
}

// severalNamed reports whether the query names more than one table.
func (q *sqlQuery) severalNamed() bool {
	n := 0
	for _, s := range q.sources {
		if s.named {
			n++
		}
	}
	return n > 1
}

// copyNamed copies the tables that the query names into real tables, with the columns
// that it uses.
func (q *sqlQuery) copyNamed() error {
	for i, s := range q.sources {
		if !s.named || s.real {
			continue
		}
		if err := q.copy(i, s); err != nil {
			return err
		}
	}
	return nil
}

func (q *sqlQuery) copy(i int, s *sqlSource) error {
	var used []string
	for at, name := range s.table.names {
		if s.used[at] {
			used = append(used, quoteSQL(name))
		}
	}
	if len(used) == 0 { // as in count(*)
		used = []string{quoteSQL(s.table.names[0])}
	}
	name, list, from := quoteSQL(s.name), strings.Join(used, ", "), quoteSQL(q.unused("copied"))
	s.real = true
	for _, text := range []string{
		"DROP TABLE " + name,
		"CREATE TABLE " + name + "(" + s.declared() + ")",
	} {
		if err := q.exec(text, nil); err != nil {
			return err
		}
	}
	if err := q.virtual("temp."+from, i); err != nil {
		return err
	}
	if err := q.exec("INSERT INTO "+name+"("+list+") SELECT "+list+" FROM temp."+from, nil); err != nil {
		return err
	}
	return q.exec("DROP TABLE temp."+from, nil)
}

// unused returns a name that no table has.
func (q *sqlQuery) unused(name string) string {
	for slices.ContainsFunc(q.sources, func(s *sqlSource) bool { return asciiLower(s.name) == name }) {
		name += "_"
	}
	return name
}

// collect runs the query and returns its rows.
func (q *sqlQuery) collect(columns []sqlite.ColumnInfo) (*Table, error) {
	sink := quoteSQL(q.unused("result of the query"))
	q.result = newSQLResult(columns, q.grant)
	if err := q.exec(fmt.Sprintf("CREATE VIRTUAL TABLE temp.%s USING %s(%s)", sink, sqlModule, q.id), nil); err != nil {
		return nil, err
	}
	text := q.statement.text
	if slices.ContainsFunc(q.sources, func(s *sqlSource) bool { return s.named && slices.Contains(s.table.types, Bool) }) {
		text = q.statement.withBools(q.params)
	}
	fill := "INSERT INTO temp." + sink + " " + text
	err := q.exec(fill, q.params)
	if q.reloads {
		q.reloads, q.err = false, nil
		if err := q.copyNamed(); err != nil {
			return nil, err
		}
		q.result.clear(q.grant)
		err = q.exec(fill, q.params)
	}
	if err != nil {
		return nil, err
	}
	return q.result.table()
}

// explained returns the output of EXPLAIN: a few rows, without reading the tables.
func (q *sqlQuery) explained() (*Table, error) {
	err := q.conn.Raw(func(c any) error {
		rows, err := c.(sqlConn).QueryContext(q.ctx, q.statement.before+q.statement.text, q.params)
		if err != nil {
			return err
		}
		defer rows.Close()
		var columns []sqlite.ColumnInfo
		for _, name := range rows.Columns() {
			columns = append(columns, sqlite.ColumnInfo{Name: name})
		}
		q.result = newSQLResult(columns, q.grant)
		values := make([]driver.Value, len(columns))
		for rows.Next(values) == nil {
			if err := q.result.add(values); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, q.explain(err)
	}
	return q.result.table()
}

// errReread ends a query that reads a virtual table again.
var errReread = errors.New("a virtual table is read again")

// Create implements [vtab.Module].
func (e *sqlEngine) Create(ctx vtab.Context, args []string) (vtab.Table, error) {
	e.mu.Lock()
	q := e.open[strings.TrimSpace(args[3])]
	e.mu.Unlock()
	if q == nil {
		return nil, errors.New("no such table")
	}
	if len(args) == 4 {
		return q.result, ctx.Declare("CREATE TABLE x(" + q.result.declared() + ")")
	}
	var i int
	if _, err := fmt.Sscan(args[4], &i); err != nil {
		return nil, err
	}
	s := q.sources[i]
	return &sqlTable{q, s}, ctx.Declare("CREATE TABLE x(" + s.declared() + ")")
}

// VolatileArgs makes the driver pass the texts of SQLite without a copy, which would end
// at a zero byte.
func (e *sqlEngine) VolatileArgs() bool { return true }

// Connect implements [vtab.Module].
func (e *sqlEngine) Connect(ctx vtab.Context, args []string) (vtab.Table, error) {
	return e.Create(ctx, args)
}
