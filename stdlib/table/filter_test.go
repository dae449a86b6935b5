package table

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// plainOrder compares two values of records with another algorithm than compareValues:
// by kind, with exact rational numbers. Dates and times of the tests are texts of equal
// length.
func plainOrder(a, b value.Value) (int, bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	rational := func(v value.Value) *big.Rat {
		switch v := v.(type) {
		case int64:
			return new(big.Rat).SetInt64(v)
		case float64:
			if math.IsInf(v, 0) {
				v = math.Copysign(math.MaxFloat64, v) // not in the tests
			}
			return new(big.Rat).SetFloat64(v) // nil for NaN
		case bool:
			if v {
				return big.NewRat(1, 1)
			}
			return new(big.Rat)
		}
		return nil
	}
	_, boolA := a.(bool)
	_, boolB := b.(bool)
	x, y := rational(a), rational(b)
	if x == nil || y == nil || boolA != boolB {
		return 0, false
	}
	return x.Cmp(y), true
}

func plainHolds(v value.Value, op string, operand value.Value) bool {
	if v == nil {
		return op == "missing"
	}
	order, ok := plainOrder(v, operand)
	s, isText := v.(string)
	part, _ := operand.(string)
	items, _ := operand.(value.List)
	among := slices.ContainsFunc(items, func(x value.Value) bool {
		o, ok := plainOrder(v, x)
		return ok && o == 0
	})
	switch op {
	case "==":
		return ok && order == 0
	case "!=":
		return !ok || order != 0
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	case ">=":
		return ok && order >= 0
	case "in":
		return among
	case "not in":
		return !among
	case "contains":
		return isText && strings.Contains(s, part)
	case "starts_with":
		return isText && strings.HasPrefix(s, part)
	case "ends_with":
		return isText && strings.HasSuffix(s, part)
	case "matches":
		return isText && regexp.MustCompile(part).MatchString(s)
	}
	return op == "present"
}

func TestFilterAgreesWithPlain(t *testing.T) {
	t.Parallel()
	numbers := []value.Value{int64(1), 1.0, 1.5, int64(0), math.NaN(), int64(math.MaxInt64), 9.3e18, -9.3e18, math.Inf(1), value.Integer(new(big.Int).Lsh(big.NewInt(1), 70))}
	operands := map[string][]value.Value{
		"text": {"a", "", "é", "zz"}, "integer": numbers[:9], "float": numbers[:9], "number": numbers[:9], "bool": {true, false}, "date": {"1970-01-01", "1969-12-31"},
		"datetime": {"1970-01-01T00:00:00"}, "instant": {"1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"}, "any": {"a", int64(1), 2.5, true},
	}
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		name := rapid.SampledFrom(u.names).Draw(t, "name")
		at, _ := u.column(name)
		op := rapid.SampledFrom(operators).Draw(t, "op")
		val := rapid.SampledFrom(operands[name]).Draw(t, "value")
		args := []value.Value{name, op, val}
		switch op {
		case "in", "not in":
			val = value.List(rapid.SliceOfN(rapid.SampledFrom(operands[name]), 0, 3).Draw(t, "values"))
			args[2] = val
		case "contains", "starts_with", "ends_with", "matches":
			if name != "any" {
				name, at = "text", 0
			}
			val = rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "part")
			args = []value.Value{name, op, val}
		case "missing", "present":
			args = args[:2]
		}
		var want [][]value.Value
		for _, row := range records(t, u) {
			if items, ok := row[at].(value.List); ok && op == "contains" {
				if slices.Contains(items, val) {
					want = append(want, row)
				}
			} else if plainHolds(row[at], op, val) {
				want = append(want, row)
			}
		}
		both(t, u, u.names, u.types, want, "filter", args...)
		both(t, u, u.names, u.types, want, "filter", tool.Function(func(args ...value.Value) (value.Value, error) {
			v, _ := args[0].(*value.Dict).Get(name)
			if items, ok := v.(value.List); ok && op == "contains" {
				return slices.Contains(items, val), nil
			}
			return plainHolds(v, op, val), nil
		}))
	})
}

