package table

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// parts answers fs.parquet with the rows of one column, two at a time.
func parquetOf(typ string, rows ...value.Value) tool.Grant {
	return tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		if name != "fs.parquet" {
			return tool.Outcome{}, value.Errorf(value.Internal, "unexpected %s", name)
		}
		first := int(args.Int("first"))
		end := min(first+2, len(rows))
		return tool.Outcome{Value: value.NewDict("names", value.List{"a"}, "types", value.List{typ}, "rows", int64(len(rows)), "first", int64(first), "count", int64(end-first),
			"notes", value.List{"a note"}, "columns", value.List{value.List(rows[first:end])})}, nil
	}}
}

func TestParquetParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typ  string
		rows []value.Value
		want string
	}{
		{"integer", []value.Value{int64(1), nil, int64(3), int64(4), int64(5)}, "a|1|-|3|4|5"},
		{"text", []value.Value{"x"}, "a|x"},
		{"float", []value.Value{1.5, int64(2), "NaN"}, "a|1.5|2.0|NaN"},
		{"bool", []value.Value{true, false}, "a|true|false"},
		{"date", []value.Value{int64(19792)}, "a|2024-03-10"},
		{"datetime", []value.Value{int64(1_000_000)}, "a|1970-01-01T00:00:01"},
		{"instant", []value.Value{int64(0)}, "a|1970-01-01T00:00:00Z"},
		{"any", []value.Value{value.List{int64(1)}, "x", int64(2)}, "a|[1]|x|2"},
		{"text", nil, "a"},
	}
	for _, test := range tests {
		g := parquetOf(test.typ, test.rows...)
		got, err := readParquet(g, &input{name: "x.parquet", file: true})
		if err != nil {
			t.Errorf("%s: %v", test.typ, err)
			continue
		}
		all, err := got.gather(t.Context(), g)
		if err != nil {
			t.Errorf("%s: %v", test.typ, err)
			continue
		}
		if text := strings.Join(lines(newHeld(got.names, all)), "|"); text != test.want || len(got.notes) != 1 {
			t.Errorf("%s = %s, want %s; notes %q", test.typ, text, test.want, got.notes)
		}
	}
}

func TestParquetErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]tool.Grant{
		"fs.parquet returned no table": parquetOf("integer", "x"),
		"unknown type":                 parquetOf("complex", "x"),
	}
	for want, g := range tests {
		if _, err := readParquet(g, &input{name: "x.parquet", file: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	g := parquetOf("integer", int64(1), int64(2), int64(3))
	of, err := readParquet(g, &input{name: "x.parquet", file: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of.gather(t.Context(), parquetOf("integer", int64(1), int64(2))); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file that became shorter: %v", err)
	}
}
