package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// What a value that crosses a border may hold at most. A hostile peer cannot
// make the reader allocate more than a small multiple of the bytes it sent.
const (
	// MaxDepth is how deep lists and dicts may be nested. Real data stays under
	// 20; 64 keeps every recursion over a value short.
	MaxDepth = 64
	// MaxNodes is how many values one value may consist of.
	MaxNodes = 100_000
)

// The tags of the binary form: one byte before each value.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt    // zigzag varint
	tagBig    // sign byte, length, magnitude big-endian
	tagFloat  // 8 bytes, little-endian IEEE 754
	tagString // length, UTF-8
	tagBytes  // length, bytes
	tagList   // count, values
	tagTuple  // count, values
	tagSet    // count, values
	tagDict   // count, key and value alternating
)

// Append appends the binary form of a value to dst. The form is canonical:
// equal values give equal bytes, and [Decode] reads back exactly what was
// written, with integers, floats, bytes, tuples, sets and the order of dicts
// told apart.
//
// It fails for a type that is not a [Value], for text that is not UTF-8, for a
// set that holds something twice or what cannot be in one, and for a value deeper than [MaxDepth] or of more than [MaxNodes] parts, which
// is also how a cycle ends.
func Append(dst []byte, v Value) ([]byte, error) {
	w := Encoder{Buf: dst, Nodes: MaxNodes}
	err := w.Value(v, MaxDepth)
	return w.Buf, err
}

// An Encoder writes the binary form of values, and of what is made of them, to Buf.
type Encoder struct {
	Buf   []byte
	Nodes int
}

