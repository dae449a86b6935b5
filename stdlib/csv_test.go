package stdlib

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestCSVParse(t *testing.T) {
	header, types, fill := pureNamed{"header", false}, pureNamed{"types", true}, pureNamed{"fill", true}
	pureTable(t, true, []pureCase{
		{fn: "csv.parse", args: []any{"a,b\n1,x\n2,y\n"},
			want: value.List{value.NewDict("a", "1", "b", "x"), value.NewDict("a", "2", "b", "y")}},
		{fn: "csv.parse", args: []any{"\ufeffa;b\r\n1;\"x;\"\"y\"\"\r\nz\"\r\n\r\n", ";"},
			want: value.List{value.NewDict("a", "1", "b", "x;\"y\"\r\nz")}},
		{fn: "csv.parse", args: []any{"a\tb\n5\" disk\t\n", "\t"}, want: value.List{value.NewDict("a", `5" disk`, "b", "")}},
		{fn: "csv.parse", args: []any{"a→b\n1→2", "→"}, want: value.List{value.NewDict("a", "1", "b", "2")}},
		{fn: "csv.parse", args: []any{""}, want: value.List{}},
		{fn: "csv.parse", args: []any{"a,b\n"}, want: value.List{}},
		{fn: "csv.parse", args: []any{"a,b\n\n\n1,2\r"}, want: value.List{value.NewDict("a", "1", "b", "2")}},
		{fn: "csv.parse", args: []any{"1,2\n3,4", header}, want: value.List{value.List{"1", "2"}, value.List{"3", "4"}}},
		{fn: "csv.parse", args: []any{`""`, header}, want: value.List{value.List{""}}},
		{fn: "csv.parse", args: []any{",", header}, want: value.List{value.List{"", ""}}},
		{fn: "csv.parse", args: []any{"5,-1.5,1e3,007,,true,False,1 ,+1,12345678901234567890,nan,0x1F,1_0,.5", header, types},
			want: value.List{value.List{int64(5), -1.5, 1000.0, "007", nil, true, false, "1 ", "+1", pureBig("12345678901234567890"),
				"nan", "0x1F", "1_0", ".5"}}},

		{fn: "csv.parse", args: []any{"a,b\n1,2\n3\n"}, err: "row 2 (line 3) has 1 cells where the header has 2"},
		{fn: "csv.parse", args: []any{"a,b\n\"1\n\n\",2\n3,4,5\n"}, err: "row 2 (line 5) has 3 cells"},
		{fn: "csv.parse", args: []any{"1,2\n3\n", header}, err: "row 2 (line 2) has 1 cells where the first row has 2"},
		{fn: "csv.parse", args: []any{"a,b\n1,2\n3\n", fill, types},
			want: value.List{value.NewDict("a", int64(1), "b", int64(2)), value.NewDict("a", int64(3), "b", nil)}},
		{fn: "csv.parse", args: []any{"1\n2,3\n4", header, fill}, want: value.List{value.List{"1", ""}, value.List{"2", "3"}, value.List{"4", ""}}},
		{fn: "csv.parse", args: []any{"a\n1,2\n", fill}, err: "row 1 (line 2) has 2 cells"},
		{fn: "csv.parse", args: []any{"a,b,a\n"}, err: `columns 1 and 3 are both named "a"`},
		{fn: "csv.parse", args: []any{"a,,b\n"}, err: "column 2 has no name"},
		{fn: "csv.parse", args: []any{"a\n\"x\ny"}, err: "line 2 is never closed"},
		{fn: "csv.parse", args: []any{"a\n\"x\n\"y\n"}, err: "closing quote of a cell in line 3"},
		{fn: "csv.parse", args: []any{"a", ",,"}, err: "one character"},
		{fn: "csv.parse", args: []any{"a", `"`}, err: "one character"},
		{fn: "csv.parse", args: []any{"a", "\n"}, err: "one character"},
		{fn: "csv.parse", args: []any{"a", ""}, err: "one character"},
	})
}

func TestCSVEncode(t *testing.T) {
	columns := func(names ...value.Value) pureNamed { return pureNamed{"columns", value.List(names)} }
	pureTable(t, false, []pureCase{
		{fn: "csv.encode", args: []any{value.List{value.NewDict("a", int64(1), "b", "x,y"), value.NewDict("b", nil, "c", true)}},
			want: "a,b,c\n1,\"x,y\",\n,,true\n"},
		{fn: "csv.encode", args: []any{value.List{value.List{int64(3), 1.5, "q\"", "l\n"}, value.Tuple{"", "x"}}}, want: "3,1.5,\"q\"\"\",\"l\n\"\n,x\n"},
		{fn: "csv.encode", args: []any{value.List{value.List{""}}}, want: "\"\"\n"},
		{fn: "csv.encode", args: []any{value.List{value.NewDict("a", "1", "b", "2")}, "\t", false, value.List{"b", "z", "a"}}, want: "2\t\t1\n"},
		{fn: "csv.encode", args: []any{value.List{value.List{"1", "2"}}, columns("x", "y")}, want: "x,y\n1,2\n"},
		{fn: "csv.encode", args: []any{value.List{}, columns("x", "y")}, want: "x,y\n"},
		{fn: "csv.encode", args: []any{value.List{}}, want: ""},

		{fn: "csv.encode", args: []any{value.List{value.List{"1"}}, columns("x", "y")}, err: "row 1 has 1 cells for 2 columns"},
		{fn: "csv.encode", args: []any{value.List{}, columns("x", "x")}, err: `both named "x"`},
		{fn: "csv.encode", args: []any{value.List{value.NewDict("a", "1"), value.List{"1"}}}, err: "row 2 is a list among"},
		{fn: "csv.encode", args: []any{value.List{value.List{"1"}, value.List{value.List{}}}}, err: "row 2, column 1: no cell can hold a value of type array"},
		{fn: "csv.encode", args: []any{value.List{value.List{[]byte("x")}}}, err: "type bytes"},
		{fn: "csv.encode", args: []any{value.List{"x"}}, err: "row 1 should be a dict or a list but is string"},
		{fn: "csv.encode", args: []any{value.List{value.List{}}}, err: "row 1 has no cells"},
		{fn: "csv.encode", args: []any{value.List{value.NewDict("", "1")}}, err: "no column name"},
		{fn: "csv.encode", args: []any{"x"}, err: "should be array"},
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
		text := pureMust(t, "csv.encode", dicts, delimiter)
		if back := pureMust(t, "csv.parse", text, delimiter); !value.Equal(back, dicts) {
			r.Fatalf("parse(encode(%s)) = %s, written as %q", pureShow(dicts), pureShow(back), text)
		}
		text = pureMust(t, "csv.encode", lists, delimiter)
		if back := pureMust(t, "csv.parse", text, delimiter, pureNamed{"header", false}); !value.Equal(back, lists) {
			r.Fatalf("parse(encode(%s)) = %s, written as %q", pureShow(lists), pureShow(back), text)
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
		got, err := pureCall(t, "csv.parse", text, pureNamed{"header", false}, pureNamed{"fill", true})
		pureCall(t, "csv.parse", text, pureNamed{"types", true})
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
			want = append(want, pureList(append(record, make([]string, width-len(record))...)))
		}
		if pureShow(got) != pureShow(want) {
			t.Errorf("parse(%q) = %s, want %s", text, pureShow(got), pureShow(want))
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
		if got := pureMust(t, "csv.parse", text, pureNamed{"header", false}); len(got.(value.List)) == 0 {
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
		pureMust(b, "csv.parse", text.String(), pureNamed{"types", true})
	}
}