func TestFilterErrors(t *testing.T) {
	t.Parallel()
	u := heldTable("city", columnFrom(Text, "Oslo"), "people", columnFrom(Integer, int64(7)), "since", columnFrom(Date, "1048-01-01"), "seen", columnFrom(Instant, nil), "at", columnFrom(DateTime, nil), "capital", columnFrom(Bool, true))
	fn := func(v value.Value) tool.Function {
		return func(...value.Value) (value.Value, error) { return v, nil }
	}
	for _, test := range []struct {
		args       []value.Value
		want, hint string
	}{
		{[]value.Value{"citi", "==", "x"}, `no column "citi"; did you mean "city"?`, "the columns are"},
		{[]value.Value{"city"}, `filter("city"): expected an operator after the column`, `filter("city", "missing")`},
		{[]value.Value{"city", "="}, `unknown operator "="; did you mean "==" or "!=" or "<="?`, "the operators are ==, !="},
		{[]value.Value{"city", "starts", "x"}, `unknown operator "starts"; did you mean "starts_with"?`, "the operators are"},
		{[]value.Value{"city", "=="}, `filter("city", "=="): the value is missing`, `"missing"`},
		{[]value.Value{"city", "missing", int64(1)}, `operator "missing" does not accept a value`, ""},
		{[]value.Value{"city", ">", int64(3)}, `column "city" has type text and cannot be compared with 3`, `with_types({"city": "…"})`},
		{[]value.Value{"people", "==", "7"}, `column "people" has type integer and cannot be compared with "7"`, "with_types"},
		{[]value.Value{"people", "==", true}, `column "people" has type integer and cannot be compared with true`, "with_types"},
		{[]value.Value{"capital", "==", int64(1)}, `column "capital" has type bool and cannot be compared with 1`, "with_types"},
		{[]value.Value{"since", ">", "yesterday"}, `column "since" has type date and cannot be compared with "yesterday"`, "write a date as 2024-02-29"},
		{[]value.Value{"since", ">", "2024-02-29T10:00"}, `column "since" has type date and cannot be compared with "2024-02-29T10:00"`, "write a date"},
		{[]value.Value{"seen", ">", int64(0)}, `column "seen" has type instant and cannot be compared with 0`, "2024-02-29T12:30:00Z"},
		{[]value.Value{"at", ">", "2024-02-29T10:00Z"}, `column "at" has type datetime and cannot be compared with "2024-02-29T10:00Z"`, "without a zone"},
		{[]value.Value{"people", "in", int64(7)}, `operator "in" needs a list of values but got integer`, ""},
		{[]value.Value{"people", "in", value.List{"7"}}, `column "people" has type integer and cannot be compared with "7"`, ""},
		{[]value.Value{"people", "contains", "7"}, `column "people" has type integer, but operator "contains" needs text`, `with_types({"people": "text"})`},
		{[]value.Value{"city", "contains", int64(7)}, `operator "contains" needs a string but got integer`, ""},
		{[]value.Value{"city", "matches", "(a"}, "invalid pattern: missing closing ): (a", "RE2"},
		{[]value.Value{"city", "matches", int64(1)}, `operator "matches" needs a regular expression but got integer`, ""},
		{[]value.Value{"city", "==", u}, `column "city" has type text and cannot be compared with a table`, ""},
		{[]value.Value{int64(1)}, "argument 'where' should be the name of a column or a function but got integer", "lambda"},
		{[]value.Value{fn(true), "=="}, "filter: pass a function, or a column with an operator and a value, not both", ""},
		{[]value.Value{fn("yes")}, `row 1: expected True or False from the function but got "yes"`, ""},
		{[]value.Value{fn(int64(1))}, `row 1: expected True or False from the function but got 1`, ""},
	} {
		refused(t, u, test.want, test.hint, "filter", test.args...)
	}
	both(t, u, u.names, u.types, nil, "filter", fn(nil))
}

// plainSorted sorts records by insertion, which is stable.
func plainSorted(rows [][]value.Value, less func(a, b []value.Value) bool) [][]value.Value {
	var sorted [][]value.Value
	for _, row := range rows {
		at := len(sorted)
		for at > 0 && less(row, sorted[at-1]) {
			at--
		}
		sorted = slices.Insert(sorted, at, row)
	}
	return sorted
}

func TestSortAgreesWithPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		indexes := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 3).Draw(t, "by") // all but any
		descending := rapid.Bool().Draw(t, "descending")
		minus := rapid.SliceOfN(rapid.Bool(), len(indexes), len(indexes)).Draw(t, "minus")
		by := make(value.List, len(indexes))
		for i, at := range indexes {
			by[i] = u.names[at]
			if minus[i] {
				by[i] = "-" + u.names[at]
			}
		}
		last := func(v value.Value) int {
			if f, ok := v.(float64); ok && f != f {
				return 1
			} else if v == nil {
				return 2
			}
			return 0
		}
		want := plainSorted(records(t, u), func(a, b []value.Value) bool {
			for i, at := range indexes {
				if x, y := last(a[at]), last(b[at]); x != y {
					return x < y
				} else if x > 0 {
					continue
				}
				if order, _ := plainOrder(a[at], b[at]); order != 0 {
					return (order < 0) == (descending == minus[i])
				}
			}
			return false
		})
		both(t, u, u.names, u.types, want, "sort", append(slices.Clone([]value.Value(by)), named{"descending": descending})...)
		both(t, u, u.names, u.types, want, "sort", by, named{"descending": descending})
	})
}

