package engine_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaEcho is a tool that returns its argument v.
var luaEcho = luaTool("return args.v")

func TestLuaValues(t *testing.T) {
	e := both(t, "none")
	dict := func(pairs ...value.Value) *value.Dict {
		d := &value.Dict{}
		for i := 0; i < len(pairs); i += 2 {
			if err := d.Set(pairs[i], pairs[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	for _, c := range []struct{ in, want value.Value }{
		{nil, nil},
		{true, true},
		{int64(1) << 53, int64(1) << 53},
		{-int64(1) << 53, -int64(1) << 53},
		{2.5, 2.5},
		{3.0, int64(3)},
		{1e300, 1e300},
		{math.Inf(-1), math.Inf(-1)},
		{"", ""},
		{"a\x00ö", "a\x00ö"},
		{[]byte("text"), "text"},
		{[]byte{0xff, 0}, []byte{0xff, 0}},
		{value.List{int64(1), nil, "x"}, value.List{int64(1), nil, "x"}},
		{value.List{nil, nil}, value.List{nil, nil}},
		{value.Tuple{int64(1)}, value.List{int64(1)}},
		{value.Set{"a", "b"}, value.List{"a", "b"}},
		{value.List{}, value.List{}},
		{&value.Dict{}, value.List{}},
		{dict("z", int64(1), "a", nil, "m", value.List{}), dict("z", int64(1), "a", nil, "m", value.List{})},
		{dict(int64(5), "five", "x", "y"), dict(int64(5), "five", "x", "y")},
		{dict("x", "y", int64(1), "one"), dict(int64(1), "one", "x", "y")},
		{dict(int64(1), "a", int64(2), "b"), value.List{"a", "b"}},
		{int64(1)<<53 + 1, int64(1)<<53 + 1},
		{int64(math.MinInt64), int64(math.MinInt64)},
		{new(big.Int).Lsh(big.NewInt(1), 70), new(big.Int).Lsh(big.NewInt(1), 70)},
		{value.List{int64(1) << 60}, value.List{int64(1) << 60}},
		{dict(int64(1)<<60, "key"), dict(int64(1)<<60, "key")},
		{dict(true, "t", 1.5, "f", nil, "n", []byte{0xff}, "b"), dict(true, "t", 1.5, "f", nil, "n", []byte{0xff}, "b")},
	} {
		out, err := e.Run(t.Context(), luaEcho, tool.Call{Args: value.NewDict("v", c.in)}, nil)
		if err != nil || !value.Equal(out.Value, c.want) {
			t.Errorf("echo(%#v) = %#v, %v; want %#v", c.in, out.Value, err, c.want)
		}
	}
	for _, c := range []struct {
		in   value.Value
		want string
	}{
		{dict(value.Tuple{"a"}, "x"), "argument 'v': a dict with a tuple as key cannot be passed to Lua"},
		{dict(math.NaN(), "x"), "argument 'v': a dict with NaN as key cannot be passed to Lua"},
	} {
		_, err := e.Run(t.Context(), luaEcho, tool.Call{Args: value.NewDict("v", c.in)}, nil)
		if got := value.ErrorOf(err, value.Internal); got == nil || got.Kind != value.Failed || !strings.HasPrefix(got.Message(), c.want) {
			t.Errorf("echo(%v): %v, want %s", c.in, err, c.want)
		}
	}
}

// TestLuaLargeIntegers uses integers that Lua numbers cannot represent.
func TestLuaLargeIntegers(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"local n = pure.big() return {n, tostring(n), 'id ' .. n, n .. 5, n == pure.big(), n == 5, type(n)}",
			`[1152921504606846976,"1152921504606846976","id 1152921504606846976","11529215046068469765",true,false,"userdata"]`},
		{"local n = pure.big() return {n < n, n <= n, n > n, pure.encode(n)}", `[false,true,false,{"value":1152921504606846976}]`},
	} {
		got, _, err := runLua(t, luaTool(c.body), nil)
		if err != nil || got != c.want {
			t.Errorf("%s = %s, %v; want %s", c.body, got, err, c.want)
		}
	}
	for _, c := range []struct{ body, want string }{
		{"return pure.big() + 1", "the integer 1152921504606846976 cannot be represented exactly as a Lua number"},
		{"return -pure.big()", "the integer 1152921504606846976 cannot be represented exactly as a Lua number"},
		{"return 2 * pure.big()", "the integer 1152921504606846976 cannot be represented exactly as a Lua number"},
		{"return pure.big() .. {}", "attempt to concatenate a table value"},
		{"return pure.big() < 5", "attempt to compare"},
	} {
		_, _, err := runLua(t, luaTool(c.body), nil)
		if got := value.ErrorOf(err, value.Internal); got == nil || !strings.Contains(got.Message(), c.want) {
			t.Errorf("%s: %v, want %s", c.body, err, c.want)
		}
	}
}

// TestLuaTables returns tables of a script.
func TestLuaTables(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"return {1, 2, 3}", "[1,2,3]"},
		{"return {[2] = 'b', [1] = 'a'}", `["a","b"]`},
		{"return {1, nil, 3}", `{"1":1,"3":3}`},
		{"return {1, null, 3}", "[1,null,3]"},
		{"return {n = null}", `{"n":null}`},
		{"return null", "null"},
		{"return {0.1 + 0.2, 1e15, -0, 2^53, 2^53 + 2}", "[0.30000000000000004,1000000000000000,0,9007199254740992,9007199254740994.0]"},
		{"return {[0] = 'zero', 'one', x = 'X'}", `{"1":"one","0":"zero","x":"X"}`},
		{"local t = {} t.b = 1 t.a = 2 t.c = 3 t.a = 4 return t", `{"b":1,"a":4,"c":3}`},
		{"local t = {} t.b = 1 t.a = 2 t.b = nil t.c = 3 t.b = 5 return t", `{"b":5,"a":2,"c":3}`},
		{"local t = {} for i = 20, 1, -1 do t['k' .. i] = i end local n = 20 for k in pairs(t) do if t[k] ~= n then return k end n = n - 1 end return 'in order'", `"in order"`},
		{"return setmetatable({1}, {__index = function() return 2 end, __len = function() return 9 end})", "[1]"},
		{"local t = {1, 2} table.remove(t) return t", "[1]"},
		{"local t = {1, 2} t[2] = nil return t", "[1]"},
	} {
		got, _, err := runLua(t, luaTool(c.body), nil)
		if err != nil || got != c.want {
			t.Errorf("%s = %s, %v; want %s", c.body, got, err, c.want)
		}
	}
	for _, c := range []struct{ body, want string }{
		{"local t = {} t.t = t return t", "the value is nested more than 64 levels deep, or contains itself"},
		{"local t = {} for i = 1, 100 do t = {t} end return t", "the value is nested more than 64 levels deep"},
		{"local t = {1} for i = 1, 40 do t = {t, t} end return t", "the value has more than 100000 elements in total"},
		{"local t = {} for i = 1, 100001 do t[i] = i end return t", "the value has more than 100000 elements in total"},
		{"return {[{}] = 1}", "expected data but got a table that has a table as a key"},
		{"return {print = print}", "expected data but got a function"},
		{"return {[print] = 1}", "expected data but got a function"},
		{"return pure.encode({f = print})", "pure.encode: expected data but got a function"},
	} {
		_, _, err := runLua(t, luaTool(c.body), nil)
		if got := value.ErrorOf(err, value.Internal); got == nil || !strings.HasPrefix(got.Message(), c.want) {
			t.Errorf("%s: %v, want %s", c.body, err, c.want)
		}
	}
	fits := "local t = {1} for i = 1, 63 do t = {t} end return t"
	if _, _, err := runLua(t, luaTool(fits), nil); err != nil {
		t.Errorf("%s: %v, want no error", fits, err)
	}
}

