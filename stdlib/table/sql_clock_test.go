package table

import (
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func days() *Table {
	return tableOf("s", Text, []value.Value{"now", "2024-01-31"}, "n", Integer, []value.Value{1, 2})
}

// TestSQLHasNoClock queries the time in each way that SQLite has.
func TestSQLHasNoClock(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for _, query := range []string{
		"select current_timestamp", "select current_date", "select current_time as t",
		"select date('now')", "select datetime('NOW', '+1 day')", "select time()", "select date()", "select datetime()", "select julianday('now')", "select julianday()",
		"select unixepoch()", "select unixepoch('now', 'subsec')", "select datetime('subsec')", "select strftime('%Y')", "select strftime('%Y', 'now')",
		"select timediff('now', '2020-01-01')", "select date(s) from t", "select date('no' || 'w')", "select date(?)",
		"select count(*) from t a, t b where a.s < date('now')", "with x(d) as (values (date('now'))) select * from x", "values (current_date)",
	} {
		var params []value.Value
		if strings.Contains(query, "?") {
			params = []value.Value{value.List{"now"}}
		}
		u, err := askSQL(t, f, query, tablesNamed("t", days()), params...)
		e := value.ErrorOf(err, value.Failed)
		if err == nil || e.Kind != value.Invalid || !strings.Contains(e.Message(), "current time") || !strings.Contains(e.Hint, "params") {
			t.Errorf("sql(%q) = %v, %v (hint %q), want an error about the time", query, u, err, e.Hint)
		}
	}
}

func TestSQLHasNoChance(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for _, query := range []string{"select random()", "select hex(randomblob(4))", "select * from t order by random()", "select abs(RANDOM()) % 6 from t", `select "random"()`} {
		u, err := askSQL(t, f, query, tablesNamed("t", days()))
		if e := value.ErrorOf(err, value.Failed); err == nil || e.Kind != value.Invalid || !strings.Contains(e.Message(), "random numbers") || e.Hint == "" {
			t.Errorf("sql(%q) = %v, %v, want an error about random numbers", query, u, err)
		}
	}
}

func TestSQLOfGivenTimes(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	for _, test := range []struct{ query, want string }{
		{"select date('2024-01-31', '+1 month') as d", `d:text | "2024-03-02"`},
		{"select strftime('%Y', s) as y from t where s <> 'now'", `y:text | "2024"`},
		{"select count(*) as n from t where s = 'now'", "n:integer | 1"},
		{"select date(?, '+1 day') as d", `d:text | "2024-03-01"`},
		{"select date(null) as d", "d:text | null"},
	} {
		var params []value.Value
		if strings.Contains(test.query, "?") {
			params = []value.Value{value.List{"2024-02-29"}}
		}
		u, err := askSQL(t, f, test.query, tablesNamed("t", days()), params...)
		if err != nil {
			t.Errorf("sql(%q): %v", test.query, err)
		} else if got := shown(t, u); got != test.want {
			t.Errorf("sql(%q) = %s, want %s", test.query, got, test.want)
		}
	}
}

// TestSQLClocksAreSeparate runs queries in parallel: only those that use the time fail.
func TestSQLClocksAreSeparate(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			query := "select n from t"
			if i%2 == 0 {
				query = "select n, date('now') as d from t"
			}
			if _, err := askSQL(t, f, query, tablesNamed("t", days())); (err != nil) != (i%2 == 0) {
				t.Errorf("sql(%q): %v", query, err)
			}
		})
	}
	all.Wait()
}

// nested returns a list in a list and so on.
func nested(depth int) value.Value {
	var v value.Value = int64(1)
	for range depth {
		v = value.List{v}
	}
	return v
}

func TestDeepValues(t *testing.T) {
	t.Parallel()
	u := tableOf("a", Integer, []value.Value{1, 2})
	good := tableBy(t, u, "add_column", "v", value.List{nil, nested(value.MaxDepth)})
	if same, err := good.Equal(t.Context(), tool.Grant{}, good); !same || err != nil {
		t.Errorf("Equal of itself = %v, %v", same, err)
	}
	if _, err := askSQL(t, sqlFunc(), "select v from t", tablesNamed("t", good)); err != nil {
		t.Errorf("sql of the deepest values: %v", err)
	}
	deep := nested(value.MaxDepth + 1)
	large := make(value.List, value.MaxNodes)
	for name, values := range map[string]value.Value{
		"a list":          value.List{int64(1), deep},
		"a function":      tool.Function(func(args ...value.Value) (value.Value, error) { return deep, nil }),
		"one of a dict":   value.List{int64(1), value.NewDict("k", nested(value.MaxDepth))},
		"a large one":     value.List{int64(1), large},
		"a large of them": value.List{int64(1), value.List{large}},
	} {
		_, err := method(u, "add_column", "v", values)
		e := value.ErrorOf(err, value.Failed)
		if err == nil || e.Kind != value.Limit || !strings.Contains(e.Message(), `, column "v": a cell cannot hold a value`) {
			t.Errorf("add_column of %s: %v, want the limit with row and column", name, err)
		}
	}
	if _, err := method(good, "fill_missing", value.NewDict("v", deep)); err == nil || value.ErrorOf(err, value.Failed).Kind != value.Limit {
		t.Errorf("fill_missing with a deep value: %v", err)
	}
	held := tableOf("v", Any, []value.Value{int64(1), deep})
	if _, err := askSQL(t, sqlFunc(), "select v from t", tablesNamed("t", held)); err == nil || !strings.Contains(err.Error(), `row 2, column "v": the value is nested more than 64 levels deep`) {
		t.Errorf("sql of a deep value: %v", err)
	}
}
