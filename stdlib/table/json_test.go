package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// parseAs reads a table from bytes in memory.
func parseAs(format, text string, o readOptions) (*Table, error) {
	o.format = format
	in := &input{name: "text", held: []byte(text), size: int64(len(text))}
	return read(context.Background(), tool.Grant{}, in, &o)
}

// show formats names, types and values, one row per line.
func show(t *testing.T, tab *Table) string {
	t.Helper()
	var b strings.Builder
	for i, name := range tab.names {
		fmt.Fprintf(&b, "%s:%s ", name, tab.types[i])
	}
	b.WriteByte('\n')
	v, err := tab.Plain(context.Background(), tool.Grant{})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := value.Elements(v)
	for _, row := range rows {
		cells := []string{}
		for _, v := range row.(*value.Dict).All() {
			cells = append(cells, value.FormatJSON(v, ""))
		}
		b.WriteString(strings.Join(cells, " ") + "\n")
	}
	for _, n := range tab.notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

func yes(b bool) *bool { return &b }

func TestReadJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, format, in string
		o                readOptions
		want             string
	}{
		{name: "records", in: `[{"a":1,"b":"x"},{"b":"y","c":null},{"a":3,"c":true}]`, want: "a:integer b:text c:bool \n1 \"x\" null\nnull \"y\" null\n3 null true\n"},
		{name: "types", in: `[{"i":1,"f":1,"g":2.0,"d":"2024-02-29","t":"2024-02-29T12:00:01.5","z":"2024-02-29T12:00+01:00","n":"12","l":[1,2],"m":1},
			{"i":2,"f":1.5,"g":3.0,"d":null,"t":"2024-03-01 00:00","z":"2024-02-29T12:00:00Z","n":"13","l":{"x":1},"m":"a"}]`,
			want: "i:integer f:float g:float d:date t:datetime z:instant n:text l:any m:any \n" +
				`1 1.0 2.0 "2024-02-29" "2024-02-29T12:00:01.5" "2024-02-29T11:00:00Z" "12" [1,2] 1` + "\n" +
				`2 1.5 3.0 null "2024-03-01T00:00:00" "2024-02-29T12:00:00Z" "13" {"x":1} "a"` + "\nnote: column \"m\" has the type any: its values are numbers and texts; SQL compares them as texts\n" +
				"note: column \"n\": its texts are numbers, as \"12\": to read them as numbers, pass types = {\"n\": \"float\"}\n"},
		{name: "numbers in texts", in: `[{"a":"1.203,50","b":"7"},{"a":"2","b":"8"}]`, o: readOptions{decimal: ",", thousands: ".", types: map[string]Type{"a": Float, "b": Integer}}, want: "a:float b:integer \n1203.5 7\n2.0 8\n"},
		{name: "numbers in texts of columns", in: `{"a":["1.203,50","2"],"b":[1,2]}`,
			want: "a:text b:integer \n\"1.203,50\" 1\n\"2\" 2\nnote: column \"a\": its texts are numbers, as \"1.203,50\": to read them as numbers, pass decimal = \",\", thousands = \".\", types = {\"a\": \"float\"}\n"},
		{name: "large integers", in: `[{"a":99999999999999999999,"b":9007199254740993},{"a":1,"b":0.5}]`,
			want: "a:any b:any \n99999999999999999999 9007199254740993\n1 0.5\nnote: column \"a\" has the type any: its values are numbers and lists, objects or large integers; SQL compares them as texts\nnote: column \"b\" has the type any: its values are numbers; SQL compares them as texts\n"},
		{name: "a number and its float stay apart", in: `[{"a":1},{"a":1.0},{"a":"x"}]`, want: "a:any \n1\n1.0\n\"x\"\nnote: column \"a\" has the type any: its values are numbers and texts; SQL compares them as texts\n"},
		{name: "dates and other texts", in: `[["d"],["2024-02-29"],["soon"]]`, want: "d:text \n\"2024-02-29\"\n\"soon\"\n"},
		{name: "dates and datetimes", in: `[["d"],["2024-02-29"],["2024-02-29T10:00"]]`, want: "d:text \n\"2024-02-29\"\n\"2024-02-29T10:00\"\n"},
		{name: "the empty text is no date and not missing", in: `[["d"],["2024-02-29"],[""],[null]]`, want: "d:text \n\"2024-02-29\"\n\"\"\nnull\n"},
		{name: "lists with a header", in: ` [["a","b"],[1,2],[3,null]] `, want: "a:integer b:integer \n1 2\n3 null\n"},
		{name: "lists without a header", in: `[[1,"x"],[2,"y"]]`, want: "column_1:integer column_2:text \n1 \"x\"\n2 \"y\"\n"},
		{name: "header refused", in: `[["a","b"],["c","d"]]`, o: readOptions{header: yes(false)}, want: "column_1:text column_2:text \n\"a\" \"b\"\n\"c\" \"d\"\n"},
		{name: "names twice and none", in: `[["a","","a","a_2"],[1,2,3,4]]`,
			want: "a:integer column_2:integer a_3:integer a_2:integer \n1 2 3 4\nnote: columns without a name: renamed to column_2\nnote: repeated names: \"a\" is a_3\n"},
		{name: "filled", in: `[["a","b"],[1],[2,3]]`, o: readOptions{fill: true}, want: "a:integer b:integer \n1 null\n2 3\n"},
		{name: "columns", in: `{"a":[1,2],"b":["x",null]}`, want: "a:integer b:text \n1 \"x\"\n2 null\n"},
		{name: "one column", in: `{"a":[1,2]}`, want: "a:integer \n1\n2\n"},
		{name: "two columns of objects", in: `{"a":[{}],"b":[{}]}`, want: "a:any b:any \n{} {}\n"},
		{name: "within", in: `{"next":null,"data":[{"a":1},{"a":2}],"tags":[1]}`, want: "a:integer \n1\n2\nnote: the records are in \"data\"; skipped: next, tags\n"},
		{name: "within, alone", in: `{"data":[{"a":1}]}`, want: "a:integer \n1\nnote: the records are in \"data\"\n"},
		{name: "values", in: `[1,2.5,null]`, want: "value:float \n1.0\n2.5\nnull\n"},
		{name: "none", in: `[]`, want: "\n"},
		{name: "missing texts", in: `[{"a":"-"},{"a":1},{"a":"NA"}]`, o: readOptions{missing: []string{"-", "NA"}}, want: "a:integer \nnull\n1\nnull\n"},
		{name: "all missing", in: `[{"a":null}]`, want: "a:text \nnull\n"},
		{name: "forced", in: `[{"zip":1234,"n":"12","f":"1.5","d":"2024-02-29","b":"true"}]`,
			o:    readOptions{types: map[string]Type{"zip": Text, "n": Integer, "f": Float, "d": DateTime, "b": Bool}},
			want: "zip:text n:integer f:float d:datetime b:bool \n\"1234\" 12 1.5 \"2024-02-29T00:00:00\" true\n"},
		{name: "byte order mark", in: "\ufeff[{\"a\":1}]", want: "a:integer \n1\n"},
		{name: "UTF-16", in: wide("\ufeff[{\"a\":\"é😀\"}]", binary.LittleEndian), want: "a:text \n\"é😀\"\n"},
		{name: "UTF-16 the other way", in: wide("\ufeff[{\"a\":\"é😀\"}]", binary.BigEndian), want: "a:text \n\"é😀\"\n"},
		{name: "escapes", in: `[{"a":"\"[{\\"},{"a":"}\\\\\""}]`, want: "a:text \n" + `"\"[{\\"` + "\n" + `"}\\\\\""` + "\n"},
		{name: "lines", format: "jsonl", in: "{\"a\":1}\r\n\n  \n{\"a\":2,\"b\":\"x\"}", want: "a:integer b:text \n1 null\n2 \"x\"\n"},
		{name: "lines of lists", format: "jsonl", in: "[\"a\",\"b\"]\n[1,2]\n", want: "a:integer b:integer \n1 2\n"},
		{name: "lines passed over", format: "jsonl", in: "# made by x\n{\"a\":1}\n", o: readOptions{skip: 1}, want: "a:integer \n1\n"},
		{name: "no lines", format: "jsonl", in: "", want: "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			format := test.format
			if format == "" {
				format = "json"
			}
			tab, err := parseAs(format, test.in, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, show(t, tab)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func wide(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestReadJSONKeepsLargeIntegers(t *testing.T) {
	t.Parallel()
	tab, err := parseAs("json", `[{"a":99999999999999999999}]`, readOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := new(big.Int).SetString("99999999999999999999", 10)
	if got, ok := tab.held.Columns[0].Values[0].(*big.Int); !ok || got.Cmp(want) != 0 {
		t.Errorf("the value is %v, want %v", tab.held.Columns[0].Values[0], want)
	}
}

func TestReadJSONErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, format, in string
		o                readOptions
		want             string
	}{
		{name: "empty", in: "", want: "text: invalid JSON at line 1, column 1: expected a value but got the end of the text"},
		{name: "a text", in: `"x"`, want: "text: expected a table in JSON but got string"},
		{name: "one object", in: `{"a":1,"b":2}`, want: "text: the object is not a table"},
		{name: "empty object", in: `{}`, want: "text: the object is not a table"},
		{name: "uneven", in: `{"a":[1],"b":[1,2]}`, want: `text: the object is not a table: "a" is a list of 1, and "b" a list of 2`},
		{name: "two lists of objects", in: `{"a":[{}],"b":[{},{}]}`, want: `text: the object is not a table`},
		{name: "mixture", in: "[{\"a\":1},\n[1]]", want: "text, record 2 (line 2) is a list, but each previous record is an object"},
		{name: "ragged", in: "[[\"a\",\"b\"],\n[1]]", want: "text, record 2 (line 2): expected 2 values but got 1"},
		{name: "too long", in: "[[\"a\"],[1,2]]", o: readOptions{fill: true}, want: "text, record 2 (line 1): expected 1 value but got 2"},
		{name: "no header", in: `[[1]]`, o: readOptions{header: yes(true)}, want: "text, record 1 (line 1) is not a header: expected a list of one or more strings"},
		{name: "syntax", in: "[{\"a\":1},\n {\"a\" 2}]", want: `text: invalid JSON at line 2, column 7: expected a colon but got '2'`},
		{name: "comma", in: "[{\"a\":1}\n {\"a\":2}]", want: `text: invalid JSON at line 2, column 2: expected a comma or ] but got '{'`},
		{name: "trailing comma", in: "[1,]", want: `text: invalid JSON at line 1, column 4: expected a value but got ']'`},
		{name: "cut off", in: "[{\"a\":1},{\"a\"", want: "text: invalid JSON at line 1, column 14: expected a colon but got the end of the text"},
		{name: "cut off after a record", in: "[{\"a\":1}", want: "text: invalid JSON at line 1, column 9: expected a comma or ] but got the end of the text"},
		{name: "lines in a JSON file", in: "[1]\n[2]", want: `text: invalid JSON at line 2, column 1: expected the end of the JSON but got '['`},
		{name: "lines of objects in a JSON file", in: "{\"a\":[1]}\n{\"a\":[2]}", want: `text: invalid JSON at line 2, column 1: expected the end of the JSON but got '{'`},
		{name: "twice", in: "[{\"a\":1},\n\n{\"b\":1,\"b\":2}]", want: `text: invalid JSON at line 3, column 8: the name "b" is given twice`},
		{name: "twice outside", in: "{\"b\":[1],\n\"b\":[2]}", want: `text: invalid JSON at line 2, column 1: the name "b" is given twice`},
		{name: "deep", in: strings.Repeat("[", 100), want: "text: invalid JSON at line 1, column 66: the JSON is nested more than 64 levels deep"},
		{name: "control character", in: "[\"a\x01\"]", want: `text: invalid JSON at line 1, column 4: control character in a string (write \n or \u0001)`},
		{name: "not UTF-8", in: "[\"a\xff\"]", want: "text: invalid JSON at line 1, column 2: the string is not UTF-8"},
		{name: "half a pair", in: wide("\ufeff[\"", binary.LittleEndian) + "\x00\xd8\"\x00]\x00", want: "text, line 1: character 3 is not UTF-16"},
		{name: "half a character", in: wide("\ufeff[1]", binary.LittleEndian) + "x", want: "text, line 1: character 4 is not UTF-16"},
		{name: "another encoding", in: "[1]", o: readOptions{encoding: "latin-1"}, want: "text: argument 'encoding' does not fit the JSON text: expected utf-8 but got latin-1"},
		{name: "type", in: "[{\"a\":1},\n{\"a\":\"x\"}]", o: readOptions{types: map[string]Type{"a": Integer}}, want: `text, record 2 (line 2), column "a": "x" is not of type integer`},
		{name: "type of a fraction", in: "[1.5]", o: readOptions{types: map[string]Type{"value": Integer}}, want: `text, record 1 (line 1), column "value": 1.5 is not of type integer`},
		{name: "type of a column", in: `{"a":[1,true]}`, o: readOptions{types: map[string]Type{"a": Date}}, want: `text, record 1 (line 1), column "a": 1 is not of type date`},
		{name: "type of no column", in: `[{"abc":1}]`, o: readOptions{types: map[string]Type{"abd": Date}}, want: `no column "abd"; did you mean "abc"?`},
		{name: "skip", in: "[1]", o: readOptions{skip: 1}, want: "text: argument 'skip' is not supported for JSON"},
		{name: "last line", format: "jsonl", in: "{\"a\":1}\n{\"a\":", want: "text: invalid JSON at line 2, column 6: expected a value but got the end of the text"},
		{name: "a value", format: "jsonl", in: "1\n", want: "text, line 1 should be an object or a list but got integer"},
		{name: "a value later", format: "jsonl", in: "{}\n\n1\n", want: "text, line 3 is a plain value, but each previous record is an object"},
		{name: "over two lines", format: "jsonl", in: "{\"a\":\n1}\n", want: "text: invalid JSON at line 1, column 6: expected a value but got the end of the text"},
		{name: "a cell in an error", in: `["` + strings.Repeat("é", 100) + `"]`, o: readOptions{types: map[string]Type{"value": Integer}},
			want: `text, record 1 (line 1), column "value": "` + strings.Repeat("é", 59) + `…" is not of type integer`},
	} {
		t.Run(test.name, func(t *testing.T) {
			format := test.format
			if format == "" {
				format = "json"
			}
			_, err := parseAs(format, test.in, test.o)
			if err == nil {
				t.Fatal("no error")
			}
			if got := value.ErrorOf(err, value.Internal).Message(); got != test.want {
				t.Errorf("the error is\n%s, want\n%s", got, test.want)
			}
		})
	}
}

func TestJSONBounds(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	var wideRecords strings.Builder
	wideRecords.WriteByte('[')
	for i := range 30 {
		if i > 0 {
			wideRecords.WriteByte(',')
		}
		wideRecords.WriteByte('{')
		for k := range 5000 {
			if k > 0 {
				wideRecords.WriteByte(',')
			}
			fmt.Fprintf(&wideRecords, `"k%d_%d":1`, i, k)
		}
		wideRecords.WriteByte('}')
	}
	wideRecords.WriteByte(']')
	for name, test := range map[string]struct {
		format, in string
		limit      value.LimitName
	}{
		"keys of their own":  {"json", wideRecords.String(), "memory"},
		"nested":             {"json", `[{"a":` + strings.Repeat(`[`, 100000), "depth"},
		"parts of a record":  {"jsonl", `{"a":[` + strings.Repeat("1,", 200_000) + "1]}", "nodes"},
		"digits of a number": {"json", "[" + strings.Repeat("9", 10_000) + "]", "digits"},
	} {
		_, err := parseAs(test.format, test.in, readOptions{})
		if e := value.ErrorOf(err, value.Internal); err == nil || e.Kind != value.Limit || e.Limit != test.limit {
			t.Errorf("%s: the error is %v, want a limit of %s", name, err, test.limit)
		}
	}
	// More than the memory of the process.
	in := &input{name: "text", held: []byte("[" + strings.Repeat("1,", 100_000) + "1]")}
	in.size = int64(len(in.held))
	_, err := readJSON(context.Background(), tool.Grant{Memory: 1 << 20}, in, &readOptions{})
	if e := value.ErrorOf(err, value.Internal); err == nil || e.Limit != value.LimitMemory {
		t.Errorf("the error is %v, want a limit of memory", err)
	}
}

func TestJSONIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := &input{name: "text", held: []byte("[" + strings.Repeat("1,", 10_000) + "1]")}
	in.size = int64(len(in.held))
	if _, err := readJSON(ctx, tool.Grant{}, in, &readOptions{}); err != context.Canceled {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
}

// chunks splits a text into pieces of n bytes.
func chunks(s string, n int) func() ([]byte, error) {
	return func() ([]byte, error) {
		if s == "" {
			return nil, io.EOF
		}
		k := min(n, len(s))
		part := []byte(s[:k])
		s = s[k:]
		return part, nil
	}
}

// The results do not depend on the ends of the parts.
func TestJSONScannerChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{
			`[{"a":1,"b":"é\"😀\\"}, {"a":[1,{"x":"]"}]} ,-1.5e3,true,"x" ]`, `[]`, `[1`, `[{"a":"`, `["\u00e9\\",null]x`, "\ufeff[1,\n 2]",
		}).Draw(t, "text")
		encoded := text
		if rapid.Bool().Draw(t, "wide") && !strings.HasPrefix(text, "\ufeff") {
			encoded = wide("\ufeff"+text, binary.BigEndian)
		}
		collect := func(n int) (out string) {
			s, err := newJSONScanner("x", "", chunks(encoded, n))
			if err != nil {
				return err.Error()
			}
			err = s.list(func() error {
				raw, err := s.element()
				if err != nil {
					return err
				}
				v, err := s.parse(raw)
				out += value.FormatJSON(v, "") + "\n"
				if err == nil {
					s.step(len(raw))
				}
				return err
			})
			return fmt.Sprint(out, err, s.line, s.col)
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		if want, got := collect(1<<20), collect(n); got != want {
			t.Errorf("in parts of %d bytes: %q, want %q", n, got, want)
		}
	})
}

