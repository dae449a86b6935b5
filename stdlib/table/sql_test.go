package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sqlFunc returns data.sql as a script has it.
func sqlFunc() tool.Func {
	m := Module()
	i := slices.IndexFunc(m.Funcs, func(f tool.Func) bool { return f.Name == "sql" })
	return m.Funcs[i]
}

// tablesNamed returns the argument tables.
func tablesNamed(pairs ...any) *value.Dict {
	d := &value.Dict{}
	for i := 0; i < len(pairs); i += 2 {
		d.Put(pairs[i].(string), pairs[i+1])
	}
	return d
}

// askSQL calls data.sql with tables, params and a timeout, which is long if it is not given: other tests run at the same time.
func askSQL(t testing.TB, f tool.Func, query string, tables *value.Dict, rest ...value.Value) (*Table, error) {
	t.Helper()
	return askSQLUnder(t, context.Background(), f, query, tables, rest...)
}

func askSQLUnder(t testing.TB, ctx context.Context, f tool.Func, query string, tables *value.Dict, rest ...value.Value) (*Table, error) {
	t.Helper()
	rest = append(rest, []value.Value{nil, float64(maxQueryTime)}[min(len(rest), 2):]...)
	args, err := f.Bind(append([]value.Value{query, tables}, rest...), nil)
	if err != nil {
		return nil, err
	}
	out, err := f.Do(ctx, tool.Effect{Func: "data.sql", Args: args}, tool.Grant{})
	if err != nil {
		return nil, err
	}
	return out.Value.(*Table), nil
}

