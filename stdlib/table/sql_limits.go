package table

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	maxSQLColumns = 2000    // the maximum of SQLite
	maxSQLName    = 200     // bytes of the name of a table
	maxSQLValue   = 8 << 20 // bytes of a value or a row
)

// sqlLimits returns the limits of a statement. They limit the work of SQLite between two
// checks for an interrupt.
func sqlLimits() map[int]int {
	return map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:              maxSQLValue,
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:          maxSQLText + maxSQLColumns*maxSQLName, // and the statements of this package
		sqlite3.SQLITE_LIMIT_COLUMN:              maxSQLColumns,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          200,
		sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     200,
		sqlite3.SQLITE_LIMIT_VDBE_OP:             250_000, // a list of 50,000 values
		sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        100,
		sqlite3.SQLITE_LIMIT_ATTACHED:            0, // only this database
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
		sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER:     10_000,
		sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       1,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
	}
}

// A sqlConnector opens a database in memory, without a file for overflow, or a file of its VFS.
type sqlConnector struct {
	driver *sqlite.Driver
	pages  int64
	vfs    string
	file   bool
}

// sqlPage is the size of a page of a database in bytes.
const sqlPage = 4096

// Driver implements [driver.Connector].
func (c sqlConnector) Driver() driver.Driver { return c.driver }

// Connect implements [driver.Connector].
func (c sqlConnector) Connect(context.Context) (driver.Conn, error) {
	name, mode := ":memory:", ""
	if c.file {
		name, mode = "file:"+sqliteName, "&mode=ro&immutable=1&_pragma=cell_size_check(1)"
	}
	return c.driver.Open(fmt.Sprintf("%s?_defensive=1&_dqs=0&_pragma=trusted_schema(0)&_pragma=temp_store(2)&_pragma=max_page_count(%d)&vfs=%s%s", name, c.pages, c.vfs, mode))
}

// openSQL opens a new database. max_page_count limits the copied data even if memory is
// not counted.
func openSQL(ctx context.Context, c sqlConnector) (*sql.DB, *sql.Conn, error) {
	db := sql.OpenDB(c)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	for id, n := range sqlLimits() {
		if _, err := sqlite.Limit(conn, id, n); err != nil {
			conn.Close()
			db.Close()
			return nil, nil, err
		}
	}
	return db, conn, nil
}

// keepActive begins a statement that is not ended before the rows are closed. SQLite forgets an interrupt when a statement
// begins while no other is active, so a query whose time ends just before it begins would run forever.
func keepActive(conn *sql.Conn) (rows driver.Rows, err error) {
	err = conn.Raw(func(c any) error {
		rows, err = c.(sqlConn).QueryContext(context.Background(), "VALUES (1), (2)", nil)
		return err
	})
	return rows, err
}

// countMemory makes SQLite count its memory, which its limit of memory requires. That is
// only possible before the process opens its first database, as here in a worker. If
// another database was opened first, such as the records in a host, the memory of the
// process is the only limit.
func (e *sqlEngine) countMemory() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.configured {
		return
	}
	e.configured = true
	thread := libc.NewTLS()
	defer thread.Close()
	yes := libc.NewVaList(int32(1))
	defer libc.Xfree(thread, yes)
	e.counts = sqlite3.Xsqlite3_config(thread, sqlite3.SQLITE_CONFIG_MEMSTATUS, yes) == sqlite3.SQLITE_OK
}

// adjustMemory changes the memory limit of SQLite. There is one limit for the process:
// the sum of the limits of the running queries, or no limit without queries.
func (e *sqlEngine) adjustMemory(n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.counts {
		return
	}
	thread := libc.NewTLS()
	defer thread.Close()
	e.heap += n
	sqlite3.Xsqlite3_hard_heap_limit64(thread, e.heap)
}

// A sqlClock ends a query when its time or that of the call is over. The context of the
// call may have no channel, so it must be polled, and by one goroutine only: while the
// clock runs, only the clock polls it.
type sqlClock struct {
	ctx   context.Context // the context of the query
	end   context.CancelCauseFunc
	ended chan struct{}
	wait  sync.WaitGroup
}

// clockTick is the polling interval.
const clockTick = 5 * time.Millisecond

func startClock(call context.Context, seconds float64) *sqlClock {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(call))
	c := &sqlClock{ctx: ctx, end: cancel, ended: make(chan struct{})}
	if err := call.Err(); err != nil {
		cancel(cause(call))
	}
	c.wait.Go(func() {
		ticks := time.NewTicker(clockTick)
		defer ticks.Stop()
		over := time.NewTimer(time.Duration(seconds * float64(time.Second)))
		defer over.Stop()
		for {
			select {
			case <-c.ended:
				return
			case <-over.C:
				cancel(errQueryTime(seconds))
				return
			case <-ticks.C:
				if call.Err() != nil {
					cancel(cause(call))
					return
				}
			}
		}
	})
	return c
}

// stop ends the clock. When it returns, the context of the call is no longer polled.
func (c *sqlClock) stop() {
	close(c.ended)
	c.wait.Wait()
	c.end(nil)
}

// cause returns why a context ended. A context without a channel has the cause only as
// its error.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func spanOf(seconds float64) string {
	if seconds == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%g seconds", seconds)
}

func errQueryTime(seconds float64) error {
	e := value.Errorf(value.Limit, "the query took longer than %s", spanOf(seconds)).
		WithHint("check the query for an endless join or recursion, or pass a longer timeout")
	e.Limit = value.LimitTimeout
	return e
}
