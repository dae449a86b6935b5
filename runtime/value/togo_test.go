package value_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Part is embedded and nested.
type Part struct {
	Count int32           `json:"count"`
	Tags  []string        `json:"tags"`
	More  map[string]Part `json:"more,omitempty"`
}

type embeddedPart struct {
	Shared string `json:"shared"`
	Hidden string `json:"name"` // less nested ones win
}

// A sample has a field of each sort.
type sample struct {
	embeddedPart
	*Part   `json:",omitempty"`
	Name    string `json:"name"`
	Plain   int
	Skipped string `json:"-"`
	//lint:ignore SA5008 this is how a field gets the name -
	Dash string `json:"-,"`
	//lint:ignore U1000 it must be omitted
	unexported       string
	Empty            string             `json:"empty,omitempty"`
	Zero             time.Time          `json:"zero,omitzero"`
	Quoted           int64              `json:"quoted,string"`
	QuotedText       string             `json:"quoted_text,string"`
	QuotedPointer    *bool              `json:"quoted_pointer,string"`
	U8               uint8              `json:"u8"`
	U64              uint64             `json:"u64"`
	F32              float32            `json:"f32"`
	F64              float64            `json:"f64"`
	Yes              bool               `json:"yes"`
	Bytes            []byte             `json:"bytes"`
	Raw              json.RawMessage    `json:"raw"`
	Number           json.Number        `json:"number"`
	Big              *big.Int           `json:"big"`
	BigValue         big.Int            `json:"big_value"`
	Time             time.Time          `json:"time"`
	Duration         time.Duration      `json:"duration"`
	Address          netip.Addr         `json:"address"`
	Pointer          **Part             `json:"pointer"`
	List             []Part             `json:"list"`
	Array            [3]int8            `json:"array"`
	Map              map[string]*int    `json:"map"`
	ByInt            map[int]string     `json:"by_int"`
	ByAddress        map[netip.Addr]int `json:"by_address"`
	Any              any                `json:"any"`
	Dict             *value.Dict        `json:"dict"`
	Items            value.List         `json:"items"`
	Pair             value.Tuple        `json:"pair"`
	Distinct         value.Set          `json:"distinct"`
	PointerMarshaler loud               `json:"loud"`
}

// A loud writes itself in capitals; its methods have pointer receivers.
type loud struct{ text string }

func (l *loud) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToUpper(l.text)) }
func (l *loud) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &l.text); err != nil {
		return errors.New("not loud")
	}
	l.text = strings.ToLower(l.text)
	return nil
}

func genSample() *rapid.Generator[sample] {
	return rapid.Custom(func(t *rapid.T) sample {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		part := func(depth int) Part {
			in := Part{Count: rapid.Int32().Draw(t, "count"), Tags: rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(rapid.String(), 0, 3)).Draw(t, "tags")}
			if depth > 0 && rapid.Bool().Draw(t, "nested") {
				in.More = map[string]Part{text("key"): {Count: 1}}
			}
			return in
		}
		day := time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(t, "time"), rapid.Int64Range(0, 999999999).Draw(t, "nano")).UTC()
		s := sample{
			embeddedPart: embeddedPart{Shared: text("shared")},
			Name:         text("name"), Plain: rapid.Int().Draw(t, "plain"), Dash: text("dash"), Empty: text("empty"), Zero: day,
			Quoted: rapid.Int64().Draw(t, "quoted"), QuotedText: text("quoted text"),
			U8: rapid.Uint8().Draw(t, "u8"), U64: rapid.Uint64().Draw(t, "u64"), F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"),
			Yes: rapid.Bool().Draw(t, "yes"), Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), Raw: json.RawMessage(`{"a":[1,2.5]}`), Number: "12",
			Time: day, Duration: time.Duration(rapid.Int64().Draw(t, "duration")), Address: netip.MustParseAddr("10.0.0.1"),
			Array: [3]int8{1, -2, 3}, ByInt: map[int]string{rapid.Int().Draw(t, "key"): "x"}, ByAddress: map[netip.Addr]int{netip.MustParseAddr("::1"): 1},
			Any: valuetest.Any().Draw(t, "any"), PointerMarshaler: loud{"quiet"},
		}
		if rapid.Bool().Draw(t, "full") {
			yes, n, in := true, 7, part(1)
			p := &in
			i, _ := valuetest.Integer().Draw(t, "big").(*big.Int)
			in.Tags = append([]string{}, in.Tags...)
			s.Part, s.QuotedPointer, s.Big, s.Pointer, s.List = &Part{Count: 3}, &yes, i, &p, []Part{part(1), part(0)}
			s.BigValue.SetInt64(rapid.Int64().Draw(t, "big value"))
			s.Map, s.Dict, s.Items, s.Pair, s.Distinct = map[string]*int{"n": &n, "nil": nil}, value.NewDict("a", 1), value.List{"x"}, value.Tuple{int64(1)}, value.Set{"a"}
		}
		return s
	})
}

