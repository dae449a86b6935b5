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

// genTool makes tools with every field set in some of them.
func genTool() *rapid.Generator[Tool] {
	return rapid.Custom(func(t *rapid.T) Tool {
		text := func(name string) string { return genText().Draw(t, name).(string) }
		number := func(name string) int64 { return rapid.Int64().Draw(t, name) }
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		tool := Tool{
			Name: text("name"), Title: text("title"), Description: text("description"), Group: text("group"),
			Risky: flag("risky"), AllowExtra: flag("allow extra"), ReturnsDoc: text("returns doc"),
			Params: genParams(2).Draw(t, "params"),
			Tags:   genTexts().Draw(t, "tags"), Loads: genTexts().Draw(t, "loads"), Warnings: genTexts().Draw(t, "warnings"),
			Version: text("version"), Timeout: durationOf(number("timeout")), Overhead: int(number("overhead")), Available: text("available"), Undo: text("undo"),
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
		tool.Limits = Limits{Steps: number("steps"), CPU: durationOf(number("cpu")), Memory: number("memory"), Result: int(number("result"))}
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
			e := Example{Description: text("example"), HasExpect: flag("expects"), Expect: genValue().Draw(t, "expect")}
			if args, ok := genJSON().Draw(t, "args").(*Dict); ok {
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
			list = append(list, genText().Draw(t, "text").(string))
		}
		return list
	})
}

func genParams(depth int) *rapid.Generator[[]Param] {
	return rapid.Custom(func(t *rapid.T) []Param {
		var params []Param
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			p := Param{
				Name: genText().Draw(t, "name").(string), Description: genText().Draw(t, "description").(string),
				Type: genType(depth).Draw(t, "type"), Aliases: genTexts().Draw(t, "aliases"),
				Required: rapid.Bool().Draw(t, "required"), HasDefault: rapid.Bool().Draw(t, "has default"), FromHost: rapid.Bool().Draw(t, "from host"),
			}
			if p.HasDefault {
				p.Default = genValue().Draw(t, "default")
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
		value := func(name string) Value {
			if rapid.Bool().Draw(t, "has "+name) {
				return genValue().Draw(t, name)
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
			typ.Enum = append(typ.Enum, genValue().Draw(t, "enum value"))
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
