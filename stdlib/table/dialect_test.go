package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Files that other programs write are read with an option, by themselves with a note, or
// with an error that names the option.
func TestDialects(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	lenient := func(o *readOptions) { o.lenient = true }
	for _, test := range []struct {
		name, in string
		set      func(o *readOptions)
		want     string // the table, or the error and its hint
		notes    string
		rejected string
	}{
		{name: "long row", in: "id,name\n1,a\n2,b,extra\n3,c\n", want: "text, line 3: the row has 3 cells, but the header has 2: " +
			`fix the row, put quotes around cells with the delimiter ",", or set another delimiter; to leave such rows out, set lenient to true`},
		{name: "long row, lenient", in: "id,name\n1,a\n2,b,extra\n3,c\n", set: lenient, want: "id:integer name:text | 1 'a' | 3 'c'",
			notes: `1 row left out: line 3, "2,b,extra" (the row has 3 cells, but the header has 2)`, rejected: "3: the row has 3 cells, but the header has 2: 2,b,extra"},
		{name: "short row, lenient", in: "a,b\n1\n2,3\n", set: lenient, want: "a:integer b:integer | 2 3",
			notes: `1 row left out: line 2, "1" (the row has 1 cell, but the header has 2)`, rejected: "2: the row has 1 cell, but the header has 2: 1"},
		{name: "trailing commas", in: "a,b,c\n1,2,3,\n4,5,6, ,\n", want: "a:integer b:integer c:integer | 1 2 3 | 4 5 6",
			notes: "2 rows were too long, the first on line 2: the cells beyond the header are empty, and left out"},
		{name: "a quoted cell beyond the header", in: "a,b\n1,2,\"\"\n", want: "text, line 2: the row has 3 cells, but the header has 2: fix the row; if the table begins on line 2, set skip to 1; to leave such rows out, set lenient to true"},
		{name: "space before a quote", in: "name, note\nann, \"hi, there\"\nbob, \"x\" \n", want: "name:text note:text | 'ann' 'hi, there' | 'bob' 'x'",
			notes: "spaces around cells are skipped, because there are some before quotes; to keep them, pass trim = False"},
		{name: "space before a quote, kept", in: "name, note\nann, \"hi\"\n", set: func(o *readOptions) { o.trim = &no }, want: "name:text note:text | 'ann' ' \"hi\"'"},
		{name: "a late space before a quote", in: "a,b\n" + strings.Repeat("1,2\n", 60) + "1, \"x,y\"\n", want: "text, line 62: the row has 3 cells, but the header has 2: to skip the spaces before quotes, set trim to true; to leave such rows out, set lenient to true"},
		{name: "trim", in: "a;b\n x ; \"y\"\"\"  \n  \n z;\n", set: func(o *readOptions) { o.trim = &yes }, want: "a:text b:text | 'x' 'y\"' | 'z' -", notes: `delimiter ";" (detected)`},
		{name: "escape", in: "a,b\n\"x \\\"y\\\", z\",1\n\"c:\\\\\",2\n\"\\\"\"\"\",3\n", set: func(o *readOptions) { o.escape = "\\" }, want: `a:text b:integer | 'x "y", z' 1 | 'c:\' 2 | '""' 3`},
		{name: "escape, said", in: "a,b\n\"x \\\"y\\\"\",1\n", want: `text, line 2: character 6: unexpected text after the closing quote of a cell: if \ stands before the quotes inside a quoted cell, set escape to "\\"; to leave such rows out, set lenient to true`},
		{name: "comments", in: "# about\na,b\n1,2\n# checked, twice, by hand\n3,4\n#", set: func(o *readOptions) { o.comment = "#" }, want: "a:integer b:integer | 1 2 | 3 4"},
		{name: "comments, said", in: "a,b\n1,2\n# checked, twice, by hand\n3,4\n", want: `text, line 3: the row has 3 cells, but the header has 2: if lines that begin with # are comments, set comment to "#"; to leave such rows out, set lenient to true`},
		{name: "comments of one cell, said", in: "a,b\n1,2\n// by hand\n3,4\n", want: `text, line 3: the row has 1 cell, but the header has 2: if lines that begin with // are comments, set comment to "//"; to leave such rows out, set lenient to true`},
		{name: "sep=", in: "sep=;\r\na;b\r\n1;2\r\n", want: "a:integer b:integer | 1 2", notes: `delimiter ";" (from the line sep=;)`},
		{name: "no sep=", in: "sep=x\n1\n", want: "sep=x:integer | 1"},
		{name: "title", in: "Extracted on 2025-01-06\nid;name\n1;A\n", want: "id:integer name:text | 1 'A'",
			notes: `line 1 is skipped as a title; if the table begins there, pass skip = 0; delimiter ";" (detected)`},
		{name: "title lines", in: "Report\n\nof 2025\n\n\nid,name\n1,A\n2,B\n", want: "id:integer name:text | 1 'A' | 2 'B'", notes: `lines 1 to 3 are skipped as a title; if the table begins there, pass skip = 0`},
		{name: "no title", in: "tags\na;b\nc\n", want: "tags:text | 'a;b' | 'c'"},
		{name: "title denied", in: "tags\na;b\nc;d\n", set: func(o *readOptions) { o.skips = true }, want: "tags:text | 'a;b' | 'c;d'"},
		{name: "title with a comma", in: "Report, 2025\nid,name,x\n1,A,2\n", want: "text, line 2: the row has 3 cells, but the header has 2: fix the row; if the table begins on line 2, set skip to 1; to leave such rows out, set lenient to true"},
		{name: "zero bytes", in: "a,b\n1,x\n2,M\x00y\n", want: `text, line 3: unexpected zero byte: the file is probably binary, not text: for text in UTF-16, set encoding to "utf-16le"; to leave zero bytes out, set lenient to true`},
		{name: "zero bytes, lenient", in: "a,b\n1,x\n2,M\x00y\x00\n", set: lenient, want: "a:integer b:text | 1 'x' | 2 'My'", notes: "2 zero bytes left out, the first on line 3"},
		{name: "unclosed quote, lenient", in: "a,b\n1,\"x\n2,y\n3,z\n", set: lenient, want: "a:integer b:text | 2 'y' | 3 'z'",
			notes: `1 row left out: line 2, "1,\"x" (unclosed quote: the cell has no closing quote)`, rejected: "2: unclosed quote: the cell has no closing quote: 1,\"x"},
		{name: "text after a quote, lenient", in: "a,b\r\n1,\"x\"y\r\n2,y\r\n\"", set: lenient, want: "a:integer b:text | 2 'y'",
			notes:    `2 rows left out: line 2, "1,\"x\"y" (character 6: unexpected text after the closing quote of a cell); line 4, "\"" (unclosed quote: the cell has no closing quote)`,
			rejected: "2: character 6: unexpected text after the closing quote of a cell: 1,\"x\"y | 4: unclosed quote: the cell has no closing quote: \""},
		{name: "types, lenient", in: "a,b\n1,x\nmany,y\n,z\n", set: func(o *readOptions) { o.lenient, o.types = true, map[string]Type{"a": Integer} }, want: "a:integer b:text | 1 'x' | - 'z'",
			notes: `1 row left out: line 3, "many,y" (column "a" (1): "many" is not of type integer)`, rejected: `3: column "a" (1): "many" is not of type integer: many,y`},
		{name: "bytes, lenient", in: "a\n\xff\n", set: func(o *readOptions) { o.lenient, o.encoding = true, "utf-8" }, want: "a:text | '\ufffd'",
			notes: `1 byte is not UTF-8, the first 0xff on line 2: read as ` + "\ufffd" + `; if the encoding is another, pass it, as in encoding = "windows-1252"`},
		{name: "header, lenient", in: "\"a,b\n1,2\n", set: lenient, want: `text, line 1: unclosed quote: the cell has no closing quote: double each quote inside a quoted cell: the text 5" disk is written "5"" disk"; if quotes have no meaning in this file, set quote to ""`},
		{name: "escape of two", in: "a\n", set: func(o *readOptions) { o.escape = "ab" }, want: `argument 'escape' should be one ASCII character other than a line break, the delimiter or the quote: for example, set escape to "\\"`},
		{name: "comment of a line break", in: "a\n", set: func(o *readOptions) { o.comment = "\n" }, want: `argument 'comment' should be the few characters at the beginning of a comment: for example, set comment to "#"`},
	} {
		for kind, read := range map[string]func([]byte, *readOptions) (*Table, error){"held": csvBytes, "stream": csvStream} {
			o := csvOptions()
			if test.set != nil {
				test.set(o)
			}
			got, err := read([]byte(test.in), o)
			if err != nil {
				if e := value.ErrorOf(err, value.Internal); e.Message()+": "+e.Hint != test.want {
					t.Errorf("%s (%s): %s: %s\nwant %s", test.name, kind, e.Message(), e.Hint, test.want)
				}
				continue
			}
			for range 2 {
				if s := csvShow(got, csvGrant([]byte(test.in))); s != test.want {
					t.Errorf("%s (%s): %s\nwant %s", test.name, kind, s, test.want)
				}
			}
			if notes := strings.Join(got.notes, "; "); notes != test.notes {
				t.Errorf("%s (%s): notes = %s\nwant %s", test.name, kind, notes, test.notes)
			}
			if rejected := rejectedOf(got); rejected != test.rejected {
				t.Errorf("%s (%s): rejected = %s\nwant %s", test.name, kind, rejected, test.rejected)
			}
		}
	}
}

