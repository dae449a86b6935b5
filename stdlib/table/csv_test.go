package table

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	scan "github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// csvOptions returns the default options of a call.
func csvOptions() *readOptions { return &readOptions{quote: `"`, decimal: "."} }

// csvBytes reads a table from bytes like data.parse.
func csvBytes(b []byte, o *readOptions) (*Table, error) {
	in := &input{name: "text", held: b, size: int64(len(b))}
	return readCSV(context.Background(), tool.Grant{}, in, o)
}

// csvStream reads it like a large file.
func csvStream(b []byte, o *readOptions) (*Table, error) {
	in := &input{name: "text", file: true, size: int64(len(b))}
	return readCSV(context.Background(), csvGrant(b), in, o)
}

// csvGrant serves one file.
func csvGrant(b []byte) tool.Grant {
	return tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		if name == "fs.stat" {
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(b)), "modified", "")}, nil
		}
		at := args.Int("offset")
		return tool.Outcome{Value: bytes.Clone(b[at : at+args.IntOr("length", int64(len(b)))])}, nil
	}}
}

// csvShow formats a table with its types: "a:integer b:text | 1 'x' | - ”".
func csvShow(t *Table, g tool.Grant) string {
	var out strings.Builder
	for i, name := range t.names {
		fmt.Fprintf(&out, "%s:%v ", name, t.types[i])
	}
	err := t.each(context.Background(), g, func(b *Batch) error {
		for row := range b.Rows {
			out.WriteString("|")
			for _, c := range b.Columns {
				switch {
				case c.missing(row):
					out.WriteString(" -")
				case c.Type == Text:
					out.WriteString(" '" + c.text(row) + "'")
				default:
					out.WriteString(" " + c.text(row))
				}
			}
			out.WriteString(" ")
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

func TestReadCSV(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	for _, test := range []struct {
		name, in string
		set      func(o *readOptions)
		want     string
		notes    string
	}{
		{name: "types", in: "i,f,b,d,t,z,s\n1,1.5,true,2024-02-29,2024-02-29 12:34,2024-02-29T12:34Z,x\n-2,2,False,2024/03/01,2024-02-29,2024-02-29T12:34+01:00,7\n",
			want: "i:integer f:float b:bool d:date t:datetime z:instant s:text | 1 1.5 true 2024-02-29 2024-02-29T12:34:00 2024-02-29T12:34:00Z 'x' | -2 2.0 false 2024-03-01 2024-02-29T00:00:00 2024-02-29T11:34:00Z '7'", notes: `column "s" is text: its values are numbers, except 1 of 2, the first "x" on line 2: to read it as missing, pass missing = ["x"]`},
		{name: "text after all", in: "a,b,c,d\n007,12345678901234567890,2024-01-01,2024-01-01T00:00\n8,1,1,2024-01-01T00:00Z\n",
			want: "a:text b:text c:text d:text | '007' '12345678901234567890' '2024-01-01' '2024-01-01T00:00' | '8' '1' '1' '2024-01-01T00:00Z'", notes: `column "a" is text: its values are numbers, except 1 of 2, the first "007" on line 2: zeros at the beginning are kept; column "b" is text: its values are numbers, except 1 of 2, the first "12345678901234567890" on line 2: to read numbers, pass types = {"b": "float"}; column "c" is text: its values are numbers and dates or times; column "d" is text: its values are dates or times and times with a zone`},
		{name: "missing", in: "a,b,c\n1,,NA\nNA,\"\",x\n ,\"y\", \n", want: "a:integer b:text c:text | 1 - 'NA' | - '' 'x' | - 'y' -"},
		{name: "missing in a number", in: "a,b\n1,\"\"\n2,5\nNaN,NULL\n", want: "a:integer b:integer | 1 - | 2 5 | - -"},
		{name: "all missing", in: "a,b,c\n,NA,\n,N/A,\n", want: "a:text b:text c:text | - - - | - - -"},
		{name: "nan", in: "a\nnan\n1\n+Inf\n", want: "a:float | NaN | 1.0 | +Inf"},
		{name: "missing said", in: "a,b\n-,x\n1,-\n\"-\",NA\n", set: func(o *readOptions) { o.missing = []string{"-"} }, want: "a:integer b:text | - 'x' | 1 - | - 'NA'"},
		{name: "missing said, none", in: "a\nNA\n1\n", set: func(o *readOptions) { o.missing = []string{} }, want: "a:text | 'NA' | '1'", notes: `column "a" is text: its values are numbers, except 1 of 2, the first "NA" on line 2: to read it as missing, pass missing = ["NA"]`},
		{name: "spaces", in: "a , b\n 1 , x \n2,y\n", want: "a:integer b:text | 1 ' x ' | 2 'y'"},
		{name: "quotes say text", in: "a,b\n\"1\",1\n2,2\n", want: "a:text b:integer | '1' 1 | '2' 2", notes: `column "a" is text, because some values are in quotes: if they are of type integer, pass types = {"a": "integer"}`},
		{name: "quotes that are needed say nothing", in: "a,b\n\"1,5\",1\n", set: func(o *readOptions) { o.decimal = "," }, want: "a:float b:integer | 1.5 1"},
		{name: "everything is quoted", in: "\"a\",\"b\"\n\"1\",\"x\"\n\"\",\"\"\n", want: "a:integer b:text | 1 'x' | - ''"},
		{name: "everything but one", in: "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",y\n", want: "a:text b:text | '1' 'x' | '2' 'y'", notes: `column "a" is text, because some values are in quotes: if they are of type integer, pass types = {"a": "integer"}`},
		{name: "quotes and line ends", in: "a,b\r\n\"x\r\ny\",\"5\"\" disk\"\r5\" disk,\"\"\"\"\n\n\n", want: "a:text b:text | 'x\r\ny' '5\" disk' | '5\" disk' '\"'"},
		{name: "no quotes", in: "a,b\n\"x,y\"\n", set: func(o *readOptions) { o.quote = "" }, want: "a:text b:text | '\"x' 'y\"'"},
		{name: "another quote", in: "a,b\n'x,''y',1", set: func(o *readOptions) { o.quote = "'" }, want: "a:text b:integer | 'x,'y' 1"},
		{name: "semicolons", in: "a;b\n1,5;x, y\n", want: "a:text b:text | '1,5' 'x, y'", notes: `delimiter ";" (detected); column "a" is text, but its first values are numbers: pass decimal = ","`},
		{name: "bars", in: "a|b\n1|2\n", want: "a:integer b:integer | 1 2", notes: `delimiter "|" (detected)`},
		{name: "bars in quotes", in: "x,\"a|b|c\"\n", set: func(o *readOptions) { o.header = &yes }, want: "x:text a|b|c:text"},
		{name: "a quote that says nothing of the delimiter", in: "name;note, remarks\nAnn;likes\nBob;dislikes\nCy;said,\"hi\"\n", want: "name:text note, remarks:text | 'Ann' 'likes' | 'Bob' 'dislikes' | 'Cy' 'said,\"hi\"'", notes: `delimiter ";" (detected)`},
		{name: "a wide delimiter", in: "a→b\n1→↓\n", set: func(o *readOptions) { o.delimiter = "→" }, want: "a:integer b:text | 1 '↓'"},
		{name: "one column", in: "a\n1\n\n2\n", want: "a:integer | 1 | 2"},
		{name: "one column, missing", in: "a\nx\n \n\"\"\n", want: "a:text | 'x' | - | ''"},
		{name: "lines of spaces", in: "a,b\n1,2\n  \n3,4\n   \n", want: "a:integer b:integer | 1 2 | 3 4"},
		{name: "no header", in: "1,2024-01-01\n2,2024-01-02\n", want: "column_1:integer column_2:date | 1 2024-01-01 | 2 2024-01-02", notes: "no header: the first row has only values; if they are names, pass header = True"},
		{name: "header said", in: "1,2\n3,4\n", set: func(o *readOptions) { o.header = &yes }, want: "1:integer 2:integer | 3 4"},
		{name: "header denied", in: "a,b\nc,d\n", set: func(o *readOptions) { o.header = &no }, want: "column_1:text column_2:text | 'a' 'b' | 'c' 'd'"},
		{name: "names", in: "a,,a,a_2,a,column_2\n1,2,3,4,5,6\n", want: "a:integer column_3:integer a_3:integer a_2:integer a_4:integer column_2:integer | 1 2 3 4 5 6",
			notes: `columns without a name: renamed to column_3; repeated names: "a" is a_3, "a" is a_4`},
		{name: "header only", in: "a,b", want: "a:text b:text"},
		{name: "fill", in: "a,b,c\n1\n1,2,3\n4,5\n", set: func(o *readOptions) { o.fill = true }, want: "a:integer b:integer c:integer | 1 - - | 1 2 3 | 4 5 -",
			notes: "2 rows were short, the first on line 2: filled with missing values"},
		{name: "skip", in: "report of\r\n\ra,b\n1,2\n", set: func(o *readOptions) { o.skip = 2 }, want: "a:integer b:integer | 1 2", notes: "2 lines skipped"},
		{name: "thousands", in: "a,b,c\n\"1,234\",1,\"12,34\"\n\"-1,234,567.5\",2,1\n", set: func(o *readOptions) { o.thousands = "," }, want: "a:float b:integer c:text | 1234.0 1 '12,34' | -1234567.5 2 '1'", notes: `column "c" is text: its values are numbers, except 1 of 2, the first "12,34" on line 2: to read it as missing, pass missing = ["12,34"]`},
		{name: "decimal", in: "a;b\n1.234,5;1.5\n2;x\n", set: func(o *readOptions) { o.thousands, o.decimal = ".", "," }, want: "a:float b:text | 1234.5 '1.5' | 2.0 'x'", notes: `delimiter ";" (detected)`},
		{name: "percent", in: "a\n12.5%\n5 %\n", set: func(o *readOptions) { o.percent = true }, want: "a:float | 0.125 | 0.05"},
		{name: "dates", in: "a,b\n29.02.2024,01/02/24 1:05 PM\n1.3.2024,12/31/70 12:00 am\n", set: func(o *readOptions) { o.dates = []string{"%d.%m.%Y", "%m/%d/%y %I:%M %p"} },
			want: "a:date b:datetime | 2024-02-29 2024-01-02T13:05:00 | 2024-03-01 1970-12-31T00:00:00"},
		{name: "dates with names and zones", in: "a,b\n\"Thu, 29 Feb 2024\",29/Feb/2024:12:00:00.25 +0100\n", set: func(o *readOptions) { o.dates = []string{"%a, %d %b %Y", "%d/%b/%Y:%T.%f %z"} },
			want: "a:date b:instant | 2024-02-29 2024-02-29T11:00:00.25Z"},
		{name: "no header, dates said", in: "29.02.2024;1\n01.03.2024;2\n", set: func(o *readOptions) { o.dates = []string{"%d.%m.%Y"} }, want: "column_1:date column_2:integer | 2024-02-29 1 | 2024-03-01 2",
			notes: `delimiter ";" (detected); no header: the first row has only values; if they are names, pass header = True`},
		{name: "dates that are not guessed", in: "a,b\n01/02/2024,03/04/2024\n13/02/2024,05/06/2024\n", set: func(o *readOptions) { o.dates = []string{"%d/%m/%Y", "%m/%d/%Y"} },
			want: "a:date b:text | 2024-02-01 '03/04/2024' | 2024-02-13 '05/06/2024'", notes: `column "b" is text: the dates match several formats: all of %d/%m/%Y, %m/%d/%Y`},
		{name: "types said", in: "a,b,c\n007,1,2024-01-01\n8,NA,2024-01-01 10:00\n", set: func(o *readOptions) { o.types = map[string]Type{"a": Text, "b": Float, "c": DateTime} },
			want: "a:text b:float c:datetime | '007' 1.0 2024-01-01T00:00:00 | '8' - 2024-01-01T10:00:00"},
		{name: "utf-8 with a mark", in: "\ufeffa,b\n1,ü\n", want: "a:integer b:text | 1 'ü'"},
		{name: "windows-1252", in: "a,b\n1,\x80\xfc\n", want: "a:integer b:text | 1 '€ü'", notes: `encoding windows-1252 (guessed): if it is another, pass it, as in encoding = "windows-1251"`},
		{name: "latin-1", in: "a,b\n1,\xfc\n", set: func(o *readOptions) { o.encoding = "ISO-8859-1" }, want: "a:integer b:text | 1 'ü'"},
		{name: "utf-16le", in: "\xff\xfea\x00\n\x00\xac\x20\n\x00", want: "a:text | '€'", notes: "encoding utf-16le (detected)"},
		{name: "utf-16be, no mark", in: "\x00a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n", want: "a:integer b:text | 1 'x'", notes: "encoding utf-16be (detected)"},
		{name: "utf-16 said", in: "\xfe\xff\x00a\x00\n\xd8\x3d\xde\x00\x00\n", set: func(o *readOptions) { o.encoding = "utf16" }, want: "a:text | '😀'"},
	} {
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			o := csvOptions()
			if test.set != nil {
				test.set(o)
			}
			got, err := read([]byte(test.in), o)
			if err != nil {
				t.Errorf("%s (%s): %v", test.name, kind, err)
				continue
			}
			if s := csvShow(got, csvGrant([]byte(test.in))); s != test.want {
				t.Errorf("%s (%s): read(%q)\n got %s\nwant %s", test.name, kind, test.in, s, test.want)
			}
			if notes := strings.Join(got.notes, "; "); notes != test.notes {
				t.Errorf("%s (%s): notes = %s, want %s", test.name, kind, notes, test.notes)
			}
		}
	}
}

func TestReadCSVErrors(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	for _, test := range []struct {
		in   string
		set  func(o *readOptions)
		want string
	}{
		{in: "", want: "text is empty"},
		{in: "\n\r\n", want: "text is empty"},
		{in: "a,b\n1,2\n\n3\n", want: "text, line 4: the row has 1 cell, but the header has 2"},
		{in: "a,b\n\"x\ny\",2\n3,4,5\n", want: "text, line 4: the row has 3 cells, but the header has 2"},
		{in: "1,2\n3\n", want: "line 2: the row has 1 cell, but the first row has 2"},
		{in: "a\n1,2\n", set: func(o *readOptions) { o.fill = true }, want: "line 2: the row has 2 cells"},
		{in: "a,b\n1,\"x\ny\n", want: "line 2: unclosed quote: the cell has no closing quote"},
		{in: "a,b\n\"1\n2\",\"x\n", want: "line 3: unclosed quote: the cell has no closing quote"},
		{in: "a,b\n1,\"x\ny\"z\n", want: "line 3, character"},
		{in: "a,b\n1,é\xff\n", set: func(o *readOptions) { o.encoding = "utf-8" }, want: "line 2: character 4 is not UTF-8 (byte 0xff)"},
		{in: "a,b\n1,2\nx\x00,1\n", want: "line 3: unexpected zero byte"},
		{in: "a,b\n1,2\n", set: func(o *readOptions) { o.encoding = "utf-9" }, want: `unknown encoding "utf-9"; did you mean "utf-8"`},
		{in: "a,b\n1,2\n3,x\n", set: func(o *readOptions) { o.types = map[string]Type{"b": Integer} }, want: `text, line 3, column "b" (2): "x" is not of type integer`},
		{in: "a,b\n1,2\n", set: func(o *readOptions) { o.types = map[string]Type{"bb": Integer} }, want: `no column "bb"; did you mean "b"`},
		{in: "a\n1\n", set: func(o *readOptions) { o.types = map[string]Type{"a": Any} }, want: "type any"},
		{in: "a\n1\n", set: func(o *readOptions) { o.delimiter = ",," }, want: "one character"},
		{in: "a\n1\n", set: func(o *readOptions) { o.quote = "," }, want: ""},
		{in: "a\n1\n", set: func(o *readOptions) { o.delimiter, o.quote = ",", "," }, want: "other than a line break or the delimiter"},
		{in: "a\n1\n", set: func(o *readOptions) { o.thousands = "." }, want: "both"},
		{in: "a\n1\n", set: func(o *readOptions) { o.dates = []string{"%d.%m.%Q"} }, want: "unknown directive %Q"},
		{in: "a\n1\n", set: func(o *readOptions) { o.dates = []string{"%H:%M"} }, want: "is not a complete date"},
		{in: "a\n1\n", set: func(o *readOptions) { o.skip = -1 }, want: "negative"},
		{in: "a\n" + strings.Repeat("x", scan.MaxCell+1) + "\n", want: "line 2: a cell is longer than 8 MB"},
		{in: "a\n\n\"" + strings.Repeat("x\n", scan.MaxCell/4), want: "line 3: unclosed quote: the cell has no closing quote"},
		{in: "a\n\n\"" + strings.Repeat("x\n", scan.MaxCell), want: "line 3: unclosed quote: the cell has no closing quote within 8 MB"},
		{in: strings.Repeat("x,", maxCells) + "x\n", want: "line 1: the row has more than 100000 cells"},
	} {
		o := csvOptions()
		if test.set != nil {
			test.set(o)
		}
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			one := *o
			_, err := read([]byte(test.in), &one)
			if test.want == "" && err == nil {
				continue
			}
			if err == nil || !strings.Contains(strings.Replace(err.Error(), ": character", ", character", 1), test.want) && !strings.Contains(err.Error(), test.want) {
				t.Errorf("read(%.40q) (%s) = %v, want %q", test.in, kind, err, test.want)
			}
		}
	}
}

// The rows are the same wherever a piece of the text or a part of the file ends.
func TestReadCSVAcrossParts(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("id,name,note\r\n")
	want := 0
	for ; text.Len() < 2*partSize+scan.PieceSize; want++ {
		fmt.Fprintf(&text, "%d,é%d,\"a \"\"b\"\",\r\n%s\"\r\n", want, want, strings.Repeat("→", want%7))
	}
	g := csvGrant([]byte(text.String()))
	got, err := csvStream([]byte(text.String()), csvOptions())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = got.each(context.Background(), g, func(b *Batch) error {
		for row := range b.Rows {
			note := "a \"b\",\r\n" + strings.Repeat("→", n%7)
			if b.Columns[0].Ints[row] != int64(n) || b.Columns[1].Texts[row] != fmt.Sprint("é", n) || b.Columns[2].Texts[row] != note {
				return fmt.Errorf("row %d is %v", n, got.record(b, row))
			}
			n++
		}
		return nil
	})
	if err != nil || n != want || got.rows != want {
		t.Errorf("read %d of %d rows: %v", n, want, err)
	}
}

// A text in UTF-16 is decoded piece by piece.
func TestReadCSVDecodesAcrossParts(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	var text strings.Builder
	text.WriteString("\ufeffid,name\n")
	want := 0
	for ; text.Len() < partSize; want++ {
		fmt.Fprintf(&text, "%d,%s😀\n", want, strings.Repeat("é", want%5))
	}
	units := utf16.Encode([]rune(text.String()))
	file := make([]byte, 0, 2*len(units))
	for _, u := range units {
		file = append(file, byte(u), byte(u>>8))
	}
	got, err := csvStream(file, csvOptions())
	if err != nil {
		t.Fatal(err)
	}
	all, err := got.gather(context.Background(), csvGrant(file))
	if err != nil || all.Rows != want {
		t.Fatalf("read %v rows of %d: %v", got.rows, want, err)
	}
	for i, s := range all.Columns[1].Texts {
		if s != strings.Repeat("é", i%5)+"😀" || all.Columns[0].Ints[i] != int64(i) {
			t.Fatalf("row %d is %q", i, s)
		}
	}
	_, err = csvStream(append(file, 0x3d, 0xd8, 'x', 0), csvOptions()) // half a character
	if err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("read = %v, want an error", err)
	}
}

// A very wide table, a very long cell and many lines take linear time.
func TestReadCSVTakesLinearTime(t *testing.T) {
	for name, c := range map[string]struct {
		text func(n int) string
		soak int
	}{
		"wide": {func(n int) string {
			return strings.Repeat("name,", n-1) + "name\n" + strings.Repeat(strings.Repeat("1,", n-1)+"1\n", 5)
		}, maxCells},
		"long": {func(n int) string {
			return "a,b\n\"" + strings.Repeat(`""`, n/2) + "\"," + strings.Repeat("x", n) + "\n"
		}, scan.MaxCell - 1},
		"blank":  {func(n int) string { return "a\n" + strings.Repeat("\n", n) + "1\n" }, 4 << 20},
		"commas": {func(n int) string { return strings.Repeat(",\n", n) }, 2 << 20},
	} {
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			testutil.Linear(t, name+" ("+kind+")", 2_000, c.soak, func(n int) {
				got, err := read([]byte(c.text(n)), csvOptions())
				if err != nil || got.rows == 0 {
					t.Errorf("%s (%s): %v", name, kind, err)
				}
			})
		}
	}
}

// FuzzReadCSV checks that the reader does not panic, that a held and a streamed table
// are equal, and that files accepted by encoding/csv have the same rows.
func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\"\"b\",c\n\n\"x\ny\",1", "a\"b,c", "\"a\"b", "\"", ",\n,", "\ufeff\"\",a", "a\r\nb\r", "a;b\n1;2\n3;4", "\xff\xfea\x00", "a\n\xfc\n", " \n \n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := csvBytes(text, csvOptions())
		streamed, streamErr := csvStream(text, csvOptions())
		if (err == nil) != (streamErr == nil) {
			t.Fatalf("read(%q): %v, streamed: %v", text, err, streamErr)
		}
		if err == nil {
			if a, b := csvShow(got, tool.Grant{}), csvShow(streamed, csvGrant(text)); a != b {
				t.Errorf("read(%q) = %s, streamed %s", text, a, b)
			}
		}
		if err != nil && strings.Contains(err.Error(), "changed") {
			t.Errorf("read(%q): the second pass differs: %v", text, err)
		}
		csvAgrees(t, text)
	})
}

