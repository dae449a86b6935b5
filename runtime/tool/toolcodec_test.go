package tool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestToolCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := genTool().Draw(t, "tool")
		b, err := AppendTool([]byte("x"), &tool)
		if err != nil {
			t.Fatalf("AppendTool: %v", err)
		}
		got, err := DecodeTool(string(b[1:]))
		if err != nil {
			t.Fatalf("DecodeTool: %v", err)
		}
		if diff := difference(reflect.ValueOf(got), reflect.ValueOf(tool), "tool"); diff != "" {
			t.Fatal(diff)
		}
		head, err := DecodeHead(string(b[1:]))
		if err != nil {
			t.Fatalf("DecodeHead: %v", err)
		}
		if diff := difference(reflect.ValueOf(head), reflect.ValueOf(got.Head()), "head"); diff != "" {
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

// Every field of a tool, of a type and of a parameter must be written: one that
// is added and forgotten here would be lost without a word. (Compiled is not
// written: it follows from Schema.)
func TestToolCodecKnowsEveryField(t *testing.T) {
	for _, tt := range []struct {
		of     reflect.Type
		fields int
	}{
		{reflect.TypeFor[Tool](), 32}, {reflect.TypeFor[Param](), 8}, {reflect.TypeFor[Type](), 11}, {reflect.TypeFor[Example](), 4},
		{reflect.TypeFor[Hints](), 4}, {reflect.TypeFor[Limits](), 4}, {reflect.TypeFor[Deprecation](), 3}, {reflect.TypeFor[Capability](), 2},
	} {
		if got := tt.of.NumField(); got != tt.fields {
			t.Errorf("%s has %d fields, and AppendTool knows %d: add the new one there, in DecodeTool and in genTool, and change toolVersion", tt.of, got, tt.fields)
		}
	}
}

func TestToolCodecEmpties(t *testing.T) {
	tool := Tool{Name: "t", Tags: []string{}, Params: []Param{}, Schema: []byte{}, Needs: []Capability{}, Hints: Hints{Other: map[string]bool{}},
		Examples: []Example{{Args: &value.Dict{}}, {}}}
	b, err := AppendTool(nil, &tool)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeTool(string(b))
	if err != nil {
		t.Fatal(err)
	}
	want := Tool{Name: "t", Examples: []Example{{Args: &value.Dict{}}, {}}}
	if diff := difference(reflect.ValueOf(got), reflect.ValueOf(want), "tool"); diff != "" {
		t.Error(diff)
	}
}

func TestAppendToolRefuses(t *testing.T) {
	self := Type{Name: TypeArray}
	self.Items = &self
	deep := Type{}
	for range value.MaxDepth {
		deep = Type{Name: TypeArray, Items: &Type{Name: deep.Name, Items: deep.Items}}
	}
	tests := []struct {
		name  string
		tool  Tool
		limit value.LimitName
	}{
		{"text that is not UTF-8", Tool{Name: "a\xff"}, ""},
		{"a tag that is not UTF-8", Tool{Tags: []string{"a\xff"}}, ""},
		{"a default that is no value", Tool{Params: []Param{{Default: 3, HasDefault: true}}}, ""},
		{"a type that holds itself", Tool{Returns: &self}, "depth"},
		{"types too deep", Tool{Returns: &deep}, "depth"},
		{"too many tags", Tool{Tags: make([]string, value.MaxNodes+1)}, "nodes"},
		{"too many parameters", Tool{Params: make([]Param, value.MaxNodes)}, "nodes"},
		{"too many values", Tool{Params: []Param{{Type: Type{Enum: make([]value.Value, value.MaxNodes)}}}}, "nodes"},
		{"too many values in all", Tool{Examples: []Example{{Expect: make(value.List, value.MaxNodes/2)}, {Expect: make(value.List, value.MaxNodes/2)}}}, "nodes"},
	}
	for _, tt := range tests {
		b, err := AppendTool(nil, &tt.tool)
		if err == nil {
			t.Errorf("%s: AppendTool = %d bytes, want an error", tt.name, len(b))
		} else if got := value.ErrorOf(err, value.Internal).Limit; got != tt.limit {
			t.Errorf("%s: limit %q, want %q (%v)", tt.name, got, tt.limit, err)
		}
	}
	full := Tool{Tags: make([]string, value.MaxNodes-paramSize), Params: make([]Param, 1)}
	b, err := AppendTool(nil, &full)
	if err != nil {
		t.Fatalf("a tool of as many parts as there may be: %v", err)
	}
	if _, err := DecodeTool(string(b)); err != nil {
		t.Errorf("it cannot be read back: %v", err)
	}
}

func TestDecodeToolRefuses(t *testing.T) {
	tool := typicalTool(1)
	good, err := AppendTool(nil, &tool)
	if err != nil {
		t.Fatal(err)
	}
	for n := range good { // cut off anywhere
		if _, err := DecodeTool(string(good[:n])); err == nil {
			t.Errorf("cut off at %d of %d: DecodeTool = nil, want an error", n, len(good))
		}
	}
	if _, err := DecodeTool(string(good) + "x"); err == nil || !strings.Contains(err.Error(), "1 bytes left over") {
		t.Errorf("more after the tool: got %v", err)
	}
	for version := range 256 {
		if _, err := DecodeTool(string(byte(version)) + string(good[1:])); (err == nil) != (version == toolVersion) {
			t.Errorf("version %d: got %v", version, err)
		}
	}
}

// What claims more than there is must not be allocated.
func TestDecodeToolAllocatesWhatWasSent(t *testing.T) {
	const sent = 50_000
	head := append([]byte{toolVersion}, make([]byte, 13+1+1+6)...) // all empty, up to the tags
	claim := func(skip int, n uint64) []byte {
		b := append(bytes.Clone(head), make([]byte, skip)...)
		return append(binary.AppendUvarint(b, n), make([]byte, sent)...)
	}
	tests := []struct {
		name string
		data []byte
	}{
		{"tags", claim(0, 1<<40)},
		{"needs", claim(3, sent/needSize)},
		{"grants", claim(4, sent/needSize)},
		{"hints", claim(5, sent/hintSize)},
		{"parameters", claim(6, sent/paramSize)},
		{"more parameters than bytes", claim(6, sent/paramSize+2)},
		{"examples", claim(7, sent/exampleSize)},
	}
	for _, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = DecodeTool(string(tt.data))
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(60*len(tt.data)); got > most {
			t.Errorf("%s: %d bytes sent, %d allocated, want at most %d", tt.name, len(tt.data), got, most)
		}
	}
}

