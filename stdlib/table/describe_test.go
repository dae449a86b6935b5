package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// described returns the text of describe.
func described(t testing.TB, of *Table, named ...value.Value) string {
	t.Helper()
	v, err := callRow(t, of, "describe", nil, named...)
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	return v.(string)
}

func TestSummary(t *testing.T) {
	t.Parallel()
	want := []string{
		"column|type|count|missing|distinct|min|q1|median|q3|max|mean|stdev|top|top_count|estimated",
		"region|text|5|1|2|north|-|-|-|south|-|-|north|3|false",
		"product|text|5|1|2|a|-|-|-|b|-|-|a|4|false",
		"amount|integer|5|1|5|10|20.0|30.0|50.0|70|36.0|24.08318915758459|10|1|false",
		"price|float|5|1|5|0.5|1.25|2.0|2.875|4.0|NaN|NaN|1.5|1|false",
		"day|date|6|0|6|1970-01-01|1970-01-02|1970-01-03|1970-01-04|1970-01-07|-|-|1970-01-01|1|false",
		"ok|bool|5|1|2|false|-|-|-|true|-|-|true|4|false",
	}
	for _, of := range []*Table{sales(), streamed(sales(), 1, false)} {
		if got := lines(mustTable(t, of, "summary", nil)); !slices.Equal(got, want) {
			t.Errorf("summary = %q, want %q", got, want)
		}
	}
}

func TestSummaryEdges(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	tests := []struct {
		name   string
		typ    Type
		values []value.Value
		want   string // the columns from count on
	}{
		{"no rows", Integer, []value.Value{}, "0|0|0|-|-|-|-|-|-|-|-|-|false"},
		{"all missing", Float, []value.Value{nil, nil}, "0|2|0|-|-|-|-|-|-|-|-|-|false"},
		{"all missing text", Text, []value.Value{nil}, "0|1|0|-|-|-|-|-|-|-|-|-|false"},
		{"all missing bool", Bool, []value.Value{nil}, "0|1|0|-|-|-|-|-|-|-|-|-|false"},
		{"one row", Integer, []value.Value{7}, "1|0|1|7|7.0|7.0|7.0|7|7.0|-|7|1|false"},
		{"near 2^63", Integer, []value.Value{int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64)},
			"3|0|2|-9223372036854775808|0.0|9.223372036854775807e+18|9.223372036854775807e+18|9223372036854775807|3.074457345618258e+18|1.0650232656628344e+19|9223372036854775807|2|false"},
		{"only NaN", Float, []value.Value{math.NaN(), math.NaN()}, "2|0|1|-|-|-|-|-|NaN|NaN|NaN|2|false"},
		{"infinite", Float, []value.Value{inf, 1.0, 2.0}, `3|0|3|1.0|1.5|2.0|+Inf|+Inf|+Inf|NaN|+Inf|1|false`},
		{"both infinities", Float, []value.Value{inf, -inf}, `2|0|2|-Inf|NaN|NaN|NaN|+Inf|NaN|NaN|+Inf|1|false`},
		{"zeros", Float, []value.Value{math.Copysign(0, -1), 0.0}, "2|0|1|-0.0|0.0|0.0|0.0|-0.0|0.0|0.0|0.0|2|false"},
		{"cancellation", Float, []value.Value{1e100, 1.0, -1e100}, "3|0|3|-1e+100|-5e+99|1.0|5e+99|1e+100|0.3333333333333333|1e+100|1e+100|1|false"},
		{"any", Any, []value.Value{"a", int64(1), "1", "a"}, `4|0|3|-|-|-|-|-|-|-|"a"|2|false`},
		{"empty text", Text, []value.Value{"", "b"}, "2|0|2||-|-|-|b|-|-||1|false"},
	}
	for _, test := range tests {
		got := lines(mustTable(t, tableOf("x", test.typ, test.values), "summary", nil))[1]
		if test.name == "zeros" { // the sign of a zero is ignored
			got, test.want = strings.ReplaceAll(got, "-0.0", "0.0"), strings.ReplaceAll(test.want, "-0.0", "0.0")
		}
		a, b := strings.Split(got, "|")[2:], strings.Split(test.want, "|")
		if !slices.EqualFunc(a, b, func(x, y string) bool { return near(x, y, 0) }) {
			t.Errorf("summary of %s = %v, want %v", test.name, a, b)
		}
	}
}

func TestSummaryAgreesWithNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(r, "rows")
		numbers := rapid.OneOf(rapid.Just(value.Value(nil)), rapid.Map(rapid.Int64Range(-1e12, 1e12), func(v int64) value.Value { return v }))
		floats := rapid.OneOf(rapid.Just(value.Value(nil)), rapid.Map(rapid.Float64Range(-1e6, 1e6), func(v float64) value.Value { return v }))
		whole := rapid.SliceOfN(numbers, n, n).Draw(r, "whole")
		real := rapid.SliceOfN(floats, n, n).Draw(r, "real")
		texts := rapid.SliceOfN(rapid.SampledFrom([]value.Value{nil, "", "a", "ab", "ü", "a"}), n, n).Draw(r, "texts")
		held := tableOf("whole", Integer, whole, "real", Float, real, "days", Date, whole, "texts", Text, texts)
		got := lines(mustTable(t, held, "summary", nil))
		batch := rapid.IntRange(1, 60).Draw(r, "batch")
		if again := lines(mustTable(t, streamed(held, batch, false), "summary", nil)); !slices.Equal(got, again) {
			r.Fatalf("streamed = %q, held = %q", again, got)
		}
		for _, method := range describeMethods() {
			a, b := described(t, held, "method", method), described(t, streamed(held, batch, false), "method", method)
			if a != b {
				r.Fatalf("%s: streamed\n%s\nheld\n%s", method, b, a)
			}
		}
		for i, source := range [][]value.Value{whole, real} {
			var values []float64
			scale := 0.0
			for _, v := range source {
				switch v := v.(type) {
				case int64:
					values = append(values, float64(v))
				case float64:
					values = append(values, v)
				}
			}
			for _, v := range values {
				scale += math.Abs(v)
			}
			cells := strings.Split(got[i+1], "|")
			for at, f := range map[int]string{2: "count", 4: "distinct", 5: "min", 7: "median", 9: "max", 10: "mean", 11: "stdev"} {
				if want := naive(f, values); !near(cells[at], want, scale) {
					r.Errorf("%s of %v = %s, want %s", f, values, cells[at], want)
				}
			}
		}
	})
}