// csvAgrees compares the scanner with encoding/csv.
func csvAgrees(t *testing.T, text []byte) {
	no := false
	o := csvOptions()
	o.delimiter, o.header, o.encoding, o.missing, o.fill = ",", &no, "utf-8", []string{}, false
	r := csv.NewReader(bytes.NewReader(text))
	want, theirs := r.ReadAll()
	if theirs != nil || len(want) == 0 || bytes.ContainsAny(text, "\r\x00\ufeff") || invalidAt(text) >= 0 {
		return
	}
	o.types = map[string]Type{}
	for i := range want[0] {
		o.types[fmt.Sprintf("column_%d", i+1)] = Text
	}
	got, err := csvBytes(text, o)
	if err != nil {
		t.Fatalf("read(%q) fails: %v, but encoding/csv reads %q", text, err, want)
	}
	n := 0
	for _, record := range want {
		if len(record) > 1 || len(record) == 1 { // with one column, a line of spaces is a row for both
			for i, cell := range record {
				if c := got.held.Columns[i]; n >= got.rows || c.text(n) != cell && !(c.missing(n) && blank(cell)) {
					t.Fatalf("read(%q): row %d is not %q", text, n, record)
				}
			}
			n++
		}
	}
	if n != got.rows {
		t.Errorf("read(%q) has %d rows, encoding/csv %d", text, got.rows, n)
	}
}

