package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genTool().Draw(t, "tool")
		b, err := Append([]byte("x"), &want)
		if err != nil {
			t.Fatalf("Append: %v", err)
		}
		var got tool.Described
		if err := Decode(string(b[1:]), &got); err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if diff := difference(reflect.ValueOf(got), reflect.ValueOf(want), "tool"); diff != "" {
			t.Fatal(diff)
		}
	})
}

// difference says where two values of any Go type differ; the values of tools
// inside are compared as such, since NaN is no reason to differ.
func difference(a, b reflect.Value, where string) string {
	switch {
	case a.Type() == reflect.TypeFor[value.Value]() || a.Type() == reflect.TypeFor[*value.Dict]():
		x, y := a.Interface(), b.Interface()
		if !value.Equal(x, y) || a.IsNil() != b.IsNil() {
			return fmt.Sprintf("%s: got %s, want %s", where, value.FormatJSON(x, ""), value.FormatJSON(y, ""))
		}
		return ""
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if !a.Type().Field(i).IsExported() {
				continue
			}
			if d := difference(a.Field(i), b.Field(i), where+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
		return ""
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		return difference(a.Elem(), b.Elem(), where)
	case a.Kind() == reflect.Slice && a.Len() == b.Len() && a.IsNil() == b.IsNil():
		for i := range a.Len() {
			if d := difference(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", where, i)); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s: got %v, want %v", where, a, b)
	}
	return ""
}

// The form of a tool follows from its fields, and has no version of its own. A change of them
// changes the forms of all that hold tools: change the version of the index and the protocol of
// workers, the version of the record of trusted files if a limit or a capability changes, and then
// this sum. The records of runs hold no tools.
func TestVersions(t *testing.T) {
	var text strings.Builder
	seen := map[reflect.Type]bool{}
	var describe func(t reflect.Type)
	describe = func(t reflect.Type) {
		fmt.Fprintln(&text, t.Kind())
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			describe(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() {
					fmt.Fprintln(&text, f.Name)
					describe(f.Type)
				}
			}
		}
	}
	describe(reflect.TypeFor[tool.Described]())
	describe(reflect.TypeFor[tool.Head]())
	if got, want := crc32.ChecksumIEEE([]byte(text.String())), uint32(0x421676d9); got != want {
		t.Errorf("the fields of a tool have the sum %#x, want %#x", got, want)
	}
}

func TestEmpties(t *testing.T) {
	described := tool.Described{Tool: tool.Tool{Name: "t", Tags: []string{}, Params: []tool.Param{}, Schema: []byte{}, Needs: []tool.Capability{}, Hints: tool.Hints{Other: map[string]bool{}},
		Examples: []tool.Example{{Args: &value.Dict{}}, {}}}, Loads: []string{}}
	b, err := Append(nil, &described)
	if err != nil {
		t.Fatal(err)
	}
	var got tool.Described
	if err := Decode(string(b), &got); err != nil {
		t.Fatal(err)
	}
	want := tool.Described{Tool: tool.Tool{Name: "t", Examples: []tool.Example{{Args: &value.Dict{}}, {}}}}
	if diff := difference(reflect.ValueOf(got), reflect.ValueOf(want), "tool"); diff != "" {
		t.Error(diff)
	}
}

func TestAppendRefuses(t *testing.T) {
	self := tool.Type{Name: tool.TypeArray}
	self.Items = &self
	deep := tool.Type{}
	for range value.MaxDepth {
		deep = tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: deep.Name, Items: deep.Items}}
	}
	tests := []struct {
		name  string
		tool  tool.Tool
		limit value.LimitName
	}{
		{"text that is not UTF-8", tool.Tool{Name: "a\xff"}, ""},
		{"a tag that is not UTF-8", tool.Tool{Tags: []string{"a\xff"}}, ""},
		{"a default that is no value", tool.Tool{Params: []tool.Param{{Default: 3, HasDefault: true}}}, ""},
		{"a type that holds itself", tool.Tool{Returns: &self}, "depth"},
		{"types too deep", tool.Tool{Returns: &deep}, "depth"},
		{"too many tags", tool.Tool{Tags: make([]string, value.MaxNodes+1)}, "nodes"},
		{"too many parameters", tool.Tool{Params: make([]tool.Param, value.MaxNodes)}, "nodes"},
		{"too many values", tool.Tool{Params: []tool.Param{{Type: tool.Type{Enum: make([]value.Value, value.MaxNodes)}}}}, "nodes"},
		{"too many values in all", tool.Tool{Examples: []tool.Example{{Expect: make(value.List, value.MaxNodes/2)}, {Expect: make(value.List, value.MaxNodes/2)}}}, "nodes"},
	}
	for _, tt := range tests {
		b, err := Append(nil, &tool.Described{Tool: tt.tool})
		if err == nil {
			t.Errorf("%s: Append = %d bytes, want an error", tt.name, len(b))
		} else if got := value.ErrorOf(err, value.Internal).Limit; got != tt.limit {
			t.Errorf("%s: limit %q, want %q (%v)", tt.name, got, tt.limit, err)
		}
	}
	const paramSize = 1 + 3 // with its default, min and max, which are values
	full := tool.Described{Tool: tool.Tool{Tags: make([]string, value.MaxNodes-paramSize), Params: make([]tool.Param, 1)}}
	b, err := Append(nil, &full)
	if err != nil {
		t.Fatalf("a tool of as many parts as there may be: %v", err)
	}
	if err := Decode(string(b), &tool.Described{}); err != nil {
		t.Errorf("it cannot be read back: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	typical := typicalTool(1)
	good, err := Append(nil, &typical)
	if err != nil {
		t.Fatal(err)
	}
	for n := range good { // cut off anywhere
		if err := Decode(string(good[:n]), &tool.Described{}); err == nil {
			t.Errorf("cut off at %d of %d: Decode = nil, want an error", n, len(good))
		}
	}
	if err := Decode(string(good)+"x", &tool.Described{}); err == nil || !strings.Contains(err.Error(), "unexpected data after the value: 1 bytes") {
		t.Errorf("more after the tool: got %v", err)
	}
	type all struct {
		Bool  bool
		Small uint8
		Text  string
		Map   map[string]int
		Dict  *value.Dict
	}
	zero, err := Append(nil, &all{})
	if err != nil || len(zero) != 5 {
		t.Fatalf("a zero struct is %x, %v", zero, err)
	}
	for _, bad := range []string{"\x02\x00\x00\x00\x00", "\x00\x80\x02\x00\x00\x00", "\x00\x00\x01\xff\x00\x00", "\x00\x00\x00\x02\x01b\x00\x01a\x00\x00", "\x00\x00\x00\x02\x01a\x00\x01a\x00\x00", "\x00\x00\x00\x00\x01\x00"} {
		if err := Decode(bad, &all{}); err == nil {
			t.Errorf("%x is decoded", bad)
		}
	}
	if _, err := Append(nil, &struct{ F func() }{}); err == nil {
		t.Error("a function has a form")
	}
}

// A Raw may hold any bytes, and a time is read back to the nanosecond.
func TestRaw(t *testing.T) {
	type record struct {
		Raw  Raw
		When time.Time
	}
	want := record{"a\xff", time.Unix(3, 4)}
	b, err := Append(nil, &want)
	var got record
	if rest, e := Next(string(b)+"more", &got); err != nil || e != nil || rest != "more" || got != want {
		t.Errorf("got %+v, %q, %v, %v, want %+v", got, rest, err, e, want)
	}
}

// What claims more than there is must not be allocated.
func TestDecodeAllocatesWhatWasSent(t *testing.T) {
	const sent = 50_000
	claim := func(n uint64) []byte { return append(binary.AppendUvarint(nil, n), make([]byte, sent)...) }
	tests := []struct {
		name string
		data []byte
		into any
	}{
		{"tags", claim(1 << 40), &struct{ Tags []string }{}},
		{"needs", claim(sent / 2), &struct{ Needs []tool.Capability }{}},
		{"hints", claim(sent / 2), &struct{ Hints map[string]bool }{}},
		{"parameters", claim(sent / 18), &struct{ Params []tool.Param }{}},
		{"more parameters than bytes", claim(sent/18 + 2), &struct{ Params []tool.Param }{}},
		{"examples", claim(sent / 4), &struct{ Examples []tool.Example }{}},
	}
	for _, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = Decode(string(tt.data), tt.into)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(60*len(tt.data)); got > most {
			t.Errorf("%s: %d bytes sent, %d allocated, want at most %d", tt.name, len(tt.data), got, most)
		}
	}
}

