package value

import "math"

// FitsJSON reports whether a value is written as JSON in so many bytes, without writing
// it. It may be false for one that is: only the most usual kinds of values are looked at.
func FitsJSON(v Value, bytes int) bool { return jsonFits(v, bytes) >= 0 }

// jsonFits returns what is left of so many bytes once a value is written as JSON, or
// less. It is negative where the value may not fit, or not have a JSON form at all.
func jsonFits(v Value, bytes int) int {
	switch v := v.(type) {
	case nil, bool, int64:
		return bytes - len("-9223372036854775808")
	case string:
		return bytes - len(`""`) - len(`\u0000`)*len(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return -1
		}
		return bytes - len("-2.2250738585072014e-308")
	case List:
		bytes -= len("[]")
		for _, x := range v {
			if bytes = jsonFits(x, bytes) - len(","); bytes < 0 {
				return -1
			}
		}
		return bytes
	case *Dict:
		bytes -= len("{}")
		for name, x := range v.All() {
			if _, isText := name.(string); !isText || bytes < 0 {
				return -1
			}
			bytes = jsonFits(x, jsonFits(name, bytes)-len(":,"))
		}
		return bytes
	}
	return -1
}
