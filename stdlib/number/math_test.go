package number

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestMath(t *testing.T) {
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "math.sqrt", Args: []any{int64(16)}, Want: 4.0},
		{Fn: "math.sqrt", Args: []any{int64(-1)}, Err: "x should be 0 or greater"},
		{Fn: "math.sqrt", Args: []any{rowtest.NaN()}, Err: "NaN"},
		{Fn: "math.sqrt", Args: []any{rowtest.Inf()}, Err: "infinite"},
		{Fn: "math.sqrt", Args: []any{true}, Err: "should be number"},
		{Fn: "math.exp", Args: []any{int64(0)}, Want: 1.0},
		{Fn: "math.exp", Args: []any{int64(1000)}, Err: "too large for a float"},
		{Fn: "math.log", Args: []any{int64(1)}, Want: 0.0},
		{Fn: "math.log", Args: []any{int64(8), int64(2)}, Want: 3.0},
		{Fn: "math.log", Args: []any{int64(1000), int64(10)}, Want: 3.0},
		{Fn: "math.log", Args: []any{int64(0)}, Err: "x should be greater than 0"},
		{Fn: "math.log", Args: []any{int64(2), int64(1)}, Err: "base should not be 1"},
		{Fn: "math.log", Args: []any{int64(2), int64(-2)}, Err: "greater than 0"},
		{Fn: "math.log2", Args: []any{int64(1024)}, Want: 10.0},
		{Fn: "math.log10", Args: []any{int64(0)}, Err: "greater than 0"},
		{Fn: "math.asin", Args: []any{int64(2)}, Err: "from -1 to 1"},
		{Fn: "math.acos", Args: []any{int64(-1)}, Want: math.Pi},
		{Fn: "math.radians", Args: []any{int64(180)}, Want: math.Pi},
		{Fn: "math.degrees", Args: []any{math.Pi}, Want: 180.0},
		{Fn: "math.atan2", Args: []any{int64(1), int64(-1)}, Want: 3 * math.Pi / 4},
		{Fn: "math.sin", Args: []any{int64(0)}, Want: 0.0},
		{Fn: "math.fabs", Args: []any{int64(-2)}, Want: 2.0},
		{Fn: "math.fmod", Args: []any{int64(-7), int64(3)}, Want: -1.0},
		{Fn: "math.fmod", Args: []any{int64(1), int64(0)}, Err: "y should not be 0"},
		{Fn: "math.hypot", Args: []any{int64(3), int64(4)}, Want: 5.0},
		{Fn: "math.pow", Args: []any{int64(2), int64(10)}, Want: int64(1024)},
		{Fn: "math.pow", Args: []any{int64(2), 0.5}, Want: math.Sqrt2},
		{Fn: "math.pow", Args: []any{int64(2), int64(-1)}, Want: 0.5},
		{Fn: "math.pow", Args: []any{int64(0), int64(-1)}, Err: "the result is not a number: y should not be negative if x is 0"},
		{Fn: "math.pow", Args: []any{int64(-8), 0.5}, Err: "the result is not a number: y should be an integer if x is negative"},
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
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "math.floor", Args: []any{-1.5}, Want: int64(-2)},
		{Fn: "math.ceil", Args: []any{-1.5}, Want: int64(-1)},
		{Fn: "math.trunc", Args: []any{-1.5}, Want: int64(-1)},
		{Fn: "math.floor", Args: []any{int64(7)}, Want: int64(7)},
		{Fn: "math.floor", Args: []any{rowtest.Inf()}, Err: "infinite"},
		{Fn: "math.round", Args: []any{2.5}, Want: int64(3)},
		{Fn: "math.round", Args: []any{-2.5}, Want: int64(-3)},
		{Fn: "math.round", Args: []any{0.49999999999999994}, Want: int64(0)},
		{Fn: "math.round", Args: []any{2.675, int64(2)}, Want: 2.68},
		{Fn: "math.round", Args: []any{-1.005, int64(2)}, Want: -1.01},
		{Fn: "math.round", Args: []any{1e-300, int64(5)}, Want: 0.0},
		{Fn: "math.round", Args: []any{1.7976931348623157e308, int64(300)}, Want: 1.7976931348623157e308},
		{Fn: "math.round", Args: []any{1250.0, int64(-2)}, Want: int64(1300)},
		{Fn: "math.round", Args: []any{int64(-1250), int64(-2)}, Want: int64(-1300)},
		{Fn: "math.round", Args: []any{int64(7), int64(2)}, Want: int64(7)},
		{Fn: "math.round", Args: []any{49.0, int64(-2)}, Want: int64(0)},
		{Fn: "math.round", Args: []any{rowtest.NaN(), int64(2)}, Err: "NaN"},
		{Fn: "math.round", Args: []any{1.5, int64(1000)}, Err: "must be <= 400"},

		{Fn: "math.gcd", Args: []any{int64(12), int64(-18)}, Want: int64(6)},
		{Fn: "math.gcd", Args: []any{int64(0), int64(0)}, Want: int64(0)},
		{Fn: "math.gcd", Args: []any{1.5, int64(2)}, Err: "should be an integer"},
		{Fn: "math.lcm", Args: []any{int64(4), int64(-6)}, Want: int64(12)},
		{Fn: "math.lcm", Args: []any{int64(0), int64(6)}, Want: int64(0)},
		{Fn: "math.factorial", Args: []any{int64(5)}, Want: int64(120)},
		{Fn: "math.factorial", Args: []any{int64(0)}, Want: int64(1)},
		{Fn: "math.factorial", Args: []any{int64(-1)}, Err: "negative"},
		{Fn: "math.factorial", Args: []any{1.5}, Err: "should be integer"},
		{Fn: "math.factorial", Args: []any{int64(1001)}, Err: "too large: the limit is 1000"},

		{Fn: "math.sum", Args: []any{ints(1, 2, 3)}, Want: int64(6)},
		{Fn: "math.sum", Args: []any{value.List{}}, Want: int64(0)},
		{Fn: "math.sum", Args: []any{value.List{1e100, 1.0, -1e100}}, Want: 1.0},
		{Fn: "math.sum", Args: []any{value.Tuple{0.1, 0.2, 0.3, int64(1)}}, Want: 1.6},
		{Fn: "math.sum", Args: []any{value.List{"1"}}, Err: "should be number but got string"},
		{Fn: "math.sum", Args: []any{value.List{1.0, rowtest.NaN()}}, Err: "'values'[1] is not a number"},
		{Fn: "math.sum", Args: []any{value.List{1e308, 1e308}}, Err: "too large"},
		{Fn: "math.mean", Args: []any{ints(1, 2)}, Want: 1.5},
		{Fn: "math.mean", Args: []any{value.List{1e308, 1e308}}, Want: 1e308},
		{Fn: "math.mean", Args: []any{value.List{}}, Err: "at least 1 numbers (got 0)"},
		{Fn: "math.median", Args: []any{ints(3, 1, 2)}, Want: 2.0},
		{Fn: "math.median", Args: []any{ints(4, 1, 2, 3)}, Want: 2.5},
		{Fn: "math.variance", Args: []any{ints(2, 4, 4, 4, 5, 5, 7, 9), true}, Want: 4.0},
		{Fn: "math.stdev", Args: []any{ints(2, 4, 4, 4, 5, 5, 7, 9), rowtest.Named("population", true)}, Want: 2.0},
		{Fn: "math.variance", Args: []any{ints(1, 2, 3)}, Want: 1.0},
		{Fn: "math.stdev", Args: []any{ints(1)}, Err: "at least 2"},
		{Fn: "math.stdev", Args: []any{ints(1), true}, Want: 0.0},
		{Fn: "math.percentile", Args: []any{ints(1, 2, 3, 4, 5), int64(25)}, Want: 2.0},
		{Fn: "math.percentile", Args: []any{ints(10, 20), int64(75)}, Want: 17.5},
		{Fn: "math.percentile", Args: []any{value.List{0.1, 0.1}, int64(30)}, Want: 0.1},
		{Fn: "math.percentile", Args: []any{value.List{-1e308, 1e308}, int64(50)}, Want: 0.0},
		{Fn: "math.percentile", Args: []any{ints(10, 20), int64(100)}, Want: 20.0},
		{Fn: "math.percentile", Args: []any{ints(10), int64(101)}, Err: "must be <= 100"},
	})
}

