package tool

import (
	"math"
	"math/big"

	"pgregory.net/rapid"
)

// The generators of this file make values for property tests. Small and odd
// ones come often: it is there that things break.

// genValue makes any value.
func genValue() *rapid.Generator[Value] { return genValueOf(3) }

// genJSON makes a value that JSON has a form for and gives back the same: no
// bytes, tuples or sets, and only strings as keys.
func genJSON() *rapid.Generator[Value] { return genJSONOf(3) }

func genValueOf(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 6
		if depth > 0 {
			kinds = 10
		}
		items := func() []Value {
			return rapid.SliceOfN(genValueOf(depth-1), 0, 4).Draw(t, "items")
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0, 1:
			return genScalar().Draw(t, "scalar")
		case 2:
			return genText().Draw(t, "text")
		case 3:
			return genFloat().Draw(t, "float")
		case 4:
			return genInteger().Draw(t, "integer")
		case 5:
			return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")...)
		case 6:
			return append(List{}, items()...)
		case 7:
			return append(Tuple{}, items()...)
		case 8:
			return genSet(depth).Draw(t, "set")
		}
		d := &Dict{}
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			if err := d.Set(genKey(depth-1).Draw(t, "key"), genValueOf(depth-1).Draw(t, "value")); err != nil {
				t.Fatalf("Set: %v", err)
			}
		}
		return d
	})
}

func genSet(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		var d Dict
		for _, k := range rapid.SliceOfN(genKey(depth-1), 0, 12).Draw(t, "elements") {
			if err := d.Set(k, nil); err != nil {
				t.Fatalf("Set: %v", err)
			}
		}
		set := Set{}
		for k := range d.All() {
			set = append(set, k)
		}
		return set
	})
}

// genKey makes what can be a key or an element of a set.
func genKey(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 5
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return genScalar().Draw(t, "scalar")
		case 1, 2:
			return genText().Draw(t, "text")
		case 3:
			return rapid.OneOf(genFloat(), genInteger()).Draw(t, "number")
		case 4:
			return rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "bytes")
		}
		return append(Tuple{}, rapid.SliceOfN(genKey(depth-1), 0, 3).Draw(t, "tuple")...)
	})
}

func genJSONOf(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return genScalar().Draw(t, "scalar")
		case 1:
			return genText().Draw(t, "text")
		case 2:
			return genFloat().Filter(func(v Value) bool {
				f := v.(float64)
				return !math.IsNaN(f) && !math.IsInf(f, 0)
			}).Draw(t, "float")
		case 3:
			return genInteger().Draw(t, "integer")
		case 4:
			return append(List{}, rapid.SliceOfN(genJSONOf(depth-1), 0, 4).Draw(t, "items")...)
		}
		d := &Dict{}
		for _, name := range rapid.SliceOfN(genText(), 0, 12).Draw(t, "names") {
			d.Put(name.(string), genJSONOf(depth-1).Draw(t, "value"))
		}
		return d
	})
}

func genScalar() *rapid.Generator[Value] {
	return rapid.SampledFrom([]Value{nil, false, true, int64(0), int64(1), 1.0, "", "a"})
}

func genText() *rapid.Generator[Value] {
	odd := []string{
		"", " ", "\n", "a\n", "a\nb", "\na", "a\n\n", " a\nb", "a \nb", "\ta", "a\tb", "a\rb", "a: b", "# a", "- a", "a #b",
		"null", "~", "true", "yes", "on", "1", "1_000", "0x1F", "0o17", "017", "1e3", ".inf", ".nan", "-", "---", "...", "<<", "=", "@a", "*a", "&a", "!a", "%a", "?", "? a", "[", "{}", "|", ">",
		`"`, `\`, `'`, "\x00", "\x7f", "\u2028", "\u0085", "\ufeff", "\u200d", "é", "日本", "😀", "2026-01-31", "12:30:45",
	}
	return asValue(rapid.OneOf(
		rapid.SampledFrom(odd),
		rapid.StringN(0, 8, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab:#-|> \n\t'\"")), 0, 12, -1),
	))
}

func genFloat() *rapid.Generator[Value] {
	return asValue(rapid.OneOf(
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e20, 1e21, 1e-6, 1e-7, 1 << 53, 1 << 63, -1 << 63, 1e300,
			math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0x7ff8_0000_0000_00ff)}),
		rapid.Float64(),
	))
}

func genInteger() *rapid.Generator[Value] {
	return rapid.OneOf(
		rapid.SampledFrom([]Value{int64(0), int64(-1), int64(1) << 53, int64(math.MaxInt64), int64(math.MinInt64),
			bigOf("9223372036854775808"), bigOf("-9223372036854775809"), bigOf("18446744073709551616")}),
		asValue(rapid.Int64()),
		rapid.Custom(func(t *rapid.T) Value {
			i := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "magnitude"))
			if rapid.Bool().Draw(t, "negative") {
				i.Neg(i)
			}
			return Integer(i)
		}),
	)
}

func asValue[T any](g *rapid.Generator[T]) *rapid.Generator[Value] {
	return rapid.Map(g, func(x T) Value { return x })
}

// bigOf reads an integer in decimal, in its one form.
func bigOf(text string) Value {
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("bigOf: not a number: " + text)
	}
	return Integer(i)
}

func nestedList(depth int) Value {
	v := List{}
	for range depth - 1 {
		v = List{v}
	}
	return v
}
