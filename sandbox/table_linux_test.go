package sandbox_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tableScripts read a table and say what they were told to ask of it, in both
// languages.
var tableScripts = []tool.Script{
	{Path: "table.star", Source: `
def table(text, how = "rows", options = {}):
    """Ask a table."""
    t = data.parse(text, **options) if text else data.read("big.csv", **options)
    if how == "rows":
        return t.rows
    if how == "describe":
        return t.describe("basic")
    if how == "group":
        return t.group_by("b").agg(n = "count").sort("b")
    if how == "raise":
        got = attempt(t.filter, lambda row: fail("stop here"))
        return [got["error"], t.rows]
    if how == "loop":
        def loop(row):
            for i in range(1000000000):
                pass
        return t.filter(loop)
    if how == "recurse":
        def recurse(row):
            return t.filter(recurse).rows > 0
        return t.filter(recurse)
    if how == "memory":
        def grow(row):
            return [text.repeat("x", 1000000) for i in range(1000)] == []
        kept = []
        def keep(row):
            kept.append(bytes("x" * 1000000))
            return [str(i) * 1000 for i in range(300000)] == kept
        return t.filter(keep)
    return t

tool(table)
`},
	{Path: "table.lua", Source: `
return tool{ name = "table", description = "Ask a table.",
  params = { text = "any", how = "string", options = "any" },
  handler = function(args)
    local how, t = args.how or "rows"
    if args.text ~= "" then t = data.parse(args.text, args.options or {}) else t = data.read("big.csv", args.options or {}) end
    if how == "rows" then return t.rows end
    if how == "describe" then return t:describe("basic") end
    if how == "group" then return t:group_by("b"):agg({n = "count"}):sort("b") end
    if how == "raise" then
      local ok, e = pcall(function() return t:filter(function(row) error("stop here", 0) end) end)
      return {e, t.rows}
    end
    if how == "loop" then return t:filter(function(row) while true do end end) end
    if how == "recurse" then
      local function recurse(row) return t:filter(recurse).rows > 0 end
      return t:filter(recurse)
    end
    if how == "memory" then
      local kept = {}
      return t:filter(function(row) for i = 1, 1000 do kept[#kept + 1] = string.rep("x", 1000000) .. i end return true end)
    end
    return t
  end }
`},
}

// tableCall is one call of the scripts above.
func tableCall(text value.Value, how string, options *value.Dict) tool.Call {
	limits := tool.DefaultLimits()
	limits.CPU = 10 * time.Second
	args := value.NewDict("text", text, "how", how)
	if options != nil {
		args.Put("options", options)
	}
	return tool.Call{Args: args, Limits: limits}
}