func TestSortByAFunction(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Text, "bb", "a", "cc", "dddd", nil))
	key := tool.Function(func(args ...value.Value) (value.Value, error) {
		v, _ := args[0].(*value.Dict).Get("a")
		if v == nil {
			return nil, nil
		}
		return value.Tuple{int64(len(v.(string))), v}, nil
	})
	up := [][]value.Value{{"a"}, {"bb"}, {"cc"}, {"dddd"}, {nil}}
	down := [][]value.Value{{"dddd"}, {"cc"}, {"bb"}, {"a"}, {nil}}
	both(t, u, u.names, u.types, up, "sort", key)
	both(t, u, u.names, u.types, up, "sort", named{"key": key})
	both(t, u, u.names, u.types, down, "sort", key, named{"descending": true})
}

func TestSortByANameWithAMinus(t *testing.T) {
	t.Parallel()
	u := heldTable("x", columnFrom(Integer, int64(1), int64(2)), "-x", columnFrom(Integer, int64(5), int64(4)))
	both(t, u, u.names, u.types, [][]value.Value{{int64(2), int64(4)}, {int64(1), int64(5)}}, "sort", "-x")
	both(t, u, u.names, u.types, [][]value.Value{{int64(1), int64(5)}, {int64(2), int64(4)}}, "sort", "--x")
}

func TestSortOfTextsThatBeginAlike(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Text, "number 12", "number 1", nil, "number ", "number 123456789b", "number 123456789a", "number 1\x00"))
	up := [][]value.Value{{"number "}, {"number 1"}, {"number 1\x00"}, {"number 12"}, {"number 123456789a"}, {"number 123456789b"}, {nil}}
	both(t, u, u.names, u.types, up, "sort", "a")
	both(t, u, u.names, u.types, [][]value.Value{up[5], up[4], up[3], up[2], up[1], up[0], up[6]}, "sort", "-a")
}

func TestSortErrors(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Any, "x", int64(1)), "b", columnFrom(Any, value.NewDict(), value.NewDict()))
	for _, test := range []struct {
		args []value.Value
		want string
	}{
		{[]value.Value{"a"}, `rows 1 and 2 cannot be sorted by "a": cannot compare "x" with 1`},
		{[]value.Value{"b"}, `rows 1 and 2 cannot be sorted by "b": cannot compare {} with {}`},
		{[]value.Value{"c"}, `no column "c"`},
		{[]value.Value{"-c"}, `no column "c"`},
		{nil, "sort: pass either column names or one function of the row"},
		{[]value.Value{int64(1)}, "argument 'by' should be column names but got [1]"},
		{[]value.Value{"a", named{"reverse": true}}, `unexpected argument "reverse"`},
		{[]value.Value{"a", named{"decending": true}}, `unexpected argument "decending"; did you mean "descending"?`},
		{[]value.Value{"a", named{"descending": int64(1)}}, "argument 'descending' should be boolean but got number"},
		{[]value.Value{named{"key": "a"}}, "argument 'key' should be function but got string"},
	} {
		refused(t, u, test.want, "", "sort", test.args...)
	}
}

func TestDistinctAgreesWithPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		indexes := rapid.SliceOfN(rapid.IntRange(0, len(u.names)-1), 0, 3).Draw(t, "by")
		var names []value.Value
		for _, at := range indexes {
			names = append(names, u.names[at])
		}
		if len(indexes) == 0 {
			for at := range u.names {
				indexes = append(indexes, at)
			}
		}
		seen := map[string]bool{}
		var want [][]value.Value
		for _, row := range records(t, u) {
			key := ""
			for _, at := range indexes {
				v := row[at]
				if n, ok := v.(int64); ok && u.types[at] == Any {
					v = float64(n) // 1 and 1.0 are equal
				}
				key += fmt.Sprintf("%T%v|", v, v)
			}
			if !seen[key] {
				want = append(want, row)
			}
			seen[key] = true
		}
		both(t, u, u.names, u.types, want, "distinct", names...)
	})
}

