package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// SQL compares dates, times and bools as what they are, in each form.
func TestSQLComparesValues(t *testing.T) {
	t.Parallel()
	f := sqlFunc()
	log, err := parseAs("csv", "id,at,day,seen,ok,flag\n1,2024-03-10 12:00:00,2024-03-10,2024-03-10T12:00:00Z,true,true\n2,2024-03-10 13:00:00.5,2024-03-11,2024-03-10T12:00:00.5Z,false,x\n3,,,,,\n", readOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tables := tablesNamed("data", log, "other", tableOf("n", Integer, []value.Value{1, 2}, "on", Bool, []value.Value{true, false}))
	for _, test := range []struct{ where, want string }{
		{"at >= '2024-03-10 13:00:00'", "2"},
		{"at >= '2024-03-10T13:00:00'", "2"},
		{"at >= '2024/03/10 13:00'", "2"},
		{"at = '2024-03-10 12:00:00'", "1"},
		{"'2024-03-10 12:00' = at", "1"},
		{"at = '2024-03-10 13:00:00+01:00'", "1"},
		{"at <> '2024-03-10 12:00:00'", "2"},
		{"at >= datetime('2024-03-10 13:00:00')", "2"},
		{"at in ('2024-03-10 12:00:00', '2024-03-10T13:00:00.500')", "1 2"},
		{"at between '2024-03-10 11:00' and '2024-03-10 12:59'", "1"},
		{"at >= '2024-03-10 13'", "2"},
		{"at < '2024-03-11'", "1 2"},
		{"at > '2024'", "1 2"},
		{"at > 'x'", ""},
		{"date(at) = day", "1"},
		{"day = '2024-03-10 00:00:00'", "1"},
		{"day >= datetime('2024-03-11')", "2"},
		{"day > at", "2"},
		{"seen > '2024-03-10 12:00:00'", "2"},
		{"seen = at", "1"},
		{"seen = datetime(at)", "1"},
		{"at = (select max(at) from data)", "2"},
		{"at = (select min(datetime(at)) from data)", "1"},
		{"ok = 'true'", "1"},
		{"ok = 'TRUE'", "1"},
		{"ok == 'false'", "2"},
		{"ok <> 'true'", "2"},
		{"ok != 'true'", "2"},
		{"'true' = ok", "1"},
		{"'False'<>data.ok", "1"},
		{"ok is 'true'", "1"},
		{"ok is not 'true'", "2 3"},
		{"ok in ('true')", "1"},
		{"ok not in ('true', 0)", ""},
		{"ok in ('true', 'false')", "1 2"},
		{"(ok) = 'true' and id < 9", "1"},
		{"not ok = 'true'", "2"},
		{"coalesce(ok, 0) = 'false'", "2 3"},
		{"case ok when 'true' then 1 when 'false' then 0 else 1 end", "1 3"},
		{`data."ok" = 'true' or [ok] = 'nothing'`, "1"},
		{"ok = ?", "1"},
		{"? = ok and id = 1", "1"},
		{"ok = ?1", "1"},
		{"ok = :ok", "1"},
		{"ok = 1", "1"},
		{"ok = true", "1"},
		{"ok", "1"},
		{"not ok", "2"},
		{"ok = 0", "2"},
		{"flag = 'true'", "1"},
		{"flag in ('true', 'x')", "1 2"},
		{"id in (select id from (select id, ok as o from data) where o = 'true')", "1"},
		{"id in (select n from other where \"on\" = 'false')", "2"},
		{"id in (select id from data d join other o on o.n = d.id where d.ok = 'true')", "1"},
		{"id in (select id from data group by id having max(ok) = 'true')", "1"},
	} {
		query := "select id from data where " + test.where + " order by id"
		var params []value.Value
		switch {
		case strings.Contains(query, "?"):
			params = []value.Value{value.List{"true"}}
		case strings.Contains(query, ":ok"):
			params = []value.Value{value.NewDict("ok", "true")}
		}
		u, err := askSQL(t, f, query, tables, params...)
		if err != nil {
			t.Errorf("%s: %v", test.where, err)
			continue
		}
		want := "id:integer "
		for id := range strings.FieldsSeq(test.want) {
			want += "| " + id
		}
		if got := shown(t, u); got != want {
			t.Errorf("%s: %s, want %s", test.where, got, want)
		}
	}
	u, err := askSQL(t, f, "select ok = 'true', at, max(ok = 'true') as m from data", tables)
	if want := "ok = 'true':integer at:datetime m:integer | 1 \"2024-03-10T12:00:00\" 1"; err != nil || shown(t, u) != want {
		t.Errorf("%s, %v; want %s", shown(t, u), err, want)
	}
}

// compareTimes is an order, as SQLite requires, whatever the texts are.
func TestCompareTimesIsAnOrder(t *testing.T) {
	t.Parallel()
	texts := []string{"", "x", "2024", "2024-03-10", "2024/03/10", "2024-03-10 ", "2024-03-10T", "2024-03-10 00", "2024-03-10 00:00", "2024-03-10T00:00:00", "2024-03-10T00:00:00Z",
		"2024-03-10 01:00:00+01:00", "2024-03-10T00:00:00.5", "2024-03-10T00:00:00.12", "2024-03-10 13:00", "2024-03-1013", "0001-01-01", "9999-12-31 23:59:59.999999", "2024-13-10", "2024-13-10 10:00"}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.SampledFrom(texts), 3, 3).Draw(t, "texts")
		slices.SortFunc(s, compareTimes)
		for i, a := range s {
			for j, b := range s {
				if c := compareTimes(a, b); i < j && c > 0 || c != -compareTimes(b, a) {
					t.Fatalf("%q and %q: %d", a, b, c)
				}
			}
		}
	})
}

func TestWithBoolsKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"select 'true'", "select a from t where b like 'true'", "select 'true' || a = b", "select case when a then 'true' else 'false' end from t",
		"select a from t where b between 'false' and 'true'", "select a from t where x = '''true'''", "select (a = ", "select case", "select a in (", "select a in 'true'", "values ('true', 'false')",
		"select 1 where 'true' = 'false'", "select (?) = 'true'",
	} {
		s, err := parseStatement(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.withBools(nil); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	s, _ := parseStatement("/* ? */ select a = 'true'")
	if got, want := s.withBools(nil), fmt.Sprintf("select a = %s", "ifnull(iif(typeof(a) = 'integer', 1, null), 'true')"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
