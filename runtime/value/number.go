package value

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"unicode"
)

// Cut returns the first n characters of a line, followed by "…" if there are more.
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

// IsInvisible reports whether r cannot be seen where it stands: a control character, a space
// other than the plain one, a character without width or one that changes how the following
// text is shown, or a letter or symbol whose shape is empty. What a person reviews must be
// what is granted.
func IsInvisible(r rune) bool {
	if r < unicode.MaxLatin1 {
		return !unicode.IsPrint(r)
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, emptyShapes)
}

// emptyShapes are printable characters that nothing is drawn for: a pattern of Braille
// without dots, a note without a head, and blanks between hieroglyphs.
var emptyShapes = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x13441, Hi: 0x13442, Stride: 1}, {Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, {Lo: 0x1d159, Hi: 0x1d159, Stride: 1}},
}

// Numeric reports whether a value is a number.
func Numeric(v Value) bool {
	switch v.(type) {
	case int64, *big.Int, float64:
		return true
	}
	return false
}

// Integral returns v as an integer if it is an integer or a float without a fraction.
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

// Display formats a value for a list that people read: a string without quotes.
func Display(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case Media:
		return v.String()
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return FormatJSON(v, "")
}

// CompareNumbers compares two numbers exactly, as [cmp.Compare] does. It reports false
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

// wholeFloat returns f as an integer of any size, if it has no fraction.
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
