// Package number is what scripts can compute with numbers, exact, rounded and random.
package number

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Math returns the module math.
func Math() tool.Module {
	return tool.Module{
		Name: "math",
		Doc: "Computes with numbers. Whole numbers stay exact, of any size up to 4096 digits; a result that is no " +
			"number, as the root of -1, is an error.",
		Funcs: slices.Concat(mathCurves(), mathAngles(), mathWholes(), mathLists()),
		Consts: []tool.Const{
			{Name: "pi", Doc: "The ratio of a circle's circumference to its diameter.", Value: math.Pi},
			{Name: "e", Doc: "The base of the natural logarithm.", Value: math.E},
		},
	}
}

// mathOne completes a row for a function of one number. Where says for which it
// is defined, or is "" for all.
func mathOne(r tool.Func, where string, f func(float64) float64) tool.Func {
	doc, problem := "The number.", ""
	if where != "" {
		doc, problem = "The number, "+where+".", "x should be "+where
	}
	r.Params = []tool.Param{tool.Required("x", tool.TypeNumber, doc)}
	r.Do = row.Do(func(a *value.Dict) (value.Value, error) {
		x, err := row.Float(a, "x")
		if err != nil {
			return nil, err
		}
		return mathResult(f(x), problem)
	})
	return r
}

// mathTwo completes a row for a function of two numbers, its parameters. The
// problem is what is wrong where it is not defined, or "" if it always is.
func mathTwo(r tool.Func, problem string, f func(float64, float64) float64) tool.Func {
	r.Do = row.Do(func(a *value.Dict) (value.Value, error) {
		first, err := row.Float(a, r.Params[0].Name)
		if err != nil {
			return nil, err
		}
		second, err := row.Float(a, r.Params[1].Name)
		if err != nil {
			return nil, err
		}
		return mathResult(f(first, second), problem)
	})
	return r
}

func mathX() tool.Param { return tool.Required("x", tool.TypeNumber, "A number.") }

func mathY() tool.Param { return tool.Required("y", tool.TypeNumber, "Another number.") }

func mathCurves() []tool.Func {
	return []tool.Func{
		mathOne(tool.Func{Name: "sqrt", Doc: "Takes the square root.", Returns: "the root, a float"}, "0 or greater", math.Sqrt),
		mathOne(tool.Func{Name: "exp", Doc: "Raises e to a power.", Returns: "e to the power x, a float"}, "", math.Exp),
		mathOne(tool.Func{Name: "log2", Doc: "Takes the logarithm to base 2.", Returns: "the logarithm, a float"}, "greater than 0", math.Log2),
		mathOne(tool.Func{Name: "log10", Doc: "Takes the logarithm to base 10.", Returns: "the logarithm, a float"}, "greater than 0", math.Log10),
		mathOne(tool.Func{Name: "fabs", Doc: "Drops the sign of a number.", Returns: "the number without its sign, a float"}, "", math.Abs),
		mathTwo(tool.Func{
			Name: "fmod", Doc: "Gives what is left of x when y is taken from it as often as possible, with the sign of x.",
			Returns: "the rest, a float", Params: []tool.Param{mathX(), mathY()},
		}, "y should not be 0", math.Mod),
		mathTwo(tool.Func{
			Name: "hypot", Doc: "Gives the length of the vector (x, y), without going out of range in between.",
			Returns: "the length, a float", Params: []tool.Param{mathX(), mathY()},
		}, "", math.Hypot),
		{
			Name: "log",
			Doc:  "Takes the natural logarithm, or that to a base.",
			Params: []tool.Param{
				tool.Required("x", tool.TypeNumber, "The number, greater than 0."),
				tool.Maybe("base", tool.TypeNumber, "The base; without it, e."),
			},
			Returns: "the logarithm, a float",
			Do:      row.Do(mathLog),
		},
		{
			Name: "pow",
			Doc:  "Raises x to the power y; exactly, for whole numbers and y not negative.",
			Params: []tool.Param{
				tool.Required("x", tool.TypeNumber, "The base."),
				tool.Required("y", tool.TypeNumber, "The exponent."),
			},
			Returns: "an integer if both are and y is not negative, else a float",
			Do:      row.Do(mathPow),
		},
	}
}

