package table

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		n := rapid.IntRange(0, 15).Draw(t, "n")
		rows := records(t, u)
		both(t, u, u.names, u.types, rows[:min(n, len(rows))], "head", int64(n))
		both(t, u, u.names, u.types, rows[max(0, len(rows)-n):], "tail", int64(n))
		both(t, u, u.names, u.types, rows[:min(5, len(rows))], "head")
		both(t, u, u.names, u.types, rows[max(0, len(rows)-5):], "tail")
	})
}

func TestColumnsChosen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		indexes := rapid.SliceOfNDistinct(rapid.IntRange(0, len(u.names)-1), 1, 4, rapid.ID).Draw(t, "indexes")
		var names value.List
		chosen := func(indexes []int) (names []string, types []Type, rows [][]value.Value) {
			for _, at := range indexes {
				names, types = append(names, u.names[at]), append(types, u.types[at])
			}
			for _, row := range records(t, u) {
				var part []value.Value
				for _, at := range indexes {
					part = append(part, row[at])
				}
				rows = append(rows, part)
			}
			return names, types, rows
		}
		for _, at := range indexes {
			names = append(names, u.names[at])
		}
		n, types, rows := chosen(indexes)
		both(t, u, n, types, rows, "select", names)
		both(t, u, n, types, rows, "select", names...)
		var others []int
		for at := range u.names {
			if !slices.Contains(indexes, at) {
				others = append(others, at)
			}
		}
		n, types, rows = chosen(others)
		both(t, u, n, types, rows, "drop", names...)
	})
}

func TestRename(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Integer, int64(1)), "b", columnFrom(Text, "x"), "c", columnFrom(Bool, nil))
	row := [][]value.Value{{int64(1), "x", nil}}
	types := []Type{Integer, Text, Bool}
	both(t, u, []string{"d", "b", "c"}, types, row, "rename", value.NewDict("a", "d"))
	both(t, u, []string{"b", "a", "c"}, types, row, "rename", value.NewDict("a", "b", "b", "a"))
	both(t, u, []string{"a", "b", "c"}, types, row, "rename", value.NewDict())
}

func TestColumn(t *testing.T) {
	t.Parallel()
	u := heldTable("head", columnFrom(Date, "2024-02-29", nil))
	for form, v := range forms(u) {
		got, err := method(v, "column", "head")
		if want := (value.List{"2024-02-29", nil}); err != nil || !value.Equal(got, want) {
			t.Errorf("%s: column = %v, %v, want %v", form, got, err, want)
		}
	}
}