// fileGrant serves one file like the gate.
func fileGrant(content []byte) tool.Grant {
	return tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		switch name {
		case "fs.stat":
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(content)), "modified", "then")}, nil
		case "fs.read_bytes":
			at := args.Int("offset")
			n := min(args.IntOr("length", int64(len(content))), int64(len(content))-at)
			return tool.Outcome{Value: content[at : at+n]}, nil
		}
		return tool.Outcome{}, value.Errorf(value.Denied, "unexpected effect %s", name)
	}}
}

func TestJSONHeldAndStreamed(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	var list, lines bytes.Buffer
	list.WriteString("{\"meta\": 1, \"data\": [")
	pad := strings.Repeat("x", 700)
	for i := range 12_000 {
		record := fmt.Sprintf(`{"id":%d,"pad":"%s","f":%g,"day":"2024-02-%02d"}`, i, pad, float64(i)/4, i%29+1)
		if i%1000 == 0 {
			record = fmt.Sprintf(`{"id":%d,"late_%d":[%d]}`, i, i/6000, i)
		}
		if i > 0 {
			list.WriteString(",\n")
		}
		list.WriteString(record)
		lines.WriteString(record + "\n")
	}
	list.WriteString("]}")
	for format, content := range map[string][]byte{"json": list.Bytes(), "jsonl": lines.Bytes()} {
		t.Run(format, func(t *testing.T) {
			if len(content) <= maxHeld {
				t.Fatalf("the file has %d bytes, want more than %d", len(content), maxHeld)
			}
			ctx, g := context.Background(), fileGrant(content)
			in, err := openFile(context.Background(), g, "big."+format)
			if err != nil {
				t.Fatal(err)
			}
			streamed, err := read(ctx, g, in, &readOptions{})
			if err != nil {
				t.Fatal(err)
			}
			held, err := parseAs(format, string(content), readOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if streamed.held != nil || held.held == nil {
				t.Error("the file is held, or the text is not")
			}
			if diff := cmp.Diff(held.types, streamed.types); diff != "" {
				t.Errorf("types (-held +streamed)\n%s", diff)
			}
			same, err := streamed.Equal(ctx, g, held)
			if err != nil || !same {
				t.Errorf("streamed and held differ (%v)", err)
			}
			changed := fileGrant(content[:len(content)-1])
			if _, err := streamed.gather(ctx, changed); err == nil || !strings.Contains(err.Error(), "the file was changed by another process") {
				t.Errorf("of a changed file, the error is %v", err)
			}
		})
	}
}

// TestJSONAfterTheGuess checks tables whose first records suggest other types.
func TestJSONAfterTheGuess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ last, want string }{
		"as guessed":   {`{"a":1,"b":"2024-02-29"}`, "[integer date]"},
		"a float":      {`{"a":1.5,"b":null}`, "[float date]"},
		"a text":       {`{"a":null,"b":"later"}`, "[integer text]"},
		"a number":     {`{"b":1}`, "[integer any]"},
		"a new column": {`{"c":true}`, "[integer date bool]"},
	} {
		text := "[" + strings.Repeat(`{"a":1,"b":"2024-02-28"},`, 5000) + test.last + "]"
		tab, err := parseAs("json", text, readOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last, err := tab.row(context.Background(), tool.Grant{}, -1)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := value.ParseJSON([]byte(test.last))
		for k, v := range want.(*value.Dict).All() {
			if got, _ := last.(*value.Dict).Get(k.(string)); !value.Equal(got, v) {
				t.Errorf("%s: %v is %v, want %v", name, k, got, v)
			}
		}
		if got := fmt.Sprint(tab.types); got != test.want || tab.rows != 5001 || tab.held.Columns[0].Len() != 5001 {
			t.Errorf("%s: types %s, want %s; %d rows", name, got, test.want, tab.rows)
		}
	}
}