func mathAngles() []tool.Func {
	return []tool.Func{
		mathOne(tool.Func{Name: "sin", Doc: "Takes the sine of an angle in radians.", Returns: "the sine, a float"}, "", math.Sin),
		mathOne(tool.Func{Name: "cos", Doc: "Takes the cosine of an angle in radians.", Returns: "the cosine, a float"}, "", math.Cos),
		mathOne(tool.Func{Name: "tan", Doc: "Takes the tangent of an angle in radians.", Returns: "the tangent, a float"}, "", math.Tan),
		mathOne(tool.Func{Name: "asin", Doc: "Gives the angle with a sine.", Returns: "the angle in radians"}, "from -1 to 1", math.Asin),
		mathOne(tool.Func{Name: "acos", Doc: "Gives the angle with a cosine; acos(-1) is pi.", Returns: "the angle in radians"}, "from -1 to 1", math.Acos),
		mathOne(tool.Func{Name: "atan", Doc: "Gives the angle with a tangent.", Returns: "the angle in radians"}, "", math.Atan),
		mathTwo(tool.Func{
			Name: "atan2", Doc: "Gives the angle of the vector (x, y), in its right quarter; y comes first.",
			Returns: "the angle in radians, from -pi to pi", Params: []tool.Param{mathY(), mathX()},
		}, "", math.Atan2),
		mathOne(tool.Func{Name: "radians", Doc: "Turns degrees into radians; radians(180) is pi.", Returns: "the angle in radians"}, "",
			func(x float64) float64 { return x / 180 * math.Pi }),
		mathOne(tool.Func{Name: "degrees", Doc: "Turns radians into degrees.", Returns: "the angle in degrees"}, "",
			func(x float64) float64 { return x / math.Pi * 180 }),
	}
}

func mathWholes() []tool.Func {
	x := tool.Required("x", tool.TypeNumber, "The number.")
	pair := []tool.Param{
		tool.Required("a", tool.TypeNumber, "A whole number."),
		tool.Required("b", tool.TypeNumber, "A whole number."),
	}
	return []tool.Func{
		{Name: "floor", Doc: "Rounds down to a whole number.", Params: []tool.Param{x}, Returns: "an integer", Do: mathWhole(math.Floor)},
		{Name: "ceil", Doc: "Rounds up to a whole number.", Params: []tool.Param{x}, Returns: "an integer", Do: mathWhole(math.Ceil)},
		{Name: "trunc", Doc: "Rounds toward 0 to a whole number.", Params: []tool.Param{x}, Returns: "an integer", Do: mathWhole(math.Trunc)},
		{
			Name: "round",
			Doc: "Rounds to a number of decimals, halves away from 0. What counts is the number as it is written, " +
				"so round(2.675, 2) is 2.68.",
			Params: []tool.Param{
				x,
				row.Between(tool.Optional("digits", tool.TypeInteger, int64(0), "How many decimals to keep; -2 rounds to hundreds."), -400, 400),
			},
			Returns: "an integer if digits is 0 or less or x is one, else a float",
			Do:      row.Do(mathRound),
		},
		{
			Name: "gcd", Doc: "Gives the greatest number that divides both.", Params: pair, Returns: "an integer, not negative",
			Do: row.Do(mathGCD),
		},
		{
			Name: "lcm", Doc: "Gives the smallest number that both divide.", Params: pair, Returns: "an integer, not negative",
			Do: row.Do(mathLCM),
		},
		{
			Name: "factorial", Doc: "Multiplies the whole numbers from 1 to n.",
			Params:  []tool.Param{tool.Required("n", tool.TypeInteger, "A whole number from 0 to 1000.")},
			Returns: "an integer",
			Do:      row.Do(mathFactorial),
		},
	}
}

// mathMaxBits is how large an exact number may be: about 4096 decimal digits,
// which is the longest that can be read back from JSON.
const mathMaxBits = 13_600

// mathResult refuses what is no number. The problem says why it may be none; ""
// means that only a result beyond the range of floats is.
func mathResult(f float64, problem string) (value.Value, error) {
	if !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f, nil
	}
	if problem != "" {
		return nil, row.Invalid("the result is no number: %s", problem)
	}
	return nil, row.Invalid("the result is too large for a float")
}

