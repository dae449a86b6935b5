package value_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Any().Draw(t, "v")
		b, err := value.Append(nil, v)
		if err != nil {
			t.Fatalf("Append: %v", err)
		}
		got, err := value.Decode(b)
		if err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if !value.Equal(got, v) {
			t.Fatalf("got %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(v, ""))
		}
		if prefixed, err := value.Append([]byte("x"), v); err != nil || !bytes.Equal(prefixed[1:], b) {
			t.Fatalf("Append to something = %x, %v, want %x after it", prefixed, err, b)
		}
	})
}

// The types are checked one by one: Equal alone would not see an error that both ways
// share.
func TestCodecKeepsTypes(t *testing.T) {
	nan := math.Float64frombits(0x7ff8_dead_beef_0001)
	d := value.NewDict("a", int64(1))
	if err := d.Set(value.Tuple{int64(1), []byte{2}}, 2.0); err != nil {
		t.Fatal(err)
	}
	in := value.List{nil, true, false, int64(-5), valuetest.Big("-9223372036854775809"), 1.0, math.Copysign(0, -1), nan, math.Inf(-1),
		"é\x00", []byte{0xff, 0}, value.List{}, value.Tuple{int64(1)}, value.Set{"b", "a"}, d}
	b, err := value.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := v.(value.List)
	if !ok || len(out) != len(in) {
		t.Fatalf("got %T of %d, want a List of %d", v, len(out), len(in))
	}
	for i := range in {
		if value.TypeOf(in[i]) != value.TypeOf(out[i]) {
			t.Errorf("item %d: got a %T, want a %T", i, out[i], in[i])
		}
	}
	if f := out[6].(float64); f != 0 || !math.Signbit(f) {
		t.Errorf("got %v, want -0.0", f)
	}
	if got, want := math.Float64bits(out[7].(float64)), math.Float64bits(nan); got != want {
		t.Errorf("NaN came back as %x, want %x", got, want)
	}
	if _, ok := out[12].(value.Tuple); !ok {
		t.Errorf("got a %T, want a Tuple", out[12])
	}
	if got := out[13].(value.Set); got[0] != value.Value("b") {
		t.Errorf("the set came back in another order: %v", got)
	}
	if got, _ := out[14].(*value.Dict).Get("a"); got != value.Value(int64(1)) {
		t.Errorf("got a = %v, want 1", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	cycle := make(value.List, 2)
	cycle[0], cycle[1] = cycle, cycle
	wide := make(value.List, value.MaxNodes)
	deep := value.Value("x")
	for range value.MaxDepth + 1 {
		deep = value.List{deep}
	}
	dictDeep := value.Value("x")
	for range value.MaxDepth + 1 {
		dictDeep = value.NewDict("a", dictDeep)
	}
	tests := []struct {
		name  string
		v     value.Value
		limit value.LimitName
	}{
		{"a Go int", 3, ""},
		{"a Go value inside", value.List{struct{}{}}, ""},
		{"text that is not UTF-8", "a\xff", ""},
		{"a name that is not UTF-8", value.NewDict("a\xff", nil), ""},
		{"an element twice", value.Set{"a", "a"}, ""},
		{"a list in a set", value.Set{value.List{}}, ""},
		{"a cycle", cycle, "depth"},
		{"too wide", wide, "nodes"},
		{"too deep", deep, "depth"},
		{"dicts too deep", dictDeep, "depth"},
	}
	for _, tt := range tests {
		_, err := value.Append(nil, tt.v)
		if err == nil {
			t.Errorf("%s: Append = nil, want an error", tt.name)
			continue
		}
		if got := value.ErrorOf(err, value.Internal).Limit; got != tt.limit {
			t.Errorf("%s: limit %q, want %q (%v)", tt.name, got, tt.limit, err)
		}
	}
	if _, err := value.Append(nil, deep.(value.List)[0]); err != nil {
		t.Errorf("a value %d deep: %v, want no error", value.MaxDepth, err)
	}
	if _, err := value.Append(nil, wide[:value.MaxNodes-1]); err != nil {
		t.Errorf("a value of %d parts: %v, want no error", value.MaxNodes, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<62)
	tests := []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"an unknown tag", []byte{99}},
		{"more after the value", []byte{value.TagNil, value.TagNil}},
		{"an integer cut off", []byte{value.TagInt, 0x80}},
		{"an integer in a long form", []byte{value.TagInt, 0x82, 0x00}},
		{"an integer of 65 bits", append([]byte{value.TagInt}, bytes.Repeat([]byte{0xff}, 9)...)},
		{"an integer of 10 bytes and more than 64 bits", append(append([]byte{value.TagInt}, bytes.Repeat([]byte{0xff}, 9)...), 2)},
		{"an endless integer", append([]byte{value.TagInt}, bytes.Repeat([]byte{0x80}, 40)...)},
		{"a float cut off", []byte{value.TagFloat, 1, 2, 3}},
		{"text that is not UTF-8", []byte{value.TagString, 1, 0xff}},
		{"text cut off", []byte{value.TagString, 3, 'a', 'b'}},
		{"text of a huge length", append([]byte{value.TagString}, huge...)},
		{"a length in a long form", []byte{value.TagString, 0x81, 0x00, 'a'}},
		{"bytes cut off", []byte{value.TagBytes, 2, 'a'}},
		{"a big integer with a third sign", []byte{value.TagBig, 2, 8, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"a big integer with a leading zero", []byte{value.TagBig, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"a big integer that is small", []byte{value.TagBig, 0, 1, 5}},
		{"a big integer of nothing", []byte{value.TagBig, 0, 0}},
		{"-2^63 as a big integer", []byte{value.TagBig, 1, 8, 0x80, 0, 0, 0, 0, 0, 0, 0}},
		{"a list of more than there is", []byte{value.TagList, 2, value.TagNil}},
		{"a list of a huge count", append([]byte{value.TagList}, huge...)},
		{"a dict without a value", []byte{value.TagDict, 1, value.TagNil}},
		{"a dict of a huge count", append([]byte{value.TagDict}, huge...)},
		{"a key twice", []byte{value.TagDict, 2, value.TagNil, value.TagNil, value.TagNil, value.TagNil}},
		{"a key twice, as 1 and 1.0", []byte{value.TagDict, 2, value.TagInt, 2, value.TagNil, value.TagFloat, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, value.TagNil}},
		{"a list as a key", []byte{value.TagDict, 1, value.TagList, 0, value.TagNil}},
		{"an element twice", []byte{value.TagSet, 2, value.TagTrue, value.TagTrue}},
		{"a dict in a set", []byte{value.TagSet, 1, value.TagDict, 0}},
		{"too deep", append(bytes.Repeat([]byte{value.TagList, 1}, value.MaxDepth+1), value.TagNil)},
		{"too wide", append(binary.AppendUvarint([]byte{value.TagList}, value.MaxNodes), make([]byte, value.MaxNodes)...)},
	}
	for _, tt := range tests {
		if v, err := value.Decode(tt.data); err == nil {
			t.Errorf("%s: Decode = %s, want an error", tt.name, value.FormatJSON(v, ""))
		} else if !strings.HasPrefix(err.Error(), "decode value at byte ") {
			t.Errorf("%s: the error names no place: %v", tt.name, err)
		}
	}
	if _, err := value.Decode(append(bytes.Repeat([]byte{value.TagList, 1}, value.MaxDepth), value.TagNil)); err != nil {
		t.Errorf("a value %d deep: %v, want no error", value.MaxDepth, err)
	}
	var limit *value.Error
	if _, err := value.Decode(tests[len(tests)-1].data); !errors.As(err, &limit) || limit.Kind != value.Limit || limit.Limit != value.LimitNodes {
		t.Errorf("too wide: got %v, want the limit of nodes", err)
	}
}

// A peer that claims more than it sends must not make the reader allocate it: neither
// with one count nor with many counts that claim the same bytes.
func TestDecodeAllocatesWhatWasSent(t *testing.T) {
	const sent = 40_000
	nested := func(tag byte, claim uint64) []byte {
		var b []byte
		for range value.MaxDepth {
			b = binary.AppendUvarint(append(b, tag), claim)
		}
		return append(b, make([]byte, sent)...)
	}
	tests := []struct {
		name string
		data []byte
	}{
		{"nested lists", nested(value.TagList, sent)},
		{"nested sets", nested(value.TagSet, sent)},
		{"nested dicts", nested(value.TagDict, sent/2)},
		{"a long list", binary.AppendUvarint([]byte{value.TagList}, 1<<40)},
		{"a long text", binary.AppendUvarint([]byte{value.TagString}, 1<<40)},
	}
	for _, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := value.Decode(tt.data)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: Decode = %v, want an error", tt.name, value.TypeOf(v))
		}
		// 16 bytes for each one-byte value, plus the copy and the error.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(20*len(tt.data)+20_000); got > most {
			t.Errorf("%s: %d bytes sent, %d allocated, want at most %d", tt.name, len(tt.data), got, most)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []value.Value{nil, true, int64(-1), valuetest.Big("9223372036854775808"), 1.5, "text", []byte("bytes"),
		value.List{int64(1), "a"}, value.Tuple{}, value.Set{"a", 1.0}, value.NewDict("a", value.NewDict("b", nil)), math.NaN()} {
		b, err := value.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Decode(data)
		if err != nil {
			return
		}
		again, err := value.Append(nil, v)
		if err != nil {
			t.Fatalf("Append(Decode(%x)): %v", data, err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("Append(Decode(b)) = %x, want %x", again, data)
		}
	})
}