// csvTexts draws texts that could be read as other types.
func csvTexts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "NA", "N/A", "NaN", "nan", "null", "1", "-1.5", "1e5", "007", "true", "False", "2024-01-01", "2024-01-01 10:00", "2024-01-01T10:00Z",
			"+Inf", "\"", "\"\"", "5\" disk", "a,b", "a;b", "a\tb", "a|b", "\n", "\r", "\r\n", " x", "x ", " 1", "1 ", "é→😀", "\ufeff", "\ufeffx", "12345678901234567890", "-", ".", "'"}),
		rapid.StringOf(rapid.SampledFrom([]rune("a1 ,;|\t\"\r\n.-'\ufeffé→"))),
		rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }),
	)
}

// csvDraw draws a column. Without rows or without values it has texts.
func csvDraw(r *rapid.T, rows int) *Column {
	typ := Text
	if rows > 0 {
		typ = rapid.SampledFrom([]Type{Text, Text, Integer, Float, Bool, Date, DateTime, Instant}).Draw(r, "type")
	}
	c := newColumn(typ, rows)
	for row := range rows {
		if (typ == Text || row > 0) && rapid.IntRange(0, 3).Draw(r, "missing") == 0 {
			c.addMissing()
			continue
		}
		switch typ {
		case Text:
			c.addText(csvTexts().Draw(r, "text"))
		case Integer:
			c.addInt(rapid.Int64().Draw(r, "integer"))
		case Float:
			c.addFloat(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e300, 2})).Draw(r, "float"))
		case Bool:
			c.addInt(rapid.Int64Range(0, 1).Draw(r, "bool"))
		case Date:
			c.addInt(rapid.Int64Range(-719162, 2932896).Draw(r, "date"))
		default:
			c.addInt(rapid.Int64Range(firstMicro, lastMicro).Draw(r, "time"))
		}
	}
	return c
}