// shown formats a table with its types, one line for each row.
func shown(t testing.TB, u *Table) string {
	t.Helper()
	var b strings.Builder
	for i, name := range u.names {
		fmt.Fprintf(&b, "%s:%s ", name, u.types[i])
	}
	err := u.Each(context.Background(), tool.Grant{}, func(v value.Value) bool {
		b.WriteString("|")
		for _, x := range v.(*value.Dict).All() {
			b.WriteString(" " + value.FormatJSON(x, ""))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ints(v ...int64) *Column   { return &Column{Type: Integer, Ints: v} }
func texts(v ...string) *Column { return &Column{Type: Text, Texts: v} }

// people is a small table with columns of every type.
func people() *Table {
	return newHeld([]string{"name", "age", "height", "ok", "born", "seen", "at", "more"}, &Batch{Rows: 3, Columns: []*Column{
		{Type: Text, Texts: []string{"Ann", "Bob", ""}, Missing: []bool{false, false, false}},
		{Type: Integer, Ints: []int64{30, 41, 0}, Missing: []bool{false, false, true}},
		{Type: Float, Floats: []float64{1.5, 2, math.Inf(1)}},
		{Type: Bool, Ints: []int64{1, 0, 1}},
		{Type: Date, Ints: []int64{0, 19000, -1}},
		{Type: DateTime, Ints: []int64{0, 1_500_000, 5}},
		{Type: Instant, Ints: []int64{0, 1_500_000, -5}},
		{Type: Any, Values: []value.Value{value.List{int64(1), "x"}, value.NewDict("a", nil), "plain"}},
	}})
}

func TestSQL(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	other := newHeld([]string{"who", "n"}, &Batch{Rows: 3, Columns: []*Column{texts("Ann", "Ann", "Cy"), ints(1, 2, 3)}})
	tables := tablesNamed("people", people(), "other", other)
	for _, c := range []struct{ query, want string }{
		{"select name, age from people where age > 35", `name:text age:integer | "Bob" 41`},
		{"select count(*) as n, avg(age) as a, max(born) as b from people", `n:integer a:float b:text | 3 35.5 "2022-01-08"`},
		{"select ok, born, seen, at, more from people limit 1", `ok:bool born:date seen:datetime at:instant more:any | true "1970-01-01" "1970-01-01T00:00:00" "1970-01-01T00:00:00Z" [1,"x"]`},
		{"select p.name, sum(o.n) as s from people p join other o on o.who = p.name group by p.name", `name:text s:integer | "Ann" 3`},
		{"select a.n, b.n from other a join other b on a.n < b.n order by 1, 2", `n:integer n_2:integer | 1 2| 1 3| 2 3`},
		{"select n from other o where n = (select max(n) from other where who = o.who) order by n", `n:integer | 2| 3`},
		{"select name, name, 1 as name_2 from people limit 1", `name:text name_3:text name_2:integer | "Ann" "Ann" 1`},
		{"select 1 as x union all select 2.5 union all select null", `x:float | 1.0| 2.5| null`},
		{"select 1 as x union all select 'a'", `x:any | 1| "a"`},
		{"select null as x", `x:text | null`},
		{"select null as x union all select 7", `x:integer | null| 7`},
		{"values (1, 'a'), (2, 'b')", `column1:integer column2:text | 1 "a"| 2 "b"`},
		{"with recursive c(x) as (select 1 union all select x + 1 from c where x < 4) select sum(x) as s from c;  -- done", `s:integer | 10`},
		{"/* first */ SELECT ';' as \"a;b\", '--' as [c;d], 'it''s' as `e;f` ; ; ", `a;b:text c;d:text e;f:text | ";" "--" "it's"`},
		{"select name from people where 0", `name:text `},
		{"select age, ok, born, more, height from people where 0", `age:integer ok:bool born:date more:any height:float `},
		{"select name from people order by name desc", `name:text | "Bob"| "Ann"| ""`},
		{"select json_extract(more, '$[1]') as x from people limit 1", `x:text | "x"`},
		{"select ok as x from people union all select 2", `x:integer | 1| 0| 1| 2`},
		{"select count(*) as n from people, other", `n:integer | 9`},
		{"select rowid as r, n from other where rowid = 2", `r:integer n:integer | 2 2`},
		{"select cast(x'ff41' as text) as x", "x:text | \"\ufffdA\""},
		{"select 9223372036854775807 as x, -9223372036854775808 as y", `x:integer y:integer | 9223372036854775807 -9223372036854775808`},
		{"SELECT \"NAME\" FROM People WHERE Name = 'Ann'", `name:text | "Ann"`},
		{"select upper(name) as u, length(name) as l from people where name like 'a%'", `u:text l:integer | "ANN" 3`},
	} {
		got, err := askSQL(t, f, c.query, tables)
		if err != nil {
			t.Errorf("sql(%q) = %v", c.query, err)
			continue
		}
		if s := shown(t, got); s != c.want {
			t.Errorf("sql(%q) = %s, want %s", c.query, s, c.want)
		}
	}
}

// A text in a column of several types is itself in SQL, unless it looks like another value.
func TestSQLMixed(t *testing.T) {
	t.Parallel()
	mixed := []value.Value{int64(1), "sum", "13", int64(13), value.List{"x"}, "[broken", nil}
	tables := tablesNamed("t", tableOf("a", Any, mixed))
	for query, want := range map[string]string{
		"select count(*) as n from t where a = 'sum'":      `n:integer | 1`,
		"select count(*) as n from t where a <> 'sum'":     `n:integer | 5`,
		"select length(a) as n from t where a = '[broken'": `n:integer | 7`,
		"select a from t": `a:any | 1| "sum"| "13"| 13| ["x"]| "[broken"| null`,
		"select a from t where a like 's%' order by upper(a)":         `a:any | "sum"`,
		"select json_extract(a, '$[0]') as x from t limit 1 offset 4": `x:text | "x"`,
	} {
		got, err := askSQL(t, sqlFunc(), query, tables)
		if err != nil {
			t.Errorf("sql(%q) = %v", query, err)
			continue
		}
		if s := shown(t, got); s != want {
			t.Errorf("sql(%q) = %s, want %s", query, s, want)
		}
	}
}

func TestSQLExplain(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for _, query := range []string{"explain query plan select * from people", "EXPLAIN select 1"} {
		got, err := askSQL(t, f, query, tablesNamed("people", people()))
		if err != nil || got.rows == 0 {
			t.Errorf("sql(%q) = %v, %v, want some rows", query, got, err)
		}
	}
}

func TestSQLParams(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	tables := tablesNamed("people", people())
	for _, c := range []struct {
		query  string
		params value.Value
		want   string
	}{
		{"select ? as x", value.List{"'; drop table people; --"}, `x:text | "'; drop table people; --"`},
		{"select ? as x, ? as y", value.List{nil, true}, `x:text y:integer | null 1`},
		{"select ?2 as x, ?1 as y", value.List{int64(1), 2.5}, `x:float y:integer | 2.5 1`},
		{"select :a as x, @b as y, $c as z, :a as w", value.NewDict("a", int64(1), "b", "b", "c", nil), `x:integer y:text z:text w:integer | 1 "b" null 1`},
		{"select name from people where age > :a", value.NewDict("a", int64(35)), `name:text | "Bob"`},
		{"select hex(?) as x", value.List{[]byte{1, 255}}, `x:text | "01FF"`},
		{"select '?' as x, \"name\" from people where name = ?", value.List{"Ann"}, `x:text name:text | "?" "Ann"`},
		{"select 1 as x", value.List{}, `x:integer | 1`},
		{"select 1 as x", &value.Dict{}, `x:integer | 1`},
	} {
		got, err := askSQL(t, f, c.query, tables, c.params)
		if err != nil {
			t.Errorf("sql(%q, %v) = %v", c.query, c.params, err)
			continue
		}
		if s := shown(t, got); s != c.want {
			t.Errorf("sql(%q) = %s, want %s", c.query, s, c.want)
		}
	}
}

func TestSQLErrors(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	one := newHeld([]string{"a"}, &Batch{Rows: 1, Columns: []*Column{ints(1)}})
	wide := make([]string, 10_000)
	columns := make([]*Column, len(wide))
	for i := range wide {
		wide[i], columns[i] = fmt.Sprintf("c%d", i), ints(1)
	}
	for _, c := range []struct {
		query  string
		tables *value.Dict
		params value.Value
		want   string // in the error or its hint
	}{
		{"select name_ from t", tablesNamed("t", people()), nil, `(line 1, column 8); did you mean "name"?`},
		{"select *\nfrom peple", tablesNamed("people", people()), nil, `no such table: peple (line 2, column 6); did you mean "people"?`},
		{"select * from x", &value.Dict{}, nil, "tables = {"},
		{"select 1 form t", tablesNamed("t", one), nil, "syntax error"},
		{"select t.b from t", tablesNamed("t", one), nil, "the columns are a"},
		{"select * from t where a = \"x\"", tablesNamed("t", one), nil, "single"},
		{"select ?, ?", &value.Dict{}, value.List{int64(1)}, "no value for parameter 2 of the query"},
		{"select ?", &value.Dict{}, value.List{int64(1), int64(2)}, "value 2 of params is unused"},
		{"select '?'", &value.Dict{}, value.List{int64(1)}, "value 1 of params is unused"},
		{"select :a", &value.Dict{}, nil, "no value for the parameter a of the query"},
		{"select :a", &value.Dict{}, value.NewDict("b", int64(1)), `no parameter "b"`},
		{"select :a, :b", &value.Dict{}, value.NewDict("a", int64(1)), "no value for the parameter b of the query"},
		{"select :a", &value.Dict{}, value.List{int64(1)}, "no value for the parameter a of the query"},
		{"select ?", &value.Dict{}, value.NewDict("a", int64(1)), `no parameter "a"`},
		{"select ?", &value.Dict{}, &value.Dict{}, "no value for parameter 1 of the query"},
		{"select ?, :a", &value.Dict{}, value.List{int64(1)}, "both ? and the named parameter a"},
		{"select ?", &value.Dict{}, value.List{value.List{int64(1)}}, "parameter 1: unsupported type array"},
		{"select 1", &value.Dict{}, "x", "should be a list or a dict"},
		{"select 1", tablesNamed("t", "x"), nil, "should be table but got string"},
		{"select 1", tablesNamed("t", one, "T", one), nil, `the tables "t" and "T" have the same name`},
		{"select b_2 from t", tablesNamed("t", newHeld([]string{"a", "A"}, &Batch{Rows: 1, Columns: []*Column{ints(1), ints(1)}})), nil, "the columns are a, A_2"},
		{"select 1", tablesNamed("t", newHeld(nil, &Batch{})), nil, "has no columns"},
		{"select 1", tablesNamed("t", newHeld(wide, &Batch{Rows: 1, Columns: columns})), nil, "has 10000 columns"},
		{"select 1", tablesNamed("sqlite_x", one), nil, "names with sqlite_ at the beginning are reserved"},
		{"select 1", tablesNamed("", one), nil, "invalid name of a table in SQL"},
		{"select x'00' as b", &value.Dict{}, nil, `column "b" of the result: bytes are not supported`},
		{"select abs(-9223372036854775808)", &value.Dict{}, nil, "integer overflow"},
		{"select json('{')", &value.Dict{}, nil, "malformed JSON"},
	} {
		params := []value.Value{}
		if c.params != nil {
			params = append(params, c.params)
		}
		got, err := askSQL(t, f, c.query, c.tables, params...)
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("sql(%q) = %v, %v, want an error with %q", c.query, got, err, c.want)
			continue
		}
		if s := e.Error() + " / " + e.Hint; !strings.Contains(s, c.want) {
			t.Errorf("sql(%q): %s, want %q in it", c.query, s, c.want)
		}
	}
}

// TestSQLRejected has statements with effects, and statements that only look like a
// query.
func TestSQLRejected(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	tables := tablesNamed("t", newHeld([]string{"a"}, &Batch{Rows: 1, Columns: []*Column{ints(1)}}))
	for _, query := range []string{
		"", " ", ";", "-- nothing", "/* open", "explain", "explain query plan", "\x00select 1", "select 1\x00; drop table t",
		"attach 'x.db' as x", "ATTACH ':memory:' AS y", "detach main", "pragma query_only = 0", "PRAGMA writable_schema = 1",
		"explain pragma journal_mode = delete", "explain query plan pragma temp_store = 1", "explain attach 'x' as x",
		"vacuum", "vacuum into 'x.db'", "create table x(a)", "create temp table x(a)", "create table x as select 1",
		"create virtual table x using fts5(a)", "create view v as select 1", "create trigger g after insert on t begin select 1; end",
		"create index i on t(a)", "drop table t", "alter table t rename to u", "insert into t values (1)", "replace into t values (1)",
		"update t set a = 2", "delete from t", "update sqlite_schema set sql = ''", "begin", "commit", "rollback", "savepoint s", "release s",
		"analyze", "reindex",
		"select 1; drop table t", "select 1;;select 2", "select 1; --\nselect 2", "select 1 /* ; */; pragma x", "select ';' ; delete from t",
		"with x as (select 1) delete from t", "with x as (select 1) insert into t select * from x", "with x as (select 1) update t set a = 1",
		"with x as (select 1) delete from t returning a", "with x as (delete from t returning a) select * from x",
		"explain with x as (select 1) delete from t",
		"select 1) union select * from (select 2", "select 1) returning (select 2", "values (1) on conflict do nothing", "values (1) returning 1",
		"select load_extension('x')", "select * from t into outfile 'x'", "select writefile('x', 'y')", "select readfile('/etc/passwd')", "select edit('x')",
		"select * from pragma_writable_schema(1)", "select fts3_tokenizer('simple', x'00')",
		"select * from \"result of the query\"", "select * from temp.\"result of the query\"",
		"\ufeffdrop table t", "/**/drop/**/table/**/t", "[select] 1", "'select' 1", "sel/**/ect 1", "select 1 union delete from t",
	} {
		got, err := askSQL(t, f, query, tables)
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("sql(%q) = %v, want an error", query, got)
			continue
		}
		if e.Kind != value.Invalid && e.Kind != value.Failed {
			t.Errorf("sql(%q): kind %v: %v", query, e.Kind, e)
		}
	}
	if got, err := askSQL(t, f, "select * from t", tables); err != nil || shown(t, got) != "a:integer | 1" {
		t.Errorf("a query after them: %v, %v", got, err)
	}
}

// hostileSQL are queries that need too many resources.
func hostileSQL() map[string]string {
	deep := func(n int) string { return "select " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	return map[string]string{
		"endless recursion":   "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
		"endless, second row": "select 1 union all select * from (with recursive c(x) as (select 1 union all select x + 1 from c) select x from c where x < 0)",
		"endless rows":        "with recursive c(x) as (select 1 union all select x + 1 from c) select x, 'some text' || x from c",
		"cross join":          "select count(*) from big a, big b, big c, big d, big e",
		"zeroblob":            "select zeroblob(1e9)",
		"zeroblob length":     "select length(zeroblob(1000000000))",
		"printf":              "select length(printf('%1000000000d', 1))",
		"printf string":       "select length(printf('%.*c', 1000000000, 'x'))",
		"group_concat":        "with recursive c(x) as (select 1 union all select x + 1 from c) select length(group_concat(hex(zeroblob(1000000)))) from c",
		"hex doubling":        "select length(hex(hex(hex(hex(zeroblob(4000000))))))",
		"replace":             "select length(replace(hex(zeroblob(2000000)), '0', 'xxxxxxxxxxxxxxxxxxxxx'))",
		"deep parentheses":    deep(5000),
		"deep not":            "select " + strings.Repeat("not ", 20_000) + "1",
		"deep minus":          "select " + strings.Repeat("- ", 20_000) + "1",
		"long sum":            "select 1" + strings.Repeat("+1", 40_000),
		"deep subqueries":     strings.Repeat("select * from (", 5000) + "select 1" + strings.Repeat(")", 5000),
		"many columns":        "select 1" + strings.Repeat(",1", 10_000),
		"many selects":        "select 1" + strings.Repeat(" union all select 1", 4000),
		"many tables":         "select count(*) from big" + strings.Repeat(",big", 200),
		"like pattern":        "select 'a' like '" + strings.Repeat("%a", 30_000) + "'",
		"glob pattern":        "select 'a' glob '" + strings.Repeat("*a", 30_000) + "'",
		"many arguments":      "select max(1" + strings.Repeat(",1", 10_000) + ")",
		"many variables":      "select ?99999999",
		"json depth":          "select json('" + strings.Repeat("[", 40_000) + "')",
		"union sets":          "with recursive c(x) as (select 1 union select x + 1 from c) select count(*) from c",
		"too long":            "select '" + strings.Repeat("x", 200_000) + "'",
	}
}

func bigTable() *Table {
	n := make([]int64, 1000)
	return newHeld([]string{"a"}, &Batch{Rows: len(n), Columns: []*Column{ints(n...)}})
}

func TestSQLHostile(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	tables := tablesNamed("big", bigTable())
	seconds := 0.05 * float64(testutil.Times(1, 6)) // in which some queries reach other limits
	for name, query := range hostileSQL() {
		got, err := askSQL(t, f, query, tables, nil, seconds)
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, %v, want an error", name, got, err)
			continue
		}
		if e.Kind != value.Limit && e.Kind != value.Invalid && e.Kind != value.Failed {
			t.Errorf("%s: kind %v: %v", name, e.Kind, e)
		}
		t.Logf("%s: %v %s: %.100s", name, e.Kind, e.Limit, e.Error())
		if got, err := askSQL(t, f, "select count(*) as n from big", tables); err != nil || shown(t, got) != "n:integer | 1000" {
			t.Fatalf("after %s: %v, %v", name, got, err)
		}
	}
}

// TestSQLLargeList checks that a large but valid query runs.
func TestSQLLargeList(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	got, err := askSQL(t, f, "select count(*) as n from big where a in (0"+strings.Repeat(",1", 40_000)+")", tablesNamed("big", bigTable()))
	if err != nil || shown(t, got) != "n:integer | 1000" {
		t.Errorf("large list: %v, %v", got, err)
	}
}

// A polledContext ends after some calls of Err, and has no channel. It is not safe for
// concurrent use.
type polledContext struct {
	context.Context
	left int
}

var errPolled = value.Errorf(value.Limit, "computed for long enough")

func (c *polledContext) Err() error {
	if c.left--; c.left > 0 {
		return nil
	}
	return errPolled
}

func TestSQLEndsWithCall(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for name, query := range map[string]string{
		"recursion":  hostileSQL()["endless recursion"],
		"second row": hostileSQL()["endless, second row"],
		"cross join": hostileSQL()["cross join"],
	} {
		ctx := &polledContext{context.Background(), 10}
		if _, err := askSQLUnder(t, ctx, f, query, tablesNamed("big", bigTable())); !errors.Is(err, errPolled) {
			t.Errorf("%s: %v, want %v", name, err, errPolled)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errPolled)
	if _, err := askSQLUnder(t, ctx, f, "select 1", &value.Dict{}); !errors.Is(err, errPolled) {
		t.Errorf("ended before: %v, want %v", err, errPolled)
	}
}

// sqlRandom draws tables of every type, without values that SQL does not distinguish:
// NaN and missing, -0 and 0.
func sqlRandom() *rapid.Generator[*Table] {
	return rapid.Custom(func(t *rapid.T) *Table {
		n := rapid.IntRange(0, 20).Draw(t, "rows")
		width := rapid.IntRange(1, 70).Draw(t, "columns")
		if width > 10 {
			width -= rapid.IntRange(0, 60).Draw(t, "fewer")
			width = max(width, 1)
		}
		var names []string
		b := &Batch{Rows: n}
		for i := range width {
			name := rapid.SampledFrom([]string{"a", "select", "order", "from", "a b", `q"q`, "'", "é", "?", ":x", ";", "[", "", "--", "rowid"}).Draw(t, "name")
			names = append(names, fmt.Sprintf("%s%d", name, i))
			c := newColumn(Type(rapid.IntRange(0, int(Any)).Draw(t, "type")), 0)
			for range n {
				sqlCell(t, c)
			}
			b.Columns = append(b.Columns, c)
		}
		return newHeld(names, b)
	})
}

func sqlCell(t *rapid.T, c *Column) {
	if rapid.IntRange(0, 4).Draw(t, "missing") == 0 {
		c.addMissing()
		return
	}
	switch c.Type {
	case Text:
		c.addText(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "1", "1.0", "0x1", "null", "2020-01-01", "a\x00b", "[1]"})).Draw(t, "text"))
	case Integer:
		c.addInt(rapid.Int64().Draw(t, "int"))
	case Float:
		c.addFloat(rapid.OneOf(rapid.Float64().Filter(func(f float64) bool { return f == f }), rapid.SampledFrom([]float64{2, 1e300, math.Inf(1)})).Draw(t, "float"))
	case Bool:
		c.addInt(rapid.Int64Range(0, 1).Draw(t, "bool"))
	case Date:
		c.addInt(rapid.Int64Range(-700_000, 2_900_000).Draw(t, "date"))
	case DateTime, Instant:
		c.addInt(rapid.Int64Range(-62_000_000_000_000_000, 250_000_000_000_000_000).Draw(t, "time"))
	default:
		c.addAny(rapid.SampledFrom([]value.Value{int64(1), 1.5, "x", "", true, value.List{int64(1), nil, "é"}, value.NewDict("a", value.List{})}).Draw(t, "any"))
	}
}

