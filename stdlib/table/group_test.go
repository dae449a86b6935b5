package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// callRow calls a method of a table or of groups like a script.
func callRow(t testing.TB, self tool.Object, method string, positional []value.Value, named ...value.Value) (value.Value, error) {
	t.Helper()
	return callGranted(t, tool.Grant{}, self, method, positional, named...)
}

func callGranted(t testing.TB, g tool.Grant, self tool.Object, method string, positional []value.Value, named ...value.Value) (value.Value, error) {
	t.Helper()
	rows := slices.Concat(shapeRows(), filterRows(), groupRows(), describeRows(), chartRows())
	if _, ok := self.(*groups); ok {
		rows = groupsRows()
	}
	for _, r := range rows {
		if r.Name != method {
			continue
		}
		args, err := r.Bind(positional, value.NewDict(named...))
		if err != nil {
			return nil, err
		}
		return r.do(&call{context.Background(), g, args, self})
	}
	t.Fatalf("unknown method %s", method)
	return nil, nil
}

// mustTable is callRow for methods that return a table.
func mustTable(t testing.TB, self tool.Object, method string, positional []value.Value, named ...value.Value) *Table {
	t.Helper()
	v, err := callRow(t, self, method, positional, named...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	made, ok := v.(*Table)
	if !ok {
		t.Fatalf("%s returns %T, want a table", method, v)
	}
	return made
}

func grouped(t testing.TB, of *Table, columns ...value.Value) *groups {
	t.Helper()
	v, err := callRow(t, of, "group_by", columns)
	if err != nil {
		t.Fatalf("group_by: %v", err)
	}
	return v.(*groups)
}

// tableOf returns a table of columns: a name, a type and the values as scripts see them,
// nil for a missing one. Points in time are numbers.
func tableOf(columns ...any) *Table {
	b := &Batch{}
	var names []string
	for i := 0; i < len(columns); i += 3 {
		names = append(names, columns[i].(string))
		c := newColumn(columns[i+1].(Type), 0)
		for _, v := range columns[i+2].([]value.Value) {
			if n, ok := v.(int); ok {
				v = int64(n)
			}
			if n, ok := v.(int64); ok && c.Type.time() {
				c.addInt(n)
			} else {
				c.add(v)
			}
		}
		b.Columns = append(b.Columns, c)
		b.Rows = c.Len()
	}
	return newHeld(names, b)
}

// lines formats a table for comparison.
func lines(t *Table) []string {
	list := []string{strings.Join(t.names, "|")}
	for i := range t.rows {
		var cells []string
		for _, c := range t.held.Columns {
			if c.missing(i) {
				cells = append(cells, "-")
			} else {
				cells = append(cells, c.text(i))
			}
		}
		list = append(list, strings.Join(cells, "|"))
	}
	return list
}

func pair(a, b string) value.Value { return value.Tuple{a, b} }

func sales() *Table {
	return tableOf(
		"region", Text, []value.Value{"north", "south", "north", nil, "south", "north"},
		"product", Text, []value.Value{"a", "a", "b", "a", nil, "a"},
		"amount", Integer, []value.Value{10, 20, 30, nil, 50, 70},
		"price", Float, []value.Value{1.5, 2.5, nil, 4.0, math.NaN(), 0.5},
		"day", Date, []value.Value{0, 1, 2, 3, 4, 6},
		"ok", Bool, []value.Value{true, false, true, nil, true, true},
	)
}

func TestAgg(t *testing.T) {
	t.Parallel()
	tests := []struct {
		function string
		want     string // for north, south and the missing region
	}{
		{"amount count", "3 2 0"},
		{"amount missing", "0 0 1"},
		{"amount sum", "110 70 -"},
		{"amount mean", "36.666666666666664 35.0 -"},
		{"amount median", "30.0 35.0 -"},
		{"amount q1", "20.0 27.5 -"},
		{"amount p90", "62.0 47.0 -"},
		{"amount min", "10 20 -"},
		{"amount max", "70 50 -"},
		{"amount variance", "933.3333333333333 450.0 -"},
		{"amount first", "10 20 -"},
		{"amount last", "70 50 -"},
		{"price sum", "2.0 NaN 4.0"},
		{"price max", "1.5 2.5 4.0"},
		{"price median", "1.0 2.5 4.0"},
		{"price distinct", "2 2 1"},
		{"price stdev", "0.7071067811865476 NaN -"},
		{"day min", "1970-01-01 1970-01-02 1970-01-04"},
		{"day median", "1970-01-03 1970-01-03 1970-01-04"}, // south: 2.5 days, rounded down
		{"product max", "b a a"},
		{"product distinct", "2 1 1"},
		{"product last", "a a a"},
		{"ok sum", "3 1 -"},
		{"ok mean", "1.0 0.5 -"},
		{"ok max", "true true -"},
	}
	for _, of := range []*Table{sales(), streamed(sales(), 2, false)} {
		for _, test := range tests {
			column, function, _ := strings.Cut(test.function, " ")
			got := mustTable(t, grouped(t, of, "region"), "agg", nil, "x", pair(column, function))
			var cells []string
			for _, line := range lines(got)[1:] {
				cells = append(cells, line[strings.Index(line, "|")+1:])
			}
			if s := strings.Join(cells, " "); s != test.want {
				t.Errorf("agg(%s) = %s, want %s", test.function, s, test.want)
			}
		}
	}
}

func TestAggShape(t *testing.T) {
	t.Parallel()
	for _, of := range []*Table{sales(), streamed(sales(), 2, false)} {
		got := lines(mustTable(t, grouped(t, of, "product", "region"), "agg", nil, "n", "count", "total", value.List{"amount", "sum"}))
		want := []string{"product|region|n|total", "a|north|2|80", "a|south|1|20", "b|north|1|30", "a|-|1|-", "-|south|1|50"}
		if !slices.Equal(got, want) {
			t.Errorf("agg by two columns = %q, want %q", got, want)
		}
		got = lines(mustTable(t, of, "agg", nil, "n", "count", "days", pair("day", "distinct"), "last", pair("day", "max")))
		if want := []string{"n|days|last", "6|6|1970-01-07"}; !slices.Equal(got, want) {
			t.Errorf("agg of all = %q, want %q", got, want)
		}
		got = lines(mustTable(t, grouped(t, of, "region"), "count", nil))
		if want := []string{"region|count", "north|3", "south|2", "-|1"}; !slices.Equal(got, want) {
			t.Errorf("count = %q, want %q", got, want)
		}
	}
	empty := tableOf("a", Text, []value.Value{}, "b", Integer, []value.Value{})
	if got := lines(mustTable(t, grouped(t, empty, "a"), "agg", nil, "n", "count")); len(got) != 1 {
		t.Errorf("agg of the groups of no rows = %q, want no rows", got)
	}
	for _, f := range []string{"sum", "mean", "median", "max", "stdev", "first"} {
		got := lines(mustTable(t, empty, "agg", nil, "n", "count", "x", pair("b", f)))
		if want := []string{"n|x", "0|-"}; !slices.Equal(got, want) {
			t.Errorf("agg(%s) of no rows = %q, want %q", f, got, want)
		}
	}
}

func TestAggErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    value.Value
		want string
	}{
		{"x", pair("region", "sum"), `function "sum" needs columns of numbers and bools, but column "region" is text`},
		{"x", pair("ok", "median"), `function "median" needs columns of numbers and dates, but column "ok" is bool`},
		{"x", pair("amount", "medain"), `unknown function "medain"`},
		{"x", pair("amount", "p00"), `unknown function "p00"`},
		{"x", pair("amuont", "sum"), `no column "amuont"`},
		{"x", "sum", `"sum" needs a column`},
		{"x", int64(3), `agg: the value of "x" should be "count", or a column and a function`},
		{"region", "count", `column "region" already exists`},
	}
	for _, test := range tests {
		_, err := callRow(t, grouped(t, sales(), "region"), "agg", nil, test.name, test.v)
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Invalid || !strings.Contains(err.Error(), test.want) || e.Hint == "" {
			t.Errorf("agg(%s = %v) = %v, want %q and a hint", test.name, test.v, err, test.want)
		}
	}
	if _, err := callRow(t, grouped(t, sales(), "region"), "agg", nil); err == nil {
		t.Error("agg() returns no error")
	}
}