// typicalTool is the 40-line tool of the design, with small changes.
func typicalTool(i int) Tool {
	name := fmt.Sprintf("word_count_%d", i)
	returns := Type{Name: TypeObject, Values: &Type{Name: TypeInteger}}
	return Tool{
		Name: name, Title: "Word count", Group: "files", Risky: false,
		Description: "Count the words of a text file.\n\nWords are what stands between white space. Use it for prose; for code see lines.",
		Hints:       Hints{ReadOnly: true, Idempotent: true},
		Params: []Param{
			{Name: "filepath", Type: Type{Name: TypeString}, Description: "File to read, relative to the working directory.", Required: true, Aliases: []string{"path"}},
			{Name: "min_length", Type: Type{Name: TypeInteger, Min: int64(1), Max: int64(100)}, Description: "Ignore shorter words.", Default: int64(1), HasDefault: true},
			{Name: "stop_words", Type: Type{Name: TypeArray, Items: &Type{Name: TypeString}}, Description: "Words that do not count.", Default: value.List{}, HasDefault: true},
			{Name: "mode", Type: Type{Name: TypeString, Enum: []value.Value{"all", "distinct"}}, Description: "Which words to count.", Default: "all", HasDefault: true},
		},
		Returns: &returns, ReturnsDoc: "words and distinct: how many in all, how many different.",
		Needs:    []Capability{{Name: "fs.read"}},
		Examples: []Example{{Description: "Count the README", Args: value.NewDict("filepath", "README.md", "min_length", int64(3))}},
		Tags:     []string{"text", "io"}, Version: "1.2.0", Timeout: 10 * time.Second,
		Location: Project, Path: ".cassidy/tools/" + name + ".star", Hash: strings.Repeat("0123456789abcdef", 4),
		State: Ready,
	}
}