// TestSQLRoundTrip checks that a query of all columns returns them unchanged: from a
// table that is read once, copied for a join, and streamed.
func TestSQLRoundTrip(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	one := newHeld([]string{"one"}, &Batch{Rows: 1, Columns: []*Column{ints(1)}})
	rapid.Check(t, func(rt *rapid.T) {
		u := sqlRandom().Draw(rt, "table")
		name := rapid.SampledFrom([]string{"t", "select", `a"b`, "table; --", "é", "main", "temp", "cassidy"}).Draw(rt, "name")
		for _, given := range []*Table{u, streamed(u, 7, false)} {
			for _, query := range []string{"select * from %s", "select x.* from %s x join one on 1", "select * from (select * from %[1]s limit 1000) where (select count(*) from %[1]s) >= 0"} {
				got, err := askSQL(t, f, fmt.Sprintf(query, quoteSQL(name)), tablesNamed(name, given, "one", one))
				if err != nil {
					rt.Fatalf("%s: %v", query, err)
				}
				if same, err := u.Equal(context.Background(), tool.Grant{}, got); err != nil || !same {
					rt.Fatalf("%s, held %v, returns\n%s, want\n%s", query, given == u, shown(t, got), shown(t, u))
				}
			}
		}
	})
}

// TestSQLOfStream checks how often a streamed table is read.
func TestSQLOfStream(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for query, want := range map[string]int{
		"select sum(n) as n from s":                                1,
		"select who, count(*) as n from s group by who order by 2": 1,
		"select count(*) as n from s a join s b on a.who = b.who":  3, // twice to detect it, and once to copy
		"select count(*) as n from s join o on s.who = o.who":      1,
		"select 1 as n where exists (select 1 from s where n = 2)": 1,
	} {
		read := 0
		s := newStream([]string{"who", "n"}, []Type{Text, Integer}, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
			read++
			return yield(&Batch{Rows: 2, Columns: []*Column{texts("a", "b"), ints(1, 2)}})
		})
		o := newHeld([]string{"who"}, &Batch{Rows: 1, Columns: []*Column{texts("a")}})
		if _, err := askSQL(t, f, query, tablesNamed("s", s, "o", o)); err != nil || read > want {
			t.Errorf("sql(%q): %v, the table was read %d times, want at most %d", query, err, read, want)
		}
	}
	broken := newStream([]string{"a"}, []Type{Integer}, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		if err := yield(&Batch{Rows: 1, Columns: []*Column{ints(1)}}); err != nil {
			return err
		}
		return errPolled
	})
	if _, err := askSQL(t, f, "select sum(a) from s", tablesNamed("s", broken)); !errors.Is(err, errPolled) {
		t.Errorf("sql of a table that cannot be read: %v, want %v", err, errPolled)
	}
}

