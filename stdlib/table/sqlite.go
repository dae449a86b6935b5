package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// sqliteHeader is the beginning of a SQLite file.
	sqliteHeader = "SQLite format 3\x00"
	// sqliteName is the name of the file for SQLite, which sees no other.
	sqliteName = "file"
	// sqliteParts is how many parts of a large file are kept: the pages of a table are not in order.
	sqliteParts = 4
	// sqliteTime is the time to read a table, in seconds.
	sqliteTime = 60
)

// A sqliteFile is a SQLite file that SQLite reads through the gate. It cannot be written, and no
// file beside it is opened. It implements [fs.FS].
type sqliteFile struct {
	in     *input
	engine *sqlEngine
	ctx    context.Context
	grant  tool.Grant
	parts  []*parts
	oldest int   // the part to replace
	err    error // of the gate
	ahead  bool  // it is written ahead (WAL)
	names  []string
	notes  []string
}

// readSQLite reads a table or a view.
func readSQLite(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	f, err := openSQLite(ctx, g, in, o)
	if err != nil {
		return nil, err
	}
	name, note, err := f.choose(o.sheet)
	if err != nil {
		return nil, err
	}
	t, err := f.table(name)
	if err == nil && note != "" {
		t.notes = append([]string{note}, t.notes...)
	}
	return t, err
}

// openSQLite reads the list of tables.
func openSQLite(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*sqliteFile, error) {
	f := &sqliteFile{in: in, engine: o.engine, ctx: ctx, grant: g}
	for range sqliteParts {
		p, err := in.open(ctx, g)
		if err != nil {
			return nil, err
		}
		f.parts = append(f.parts, p)
		in.looked = true // it is the same look
	}
	in.looked = false
	head := make([]byte, 20)
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if !strings.HasPrefix(string(head), sqliteHeader) {
		return nil, value.Errorf(value.Failed, "%s is not a SQLite file", in.name).WithHint(`set format to the format of the file, such as "csv"; an encrypted database cannot be read`)
	}
	if err := f.checkBeside(); err != nil {
		return nil, err
	}
	const list = "SELECT s.name FROM main.sqlite_schema s JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name AND l.type IN ('table', 'view') " +
		"WHERE s.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY s.type, s.rowid"
	t, err := f.query(list, "")
	if err != nil {
		return nil, err
	}
	if t.held.Rows == 0 {
		return nil, value.Errorf(value.Failed, "%s has no tables", in.name).WithHint("%s", strings.Join(f.notes, "; "))
	}
	f.names = t.held.Columns[0].Texts
	return f, nil
}

// checkBeside looks for changes of the file that are not in it yet.
func (f *sqliteFile) checkBeside() error {
	if !f.in.file {
		return nil
	}
	beside := f.in.name + "-journal"
	if f.ahead {
		beside = f.in.name + "-wal"
	}
	there, err := f.in.request(f.grant, "fs.exists", value.NewDict("path", beside))
	if errors.Is(err, value.ErrDenied) {
		f.notes = append(f.notes, beside+" cannot be read: changes that are only in it are missing")
		return nil
	}
	if err != nil || there != true {
		return err
	}
	stat, err := f.in.request(f.grant, "fs.stat", value.NewDict("path", beside))
	if d, _ := stat.(*value.Dict); err != nil || d.Int("size") < 28 { // of its header
		return err
	}
	if f.ahead {
		f.notes = append(f.notes, fmt.Sprintf("changes that are only in %s are not read: to write them into the file, close the program that uses it, or run PRAGMA wal_checkpoint", beside))
		return nil
	}
	begin, err := f.in.bytes(f.grant, value.NewDict("path", beside, "offset", int64(0), "length", int64(8)))
	if err == nil && string(begin) == "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" {
		err = value.Errorf(value.Failed, "%s: a write to the file is in progress, or was interrupted: %s is beside it", f.in.name, beside).
			WithHint("wait for the program that writes it, or open the file with that program, and read the file again")
	}
	return err
}

