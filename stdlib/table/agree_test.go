package table

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An agreeFile is a file of testdata: how a script reads it, and what it contains
// according to a person.
type agreeFile struct {
	name      string
	options   []value.Value // the options of data.read
	columns   []agreeNamed
	by        []string // the columns to group by
	delimiter byte
	encoding  string
	thousands string
	decimal   string
	layout    string // the layout of dates for package time
}

type agreeNamed struct {
	name string
	typ  Type
}

// agreeFiles are the files. Each has at least one usual difficulty.
func agreeFiles() []agreeFile {
	orders := []agreeNamed{{"order", Integer}, {"region", Text}, {"note", Text}, {"quantity", Integer}, {"price", Float}, {"paid", Bool}, {"day", Date}}
	wide := []agreeNamed{{"region", Text}}
	for i := 2; i <= 200; i++ {
		wide = append(wide, agreeNamed{fmt.Sprintf("m%03d", i), []Type{Integer, Float, Text, Float}[i%4]})
	}
	return []agreeFile{
		{name: "orders_quotes.csv", delimiter: ',', by: []string{"region"},
			options: []value.Value{"types", value.NewDict("quantity", "integer")}, // its quotes mean text
			columns: []agreeNamed{{"order", Integer}, {"customer", Text}, {"region", Text}, {"note", Text}, {"quantity", Integer}, {"price", Float}, {"paid", Bool}}},
		{name: "people_bom_crlf.csv", delimiter: ',', by: []string{"city", "member"},
			columns: []agreeNamed{{"id", Integer}, {"name", Text}, {"city", Text}, {"height", Float}, {"weight", Integer}, {"born", Date}, {"member", Bool}}},
		{name: "umsatz_latin1.csv", delimiter: ';', by: []string{"Filiale", "Währung"}, encoding: "windows-1252", thousands: ".", decimal: ",", layout: "02.01.2006",
			options: []value.Value{"thousands", ".", "decimal", ",", "dates", value.List{"%d.%m.%Y"}},
			columns: []agreeNamed{{"Datum", Date}, {"Filiale", Text}, {"Artikel", Text}, {"Währung", Text}, {"Menge", Integer}, {"Preis", Float}, {"Umsatz", Float}}},
		{name: "budget_thousands.csv", delimiter: ',', by: []string{"department"}, thousands: ",", layout: "01/02/2006",
			options: []value.Value{"thousands", ",", "percent", true, "dates", "%m/%d/%Y"},
			columns: []agreeNamed{{"department", Text}, {"month", Date}, {"budget", Integer}, {"spent", Float}, {"share", Float}}},
		{name: "readings_ragged.csv", delimiter: ',', by: []string{"station", "remark"}, options: []value.Value{"fill", true},
			columns: []agreeNamed{{"station", Text}, {"hour", Integer}, {"temperature", Float}, {"humidity", Integer}, {"remark", Text}}},
		{name: "events_iso.csv", delimiter: ',', by: []string{"kind"},
			columns: []agreeNamed{{"kind", Text}, {"day", Date}, {"started", DateTime}, {"logged", Instant}, {"seconds", Float}}},
		{name: "one_column.csv", delimiter: ',', by: []string{"score"}, columns: []agreeNamed{{"score", Integer}}},
		{name: "wide_200.csv", delimiter: ',', by: []string{"region"}, columns: wide},
		{name: "survey_missing.csv", delimiter: ',', by: []string{"consent", "answer"},
			columns: []agreeNamed{{"country", Text}, {"age", Integer}, {"income", Float}, {"consent", Bool}, {"answer", Text}, {"nothing", Text}}},
		{name: "numbers.csv", delimiter: ',', by: []string{"group"},
			columns: []agreeNamed{{"id", Text}, {"group", Text}, {"near_limit", Integer}, {"beyond", Text}, {"exact", Float}, {"huge", Float}, {"tiny", Float}, {"signed", Float}}},
		{name: "trials_utf16.tsv", delimiter: '\t', by: []string{"Gruppe", "Dosis (µg)"}, encoding: "utf-16le",
			columns: []agreeNamed{{"Probe", Text}, {"Gruppe", Text}, {"Dosis (µg)", Integer}, {"Ergebnis", Float}, {"Ok", Bool}}},
		{name: "header_only.csv", delimiter: ',', by: []string{"name"}, columns: []agreeNamed{{"id", Text}, {"name", Text}, {"amount", Text}}},
		{name: "orders.json", by: []string{"region", "paid"}, columns: orders},
		{name: "orders.jsonl", by: []string{"day"}, // the first record has no note and no quantity
			columns: []agreeNamed{{"order", Integer}, {"region", Text}, {"price", Float}, {"paid", Bool}, {"day", Date}, {"note", Text}, {"quantity", Integer}}},
		{name: "orders.xlsx", by: []string{"region", "paid"}, columns: orders},
	}
}

