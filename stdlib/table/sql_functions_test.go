package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestSQLFunctions(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	v := newHeld([]string{"k", "v", "s", "d"}, &Batch{Rows: 5, Columns: []*Column{
		texts("a", "a", "b", "b", "c"),
		{Type: Integer, Ints: []int64{1, 2, 3, 10, 0}, Missing: []bool{false, false, false, false, true}},
		texts("Ärger", "ärmel", "ΣΊΣΥΦΟΣ", "100%", "x\ny"),
		{Type: Date, Ints: []int64{0, 1, 10, 20, 30}},
	}})
	for _, c := range []struct{ query, want string }{
		{"select median(v) as m, percentile(v, 25) as p, percentile(v, 0) as a, percentile(v, 100) as b from t", "m:float p:float a:float b:float | 2.5 1.75 1.0 10.0"},
		{"select k, median(v) as m, stddev(v) as s, variance(v) as v from t group by k", `k:text m:float s:float v:float | "a" 1.5 0.7071067811865476 0.5| "b" 6.5 4.949747468305833 24.5| "c" null null null`},
		{"select stdev(v) = stddev(v) as x, median(distinct v % 2) as y, median(v) filter (where v > 2) as z from t", "x:integer y:float z:float | 1 0.5 6.5"},
		{"select median(v) as m from t where 0", "m:text | null"},
		{"select median(d) as m, percentile(d, 50) as p from t", `m:text p:text | "1970-01-11" "1970-01-11"`},
		{"select v, median(v) over (order by v) as m from t where v is not null", "v:integer m:float | 1 1.0| 2 1.5| 3 2.0| 10 2.5"},
		{"select k, median(v) over (partition by k) as m from t order by k limit 3", `k:text m:float | "a" 1.5| "a" 1.5| "b" 6.5`},
		{"select v from t where v regexp '^[12]$'", "v:integer | 1| 2"},
		{"select s from t where s regexp '(?i)^ä'", `s:text | "Ärger"| "ärmel"`},
		{"select 'a' regexp null as x, null regexp 'a' as y, '' regexp '' as z, 'a' not regexp 'b' as w", "x:text y:text z:integer w:integer | null null 1 1"},
		{"select s from t where s like 'ÄR%'", `s:text | "Ärger"| "ärmel"`},
		{"select s from t where s like 'σίσυφο_'", `s:text | "ΣΊΣΥΦΟΣ"`},
		{"select s from t where s like '%!%' escape '!' or s like 'x_Y'", `s:text | "100%"| "x\ny"`},
		{"select s from t where s = 'ärger' collate nocase", `s:text | "Ärger"`},
		{"select count(distinct s collate nocase) as n from (select 'É' as s union all select 'é' union all select 'e')", "n:integer | 2"},
		{"select upper('straße é') as u, lower('ÉCOLE Σ') as l, upper(null) as n, lower(1.5) as f", `u:text l:text n:text f:text | "STRASSE É" "école σ" null "1.5"`},
	} {
		got, err := askSQL(t, f, c.query, tablesNamed("t", v))
		if err != nil {
			t.Errorf("sql(%q) = %v", c.query, err)
		} else if s := shown(t, got); s != strings.ReplaceAll(c.want, "STRASSE", "STRAßE") {
			t.Errorf("sql(%q) = %s, want %s", c.query, s, c.want)
		}
	}
}

