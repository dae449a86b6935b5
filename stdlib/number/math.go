// Package number is what scripts can compute with numbers, exact, rounded and random: the
// modules math and random, and the function uuid.
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

// Math returns the module math: powers, logarithms, angles, rounding, and integers of any
// length. Its functions are pure.
func Math() tool.Module {
	return row.Pure(tool.Module{
		Name: "math",
		Doc: "Mathematical functions. Integers are exact, with up to 4096 digits. A result that is not a " +
			"number, such as the square root of -1, is an error.",
		Funcs: slices.Concat(powers(), angles(), integers(), lists()),
		Consts: []tool.Const{
			{Name: "pi", Doc: "The ratio of a circle's circumference to its diameter.", Value: math.Pi},
			{Name: "e", Doc: "The base of the natural logarithm.", Value: math.E},
		},
	})
}

// ofOne completes a function of one number. where describes the numbers for which it is defined;
// "" means all.
func ofOne(r tool.Func, where string, f func(float64) float64) tool.Func {
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
		return finite(f(x), problem)
	})
	return r
}

// ofTwo completes a function of two numbers. problem is the error for numbers for which it is
// not defined; "" if it always is.
func ofTwo(r tool.Func, problem string, f func(float64, float64) float64) tool.Func {
	r.Do = row.Do(func(a *value.Dict) (value.Value, error) {
		first, err := row.Float(a, r.Params[0].Name)
		if err != nil {
			return nil, err
		}
		second, err := row.Float(a, r.Params[1].Name)
		if err != nil {
			return nil, err
		}
		return finite(f(first, second), problem)
	})
	return r
}

func paramX(doc string) tool.Param { return tool.Required("x", tool.TypeNumber, doc) }

func paramY(doc string) tool.Param { return tool.Required("y", tool.TypeNumber, doc) }

func powers() []tool.Func {
	return []tool.Func{
		ofOne(tool.Func{Name: "sqrt", Doc: "Return the square root of a number.", Returns: "a float"}, "0 or greater", math.Sqrt),
		ofOne(tool.Func{Name: "exp", Doc: "Return e to the power x.", Returns: "a float"}, "", math.Exp),
		ofOne(tool.Func{Name: "log2", Doc: "Return the logarithm to base 2.", Returns: "a float"}, "greater than 0", math.Log2),
		ofOne(tool.Func{Name: "log10", Doc: "Return the logarithm to base 10.", Returns: "a float"}, "greater than 0", math.Log10),
		ofOne(tool.Func{Name: "fabs", Doc: "Return the absolute value of a number.", Returns: "a float"}, "", math.Abs),
		ofTwo(tool.Func{
			Name: "fmod", Doc: "Return the remainder of x / y. It has the sign of x.",
			Returns: "a float", Params: []tool.Param{paramX("The number to divide."), paramY("The divisor.")},
		}, "y should not be 0", math.Mod),
		ofTwo(tool.Func{
			Name: "hypot", Doc: "Return the length of the vector (x, y). Intermediate results do not overflow.",
			Returns: "a float", Params: []tool.Param{paramX("The x coordinate."), paramY("The y coordinate.")},
		}, "", math.Hypot),
		{
			Name: "log",
			Doc:  "Return the natural logarithm, or the logarithm to a base.",
			Params: []tool.Param{
				tool.Required("x", tool.TypeNumber, "The number, greater than 0."),
				tool.Maybe("base", tool.TypeNumber, "The base. Default: e."),
			},
			Returns: "a float",
			Do:      row.Do(log),
		},
		{
			Name: "pow",
			Doc:  "Return x to the power y. The result is exact if both are integers and y is not negative.",
			Params: []tool.Param{
				tool.Required("x", tool.TypeNumber, "The base."),
				tool.Required("y", tool.TypeNumber, "The exponent."),
			},
			Returns: "an integer if both are integers and y is not negative, else a float",
			Do:      row.Do(pow),
		},
	}
}

