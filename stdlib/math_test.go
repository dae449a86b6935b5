package stdlib

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMath(t *testing.T) {
	pureTable(t, false, []pureCase{
		{fn: "math.sqrt", args: []any{int64(16)}, want: 4.0},
		{fn: "math.sqrt", args: []any{int64(-1)}, err: "x should be 0 or greater"},
		{fn: "math.sqrt", args: []any{pureNaN()}, err: "NaN"},
		{fn: "math.sqrt", args: []any{pureInf()}, err: "infinite"},
		{fn: "math.sqrt", args: []any{true}, err: "should be number"},
		{fn: "math.exp", args: []any{int64(0)}, want: 1.0},
		{fn: "math.exp", args: []any{int64(1000)}, err: "too large for a float"},
		{fn: "math.log", args: []any{int64(1)}, want: 0.0},
		{fn: "math.log", args: []any{int64(8), int64(2)}, want: 3.0},
		{fn: "math.log", args: []any{int64(1000), int64(10)}, want: 3.0},
		{fn: "math.log", args: []any{int64(0)}, err: "x should be greater than 0"},
		{fn: "math.log", args: []any{int64(2), int64(1)}, err: "base not 1"},
		{fn: "math.log", args: []any{int64(2), int64(-2)}, err: "greater than 0"},
		{fn: "math.log2", args: []any{int64(1024)}, want: 10.0},
		{fn: "math.log10", args: []any{int64(0)}, err: "greater than 0"},
		{fn: "math.asin", args: []any{int64(2)}, err: "from -1 to 1"},
		{fn: "math.acos", args: []any{int64(-1)}, want: math.Pi},
		{fn: "math.radians", args: []any{int64(180)}, want: math.Pi},
		{fn: "math.degrees", args: []any{math.Pi}, want: 180.0},
		{fn: "math.atan2", args: []any{int64(1), int64(-1)}, want: 3 * math.Pi / 4},
		{fn: "math.sin", args: []any{int64(0)}, want: 0.0},
		{fn: "math.fabs", args: []any{int64(-2)}, want: 2.0},
		{fn: "math.fmod", args: []any{int64(-7), int64(3)}, want: -1.0},
		{fn: "math.fmod", args: []any{int64(1), int64(0)}, err: "y should not be 0"},
		{fn: "math.hypot", args: []any{int64(3), int64(4)}, want: 5.0},
		{fn: "math.pow", args: []any{int64(2), int64(10)}, want: int64(1024)},
		{fn: "math.pow", args: []any{int64(2), 0.5}, want: math.Sqrt2},
		{fn: "math.pow", args: []any{int64(2), int64(-1)}, want: 0.5},
		{fn: "math.pow", args: []any{int64(0), int64(-1)}, err: "too large for a float, or not real"},
		{fn: "math.pow", args: []any{int64(-8), 0.5}, err: "not real"},
	})
}

