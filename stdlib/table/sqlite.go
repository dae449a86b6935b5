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
	// sqliteTime is the time to read a view, in seconds.
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
	views  map[string]bool
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
	t, err := f.table(name, o)
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
	const list = "SELECT s.name, s.type FROM main.sqlite_schema s JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name AND l.type IN ('table', 'view') " +
		"WHERE s.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY s.type, s.rowid"
	f.views = map[string]bool{}
	err := f.query(ctx, list, "", func(r *sqlResult) error {
		for i := range r.rows {
			name := r.columns[0].Texts[i]
			f.names = append(f.names, name)
			f.views[name] = r.columns[1].Texts[i] == "view"
		}
		return nil
	})
	if err == nil && len(f.names) == 0 {
		return nil, value.Errorf(value.Failed, "%s has no tables", in.name).WithHint("%s", strings.Join(f.notes, "; "))
	}
	return f, err
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

// table reads a table or a view. The rows of a small file and of a view are held.
func (f *sqliteFile) table(name string, o *readOptions) (*Table, error) {
	text := "SELECT * FROM main." + quoteSQL(name)
	s := &sqliteSurvey{budget: newBudget(f.grant), hold: f.in.held != nil || f.views[name]}
	ctx := f.ctx
	if f.views[name] { // which can take long for one row
		clock := startClock(ctx, sqliteTime)
		defer clock.stop()
		ctx = clock.ctx
	}
	err := f.query(ctx, text, name, func(r *sqlResult) error {
		if err := s.add(r); err != nil {
			return f.explain(name, err)
		}
		return nil
	})
	if err == nil {
		err = s.decide(o)
	}
	if err != nil {
		return nil, err
	}
	t := &Table{names: s.names, types: s.types, notes: slices.Clone(f.notes), rows: s.rows}
	if s.hold {
		t.held = newBatch(s.types)
		for i, raw := range s.held {
			b, err := s.typed(raw)
			if err != nil {
				return nil, err
			}
			t.held.extend(b)
			s.held[i] = nil
		}
		return t, nil
	}
	t.scan = func(ctx context.Context, g tool.Grant, yield func(*Batch) error) error {
		f, err := openSQLite(ctx, g, f.in, o)
		if err != nil {
			return err
		}
		return f.query(ctx, text, name, func(r *sqlResult) error {
			b, err := s.typed(&Batch{Rows: r.rows, Columns: r.columns})
			if err != nil || b.Rows == 0 {
				return err
			}
			return yield(b)
		})
	}
	return t, nil
}

// A sqliteSurvey finds the types of the columns of a table, which SQLite does not fix.
type sqliteSurvey struct {
	budget *budget
	hold   bool
	held   []*Batch // with columns of the types of their values; nil without values
	names  []string
	known  []string // the declared types
	kinds  []kindSet
	flags  []bool // no integer is other than 0 and 1
	types  []Type
	rows   int
}

// add surveys the rows of a result.
func (s *sqliteSurvey) add(r *sqlResult) error {
	if s.kinds == nil {
		s.names, s.known = r.names, r.decltypes
		s.kinds, s.flags = make([]kindSet, len(s.names)), slices.Repeat([]bool{true}, len(s.names))
	}
	for i, c := range r.columns {
		for row := range r.rows {
			if c == nil || c.missing(row) {
				continue
			}
			v := c.value(row)
			s.kinds[i].add(v)
			s.flags[i] = s.flags[i] && (v == int64(0) || v == int64(1))
		}
	}
	s.rows += r.rows
	if !s.hold {
		return nil
	}
	s.held = append(s.held, &Batch{Rows: r.rows, Columns: r.columns})
	return s.budget.take(r.budget.all - r.budget.left)
}

// decide chooses the types of the columns, some of which may be given.
func (s *sqliteSurvey) decide(o *readOptions) (err error) {
	if s.types, err = o.typesOfColumns(s.names, s.kinds); err != nil {
		return err
	}
	for i, kinds := range s.kinds {
		_, given := o.types[s.names[i]]
		declared := sqliteType(s.known[i])
		if !given && (kinds == 0 || s.types[i] == Integer && (declared == Float || declared == Bool && s.flags[i])) {
			s.types[i] = declared
		}
	}
	return nil
}

// typed returns the rows in columns of the types.
func (s *sqliteSurvey) typed(raw *Batch) (*Batch, error) {
	b := newBatch(s.types)
	b.Rows = raw.Rows
	for i, c := range raw.Columns {
		for row := range raw.Rows {
			var v value.Value
			if c != nil && !c.missing(row) {
				v = c.value(row)
			}
			if err := b.Columns[i].addRead(v, nil); err != nil {
				return nil, inCell(err, row+1, s.names[i])
			}
		}
	}
	return b, nil
}

// query runs a query on the file, and passes its rows on in batches; the last one may be empty.
// name is the table for errors, if there is one.
func (f *sqliteFile) query(ctx context.Context, text, name string, yield func(*sqlResult) error) error {
	q := &sqlQuery{file: f, statement: &sqlStatement{}, grant: f.grant}
	var stopped error
	err := q.within(ctx, f.engine, func() error {
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
		}
		r := newSQLResult(columns, f.grant)
		r.flush = func() error {
			if stopped = ctx.Err(); stopped == nil {
				stopped = yield(r)
			}
			r.clear(f.grant)
			return stopped
		}
		q.result = r
		if err := q.exec("CREATE VIRTUAL TABLE temp.result USING "+sqlModule, nil); err != nil {
			return err
		}
		err = q.exec("WITH t("+r.declared()+") AS ("+text+") INSERT INTO temp.result SELECT "+strings.Join(shown, ", ")+" FROM t", nil)
		if err == nil {
			err = r.flush()
		}
		return err
	})
	switch {
	case err == nil:
		return f.in.checkUnchanged(f.grant)
	case f.err != nil:
		return f.err
	case stopped != nil:
		return stopped
	case ctx.Err() != nil && value.ErrorOf(err, value.Failed).Limit == "":
		return err // the call was canceled
	}
	return f.explain(name, err)
}

// explain adds the file, the table if there is one, and a hint to an error.
func (f *sqliteFile) explain(name string, err error) error {
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
	return e
}

// sqliteType returns the type for a declared type. Other columns get that of their values.
func sqliteType(declared string) Type {
	switch strings.ToUpper(declared) {
	case "BOOL", "BOOLEAN":
		return Bool
	case "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION":
		return Float
	case "INT", "INTEGER", "BIGINT", "SMALLINT":
		return Integer
	}
	return Text
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
		if in, err = openFile(c.ctx, c.grant, in.name); err == nil {
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