func angles() []tool.Func {
	return []tool.Func{
		ofOne(tool.Func{Name: "sin", Doc: "Return the sine of an angle in radians.", Returns: "a float"}, "", math.Sin),
		ofOne(tool.Func{Name: "cos", Doc: "Return the cosine of an angle in radians.", Returns: "a float"}, "", math.Cos),
		ofOne(tool.Func{Name: "tan", Doc: "Return the tangent of an angle in radians.", Returns: "a float"}, "", math.Tan),
		ofOne(tool.Func{Name: "asin", Doc: "Return the angle whose sine is x.", Returns: "the angle in radians"}, "from -1 to 1", math.Asin),
		ofOne(tool.Func{Name: "acos", Doc: "Return the angle whose cosine is x: acos(-1) is pi.", Returns: "the angle in radians"}, "from -1 to 1", math.Acos),
		ofOne(tool.Func{Name: "atan", Doc: "Return the angle whose tangent is x.", Returns: "the angle in radians"}, "", math.Atan),
		ofTwo(tool.Func{
			Name: "atan2", Doc: "Return the angle of the vector (x, y). y is the first argument.",
			Returns: "the angle in radians, from -pi to pi", Params: []tool.Param{paramY("The y coordinate."), paramX("The x coordinate.")},
		}, "", math.Atan2),
		ofOne(tool.Func{Name: "radians", Doc: "Convert degrees to radians: radians(180) is pi.", Returns: "the angle in radians"}, "",
			func(x float64) float64 { return x / 180 * math.Pi }),
		ofOne(tool.Func{Name: "degrees", Doc: "Convert radians to degrees.", Returns: "the angle in degrees"}, "",
			func(x float64) float64 { return x / math.Pi * 180 }),
	}
}

func integers() []tool.Func {
	x := tool.Required("x", tool.TypeNumber, "The number.")
	pair := []tool.Param{
		tool.Required("a", tool.TypeNumber, "An integer."),
		tool.Required("b", tool.TypeNumber, "An integer."),
	}
	return []tool.Func{
		{Name: "floor", Doc: "Round down to an integer.", Params: []tool.Param{x}, Returns: "an integer", Do: rounder(math.Floor)},
		{Name: "ceil", Doc: "Round up to an integer.", Params: []tool.Param{x}, Returns: "an integer", Do: rounder(math.Ceil)},
		{Name: "trunc", Doc: "Round toward 0 to an integer.", Params: []tool.Param{x}, Returns: "an integer", Do: rounder(math.Trunc)},
		{
			Name: "round",
			Doc:  "Round a number to a given number of decimals. Halves are rounded away from 0: round(2.675, 2) is 2.68.",
			Params: []tool.Param{
				x,
				row.Between(tool.Optional("digits", tool.TypeInteger, int64(0), "The number of decimals. -2 rounds to hundreds."), -400, 400),
			},
			Returns: "an integer if x is an integer or digits is 0 or less; else a float",
			Do:      row.Do(round),
		},
		{
			Name: "gcd", Doc: "Return the greatest common divisor.", Params: pair, Returns: "an integer of at least 0",
			Do: row.Do(gcd),
		},
		{
			Name: "lcm", Doc: "Return the least common multiple.", Params: pair, Returns: "an integer of at least 0",
			Do: row.Do(lcm),
		},
		{
			Name: "factorial", Doc: "Return the product of the integers from 1 to n.",
			Params:  []tool.Param{tool.Required("n", tool.TypeInteger, "An integer from 0 to 1000.")},
			Returns: "an integer",
			Do:      row.Do(factorial),
		},
	}
}

// maxBits is how large an exact number may be: about 4096 decimal digits,
// which is the longest that can be read back from JSON.
const maxBits = 13_600

// finite returns a result, or an error if it is not a finite number. problem is the reason for
// the error; "" means that the result is beyond the range of floats.
func finite(f float64, problem string) (value.Value, error) {
	if !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f, nil
	}
	if problem != "" {
		return nil, row.Invalid("the result is not a number: %s", problem)
	}
	return nil, row.Invalid("the result is too large for a float")
}

