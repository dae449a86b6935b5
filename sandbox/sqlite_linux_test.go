package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sqlScript asks a query of a table that a query has made, and what else it is
// told to ask after that.
var sqlScript = tool.Script{Path: "ask.star", Source: `def ask(query, after = None):
    """Ask a query."""
    big = data.sql("with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) select x as a, x % 7 as b from c", {})
    if after:
        got = attempt(data.sql, query, {"big": big})
        if got["ok"]:
            fail("the query should have failed")
        return data.sql(after, {"big": big})
    return data.sql(query, {"big": big})

tool(ask)
`}

// TestSQLInWorker asks in a worker, where no file can be opened and the memory
// is bounded by the system.
func TestSQLInWorker(t *testing.T) {
	p := newProcess(t, nil)
	ask := func(cpu time.Duration, query, after string) (value.Value, error) {
		args := value.NewDict("query", query)
		if after != "" {
			args.Put("after", after)
		}
		limits := tool.DefaultLimits()
		limits.CPU, limits.Memory = cpu, int64(testutil.Times(48<<20, tool.DefaultMemory))
		out, err := p.Run(context.Background(), sqlScript, tool.Call{Args: args, Limits: limits}, nil)
		return out.Value, err
	}
	const count = "select b, count(*) as n, sum(a) as s from big where b < 1 group by b"
	want := value.List{value.NewDict("b", int64(0), "n", int64(142), "s", int64(71071))}
	check := func(after string) {
		t.Helper()
		if got, err := ask(2*time.Second, count, ""); err != nil || !value.Equal(got, want) {
			t.Fatalf("after %s: %v, %v, want %v", after, got, err, want)
		}
	}
	check("nothing")
	chain := "with v0 as (select 1 union all select 2)"
	for i := range 24 {
		chain += fmt.Sprintf(", v%d as (select * from v%d union all select * from v%d)", i+1, i, i)
	}
	for name, query := range map[string]string{
		"sort":         "with recursive c(x) as (select 1 union all select x + 1 from c limit 100000000) select count(*) from (select x, hex(randomblob(2000)) as h from c order by h limit 100000000)",
		"sort small":   "with recursive c(x) as (select 1 union all select x + 1 from c limit 100000000) select count(*) from (select x, random() as h from c order by h limit 100000000)",
		"union":        "with recursive c(x) as (select hex(randomblob(4000)) union select hex(randomblob(4000)) from c) select count(*) from c",
		"group":        "with recursive c(x) as (select 1 union all select x + 1 from c) select hex(randomblob(3000)) as h, count(*) from c group by h",
		"distinct":     "with recursive c(x) as (select 1 union all select x + 1 from c) select count(distinct x || hex(zeroblob(3000))) from c",
		"group_concat": "with recursive c(x) as (select 1 union all select x + 1 from c) select x, group_concat(hex(zeroblob(2000000))) from c group by x",
		"json":         "with recursive c(x) as (select 1 union all select x + 1 from c) select json_group_array(hex(zeroblob(100000))) from c",
		"window":       "with recursive c(x) as (select 1 union all select x + 1 from c) select x, count(*) over (order by x) from c",
		"materialized": "with recursive c(x) as (select 1 union all select x + 1 from c), m as materialized (select hex(randomblob(5000)) as h from c) select count(*) from m a join m b on a.h = b.h",
		"json_each":    "select count(*) from json_each('[' || replace(hex(zeroblob(500000)), '00', '1,') || '1]') a, json_each('[' || replace(hex(zeroblob(500000)), '00', '1,') || '1]') b",
		"recursion":    "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
		"second row":   "select 1 union all select * from (with recursive c(x) as (select 1 union all select x + 1 from c) select x from c where x < 0)",
		"cross join":   "select count(*) from big a, big b, big c, big d",
		"rows":         "with recursive c(x) as (select 1 union all select x + 1 from c) select x, 'text' || x from c",
		"instr":        "select instr(hex(zeroblob(4000000)), hex(zeroblob(1900000)) || '1')",
		"expansion":    chain + " select count(*) from v24",
		"attach":       "attach '/tmp/x' as x",
		"files":        "select * from pragma_database_list, pragma_compile_options where compile_options like 'x'; attach 'x' as y",
	} {
		start := time.Now()
		_, err := ask(time.Duration(testutil.Times(50, 1000))*time.Millisecond, query, "")
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want an error", name, err)
			continue
		}
		if e.Kind != value.Limit && e.Kind != value.Invalid && e.Kind != value.Failed {
			t.Errorf("%s: kind %v: %v", name, e.Kind, e)
		}
		t.Logf("%s: %v %s in %v: %.150s", name, e.Kind, e.Limit, time.Since(start).Round(time.Millisecond), e.Error())
		check(name)
	}
	// A tool that was told of the end of its memory goes on.
	for _, name := range []string{"order by h", "group by h"} {
		query := "with recursive c(x) as (select 1 union all select x + 1 from c limit 100000000) select count(*) from (select hex(randomblob(20000)) as h from c " + name + " limit 100000000)"
		if got, err := ask(10*time.Second, query, count); err != nil || !value.Equal(got, want) {
			t.Errorf("a query after too much %q: %v, %v, want %v", name, got, err, want)
		}
	}
}