// jsonTable draws tables that are read back unchanged: without texts that a reader would
// read as dates, and with at least one value in each column.
func jsonTable() *rapid.Generator[*Table] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "12", "1.5", "true", "null", "é\"\\\n\u2028", "NA"})).Filter(func(s string) bool { return kindOfText(s) == hasText })
	return rapid.Custom(func(t *rapid.T) *Table {
		rows := rapid.IntRange(1, 6).Draw(t, "rows")
		names := rapid.SliceOfNDistinct(rapid.String(), 1, 5, rapid.ID[string]).Draw(t, "names")
		b := &Batch{Rows: rows}
		for range names {
			c := newColumn(Type(rapid.IntRange(0, int(Any)).Draw(t, "type")), rows)
			for i := range rows {
				if i > 0 && rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
					c.addMissing()
					continue
				}
				switch c.Type {
				case Text:
					c.addText(text.Draw(t, "text"))
				case Float:
					c.addFloat(rapid.Float64().Draw(t, "float"))
				case Integer:
					c.addInt(rapid.Int64().Draw(t, "integer"))
				case Bool:
					c.addInt(int64(rapid.IntRange(0, 1).Draw(t, "bool")))
				case Date:
					c.addInt(rapid.Int64Range(-719162, 2932896).Draw(t, "date"))
				case Any:
					c.addAny(value.List{rapid.Int64().Draw(t, "element"), text.Draw(t, "element")})
				default:
					c.addInt(rapid.Int64Range(firstMicro, lastMicro).Draw(t, "time"))
				}
			}
			b.Columns = append(b.Columns, c)
		}
		return newHeld(names, b)
	})
}

