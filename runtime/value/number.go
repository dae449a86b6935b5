package value

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"unicode"
)

// Cut returns the first n characters of a line, with a mark if there are more.
func Cut(line string, n int) string {
	if len(line) <= n {
		return line
	}
	for i := range line {
		if n == 0 {
			return line[:i] + "…"
		}
		n--
	}
	return line
}

// IsInvisible tells control characters and those that change how what follows
// is shown: what a person reviews must be what is granted.
func IsInvisible(r rune) bool { return !unicode.IsPrint(r) }

// Numeric reports whether a value is a number.
func Numeric(v Value) bool {
	switch v.(type) {
	case int64, *big.Int, float64:
		return true
	}
	return false
}

// Integral accepts integers, and floats without a fraction as the integer.
func Integral(v Value) (Value, bool) {
	switch n := v.(type) {
	case int64:
		return v, true
	case *big.Int:
		return Integer(n), true
	case float64:
		if i, ok := wholeFloat(n); ok {
			return i, true
		}
	}
	return v, false
}

// Display writes a value as a person would in a list: a string without
// quotes.
func Display(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return FormatJSON(v, "")
}

// CompareNumbers compares two numbers exactly, as [cmp.Compare] does; it cannot
// if one of them is NaN.
func CompareNumbers(a, b Value) (order int, ok bool) {
	x, okX := a.(int64)
	y, okY := b.(int64)
	if okX && okY {
		return cmp.Compare(x, y), true
	}
	f, okF := bigFloat(a)
	g, okG := bigFloat(b)
	if !okF || !okG {
		return 0, false
	}
	return f.Cmp(g), true
}

func bigFloat(v Value) (*big.Float, bool) {
	switch n := v.(type) {
	case int64:
		return new(big.Float).SetInt64(n), true
	case *big.Int:
		return new(big.Float).SetInt(n), true
	case float64:
		if math.IsNaN(n) {
			return nil, false
		}
		return new(big.Float).SetFloat64(n), true
	}
	return nil, false
}

// wholeFloat returns f as an integer of any size if it is one.
func wholeFloat(f float64) (Value, bool) {
	if i, ok := wholeNumber(f); ok {
		return i, true
	}
	if math.IsInf(f, 0) || f != math.Trunc(f) {
		return nil, false
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return Integer(i), true
}