// TestTableInWorker gives hostile texts to a sealed worker: each has one clear
// error, or a result by the rules, and the next call is answered as ever.
func TestTableInWorker(t *testing.T) {
	const small = "a,b\n1,x\n2,y\n3,x\n"
	many := func(n int) string { return strings.Repeat("c,", n-1) + "c\n" }
	const works = value.Kind(255)
	rows := testutil.Times(200_000, 1_200_000)
	tests := []struct {
		name    string
		text    value.Value
		options *value.Dict
		want    string // the result, or a part of the error
		kind    value.Kind
	}{
		{"whole", small, nil, "3", works},
		{"short row", "a,b\n1,2\n3\n", nil, "line 3: the row has 1 cell", value.Failed},
		{"filled row", "a,b\n1,2\n3\n", value.NewDict("fill", true), "2", works},
		{"long row", "a,b\n1,2\n3,4,5\n", value.NewDict("fill", true), "line 3: the row has 3 cells", value.Failed},
		{"open quote", "a,b\n1,\"x\n" + strings.Repeat("2,y\n", 100_000), nil, "line 2: unclosed quote", value.Failed},
		{"text after quote", "a,b\n1,\"x\"y\n", nil, "line 2: character 6", value.Failed},
		{"empty", "\n", nil, "is empty", value.Failed},
		{"zero bytes", "a,b\n1,\x00\n", nil, "line 2: unexpected zero byte", value.Failed},
		{"zeros alone", make([]byte, 1<<20), nil, "zero byte", value.Failed},
		{"half of UTF-16", []byte("\xff\xfea\x00\n\x001\x00x"), nil, "not UTF-16", value.Failed},
		{"no encoding", small, value.NewDict("encoding", "klingon"), "unknown encoding", value.Failed},
		{"a type that does not fit", small, value.NewDict("types", value.NewDict("b", "integer")), `line 2, column "b"`, value.Failed},
		{"long cell", "a\n" + strings.Repeat("x", 8<<20-100), nil, "1", works},
		{"100,000 columns", many(100_000), nil, "0", works},
		{"too many columns", many(100_001), nil, "more than 100000 cells", value.Limit},
		{"rows of one cell", "a\n" + strings.Repeat("1\n", rows), nil, strconv.Itoa(rows), works},
		{"one empty cell in each row", "a,b\n" + strings.Repeat(",\n", rows), nil, strconv.Itoa(rows), works},
		{"quotes alone", strings.Repeat(`"`, 4_000_001), nil, "quote", value.Failed},
		{"deep JSON", strings.Repeat("[", 1_000_000), nil, "nested more than", value.Limit},
		{"deep cell", `[{"a":` + strings.Repeat(`{"a":`, 500_000), nil, "nested more than", value.Limit},
		{"a name twice", `[{"a":1,"a":2}]`, nil, "twice", value.Failed},
		{"cut off", `[{"a":1},{"a":`, nil, "line 1, column 15", value.Failed},
		{"too large a number", `[{"a":1e999}]`, nil, "out of range", value.Failed},
		{"encrypted", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 4096)), value.NewDict("format", "xlsx"), "encrypted", value.Failed},
		{"zip bomb", zipBomb(t, testutil.Times(32<<20, 128<<20)), nil, "", value.Limit},
		{"gzip bomb", gzipBomb(t, testutil.Times(32<<20, 512<<20)), nil, "larger than the limit of 8 MB after decompression", value.Limit},
		{"lenient", "a,b\n1,2\n3,4,5\n6,\"x\n7,8\n", value.NewDict("lenient", true), "2", works},
		{"a quote on each line, lenient", "a,b\n1,2\n" + strings.Repeat("\"\"\"x,2\n", 100_000), value.NewDict("lenient", true), "1", works},
		{"cut zip", zipBomb(t, 1<<20)[:400], nil, "not a valid .xlsx file", value.Failed},
	}
	p := newProcess(t, nil)
	for i, script := range tableScripts {
		if i > 0 {
			tests = testutil.Sample(tests, 8) // the tables are the same in each language
		}
		for _, test := range tests {
			start := time.Now()
			out, err := p.Run(context.Background(), script, tableCall(test.text, "rows", test.options), nil)
			got := fmt.Sprint(out.Value)
			if err != nil {
				got = err.Error()
			}
			var e *value.Error
			switch {
			case test.kind == works && (err != nil || got != test.want):
				t.Errorf("%s of %s: %.300s, want %s", script.Path, test.name, got, test.want)
			case test.kind != works && (!errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(got, test.want)):
				t.Errorf("%s of %s: %v: %.300s, want %v: %s", script.Path, test.name, value.KindOf(err), got, test.kind, test.want)
			case len(got) > 1000:
				t.Errorf("%s of %s: an error of %d bytes: %.300s", script.Path, test.name, len(got), got)
			}
			t.Logf("%s of %s: %.150s in %v", script.Path, test.name, got, time.Since(start).Round(time.Millisecond))
			if out, err := p.Run(context.Background(), script, tableCall(small, "rows", nil), nil); err != nil || out.Value != int64(3) {
				t.Fatalf("%s after %s: %v, %v, want 3", script.Path, test.name, out.Value, err)
			}
		}
	}
}