// TestSQLNaN checks that NaN is missing in SQL.
func TestSQLNaN(t *testing.T) {
	t.Parallel()
	u := newHeld([]string{"x"}, &Batch{Rows: 2, Columns: []*Column{{Type: Float, Floats: []float64{math.NaN(), 1}}}})
	got, err := askSQL(t, sqlFunc(), "select x, x is null as gone from t", tablesNamed("t", u))
	if err != nil || shown(t, got) != "x:float gone:integer | null 1| 1.0 0" {
		t.Errorf("NaN: %v, %v", got, err)
	}
}

// TestSQLEndsAtOnce ends queries just as they begin, which SQLite must not miss.
func TestSQLEndsAtOnce(t *testing.T) {
	t.Parallel()
	f, tables := sqlFunc(), tablesNamed("big", bigTable())
	for i := range testutil.Times(100, 3000) {
		if _, err := askSQL(t, f, hostileSQL()["endless recursion"], tables, nil, 0.0005+float64(i%50)*0.0001); !errors.Is(err, value.ErrLimit) {
			t.Fatalf("query %d: %v", i, err)
		}
	}
}

// TestSQLLeavesNothing counts goroutines and files after queries with every kind of end.
func TestSQLLeavesNothing(t *testing.T) {
	f := sqlFunc()
	tables := tablesNamed("big", bigTable())
	ask := func() {
		for _, query := range []string{"select * from big", "select x", "select * from big a, big b limit 5", "select * from big limit 1", "pragma x"} {
			_, _ = askSQL(t, f, query, tables)
		}
		_, _ = askSQL(t, f, hostileSQL()["endless recursion"], tables, nil, 0.01)
	}
	ask()
	files, goroutines := openFiles(), runtime.NumGoroutine()
	for range 5 {
		ask()
	}
	if n := openFiles(); n > files {
		t.Errorf("%d files are open, %d before", n, files)
	}
	for range 1_000_000 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
}

