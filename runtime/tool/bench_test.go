package tool

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The arguments and results of most calls look like these.
func benchTool() *Tool {
	return &Tool{Name: "slug", Description: "d", Params: []Param{{Name: "input", Type: Type{Name: TypeString}, Required: true}}}
}

const benchJSON = `{"filepath": "docs/guide.md", "min_length": 3, "ratio": 0.25, "flags": ["a", "b", "c"], "nested": {"deep": true, "none": null, "text": "a\nb"}}`

// The allocations of what every call does are a promise of the design; so many
// and no more.
func TestAllocations(t *testing.T) {
	tool, args := benchTool(), value.NewDict("input", "Hello World")
	whole := &Tool{Name: "t", Params: []Param{required("n", Type{Name: TypeInteger, Min: int64(1), Max: int64(9)}), optional("m", Type{Name: TypeString})}}
	wholeArgs := value.NewDict("n", int64(3))
	buf := make([]byte, 0, 4096)
	val := readAll(t, benchJSON)
	encoded, err := value.Append(nil, val)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		most float64
		do   func() error
	}{
		{"Check of one string", 4, func() error { _, err := tool.Check(args); return err }},
		{"Check of a bounded integer", 4, func() error { _, err := whole.Check(wholeArgs); return err }},
		{"AppendJSON", 0, func() error { _, err := value.AppendJSON(buf, val); return err }},
		{"Append", 0, func() error { _, err := value.Append(buf, val); return err }},
		{"ParseJSON", 45, func() error { _, err := value.ParseJSON([]byte(benchJSON)); return err }},
		{"Decode", 35, func() error { _, err := value.Decode(encoded); return err }},
		{"Equal of texts", 0, func() error { value.Equal("a", "b"); return nil }},
		{"Allows", 0, func() error { Capability{"fs.read", "docs/**"}.Allows(Capability{"fs.read", "docs/a.md"}); return nil }},
	}
	for _, tt := range tests {
		var err error
		if got := testing.AllocsPerRun(100, func() { err = tt.do() }); got > tt.most || err != nil {
			t.Errorf("%s: %v allocations, want at most %v (%v)", tt.name, got, tt.most, err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	b.Run("one string", func(b *testing.B) {
		tool, args := benchTool(), value.NewDict("input", "Hello World")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tool.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pattern", func(b *testing.B) {
		tool, args := benchTool(), value.NewDict("input", "Hello World")
		tool.Params[0].Type.Pattern = "^[A-Za-z ]+$"
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tool.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("nested", func(b *testing.B) {
		tool := richTool()
		args := tool.Examples[0].Args
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tool.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("raw schema", func(b *testing.B) {
		rich := richTool()
		schema, err := rich.ArgsSchema()
		if err != nil {
			b.Fatal(err)
		}
		tool := &Tool{Name: "t", Description: "d", Schema: []byte(value.FormatJSON(schema, ""))}
		if err := tool.Validate(); err != nil {
			b.Fatal(err)
		}
		args := rich.Examples[0].Args
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tool.Check(args); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	long := `[` + strings.Repeat(benchJSON+",", 1000) + `null]`
	for _, text := range []struct{ name, json string }{{"short", benchJSON}, {"long", long}} {
		v := readAll(b, text.json)
		b.Run("parse "+text.name, func(b *testing.B) {
			b.SetBytes(int64(len(text.json)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := value.ParseJSON([]byte(text.json)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("append "+text.name, func(b *testing.B) {
			b.SetBytes(int64(len(text.json)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = value.AppendJSON(buf[:0], v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCodec(b *testing.B) {
	v := readAll(b, `[`+strings.Repeat(benchJSON+",", 1000)+`null]`)
	data, err := value.Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			if buf, err = value.Append(buf[:0], v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := value.Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
