package table

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sqliteBytes returns a SQLite file that statements make.
func sqliteBytes(t testing.TB, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	c, err := (&sqlite.Driver{}).Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := c.(driver.ExecerContext).ExecContext(context.Background(), s, nil); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filesGrant serves files, and nothing else.
func filesGrant(t testing.TB, files map[string][]byte) tool.Grant {
	return tool.Grant{Memory: 256 << 20, Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		b, ok := files[args.Text("path")]
		switch {
		case name == "fs.exists":
			return tool.Outcome{Value: ok}, nil
		case !ok:
			return tool.Outcome{}, value.Errorf(value.Failed, "%s: no such file", args.Text("path"))
		case name == "fs.stat":
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(b)), "modified", "")}, nil
		case name != "fs.read_bytes":
			t.Errorf("effect %s", name)
		}
		at := args.Int("offset")
		return tool.Outcome{Value: bytes.Clone(b[at : at+args.IntOr("length", int64(len(b)))])}, nil
	}}
}

// callData calls a function of the module data.
func callData(t testing.TB, g tool.Grant, name string, args ...value.Value) (value.Value, error) {
	t.Helper()
	for _, f := range Module().Funcs {
		if f.Name == name {
			named, _ := args[len(args)-1].(*value.Dict)
			if named != nil {
				args = args[:len(args)-1]
			}
			bound, err := f.Bind(args, named)
			if err != nil {
				return nil, err
			}
			out, err := f.Do(context.Background(), tool.Effect{Func: "data." + name, Args: bound}, g)
			return out.Value, err
		}
	}
	t.Fatalf("no function %s", name)
	return nil, nil
}

func shop(t testing.TB) []byte {
	return sqliteBytes(t,
		`CREATE TABLE "order lines"(id INTEGER PRIMARY KEY, item TEXT, price REAL, paid BOOLEAN, day TEXT, at TEXT, photo BLOB, free)`,
		`INSERT INTO "order lines" VALUES (1, 'tea', 2, 1, '2024-01-31', '2024-01-31 10:00:00', x'0102', 1), (2, NULL, 2.5, 0, NULL, '2024-02-01 11:30:00', NULL, 'x')`,
		"CREATE TABLE customers(name TEXT COLLATE NOCASE)", "INSERT INTO customers VALUES ('Ann'), ('Bob')", "CREATE INDEX by_name ON customers(name)",
		"CREATE VIEW totals AS SELECT upper(item) AS item, sum(price) AS total FROM \"order lines\" WHERE item LIKE 'T%'",
		"CREATE TRIGGER t AFTER INSERT ON customers BEGIN DELETE FROM customers; END",
		"CREATE TABLE empty(a INTEGER, b)")
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	shop := shop(t)
	g := filesGrant(t, map[string][]byte{"shop.db": shop, "shop.data": shop, "shop.sqlite3": shop})
	const lines = `id:integer item:text price:float paid:bool day:date at:datetime photo:text free:any ` +
		`| 1 "tea" 2.0 true "2024-01-31" "2024-01-31T10:00:00" "(2 bytes)" 1| 2 null 2.5 false null "2024-02-01T11:30:00" null "x"`
	for _, c := range []struct {
		path  string
		sheet value.Value
		want  string
	}{
		{"shop.db", nil, lines},
		{"shop.data", "ORDER LINES", lines},
		{"shop.sqlite3", "customers", `name:text | "Ann"| "Bob"`},
		{"shop.db", int64(4), `item:text total:float | "TEA" 2.0`},
		{"shop.db", "empty", `a:integer b:text `},
	} {
		v, err := callData(t, g, "read", c.path, value.NewDict("sheet", c.sheet))
		if err != nil {
			t.Errorf("read(%s, %v): %v", c.path, c.sheet, err)
			continue
		}
		if got := shown(t, v.(*Table)); got != c.want {
			t.Errorf("read(%s, %v) = %s, want %s", c.path, c.sheet, got, c.want)
		}
	}
	v, err := callData(t, g, "read", "shop.db")
	if want := `read the table "order lines"; other tables: customers, empty, totals`; err != nil || len(v.(*Table).notes) != 1 || v.(*Table).notes[0] != want {
		t.Errorf("notes: %v, %v, want %s", v.(*Table).notes, err, want)
	}
	if v, err := callData(t, g, "parse", shop); err != nil || shown(t, v.(*Table)) != lines {
		t.Errorf("parse: %v", err)
	}
	for _, c := range []struct {
		sheet value.Value
		want  string
	}{
		{"custmers", `shop.db: no table "custmers"; did you mean "customers"? / the tables are`},
		{int64(5), "shop.db: no table 5 / the first table has the number 1"},
		{1.5, "'sheet' should be a name or a number"},
		{"sqlite_schema", "no table"},
	} {
		_, err := callData(t, g, "read", "shop.db", value.NewDict("sheet", c.sheet))
		if e := value.ErrorOf(err, value.Failed); err == nil || !strings.Contains(e.Message()+" / "+e.Hint, c.want) {
			t.Errorf("sheet %v: %v / %s, want %q", c.sheet, err, e.Hint, c.want)
		}
	}
}