func TestSQLFunctionErrors(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	v := newHeld([]string{"v", "s"}, &Batch{Rows: 2, Columns: []*Column{ints(1, 2), texts("x", "2024-01-01")}})
	for _, c := range []struct{ query, want string }{
		{"select median(s) from t", `SQL: median needs numbers or dates but got the text "x" / to use a text as a number, write median(cast(… as real))`},
		{"select stddev(s) from t where s <> 'x'", `SQL: stddev needs numbers but got the text "2024-01-01"`},
		{"select percentile(s, 5) from t", `percentile(cast(… as real), 90)`},
		{"select median(x'00')", "SQL: median needs numbers but got bytes"},
		{"select median(x) from (select 1 as x union all select '2024-01-01')", "SQL: median got both float and date"},
		{"select percentile(v) from t", "wrong number of arguments to function percentile() / write percentile(x, 90)"},
		{"select percentile(v, 0.9) from t", "SQL: percentile: the percentage is 0.9: expected 0, or 1 to 100 / write percentile(x, 50)"},
		{"select percentile(v, 101) from t", "the percentage is 101"},
		{"select percentile(v, null) from t", "the percentage is null"},
		{"select percentile(v, v) from t", "the percentage changes from 1 to 2 within a group"},
		{"select median(v) over (order by v rows between current row and current row) from t", "SQL: median cannot be used over a window whose start moves"},
		{"select mediann(v) from t", `no such function: mediann (line 1, column 8); did you mean "median"?`},
		{"select v regexp '(' from t", "SQL: regexp: invalid pattern: missing closing ): ( / use the syntax of RE2"},
		{"select v regexp '(?=a)' from t", "lookaround"},
		{"select v regexp '(x{1000}){1000}' from t", "SQL: regexp: "},
		{"select s like '" + strings.Repeat("ä", 101) + "' from t", "SQL: LIKE: the pattern has more than 100 characters"},
		{"select s like 'a' escape 'ab' from t", `SQL: LIKE: ESCAPE needs one character but got "ab" / write one character, as in LIKE '10\%' ESCAPE '\'`},
	} {
		got, err := askSQL(t, f, c.query, tablesNamed("t", v))
		e := value.ErrorOf(err, value.Failed)
		if err == nil {
			t.Errorf("sql(%q) = %v, want an error with %q", c.query, shown(t, got), c.want)
		} else if s := e.Message() + " / " + e.Hint; !strings.Contains(s, c.want) {
			t.Errorf("sql(%q): %s, want %q in it", c.query, s, c.want)
		}
	}
	// The driver of a query that failed is used again.
	if got, err := askSQL(t, f, "select median(v) as m from t", tablesNamed("t", v)); err != nil || shown(t, got) != "m:float | 1.5" {
		t.Errorf("after the errors: %v, %v", got, err)
	}
}

// TestSQLAgreesWithAgg compares with the functions of agg, also where they estimate.
func TestSQLAgreesWithAgg(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	check := func(t testing.TB, u *Table) {
		t.Helper()
		want := mustTable(t, u, "agg", nil, "m", value.List{"v", "median"}, "p", value.List{"v", "p90"}, "s", value.List{"v", "stdev"}, "x", value.List{"v", "variance"})
		got, err := askSQL(t, f, "select median(v) as m, percentile(v, 90) as p, stddev(v) as s, variance(v) as x from t", tablesNamed("t", u))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := shown(t, got), shown(t, want); strings.NewReplacer(":text", ":float").Replace(a) != b {
			t.Fatalf("sql: %s, agg: %s", a, b)
		}
		if len(got.notes) != len(want.notes) {
			t.Fatalf("notes: %q, want as many as of agg: %q", got.notes, want.notes)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		c := newColumn(Float, 0)
		for _, v := range rapid.SliceOf(rapid.Float64Range(-1e9, 1e9)).Draw(r, "values") {
			if c.addFloat(v); v > 9e8 {
				c.addMissing()
			}
		}
		if c.Len() == 0 {
			return
		}
		check(t, newHeld([]string{"v"}, &Batch{Rows: c.Len(), Columns: []*Column{c}}))
	})
	c := newColumn(Float, 0)
	for i := range 300_000 {
		c.addFloat(float64(i * 7919 % 300_007))
	}
	check(t, newHeld([]string{"v"}, &Batch{Rows: c.Len(), Columns: []*Column{c}}))
}

