package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestPivot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		agg  string
		want []string
	}{
		{"first", []string{"region|a|b|(missing)", "north|10|30|-", "south|20|-|50", "-|-|-|-"}},
		{"sum", []string{"region|a|b|(missing)", "north|80|30|-", "south|20|-|50", "-|-|-|-"}},
		{"count", []string{"region|a|b|(missing)", "north|2|1|-", "south|1|-|1", "-|0|-|-"}},
	}
	for _, of := range []*Table{sales(), streamed(sales(), 1, false)} {
		for _, test := range tests {
			got := lines(mustTable(t, of, "pivot", []value.Value{"region", "product", "amount", test.agg}))
			if !slices.Equal(got, test.want) {
				t.Errorf("pivot(%s) = %q, want %q", test.agg, got, test.want)
			}
		}
	}
}

func TestPivotErrors(t *testing.T) {
	t.Parallel()
	many := newColumn(Integer, 0)
	for i := range 1001 {
		many.addInt(int64(i))
	}
	wide := newHeld([]string{"a", "b", "1"}, &Batch{Rows: 1001, Columns: []*Column{many, many, many}})
	tests := []struct {
		of   *Table
		args []value.Value
		kind value.Kind
		want string
	}{
		{wide, []value.Value{"a", "b", "b"}, value.Limit, "the result has 1,001 new columns: the limit is 1,000"},
		{wide, []value.Value{"a", "a", "b"}, value.Invalid, "cannot be both in index and in columns"},
		{sales(), []value.Value{"region", "product", "amuont"}, value.Invalid, "no column"},
		{sales(), []value.Value{"region", "product", "day", "sum"}, value.Invalid, "needs columns of numbers"},
		{sales(), []value.Value{value.List{}, "product", "day"}, value.Invalid, "argument 'index' needs at least one column"},
		{tableOf("a", Text, []value.Value{"x"}, "b", Text, []value.Value{"a"}, "c", Text, []value.Value{"y"}), []value.Value{"a", "b", "c"}, value.Invalid, `two columns named "a"`},
	}
	for _, test := range tests {
		_, err := callRow(t, test.of, "pivot", test.args)
		if err == nil || value.ErrorOf(err, value.Failed).Kind != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("pivot%v = %v, want %q", test.args, err, test.want)
		}
	}
}

func TestUnpivot(t *testing.T) {
	t.Parallel()
	of := tableOf("id", Text, []value.Value{"x", "y"}, "a", Integer, []value.Value{1, nil}, "b", Float, []value.Value{2.5, 3.0}, "c", Bool, []value.Value{true, false})
	tests := []struct {
		args  []value.Value
		named []value.Value
		types []Type
		want  []string
	}{
		{[]value.Value{value.List{"a", "b"}}, []value.Value{"keep", value.List{"id"}}, []Type{Text, Text, Float},
			[]string{"id|name|value", "x|a|1.0", "x|b|2.5", "y|a|-", "y|b|3.0"}},
		{nil, []value.Value{"keep", value.List{"id", "b"}, "name", "n", "value", "v"}, []Type{Text, Float, Text, Any},
			[]string{"id|b|n|v", "x|2.5|a|1", "x|2.5|c|true", "y|3.0|a|-", "y|3.0|c|false"}},
		{[]value.Value{value.List{"a"}}, nil, []Type{Text, Float, Bool, Text, Integer},
			[]string{"id|b|c|name|value", "x|2.5|true|a|1", "y|3.0|false|a|-"}},
	}
	for _, test := range tests {
		got := mustTable(t, of, "unpivot", test.args, test.named...)
		if s := lines(got); !slices.Equal(s, test.want) || !slices.Equal(got.types, test.types) {
			t.Errorf("unpivot(%v, %v) = %q %v, want %q %v", test.args, test.named, s, got.types, test.want, test.types)
		}
		stream := mustTable(t, streamed(of, 1, false), "unpivot", test.args, test.named...)
		if stream.held != nil {
			t.Errorf("unpivot of a stream is held")
		}
		if same, err := got.Equal(t.Context(), tool.Grant{}, stream); !same || err != nil {
			t.Errorf("unpivot of a stream = %v, %v, want the result for a held table", same, err)
		}
	}
	for _, named := range [][]value.Value{{"name", "value"}, {"columns", value.List{}}, {"columns", value.List{"zz"}}} {
		if _, err := callRow(t, of, "unpivot", nil, named...); err == nil {
			t.Errorf("unpivot(%v) passes, want an error", named)
		}
	}
}

func TestUnpivotWide(t *testing.T) {
	t.Parallel()
	b := &Batch{Rows: 3}
	var names []string
	for i := range 5000 {
		names = append(names, "c"+string(rune('a'+i%26))+strings.Repeat("x", i/26))
		b.Columns = append(b.Columns, &Column{Type: Integer, Ints: []int64{int64(i), int64(i), int64(i)}})
	}
	long := mustTable(t, streamed(newHeld(names, b), 2, false), "unpivot", nil)
	rows := 0
	err := long.each(t.Context(), tool.Grant{}, func(b *Batch) error {
		if b.Rows > batchRows {
			t.Errorf("a batch has %d rows", b.Rows)
		}
		rows += b.Rows
		return nil
	})
	if rows != 15000 || err != nil {
		t.Errorf("unpivot of 3 × 5,000 = %d rows, %v", rows, err)
	}
}