// integer returns a whole number, in any representation, as an integer.
func integer(v value.Value, label string) (*big.Int, error) {
	switch n := v.(type) {
	case int64:
		return big.NewInt(n), nil
	case *big.Int:
		if n.BitLen() > maxBits {
			return nil, row.Limit("%s has more than 4096 digits", label)
		}
		return n, nil
	}
	f, err := row.Finite(v, label)
	if err != nil {
		return nil, err
	}
	if f != math.Trunc(f) {
		return nil, row.Invalid("%s should be an integer (got %v)", label, f)
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return i, nil
}

func log(a *value.Dict) (value.Value, error) {
	x, err := row.Float(a, "x")
	if err != nil {
		return nil, err
	}
	if row.Arg(a, "base") == nil {
		return finite(math.Log(x), "x should be greater than 0")
	}
	base, err := row.Float(a, "base")
	if err != nil {
		return nil, err
	}
	const problem = "x and base should be greater than 0, and base should not be 1"
	switch base {
	case 2:
		return finite(math.Log2(x), problem)
	case 10:
		return finite(math.Log10(x), problem)
	}
	if base <= 0 {
		return finite(math.NaN(), problem)
	}
	return finite(math.Log(x)/math.Log(base), problem)
}

func pow(a *value.Dict) (value.Value, error) {
	if y, ok := row.Arg(a, "y").(int64); ok && y >= 0 && value.TypeOf(row.Arg(a, "x")) == "integer" {
		x, err := integer(row.Arg(a, "x"), "argument 'x'")
		if err != nil {
			return nil, err
		}
		if x.BitLen() > 1 && y > maxBits/int64(x.BitLen()-1) {
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
	problem := ""
	switch f := math.Pow(x, y); {
	case math.IsNaN(f):
		problem = "y should be an integer if x is negative"
	case x == 0 && y < 0:
		problem = "y should not be negative if x is 0"
	}
	return finite(math.Pow(x, y), problem)
}

// rounder returns the Do of a function that rounds floats. Integers stay as they are, and huge
// floats become huge integers.
func rounder(round func(float64) float64) row.Run {
	return row.Do(func(a *value.Dict) (value.Value, error) {
		v := row.Arg(a, "x")
		if f, ok := v.(float64); ok {
			v = round(f)
		}
		i, err := integer(v, "argument 'x'")
		if err != nil {
			return nil, err
		}
		return value.Integer(i), nil
	})
}

func round(a *value.Dict) (value.Value, error) {
	digits := a.Int("digits")
	v := row.Arg(a, "x")
	f, isFloat := v.(float64)
	if !isFloat {
		i, err := integer(v, "argument 'x'")
		if err != nil {
			return nil, err
		}
		return value.Integer(roundHalfAway(new(big.Rat).SetInt(i), min(digits, 0))), nil
	}
	if _, err := row.Float(a, "x"); err != nil {
		return nil, err
	}
	exact := new(big.Rat).SetFloat64(f)
	if f != math.Trunc(f) {
		exact.SetString(strconv.FormatFloat(f, 'g', -1, 64))
	}
	scaled := roundHalfAway(exact, digits)
	if digits <= 0 {
		return value.Integer(scaled), nil
	}
	rounded, _ := new(big.Rat).SetFrac(scaled, powerOfTen(digits)).Float64()
	return rounded, nil
}

func powerOfTen(n int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
}

// roundHalfAway rounds to a number of decimals, halves away from 0. With digits > 0 it returns
// the result times 10 to the power digits, otherwise the result itself.
func roundHalfAway(x *big.Rat, digits int64) *big.Int {
	unit := new(big.Rat).SetInt(powerOfTen(max(digits, -digits)))
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

func integerPair(a *value.Dict) (x, y *big.Int, err error) {
	if x, err = integer(row.Arg(a, "a"), "argument 'a'"); err != nil {
		return nil, nil, err
	}
	y, err = integer(row.Arg(a, "b"), "argument 'b'")
	return x, y, err
}

func gcd(a *value.Dict) (value.Value, error) {
	x, y, err := integerPair(a)
	if err != nil {
		return nil, err
	}
	return value.Integer(new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))), nil
}

func lcm(a *value.Dict) (value.Value, error) {
	x, y, err := integerPair(a)
	if err != nil {
		return nil, err
	}
	if x.Sign() == 0 || y.Sign() == 0 {
		return int64(0), nil
	}
	x, y = new(big.Int).Abs(x), new(big.Int).Abs(y)
	x.Quo(x, new(big.Int).GCD(nil, nil, x, y))
	if x.Mul(x, y).BitLen() > maxBits {
		return nil, row.Limit("the result has more than 4096 digits")
	}
	return value.Integer(x), nil
}

// maxFactorial keeps a factorial within the digits of exact numbers.
const maxFactorial = 1000

func factorial(a *value.Dict) (value.Value, error) {
	n, err := row.Size(a, "n", maxFactorial)
	if err != nil {
		return nil, err
	}
	return value.Integer(new(big.Int).MulRange(1, int64(n))), nil
}