func TestSheets(t *testing.T) {
	t.Parallel()
	g := filesGrant(t, map[string][]byte{"shop.db": shop(t), "shop.unknown": shop(t), "shop": shop(t), "none.db": sqliteBytes(t, "PRAGMA user_version = 1"), "a.b": []byte("x")})
	for _, c := range []struct{ path, want string }{
		{"shop.db", `["order lines","customers","empty","totals"]`}, {"shop.unknown", `["order lines","customers","empty","totals"]`},
		{"shop", `["order lines","customers","empty","totals"]`},
		{"a.csv", "[]"}, // which is not read
		{"a.b", "unknown format"}, {"none.db", "no tables"}, {"missing.db", "no such file"},
	} {
		v, err := callData(t, g, "sheets", c.path)
		got := fmt.Sprint(err)
		if err == nil {
			got = value.FormatJSON(v, "")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("sheets(%s) = %s, want %s", c.path, got, c.want)
		}
	}
}

// TestSQLiteBeside reads files with changes that are not in them.
func TestSQLiteBeside(t *testing.T) {
	t.Parallel()
	ahead := sqliteBytes(t, "PRAGMA journal_mode = wal", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
	if ahead[18] != 2 {
		t.Fatal("the file is not written ahead")
	}
	plain := sqliteBytes(t, "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
	hot := append([]byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), make([]byte, 600)...)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  string // the error, or the note
	}{
		{"written ahead", map[string][]byte{"a.db": ahead}, ""},
		{"with an empty file beside it", map[string][]byte{"a.db": ahead, "a.db-wal": {}}, ""},
		{"with changes beside it", map[string][]byte{"a.db": ahead, "a.db-wal": make([]byte, 4000)}, "a.db-wal are not read"},
		{"a journal", map[string][]byte{"a.db": plain, "a.db-journal": hot}, "a.db: a write to the file is in progress"},
		{"an ended journal", map[string][]byte{"a.db": plain, "a.db-journal": make([]byte, 600)}, ""},
	} {
		v, err := callData(t, filesGrant(t, c.files), "read", "a.db")
		got := ""
		if u, ok := v.(*Table); ok {
			got = strings.Join(u.notes, ";")
			if s := shown(t, u); s != "a:integer | 1" {
				t.Errorf("%s: %s", c.name, s)
			}
		} else if err != nil {
			got = err.Error()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSQLiteHostile reads files that others have made.
func TestSQLiteHostile(t *testing.T) {
	t.Parallel()
	views := sqliteBytes(t, "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)",
		"CREATE VIEW v1 AS SELECT random() AS a", "CREATE VIEW v2 AS SELECT date('now') AS a", "CREATE VIEW v3 AS SELECT load_extension('x')",
		"CREATE VIEW v4 AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, hex(zeroblob(1000)) FROM c", "CREATE VIEW v5 AS SELECT * FROM missing",
		"CREATE VIEW v6 AS SELECT * FROM pragma_database_list", "CREATE VIEW v7 AS SELECT nothere(1)", "CREATE VIEW v8 AS SELECT zeroblob(900000000) || 'x'")
	g := filesGrant(t, map[string][]byte{"v.db": views, "text.db": []byte("a,b\n1,2\n"), "empty.db": {}, "none.db": sqliteBytes(t, "PRAGMA user_version = 1")})
	g.Memory = 32 << 20
	for _, c := range []struct{ path, sheet, want string }{
		{"v.db", "v1", "unsafe use of random()"}, {"v.db", "v2", "current time"}, {"v.db", "v3", `v.db, table "v3": `}, {"v.db", "v4", `v.db, table "v4": `},
		{"v.db", "v5", "missing"}, {"v.db", "v6", `v.db, table "v6": `}, {"v.db", "v7", "nothere"}, {"v.db", "v8", `v.db, table "v8": `},
		{"text.db", "", "text.db is not a SQLite file"}, {"empty.db", "", "empty.db is not a SQLite file"}, {"none.db", "", "none.db has no tables"},
	} {
		named := &value.Dict{}
		if c.sheet != "" {
			named.Put("sheet", c.sheet)
		}
		v, err := callData(t, g, "read", c.path, named)
		e := value.ErrorOf(err, value.Failed)
		if err == nil || !strings.Contains(e.Message(), c.want) || strings.Contains(e.Message(), "\n") {
			t.Errorf("%s, %s: %v, %v, want %q", c.path, c.sheet, v, err, c.want)
		}
	}
	// Damage anywhere gives rows or one error.
	shop, rnd := shop(t), rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		b := bytes.Clone(shop)
		for range 1 + i%20 {
			b[16+rnd.IntN(len(b)-16)] = byte(rnd.Uint32())
		}
		if i%5 == 0 {
			b = b[:rnd.IntN(len(b))]
		}
		g := filesGrant(t, map[string][]byte{"x.db": b})
		for _, sheet := range []value.Value{nil, int64(2), int64(4)} {
			_, err := callData(t, g, "read", "x.db", value.NewDict("sheet", sheet))
			if e := value.ErrorOf(err, value.Failed); err != nil && (strings.Contains(e.Message(), "\n") || !strings.Contains(e.Message(), "x.db")) {
				t.Errorf("damage %d: %v", i, err)
			}
		}
	}
}

// TestSQLiteLarge reads a file in parts, with a bound for its rows.
func TestSQLiteLarge(t *testing.T) {
	t.Parallel()
	b := sqliteBytes(t, "CREATE TABLE big(a INTEGER PRIMARY KEY, b TEXT)", "CREATE TABLE small(a)", "CREATE VIEW all_rows AS SELECT * FROM big", "INSERT INTO small VALUES (7)",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 30000) INSERT INTO big SELECT x, hex(zeroblob(200)) FROM c")
	if len(b) <= maxHeld {
		t.Fatalf("%d bytes are held", len(b))
	}
	g := filesGrant(t, map[string][]byte{"l.db": b})
	g.Memory = 16 << 20 // less than the rows
	v, err := callData(t, g, "read", "l.db")
	if err != nil || v.(*Table).rows != 30_000 || v.(*Table).held != nil {
		t.Fatalf("%v, %v", v, err)
	}
	big := v.(*Table)
	sum := int64(0)
	err = big.each(context.Background(), g, func(b *Batch) error {
		for _, n := range b.Columns[0].Ints {
			sum += n
		}
		return nil
	})
	if err != nil || sum != 30_000*30_001/2 {
		t.Errorf("the sum is %d, %v", sum, err)
	}
	stop := errors.New("stop")
	if err := big.each(context.Background(), g, func(*Batch) error { return stop }); err != stop {
		t.Errorf("a reader that stops: %v", err)
	}
	sql := sqlFunc()
	args, _ := sql.Bind([]value.Value{"select count(*) as n, median(a) as m, max(length(b)) as l from t where a > 1", tablesNamed("t", big)}, nil)
	out, err := sql.Do(context.Background(), tool.Effect{Func: "data.sql", Args: args}, g)
	if err != nil || shown(t, out.Value.(*Table)) != "n:integer m:float l:integer | 29999 15001.0 400" {
		t.Errorf("a query: %v, %v", out.Value, err)
	}
	_, err = callData(t, g, "read", "l.db", value.NewDict("sheet", "all_rows"))
	if e := value.ErrorOf(err, value.Failed); !errors.Is(err, value.ErrLimit) || !strings.Contains(e.Message(), `l.db, table "all_rows"`) || !strings.Contains(e.Hint, "smaller table") {
		t.Errorf("a view with 12 MB in 16 MB: %v / %s", err, e.Hint)
	}
	if v, err := callData(t, g, "read", "l.db", value.NewDict("sheet", "small", "types", value.NewDict("a", "text"))); err != nil || csvShow(v.(*Table), g) != "a:text | '7'" {
		t.Errorf("the small table: %v, %v", v, err)
	}
	reads := 0
	failing := tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		if reads++; reads > 3 {
			return tool.Outcome{}, value.Errorf(value.Limit, "too many requests")
		}
		return g.Do(name, args)
	}}
	if _, err := callData(t, failing, "read", "l.db"); !errors.Is(err, value.ErrLimit) || fmt.Sprint(err) != "too many requests" {
		t.Errorf("an error of the gate: %v", err)
	}
}