func FuzzDecodeTool(f *testing.F) {
	for _, tool := range []Tool{{}, typicalTool(1), {Schema: []byte("{}"), Deprecated: &Deprecation{Since: "1"}, Hints: Hints{Other: map[string]bool{"a": true, "b": false}}}} {
		b, err := AppendTool(nil, &tool)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tool, err := DecodeTool(string(data))
		if err != nil {
			return
		}
		again, err := AppendTool(nil, &tool)
		if err != nil {
			t.Fatalf("AppendTool(DecodeTool(%x)): %v", data, err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("AppendTool(DecodeTool(b)) = %x, want %x", again, data)
		}
	})
}

func BenchmarkDecodeTool(b *testing.B) {
	const n = 10_000
	tools := make([]string, n)
	bytes := 0
	for i := range tools {
		tool := typicalTool(i)
		data, err := AppendTool(nil, &tool)
		if err != nil {
			b.Fatal(err)
		}
		tools[i] = string(data)
		bytes += len(data)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range tools {
			if _, err := DecodeTool(data); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/tool")
	b.ReportMetric(float64(bytes)/n, "bytes/tool")
}

// genTool makes tools with every field set in some of them.
func genTool() *rapid.Generator[Tool] {
	return rapid.Custom(func(t *rapid.T) Tool {
		text := func(name string) string { return valuetest.Text().Draw(t, name).(string) }
		number := func(name string) int64 { return rapid.Int64().Draw(t, name) }
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		tool := Tool{
			Name: text("name"), Title: text("title"), Description: text("description"), Group: text("group"),
			Risky: flag("risky"), AllowExtra: flag("allow extra"), ReturnsDoc: text("returns doc"),
			Params: genParams(2).Draw(t, "params"),
			Tags:   genTexts().Draw(t, "tags"), Loads: genTexts().Draw(t, "loads"), Warnings: genTexts().Draw(t, "warnings"),
			Version: text("version"), Timeout: time.Duration(number("timeout")), Overhead: int(number("overhead")), Available: text("available"), Undo: text("undo"),
			Revoked: rapid.Bool().Draw(t, "revoked"), OnlyCalls: rapid.Bool().Draw(t, "only calls"),
			Location: Location(text("location")), Path: text("path"), Hash: text("hash"), State: State(text("state")), Reason: text("reason"),
		}
		tool.Hints = Hints{ReadOnly: flag("read only"), Idempotent: flag("idempotent"), OpenWorld: flag("open world")}
		for _, name := range genTexts().Draw(t, "hints") {
			if tool.Hints.Other == nil {
				tool.Hints.Other = map[string]bool{}
			}
			tool.Hints.Other[name] = flag("hint")
		}
		tool.Limits = Limits{Steps: number("steps"), CPU: time.Duration(number("cpu")), Memory: number("memory"), Result: int(number("result"))}
		if s := text("schema"); s != "" {
			tool.Schema = []byte(s)
		}
		if flag("returns") {
			typ := genType(2).Draw(t, "returns")
			tool.Returns = &typ
		}
		for range rapid.IntRange(0, 2).Draw(t, "needs") {
			tool.Needs = append(tool.Needs, Capability{Name: text("capability"), Target: text("target")})
			tool.Granted = append(tool.Granted, Capability{Name: text("granted"), Target: text("target")})
		}
		if flag("deprecated") {
			tool.Deprecated = &Deprecation{Since: text("since"), Replacement: text("replacement"), Message: text("message")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "examples") {
			e := Example{Description: text("example"), HasExpect: flag("expects"), Expect: valuetest.Any().Draw(t, "expect")}
			if args, ok := valuetest.JSON().Draw(t, "args").(*value.Dict); ok {
				e.Args = args
			}
			tool.Examples = append(tool.Examples, e)
		}
		return tool
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

func genParams(depth int) *rapid.Generator[[]Param] {
	return rapid.Custom(func(t *rapid.T) []Param {
		var params []Param
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			p := Param{
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
func genType(depth int) *rapid.Generator[Type] {
	return rapid.Custom(func(t *rapid.T) Type {
		typ := Type{
			Name:     rapid.SampledFrom(append(TypeNames(), "", "later")).Draw(t, "name"),
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
