package encoding

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestCSVParse(t *testing.T) {
	header, types, fill := rowtest.Named("header", false), rowtest.Named("types", true), rowtest.Named("fill", true)
	rowtest.Table(t, modules(), true, []rowtest.Case{
		{Fn: "csv.parse", Args: []any{"a,b\n1,x\n2,y\n"},
			Want: value.List{value.NewDict("a", "1", "b", "x"), value.NewDict("a", "2", "b", "y")}},
		{Fn: "csv.parse", Args: []any{"\ufeffa;b\r\n1;\"x;\"\"y\"\"\r\nz\"\r\n\r\n", ";"},
			Want: value.List{value.NewDict("a", "1", "b", "x;\"y\"\r\nz")}},
		{Fn: "csv.parse", Args: []any{"a\tb\n5\" disk\t\n", "\t"}, Want: value.List{value.NewDict("a", `5" disk`, "b", "")}},
		{Fn: "csv.parse", Args: []any{"a→b\n1→2", "→"}, Want: value.List{value.NewDict("a", "1", "b", "2")}},
		{Fn: "csv.parse", Args: []any{""}, Want: value.List{}},
		{Fn: "csv.parse", Args: []any{"a,b\n"}, Want: value.List{}},
		{Fn: "csv.parse", Args: []any{"a,b\n\n\n1,2\r"}, Want: value.List{value.NewDict("a", "1", "b", "2")}},
		{Fn: "csv.parse", Args: []any{"1,2\n3,4", header}, Want: value.List{value.List{"1", "2"}, value.List{"3", "4"}}},
		{Fn: "csv.parse", Args: []any{`""`, header}, Want: value.List{value.List{""}}},
		{Fn: "csv.parse", Args: []any{",", header}, Want: value.List{value.List{"", ""}}},
		{Fn: "csv.parse", Args: []any{"5,-1.5,1e3,007,,true,False,1 ,+1,12345678901234567890,nan,0x1F,1_0,.5", header, types},
			Want: value.List{value.List{int64(5), -1.5, 1000.0, "007", nil, true, false, "1 ", "+1", rowtest.Big("12345678901234567890"),
				"nan", "0x1F", "1_0", ".5"}}},

		{Fn: "csv.parse", Args: []any{"a,b\n1,2\n3\n"}, Err: "row 2 (line 3) has 1 cells, but the header has 2"},
		{Fn: "csv.parse", Args: []any{"a,b\n\"1\n\n\",2\n3,4,5\n"}, Err: "row 2 (line 5) has 3 cells"},
		{Fn: "csv.parse", Args: []any{"1,2\n3\n", header}, Err: "row 2 (line 2) has 1 cells, but the first row has 2"},
		{Fn: "csv.parse", Args: []any{"a,b\n1,2\n3\n", fill, types},
			Want: value.List{value.NewDict("a", int64(1), "b", int64(2)), value.NewDict("a", int64(3), "b", nil)}},
		{Fn: "csv.parse", Args: []any{"1\n2,3\n4", header, fill}, Want: value.List{value.List{"1", ""}, value.List{"2", "3"}, value.List{"4", ""}}},
		{Fn: "csv.parse", Args: []any{"a\n1,2\n", fill}, Err: "row 1 (line 2) has 2 cells"},
		{Fn: "csv.parse", Args: []any{"a,b,a\n"}, Err: `columns 1 and 3 are both named "a"`},
		{Fn: "csv.parse", Args: []any{"a,,b\n"}, Err: "column 2 has no name"},
		{Fn: "csv.parse", Args: []any{"a\n\"x\ny"}, Err: "line 2: unclosed quote: the cell has no closing quote"},
		{Fn: "csv.parse", Args: []any{"a\n\"x\n\"y\n"}, Err: "line 3: character 2: unexpected text after the closing quote of a cell"},
		{Fn: "csv.parse", Args: []any{"a", ",,"}, Err: "one character"},
		{Fn: "csv.parse", Args: []any{"a", `"`}, Err: "one character"},
		{Fn: "csv.parse", Args: []any{"a", "\n"}, Err: "one character"},
		{Fn: "csv.parse", Args: []any{"a", ""}, Err: "one character"},
	})
}