func TestShapeErrors(t *testing.T) {
	t.Parallel()
	u := heldTable("city", columnFrom(Text, "Oslo", "Bergen"), "people", columnFrom(Integer, int64(700000), nil))
	for _, test := range []struct {
		name       string
		args       []value.Value
		want, hint string
	}{
		{"head", []value.Value{int64(-1)}, "argument 'n' must be >= 0 (got -1)", ""},
		{"tail", []value.Value{int64(-1)}, "argument 'n' must be >= 0 (got -1)", ""},
		{"select", []value.Value{"city", "peple"}, `no column "peple"; did you mean "people"?`, "the columns are city, people"},
		{"select", []value.Value{"city", "city"}, `column "city" is repeated`, ""},
		{"select", []value.Value{value.List{}}, "the result has no columns", "the columns are city, people"},
		{"drop", []value.Value{"x"}, `no column "x"`, "the columns are city, people"},
		{"drop", []value.Value{"city", "people"}, "the result has no columns", "the columns are"},
		{"rename", []value.Value{value.NewDict("citi", "x")}, `no column "citi"; did you mean "city"?`, "the columns are"},
		{"rename", []value.Value{value.NewDict("city", "people")}, `rename: columns "city" and "people" have the same new name "people"`, ""},
		{"rename", []value.Value{value.NewDict("city", int64(1))}, `argument 'names' should be a dict from old to new column names, as in {"old": "new"}`, ""},
		{"rename", []value.Value{value.NewDict("city", "")}, `argument 'names' should be a dict from old to new column names, as in {"old": "new"}`, ""},
		{"column", []value.Value{"x"}, `no column "x"`, "the columns are"},
		{"add_column", []value.Value{"n", value.List{int64(1)}}, "the list has 1 value, but the table has 2 rows", ""},
		{"add_column", []value.Value{"n", value.NewDict("a", "b")}, "argument 'values' should be a function of a row, a list, or one string, number or bool, but got object", ""},
		{"add_column", []value.Value{"", int64(1)}, "the name of the new column is empty", ""},
		{"add_column", []value.Value{"n", int64(1), "number"}, `unknown type "number"`, "the types are text, integer"},
		{"add_column", []value.Value{"n", value.List{int64(1), "x"}, "integer"}, `row 2, column "n": "x" cannot be converted to integer`, "use values of this type"},
		{"add_column", []value.Value{"n", value.List{u, u}}, `row 1, column "n": a cell cannot hold a value of type table`, ""},
		{"with_types", []value.Value{value.NewDict("city", "integer")}, `row 1, column "city": "Oslo" cannot be converted to integer`, `errors = "missing"`},
		{"with_types", []value.Value{value.NewDict("people", "date")}, `column "people" of type integer cannot be converted to date`, ""},
		{"with_types", []value.Value{value.NewDict("people", "bool")}, `row 1, column "people": 700000 cannot be converted to bool`, ""},
		{"with_types", []value.Value{value.NewDict("town", "text")}, `no column "town"`, ""},
		{"with_types", []value.Value{value.NewDict("city", "string")}, `unknown type "string"`, "the types are"},
		{"with_types", []value.Value{value.NewDict("city", "text"), "ignore"}, `argument 'errors' should be "fail" or "missing", not "ignore"`, ""},
		{"show", []value.Value{int64(-1)}, "argument 'rows' must be >= 0 (got -1)", ""},
		{"show", []value.Value{int64(1), int64(-1)}, "argument 'width' must be >= 0 (got -1)", ""},
	} {
		refused(t, u, test.want, test.hint, test.name, test.args...)
	}
}

func TestAddColumn(t *testing.T) {
	t.Parallel()
	big := new(big.Int).Lsh(big.NewInt(1), 80)
	for _, test := range []struct {
		values value.List
		typ    value.Value
		want   Type
		cells  value.List
	}{
		{value.List{int64(1), int64(2)}, nil, Integer, value.List{int64(1), int64(2)}},
		{value.List{int64(1), 2.5}, nil, Float, value.List{1.0, 2.5}},
		{value.List{nil, 2.5}, nil, Float, value.List{nil, 2.5}},
		{value.List{nil, nil}, nil, Text, value.List{nil, nil}},
		{value.List{nil, nil}, "date", Date, value.List{nil, nil}},
		{value.List{true, nil}, nil, Bool, value.List{true, nil}},
		{value.List{"2024-02-29", nil}, nil, Text, value.List{"2024-02-29", nil}},
		{value.List{"2024-02-29", nil}, "date", Date, value.List{"2024-02-29", nil}},
		{value.List{"2024-02-29T10:00", nil}, "instant", Instant, value.List{"2024-02-29T10:00:00Z", nil}},
		{value.List{"a", int64(1)}, nil, Any, value.List{"a", int64(1)}},
		{value.List{"7", int64(1)}, "integer", Integer, value.List{int64(7), int64(1)}},
		{value.List{"7", int64(1)}, "text", Text, value.List{"7", "1"}},
		{value.List{value.List{int64(1)}, value.List{}}, nil, Any, value.List{value.List{int64(1)}, value.List{}}},
		{value.List{big, int64(1)}, nil, Any, value.List{big, int64(1)}},
		{value.List{true, int64(1)}, nil, Any, value.List{true, int64(1)}},
	} {
		u := heldTable("a", columnFrom(Text, "x", "y"), "b", columnFrom(Integer, int64(1), int64(2)))
		row := func(b, c func(i int) value.Value) [][]value.Value {
			var rows [][]value.Value
			for i, a := range []string{"x", "y"} {
				r := []value.Value{a, b(i)}
				if c != nil {
					r = append(r, c(i))
				}
				rows = append(rows, r)
			}
			return rows
		}
		b := func(i int) value.Value { return int64(i + 1) }
		cell := func(i int) value.Value { return test.cells[i] }
		asked := 0
		values := tool.Function(func(args ...value.Value) (value.Value, error) {
			asked++
			if len(args) == 1 && args[0].(*value.Dict).Text("a") == "x" {
				return test.values[0], nil
			}
			return test.values[1], nil
		})
		for _, v := range []value.Value{test.values, value.Tuple(test.values), values} {
			both(t, u, []string{"a", "b", "c"}, []Type{Text, Integer, test.want}, row(b, cell), "add_column", "c", v, test.typ)
			both(t, u, []string{"a", "b"}, []Type{Text, test.want}, row(cell, nil), "add_column", "b", v, test.typ)
		}
		if want := 2 * 2 * len(forms(u)); asked != want {
			t.Errorf("the function is called %d times, want %d", asked, want)
		}
	}
}