// sameGo compares Go values; fields that hold values by content.
var sameGo = cmp.Options{
	cmp.AllowUnexported(sample{}, embeddedPart{}, loud{}),
	cmp.Comparer(func(a, b *big.Int) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b big.Int) bool { return a.Cmp(&b) == 0 }),
	cmp.Comparer(func(a, b *value.Dict) bool { return a == b || a != nil && b != nil && value.Equal(a, b) }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Any" }, cmp.Comparer(func(a, b any) bool { return value.Equal(a, b) })),
	cmpopts.EquateNaNs(),
}

// TestGoValuesRoundTrip checks that ToGo reads back what FromGo writes, and that the
// codec accepts it as a value.
func TestGoValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSample().Draw(t, "sample")
		v, err := value.FromGo(s)
		if err != nil {
			t.Fatalf("FromGo: %v", err)
		}
		data, err := value.Append(nil, v)
		if err != nil {
			t.Fatalf("FromGo gave what is not a value: %v", err)
		}
		if again, err := value.FromGo(v); err != nil || again != v {
			t.Fatalf("FromGo of a value = %v, %v, want the same", again, err)
		}
		got, err := value.ToGo[sample](v)
		if err != nil {
			t.Fatalf("ToGo: %v", err)
		}
		if diff := cmp.Diff(s, got, sameGo); diff != "" {
			t.Fatalf("ToGo(FromGo(x)) (-want +got):\n%s", diff)
		}
		v, _ = value.Decode(data)
		if _, err := value.ToGo[*sample](v); err != nil {
			t.Fatalf("ToGo of a value from the codec: %v", err)
		}
	})
}

// TestGoStructsAsJSON checks that a struct is encoded as by encoding/json, except where
// FromGo documents otherwise.
func TestGoStructsAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSample().Draw(t, "sample")
		s.QuotedText = "a" // not escaped for HTML
		s.Any, s.Duration, s.F32, s.F64, s.Bytes = nil, 0, 0.5, 0.25, append([]byte{}, s.Bytes...)
		s.Dict, s.Items, s.Pair, s.Distinct = &value.Dict{}, value.List{}, value.Tuple{}, value.Set{}
		v, err := value.FromGo(&s)
		if err != nil {
			t.Fatal(err)
		}
		v.(*value.Dict).Put("duration", int64(0))
		want, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := value.ParseJSON(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		read, err := value.ParseJSON(got)
		if err != nil || !value.Equal(read, wanted) {
			t.Fatalf("FromGo = %s, %v, want as encoding/json: %s", got, err, want)
		}
	})
}

func TestFromGoErrors(t *testing.T) {
	type node struct {
		Next  *node
		Items []any
		F     func()
	}
	cycle := &node{}
	cycle.Next = cycle
	type loop *loop
	var endless loop
	endless = &endless
	list := []any{nil}
	list[0] = list
	dict := &value.Dict{}
	dict.Put("self", dict)
	many := make([]int, value.MaxNodes+1)
	tests := []struct {
		in   any
		kind value.Kind
		text string
	}{
		{make(chan int), value.Invalid, "unsupported Go type: chan int"},
		{node{F: func() {}}, value.Invalid, "F: unsupported Go type: func()"},
		{[]any{1, node{Items: []any{"a", complex(1, 1)}}}, value.Invalid, "[1].Items[1]: unsupported Go type: complex128"},
		{map[float64]int{1: 1}, value.Invalid, "unsupported type of a map key: float64"},
		{map[any]int{"a": 1}, value.Invalid, "unsupported type of a map key: interface"},
		{map[string]any{"odd key": make(chan int)}, value.Invalid, `["odd key"]: unsupported Go type: chan int`},
		{"\xff", value.Invalid, "not UTF-8"},
		{value.List{"a", "\xff"}, value.Invalid, "[1]: the string is not UTF-8"},
		{map[string]int{"\xff": 1}, value.Invalid, "map key: the string is not UTF-8"},
		{json.Number("1x"), value.Invalid, `"1x" is not a number`},
		{json.RawMessage("{"), value.Invalid, "MarshalJSON"},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), value.Invalid, "Time.MarshalJSON"},
		{cycle, value.Limit, "nested more than 64 levels deep"},
		{endless, value.Limit, "nested more than 64 levels deep"},
		{list, value.Limit, "nested more than 64 levels deep"},
		{dict, value.Limit, "nested more than 64 levels deep"},
		{many, value.Limit, "more than 100000 elements"},
		{struct {
			F float64 `json:"f,string"`
		}{math.NaN()}, value.Invalid, "f: "},
	}
	for _, tt := range tests {
		v, err := value.FromGo(tt.in)
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Kind != tt.kind || !strings.Contains(e.Message(), tt.text) || v != nil {
			t.Errorf("FromGo(%T) = %v, %v of kind %v, want an error of kind %s with %q", tt.in, v != nil, err, value.KindOf(err), tt.kind, tt.text)
		}
	}
}