// agreeScript returns everything that is compared.
const agreeScript = `
def agree(path: str, options: dict, by: list[str], wanted: dict) -> dict:
    """Sum up a file.

    Args:
      path: The file.
      options: How to read it.
      by: The columns to group by.
      wanted: What agg makes.
    """
    t = data.read(path, **options)
    return {
        "types": t.types,
        "rows": len(t),
        "summary": t.summary(),
        "groups": t.group_by(by).agg(**wanted),
    }

tool(agree, needs = ["fs.read"])
`

// agreeEffects serves the files of testdata as the gate serves those of a project.
func agreeEffects(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	content, err := agreeContent(e.Args.Text("path"))
	if err != nil {
		return tool.Outcome{}, value.Errorf(value.NotFound, "%v", err)
	}
	switch e.Func {
	case "fs.stat":
		return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(content)), "modified", "2024-01-01T00:00:00Z")}, nil
	case "fs.read_bytes":
		size := int64(len(content))
		start := min(e.Args.Int("offset"), size)
		return tool.Outcome{Value: content[start : start+min(e.Args.IntOr("length", size), size-start)]}, nil
	}
	return tool.Outcome{}, value.Errorf(value.Denied, "unexpected effect %s", e.Func)
}

// agreeLarge as a prefix of the name of a file appends enough blank lines that the file
// is too large to be held.
const agreeLarge = "large/"

func agreeContent(path string) ([]byte, error) {
	name, large := strings.CutPrefix(path, agreeLarge)
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil || !large {
		return content, err
	}
	line := "\n"
	if bytes.HasPrefix(content, []byte("\xff\xfe")) {
		line = "\n\x00"
	}
	return append(content, strings.Repeat(line, maxHeld/len(line)+1)...), nil
}

// agreeRun runs a script with one tool.
func agreeRun(t *testing.T, path, source string, args *value.Dict) value.Value {
	t.Helper()
	e := engine.New(&engine.Options{Modules: []tool.Module{Module()}})
	out, err := e.Run(t.Context(), tool.Script{Path: path, Source: source}, tool.Call{Args: args}, agreeEffects)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out.Value
}

// result returns the result of the script for a file.
func (f *agreeFile) result(t *testing.T, path string) *value.Dict {
	t.Helper()
	by := value.List{}
	for _, name := range f.by {
		by = append(by, name)
	}
	wanted := value.NewDict("rows", "count")
	for _, c := range f.columns {
		for _, function := range agreeFits(c.typ) {
			wanted.Put(c.name+" "+function, value.List{c.name, function})
		}
	}
	v := agreeRun(t, "agree.star", agreeScript, value.NewDict("path", path, "options", value.NewDict(f.options...), "by", by, "wanted", wanted))
	return v.(*value.Dict)
}

// TestAgree compares the results of a script for each file with those of SQLite for the
// same cells, and with those that the test computes.
func TestAgree(t *testing.T) {
	for _, f := range agreeFiles() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", f.name))
			if err != nil {
				t.Fatal(err)
			}
			columns := f.load(t, content)
			got := f.result(t, f.name)
			rows := len(columns[0].values)
			f.compare(t, "the test", "the table", "rows", got.IntOr("rows", -1), int64(rows))
			types, _ := got.Get("types")
			if n := types.(*value.Dict).Len(); n != len(columns) {
				t.Fatalf("%s has %d columns, want %d", f.name, n, len(columns))
			}
			for _, c := range columns {
				f.compare(t, "the test", c.name, "type", types.(*value.Dict).Text(c.name), c.typ.String())
			}
			summary, _ := got.Get("summary")
			groups, _ := got.Get("groups")
			db := agreeLoad(t, columns)
			f.compareSummary(t, summary.(value.List), columns, db)
			f.compareGroups(t, groups.(value.List), columns, db)
		})
	}
}

