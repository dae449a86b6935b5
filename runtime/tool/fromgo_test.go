package tool

import (
	"math"
	"math/big"
	"testing"
)

func TestFromGo(t *testing.T) {
	tests := []struct {
		in   any
		want Value
	}{
		{nil, nil}, {true, true}, {3, int64(3)}, {int8(-3), int64(-3)}, {int16(3), int64(3)}, {int32(3), int64(3)}, {int64(3), int64(3)},
		{uint(3), int64(3)}, {uint8(3), int64(3)}, {uint16(3), int64(3)}, {uint32(3), int64(3)}, {uint64(math.MaxUint64), bigOf("18446744073709551615")},
		{float32(0.5), 0.5}, {2.0, 2.0}, {big.NewInt(3), int64(3)}, {"a", "a"}, {[]byte("a"), []byte("a")},
		{[]string{"a", "b"}, List{"a", "b"}}, {[]any{1, []any{nil}}, List{int64(1), List{nil}}}, {[]Value{1}, List{int64(1)}},
		{map[string]any{"b": 1, "a": []string{}}, NewDict("a", List{}, "b", int64(1))}, {map[string]string{"a": "b"}, NewDict("a", "b")},
		{List{"a"}, List{"a"}}, {NewDict("a", Tuple{}), NewDict("a", Tuple{})},
	}
	for _, tt := range tests {
		if got, err := FromGo(tt.in); err != nil || !Equal(got, tt.want) {
			t.Errorf("FromGo(%T %v) = %s, %v, want %s", tt.in, tt.in, FormatJSON(got, ""), err, FormatJSON(tt.want, ""))
		}
	}
	for _, in := range []any{make(chan int), []any{make(chan int)}, map[string]any{"a": func() {}}} {
		if got, err := FromGo(in); err == nil || KindOf(err) != Invalid {
			t.Errorf("FromGo(%T) = %v, %v, want an error of kind Invalid", in, got, err)
		}
	}
}