func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd") // empty on systems without it
	return len(list)
}

// Columns whose names differ only in case do not block a query of others, and a query of
// one of them has a note.
func TestSQLNames(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	named := newHeld([]string{"ID", "name", "Name", "name_2", "NAME"}, &Batch{Rows: 1, Columns: []*Column{ints(1), texts("a"), texts("b"), texts("c"), texts("d")}})
	const note = `SQL does not distinguish upper and lower case: the column %q of the table "t" is %s`
	for _, c := range []struct {
		query string
		want  string
		notes []string
	}{
		{"select id from t", "ID:integer \n1\n", nil},
		{"select name, NAME_3, name_2 from t", "", []string{fmt.Sprintf(note, "Name", "Name_3"), fmt.Sprintf(note, "NAME", "NAME_4")}},
		{"select x.Name_3, y.NAME_4 from t x join t y", "", []string{fmt.Sprintf(note, "Name", "Name_3"), fmt.Sprintf(note, "NAME", "NAME_4")}},
	} {
		got, err := askSQL(t, f, c.query, tablesNamed("t", named))
		if err != nil || !slices.Equal(got.notes, c.notes) {
			t.Errorf("%s: %v, %v", c.query, err, got)
		} else if c.want != "" && show(t, got) != c.want {
			t.Errorf("%s: %s", c.query, show(t, got))
		}
	}
	got, err := askSQL(t, f, "select name || Name_3 || name_2 || NAME_4 as all_names from t", tablesNamed("t", named))
	if err != nil || got.held.Columns[0].Texts[0] != "abcd" {
		t.Errorf("%v, %v", got, err)
	}
}

// A result does not round integers that are beside fractions.
func TestSQLExact(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for query, want := range map[string]string{
		"select 9007199254740993 as n union all select 1.5":            "n:any \n9007199254740993\n1.5\n",
		"select 1.5 as n union all select 9007199254740993 order by 1": "n:any \n1.5\n9007199254740993\n",
		"select 3 as n union all select 1.5":                           "n:float \n3.0\n1.5\n",
	} {
		got, err := askSQL(t, f, query, &value.Dict{})
		if err != nil || show(t, got) != want {
			t.Errorf("%s: %v, %v", query, got, err)
		}
	}
}