func rejectedOf(t *Table) string {
	var rows []string
	b := t.rejected.held
	for i := range b.Rows {
		rows = append(rows, fmt.Sprintf("%d: %s: %s", b.Columns[0].Ints[i], b.Columns[1].Texts[i], b.Columns[2].Texts[i]))
	}
	return strings.Join(rows, " | ")
}

// Lines of JSON that cannot be read are left out if the reader is lenient.
func TestLenientLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in    string
		types map[string]Type
		want  string
		notes string
	}{
		{in: "{\"a\":1}\n{bad}\n{\"a\":2}\n", want: "a:integer | 1 | 2", notes: `1 row left out: line 2, "{bad}" (invalid JSON at line 2, column 2: expected a name in double quotes but got 'b')`},
		{in: "5\n{\"a\":1}\n[1]\n{\"a\":", want: "a:integer | 1", notes: `3 rows left out: line 1, "5" (should be an object or a list but got integer); line 3, "[1]" (is a list, but each previous record is an object); line 4, "{\"a\":" (invalid JSON at line 4, column 6: expected a value but got the end of the text)`},
		{in: "{\"a\":1}\n{\"a\":\"x\"}\n", types: map[string]Type{"a": Integer}, want: "a:integer | 1", notes: `1 row left out: line 2, "{\"a\":\"x\"}" ("x" is not of type integer)`},
		{in: "[\"a\",\"b\"]\n[1,2]\n[3]\n", want: "a:integer b:integer | 1 2", notes: `1 row left out: line 3, "[3]" (expected 2 values but got 1)`},
		{in: "{\"a\":\"" + strings.Repeat("x", maxJSONRecord+2*partSize) + "\"}\n{\"a\":1}\n", want: "a:integer | 1", notes: `1 row left out: line 1, "{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" (the record at line 1 is longer than 8 MB)`},
	} {
		o := csvOptions()
		o.lenient, o.types = true, test.types
		g := csvGrant([]byte(test.in))
		for _, in := range []*input{{name: "text", held: []byte(test.in), size: int64(len(test.in))}, {name: "text", file: true, size: int64(len(test.in))}} {
			if len(in.held) > maxHeld {
				continue
			}
			got, err := readJSONLines(t.Context(), g, in, o)
			if err != nil {
				t.Errorf("%.60s: %v", test.in, err)
				continue
			}
			for range 2 {
				if s := csvShow(got, g); s != test.want {
					t.Errorf("%.60s: %s\nwant %s", test.in, s, test.want)
				}
			}
			if notes := strings.Join(got.notes, "; "); notes != test.notes {
				t.Errorf("%.60s: notes = %s\nwant %s", test.in, notes, test.notes)
			}
		}
	}
	_, err := readJSONLines(t.Context(), tool.Grant{}, &input{name: "a.jsonl", held: []byte("{\"a\":1}\n{bad}\n{}\n"), size: 17}, csvOptions())
	if e := value.ErrorOf(err, value.Internal); err == nil || e.Hint != "to leave such lines out, set lenient to true" {
		t.Errorf("a bad line: %v, hint %q", err, e.Hint)
	}
}