// TestFromGoInValues checks that Go values inside values are encoded, and that the
// arguments do not change.
func TestFromGoInValues(t *testing.T) {
	d := &value.Dict{}
	d.Put("n", 3)
	d.Put("same", "x")
	v, err := value.FromGo(value.List{d, value.Tuple{uint8(1)}})
	want := value.List{value.NewDict("n", int64(3), "same", "x"), value.Tuple{int64(1)}}
	if err != nil || !value.Equal(v, want) {
		t.Errorf("FromGo = %v, %v, want %v", v, err, want)
	}
	if n, _ := d.Get("n"); n != 3 {
		t.Errorf("FromGo changed the dict: n = %T", n)
	}
	n, err := value.ToGo[map[string]any](d)
	if err != nil || n["n"] != int64(3) {
		t.Errorf("ToGo = %v, %v, want the int as a value", n, err)
	}
}

func TestToGo(t *testing.T) {
	big1 := valuetest.Big("9223372036854775808")
	check := func(got any, err error, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, sameGo); err != nil || diff != "" {
			t.Errorf("ToGo = %v, %v (-want +got):\n%s", got, err, diff)
		}
	}
	i8, err := value.ToGo[int8](3.0)
	check(i8, err, int8(3))
	u, err := value.ToGo[uint64](big1)
	check(u, err, uint64(1)<<63)
	f, err := value.ToGo[float32](int64(1) << 40)
	check(f, err, float32(1<<40))
	inf, err := value.ToGo[float32](math.Inf(1))
	check(inf, err, float32(math.Inf(1)))
	b, err := value.ToGo[[]byte]("aGk=")
	check(b, err, []byte("hi"))
	s, err := value.ToGo[[]int](value.Set{int64(1), int64(2)})
	check(s, err, []int{1, 2})
	tuple, err := value.ToGo[[2]string](value.Tuple{"a", "b"})
	check(tuple, err, [2]string{"a", "b"})
	set, err := value.ToGo[value.Set](value.List{"a", "b", "a"})
	check(set, err, value.Set{"a", "b"})
	a, err := value.ToGo[any](value.Tuple{int64(1)})
	check(a, err, value.Tuple{int64(1)})
	d, err := value.ToGo[time.Duration](int64(5))
	check(d, err, time.Duration(5))
	byInt, err := value.ToGo[map[int8]string](func() value.Value { d := value.NewDict("1", "a"); _ = d.Set(int64(2), "b"); return d }())
	check(byInt, err, map[int8]string{1: "a", 2: "b"})
	p, err := value.ToGo[*Part](nil)
	check(p, err, (*Part)(nil))
	none, err := value.ToGo[struct{ P Part }](value.NewDict("P", nil, "unknown", 1))
	check(none.P, err, Part{})
	nothing, err := value.ToGo[struct{}](nil)
	check(nothing, err, struct{}{})
	huge, err := value.ToGo[big.Int](big1)
	check(huge, err, *big1.(*big.Int))
	n, err := value.ToGo[json.Number](2.5)
	check(n, err, json.Number("2.5"))
	nilDict, err := value.ToGo[struct{ N int }]((*value.Dict)(nil))
	check(nilDict, err, struct{ N int }{})
	for _, d := range []*value.Dict{value.NewDict("n", 1), value.NewDict("N", 1), value.NewDict("n", 2, "N", 1), value.NewDict("N", 1, "n", 2)} {
		got, err := value.ToGo[struct{ N int }](d)
		check(got, err, struct{ N int }{1})
	}
	dict := value.NewDict("a", 1)
	if same, err := value.ToGo[*value.Dict](dict); err != nil || same != dict {
		t.Errorf("ToGo[*Dict] = %v, %v, want the dict itself", same, err)
	}
	copied, err := value.ToGo[value.Dict](dict)
	copied.Put("b", 2)
	if err != nil || dict.Len() != 1 {
		t.Errorf("ToGo[Dict] shares the dict, which is %s now; %v", dict, err)
	}
}

