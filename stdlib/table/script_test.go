package table

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// scripted runs the body of a function in a language. The module of the test provides
// the tables t and u.
func scripted(t *testing.T, e *engine.Engine, path, body string) (value.Value, error) {
	t.Helper()
	source := "def x():\n    \"D.\"\n    t, u, s = data.table(), data.other(), data.stream()\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\ntool(x)\n"
	if strings.HasSuffix(path, ".lua") {
		source = "return tool{ description = \"D.\", handler = function()\nlocal t, u, s = data.table(), data.other(), data.stream()\n" + body + "\nend }\n"
	}
	out, err := e.Run(context.Background(), tool.Script{Path: path, Source: source}, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{}, nil })
	return out.Value, err
}

// scriptEngine has the module data with three tables for tests.
func scriptEngine() *engine.Engine {
	t := heldTable(
		"city", columnFrom(Text, "Oslo", "Bergen", "Bodø", nil),
		"people", columnFrom(Integer, int64(709), int64(291), nil, int64(5)),
		"area", columnFrom(Float, 454.12, 465.3, 1395.0, nil),
		"since", columnFrom(Date, "1048-01-01", "1070-01-01", "1816-05-20", nil),
	)
	u := heldTable("name", columnFrom(Text, "Oslo", "Oslo", "Paris"), "head", columnFrom(Any, "x", int64(1), nil))
	m := Module()
	k := m.Objects[0]
	give := func(name string, made func() *Table) tool.Func {
		return tool.Func{Name: name, Doc: "D.", Kind: tool.Pure, Mode: tool.ModeObjects, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			v := *made()
			v.kinds = &kinds{table: *k}
			return tool.Outcome{Value: &v}, nil
		}}
	}
	m.Funcs = append(m.Funcs, give("table", func() *Table { return t }), give("other", func() *Table { return u }), give("stream", func() *Table { return streamed(t, 2, false) }))
	return engine.New(&engine.Options{Modules: []tool.Module{m}})
}