// Whole numbers stay exact where floats would not be.
func TestMathExact(t *testing.T) {
	huge, _ := big.NewFloat(1e300).Int(nil)
	rowtest.Table(t, modules(), true, []rowtest.Case{
		{Fn: "math.pow", Args: []any{int64(3), int64(50)}, Want: rowtest.Big("717897987691852588770249")},
		{Fn: "math.pow", Args: []any{int64(-1), int64(1<<62 + 1)}, Want: int64(-1)},
		{Fn: "math.pow", Args: []any{int64(-1), int64(1 << 62)}, Want: int64(1)},
		{Fn: "math.pow", Args: []any{int64(0), int64(0)}, Want: int64(1)},
		{Fn: "math.pow", Args: []any{int64(0), int64(5)}, Want: int64(0)},
		{Fn: "math.floor", Args: []any{1e300}, Want: huge},
		{Fn: "math.round", Args: []any{1e300}, Want: huge},
		{Fn: "math.floor", Args: []any{9007199254740993.0}, Want: int64(9007199254740992)},
		{Fn: "math.gcd", Args: []any{rowtest.Big("100000000000000000000"), rowtest.Big("15000000000000000000")}, Want: int64(5000000000000000000)},
		{Fn: "math.lcm", Args: []any{int64(math.MinInt64), int64(3)}, Want: rowtest.Big("27670116110564327424")},
		{Fn: "math.factorial", Args: []any{int64(21)}, Want: rowtest.Big("51090942171709440000")},
		{Fn: "math.sum", Args: []any{value.List{int64(math.MaxInt64), int64(1)}}, Want: rowtest.Big("9223372036854775808")},
	})
	longest := rowtest.Must(t, modules(), "math.factorial", int64(1000))
	if text := rowtest.Must(t, modules(), "json.encode", longest); !value.Equal(rowtest.Must(t, modules(), "json.decode", text), longest) {
		t.Errorf("1000! is not read back from JSON")
	}
	if most := rowtest.Must(t, modules(), "math.pow", int64(2), int64(maxBits)); len(rowtest.Must(t, modules(), "json.encode", most).(string)) > 4096 {
		t.Errorf("an exact number may have more than 4096 digits")
	}
	if _, err := rowtest.Call(t, modules(), "math.sqrt", rowtest.Big("1"+strings.Repeat("0", 400))); err == nil {
		t.Errorf("sqrt of 10**400 gives a number, want an error")
	}
}

func TestMathRoundIsNearest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(r, "x")
		digits := rapid.Int64Range(0, 6).Draw(r, "digits")
		got, _ := row.Finite(rowtest.Must(t, modules(), "math.round", x, digits), "")
		if half := 0.5 * math.Pow(10, -float64(digits)); math.Abs(got-x) > half*(1+1e-6)+1e-7 {
			r.Fatalf("round(%v, %d) = %v, which is further than %v away", x, digits, got, half)
		}
	})
}