func TestSQLAggregateMemory(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("median(x+%d)", i)
	}
	query := "with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) select " + strings.Join(many, ", ") + " from c"
	args, err := f.Bind([]value.Value{query, tablesNamed(), nil, int64(60)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Do(context.Background(), tool.Effect{Func: "data.sql", Args: args}, tool.Grant{Memory: 16 << 20})
	if e := value.ErrorOf(err, value.Failed); !errors.Is(err, value.ErrLimit) || !strings.Contains(e.Message(), "the values of median") {
		t.Errorf("1,000 medians of 1,000 values in 16 MB: %v", err)
	}
	got, err := askSQL(t, f, "with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000) select x % 2 as k, median(x) as m from c group by 1", tablesNamed(), nil, int64(60))
	if err != nil || shown(t, got) != "k:integer m:float | 0 100001.0| 1 100000.0" || got.notes != nil {
		t.Errorf("two groups with 100,000 values: %v", err)
	}
}

func TestSQLTextsOfNumbers(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for _, v := range []float64{0, 1, -1.5, 0.1, 1e15, 1e16, 1e17, 123456.789, 0.0001, 0.00012345678901234567, 123456789012345678, 1e-5, 1.5e-7, 1e300, math.Inf(1), math.Inf(-1)} {
		got, err := askSQL(t, f, "select lower(cast(? as text)) as a, lower(?) as b", tablesNamed(), value.List{v, v})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := got.held.Columns[0].Texts[0], got.held.Columns[1].Texts[0]; a != b {
			t.Errorf("the text of %v is %q, want %q", v, b, a)
		}
	}
}

// TestSQLPatternsEnd checks that long texts do not keep a query from ending.
func TestSQLPatternsEnd(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	long := newHeld([]string{"s"}, &Batch{Rows: 1, Columns: []*Column{texts(strings.Repeat("a", 4<<20))}})
	for _, query := range []string{
		"select s regexp '" + strings.Repeat("(a?){30}", 30) + "b' from t",
		"with recursive c(x) as (select 1 union all select x + 1 from c) select s like '" + strings.Repeat("%a", 40) + "b' from t, c",
	} {
		_, err := askSQL(t, f, query, tablesNamed("t", long), nil, 0.05)
		if !errors.Is(err, value.ErrLimit) || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("sql(%.40q): %v", query, err)
		}
	}
	got, err := askSQL(t, f, "select s regexp 'ab' as x, s regexp 'a$' as y from t", tablesNamed("t", long))
	if err != nil || shown(t, got) != "x:integer y:integer | 0 1" {
		t.Errorf("a long text: %v", err)
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	q := &sqlQuery{ctx: context.Background()}
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("ab%_!A")), 0, 8, -1)
	rapid.Check(t, func(r *rapid.T) {
		pattern, text := letters.Draw(r, "pattern"), letters.Draw(r, "text")
		escape := rapid.SampledFrom([]string{"", "!", "%", "_"}).Draw(r, "escape")
		got, err := q.like(pattern, text, escape)
		if err != nil {
			r.Fatal(err)
		}
		if want := slowLike([]rune(strings.ToLower(pattern)), []rune(strings.ToLower(text)), []rune(escape)); got != want {
			r.Fatalf("%q like %q escape %q: %v, want %v", text, pattern, escape, got, want)
		}
	})
}

// slowLike tries every way in which a text can match.
func slowLike(p, s, esc []rune) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case len(esc) > 0 && p[0] == esc[0]:
		return len(p) > 1 && len(s) > 0 && p[1] == s[0] && slowLike(p[2:], s[1:], esc)
	case p[0] == '%':
		return slowLike(p[1:], s, esc) || len(s) > 0 && slowLike(p, s[1:], esc)
	}
	return len(s) > 0 && (p[0] == '_' || p[0] == s[0]) && slowLike(p[1:], s[1:], esc)
}