func TestDescribeText(t *testing.T) {
	t.Parallel()
	of := sales()
	of.notes = []string{"the encoding is utf-8"}
	tests := map[string]string{
		"basic": `6 rows × 6 columns
the encoding is utf-8

name     type     missing  summary
region   text           1  2 distinct: north (3), south (2)
product  text           1  2 distinct: a (4), b (1)
amount   integer        1  min 10, mean 36, max 70
price    float          1  min 0.5, mean NaN, max 4
day      date           0  1970-01-01 to 1970-01-07
ok       bool           1  true (4), false (1)
`,
		"skim": `6 rows × 6 columns
the encoding is utf-8

numbers
name    type     n  missing  mean       sd   p0   p25  p50    p75  p100  histogram
amount  integer  5        1    36  24.0832   10    20   30     50    70  ▇▇▇▁▁▇▁▇
price   float    5        1   NaN      NaN  0.5  1.25    2  2.875     4  ▇▁▇▁▇▁▁▇

text
name     n  missing  distinct  shortest  longest  top
region   5        1         2         5        5  north (3), south (2)
product  5        1         2         1        1  a (4), b (1)

bools
name  n  missing  true  false  mean
ok    5        1     4      1   0.8

dates and times
name  type  n  missing  distinct  min         median      max
day   date  6        0         6  1970-01-01  1970-01-03  1970-01-07
`,
		"codebook": `6 rows × 6 columns
the encoding is utf-8

region (text)
  values: 5 of 6 (83.3 %); missing: 1 (16.7 %); distinct: 2
  length: 5 to 5 characters
  all values: north (3), south (2)
`,
	}
	for method, want := range tests {
		got := described(t, of, "method", method)
		if method == "codebook" {
			got = got[:min(len(got), len(want))]
		}
		if got != want {
			t.Errorf("describe(%q) =\n%s\nwant\n%s", method, got, want)
		}
	}
	if _, err := callRow(t, of, "describe", nil, "method", "skin"); err == nil || !strings.Contains(err.Error(), `unknown method "skin"`) ||
		value.ErrorOf(err, value.Failed).Hint != "the methods are basic, skim, codebook" {
		t.Errorf("describe(skin) = %v, want an error that names the three", err)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	numbers := make([]value.Value, 60)
	for i := range numbers {
		numbers[i] = i
	}
	for _, c := range []struct {
		method string
		of     *Table
		args   []value.Value
		want   string
	}{
		{"describe", tableOf("a", Integer, []value.Value{1, 2, 3, 9, nil}, "b", Float, []value.Value{0.5, 0.5, 0.5, 0.5, 0.5}), nil, `["5 rows, 2 columns",` +
			`[{"name":"a","distribution":[1,1,1,0,0,0,0,1],"min":1,"median":2.5,"max":9,"n":4,"mean":3.75,"sd":3.593976442141304,"p25":1.75,"p75":4.5,"type":"integer","missing":1},` +
			`{"name":"b","distribution":[],"min":0.5,"median":0.5,"max":0.5,"n":5,"mean":0.5,"sd":0.0,"p25":0.5,"p75":0.5,"type":"float","missing":0}]]`},
		{"describe", tableOf("a", Text, []value.Value{"x", "y", "x"}, "b", Bool, []value.Value{true, false, true}), nil, `["3 rows, 2 columns",` +
			`"\ntext",[{"name":"a","top":"x (2), y (1)","n":3,"missing":0,"distinct":2,"shortest":1,"longest":1}],"\nbools",[{"name":"b","true":2,"false":1,"n":3,"missing":0}]]`},
		{"describe", sales(), []value.Value{"method", "basic"}, `[]`},
		{"show", tableOf("a", Integer, []value.Value{1, nil}), nil, `[[{"a":1},{"a":null}]]`},
		{"show", tableOf("a", Integer, []value.Value{}), nil, `["0 rows"]`},
		{"show", tableOf("a", Integer, numbers), []value.Value{"rows", int64(4)}, `[[{"a":0},{"a":1},{"a":2},{"a":59}],"4 of 60 rows, without those before the last 1"]`},
		{"show", tableOf("a", Float, []value.Value{math.NaN(), math.Inf(1)}), nil, `[[{"a":"NaN"},{"a":"+Inf"}]]`},
		{"show", tableOf("a", Text, []value.Value{strings.Repeat("é", 300)}), nil, `[[{"a":"` + strings.Repeat("é", 199) + `…"}]]`},
		{"show", tableOf("a", Text, slices.Repeat([]value.Value{strings.Repeat("x", 200)}, 300)), []value.Value{"rows", int64(300)}, `[]`},
	} {
		got, err := callRow(t, c.of, c.method, nil, append(c.args, "parts", true)...)
		if err != nil {
			t.Fatal(err)
		}
		d := got.(*value.Dict)
		parts, _ := d.Get("parts")
		if text := value.FormatJSON(parts, ""); text != c.want {
			t.Errorf("%s: the parts are %s, want %s", c.method, text, c.want)
		}
		if text, err := callRow(t, c.of, c.method, nil, c.args...); err != nil || text != d.Text("text") {
			t.Errorf("%s: with parts, the text is %q, else %q, %v", c.method, d.Text("text"), text, err)
		}
	}
}

// TestDescribeHostile has texts that must not break lines or take long.
func TestDescribeHostile(t *testing.T) {
	t.Parallel()
	of := tableOf("a\nb\x1b[31m", Text, []value.Value{"x\ny", strings.Repeat("é", 1<<20), "\x00", "  "})
	for _, method := range describeMethods() {
		got := described(t, of, "method", method)
		if strings.ContainsAny(got, "\x1b\x00") || len(got) > 2000 || strings.Contains(got, "x\ny") {
			t.Errorf("describe(%q) = %q, want short lines", method, got)
		}
	}
	for _, none := range []*Table{newHeld(nil, &Batch{}), streamed(newHeld(nil, &Batch{}), 1, false)} {
		for _, method := range describeMethods() {
			if got := described(t, none, "method", method); got != "0 rows × 0 columns\n" {
				t.Errorf("describe(%q) of nothing = %q", method, got)
			}
		}
	}
	if got := described(t, of, "columns", value.List{}); !strings.HasPrefix(got, "4 rows × 1 column\n") {
		t.Errorf("describe of no columns = %q", got)
	}
	wide := &Batch{Rows: 1}
	var names []string
	for i := range 100_000 {
		names = append(names, "c"+strconv.Itoa(i))
		wide.Columns = append(wide.Columns, &Column{Type: Integer, Ints: []int64{1}})
	}
	got := described(t, newHeld(names, wide), "method", "basic")
	if n := strings.Count(got, "\n"); n != 104 || !strings.Contains(got, "100 of 100,000 columns; for others use describe(columns = [\"c99999\"])") {
		t.Errorf("describe of 100,000 columns has %d lines: %.300s", n, got)
	}
	if got := described(t, newHeld(names, wide), "columns", value.List{"c99999"}); !strings.Contains(got, "c99999") || strings.Contains(got, "are shown") {
		t.Errorf("describe of one column = %s", got)
	}
}

func TestDescribeMany(t *testing.T) {
	t.Parallel()
	const n = 200_000
	ids, floats, texts := newColumn(Integer, n), newColumn(Float, n), newColumn(Text, n)
	for i := range n {
		ids.addInt(int64(i))
		floats.addFloat(math.Pow(float64(i*7919%n), 1.5)) // 7919 and n are coprime, so this is a permutation
		if i%4 == 0 {
			texts.addText("often")
		} else {
			texts.addText(fmt.Sprint("text ", i))
		}
	}
	of := newHeld([]string{"id", "f", "t"}, &Batch{Rows: n, Columns: []*Column{ids, floats, texts}})
	all, _, err := of.facts(t.Context(), tool.Grant{}, of.names)
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(floats.Floats)
	slices.Sort(sorted)
	for i, f := range all[:2] {
		for at, q := range f.q.at(0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1) {
			fraction := []float64{0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1}[at]
			rank := q
			if i == 1 {
				found, _ := slices.BinarySearch(sorted, q)
				rank = float64(found)
			}
			if off := math.Abs(rank/(n-1) - fraction); off > 0.005 {
				t.Errorf("quantile %v of %s is off by %v of the rank", fraction, f.name, off)
			}
		}
		if f.size() > 1<<20 {
			t.Errorf("the facts of %s take %d bytes", f.name, f.size())
		}
	}
	for i, want := range []float64{n, n, n*3/4 + 1} {
		if d, estimated := all[i].distinct(); !estimated || math.Abs(float64(d)/want-1) > 0.03 {
			t.Errorf("distinct of %s = %d, %v, want about %v", all[i].name, d, estimated, want)
		}
	}
	if top := all[2].top(3); len(top) != 1 || top[0].text != "often" || math.Abs(float64(top[0].count)-n/4) > n/commonValues {
		t.Errorf("top = %v, want often about %d times", top, n/4)
	}
	if got := all[0].histogram(); got != "▇▇▇▇▇▇▇▇" {
		t.Errorf("histogram of an even spread = %s", got)
	}
	a, b := described(t, of), described(t, streamed(of, 1000, false))
	if a != b || !strings.Contains(a, "~") {
		t.Errorf("describe of a stream\n%s\nheld\n%s", b, a)
	}
}

func TestDistinctBorder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{9_999, 10_000, 10_001, 10_002} {
		c := newColumn(Integer, n)
		for i := range n {
			c.addInt(int64(i))
		}
		of := newHeld([]string{"x"}, &Batch{Rows: n, Columns: []*Column{c}})
		all, _, err := of.facts(t.Context(), tool.Grant{}, of.names)
		if err != nil {
			t.Fatal(err)
		}
		d, estimated := all[0].distinct()
		if estimated != (n > exactDistinct) || !estimated && d != int64(n) || math.Abs(float64(d)/float64(n)-1) > 0.03 {
			t.Errorf("distinct of %d = %d, %v", n, d, estimated)
		}
		got := mustTable(t, of, "agg", nil, "d", pair("x", "distinct")).held.Columns[0].Ints[0]
		if n <= exactDistinct && got != int64(n) {
			t.Errorf("agg(distinct) of %d = %d", n, got)
		}
	}
}