func TestAddColumnOfOneValue(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Text, "x", "y"))
	for _, test := range []struct {
		value, typ, want value.Value
		is               Type
	}{
		{"k", nil, "k", Text},
		{int64(7), nil, int64(7), Integer},
		{int64(7), "float", 7.0, Float},
		{nil, nil, nil, Text},
		{nil, "integer", nil, Integer},
		{"2024-02-29", "datetime", "2024-02-29T00:00:00", DateTime},
	} {
		both(t, u, []string{"a", "k"}, []Type{Text, test.is}, [][]value.Value{{"x", test.want}, {"y", test.want}}, "add_column", "k", test.value, test.typ)
	}
}

func TestAddColumnOfAFunctionThatFails(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Text, "x", "y"))
	failure := errors.New("no such thing")
	for form, v := range forms(u) {
		_, err := method(v, "add_column", "b", tool.Function(func(...value.Value) (value.Value, error) { return nil, failure }))
		if !errors.Is(err, failure) {
			t.Errorf("%s: add_column = %v, want %v", form, err, failure)
		}
	}
}

func TestWithTypes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from  Type
		value value.Value
		to    Type
		want  value.Value // nil: the value does not fit
	}{
		{Text, "12", Integer, int64(12)}, {Text, " 12\n", Integer, int64(12)}, {Text, "1.0", Integer, nil}, {Text, "", Integer, nil}, {Text, "012", Integer, nil},
		{Text, "1e3", Float, 1000.0}, {Text, "5", Float, 5.0}, {Text, "NaN", Float, math.NaN()}, {Text, "x", Float, nil},
		{Text, "True", Bool, true}, {Text, "0", Bool, nil},
		{Text, "2024/02/29", Date, "2024-02-29"}, {Text, "2024-02-29T00:00:00", Date, nil},
		{Text, "2024-02-29 10:30", DateTime, "2024-02-29T10:30:00"}, {Text, "2024-02-29", DateTime, "2024-02-29T00:00:00"}, {Text, "2024-02-29T10:30Z", DateTime, nil},
		{Text, "2024-02-29T10:30", Instant, "2024-02-29T10:30:00Z"}, {Text, "2024-02-29T10:30:00.5+02:00", Instant, "2024-02-29T08:30:00.5Z"},
		{Text, "x", Any, "x"},
		{Integer, int64(5), Float, 5.0}, {Integer, int64(1<<53 + 1), Float, nil}, {Integer, int64(math.MaxInt64), Float, nil}, {Integer, int64(math.MinInt64), Float, float64(math.MinInt64)},
		{Integer, int64(1), Bool, true}, {Integer, int64(0), Bool, false}, {Integer, int64(2), Bool, nil},
		{Integer, int64(5), Text, "5"}, {Integer, int64(5), Any, int64(5)},
		{Float, 5.0, Integer, int64(5)}, {Float, 5.5, Integer, nil}, {Float, math.NaN(), Integer, nil}, {Float, 1e300, Integer, nil}, {Float, 9223372036854775808.0, Integer, nil},
		{Float, 5.0, Text, "5.0"}, {Float, 1.0, Bool, true}, {Float, 0.5, Bool, nil},
		{Bool, true, Integer, int64(1)}, {Bool, false, Float, 0.0}, {Bool, true, Text, "true"}, {Bool, true, Any, true},
		{Date, "2024-02-29", DateTime, "2024-02-29T00:00:00"}, {Date, "1900-01-01", Instant, "1900-01-01T00:00:00Z"}, {Date, "2024-02-29", Text, "2024-02-29"}, {Date, "2024-02-29", Any, "2024-02-29"},
		{DateTime, "1969-12-31", Date, "1969-12-31"}, {DateTime, "2024-02-29T00:00:01", Date, nil}, {DateTime, "2024-02-29T10:30", Instant, "2024-02-29T10:30:00Z"},
		{Instant, "2024-02-29T10:30Z", DateTime, "2024-02-29T10:30:00"}, {Instant, "2024-02-29T00:00Z", Date, "2024-02-29"}, {Instant, "2024-02-29T00:00:00.000001Z", Date, nil},
		{Any, "12", Integer, int64(12)}, {Any, 12.0, Integer, int64(12)}, {Any, true, Integer, int64(1)}, {Any, value.List{}, Integer, nil}, {Any, int64(1), Date, nil}, {Any, "2024-02-29", Date, "2024-02-29"},
		{Any, value.List{int64(1), "a"}, Text, `[1, "a"]`}, {Any, "x", Text, "x"}, {Any, int64(3), Float, 3.0}, {Any, []byte("x"), Float, nil},
	} {
		u := heldTable("c", columnFrom(test.from, nil, test.value, nil), "other", columnFrom(Text, "a", "b", "c"))
		rows := func(v value.Value) [][]value.Value { return [][]value.Value{{nil, "a"}, {v, "b"}, {nil, "c"}} }
		if test.to == Text && test.from == Any && test.want == `[1, "a"]` {
			test.want = value.FormatJSON(test.value, "")
		}
		names, types, to := []string{"c", "other"}, []Type{test.to, Text}, value.NewDict("c", test.to.String())
		both(t, u, names, types, rows(test.want), "with_types", to, "missing")
		if test.want != nil {
			both(t, u, names, types, rows(test.want), "with_types", to)
			continue
		}
		refused(t, u, `row 2, column "c": `+valueShown(u.held.Columns[0].value(1))+` cannot be converted to `+test.to.String(), `errors = "missing"`, "with_types", to)
	}
}

// Values that are converted to another type and back are unchanged.
func TestWithTypesAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawTable(t, "table")
		for _, name := range []string{"text", "integer", "float", "bool", "date", "datetime", "instant", "number"} {
			at, _ := u.column(name)
			for _, through := range []string{"text", "any"} {
				want := records(t, u)
				there := tableBy(t, u, "with_types", value.NewDict(name, through))
				both(t, there, u.names, u.types, want, "with_types", value.NewDict(name, u.types[at].String()))
			}
		}
	})
}

func TestErrorsCutCells(t *testing.T) {
	t.Parallel()
	long := make([]byte, 10<<20)
	for i := range long {
		long[i] = 'x'
	}
	u := heldTable("a", columnFrom(Text, string(long)))
	_, err := method(u, "with_types", value.NewDict("a", "integer"))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("an error has %d bytes", len(err.Error()))
	}
}