// afterLua returns a value as it is after conversion to Lua and back.
func afterLua(v value.Value) value.Value {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v)
		}
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
	case *value.Dict:
		if v.Len() == 0 {
			return value.List{}
		}
		d := &value.Dict{}
		for k, x := range v.All() {
			d.Put(k.(string), afterLua(x))
		}
		return d
	}
	items, ok := value.Elements(v)
	if !ok {
		return v
	}
	list := make(value.List, len(items))
	for i, item := range items {
		list[i] = afterLua(item)
	}
	return list
}

func luaValueGen() *rapid.Generator[value.Value] {
	leaf := rapid.OneOf(
		rapid.Just[value.Value](nil),
		rapid.Map(rapid.Bool(), func(b bool) value.Value { return b }),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(i int64) value.Value { return i }),
		rapid.Map(rapid.Float64(), func(f float64) value.Value { return f }),
		rapid.Map(rapid.String(), func(s string) value.Value { return s }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) value.Value { return b }),
	)
	return rapid.Custom(func(t *rapid.T) value.Value { return luaValueOf(t, leaf, 4) })
}

func luaValueOf(t *rapid.T, leaf *rapid.Generator[value.Value], depth int) value.Value {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 || kind < 3 {
		return leaf.Draw(t, "leaf")
	}
	n := rapid.IntRange(0, 12).Draw(t, "length")
	items := make([]value.Value, n)
	d := &value.Dict{}
	for i := range items {
		items[i] = luaValueOf(t, leaf, depth-1)
		d.Put(fmt.Sprintf("%s%d", rapid.StringN(0, 3, -1).Draw(t, "key"), i), items[i])
	}
	keys := value.Set{} // what a set may hold, and nothing twice
	for k := range d.All() {
		keys = append(keys, k)
	}
	return []value.Value{value.List(items), value.Tuple(items), keys, d}[kind-3]
}

func TestLuaRoundTrip(t *testing.T) {
	e := both(t, "none")
	rapid.Check(t, func(t *rapid.T) {
		v := luaValueGen().Draw(t, "value")
		out, err := e.Run(t.Context(), luaEcho, tool.Call{Args: value.NewDict("v", v)}, nil)
		if want := afterLua(v); err != nil || !value.Equal(out.Value, want) {
			t.Fatalf("echo(%#v) = %#v, %v; want %#v", v, out.Value, err, want)
		}
	})
}
