package table

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A run is resumed and replayed from its record, which does not contain the results of
// queries: each query must return the same again. So a query has no clock and no random
// numbers.

// A clocklessVFS is the source of the time for one connection of SQLite (a VFS, whose
// main use is files). It returns no time, and records that it was asked: SQLite itself
// would treat the time as missing, without an error.
type clocklessVFS struct {
	at   uintptr // the address of its struct, in memory of SQLite
	name string
	text uintptr // the name as a C string
}

// vfsLayout returns the offsets of the parts: after the struct of SQLite, the address of
// the code of refuseTime, which makes it a function in C, and the flag asked.
func vfsLayout() (code, asked, size uintptr) {
	word := reflect.TypeFor[uintptr]().Size()
	code = reflect.TypeFor[sqlite3.Tsqlite3_vfs]().Size()
	return code, code + word, code + 2*word
}

// refuseTime is the function xCurrentTimeInt64 of the VFS. It must use only its
// arguments.
func refuseTime(_ *libc.TLS, vfs, _ uintptr) int32 {
	_, asked, _ := vfsLayout()
	libc.AssignPtrUintptr(vfs+asked, 1)
	return sqlite3.SQLITE_ERROR
}

// newClocklessVFS registers a VFS that is otherwise the named one; "" is the default one.
func newClocklessVFS(base string) (*clocklessVFS, error) {
	thread := libc.NewTLS()
	defer thread.Close()
	code, asked, size := vfsLayout()
	named := uintptr(0)
	if base != "" {
		var err error
		if named, err = libc.CString(base); err != nil {
			return nil, errSQLMemory(err.Error())
		}
		defer libc.Xfree(thread, named)
	}
	usual := sqlite3.Xsqlite3_vfs_find(thread, named)
	v := &clocklessVFS{at: sqlite3.Xsqlite3_malloc(thread, int32(size))}
	if usual == 0 || v.at == 0 {
		return nil, errSQLMemory("out of memory")
	}
	v.name = fmt.Sprintf("cassidy-%x", v.at)
	var err error
	if v.text, err = libc.CString(v.name); err != nil {
		sqlite3.Xsqlite3_free(thread, v.at)
		return nil, errSQLMemory(err.Error())
	}
	next := vfsField("FpNext") // others may change it concurrently
	for at := uintptr(0); at < code; at += reflect.TypeFor[uintptr]().Size() {
		if at != next {
			libc.AssignPtrUintptr(v.at+at, libc.AtomicLoadPUintptr(usual+at))
		}
	}
	v.set("FpNext", 0)
	libc.AssignPtrInt32(v.at+vfsField("FiVersion"), 2) // with xCurrentTimeInt64
	libc.AssignPtrUintptr(v.at+code, reflect.ValueOf(refuseTime).Pointer())
	v.set("FxCurrentTimeInt64", v.at+code)
	v.set("FzName", v.text)
	libc.AssignPtrUintptr(v.at+asked, 0)
	sqlite3.Xsqlite3_vfs_register(thread, v.at, 0)
	return v, nil
}

func (v *clocklessVFS) set(field string, to uintptr) {
	libc.AssignPtrUintptr(v.at+vfsField(field), to)
}

// vfsField returns the offset of a field of the struct.
func vfsField(name string) uintptr {
	f, ok := reflect.TypeFor[sqlite3.Tsqlite3_vfs]().FieldByName(name)
	if !ok {
		panic("table: SQLite's VFS has no " + name)
	}
	return f.Offset
}

// askedForTime reports whether a query askedForTime for the time.
func (v *clocklessVFS) askedForTime() bool {
	_, asked, _ := vfsLayout()
	return libc.AtomicLoadPUintptr(v.at+asked) != 0
}

// close unregisters the VFS. Its connection must be closed.
func (v *clocklessVFS) close() {
	thread := libc.NewTLS()
	defer thread.Close()
	sqlite3.Xsqlite3_vfs_unregister(thread, v.at)
	sqlite3.Xsqlite3_free(thread, v.at)
	libc.Xfree(thread, v.text)
}

func errSQLTime() error {
	return value.Errorf(value.Invalid, "SQL: the current time is not allowed in a query: replay needs the same result").
		WithHint(`write the time into the query as text; in a script, pass it as a parameter: params = {"now": time.now()}, and :now in the query`)
}

// sqlRandomText is the error of the functions random and randomblob.
const sqlRandomText = "random numbers are not allowed in a query"

func errSQLRandom() error {
	return value.Errorf(value.Invalid, "SQL: %s: replay needs the same result", sqlRandomText).
		WithHint("order the rows by a column; in a script, t.sample(n) returns random rows, and random numbers of the module random can be passed in params")
}

// withoutRandom makes the driver reject the functions that return random numbers.
func withoutRandom(d *sqlite.Driver) error {
	refuse := func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return nil, errors.New(sqlRandomText)
	}
	return errors.Join(d.RegisterScalarFunction("random", 0, refuse), d.RegisterScalarFunction("randomblob", 1, refuse))
}