func TestHyperLogLog(t *testing.T) {
	t.Parallel()
	h := &hyperLogLog{}
	next := 1
	for n := 1; n <= 1_000_000; n++ {
		h.add(hashText("value " + strconv.Itoa(n)))
		if n == next {
			if got := h.estimate(); math.Abs(float64(got)/float64(n)-1) > 0.025 {
				t.Errorf("estimate of %d = %d", n, got)
			}
			next = next*3 + 1
		}
	}
	if got := (&hyperLogLog{}).estimate(); got != 0 {
		t.Errorf("estimate of nothing = %d", got)
	}
}

// TestSketchBound tries orders that are hard for a sketch.
func TestSketchBound(t *testing.T) {
	t.Parallel()
	const n = 200_000
	orders := map[string]func(i int) float64{
		"ascending":  func(i int) float64 { return float64(i) },
		"descending": func(i int) float64 { return float64(n - 1 - i) },
		"mixed":      func(i int) float64 { return float64(i * 7919 % n) },
		"from the ends": func(i int) float64 {
			if i%2 == 0 {
				return float64(i / 2)
			}
			return float64(n - 1 - i/2)
		},
	}
	for name, order := range orders {
		for _, k := range []int{groupSketch, columnSketch} {
			q := &quantiles{}
			for i := range n {
				q.add(order(i), 100, k)
			}
			for i := 0; i <= 100; i++ {
				f := float64(i) / 100
				if off := math.Abs(q.at(f)[0]/(n-1) - f); off > 0.005 {
					t.Errorf("%s, k = %d: the rank of %v is off by %v", name, k, f, off)
				}
			}
			if q.sketch.size > 3*k+8*20 {
				t.Errorf("a sketch of k = %d holds %d values", k, q.sketch.size)
			}
			weight := int64(0)
			for _, it := range q.sketch.items() {
				weight += it.weight
			}
			if weight != n {
				t.Errorf("a sketch of %d values represents %d", n, weight)
			}
		}
	}
}

// TestDescribeWideAndLong has 100 columns of long distinct texts. They fit in the memory
// of a process, because each column keeps fewer of them.
func TestDescribeWideAndLong(t *testing.T) {
	t.Parallel()
	const columns, rows = 100, 500
	batches := testutil.Times(3, 6)
	var names []string
	for i := range columns {
		names = append(names, "c"+strconv.Itoa(i))
	}
	types := make([]Type, columns) // texts
	of := newStream(names, types, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		for n := range batches {
			b := newBatch(types)
			b.Rows = rows
			for _, c := range b.Columns {
				for i := range rows {
					c.addText(strconv.Itoa(n*rows+i) + strings.Repeat(" long", 80))
				}
			}
			if err := yield(b); err != nil {
				return err
			}
		}
		return nil
	})
	got := described(t, of)
	if n := strings.Count(got, "\n"); n != 105 || !strings.Contains(got, "~") {
		t.Errorf("describe has %d lines: %.300s", n, got)
	}
}
