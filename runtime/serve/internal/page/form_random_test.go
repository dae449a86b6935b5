package page

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// randomSchema returns a schema, and a value that matches it.
func randomSchema(r *rand.Rand, depth int) (schema *value.Dict, v value.Value) {
	text := func() string {
		return []string{"", "a", " b ", "c\nd", "é\u200b", `"`, "null", "1", "true", "-", "x/y~z"}[r.IntN(11)]
	}
	kind := r.IntN(16)
	if depth == 0 {
		kind = r.IntN(9)
	}
	switch kind {
	case 0, 1:
		return value.NewDict("type", "string"), text()
	case 2:
		return value.NewDict("type", "integer"), []value.Value{int64(0), int64(-3), int64(1 << 60)}[r.IntN(3)]
	case 3:
		return value.NewDict("type", "number"), []value.Value{0.5, int64(2), -1e300}[r.IntN(3)]
	case 4:
		return value.NewDict("type", "boolean", "default", r.IntN(2) == 0), r.IntN(2) == 0
	case 5:
		list := value.List{"a", "", int64(1), nil}[r.IntN(3):]
		return value.NewDict("enum", list), list[r.IntN(len(list))]
	case 6:
		return value.NewDict("type", value.List{"string", "null"}), []value.Value{nil, "x", ""}[r.IntN(3)]
	case 7:
		return &value.Dict{}, []value.Value{nil, "x", "", value.List{}, value.NewDict("a", nil)}[r.IntN(5)]
	case 8:
		format := []string{"date", "time", "date-time"}[r.IntN(3)]
		return value.NewDict("type", "string", "format", format), []string{"2026-04-01", "12:30:00+01:00", "2026-04-01T12:30:00+02:00", "2026-04-01T12:30:00Z", "soon", ""}[r.IntN(6)]
	case 9, 10:
		item, _ := randomSchema(r, depth-1)
		list := value.List{}
		for range r.IntN(4) {
			list = append(list, randomValue(r, item, depth-1))
		}
		return value.NewDict("type", "array", "items", item), list
	case 11:
		item, _ := randomSchema(r, depth-1)
		d := &value.Dict{}
		for range r.IntN(3) {
			d.Put(text(), randomValue(r, item, depth-1))
		}
		return value.NewDict("type", "object", "additionalProperties", item), d
	case 12:
		a, x := randomSchema(r, depth-1)
		b, y := randomSchema(r, depth-1)
		if r.IntN(2) == 0 {
			x = y
		}
		return value.NewDict("oneOf", value.List{without(a, "title"), b}), x
	}
	properties, required, d := &value.Dict{}, value.List{}, &value.Dict{}
	for i := range r.IntN(4) {
		name := []string{"a", "b/c", "~", "é", "0"}[r.IntN(5)]
		s, v := randomSchema(r, depth-1)
		if i == 0 || r.IntN(2) == 0 {
			d.Put(name, v)
		}
		properties.Put(name, s)
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return value.NewDict("type", "object", "properties", properties, "required", required), d
}

// randomValue returns any value, which may match the schema.
func randomValue(r *rand.Rand, _ *value.Dict, depth int) value.Value {
	_, v := randomSchema(r, max(depth, 0))
	return v
}

// TestFormRandom fills forms of any schema with any values. What comes back is what was filled in, whether its
// controls can hold it or it is shown as JSON, and every form can be shown.
func TestFormRandom(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		properties, args := &value.Dict{}, &value.Dict{}
		for n := range 1 + r.IntN(3) {
			name := fmt.Sprint("p", n)
			s, v := randomSchema(r, 3)
			properties.Put(name, s)
			if r.IntN(4) > 0 {
				args.Put(name, v)
			}
		}
		schema := value.NewDict("type", "object", "properties", properties)
		f := NewForm(schema, zurich(t), clock())
		s := f.Fill(f.filled(args, true))
		want := f.stripped(args, true)
		if !value.EqualJSON(s.Args, want) {
			t.Fatalf("%s:\n  filled with %s\n  gives       %s\n  values      %v", value.FormatJSON(schema, ""), want, s.Args, s.input.Values)
		}
		v := FormView{Can: true, Deed: "Run"}
		f.Show(&v, s)
		text, err := p.RenderPart("form", &v)
		if err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			wellFormed(t, p, fmt.Sprint(i), text)
		}
	}
}