func TestSumOverflow(t *testing.T) {
	t.Parallel()
	big := []value.Value{int64(math.MaxInt64), 1, -1, int64(math.MaxInt64)}
	fits := tableOf("k", Text, []value.Value{"a", "a", "a", "b"}, "v", Integer, big)
	got := lines(mustTable(t, grouped(t, fits, "k"), "agg", nil, "s", pair("v", "sum")))
	if want := []string{"k|s", "a|9223372036854775807", "b|9223372036854775807"}; !slices.Equal(got, want) {
		t.Errorf("a sum that temporarily exceeds 64 bits = %q, want %q", got, want)
	}
	got = lines(mustTable(t, fits, "agg", nil, "s", pair("v", "sum"), "m", pair("v", "mean")))
	if want := []string{"s|m", "1.8446744073709552e+19|4.611686018427388e+18"}; !slices.Equal(got, want) {
		t.Errorf("a sum that does not fit = %q, want %q", got, want)
	}
}

func TestGroupLimit(t *testing.T) {
	t.Parallel()
	n := 300_000
	c := newColumn(Integer, n)
	for i := range n {
		c.addInt(int64(i))
	}
	of := newHeld([]string{"id"}, &Batch{Rows: n, Columns: []*Column{c}})
	_, err := callGranted(t, tool.Grant{Memory: 32 << 20}, grouped(t, of, "id"), "agg", nil, "n", "count")
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != value.LimitMemory || !strings.Contains(err.Error(), "groups take more than the limit of 10 MB") {
		t.Errorf("too many groups = %v, want a limit of memory", err)
	}
}