// write calls a method of a table.
func write(tab *Table, method string, args *value.Dict) (string, error) {
	for _, r := range jsonWriteRows() {
		if r.Name == method {
			v, err := r.do(&call{context.Background(), tool.Grant{}, args, tab})
			s, _ := v.(string)
			return s, err
		}
	}
	return "", fmt.Errorf("no method %s", method)
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tab := jsonTable().Draw(t, "table")
		for _, test := range []struct {
			method, format string
			args           *value.Dict
		}{
			{"to_json", "json", &value.Dict{}}, {"to_json", "json", value.NewDict("indent", int64(2))}, {"to_jsonl", "jsonl", &value.Dict{}},
		} {
			text, err := write(tab, test.method, test.args)
			if err != nil {
				t.Fatal(err)
			}
			back, err := parseAs(test.format, text, readOptions{})
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if same, err := back.Equal(context.Background(), tool.Grant{}, tab); err != nil || !same {
				t.Errorf("%s returns %s, which is read as %v %v (%v)", test.method, text, back.names, back.types, err)
			}
			if test.format == "json" && !json.Valid([]byte(text)) {
				t.Errorf("%s returns %q", test.method, text)
			}
		}
	})
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	tab, err := parseAs("json", `[{"a":1,"b":"2024-02-29"},{"a":null,"b":null}]`, readOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method string
		args   *value.Dict
		want   string
	}{
		{"to_json", &value.Dict{}, `[{"a":1,"b":"2024-02-29"},{"a":null,"b":null}]`},
		{"to_json", value.NewDict("indent", int64(1)), "[\n {\n  \"a\": 1,\n  \"b\": \"2024-02-29\"\n },\n {\n  \"a\": null,\n  \"b\": null\n }\n]"},
		{"to_jsonl", &value.Dict{}, "{\"a\":1,\"b\":\"2024-02-29\"}\n{\"a\":null,\"b\":null}\n"},
	} {
		if got, err := write(tab, test.method, test.args); err != nil || got != test.want {
			t.Errorf("%s(%v) = %q, %v, want %q", test.method, test.args, got, err, test.want)
		}
	}
}

