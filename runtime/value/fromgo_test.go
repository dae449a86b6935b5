package value_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestFromGo(t *testing.T) {
	tests := []struct {
		in   any
		want value.Value
	}{
		{nil, nil}, {true, true}, {3, int64(3)}, {int8(-3), int64(-3)}, {int16(3), int64(3)}, {int32(3), int64(3)}, {int64(3), int64(3)},
		{uint(3), int64(3)}, {uint8(3), int64(3)}, {uint16(3), int64(3)}, {uint32(3), int64(3)}, {uint64(math.MaxUint64), valuetest.Big("18446744073709551615")},
		{float32(0.5), 0.5}, {2.0, 2.0}, {big.NewInt(3), int64(3)}, {"a", "a"}, {[]byte("a"), []byte("a")},
		{[]string{"a", "b"}, value.List{"a", "b"}}, {[]any{1, []any{nil}}, value.List{int64(1), value.List{nil}}}, {[]value.Value{1}, value.List{int64(1)}},
		{map[string]any{"b": 1, "a": []string{}}, value.NewDict("a", value.List{}, "b", int64(1))}, {map[string]string{"a": "b"}, value.NewDict("a", "b")},
		{value.List{"a"}, value.List{"a"}}, {value.NewDict("a", value.Tuple{}), value.NewDict("a", value.Tuple{})},
	}
	for _, tt := range tests {
		if got, err := value.FromGo(tt.in); err != nil || !value.Equal(got, tt.want) {
			t.Errorf("FromGo(%T %v) = %s, %v, want %s", tt.in, tt.in, value.FormatJSON(got, ""), err, value.FormatJSON(tt.want, ""))
		}
	}
	for _, in := range []any{make(chan int), []any{make(chan int)}, map[string]any{"a": func() {}}} {
		if got, err := value.FromGo(in); err == nil || value.KindOf(err) != value.Invalid {
			t.Errorf("FromGo(%T) = %v, %v, want an error of kind Invalid", in, got, err)
		}
	}
}