// choose returns the selected table or, if none is selected, the first one.
func (f *sqliteFile) choose(wanted value.Value) (name, note string, err error) {
	switch w := wanted.(type) {
	case nil:
		if len(f.names) > 1 {
			note = fmt.Sprintf("read the table %q; other tables: %s", cut(f.names[0]), someNames(f.names[1:]))
		}
		return f.names[0], note, nil
	case string:
		if i := slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name, w) }); i >= 0 {
			return f.names[i], "", nil
		}
		return "", "", value.Errorf(value.Invalid, "%s: no table %q%s", f.in.name, cut(w), value.DidYouMean(w, f.names)).
			WithHint("the tables are %s", someNames(f.names))
	case int64:
		if w >= 1 && w <= int64(len(f.names)) {
			return f.names[w-1], "", nil
		}
		return "", "", value.Errorf(value.Invalid, "%s: no table %d", f.in.name, w).
			WithHint("the first table has the number 1; the tables are %s", someNames(f.names))
	}
	return "", "", value.Errorf(value.Invalid, "argument 'sheet' should be a name or a number but got %s", value.TypeOf(wanted))
}

// table reads a table or a view.
func (f *sqliteFile) table(name string) (*Table, error) {
	t, err := f.query("SELECT * FROM main."+quoteSQL(name), name)
	if err != nil {
		return nil, err
	}
	t.notes = append(slices.Clone(f.notes), t.notes...)
	for i, c := range t.held.Columns {
		t.held.Columns[i] = c.withTimes()
		t.types[i] = t.held.Columns[i].Type
	}
	return t, nil
}

// query returns the rows of a query on the file. name is the table for errors, if there is one.
func (f *sqliteFile) query(text, name string) (*Table, error) {
	clock := startClock(f.ctx, sqliteTime)
	defer clock.stop()
	q := &sqlQuery{file: f, statement: &sqlStatement{}, grant: f.grant}
	var t *Table
	err := q.within(clock.ctx, f.engine, func() error {
		var columns []sqlite.ColumnInfo
		err := q.conn.Raw(func(c any) (err error) {
			columns, err = c.(sqlConn).ColumnInfo(text)
			return err
		})
		if err != nil {
			return q.explain(err)
		}
		shown := make([]string, len(columns))
		for i := range columns {
			shown[i] = fmt.Sprintf("CASE typeof(c%d) WHEN 'blob' THEN '(' || length(c%[1]d) || ' bytes)' ELSE c%[1]d END", i)
			columns[i].DeclType = sqliteType(columns[i].DeclType)
		}
		q.result = newSQLResult(columns, f.grant)
		if err := q.exec("CREATE VIRTUAL TABLE temp.result USING "+sqlModule, nil); err != nil {
			return err
		}
		err = q.exec("WITH t("+q.result.declared()+") AS ("+text+") INSERT INTO temp.result SELECT "+strings.Join(shown, ", ")+" FROM t", nil)
		if err == nil {
			t, err = q.result.table()
		}
		return err
	})
	switch {
	case err == nil:
		return t, f.in.checkUnchanged(f.grant)
	case f.err != nil:
		return nil, f.err
	case clock.ctx.Err() != nil && value.ErrorOf(err, value.Failed).Limit == "":
		return nil, err // the call was canceled
	}
	place := f.in.name
	if name != "" {
		place += fmt.Sprintf(", table %q", cut(name))
	}
	e := renamedError(err, "%s: %s", place, strings.TrimPrefix(value.ErrorOf(err, value.Failed).Message(), "SQL: "))
	switch {
	case e.Limit == value.LimitTimeout:
		e.Hint = "read another table, or save the rows of the view in a table"
	case e.Limit != "":
		e.Hint = "read a smaller table, or a view that selects fewer rows or columns; in a script, declare limits = {\"memory\": …}"
	case e.Kind == value.Failed:
		e.Hint = "the file is damaged, or was copied while a program wrote it: copy it again, or repair it with `sqlite3 FILE .recover`"
	default:
		e.Hint = "read another table"
	}
	return nil, e
}

