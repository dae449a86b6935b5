package value_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestInteger(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 63)
	if got := value.Integer(limit); got != value.Value(limit) {
		t.Errorf("Integer(2^63) = %v (%T), want the *big.Int", got, got)
	}
	if got := value.Integer(new(big.Int).Sub(limit, big.NewInt(1))); got != value.Value(int64(math.MaxInt64)) {
		t.Errorf("Integer(2^63-1) = %v (%T), want int64", got, got)
	}
}

func TestDictKeepsOrder(t *testing.T) {
	for _, n := range []int{0, 1, value.LinearEntries, value.LinearEntries + 1, 100} {
		d := &value.Dict{}
		for i := range n {
			d.Put(strings.Repeat("k", i), int64(i))
		}
		d.Put("", int64(0)) // again, or for the first time
		if want := max(n, 1); d.Len() != want {
			t.Errorf("%d keys: Len() = %d, want %d", n, d.Len(), want)
		}
		i := 0
		for k, v := range d.All() {
			if k != value.Value(strings.Repeat("k", i)) || v != value.Value(int64(i)) {
				t.Errorf("%d keys: entry %d = %v: %v, want %d k", n, i, k, v, i)
			}
			if got, ok := d.Get(k.(string)); !ok || got != v {
				t.Errorf("%d keys: Get(%q) = %v, %v, want %v, true", n, k, got, ok, v)
			}
			i++
		}
		if d.Has("absent") {
			t.Errorf("%d keys: Has(absent) = true, want false", n)
		}
	}
}

func TestDictOfNothing(t *testing.T) {
	var d *value.Dict
	if d.Len() != 0 || d.Has("a") || d.Text("a") != "" || d.IntOr("a", 7) != 7 || d.Bool("a") || d.Dict("a") != nil || d.Elements("a") != nil {
		t.Errorf("a nil dict holds something")
	}
	for k := range d.All() {
		t.Errorf("a nil dict yields %v", k)
	}
}

func TestDictReaders(t *testing.T) {
	d := value.NewDict("text", "t", "int", int64(3), "yes", true, "float", 3.0, "dict", value.NewDict("a", int64(1)), "list", value.List{int64(1)})
	if got := d.Text("text"); got != "t" {
		t.Errorf("Text(text) = %q, want %q", got, "t")
	}
	if got := d.Text("int"); got != "" {
		t.Errorf("Text(int) = %q, want none", got)
	}
	if got := d.IntOr("int", 7); got != 3 {
		t.Errorf("Int(int) = %d, want 3", got)
	}
	if got := d.IntOr("float", 7); got != 7 {
		t.Errorf("Int(float) = %d, want 7", got)
	}
	if got := d.Dict("dict"); got.Int("a") != 1 || d.Dict("list") != nil {
		t.Errorf("Dict(dict), Dict(list) = %v, %v, want a dict and nil", got, d.Dict("list"))
	}
	if got := d.Elements("list"); len(got) != 1 || got[0] != int64(1) || d.Elements("dict") != nil {
		t.Errorf("Elements(list), Elements(dict) = %v, %v, want one item and nil", got, d.Elements("dict"))
	}
	if !d.Bool("yes") || d.Bool("text") {
		t.Errorf("Bool(yes), Bool(text) = %v, %v, want true, false", d.Bool("yes"), d.Bool("text"))
	}
}

func TestNewDictPanics(t *testing.T) {
	for _, pairs := range [][]any{{"a"}, {1, 2}, {"a", make(chan int)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewDict(%v) did not panic", pairs)
				}
			}()
			value.NewDict(pairs...)
		}()
	}
}

