// Package valuetest generates values for tests.
package valuetest

import (
	"math"
	"math/big"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// These generators make values for property tests. They prefer small and unusual
// values.

// Any generates any value.
func Any() *rapid.Generator[value.Value] { return AnyOf(3) }

// JSON generates a value that survives JSON unchanged: no bytes, tuples or sets, and
// only string keys.
func JSON() *rapid.Generator[value.Value] { return JSONOf(3) }

// AnyOf is Any with a maximum depth.
func AnyOf(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		kinds := 7
		if depth > 0 {
			kinds = 11
		}
		items := func() []value.Value {
			return rapid.SliceOfN(AnyOf(depth-1), 0, 4).Draw(t, "items")
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0, 1:
			return Scalar().Draw(t, "scalar")
		case 2:
			return Text().Draw(t, "text")
		case 3:
			return Float().Draw(t, "float")
		case 4:
			return Integer().Draw(t, "integer")
		case 5:
			return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")...)
		case 6:
			return Media().Draw(t, "media")
		case 7:
			return append(value.List{}, items()...)
		case 8:
			return append(value.Tuple{}, items()...)
		case 9:
			return genSet(depth).Draw(t, "set")
		}
		d := &value.Dict{}
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			if err := d.Set(Key(depth-1).Draw(t, "key"), AnyOf(depth-1).Draw(t, "value")); err != nil {
				t.Fatalf("Set: %v", err)
			}
		}
		return d
	})
}

func genSet(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		var d value.Dict
		for _, k := range rapid.SliceOfN(Key(depth-1), 0, 12).Draw(t, "elements") {
			if err := d.Set(k, nil); err != nil {
				t.Fatalf("Set: %v", err)
			}
		}
		set := value.Set{}
		for k := range d.All() {
			set = append(set, k)
		}
		return set
	})
}

// Key generates a dict key or set element.
func Key(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		kinds := 6
		if depth > 0 {
			kinds = 7
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return Scalar().Draw(t, "scalar")
		case 1, 2:
			return Text().Draw(t, "text")
		case 3:
			return rapid.OneOf(Float(), Integer()).Draw(t, "number")
		case 4:
			return rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "bytes")
		case 5:
			return Media().Draw(t, "media")
		}
		return append(value.Tuple{}, rapid.SliceOfN(Key(depth-1), 0, 3).Draw(t, "tuple")...)
	})
}

// JSONOf is JSON with a maximum depth.
func JSONOf(depth int) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return Scalar().Draw(t, "scalar")
		case 1:
			return Text().Draw(t, "text")
		case 2:
			return Float().Filter(func(v value.Value) bool {
				f := v.(float64)
				return !math.IsNaN(f) && !math.IsInf(f, 0)
			}).Draw(t, "float")
		case 3:
			return Integer().Draw(t, "integer")
		case 4:
			return append(value.List{}, rapid.SliceOfN(JSONOf(depth-1), 0, 4).Draw(t, "items")...)
		}
		d := &value.Dict{}
		for _, name := range rapid.SliceOfN(Text(), 0, 12).Draw(t, "names") {
			d.Put(name.(string), JSONOf(depth-1).Draw(t, "value"))
		}
		return d
	})
}

// Scalar generates a value without parts.
func Scalar() *rapid.Generator[value.Value] {
	return rapid.SampledFrom([]value.Value{nil, false, true, int64(0), int64(1), 1.0, "", "a"})
}

// Media generates an image or a document.
func Media() *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		head := rapid.SampledFrom([]string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF89a", "RIFF\x00\x00\x00\x00WEBP", "%PDF-"}).Draw(t, "head")
		m, err := value.NewMedia(append([]byte(head), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")...))
		if err != nil {
			t.Fatalf("NewMedia: %v", err)
		}
		return m
	})
}

// Text generates a string.
func Text() *rapid.Generator[value.Value] {
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

// Float generates a float, including NaN and infinities.
func Float() *rapid.Generator[value.Value] {
	return asValue(rapid.OneOf(
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e20, 1e21, 1e-6, 1e-7, 1 << 53, 1 << 63, -1 << 63, 1e300,
			math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0x7ff8_0000_0000_00ff)}),
		rapid.Float64(),
	))
}

// Integer generates an integer of any size.
func Integer() *rapid.Generator[value.Value] {
	return rapid.OneOf(
		rapid.SampledFrom([]value.Value{int64(0), int64(-1), int64(1) << 53, int64(math.MaxInt64), int64(math.MinInt64),
			Big("9223372036854775808"), Big("-9223372036854775809"), Big("18446744073709551616")}),
		asValue(rapid.Int64()),
		rapid.Custom(func(t *rapid.T) value.Value {
			i := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "magnitude"))
			if rapid.Bool().Draw(t, "negative") {
				i.Neg(i)
			}
			return value.Integer(i)
		}),
	)
}

func asValue[T any](g *rapid.Generator[T]) *rapid.Generator[value.Value] {
	return rapid.Map(g, func(x T) value.Value { return x })
}

// Big parses a decimal integer.
func Big(text string) value.Value {
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("bigOf: not a number: " + text)
	}
	return value.Integer(i)
}

// Nested returns lists nested depth levels deep.
func Nested(depth int) value.Value {
	v := value.List{}
	for range depth - 1 {
		v = value.List{v}
	}
	return v
}
