package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// Limits of a value that is encoded or decoded. A hostile peer cannot make the reader
// allocate more than a small multiple of the bytes it sent.
const (
	// MaxDepth is how deep lists and dicts may be nested. Real data stays under 20; 64
	// bounds every recursion over a value.
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
	tagMedia  // length, type, length, bytes
)

// Append appends the binary form of a value to dst. The form is canonical: equal values
// give equal bytes, and [Decode] reads back exactly what was written. Integers, floats,
// bytes, media, tuples and sets stay distinct, and dicts keep their order.
//
// It fails for a type that is not a [Value], for text that is not UTF-8, for a set with
// a duplicate or an unhashable element, for invalid media, and for a value deeper than [MaxDepth] or of
// more than [MaxNodes] parts. These limits also stop cycles.
func Append(dst []byte, v Value) ([]byte, error) {
	w := Encoder{Buf: dst, Nodes: MaxNodes}
	err := w.Value(v, MaxDepth)
	return w.Buf, err
}

// An Encoder writes the binary form of values, and of structures of values, to Buf.
type Encoder struct {
	Buf   []byte
	Nodes int // how many more values may be written
}

// Value writes a value that is nested at most depth levels deep. Its errors are those of
// [Append].
func (w *Encoder) Value(v Value, depth int) error {
	if w.Nodes--; w.Nodes < 0 {
		return Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
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
			return errors.New("the string is not UTF-8 (use bytes)")
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
	case Media:
		return w.media(v)
	default:
		return fmt.Errorf("unsupported type of a value: %T", v)
	}
	return nil
}

func (w *Encoder) length(tag byte, n int) []byte {
	return binary.AppendUvarint(append(w.Buf, tag), uint64(n))
}

func (w *Encoder) media(m Media) error {
	if err := m.Check(); err != nil {
		return err
	}
	w.Buf = append(w.length(tagMedia, len(m.Type)), m.Type...)
	w.Buf = append(binary.AppendUvarint(w.Buf, uint64(len(m.Data))), m.Data...)
	return nil
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
		return Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
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
		return Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
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

// distinct returns an error if vs has a duplicate or an unhashable element.
func distinct(vs []Value) error {
	var seen Dict
	for i, v := range vs {
		if err := seen.Set(v, nil); err != nil {
			return err
		}
		if seen.Len() == i {
			return errors.New("duplicate element in a set")
		}
	}
	return nil
}

// Decode reads the value that [Append] wrote. Any other data is an error: a length
// beyond the data, a form that Append would not have chosen, a duplicate key, trailing
// bytes. The strings of the value share one copy of the data.
func Decode(data []byte) (Value, error) { return DecodeString(string(data)) }

// DecodeString is [Decode] without the copy: the strings of the value share data.
func DecodeString(data string) (Value, error) {
	r := Decoder{Rest: data, Nodes: MaxNodes}
	v, err := r.Value(MaxDepth)
	if err == nil && r.Rest != "" {
		err = fmt.Errorf("unexpected data after the value: %d bytes", len(r.Rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode value at byte %d: %w", len(data)-len(r.Rest), err)
	}
	return v, nil
}

// A Decoder reads from a string, so that the strings it returns need no copy.
type Decoder struct {
	Rest  string
	Nodes int // how many more values may follow
	// owed is how many values the open containers have yet to read, each of at least
	// one byte. Without it, nested lists could each claim the same bytes and have
	// memory allocated for all of them.
	owed int
}

var (
	errShort        = errors.New("unexpected end of data")
	errNotCanonical = errors.New("the encoding is not canonical")
)

// Value reads a value that is nested at most depth levels deep. Its errors are those of
// [Decode].
func (r *Decoder) Value(depth int) (Value, error) {
	if r.Nodes--; r.Nodes < 0 {
		return nil, Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
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
		b, err := r.Bytes()
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
	case tagMedia:
		return r.media()
	}
	return nil, fmt.Errorf("unknown type tag %d", tag)
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

// Uvarint reads an unsigned integer in its shortest form.
func (r *Decoder) Uvarint() (uint64, error) {
	if r.Rest != "" && r.Rest[0] < 0x80 { // the common case
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

// Bytes reads a length and that many bytes. They are a substring of Rest, not a copy.
func (r *Decoder) Bytes() (string, error) {
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

// Text reads a string. It is a substring of Rest, not a copy.
func (r *Decoder) Text() (string, error) {
	s, err := r.Bytes()
	if err == nil && !utf8.ValidString(s) {
		err = errors.New("text is not UTF-8")
	}
	return s, err
}

// count reads the number of items that follow, each of at least size values and bytes.
// A count that the rest of the data cannot hold is an error, before anything is
// allocated.
func (r *Decoder) count(size int) (int, error) {
	n, err := r.Uvarint()
	switch {
	case err != nil:
		return 0, err
	case n > uint64(max(0, len(r.Rest)-r.owed)/size):
		return 0, errShort
	case n > uint64(max(0, r.Nodes-r.owed)/size):
		return 0, Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
	}
	r.owed += int(n) * size
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

func (r *Decoder) media() (Value, error) {
	kind, err := r.Text()
	if err != nil {
		return nil, err
	}
	data, err := r.Bytes()
	if err != nil {
		return nil, err
	}
	m := Media{kind, []byte(data)}
	return m, m.Check()
}

func (r *Decoder) bigInt() (Value, error) {
	sign, err := r.Byte()
	if err != nil {
		return nil, err
	}
	magnitude, err := r.Bytes()
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
		return nil, Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
	}
	n, err := r.count(1)
	if err != nil {
		return nil, err
	}
	vs := make([]Value, n)
	for i := range vs {
		r.owed--
		if vs[i], err = r.Value(depth - 1); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

func (r *Decoder) dict(depth int) (Value, error) {
	if depth == 0 {
		return nil, Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
	}
	n, err := r.count(2)
	if err != nil {
		return nil, err
	}
	d := &Dict{entries: make([]Entry, 0, n)}
	for i := range n {
		r.owed--
		k, err := r.Value(depth - 1)
		if err != nil {
			return nil, err
		}
		r.owed--
		v, err := r.Value(depth - 1)
		if err != nil {
			return nil, err
		}
		if err := d.Set(k, v); err != nil {
			return nil, err
		}
		if d.Len() == i {
			return nil, errors.New("duplicate key in a dict")
		}
	}
	return d, nil
}