func TestMissingAgreesWithPlain(t *testing.T) {
	t.Parallel()
	fills := map[string]value.Value{"text": "–", "integer": int64(9), "float": int64(9), "bool": false, "date": "2024-02-29", "datetime": "2024-02-29T01:02:03", "instant": "2024-02-29T01:02:03Z", "any": value.List{}}
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		indexes := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 0, 3, rapid.ID).Draw(t, "columns")
		var names []value.Value
		dict := &value.Dict{}
		for _, at := range indexes {
			names = append(names, u.names[at])
			dict.Put(u.names[at], fills[u.names[at]])
		}
		var dropped, filled [][]value.Value
		for _, row := range records(t, u) {
			gap := false
			for at, v := range row {
				gap = gap || v == nil && (len(indexes) == 0 || slices.Contains(indexes, at))
			}
			if !gap {
				dropped = append(dropped, row)
			}
			row = slices.Clone(row)
			for _, at := range indexes {
				if row[at] == nil {
					row[at] = fills[u.names[at]]
					if u.types[at] == Float {
						row[at] = 9.0
					}
				}
			}
			filled = append(filled, row)
		}
		both(t, u, u.names, u.types, dropped, "drop_missing", names...)
		both(t, u, u.names, u.types, filled, "fill_missing", dict)
	})
}

func TestFillMissingOfOneValue(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Integer, nil, int64(1)), "b", columnFrom(Float, nil, 0.5), "c", columnFrom(Text, nil, "x"), "d", columnFrom(Date, nil, nil))
	both(t, u, u.names, u.types, [][]value.Value{{int64(0), 0.0, nil, nil}, {int64(1), 0.5, "x", nil}}, "fill_missing", int64(0))
	both(t, u, u.names, u.types, [][]value.Value{{nil, 0.5, nil, nil}, {int64(1), 0.5, "x", nil}}, "fill_missing", 0.5)
	both(t, u, u.names, u.types, [][]value.Value{{nil, nil, "?", nil}, {int64(1), 0.5, "x", nil}}, "fill_missing", "?")
	refused(t, u, "no column has a suitable type for true", "fill_missing({", "fill_missing", true)
	refused(t, u, `column "a" has type integer and cannot hold 0.5`, "with_types", "fill_missing", value.NewDict("a", 0.5))
	refused(t, u, `column "a" has type integer and cannot hold "0"`, "with_types", "fill_missing", value.NewDict("a", "0"))
	refused(t, u, `column "d" has type date and cannot hold "soon"`, "2024-02-29", "fill_missing", value.NewDict("d", "soon"))
	refused(t, u, `column "c" has type text and cannot hold null`, "", "fill_missing", value.NewDict("c", nil))
	refused(t, u, `no column "e"`, "", "fill_missing", value.NewDict("e", "soon"))
	refused(t, u, `no column "e"`, "", "drop_missing", "e")
	refused(t, u, `no column "e"`, "", "distinct", "e")
}

func TestSample(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	c := newColumn(Integer, 0)
	for i := range 100 {
		c.addInt(int64(i))
	}
	u := heldTable("i", c)
	counts := make([]int, 100)
	const draws, n = 2000, 10
	for seed := range draws {
		var first [][]value.Value
		for form, v := range forms(u) {
			rows := records(t, tableBy(t, v, "sample", int64(n), int64(seed)))
			if first == nil {
				first = rows
			}
			if !slices.EqualFunc(rows, first, func(a, b []value.Value) bool { return a[0] == b[0] }) || len(rows) != n {
				t.Fatalf("%s: sample(%d, seed = %d) = %v, want %v", form, n, seed, rows, first)
			}
		}
		last := int64(-1)
		for _, row := range first {
			if row[0].(int64) <= last {
				t.Fatalf("sample(%d, seed = %d) = %v: not in order, or not distinct", n, seed, first)
			}
			last = row[0].(int64)
			counts[last]++
		}
	}
	// Each row is drawn 200 times on average. The statistic has 99 degrees of freedom
	// (fewer for drawing without replacement), and exceeds 170 with a probability of 1
	// in 100,000.
	chi := 0.0
	for _, count := range counts {
		chi += math.Pow(float64(count)-draws*n/100, 2) / (draws * n / 100)
	}
	if chi > 170 {
		t.Errorf("the rows are not equally likely: chi² = %v, counts %v", chi, counts)
	}
	both(t, u, u.names, u.types, records(t, u), "sample", int64(1000))
	both(t, u, u.names, u.types, nil, "sample", int64(0))
	if got := tableBy(t, u, "sample", int64(3)); got.rows != 3 { // with the random numbers of the call
		t.Errorf("sample(3) has %d rows", got.rows)
	}
	refused(t, u, "argument 'n' must be >= 0 (got -1)", "", "sample", int64(-1))
	_, err := bound(&kinds{}, filterRows())[3].Do(context.Background(), tool.Effect{Args: value.NewDict("n", int64(1)), Self: u}, tool.Grant{})
	if err == nil || err.Error() != "random numbers are unavailable: the call has no seed" {
		t.Errorf("sample without random numbers: %v", err)
	}
}