// naive aggregates the values of a group with another algorithm: sorted, with numbers of
// any size.
func naive(function string, values []float64) string {
	sorted := slices.Clone(values)
	sort.Float64s(sorted)
	sum := new(big.Float).SetPrec(2000)
	for _, v := range values {
		sum.Add(sum, big.NewFloat(v))
	}
	n := new(big.Float).SetPrec(2000).SetInt64(int64(len(values)))
	mean := new(big.Float).SetPrec(2000)
	if len(values) > 0 {
		mean.Quo(sum, n)
	}
	var f float64
	switch function {
	case "count":
		return fmt.Sprint(len(values))
	case "distinct":
		return fmt.Sprint(len(slices.Compact(sorted)))
	case "sum", "mean", "min", "max", "median", "p90":
		if len(values) == 0 {
			return "-"
		}
	}
	switch function {
	case "sum":
		f, _ = sum.Float64()
	case "mean":
		f, _ = mean.Float64()
	case "min":
		f = sorted[0]
	case "max":
		f = sorted[len(sorted)-1]
	case "median":
		f = (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	case "p90":
		at := 0.9 * float64(len(sorted)-1)
		low := math.Floor(at)
		f = sorted[int(low)]
		if next := int(low) + 1; next < len(sorted) {
			f += (at - low) * (sorted[next] - f)
		}
	case "stdev":
		if len(values) < 2 {
			return "-"
		}
		m := new(big.Float).SetPrec(2000)
		for _, v := range values {
			d := new(big.Float).SetPrec(2000).Sub(big.NewFloat(v), mean)
			m.Add(m, d.Mul(d, d))
		}
		v, _ := m.Quo(m, n.Sub(n, big.NewFloat(1))).Float64()
		f = math.Sqrt(v)
	}
	return formatFloat(f)
}

// near reports whether two texts are equal or numbers that differ only by rounding.
func near(a, b string, scale float64) bool {
	if a == b {
		return true
	}
	var x, y float64
	if _, err := fmt.Sscan(a, &x); err != nil {
		return false
	}
	if _, err := fmt.Sscan(b, &y); err != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))+1e-13*scale
}