// mathInteger returns a whole number as one, however it is represented.
func mathInteger(v value.Value, label string) (*big.Int, error) {
	switch n := v.(type) {
	case int64:
		return big.NewInt(n), nil
	case *big.Int:
		if n.BitLen() > mathMaxBits {
			return nil, row.Limit("%s has more than 4096 digits", label)
		}
		return n, nil
	}
	f, err := row.Finite(v, label)
	if err != nil {
		return nil, err
	}
	if f != math.Trunc(f) {
		return nil, row.Invalid("%s should be a whole number (got %v)", label, f)
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return i, nil
}

func mathLog(a *value.Dict) (value.Value, error) {
	x, err := row.Float(a, "x")
	if err != nil {
		return nil, err
	}
	if row.Arg(a, "base") == nil {
		return mathResult(math.Log(x), "x should be greater than 0")
	}
	base, err := row.Float(a, "base")
	if err != nil {
		return nil, err
	}
	const problem = "x and base should be greater than 0, and base not 1"
	switch base {
	case 2:
		return mathResult(math.Log2(x), problem)
	case 10:
		return mathResult(math.Log10(x), problem)
	}
	if base <= 0 {
		return mathResult(math.NaN(), problem)
	}
	return mathResult(math.Log(x)/math.Log(base), problem)
}

func mathPow(a *value.Dict) (value.Value, error) {
	if y, ok := row.Arg(a, "y").(int64); ok && y >= 0 && value.TypeOf(row.Arg(a, "x")) == "integer" {
		x, err := mathInteger(row.Arg(a, "x"), "argument 'x'")
		if err != nil {
			return nil, err
		}
		if x.BitLen() > 1 && y > mathMaxBits/int64(x.BitLen()-1) {
			return nil, row.Limit("the result has more than 4096 digits")
		}
		if x.BitLen() <= 1 { // 0, 1 or -1: only whether y is odd counts
			y = min(y, 2-y%2)
		}
		return value.Integer(new(big.Int).Exp(x, big.NewInt(y), nil)), nil
	}
	x, err := row.Float(a, "x")
	if err != nil {
		return nil, err
	}
	y, err := row.Float(a, "y")
	if err != nil {
		return nil, err
	}
	return mathResult(math.Pow(x, y), "the power is too large for a float, or not real")
}

// mathWhole makes the Do of a function that rounds floats; integers are whole
// already, and huge floats become huge integers.
func mathWhole(round func(float64) float64) row.Run {
	return row.Do(func(a *value.Dict) (value.Value, error) {
		v := row.Arg(a, "x")
		if f, ok := v.(float64); ok {
			v = round(f)
		}
		i, err := mathInteger(v, "argument 'x'")
		if err != nil {
			return nil, err
		}
		return value.Integer(i), nil
	})
}

func mathRound(a *value.Dict) (value.Value, error) {
	digits := a.Int("digits")
	v := row.Arg(a, "x")
	f, isFloat := v.(float64)
	if !isFloat {
		i, err := mathInteger(v, "argument 'x'")
		if err != nil {
			return nil, err
		}
		return value.Integer(mathHalfAway(new(big.Rat).SetInt(i), min(digits, 0))), nil
	}
	if _, err := row.Float(a, "x"); err != nil {
		return nil, err
	}
	exact := new(big.Rat).SetFloat64(f)
	if f != math.Trunc(f) {
		exact.SetString(strconv.FormatFloat(f, 'g', -1, 64))
	}
	scaled := mathHalfAway(exact, digits)
	if digits <= 0 {
		return value.Integer(scaled), nil
	}
	rounded, _ := new(big.Rat).SetFrac(scaled, mathTen(digits)).Float64()
	return rounded, nil
}

func mathTen(n int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
}

// mathHalfAway rounds to a number of decimals. With decimals to keep, it gives
// the number times ten to that power; without, the rounded number itself.
func mathHalfAway(x *big.Rat, digits int64) *big.Int {
	unit := new(big.Rat).SetInt(mathTen(max(digits, -digits)))
	if digits > 0 {
		unit.Inv(unit)
	}
	scaled := new(big.Rat).Quo(x, unit)
	half := big.NewRat(int64(scaled.Sign()), 2)
	scaled.Add(scaled, half)
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom()) // toward 0
	if digits < 0 {
		whole.Mul(whole, unit.Num())
	}
	return whole
}

func mathPair(a *value.Dict) (x, y *big.Int, err error) {
	if x, err = mathInteger(row.Arg(a, "a"), "argument 'a'"); err != nil {
		return nil, nil, err
	}
	y, err = mathInteger(row.Arg(a, "b"), "argument 'b'")
	return x, y, err
}

func mathGCD(a *value.Dict) (value.Value, error) {
	x, y, err := mathPair(a)
	if err != nil {
		return nil, err
	}
	return value.Integer(new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))), nil
}

func mathLCM(a *value.Dict) (value.Value, error) {
	x, y, err := mathPair(a)
	if err != nil {
		return nil, err
	}
	if x.Sign() == 0 || y.Sign() == 0 {
		return int64(0), nil
	}
	x, y = new(big.Int).Abs(x), new(big.Int).Abs(y)
	x.Quo(x, new(big.Int).GCD(nil, nil, x, y))
	if x.Mul(x, y).BitLen() > mathMaxBits {
		return nil, row.Limit("the result has more than 4096 digits")
	}
	return value.Integer(x), nil
}

// mathMaxFactorial keeps a factorial within the digits of exact numbers.
const mathMaxFactorial = 1000

func mathFactorial(a *value.Dict) (value.Value, error) {
	n, err := row.Size(a, "n", mathMaxFactorial)
	if err != nil {
		return nil, err
	}
	return value.Integer(new(big.Int).MulRange(1, int64(n))), nil
}