// Only the first of many rejected rows are kept, and a row of any length is skipped.
func TestManyRejected(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	o := csvOptions()
	o.lenient = true
	in := "a,b\n1,2\n" + strings.Repeat("x\n", 5000) + "\"" + strings.Repeat("y", 20<<20) + "\n3,4\n"
	got, err := csvStream([]byte(in), o)
	if err != nil {
		t.Fatal(err)
	}
	if s := csvShow(got, csvGrant([]byte(in))); s != "a:integer b:integer | 1 2 | 3 4" {
		t.Error(s)
	}
	if n := got.rejected.rows; n != maxRejected || !strings.HasPrefix(got.notes[0], "5,001 rows left out: ") || len(got.notes[0]) > 300 {
		t.Errorf("%d rejected rows, notes %q", n, got.notes)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	packed := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(text)
		_ = w.Close()
		return b.Bytes()
	}
	large := []byte("a,b\n" + strings.Repeat("1,xyz\n", maxHeld/6+1000))
	for name, test := range map[string]struct {
		in   []byte
		rows int
		err  string
	}{
		"a.csv.gz":   {in: packed([]byte("a,b\n1,2\n")), rows: 1},
		"a.TSV.GZ":   {in: packed([]byte("a\tb\n1\t2\n")), rows: 1},
		"a.jsonl.gz": {in: packed([]byte("{\"a\":1}\n{\"a\":2}\n")), rows: 2},
		"a.json.gz":  {in: packed([]byte("[{\"a\":1}]")), rows: 1},
		"a.csv":      {in: packed([]byte("a,b\n1,2\n")), rows: 1},
		"b.csv.gz":   {in: []byte("a,b\n1,2\n"), rows: 1},
		"big.csv.gz": {in: packed(large), rows: maxHeld/6 + 1000},
		"cut.csv.gz": {in: packed(large)[:2000], err: "cut.csv.gz is not a complete gzip file: unexpected EOF"},
		"bad.csv.gz": {in: []byte("\x1f\x8bxxxxxxxxxxxxx"), err: "bad.csv.gz is not a complete gzip file: invalid header"},
		"a.zip":      {in: []byte("PK"), err: "a.zip: unsupported format: .zip"},
		"a.ods":      {in: []byte("PK"), err: "a.ods: unsupported format: .ods"},
	} {
		g := csvGrant(test.in)
		in, err := openFile(t.Context(), g, name)
		var got *Table
		if err == nil {
			got, err = read(t.Context(), g, in, csvOptions())
		}
		if err != nil || test.err != "" {
			if e := value.ErrorOf(err, value.Internal); e == nil || e.Message() != test.err || e.Hint == "" {
				t.Errorf("%s: %v, want %s", name, err, test.err)
			}
			continue
		}
		n := 0
		for range 2 {
			n = 0
			err = got.each(t.Context(), g, func(b *Batch) error { n += b.Rows; return nil })
		}
		if err != nil || n != test.rows || got.rows != test.rows {
			t.Errorf("%s: %d rows, %v, want %d", name, n, err, test.rows)
		}
	}
	got, err := parseAs("", string(packed([]byte("a,b\n1,2\n"))), *csvOptions())
	if err == nil {
		t.Errorf("gzip in a text: %v", got)
	}
}

// A gzip file that unpacks to more than a table may have is an error, in flat memory.
func TestGzipBomb(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		_, err := io.CopyN(z, zeros{}, maxHeld+1)
		_ = z.Close()
		_ = w.CloseWithError(err)
	}()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	in := &input{name: "text", held: b, size: int64(len(b))}
	if _, err = in.unpack(context.Background(), tool.Grant{}); err == nil || value.KindOf(err) != value.Limit {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in.file = true
	if _, err = in.unpack(ctx, tool.Grant{}); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