// TestAgreeLarge checks that a file that is read again for each operation has the same
// results as a held file. Blank lines in a CSV file are ignored.
func TestAgreeLarge(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	some := testutil.Sample([]string{"orders_quotes.csv", "umsatz_latin1.csv", "trials_utf16.tsv", "survey_missing.csv", "wide_200.csv"}, 2)
	for _, f := range agreeFiles() {
		if !slices.Contains(some, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			large, held := f.result(t, agreeLarge+f.name), f.result(t, f.name)
			if got, want := agreeShow(large), agreeShow(held); got != want {
				t.Errorf("%s: read again, it is\n%s\nand held\n%s", f.name, got, want)
			}
		})
	}
}

// agreeShow formats a value.
func agreeShow(v any) string {
	var s strings.Builder
	switch v := v.(type) {
	case *value.Dict:
		for k, x := range v.All() {
			fmt.Fprintf(&s, "%v: %s\n", k, agreeShow(x))
		}
	case value.List:
		for _, x := range v {
			s.WriteString(agreeShow(x) + "\n")
		}
	default:
		fmt.Fprintf(&s, "%T %v", v, v)
	}
	return s.String()
}

// compare fails if two values differ: floats by more than 1e-12 of them.
func (f *agreeFile) compare(t *testing.T, judge, column, statistic string, got, want any) {
	t.Helper()
	if !agreeSame(got, want) {
		t.Errorf("%s: %s: %s is %v (%T), but %s has %v (%T)", f.name, column, statistic, got, got, judge, want, want)
	}
}

func agreeSame(got, want any) bool {
	g, ok := got.(float64)
	w, also := want.(float64)
	if !ok || !also {
		return got == want
	}
	return g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 1e-12*math.Abs(w)
}

func agreeOf(v value.Value, name string) any {
	x, _ := v.(*value.Dict).Get(name)
	return x
}

// compareSummary compares the summary of each column.
func (f *agreeFile) compareSummary(t *testing.T, got value.List, columns []agreeColumn, db *agreeDB) {
	t.Helper()
	if len(got) != len(columns) {
		t.Fatalf("%s: the summary has %d rows, want %d", f.name, len(got), len(columns))
	}
	names := []string{"count", "missing", "distinct", "min", "q1", "median", "q3", "max", "mean", "stdev", "top", "top_count"}
	for i, c := range columns {
		f.compare(t, "the test", c.name, "column", agreeOf(got[i], "column"), c.name)
		f.compare(t, "the test", c.name, "type", agreeOf(got[i], "type"), c.typ.String())
		f.compare(t, "the test", c.name, "estimated", agreeOf(got[i], "estimated"), false)
		want, bySQL := c.stats(), db.stats(t, i, c, "true", nil)
		db.top(t, i, c, bySQL)
		if c.typ == Bool { // agg computes shares of bools
			delete(want, "mean")
			delete(bySQL, "mean")
		}
		for _, name := range names {
			f.compare(t, "the test", c.name, name, agreeOf(got[i], name), want[name])
			if v, ok := bySQL[name]; ok {
				f.compare(t, "SQLite", c.name, name, agreeOf(got[i], name), v)
			}
		}
	}
}

// compareGroups compares every function of agg over every column.
func (f *agreeFile) compareGroups(t *testing.T, got value.List, columns []agreeColumn, db *agreeDB) {
	t.Helper()
	groups := agreeGroups(columns, f.by)
	keys := db.groups(t, columns, f.by)
	if len(got) != len(groups) || len(keys) != len(groups) {
		t.Fatalf("%s: %d groups, the test has %d, SQLite %d", f.name, len(got), len(groups), len(keys))
	}
	for i, g := range groups {
		where := fmt.Sprintf("group %d", i)
		var terms []string
		k := 0
		for at, c := range columns {
			if !slices.Contains(f.by, c.name) {
				continue
			}
			where += fmt.Sprintf(" %v", g.key[k])
			f.compare(t, "the test", where, c.name, agreeOf(got[i], c.name), g.key[k])
			f.compare(t, "SQLite", where, c.name, agreeOf(got[i], c.name), c.fromSQL(keys[i][k]))
			terms = append(terms, fmt.Sprintf("c%d IS ?", at))
			k++
		}
		f.compare(t, "the test", where, "rows", agreeOf(got[i], "rows"), int64(len(g.columns[0].values)))
		for at, c := range g.columns {
			want, bySQL := c.stats(), agreeStats{}
			if at%(1+len(columns)/20) == 0 { // SQLite checks every eleventh of 200 columns
				bySQL = db.stats(t, at, c, strings.Join(terms, " AND "), keys[i])
			}
			for _, function := range agreeFits(c.typ) {
				have := agreeOf(got[i], c.name+" "+function)
				f.compare(t, "the test", where+": "+c.name, function, have, want[function])
				if v, ok := bySQL[function]; ok {
					f.compare(t, "SQLite", where+": "+c.name, function, have, v)
				}
			}
		}
	}
}

