package table

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vfs"
	"modernc.org/sqlite/vtab"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A sqlEngine opens a database for each query.
type sqlEngine struct {
	mu         sync.Mutex
	idle       map[bool][]*sqlDriver // by whether they are for files
	configured bool                  // SQLite was configured to count its memory
	counts     bool                  // SQLite counts its memory
	heap       int64                 // the memory limit for the running queries
}

// A sqlDriver has the functions and virtual tables of one query at a time. It is separate from
// the driver of the records. SQLite keeps what a driver registers for the life of the process,
// so drivers are used again.
type sqlDriver struct {
	sqlite.Driver
	query *sqlQuery
	files bool // it opens files, which have views: those can use only the functions of SQLite
}

// sqlModule is the name of the virtual tables in SQL.
const sqlModule = "cassidy"

func newSQLDriver(files bool) *sqlDriver {
	d := &sqlDriver{files: files}
	err := errors.Join(d.RegisterModule(sqlModule, d), withoutRandom(&d.Driver))
	if !files {
		err = errors.Join(err, d.RegisterCollationUtf8(timeCollation, compareTimes), d.RegisterCollationUtf8("NOCASE", compareFolded), d.registerFunctions())
	}
	if err != nil {
		panic("table: " + err.Error()) // the driver is new, so the names are unused
	}
	return d
}

// enter returns a driver for a query.
func (e *sqlEngine) enter(q *sqlQuery) (d *sqlDriver, leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	files := q.file != nil
	if idle := e.idle[files]; len(idle) > 0 {
		d, e.idle[files] = idle[len(idle)-1], idle[:len(idle)-1]
	} else {
		d = newSQLDriver(files)
	}
	d.query = q
	return d, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		d.query = nil
		if e.idle == nil {
			e.idle = map[bool][]*sqlDriver{}
		}
		e.idle[files] = append(e.idle[files], d)
	}
}

// A sqlQuery is one call of data.sql, or reads a file.
type sqlQuery struct {
	file      *sqliteFile // nil in data.sql
	statement *sqlStatement
	sources   []*sqlSource
	params    []driver.NamedValue
	grant     tool.Grant
	ctx       context.Context
	conn      *sql.Conn
	vfs       *clocklessVFS
	result    *sqlResult
	patterns  map[string]*regexp.Regexp
	kept      int      // the values that aggregates keep for exact quantiles
	notes     []string // which results are estimates
	reloads   bool     // a virtual table was read again, and must be copied
	err       error    // of a table that was read, or of the result
}

// A sqlConn is the used part of the connection of the driver.
type sqlConn interface {
	driver.ExecerContext
	driver.QueryerContext
	ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
}

// within opens a database for what do does.
func (q *sqlQuery) within(ctx context.Context, e *sqlEngine, do func() error) (err error) {
	d, leave := e.enter(q)
	defer leave()
	e.countMemory()
	q.ctx = ctx
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	base := ""
	if q.file != nil {
		name, files, err := vfs.New(q.file)
		if err != nil {
			return errSQLMemory(err.Error())
		}
		defer files.Close()
		base = name
	}
	if q.vfs, err = newClocklessVFS(base); err != nil {
		return err
	}
	defer q.vfs.close()
	share := newBudget(q.grant).all
	db, conn, err := openSQL(ctx, sqlConnector{&d.Driver, share / sqlPage, q.vfs.name, q.file != nil})
	if err != nil {
		return q.explain(err)
	}
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
			err = errSQLMemory(fmt.Sprint(r))
		}
	}()
	active, err := keepActive(conn)
	if err != nil {
		return q.explain(err)
	}
	defer active.Close()
	q.conn = conn
	return do()
}

// run runs the query. First the tables are virtual, so that SQLite reports which columns
// it needs. A table that is read once stays virtual, and its rows are not copied. If a
// query reads several tables, they are copied into real ones, which SQLite can index.
func (q *sqlQuery) run(ctx context.Context, e *sqlEngine) (t *Table, err error) {
	err = q.within(ctx, e, func() error {
		for i := range q.sources {
			if err := q.virtual(quoteSQL(q.sources[i].name), i); err != nil {
				return err
			}
		}
		columns, err := q.inspect()
		if err != nil {
			return err
		}
		if q.statement.explain {
			t, err = q.explained()
			return err
		}
		if q.severalNamed() {
			if err := q.copyNamed(); err != nil {
				return err
			}
		}
		t, err = q.collect(columns)
		return err
	})
	return t, err
}

// virtual creates a virtual table for the i-th table.
func (q *sqlQuery) virtual(name string, i int) error {
	return q.exec(fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s(%d)", name, sqlModule, i), nil)
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
	for at, name := range s.names {
		if s.used[at] {
			used = append(used, quoteSQL(name))
		}
	}
	if len(used) == 0 { // as in count(*)
		used = []string{quoteSQL(s.names[0])}
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
	if err := q.exec("CREATE VIRTUAL TABLE temp."+sink+" USING "+sqlModule, nil); err != nil {
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
		q.notes = nil
		err = q.exec(fill, q.params)
	}
	if err != nil {
		return nil, err
	}
	t, err := q.result.table()
	if err != nil {
		return nil, err
	}
	t.notes = q.notes
	for _, s := range q.sources {
		if s.named {
			t.notes = append(t.notes, s.renamed()...)
		}
	}
	return t, nil
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

// Create implements [vtab.Module]: a table of the query, or its result.
func (d *sqlDriver) Create(ctx vtab.Context, args []string) (vtab.Table, error) {
	q := d.query
	if len(args) == 3 {
		return q.result, ctx.Declare("CREATE TABLE x(" + q.result.declared() + ")")
	}
	i, err := strconv.Atoi(strings.TrimSpace(args[3]))
	if err != nil || i < 0 || i >= len(q.sources) {
		return nil, errors.New("no such table")
	}
	s := q.sources[i]
	return &sqlTable{q, s}, ctx.Declare("CREATE TABLE x(" + s.declared() + ")")
}

// VolatileArgs makes the driver pass the texts of SQLite without a copy, which would end
// at a zero byte.
func (d *sqlDriver) VolatileArgs() bool { return true }

// Connect implements [vtab.Module].
func (d *sqlDriver) Connect(ctx vtab.Context, args []string) (vtab.Table, error) {
	return d.Create(ctx, args)
}