func TestScriptsOfBothLanguages(t *testing.T) {
	t.Parallel()
	e := scriptEngine()
	for _, test := range []struct{ star, lua string }{
		{`t.head(2)`, `t:head(2)`},
		{`t.tail(n = 1)`, `t:tail({n = 1})`},
		{`t.select("area", "city")`, `t:select("area", "city")`},
		{`t.select(["area", "city"])`, `t:select({"area", "city"})`},
		{`t.drop("area")`, `t:drop("area")`},
		{`t.rename({"city": "town"})`, `t:rename({city = "town"})`},
		{`u.select("head").rename({"head": "h"})`, `u:select("head"):rename({head = "h"})`},
		{`t.head(len(u.column("head")))`, `t:head(#u:column("head"))`},
		{`t.add_column("n", lambda r: r["people"] != None and r["people"] > 300)`, `t:add_column("n", function(r) return r.people ~= null and r.people > 300 end)`},
		{`t.add_column("n", lambda r: r["city"], type = "any")`, `t:add_column("n", function(r) return r.city end, {type = "any"})`},
		{`t.add_column("n", [1, 2, 3, 4])`, `t:add_column("n", {1, 2, 3, 4})`},
		{`t.add_column("n", None)`, `t:add_column("n", nil)`},
		{`t.add_column("city", "x")`, `t:add_column("city", "x")`},
		{`t.with_types({"people": "float", "since": "text"})`, `t:with_types({people = "float", since = "text"})`},
		{`t.with_types({"area": "integer"}, errors = "missing")`, `t:with_types({area = "integer"}, {errors = "missing"})`},
		{`t.filter("people", ">", 300)`, `t:filter("people", ">", 300)`},
		{`t.filter("people", ">", 300.5)`, `t:filter("people", ">", 300.5)`},
		{`t.filter("area", ">", 1000)`, `t:filter("area", ">", 1000)`},
		{`t.filter("city", "in", ["Oslo", "Rome"])`, `t:filter("city", "in", {"Oslo", "Rome"})`},
		{`t.filter("since", "<", "1100-01-01")`, `t:filter("since", "<", "1100-01-01")`},
		{`t.filter("city", "missing")`, `t:filter("city", "missing")`},
		{`t.filter("city", "matches", "^B.*n$")`, `t:filter("city", "matches", "^B.*n$")`},
		{`t.filter(lambda r: r["people"] and r["people"] > 300)`, `t:filter(function(r) return r.people ~= null and r.people > 300 end)`},
		{`t.sort("people")`, `t:sort("people")`},
		{`t.sort("-city", "people")`, `t:sort("-city", "people")`},
		{`t.sort(["city"], descending = True)`, `t:sort({"city"}, {descending = true})`},
		{`t.sort(lambda r: r["city"])`, `t:sort(function(r) return r.city end)`},
		{`t.sort(key = lambda r: r["city"], descending = True)`, `t:sort({key = function(r) return r.city end, descending = true})`},
		{`t.add_column("k", 1).distinct("k")`, `t:add_column("k", 1):distinct("k")`},
		{`t.sample(2, seed = 3)`, `t:sample(2, {seed = 3})`},
		{`t.drop_missing()`, `t:drop_missing()`},
		{`t.drop_missing("people", "city")`, `t:drop_missing("people", "city")`},
		{`t.fill_missing(0)`, `t:fill_missing(0)`},
		{`t.fill_missing({"city": "?", "since": "2000-01-01"})`, `t:fill_missing({city = "?", since = "2000-01-01"})`},
		{`t.concat(t.head(1), t.tail(1))`, `t:concat(t:head(1), t:tail(1))`},
		{`t.concat([t, t])`, `t:concat({t, t})`},
		{`t.concat(u, fill = True)`, `t:concat(u, {fill = true})`},
		{`t.join(u, {"city": "name"})`, `t:join(u, {city = "name"})`},
		{`t.join(u, {"city": "name"}, how = "outer")`, `t:join(u, {city = "name"}, {how = "outer"})`},
		{`t.join(t, "city", suffix = "_2")`, `t:join(t, "city", {suffix = "_2"})`},
	} {
		for _, of := range []string{"t", "s"} { // held, and streamed
			star, lua := strings.ReplaceAll(test.star, "t.", of+"."), strings.ReplaceAll(test.lua, "t:", of+":")
			want, err := scripted(t, e, "x.star", "return str("+star+")")
			if err != nil {
				t.Errorf("%s: %v", star, err)
				continue
			}
			got, err := scripted(t, e, "x.lua", "return tostring("+lua+")")
			if err != nil || got != want {
				t.Errorf("%s = \n%v, %v\n%s = \n%v", lua, got, err, star, want)
			}
			if !strings.Contains(want.(string), " × ") {
				t.Errorf("%s = %s, which is not a table", star, want)
			}
		}
	}
}

func TestScriptsShow(t *testing.T) {
	t.Parallel()
	e := scriptEngine()
	want := "… 3 more rows\n… 2 more columns: people, area\n4 rows × 4 columns"
	star, err := scripted(t, e, "x.star", `return t.show(rows = 1, width = 20)`)
	lua, luaErr := scripted(t, e, "x.lua", `return t:show({rows = 1, width = 20})`)
	if err != nil || luaErr != nil || star != lua || !strings.Contains(star.(string), want) {
		t.Errorf("show = %v, %v, in Lua %v, %v, want %v", star, err, lua, luaErr, want)
	}
}