// An agreeDB has the cells of a file in SQLite: points in time as numbers, in the
// columns c0, c1 …
type agreeDB struct{ *sql.DB }

func agreeLoad(t *testing.T, columns []agreeColumn) *agreeDB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // each connection has its own database
	var names, marks []string
	for i, c := range columns {
		affinity := map[Type]string{Text: "TEXT", Float: "REAL"}[c.typ]
		if affinity == "" {
			affinity = "INTEGER"
		}
		names, marks = append(names, fmt.Sprintf("c%d %s", i, affinity)), append(marks, "?")
	}
	agreeExec(t, db, "CREATE TABLE t ("+strings.Join(names, ", ")+")")
	insert, err := db.Prepare("INSERT INTO t VALUES (" + strings.Join(marks, ", ") + ")")
	if err != nil {
		t.Fatal(err)
	}
	defer insert.Close()
	agreeExec(t, db, "BEGIN")
	for row := range columns[0].values {
		values := make([]any, len(columns))
		for i, c := range columns {
			values[i] = c.values[row]
		}
		if _, err := insert.Exec(values...); err != nil {
			t.Fatal(err)
		}
	}
	agreeExec(t, db, "COMMIT")
	return &agreeDB{db}
}

func agreeExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// rows returns the rows of a query of n columns.
func (db *agreeDB) rows(t *testing.T, query string, args []any, n int) [][]any {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var all [][]any
	for rows.Next() {
		values, into := make([]any, n), make([]any, n)
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// one returns the single row of a query, or nil.
func (db *agreeDB) one(t *testing.T, query string, args []any, n int) []any {
	t.Helper()
	if all := db.rows(t, query, args, n); len(all) > 0 {
		return all[0]
	}
	return nil
}

// fromSQL returns a value of the column as scripts see it.
func (c agreeColumn) fromSQL(v any) any {
	if n, ok := v.(int64); ok && c.typ == Bool {
		return n != 0
	}
	if v == nil {
		return nil
	}
	return c.shown(v)
}

// stats computes the functions that SQLite has for the rows of a condition. Others have
// no key.
func (db *agreeDB) stats(t *testing.T, at int, c agreeColumn, where string, args []any) agreeStats {
	t.Helper()
	x := fmt.Sprintf("c%d", at)
	v := db.one(t, fmt.Sprintf("SELECT count(%[1]s), count(*) - count(%[1]s), count(DISTINCT %[1]s), min(%[1]s), max(%[1]s) FROM t WHERE %[2]s", x, where), args, 5)
	s := agreeStats{"count": v[0], "missing": v[1], "distinct": v[2], "min": c.fromSQL(v[3]), "max": c.fromSQL(v[4])}
	n := v[0].(int64)
	for name, order := range map[string]string{"first": "", "last": "DESC"} {
		s[name] = nil
		if v := db.one(t, fmt.Sprintf("SELECT %[1]s FROM t WHERE %[2]s AND %[1]s IS NOT NULL ORDER BY rowid %[3]s LIMIT 1", x, where, order), args, 1); v != nil {
			s[name] = c.fromSQL(v[0])
		}
	}
	if n == 0 {
		return s
	}
	if c.typ == Integer || c.typ == Float || c.typ == Bool {
		db.sums(t, s, c, x, where, args)
	}
	for _, name := range agreeFits(c.typ) {
		if f, ok := agreeFraction(name); ok {
			s[name] = db.quantile(t, c, x, where, args, f*float64(n-1))
		}
	}
	return s
}

// sums computes the sum, which SQLite cannot do if it may overflow.
func (db *agreeDB) sums(t *testing.T, s agreeStats, c agreeColumn, x, where string, args []any) {
	t.Helper()
	v := db.one(t, fmt.Sprintf("SELECT total(%[1]s), avg(%[1]s), total(abs(CAST(%[1]s AS REAL))) FROM t WHERE %[2]s", x, where), args, 3)
	s["mean"] = v[1]
	if c.typ == Float {
		s["sum"] = v[0]
	} else if v[2].(float64) < 1<<62 {
		s["sum"] = db.one(t, fmt.Sprintf("SELECT sum(%s) FROM t WHERE %s", x, where), args, 1)[0]
	}
}

// quantile interpolates between the two values around a rank.
func (db *agreeDB) quantile(t *testing.T, c agreeColumn, x, where string, args []any, rank float64) any {
	t.Helper()
	two := db.rows(t, fmt.Sprintf("SELECT %[1]s * 1.0 FROM t WHERE %[2]s AND %[1]s IS NOT NULL ORDER BY %[1]s LIMIT 2 OFFSET %[3]d", x, where, int(rank)), args, 1)
	low, high, part := two[0][0].(float64), two[len(two)-1][0].(float64), rank-math.Floor(rank)
	v := low*(1-part) + high*part
	if part == 0 || low == high {
		v = low
	}
	if c.typ == Integer || c.typ == Float {
		return v
	}
	return c.shown(int64(math.Floor(v)))
}

// top selects the most frequent value, of equally frequent ones the first.
func (db *agreeDB) top(t *testing.T, at int, c agreeColumn, s agreeStats) {
	t.Helper()
	v := db.one(t, fmt.Sprintf("SELECT c%[1]d, count(*) AS n FROM t WHERE c%[1]d IS NOT NULL GROUP BY c%[1]d ORDER BY n DESC, min(rowid) LIMIT 1", at), nil, 2)
	if v != nil {
		if f, ok := v[0].(float64); ok {
			v[0] = f + 0 // not -0
		}
		s["top"], s["top_count"] = c.written(c.rawSQL(v[0])), v[1]
	}
}

// rawSQL returns a value of the column as the test stores it.
func (c agreeColumn) rawSQL(v any) any {
	if n, ok := v.(int64); ok && c.typ == Bool {
		return n != 0
	}
	return v
}

// groups returns the keys of the groups in the order of their first row.
func (db *agreeDB) groups(t *testing.T, columns []agreeColumn, by []string) [][]any {
	t.Helper()
	var names []string
	for i, c := range columns {
		if slices.Contains(by, c.name) {
			names = append(names, fmt.Sprintf("c%d", i))
		}
	}
	list := strings.Join(names, ", ")
	return db.rows(t, "SELECT "+list+" FROM t GROUP BY "+list+" ORDER BY min(rowid)", nil, len(names))
}

// TestTenLines runs a tool of ten lines in both languages on all files.
func TestTenLines(t *testing.T) {
	scripts := map[string]string{}
	for _, name := range []string{"ten.star", "ten.lua"} {
		source, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = string(source)
	}
	for _, f := range agreeFiles() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			args := value.NewDict("path", f.name, "options", value.NewDict(f.options...), "by", f.by[0])
			star := agreeRun(t, "ten.star", scripts["ten.star"], args)
			lua := agreeRun(t, "ten.lua", scripts["ten.lua"], args)
			for _, part := range []string{"counts", "about"} {
				s, l := agreeOf(star, part), agreeOf(lua, part)
				if text, ok := s.(string); !ok || text == "" || s != l {
					t.Errorf("%s: %s: Lua returns\n%v\nand Starlark\n%v", f.name, part, l, s)
				}
			}
		})
	}
}

// TestEmptyFile reads an empty file.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	e := engine.New(&engine.Options{Modules: []tool.Module{Module()}})
	args := value.NewDict("path", "empty.csv", "options", &value.Dict{}, "by", value.List{"region"}, "wanted", &value.Dict{})
	_, err := e.Run(t.Context(), tool.Script{Path: "agree.star", Source: agreeScript}, tool.Call{Args: args}, agreeEffects)
	if err == nil || !strings.Contains(err.Error(), "empty.csv is empty") {
		t.Errorf("an empty file: %v, want an error that names it", err)
	}
}