func TestCSVEncode(t *testing.T) {
	columns := func(names ...value.Value) any { return rowtest.Named("columns", value.List(names)) }
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "csv.encode", Args: []any{value.List{value.NewDict("a", int64(1), "b", "x,y"), value.NewDict("b", nil, "c", true)}},
			Want: "a,b,c\n1,\"x,y\",\n,,true\n"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{int64(3), 1.5, "q\"", "l\n"}, value.Tuple{"", "x"}}}, Want: "3,1.5,\"q\"\"\",\"l\n\"\n,x\n"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{""}}}, Want: "\"\"\n"},
		{Fn: "csv.encode", Args: []any{value.List{value.NewDict("a", "1", "b", "2")}, "\t", false, value.List{"b", "z", "a"}}, Want: "2\t\t1\n"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{"1", "2"}}, columns("x", "y")}, Want: "x,y\n1,2\n"},
		{Fn: "csv.encode", Args: []any{value.List{}, columns("x", "y")}, Want: "x,y\n"},
		{Fn: "csv.encode", Args: []any{value.List{}}, Want: ""},

		{Fn: "csv.encode", Args: []any{value.List{value.List{"1"}}, columns("x", "y")}, Err: "row 1 has 1 cells, but there are 2 columns"},
		{Fn: "csv.encode", Args: []any{value.List{}, columns("x", "x")}, Err: `both named "x"`},
		{Fn: "csv.encode", Args: []any{value.List{value.NewDict("a", "1"), value.List{"1"}}}, Err: "row 2 is a list, but"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{"1"}, value.List{value.List{}}}}, Err: "row 2, column 1: a cell cannot hold a value of type array"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{[]byte("x")}}}, Err: "type bytes"},
		{Fn: "csv.encode", Args: []any{value.List{"x"}}, Err: "row 1: expected a dict or a list but got string"},
		{Fn: "csv.encode", Args: []any{value.List{value.List{}}}, Err: "row 1 has no cells"},
		{Fn: "csv.encode", Args: []any{value.List{value.NewDict("", "1")}}, Err: "invalid column name"},
		{Fn: "csv.encode", Args: []any{"x"}, Err: "should be array"},
	})
}

// What is written is read back, whatever is in the cells.
func TestCSVRoundTrip(t *testing.T) {
	cell := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a ,;\"\r\n\ufeff"))))
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(1, 12).Draw(r, "width")
		names := rapid.SliceOfNDistinct(cell.Filter(func(s string) bool { return s != "" }), width, width, rapid.ID[string]).Draw(r, "names")
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "→", "a"}).Draw(r, "delimiter")
		lists, dicts := value.List{}, value.List{}
		for range rapid.IntRange(0, 5).Draw(r, "rows") {
			row, d := value.List{}, &value.Dict{}
			for _, name := range names {
				text := cell.Draw(r, "cell")
				row = append(row, text)
				d.Put(name, text)
			}
			lists, dicts = append(lists, row), append(dicts, d)
		}
		text := rowtest.Must(t, modules(), "csv.encode", dicts, delimiter)
		if back := rowtest.Must(t, modules(), "csv.parse", text, delimiter); !value.Equal(back, dicts) {
			r.Fatalf("parse(encode(%s)) = %s, written as %q", rowtest.Show(dicts), rowtest.Show(back), text)
		}
		text = rowtest.Must(t, modules(), "csv.encode", lists, delimiter)
		if back := rowtest.Must(t, modules(), "csv.parse", text, delimiter, rowtest.Named("header", false)); !value.Equal(back, lists) {
			r.Fatalf("parse(encode(%s)) = %s, written as %q", rowtest.Show(lists), rowtest.Show(back), text)
		}
	})
}

// The reader is ours; where encoding/csv reads a text without the carriage
// returns that it changes, both read the same.
func FuzzCSVParse(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\"\"b\",c\n\n\"x\ny\"", "a\"b,c", "\"a\"b", "\"", ",\n,", "\ufeff\"\"", "a\r\nb\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		got, err := rowtest.Call(t, modules(), "csv.parse", text, rowtest.Named("header", false), rowtest.Named("fill", true))
		rowtest.Call(t, modules(), "csv.parse", text, rowtest.Named("types", true))
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = -1
		records, theirs := r.ReadAll()
		if theirs != nil || strings.ContainsAny(text, "\r\ufeff") {
			return
		}
		if err != nil {
			t.Fatalf("parse(%q) fails: %v, but encoding/csv reads %q", text, err, records)
		}
		width := 0
		for _, record := range records {
			width = max(width, len(record))
		}
		want := value.List{}
		for _, record := range records {
			want = append(want, row.List(append(record, make([]string, width-len(record))...)))
		}
		if rowtest.Show(got) != rowtest.Show(want) {
			t.Errorf("parse(%q) = %s, want %s", text, rowtest.Show(got), rowtest.Show(want))
		}
	})
}

// A row or a file that never ends a cell is read in one pass.
func TestCSVTakesLinearTime(t *testing.T) {
	for name, text := range map[string]string{
		"one wide row":   strings.Repeat("x,", 200_000) + "x",
		"one column":     strings.Repeat("x\n", 200_000),
		"doubled quotes": `"` + strings.Repeat(`""`, 1_000_000) + `"`,
	} {
		if got := rowtest.Must(t, modules(), "csv.parse", text, rowtest.Named("header", false)); len(got.(value.List)) == 0 {
			t.Errorf("%s: got no rows", name)
		}
	}
}

func BenchmarkCSVParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("id,name,price\n")
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d,item %d,%d.50\n", i, i, i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		rowtest.Must(b, modules(), "csv.parse", text.String(), rowtest.Named("types", true))
	}
}