func TestMathWholesAndLists(t *testing.T) {
	ints := func(n ...int64) value.List {
		var l value.List
		for _, i := range n {
			l = append(l, i)
		}
		return l
	}
	pureTable(t, false, []pureCase{
		{fn: "math.floor", args: []any{-1.5}, want: int64(-2)},
		{fn: "math.ceil", args: []any{-1.5}, want: int64(-1)},
		{fn: "math.trunc", args: []any{-1.5}, want: int64(-1)},
		{fn: "math.floor", args: []any{int64(7)}, want: int64(7)},
		{fn: "math.floor", args: []any{pureInf()}, err: "infinite"},
		{fn: "math.round", args: []any{2.5}, want: int64(3)},
		{fn: "math.round", args: []any{-2.5}, want: int64(-3)},
		{fn: "math.round", args: []any{0.49999999999999994}, want: int64(0)},
		{fn: "math.round", args: []any{2.675, int64(2)}, want: 2.68},
		{fn: "math.round", args: []any{-1.005, int64(2)}, want: -1.01},
		{fn: "math.round", args: []any{1e-300, int64(5)}, want: 0.0},
		{fn: "math.round", args: []any{1.7976931348623157e308, int64(300)}, want: 1.7976931348623157e308},
		{fn: "math.round", args: []any{1250.0, int64(-2)}, want: int64(1300)},
		{fn: "math.round", args: []any{int64(-1250), int64(-2)}, want: int64(-1300)},
		{fn: "math.round", args: []any{int64(7), int64(2)}, want: int64(7)},
		{fn: "math.round", args: []any{49.0, int64(-2)}, want: int64(0)},
		{fn: "math.round", args: []any{pureNaN(), int64(2)}, err: "NaN"},
		{fn: "math.round", args: []any{1.5, int64(1000)}, err: "must be <= 400"},

		{fn: "math.gcd", args: []any{int64(12), int64(-18)}, want: int64(6)},
		{fn: "math.gcd", args: []any{int64(0), int64(0)}, want: int64(0)},
		{fn: "math.gcd", args: []any{1.5, int64(2)}, err: "whole number"},
		{fn: "math.lcm", args: []any{int64(4), int64(-6)}, want: int64(12)},
		{fn: "math.lcm", args: []any{int64(0), int64(6)}, want: int64(0)},
		{fn: "math.factorial", args: []any{int64(5)}, want: int64(120)},
		{fn: "math.factorial", args: []any{int64(0)}, want: int64(1)},
		{fn: "math.factorial", args: []any{int64(-1)}, err: "negative"},
		{fn: "math.factorial", args: []any{1.5}, err: "should be integer"},
		{fn: "math.factorial", args: []any{int64(1001)}, err: "larger than 1000"},

		{fn: "math.sum", args: []any{ints(1, 2, 3)}, want: int64(6)},
		{fn: "math.sum", args: []any{value.List{}}, want: int64(0)},
		{fn: "math.sum", args: []any{value.List{1e100, 1.0, -1e100}}, want: 1.0},
		{fn: "math.sum", args: []any{value.Tuple{0.1, 0.2, 0.3, int64(1)}}, want: 1.6},
		{fn: "math.sum", args: []any{value.List{"1"}}, err: "should be number but got string"},
		{fn: "math.sum", args: []any{value.List{1.0, pureNaN()}}, err: "'values'[1] is not a number"},
		{fn: "math.sum", args: []any{value.List{1e308, 1e308}}, err: "too large"},
		{fn: "math.mean", args: []any{ints(1, 2)}, want: 1.5},
		{fn: "math.mean", args: []any{value.List{1e308, 1e308}}, want: 1e308},
		{fn: "math.mean", args: []any{value.List{}}, err: "at least 1 numbers (got 0)"},
		{fn: "math.median", args: []any{ints(3, 1, 2)}, want: 2.0},
		{fn: "math.median", args: []any{ints(4, 1, 2, 3)}, want: 2.5},
		{fn: "math.variance", args: []any{ints(2, 4, 4, 4, 5, 5, 7, 9), true}, want: 4.0},
		{fn: "math.stdev", args: []any{ints(2, 4, 4, 4, 5, 5, 7, 9), pureNamed{"population", true}}, want: 2.0},
		{fn: "math.variance", args: []any{ints(1, 2, 3)}, want: 1.0},
		{fn: "math.stdev", args: []any{ints(1)}, err: "at least 2"},
		{fn: "math.stdev", args: []any{ints(1), true}, want: 0.0},
		{fn: "math.percentile", args: []any{ints(1, 2, 3, 4, 5), int64(25)}, want: 2.0},
		{fn: "math.percentile", args: []any{ints(10, 20), int64(75)}, want: 17.5},
		{fn: "math.percentile", args: []any{value.List{0.1, 0.1}, int64(30)}, want: 0.1},
		{fn: "math.percentile", args: []any{value.List{-1e308, 1e308}, int64(50)}, want: 0.0},
		{fn: "math.percentile", args: []any{ints(10, 20), int64(100)}, want: 20.0},
		{fn: "math.percentile", args: []any{ints(10), int64(101)}, err: "must be <= 100"},
	})
}

// Whole numbers stay exact where floats would not be.
func TestMathExact(t *testing.T) {
	huge, _ := big.NewFloat(1e300).Int(nil)
	pureTable(t, true, []pureCase{
		{fn: "math.pow", args: []any{int64(3), int64(50)}, want: pureBig("717897987691852588770249")},
		{fn: "math.pow", args: []any{int64(-1), int64(1<<62 + 1)}, want: int64(-1)},
		{fn: "math.pow", args: []any{int64(-1), int64(1 << 62)}, want: int64(1)},
		{fn: "math.pow", args: []any{int64(0), int64(0)}, want: int64(1)},
		{fn: "math.pow", args: []any{int64(0), int64(5)}, want: int64(0)},
		{fn: "math.floor", args: []any{1e300}, want: huge},
		{fn: "math.round", args: []any{1e300}, want: huge},
		{fn: "math.floor", args: []any{9007199254740993.0}, want: int64(9007199254740992)},
		{fn: "math.gcd", args: []any{pureBig("100000000000000000000"), pureBig("15000000000000000000")}, want: int64(5000000000000000000)},
		{fn: "math.lcm", args: []any{int64(math.MinInt64), int64(3)}, want: pureBig("27670116110564327424")},
		{fn: "math.factorial", args: []any{int64(21)}, want: pureBig("51090942171709440000")},
		{fn: "math.sum", args: []any{value.List{int64(math.MaxInt64), int64(1)}}, want: pureBig("9223372036854775808")},
	})
	longest := pureMust(t, "math.factorial", int64(1000))
	if text := pureMust(t, "json.encode", longest); !value.Equal(pureMust(t, "json.decode", text), longest) {
		t.Errorf("1000! is not read back from JSON")
	}
	if most := pureMust(t, "math.pow", int64(2), int64(mathMaxBits)); len(pureMust(t, "json.encode", most).(string)) > 4096 {
		t.Errorf("an exact number may have more than 4096 digits")
	}
	if _, err := pureCall(t, "math.sqrt", pureBig("1"+strings.Repeat("0", 400))); err == nil {
		t.Errorf("sqrt of 10**400 gives a number, want an error")
	}
}

func TestMathRoundIsNearest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(r, "x")
		digits := rapid.Int64Range(0, 6).Draw(r, "digits")
		got, _ := mathFinite(pureMust(t, "math.round", x, digits), "")
		if half := 0.5 * math.Pow(10, -float64(digits)); math.Abs(got-x) > half*(1+1e-6)+1e-7 {
			r.Fatalf("round(%v, %d) = %v, which is further than %v away", x, digits, got, half)
		}
	})
}