func TestWriteJSONErrors(t *testing.T) {
	t.Parallel()
	floats := &Column{Type: Float, Floats: []float64{1, math.NaN()}}
	long := &Column{Type: Text, Texts: []string{strings.Repeat("x", maxHeld)}}
	deep := value.Value(value.List{})
	for range 60 {
		deep = value.List{deep, int64(1)}
	}
	nested := &Column{Type: Any}
	for range 8000 {
		nested.addAny(deep)
	}
	for _, test := range []struct {
		column *Column
		args   *value.Dict
		want   string
	}{
		{floats, &value.Dict{}, `row 2, column "x": unsupported number NaN`},
		{long, &value.Dict{}, "the result is longer than the limit of 8 MB"},
		{nested, value.NewDict("indent", int64(16)), "the result is longer than the limit of 8 MB"},
		{floats, value.NewDict("indent", int64(17)), "argument 'indent' should be from 0 to 16 but got 17"},
	} {
		tab := newHeld([]string{"x"}, &Batch{Rows: test.column.Len(), Columns: []*Column{test.column}})
		_, err := write(tab, "to_json", test.args)
		if err == nil || value.ErrorOf(err, value.Internal).Message() != test.want {
			t.Errorf("to_json: the error is %v, want %s", err, test.want)
		} else if hint := value.ErrorOf(err, value.Internal).Hint; test.column == floats && !test.args.Has("indent") && !strings.Contains(hint, "infinity") {
			t.Errorf("to_json: the hint is %q", hint)
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{`[{"a":1}]`, `[[1,"x"]]`, `{"a":[1]}`, "{\"a\":1}\n{\"a\":2}", `{"d":[{"a":"2024-02-29"}],"n":1}`, "\xff\xfe[\x00]\x00", `["\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, format := range []string{"json", "jsonl"} {
			tab, err := parseAs(format, s, readOptions{})
			if err != nil {
				continue
			}
			for _, c := range tab.held.Columns {
				if c.Len() != tab.held.Rows || c.Missing != nil && len(c.Missing) != tab.held.Rows {
					t.Errorf("a column of %d values in a table of %d rows", c.Len(), tab.held.Rows)
				}
			}
		}
	})
}

// A held text is read once. A file is surveyed, and read again for its rows.
func BenchmarkReadJSONLines(b *testing.B) {
	for name, rows := range map[string]int{"held": 50_000, "streamed": 1_200_000} {
		b.Run(name, func(b *testing.B) { benchmarkLines(b, rows) })
	}
}

func benchmarkLines(b *testing.B, rows int) {
	var text bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&text, `{"id":%d,"name":"station %d","value":%g,"day":"2024-02-%02d","ok":%v}`+"\n", i, i%1000, float64(i)/3, i%29+1, i%2 == 0)
	}
	ctx, g := context.Background(), fileGrant(text.Bytes())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		in, err := openFile(context.Background(), g, "x.jsonl")
		if err != nil {
			b.Fatal(err)
		}
		tab, err := readJSONLines(ctx, g, in, &readOptions{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		err = tab.each(ctx, g, func(b *Batch) error {
			n += b.Rows
			return nil
		})
		if err != nil || n != rows {
			b.Fatal(n, err)
		}
	}
	ours := b.Elapsed() / max(1, timesOf(b))
	theirs := timeOf(max(1, 100_000/rows), func() {
		d := json.NewDecoder(bytes.NewReader(text.Bytes()))
		for range rows {
			var m map[string]any
			if err := d.Decode(&m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(ours)/float64(theirs), "×encoding/json")
}

func timesOf(b *testing.B) time.Duration { return time.Duration(b.N) }

// timeOf returns the mean time of several calls of f.
func timeOf(tries int, f func()) time.Duration {
	start := time.Now()
	for range tries {
		f()
	}
	return time.Since(start) / time.Duration(tries)
}