// TestCSVRoundTrip checks that the output of to_csv is read back as the same table.
func TestCSVRoundTrip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	name := csvTexts().Filter(func(s string) bool {
		return s != "" && s == headerName(s)
	})
	numeric := func(s string) bool { return (&csvFile{numbers: numbers{usual: true}}).isHeader([]string{s}, nil) }
	rapid.Check(t, func(r *rapid.T) {
		width, rows := rapid.IntRange(1, 4).Draw(r, "width"), rapid.IntRange(0, 6).Draw(r, "rows")
		names := rapid.SliceOfNDistinct(name, width, width, rapid.ID[string]).Draw(r, "names")
		b := &Batch{Rows: rows}
		for range width {
			b.Columns = append(b.Columns, csvDraw(r, rows))
		}
		want := newHeld(names, b)
		o := csvOptions()
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|", "→", "~"}).Draw(r, "delimiter")
		if delimiter != "," || rapid.Bool().Draw(r, "said") {
			o.delimiter = delimiter
		}
		if !slices.ContainsFunc(names, numeric) {
			yes := true
			o.header = &yes
		}
		text, err := writeCSV(ctx, tool.Grant{}, want, delimiter, true)
		if err != nil {
			r.Fatal(err)
		}
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			one := *o
			got, err := read([]byte(text.(string)), &one)
			if err != nil {
				r.Fatalf("%s: parse(%q): %v", kind, text, err)
			}
			if same, err := got.Equal(ctx, csvGrant([]byte(text.(string))), want); !same || err != nil {
				r.Fatalf("%s: parse(%q) = %s, want %s (%v)", kind, text, csvShow(got, csvGrant([]byte(text.(string)))), csvShow(want, tool.Grant{}), err)
			}
		}
	})
}

