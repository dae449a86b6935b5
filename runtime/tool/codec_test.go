package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue().Draw(t, "v")
		b, err := Append(nil, v)
		if err != nil {
			t.Fatalf("Append: %v", err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if !Equal(got, v) {
			t.Fatalf("got %s, want %s", FormatJSON(got, ""), FormatJSON(v, ""))
		}
		if prefixed, err := Append([]byte("x"), v); err != nil || !bytes.Equal(prefixed[1:], b) {
			t.Fatalf("Append to something = %x, %v, want %x after it", prefixed, err, b)
		}
	})
}

// The types must survive one by one: Equal alone would not see a mistake that
// both ways share.
func TestCodecKeepsTypes(t *testing.T) {
	nan := math.Float64frombits(0x7ff8_dead_beef_0001)
	d := NewDict("a", int64(1))
	if err := d.Set(Tuple{int64(1), []byte{2}}, 2.0); err != nil {
		t.Fatal(err)
	}
	in := List{nil, true, false, int64(-5), bigOf("-9223372036854775809"), 1.0, math.Copysign(0, -1), nan, math.Inf(-1),
		"é\x00", []byte{0xff, 0}, List{}, Tuple{int64(1)}, Set{"b", "a"}, d}
	b, err := Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := v.(List)
	if !ok || len(out) != len(in) {
		t.Fatalf("got %T of %d, want a List of %d", v, len(out), len(in))
	}
	for i := range in {
		if TypeOf(in[i]) != TypeOf(out[i]) {
			t.Errorf("item %d: got a %T, want a %T", i, out[i], in[i])
		}
	}
	if f := out[6].(float64); f != 0 || !math.Signbit(f) {
		t.Errorf("got %v, want -0.0", f)
	}
	if got, want := math.Float64bits(out[7].(float64)), math.Float64bits(nan); got != want {
		t.Errorf("NaN came back as %x, want %x", got, want)
	}
	if _, ok := out[12].(Tuple); !ok {
		t.Errorf("got a %T, want a Tuple", out[12])
	}
	if got := out[13].(Set); got[0] != Value("b") {
		t.Errorf("the set came back in another order: %v", got)
	}
	if got, _ := out[14].(*Dict).Get("a"); got != Value(int64(1)) {
		t.Errorf("got a = %v, want 1", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	cycle := make(List, 2)
	cycle[0], cycle[1] = cycle, cycle
	wide := make(List, MaxNodes)
	deep := Value("x")
	for range MaxDepth + 1 {
		deep = List{deep}
	}
	dictDeep := Value("x")
	for range MaxDepth + 1 {
		dictDeep = NewDict("a", dictDeep)
	}
	tests := []struct {
		name  string
		v     Value
		limit LimitName
	}{
		{"a Go int", 3, ""},
		{"a Go value inside", List{struct{}{}}, ""},
		{"text that is not UTF-8", "a\xff", ""},
		{"a name that is not UTF-8", NewDict("a\xff", nil), ""},
		{"an element twice", Set{"a", "a"}, ""},
		{"a list in a set", Set{List{}}, ""},
		{"a cycle", cycle, "depth"},
		{"too wide", wide, "nodes"},
		{"too deep", deep, "depth"},
		{"dicts too deep", dictDeep, "depth"},
	}
	for _, tt := range tests {
		_, err := Append(nil, tt.v)
		if err == nil {
			t.Errorf("%s: Append = nil, want an error", tt.name)
			continue
		}
		if got := ErrorOf(err, Internal).Limit; got != tt.limit {
			t.Errorf("%s: limit %q, want %q (%v)", tt.name, got, tt.limit, err)
		}
	}
	if _, err := Append(nil, deep.(List)[0]); err != nil {
		t.Errorf("a value %d deep: %v, want no error", MaxDepth, err)
	}
	if _, err := Append(nil, wide[:MaxNodes-1]); err != nil {
		t.Errorf("a value of %d parts: %v, want no error", MaxNodes, err)
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
		{"more after the value", []byte{tagNil, tagNil}},
		{"an integer cut off", []byte{tagInt, 0x80}},
		{"an integer in a long form", []byte{tagInt, 0x82, 0x00}},
		{"an integer of 65 bits", append([]byte{tagInt}, bytes.Repeat([]byte{0xff}, 9)...)},
		{"an integer of 10 bytes and more than 64 bits", append(append([]byte{tagInt}, bytes.Repeat([]byte{0xff}, 9)...), 2)},
		{"an endless integer", append([]byte{tagInt}, bytes.Repeat([]byte{0x80}, 40)...)},
		{"a float cut off", []byte{tagFloat, 1, 2, 3}},
		{"text that is not UTF-8", []byte{tagString, 1, 0xff}},
		{"text cut off", []byte{tagString, 3, 'a', 'b'}},
		{"text of a huge length", append([]byte{tagString}, huge...)},
		{"a length in a long form", []byte{tagString, 0x81, 0x00, 'a'}},
		{"bytes cut off", []byte{tagBytes, 2, 'a'}},
		{"a big integer with a third sign", []byte{tagBig, 2, 8, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"a big integer with a leading zero", []byte{tagBig, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"a big integer that is small", []byte{tagBig, 0, 1, 5}},
		{"a big integer of nothing", []byte{tagBig, 0, 0}},
		{"-2^63 as a big integer", []byte{tagBig, 1, 8, 0x80, 0, 0, 0, 0, 0, 0, 0}},
		{"a list of more than there is", []byte{tagList, 2, tagNil}},
		{"a list of a huge count", append([]byte{tagList}, huge...)},
		{"a dict without a value", []byte{tagDict, 1, tagNil}},
		{"a dict of a huge count", append([]byte{tagDict}, huge...)},
		{"a key twice", []byte{tagDict, 2, tagNil, tagNil, tagNil, tagNil}},
		{"a key twice, as 1 and 1.0", []byte{tagDict, 2, tagInt, 2, tagNil, tagFloat, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, tagNil}},
		{"a list as a key", []byte{tagDict, 1, tagList, 0, tagNil}},
		{"an element twice", []byte{tagSet, 2, tagTrue, tagTrue}},
		{"a dict in a set", []byte{tagSet, 1, tagDict, 0}},
		{"too deep", append(bytes.Repeat([]byte{tagList, 1}, MaxDepth+1), tagNil)},
		{"too wide", append(binary.AppendUvarint([]byte{tagList}, MaxNodes), make([]byte, MaxNodes)...)},
	}
	for _, tt := range tests {
		if v, err := Decode(tt.data); err == nil {
			t.Errorf("%s: Decode = %s, want an error", tt.name, FormatJSON(v, ""))
		} else if !strings.HasPrefix(err.Error(), "decode value at byte ") {
			t.Errorf("%s: the error names no place: %v", tt.name, err)
		}
	}
	if _, err := Decode(append(bytes.Repeat([]byte{tagList, 1}, MaxDepth), tagNil)); err != nil {
		t.Errorf("a value %d deep: %v, want no error", MaxDepth, err)
	}
	var limit *Error
	if _, err := Decode(tests[len(tests)-1].data); !errors.As(err, &limit) || limit.Kind != Limit || limit.Limit != LimitNodes {
		t.Errorf("too wide: got %v, want the limit of nodes", err)
	}
}

// A peer that claims more than it sends must not make the reader allocate it:
// neither with one count, nor with many counts that claim the same bytes.
func TestDecodeAllocatesWhatWasSent(t *testing.T) {
	const sent = 40_000
	nested := func(tag byte, claim uint64) []byte {
		var b []byte
		for range MaxDepth {
			b = binary.AppendUvarint(append(b, tag), claim)
		}
		return append(b, make([]byte, sent)...)
	}
	tests := []struct {
		name string
		data []byte
	}{
		{"nested lists", nested(tagList, sent)},
		{"nested sets", nested(tagSet, sent)},
		{"nested dicts", nested(tagDict, sent/2)},
		{"a long list", binary.AppendUvarint([]byte{tagList}, 1<<40)},
		{"a long text", binary.AppendUvarint([]byte{tagString}, 1<<40)},
	}
	for _, tt := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := Decode(tt.data)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: Decode = %v, want an error", tt.name, TypeOf(v))
		}
		// 16 bytes for each one-byte value, and room for the copy and the error.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(20*len(tt.data)+20_000); got > most {
			t.Errorf("%s: %d bytes sent, %d allocated, want at most %d", tt.name, len(tt.data), got, most)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []Value{nil, true, int64(-1), bigOf("9223372036854775808"), 1.5, "text", []byte("bytes"),
		List{int64(1), "a"}, Tuple{}, Set{"a", 1.0}, NewDict("a", NewDict("b", nil)), math.NaN()} {
		b, err := Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Append(nil, v)
		if err != nil {
			t.Fatalf("Append(Decode(%x)): %v", data, err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("Append(Decode(b)) = %x, want %x", again, data)
		}
	})
}
