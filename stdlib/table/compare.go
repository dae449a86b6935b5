package table

import (
	"cmp"
	"math"
	"math/big"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// unordered is the result of a comparison with NaN.
const unordered = 2

// compareFloats compares two numbers.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return unordered
}

// compareIntFloat compares an integer with a float without rounding.
func compareIntFloat(n int64, f float64) int {
	switch {
	case f != f:
		return unordered
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	whole := math.Trunc(f)
	if order := cmp.Compare(n, int64(whole)); order != 0 {
		return order
	}
	return cmp.Compare(whole, f)
}

// compareValues compares two values of a script. ok is false if they have no order.
// Lists are compared item by item.
func compareValues(a, b value.Value) (order int, ok bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	case bool:
		b, ok := b.(bool)
		return cmp.Compare(bit(a), bit(b)), ok
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return compareIntFloat(a, b), true
		}
	case float64:
		switch b := b.(type) {
		case float64:
			return compareFloats(a, b), true
		case int64:
			return reversed(compareIntFloat(b, a)), true
		}
	}
	if x, y := bigFloat(a), bigFloat(b); x != nil && y != nil {
		return x.Cmp(y), true
	}
	x, okX := value.Elements(a)
	y, okY := value.Elements(b)
	if !okX || !okY {
		return 0, false
	}
	for i := range min(len(x), len(y)) {
		if order, ok := compareValues(x[i], y[i]); order != 0 || !ok {
			return order, ok
		}
	}
	return cmp.Compare(len(x), len(y)), true
}

// bigFloat returns a number as a big float, or nil if v is NaN or not a number.
func bigFloat(v value.Value) *big.Float {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	case float64:
		if v == v {
			return new(big.Float).SetFloat64(v)
		}
	}
	return nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reversed returns the result of a comparison with the operands exchanged.
func reversed(order int) int {
	if order == unordered {
		return order
	}
	return -order
}