func TestWriteCSV(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	got, err := csvBytes([]byte("a,b\n1,\"x;y\"\n,\"2\"\n"), csvOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		delimiter string
		header    bool
		want      string
	}{
		{",", true, "a,b\n1,\"x;y\"\n,\"2\"\n"},
		{";", false, "1;\"x;y\"\n;\"2\"\n"},
		{"1", true, "error"}, {"", true, "error"}, {"\n", true, "error"}, {" ", true, "error"}, {"\"", true, "error"},
	} {
		text, err := writeCSV(ctx, tool.Grant{}, got, test.delimiter, test.header)
		if err != nil {
			text = "error"
		}
		if text != test.want {
			t.Errorf("to_csv(%q, %v) = %q, want %q", test.delimiter, test.header, text, test.want)
		}
	}
	long := &Column{Type: Text, Texts: []string{strings.Repeat("x", maxWritten)}}
	_, err = writeCSV(ctx, tool.Grant{}, newHeld([]string{"a"}, &Batch{Rows: 1, Columns: []*Column{long}}), ",", true)
	if value.KindOf(err) != value.Limit || err == nil {
		t.Errorf("to_csv of %d bytes = %v, want a limit", maxWritten, err)
	}
}

// TestCSVKindAgreesWithParse checks isFloat and kindOf against the parsers of numbers.
func TestCSVKindAgreesWithParse(t *testing.T) {
	t.Parallel()
	n := numbers{usual: true}
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.StringMatching(`-?[0-9]{0,21}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,3})?[0x]?`).Draw(r, "s")
		_, integer := parseInteger(s)
		_, number := n.float(s)
		large := number && !integer && s != "-0" && !strings.ContainsAny(s, ".eENI")
		if got, want := n.isFloat(s), number && !integer && !large; got != want {
			r.Errorf("isFloat(%q) = %v, want %v", s, got, want)
		}
	})
}