// gzipBomb returns a gzip file of that many zero bytes.
func gzipBomb(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	piece := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := z.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipBomb is a spreadsheet whose sheet has that many bytes, nearly all of them one
// cell.
func zipBomb(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	part := func(name string, write ...string) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range write {
			if _, err := w.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	part("_rels/.rels", `<Relationships><Relationship Id="r" Type="`+office+`/officeDocument" Target="xl/workbook.xml"/></Relationships>`)
	part("xl/workbook.xml", `<workbook xmlns:r="`+office+`"><sheets><sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>`)
	part("xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Type="`+office+`/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`)
	sheet := []string{`<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>`}
	piece := strings.Repeat("x", 1<<20)
	for range size >> 20 {
		sheet = append(sheet, piece)
	}
	part("xl/worksheets/sheet1.xml", append(sheet, "</t></is></c></row></sheetData></worksheet>")...)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A bigFile is the effects of a file that is made up while it is read.
type bigFile struct {
	rows    int
	reads   int
	changed int                        // after so many reads the file is another; 0 is never
	lie     func(b []byte) value.Value // what is given for a part, where it is set
}

// bigRow is the length of each of its lines.
const bigRow = 16

// fileModule says of which effects scripts can ask.
func fileModule() tool.Module {
	path := tool.Required("path", tool.TypeString, "the file")
	return tool.Module{Name: "fs", Funcs: []tool.Func{
		{Name: "stat", Kind: tool.Read, Params: []tool.Param{path}},
		{Name: "read_bytes", Kind: tool.Read, Params: []tool.Param{
			path, tool.Optional("offset", tool.TypeInteger, int64(0), "where"), tool.Maybe("length", tool.TypeInteger, "how many"),
		}},
	}}
}

func (f *bigFile) effect(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	switch e.Func {
	case "fs.stat":
		modified := "2026-01-01T00:00:00Z"
		if f.changed > 0 && f.reads >= f.changed {
			modified = "2026-01-02T00:00:00Z"
		}
		return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64((f.rows+1)*bigRow), "modified", modified)}, nil
	case "fs.read_bytes":
		f.reads++
		at, length := e.Args.Int("offset"), e.Args.Int("length")
		four := "0000000000004,s\n0000000000001,p\n0000000000002,q\n0000000000003,r\n"
		b := bytes.Repeat([]byte(four), int(length)/len(four)+2)[at%int64(len(four)):][:length]
		if at == 0 {
			copy(b, "a            ,b\n")
		}
		if f.lie != nil {
			return tool.Outcome{Value: f.lie(b)}, nil
		}
		return tool.Outcome{Value: b}, nil
	}
	return tool.Outcome{}, value.Errorf(value.Denied, "there is no %s here", e.Func)
}

// TestTableStreamsIntoWorker reads a file that is larger than the memory of the
// worker, and files that are not what they were said to be.
func TestTableStreamsIntoWorker(t *testing.T) {
	p := newProcess(t, nil, fileModule())
	run := func(script tool.Script, how string, f *bigFile) (value.Value, error) {
		c := tableCall("", how, nil)
		c.Limits.Memory = int64(testutil.Times(48, 64)) << 20
		out, err := p.Run(context.Background(), script, c, f.effect)
		return out.Value, err
	}
	for _, script := range tableScripts {
		rows := testutil.Times(13, 24) << 18 // 52 or 96 MB
		got, err := run(script, "group", &bigFile{rows: rows})
		want := value.List{}
		for _, name := range []string{"p", "q", "r", "s"} {
			want = append(want, value.NewDict("b", name, "n", int64(rows/4)))
		}
		if err != nil || !value.Equal(got, want) {
			t.Errorf("%s: groups of %d rows: %v, %v, want %v", script.Path, rows, got, err, want)
		}
		for _, test := range []struct {
			name string
			file *bigFile
			want string
		}{
			{"changed", &bigFile{rows: 1 << 20, changed: 2}, "the file was changed by another process"},
			{"changed later", &bigFile{rows: 1 << 20, changed: 6}, "the file was changed by another process"},
			{"short part", &bigFile{rows: 1 << 20, lie: func(b []byte) value.Value { return b[:len(b)/2] }}, "the file was changed by another process"},
			{"no part", &bigFile{rows: 1 << 20, lie: func([]byte) value.Value { return []byte{} }}, "the file was changed by another process"},
			{"long part", &bigFile{rows: 1 << 20, lie: func(b []byte) value.Value { return append(b, b[:100]...) }}, "the file was changed by another process"},
			{"no bytes", &bigFile{rows: 1 << 20, lie: func([]byte) value.Value { return int64(1) }}, "fs.read_bytes: expected bytes but got integer"},
		} {
			if got, err := run(script, "group", test.file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s of a file that is %s: %v, %v, want %s", script.Path, test.name, got, err, test.want)
			}
			if test.file.reads > 10 {
				t.Errorf("%s of a file that is %s: %d reads", script.Path, test.name, test.file.reads)
			}
		}
	}
}

// TestTableCallbacksInWorker has the functions of a script, which a table calls,
// raise, go on for ever, call the table again and use up the memory.
func TestTableCallbacksInWorker(t *testing.T) {
	const small = "a,b\n1,x\n2,y\n3,x\n"
	p := newProcess(t, nil)
	for _, script := range tableScripts {
		for _, test := range []struct {
			how   string
			limit value.LimitName
			want  string
		}{
			{"raise", "", "stop here"},
			{"loop", "steps", "steps"},
			{"recurse", "", ""},
			{"memory", "memory", "memory"},
		} {
			out, err := p.Run(context.Background(), script, tableCall(small, test.how, nil), nil)
			got := fmt.Sprint(out.Value)
			if err != nil {
				got = err.Error()
			}
			var e *value.Error
			switch {
			case test.how == "raise":
				if err != nil || !strings.Contains(got, test.want) || !strings.Contains(got, "3") {
					t.Errorf("%s that raises: %s, want %s and 3", script.Path, got, test.want)
				}
			case !errors.As(err, &e), test.limit != "" && e.Limit != test.limit, !strings.Contains(got, test.want):
				t.Errorf("%s, %s: %v, want an error of the limit %q", script.Path, test.how, err, test.limit)
			}
			t.Logf("%s, %s: %.200s", script.Path, test.how, got)
			if out, err := p.Run(context.Background(), script, tableCall(small, "rows", nil), nil); err != nil || out.Value != int64(3) {
				t.Fatalf("%s after %s: %v, %v, want 3", script.Path, test.how, out.Value, err)
			}
		}
	}
}