func TestAggAgreesWithNaive(t *testing.T) {
	t.Parallel()
	functions := []string{"count", "distinct", "sum", "mean", "min", "max", "median", "p90", "stdev"}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(r, "rows")
		keys := rapid.SampledFrom([]value.Value{nil, "", "a", "b", "ü"})
		numbers := rapid.OneOf(rapid.Just(value.Value(nil)), rapid.Map(rapid.Int64Range(-3, 3), func(v int64) value.Value { return v }),
			rapid.Map(rapid.Int64(), func(v int64) value.Value { return v }))
		floats := rapid.OneOf(rapid.Just(value.Value(nil)), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(v float64) value.Value { return v }))
		k := rapid.SliceOfN(keys, n, n).Draw(r, "k")
		whole := rapid.SliceOfN(numbers, n, n).Draw(r, "whole")
		real := rapid.SliceOfN(floats, n, n).Draw(r, "real")
		held := tableOf("k", Text, k, "whole", Integer, whole, "real", Float, real)
		named := []value.Value{}
		for _, f := range functions {
			named = append(named, "whole "+f, pair("whole", f), "real "+f, pair("real", f))
		}
		got := mustTable(t, grouped(t, held, "k"), "agg", nil, named...)
		again := mustTable(t, grouped(t, streamed(held, rapid.IntRange(1, 50).Draw(r, "batch"), false), "k"), "agg", nil, named...)
		if a, b := lines(got), lines(again); !slices.Equal(a, b) {
			r.Fatalf("streamed = %q, held = %q", b, a)
		}
		for row := range got.rows {
			for at, name := range got.names[1:] {
				column, function, _ := strings.Cut(name, " ")
				source := map[string][]value.Value{"whole": whole, "real": real}[column]
				var values []float64
				scale := 0.0
				for i, v := range source {
					if v != nil && k[i] == got.held.Columns[0].value(row) {
						f, _ := v.(float64)
						if w, ok := v.(int64); ok {
							f = float64(w)
						}
						values = append(values, f)
						scale += math.Abs(f)
					}
				}
				c := got.held.Columns[at+1]
				text := c.text(row)
				if c.missing(row) {
					text = "-"
				}
				if want := naive(function, values); !near(text, want, scale) {
					r.Errorf("%s of %v = %s, want %s", name, values, text, want)
				}
			}
		}
	})
}

func TestGroupQuantilesBound(t *testing.T) {
	t.Parallel()
	const groupsOf = 3
	n := testutil.Times(330_000, 1_200_000) // the second one is also too many for all groups together
	keys, values := newColumn(Integer, n), newColumn(Float, n)
	for i := range n {
		keys.addInt(int64(i % groupsOf))
		values.addFloat(float64((i * 7919) % 1_000_003))
	}
	of := newHeld([]string{"k", "v"}, &Batch{Rows: n, Columns: []*Column{keys, values}})
	var first []string
	for range 2 {
		got := mustTable(t, grouped(t, of, "k"), "agg", nil, "m", pair("v", "median"), "p", pair("v", "p99"), "d", pair("v", "distinct"))
		if len(got.notes) != 3 {
			t.Errorf("notes = %q, want one for each estimate", got.notes)
		}
		if first == nil {
			first = lines(got)
		} else if again := lines(got); !slices.Equal(first, again) {
			t.Errorf("the same rows have the results %q and %q", first, again)
		}
		for row := range got.rows {
			var sorted []float64
			distinct := map[float64]bool{}
			for i := row; i < n; i += groupsOf {
				sorted = append(sorted, values.Floats[i])
				distinct[values.Floats[i]] = true
			}
			slices.Sort(sorted)
			for i, f := range []float64{0.5, 0.99} {
				at, _ := slices.BinarySearch(sorted, got.held.Columns[1+i].Floats[row])
				if off := math.Abs(float64(at)/float64(len(sorted)) - f); off > 0.005 {
					t.Errorf("the rank of p%v of group %d is off by %v", 100*f, row, off)
				}
			}
			d := float64(got.held.Columns[3].Ints[row])
			if off := math.Abs(d/float64(len(distinct)) - 1); off > 0.03 {
				t.Errorf("distinct of group %d = %v, want about %d", row, d, len(distinct))
			}
		}
	}
}
