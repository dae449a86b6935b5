package value

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// TestJSONFits checks that a value that fits is not longer, and can be written.
func TestJSONFits(t *testing.T) {
	list := Dict{}
	if err := list.Set(int64(1), "x"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []Value{
		nil, true, int64(math.MinInt64), "", "plain", "\x00\x01\x7f\"\\", strings.Repeat("\x01", 100), "\xff\xff",
		math.NaN(), 1.5, new(big.Int).Lsh(big.NewInt(1), 100_000), []byte("x"), List{"x"}, &list,
		&Dict{}, NewDict("a", nil, "b", false, "\n", int64(math.MinInt64), "c", NewDict("d", "e")), NewDict("a", math.Inf(1)),
	} {
		text, err := AppendJSON(nil, v)
		for limit := range 1000 {
			if jsonFits(v, limit) >= 0 && (err != nil || len(text) > limit) {
				t.Errorf("%#v fits %d bytes, but has %d: %v", v, limit, len(text), err)
				break
			}
		}
	}
	if jsonFits(NewDict("text", "Hello", "list", List{1.5, true}), 200) < 0 {
		t.Error("a short text does not fit")
	}
}