// Value writes a value that is nested at most so deep.
func (w *Encoder) Value(v Value, depth int) error {
	if w.Nodes--; w.Nodes < 0 {
		return Limitf(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	switch v := v.(type) {
	case nil:
		w.Buf = append(w.Buf, tagNil)
	case bool:
		tag := tagFalse
		if v {
			tag = tagTrue
		}
		w.Buf = append(w.Buf, tag)
	case int64:
		w.Buf = binary.AppendVarint(append(w.Buf, tagInt), v)
	case *big.Int:
		w.bigInt(v)
	case float64:
		w.Buf = binary.LittleEndian.AppendUint64(append(w.Buf, tagFloat), math.Float64bits(v))
	case string:
		if !utf8.ValidString(v) {
			return errors.New("a string that is not UTF-8 (use bytes)")
		}
		w.Buf = append(w.length(tagString, len(v)), v...)
	case []byte:
		w.Buf = append(w.length(tagBytes, len(v)), v...)
	case List:
		return w.values(tagList, v, depth)
	case Tuple:
		return w.values(tagTuple, v, depth)
	case Set:
		if err := distinct(v); err != nil {
			return err
		}
		return w.values(tagSet, v, depth)
	case *Dict:
		return w.dict(v, depth)
	default:
		return fmt.Errorf("a %T cannot leave the script", v)
	}
	return nil
}

func (w *Encoder) length(tag byte, n int) []byte {
	return binary.AppendUvarint(append(w.Buf, tag), uint64(n))
}

func (w *Encoder) bigInt(v *big.Int) {
	if v.IsInt64() {
		w.Buf = binary.AppendVarint(append(w.Buf, tagInt), v.Int64())
		return
	}
	sign := byte(0)
	if v.Sign() < 0 {
		sign = 1
	}
	magnitude := v.Bytes()
	w.Buf = binary.AppendUvarint(append(w.Buf, tagBig, sign), uint64(len(magnitude)))
	w.Buf = append(w.Buf, magnitude...)
}

func (w *Encoder) values(tag byte, vs []Value, depth int) error {
	if depth == 0 {
		return Limitf(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	w.Buf = w.length(tag, len(vs))
	for _, v := range vs {
		if err := w.Value(v, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (w *Encoder) dict(d *Dict, depth int) error {
	if depth == 0 {
		return Limitf(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	w.Buf = w.length(tagDict, d.Len())
	for k, v := range d.All() {
		if err := w.Value(k, depth-1); err != nil {
			return err
		}
		if err := w.Value(v, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// distinct says what keeps values from being a set.
func distinct(vs []Value) error {
	var seen Dict
	for i, v := range vs {
		if err := seen.Set(v, nil); err != nil {
			return err
		}
		if seen.Len() == i {
			return errors.New("an element twice in a set")
		}
	}
	return nil
}

// Decode reads the value that [Append] wrote, all of it. Any other bytes are
// an error: a length beyond the data, a form that Append would not have
// chosen, a repeated key, bytes left over. The strings of the value share one
// copy of the data.
func Decode(data []byte) (Value, error) { return DecodeString(string(data)) }

// DecodeString is [Decode] without the copy: the strings of the value share data.
func DecodeString(data string) (Value, error) {
	r := Decoder{Rest: data, Nodes: MaxNodes}
	v, err := r.Value(MaxDepth)
	if err == nil && r.Rest != "" {
		err = fmt.Errorf("%d bytes left over", len(r.Rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode value at byte %d: %w", len(data)-len(r.Rest), err)
	}
	return v, nil
}

// A Decoder reads from a string, so that the strings it returns need no copy.
type Decoder struct {
	Rest  string
	Nodes int // how many more values there may be
	// Owed is how many values the containers that are being read have yet to
	// bring, each of at least one byte. Without it, lists inside lists could
	// each claim the same bytes and have room allocated for all of them.
	Owed int
}

var (
	errShort        = errors.New("data ends early")
	errNotCanonical = errors.New("not in canonical form")
)

// Value reads a value that is nested at most so deep.
func (r *Decoder) Value(depth int) (Value, error) {
	if r.Nodes--; r.Nodes < 0 {
		return nil, Limitf(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	tag, err := r.Byte()
	if err != nil {
		return nil, err
	}
	switch tag {
	case tagNil:
		return nil, nil
	case tagFalse:
		return false, nil
	case tagTrue:
		return true, nil
	case tagInt:
		i, err := r.Varint()
		return i, err
	case tagBig:
		return r.bigInt()
	case tagFloat:
		return r.float()
	case tagString:
		s, err := r.Text()
		return s, err
	case tagBytes:
		b, err := r.block()
		return []byte(b), err
	case tagList:
		vs, err := r.values(depth)
		return List(vs), err
	case tagTuple:
		vs, err := r.values(depth)
		return Tuple(vs), err
	case tagSet:
		vs, err := r.values(depth)
		if err == nil {
			err = distinct(vs)
		}
		return Set(vs), err
	case tagDict:
		return r.dict(depth)
	}
	return nil, fmt.Errorf("unknown tag %d", tag)
}

// Byte reads a byte.
func (r *Decoder) Byte() (byte, error) {
	if r.Rest == "" {
		return 0, errShort
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b, nil
}

// Uvarint reads a number that is not negative, in its shortest form.
func (r *Decoder) Uvarint() (uint64, error) {
	if r.Rest != "" && r.Rest[0] < 0x80 { // as most are
		u := r.Rest[0]
		r.Rest = r.Rest[1:]
		return uint64(u), nil
	}
	return r.longUvarint()
}

func (r *Decoder) longUvarint() (uint64, error) {
	var u uint64
	for i := 0; i < len(r.Rest) && i < binary.MaxVarintLen64; i++ {
		c := r.Rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			return 0, errNotCanonical // more than 64 bits
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				return 0, errNotCanonical // a shorter form exists
			}
			r.Rest = r.Rest[i+1:]
			return u, nil
		}
	}
	return 0, errShort
}

// Varint reads an integer.
func (r *Decoder) Varint() (int64, error) {
	u, err := r.Uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// block reads a length and that many bytes.
func (r *Decoder) block() (string, error) {
	n, err := r.Uvarint()
	if err != nil {
		return "", err
	}
	if n > uint64(len(r.Rest)) {
		return "", errShort
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b, nil
}

// Text reads a string, which is a part of Rest and no copy.
func (r *Decoder) Text() (string, error) {
	s, err := r.block()
	if err == nil && !utf8.ValidString(s) {
		err = errors.New("text is not UTF-8")
	}
	return s, err
}

// Count reads how many things follow, each of at least size values and bytes.
// More than there is room for is a lie, told before anything is allocated.
func (r *Decoder) Count(size int) (int, error) {
	n, err := r.Uvarint()
	switch {
	case err != nil:
		return 0, err
	case n > uint64(max(0, len(r.Rest)-r.Owed)/size):
		return 0, errShort
	case n > uint64(max(0, r.Nodes-r.Owed)/size):
		return 0, Limitf(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	r.Owed += int(n) * size
	return int(n), nil
}

func (r *Decoder) float() (Value, error) {
	if len(r.Rest) < 8 {
		return nil, errShort
	}
	bits := uint64(0)
	for i := range 8 {
		bits |= uint64(r.Rest[i]) << (8 * i)
	}
	r.Rest = r.Rest[8:]
	return math.Float64frombits(bits), nil
}

func (r *Decoder) bigInt() (Value, error) {
	sign, err := r.Byte()
	if err != nil {
		return nil, err
	}
	magnitude, err := r.block()
	if err != nil {
		return nil, err
	}
	if sign > 1 || magnitude == "" || magnitude[0] == 0 {
		return nil, errNotCanonical
	}
	i := new(big.Int).SetBytes([]byte(magnitude))
	if sign == 1 {
		i.Neg(i)
	}
	if i.IsInt64() {
		return nil, errNotCanonical
	}
	return i, nil
}

func (r *Decoder) values(depth int) ([]Value, error) {
	if depth == 0 {
		return nil, Limitf(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.Count(1)
	if err != nil {
		return nil, err
	}
	vs := make([]Value, n)
	for i := range vs {
		r.Owed--
		if vs[i], err = r.Value(depth - 1); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

func (r *Decoder) dict(depth int) (Value, error) {
	if depth == 0 {
		return nil, Limitf(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.Count(2)
	if err != nil {
		return nil, err
	}
	d := &Dict{entries: make([]Entry, 0, n)}
	for i := range n {
		r.Owed--
		k, err := r.Value(depth - 1)
		if err != nil {
			return nil, err
		}
		r.Owed--
		v, err := r.Value(depth - 1)
		if err != nil {
			return nil, err
		}
		if err := d.Set(k, v); err != nil {
			return nil, err
		}
		if d.Len() == i {
			return nil, errors.New("a key twice in a dict")
		}
	}
	return d, nil
}