// Keys are one key here if and only if they are equal in a script.
func TestDictKeysAsInScripts(t *testing.T) {
	nan2 := math.Float64frombits(0x7ff8_0000_0000_00ff)
	huge := math.Pow(2, 100)
	hugeInt, _ := new(big.Float).SetFloat64(huge).Int(nil)
	tests := []struct {
		name string
		a, b value.Value
		same bool
	}{
		{"int and float", int64(1), 1.0, true},
		{"zeros", 0.0, math.Copysign(0, -1), true},
		{"NaNs", math.NaN(), nan2, true},
		{"big int and float", hugeInt, huge, true},
		{"small big int", big.NewInt(5), int64(5), true},
		{"in tuples", value.Tuple{int64(1), "a"}, value.Tuple{1.0, "a"}, true},
		{"in tuples of tuples", value.Tuple{value.Tuple{hugeInt}}, value.Tuple{value.Tuple{huge}}, true},
		{"text and bytes", "a", []byte("a"), false},
		{"true and 1", true, int64(1), false},
		{"nil and empty", nil, "", false},
		{"half", 0.5, int64(0), false},
		{"int and its float's bits", int64(math.Float64bits(0.5)), 0.5, false},
		{"tuple and bytes of its form", value.Tuple{}, []byte{value.TagTuple, 0}, false},
		{"infinities", math.Inf(1), math.Inf(-1), false},
	}
	for _, tt := range tests {
		for _, before := range []int{0, value.LinearEntries + 1} {
			d := &value.Dict{}
			for i := range before {
				d.Put(strings.Repeat("x", i+1), nil)
			}
			if err := d.Set(tt.a, "first"); err != nil {
				t.Errorf("%s: Set(%v): %v", tt.name, tt.a, err)
			}
			if err := d.Set(tt.b, "second"); err != nil {
				t.Errorf("%s: Set(%v): %v", tt.name, tt.b, err)
			}
			if got := d.Len() == before+1; got != tt.same {
				t.Errorf("%s after %d keys: one key = %v, want %v", tt.name, before, got, tt.same)
			}
		}
	}
}

func TestDictRefusesKeys(t *testing.T) {
	cycle := make(value.Tuple, 1)
	cycle[0] = cycle
	for _, key := range []value.Value{value.List{}, value.Set{}, &value.Dict{}, value.Tuple{value.List{}}, value.Tuple{value.Tuple{&value.Dict{}}}, 3, cycle} {
		if err := new(value.Dict).Set(key, nil); err == nil {
			t.Errorf("Set(%T) = nil, want an error", key)
		}
	}
}

func TestEqual(t *testing.T) {
	tests := []struct {
		name string
		a, b value.Value
		want bool
	}{
		{"int and float", int64(1), 1.0, false},
		{"list and tuple", value.List{}, value.Tuple{}, false},
		{"text and bytes", "a", []byte("a"), false},
		{"nil", nil, nil, true},
		{"nil and false", nil, false, false},
		{"zeros", 0.0, math.Copysign(0, -1), false},
		{"NaN", math.NaN(), math.NaN(), true},
		{"order", value.NewDict("a", nil, "b", nil), value.NewDict("b", nil, "a", nil), false},
		{"nil dict and empty dict", (*value.Dict)(nil), &value.Dict{}, true},
		{"deep", value.List{value.NewDict("a", value.Set{int64(1)})}, value.List{value.NewDict("a", value.Set{int64(1)})}, true},
		{"no value", 3, 3, false},
	}
	for _, tt := range tests {
		if got := value.Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: Equal(%v, %v) = %v, want %v", tt.name, tt.a, tt.b, got, tt.want)
		}
		if got := value.Equal(tt.b, tt.a); got != tt.want {
			t.Errorf("%s: Equal(%v, %v) = %v, want %v", tt.name, tt.b, tt.a, got, tt.want)
		}
	}
}

func TestEqualToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Any().Draw(t, "v")
		if !value.Equal(v, v) {
			t.Fatalf("Equal(v, v) = false for %s", value.FormatJSON(v, ""))
		}
	})
}

func TestTypeOf(t *testing.T) {
	tests := []struct {
		v    value.Value
		want string
	}{
		{nil, "null"}, {true, "boolean"}, {int64(1), "integer"}, {valuetest.Big("9223372036854775808"), "integer"}, {1.0, "number"},
		{"", "string"}, {[]byte{}, "bytes"}, {value.List{}, "array"}, {value.Tuple{}, "array"}, {value.Set{}, "array"}, {&value.Dict{}, "object"}, {3, "int"},
	}
	for _, tt := range tests {
		if got := value.TypeOf(tt.v); got != tt.want {
			t.Errorf("TypeOf(%T) = %q, want %q", tt.v, got, tt.want)
		}
	}
}