// typicalTool is the 40-line tool of the design, with small changes.
func typicalTool(i int) tool.Described {
	name := fmt.Sprintf("word_count_%d", i)
	returns := tool.Type{Name: tool.TypeObject, Values: &tool.Type{Name: tool.TypeInteger}}
	return tool.Described{Tool: tool.Tool{
		Name: name, Title: "Word count", Group: "files", Risky: false,
		Description: "Count the words of a text file.\n\nWords are what stands between white space. Use it for prose; for code see lines.",
		Hints:       tool.Hints{ReadOnly: true, Idempotent: true},
		Params: []tool.Param{
			{Name: "filepath", Type: tool.Type{Name: tool.TypeString}, Description: "File to read, relative to the working directory.", Required: true, Aliases: []string{"path"}},
			{Name: "min_length", Type: tool.Type{Name: tool.TypeInteger, Min: int64(1), Max: int64(100)}, Description: "Ignore shorter words.", Default: int64(1), HasDefault: true},
			{Name: "stop_words", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}}, Description: "Words that do not count.", Default: value.List{}, HasDefault: true},
			{Name: "mode", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{"all", "distinct"}}, Description: "Which words to count.", Default: "all", HasDefault: true},
		},
		Returns: &returns, ReturnsDoc: "words and distinct: how many in all, how many different.",
		Needs:    []tool.Capability{{Name: "fs.read"}},
		Examples: []tool.Example{{Description: "Count the README", Args: value.NewDict("filepath", "README.md", "min_length", int64(3))}},
		Tags:     []string{"text", "io"}, Version: "1.2.0", Timeout: 10 * time.Second,
	}}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []tool.Described{{}, typicalTool(1), {Tool: tool.Tool{Schema: []byte("{}"), Deprecated: &tool.Deprecation{Since: "1"}, Hints: tool.Hints{Other: map[string]bool{"a": true, "b": false}}}}} {
		b, err := Append(nil, &seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got tool.Described
		if err := Decode(string(data), &got); err != nil {
			return
		}
		again, err := Append(nil, &got)
		if err != nil {
			t.Fatalf("Append(Decode(%x)): %v", data, err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("Append(Decode(b)) = %x, want %x", again, data)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	typical := typicalTool(1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], &typical); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	const n = 10_000
	tools := make([]string, n)
	bytes := 0
	for i := range tools {
		typical := typicalTool(i)
		data, err := Append(nil, &typical)
		if err != nil {
			b.Fatal(err)
		}
		tools[i] = string(data)
		bytes += len(data)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range tools {
			if err := Decode(data, &tool.Described{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/tool")
	b.ReportMetric(float64(bytes)/n, "bytes/tool")
}

// genTool makes tools with every field set in some of them.
func genTool() *rapid.Generator[tool.Described] {
	return rapid.Custom(func(t *rapid.T) tool.Described {
		text := func(name string) string { return valuetest.Text().Draw(t, name).(string) }
		number := func(name string) int64 { return rapid.Int64().Draw(t, name) }
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		described := tool.Tool{
			Name: text("name"), Title: text("title"), Description: text("description"), Group: text("group"),
			Risky: flag("risky"), AllowExtra: flag("allow extra"), ReturnsDoc: text("returns doc"),
			Params:  genParams(2).Draw(t, "params"),
			Tags:    genTexts().Draw(t, "tags"),
			Version: text("version"), Timeout: time.Duration(number("timeout")), Overhead: int(number("overhead")), Available: text("available"), Undo: text("undo"),
			OnlyCalls: flag("only calls"),
		}
		described.Hints = tool.Hints{ReadOnly: flag("read only"), Idempotent: flag("idempotent"), OpenWorld: flag("open world")}
		for _, name := range genTexts().Draw(t, "hints") {
			if described.Hints.Other == nil {
				described.Hints.Other = map[string]bool{}
			}
			described.Hints.Other[name] = flag("hint")
		}
		described.Limits = tool.Limits{Steps: number("steps"), CPU: time.Duration(number("cpu")), Memory: number("memory"), Result: int(number("result")), Requests: int(number("requests"))}
		if s := text("schema"); s != "" {
			described.Schema = []byte(s)
		}
		if flag("returns") {
			typ := genType(2).Draw(t, "returns")
			described.Returns = &typ
		}
		for range rapid.IntRange(0, 2).Draw(t, "needs") {
			described.Needs = append(described.Needs, tool.Capability{Name: text("capability"), Target: text("target")})
		}
		if flag("deprecated") {
			described.Deprecated = &tool.Deprecation{Since: text("since"), Replacement: text("replacement"), Message: text("message")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "examples") {
			e := tool.Example{Description: text("example"), HasExpect: flag("expects"), Expect: valuetest.Any().Draw(t, "expect")}
			if args, ok := valuetest.JSON().Draw(t, "args").(*value.Dict); ok {
				e.Args = args
			}
			described.Examples = append(described.Examples, e)
		}
		return tool.Described{Tool: described, Loads: genTexts().Draw(t, "loads"), Warnings: genTexts().Draw(t, "warnings")}
	})
}

func genTexts() *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) []string {
		var list []string
		for range rapid.IntRange(0, 2).Draw(t, "n") {
			list = append(list, valuetest.Text().Draw(t, "text").(string))
		}
		return list
	})
}

func genParams(depth int) *rapid.Generator[[]tool.Param] {
	return rapid.Custom(func(t *rapid.T) []tool.Param {
		var params []tool.Param
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			p := tool.Param{
				Name: valuetest.Text().Draw(t, "name").(string), Description: valuetest.Text().Draw(t, "description").(string),
				Type: genType(depth).Draw(t, "type"), Aliases: genTexts().Draw(t, "aliases"),
				Required: rapid.Bool().Draw(t, "required"), HasDefault: rapid.Bool().Draw(t, "has default"), FromHost: rapid.Bool().Draw(t, "from host"),
			}
			if p.HasDefault {
				p.Default = valuetest.Any().Draw(t, "default")
			}
			params = append(params, p)
		}
		return params
	})
}

// genType makes any type, sensible or not.
func genType(depth int) *rapid.Generator[tool.Type] {
	return rapid.Custom(func(t *rapid.T) tool.Type {
		typ := tool.Type{
			Name:     rapid.SampledFrom(append(tool.TypeNames(), "", "later")).Draw(t, "name"),
			Nullable: rapid.Bool().Draw(t, "nullable"),
			Pattern:  rapid.SampledFrom([]string{"", "", "^a"}).Draw(t, "pattern"),
		}
		value := func(name string) value.Value {
			if rapid.Bool().Draw(t, "has "+name) {
				return valuetest.Any().Draw(t, name)
			}
			return nil
		}
		length := func(name string) *int {
			if !rapid.Bool().Draw(t, "has "+name) {
				return nil
			}
			n := rapid.IntRange(-1, 9).Draw(t, name)
			return &n
		}
		typ.Min, typ.Max = value("min"), value("max")
		typ.MinLength, typ.MaxLength = length("min length"), length("max length")
		for range rapid.IntRange(0, 2).Draw(t, "enum") {
			typ.Enum = append(typ.Enum, valuetest.Any().Draw(t, "enum value"))
		}
		if depth == 0 {
			return typ
		}
		if rapid.Bool().Draw(t, "has items") {
			items := genType(depth-1).Draw(t, "items")
			typ.Items = &items
		}
		if rapid.Bool().Draw(t, "has values") {
			values := genType(depth-1).Draw(t, "values")
			typ.Values = &values
		}
		typ.Fields = genParams(depth-1).Draw(t, "fields")
		return typ
	})
}