func TestToGoErrors(t *testing.T) {
	type order struct {
		Count int32 `json:"count"`
		Note  *string
	}
	type orders struct {
		Orders []order `json:"orders"`
	}
	type loop *loop
	deep := value.Value(nil)
	for range value.MaxDepth + 2 {
		deep = value.List{deep}
	}
	type tree []tree
	try := func(name string, err error, kind value.Kind, text string) {
		t.Helper()
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Kind != kind || !strings.Contains(e.Error(), text) {
			t.Errorf("%s: %v of kind %v, want kind %s with %q", name, err, value.KindOf(err), kind, text)
		}
	}
	at := func(v value.Value) error {
		_, err := value.ToGo[orders](value.NewDict("orders", value.List{value.NewDict(), value.NewDict(), value.NewDict("count", v)}))
		return err
	}
	try("too large", at(int64(1)<<40), value.Invalid, "orders[2].count: expected an integer from -2147483648 to 2147483647 but got 1099511627776")
	try("a fraction", at(1.5), value.Invalid, "orders[2].count: expected an integer but got 1.5")
	try("not a number", at(math.NaN()), value.Invalid, "orders[2].count: expected an integer but got NaN")
	try("text", at("3"), value.Invalid, "orders[2].count: expected an integer but got string")
	_, err := value.ToGo[orders](value.List{})
	try("a list", err, value.Invalid, "expected an object but got array")
	_, err = value.ToGo[[]string]("a")
	try("text for a slice", err, value.Invalid, "expected an array but got string")
	_, err = value.ToGo[[]byte]("not base64")
	try("bytes", err, value.Invalid, "expected bytes or base64 text")
	_, err = value.ToGo[string]([]byte("a"))
	try("bytes for text", err, value.Invalid, "expected a string but got bytes")
	_, err = value.ToGo[[2]int](value.List{int64(1)})
	try("an array", err, value.Invalid, "expected a list of length 2 but got 1")
	_, err = value.ToGo[uint8](int64(-1))
	try("negative", err, value.Invalid, "expected an integer from 0 to 255 but got -1")
	_, err = value.ToGo[float32](1e300)
	try("a float", err, value.Invalid, "expected a number in the range of float32")
	_, err = value.ToGo[float64](value.Integer(new(big.Int).Lsh(big.NewInt(1), 2000)))
	try("a large integer", err, value.Invalid, "expected a number in the range of float64")
	_, err = value.ToGo[time.Time]("yesterday")
	try("a time", err, value.Invalid, "RFC 3339")
	_, err = value.ToGo[time.Duration]("soon")
	try("a duration", err, value.Invalid, "expected a duration")
	_, err = value.ToGo[map[int8]int](value.NewDict("1000", 1))
	try("a key", err, value.Invalid, "the key 1000: expected an integer from -128 to 127")
	_, err = value.ToGo[map[string]int](value.NewDict("a", "b"))
	try("a value of a map", err, value.Invalid, "a: expected an integer")
	_, err = value.ToGo[error]("a")
	try("an interface", err, value.Invalid, "decode: unsupported Go type error")
	_, err = value.ToGo[func()]("a")
	try("a function", err, value.Invalid, "decode: unsupported Go type func()")
	_, err = value.ToGo[loop](int64(1))
	try("an endless pointer", err, value.Limit, "nested more than")
	_, err = value.ToGo[tree](deep)
	try("a deep value", err, value.Limit, "nested more than")
	_, err = value.ToGo[loud](int64(1))
	try("an unmarshaler", err, value.Invalid, "not loud")
	_, err = value.ToGo[netip.Addr]("x")
	try("a text unmarshaler", err, value.Invalid, "ParseAddr")
	_, err = value.ToGo[struct {
		N int `json:",string"`
	}](value.NewDict("N", "x"))
	try("quoted", err, value.Invalid, `N: expected a string that contains JSON of type int but got "x"`)
	_, err = value.ToGo[struct{ *embeddedPart }](value.NewDict("shared", "x"))
	try("an unexported embedded pointer", err, value.Invalid, "cannot be set")
}

func FuzzToGo(f *testing.F) {
	f.Add([]byte(`{"name":"a","count":1,"quoted":"3","list":[{"tags":["x"]}],"array":[1,2,3],"by_int":{"1":"a"},"time":"2026-01-31T12:00:00Z"}`))
	f.Add([]byte(`{"loud":"A","raw":{"a":1},"number":1e3,"big":123456789012345678901234567890,"pointer":{"more":{"a":{"count":2}}},"duration":"1s"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.ParseJSON(data)
		if err != nil {
			return
		}
		s, err := value.ToGo[sample](v)
		if err != nil {
			if e, ok := err.(*value.Error); !ok || e.Kind != value.Invalid && e.Kind != value.Limit {
				t.Fatalf("ToGo: %#v", err)
			}
			return
		}
		x, err := value.FromGo(s)
		if err != nil {
			return // a number may have too many digits now, or a time no zone
		}
		again, err := value.ToGo[sample](x)
		if err != nil {
			t.Fatalf("ToGo of what FromGo gave: %v", err)
		}
		if s.Number == "" || s.Raw == nil {
			return // they are written as 0 and null; omitempty leaves out what is empty
		}
		if diff := cmp.Diff(s, again, sameGo, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("ToGo(FromGo(x)) (-want +got):\n%s", diff)
		}
	})
}