// sqliteType returns the type of this package for a declared type, if a value needs it.
func sqliteType(declared string) string {
	switch strings.ToUpper(declared) {
	case "BOOL", "BOOLEAN":
		return sqlTypes[Bool]
	case "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION":
		return sqlTypes[Float]
	case "INT", "INTEGER", "BIGINT", "SMALLINT":
		return sqlTypes[Integer]
	}
	return ""
}

// withTimes returns a column of texts as one of times, if all texts are times of one kind.
func (c *Column) withTimes() *Column {
	if c.Type != Text {
		return c
	}
	var kinds kindSet
	for i, s := range c.Texts {
		if !c.missing(i) {
			kinds.add(s)
		}
	}
	t := kinds.columnType()
	if !t.time() {
		return c
	}
	d := newColumn(t, c.Len())
	for i, s := range c.Texts {
		if n, ok := parseTime(t, s); ok && !c.missing(i) {
			d.addInt(n)
		} else {
			d.addMissing()
		}
	}
	return d
}

// ReadAt implements [io.ReaderAt]. A file that is written ahead is read as one that is not, because
// its pages are the same and SQLite would need further files.
func (f *sqliteFile) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	for n < len(b) && at+int64(n) < f.in.size {
		from := at + int64(n)
		p := f.partAt(from)
		end := min(int64(len(b)-n), partSize-from%partSize, f.in.size-from)
		k, err := p.ReadAt(b[n:n+int(end)], from)
		n += k
		if err != nil {
			f.err = err
			return n, err
		}
	}
	for i := max(18, at); i < min(20, at+int64(n)); i++ {
		if b[i-at] == 2 {
			b[i-at], f.ahead = 1, true
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// partAt returns the part with an offset, or the one to replace.
func (f *sqliteFile) partAt(at int64) *parts {
	for _, p := range f.parts {
		if p.start <= at && at < p.start+int64(len(p.part)) {
			return p
		}
	}
	f.oldest = (f.oldest + 1) % len(f.parts)
	return f.parts[f.oldest]
}

// Open implements [fs.FS].
func (f *sqliteFile) Open(name string) (fs.File, error) {
	if name != sqliteName {
		return nil, fs.ErrNotExist
	}
	return &openSQLiteFile{io.NewSectionReader(f, 0, f.in.size)}, nil
}

// An openSQLiteFile is the file as SQLite opens it.
type openSQLiteFile struct{ *io.SectionReader }

// Stat implements [fs.File].
func (f *openSQLiteFile) Stat() (fs.FileInfo, error) { return sqliteInfo{f.Size()}, nil }

// Close implements [fs.File].
func (f *openSQLiteFile) Close() error { return nil }

type sqliteInfo struct{ size int64 }

func (sqliteInfo) Name() string       { return sqliteName }
func (i sqliteInfo) Size() int64      { return i.size }
func (sqliteInfo) Mode() fs.FileMode  { return 0o400 }
func (sqliteInfo) ModTime() time.Time { return time.Time{} }
func (sqliteInfo) IsDir() bool        { return false }
func (sqliteInfo) Sys() any           { return nil }

// sheets is the implementation of data.sheets.
func (c *call) sheets(e *sqlEngine) (value.Value, error) {
	o := &readOptions{engine: e}
	in := &input{name: c.args.Text("path"), file: true}
	format, err := o.formatOf(in)
	if err != nil || format == formatSQL || format == formatXLSX || path.Ext(in.name) == "" {
		if in, err = openFile(c.grant, in.name); err == nil {
			format, err = o.formatOf(in)
		}
	}
	if err != nil {
		return nil, err
	}
	names := value.List{}
	switch format {
	case formatSQL:
		f, err := openSQLite(c.ctx, c.grant, in, o)
		if err != nil {
			return nil, err
		}
		for _, name := range f.names {
			names = append(names, name)
		}
	case formatXLSX:
		f, err := openXLSX(c.ctx, c.grant, in)
		if err != nil {
			return nil, err
		}
		for _, s := range f.sheets {
			if !s.hidden {
				names = append(names, s.name)
			}
		}
	}
	return names, nil
}