// A function of the script may fail, stop early, or use the table again.
func TestFunctionsOfScripts(t *testing.T) {
	t.Parallel()
	e := scriptEngine()
	for _, test := range []struct {
		name, path, body string
		want             value.Value
		err              string
	}{
		{"fails", "x.star", `return t.filter(lambda r: fail("no"))`, nil, "no"},
		{"fails", "x.lua", `return t:filter(function() error("no") end)`, nil, "no"},
		{"fails in sort", "x.star", `return t.sort(key = lambda r: r["none"])`, nil, "none"},
		{"fails in add_column", "x.lua", `return t:add_column("x", function(r) return r.none.more end)`, nil, "index"},
		{"is caught", "x.star", `return attempt(lambda: t.filter(lambda r: fail("no")))["ok"]`, false, ""},
		{"is caught", "x.lua", `return (pcall(function() return t:filter(function() error("no") end) end))`, false, ""},
		{"works after it was caught", "x.lua", `pcall(function() return t:filter(function() error("no") end) end) return #t:filter(function() return true end)`, int64(4), ""},
		{"gives a text", "x.star", `return t.filter(lambda r: "yes")`, nil, `row 1: expected True or False from the function but got "yes"`},
		{"gives a text", "x.lua", `return t:filter(function() return "yes" end)`, nil, `row 1: expected True or False from the function but got "yes"`},
		{"gives a function", "x.star", `return t.add_column("f", lambda r: len)`, nil, "expected data but got the function len"},
		{"gives a function", "x.lua", `return t:add_column("f", function() return print end)`, nil, "function"},
		{"gives nothing", "x.lua", `return #t:filter(function() end)`, int64(0), ""},
		{"gives a table", "x.star", `return t.add_column("f", lambda r: t.head(1).select("people"))["f"][0]`, value.List{value.NewDict("people", int64(709))}, ""},
		{"recurses", "x.star", `return len(t.filter(lambda r: len(t.filter("city", "==", r["city"] or "")) == 1))`, int64(3), ""},
		{"recurses", "x.lua", `return #t:filter(function(r) return #t:filter(function(q) return q.city == r.city end) == 1 end)`, int64(4), ""},
		{"yields", "x.lua", `local co = coroutine.create(function() return t:filter(function() coroutine.yield(1) return true end) end)
			local ok, v = coroutine.resume(co) return ok`, false, ""},
		{"works in a coroutine", "x.lua", `local co = coroutine.wrap(function() coroutine.yield(#t:filter(function(r) return r.people ~= null end)) end) return co()`, int64(3), ""},
		{"takes too few", "x.star", `return t.filter(lambda: True)`, nil, "accepts no arguments"},
		{"without end", "x.lua", `return t:filter(function() while true do end end)`, nil, "steps"},
	} {
		got, err := scripted(t, e, test.path, test.body)
		switch {
		case test.err == "" && err != nil, test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("a function that %s (%s): %v, want %q", test.name, test.path, err, test.err)
		case test.err == "" && !value.Equal(got, test.want):
			t.Errorf("a function that %s (%s) = %v, want %v", test.name, test.path, got, test.want)
		}
	}
}

// Both languages have the same error messages.
func TestScriptErrorsOfBothLanguages(t *testing.T) {
	t.Parallel()
	e := scriptEngine()
	for _, test := range []struct{ star, lua string }{
		{`t.filter("people", ">", "x")`, `t:filter("people", ">", "x")`},
		{`t.select("citi")`, `t:select("citi")`},
		{`t.with_types({"city": "integer"})`, `t:with_types({city = "integer"})`},
		{`t.sort("city", reverse = True)`, `t:sort("city", {reverse = true})`},
		{`t.concat(u)`, `t:concat(u)`},
		{`t.join(u, "city")`, `t:join(u, "city")`},
	} {
		_, star := scripted(t, e, "x.star", "return "+test.star)
		_, lua := scripted(t, e, "x.lua", "return "+test.lua)
		a, b := value.ErrorOf(star, value.Internal), value.ErrorOf(lua, value.Internal)
		if a == nil || b == nil || a.Message() != b.Message() || a.Hint != b.Hint || a.Kind != b.Kind {
			t.Errorf("%s fails with %v, %s with %v", test.star, star, test.lua, lua)
		}
	}
}

// TestUnknownNames uses misspelled methods, methods of other libraries, and columns.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	e := scriptEngine()
	for _, test := range []struct{ path, body, message, hint string }{
		{"x.star", "t.colums", `type table has no field or method colums; did you mean "columns" or "column"?`, ""},
		{"x.star", `t.merge(u)`, "type table has no field or method merge", `write t.join(u, "key")`},
		{"x.star", "t.people", "type table has no field or method people", `to read a column or field, write t["people"]`},
		{"x.star", `t.group_by("city").sum("people")`, "type groups has no field or method sum", `as in t.group_by("city").agg(total = ("amount", "sum"), n = "count")`},
		{"x.lua", "t:merge(u)", "type table has no field or method merge", `write t.join(u, "key")`},
		{"x.lua", "t.colums", `no column "colums"`, "the columns are city, people, area, since"},
	} {
		_, err := scripted(t, e, test.path, "return "+test.body)
		got := value.ErrorOf(err, value.Internal)
		if got == nil || got.Message() != test.message || got.Hint != test.hint {
			t.Errorf("%s fails with %v (hint %q), want %s (hint %q)", test.body, err, value.ErrorOf(err, value.Internal).Hint, test.message, test.hint)
		}
	}
}
