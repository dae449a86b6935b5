package tool

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
	w := writer{buf: dst, nodes: MaxNodes}
	err := w.value(v, MaxDepth)
	return w.buf, err
}

type writer struct {
	buf   []byte
	nodes int
}

func (w *writer) value(v Value, depth int) error {
	if w.nodes--; w.nodes < 0 {
		return limitError(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	switch v := v.(type) {
	case nil:
		w.buf = append(w.buf, tagNil)
	case bool:
		tag := tagFalse
		if v {
			tag = tagTrue
		}
		w.buf = append(w.buf, tag)
	case int64:
		w.buf = binary.AppendVarint(append(w.buf, tagInt), v)
	case *big.Int:
		w.bigInt(v)
	case float64:
		w.buf = binary.LittleEndian.AppendUint64(append(w.buf, tagFloat), math.Float64bits(v))
	case string:
		if !utf8.ValidString(v) {
			return errors.New("a string that is not UTF-8 (use bytes)")
		}
		w.buf = append(w.length(tagString, len(v)), v...)
	case []byte:
		w.buf = append(w.length(tagBytes, len(v)), v...)
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

func (w *writer) length(tag byte, n int) []byte {
	return binary.AppendUvarint(append(w.buf, tag), uint64(n))
}

func (w *writer) bigInt(v *big.Int) {
	if v.IsInt64() {
		w.buf = binary.AppendVarint(append(w.buf, tagInt), v.Int64())
		return
	}
	sign := byte(0)
	if v.Sign() < 0 {
		sign = 1
	}
	magnitude := v.Bytes()
	w.buf = binary.AppendUvarint(append(w.buf, tagBig, sign), uint64(len(magnitude)))
	w.buf = append(w.buf, magnitude...)
}

func (w *writer) values(tag byte, vs []Value, depth int) error {
	if depth == 0 {
		return limitError(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	w.buf = w.length(tag, len(vs))
	for _, v := range vs {
		if err := w.value(v, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) dict(d *Dict, depth int) error {
	if depth == 0 {
		return limitError(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	w.buf = w.length(tagDict, d.Len())
	for k, v := range d.All() {
		if err := w.value(k, depth-1); err != nil {
			return err
		}
		if err := w.value(v, depth-1); err != nil {
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
	r := reader{rest: data, nodes: MaxNodes}
	v, err := r.value(MaxDepth)
	if err == nil && r.rest != "" {
		err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode value at byte %d: %w", len(data)-len(r.rest), err)
	}
	return v, nil
}

// A reader reads from a string, so that the strings it returns need no copy.
type reader struct {
	rest  string
	nodes int // how many more values there may be
	// owed is how many values the containers that are being read have yet to
	// bring, each of at least one byte. Without it, lists inside lists could
	// each claim the same bytes and have room allocated for all of them.
	owed int
}

var (
	errShort        = errors.New("data ends early")
	errNotCanonical = errors.New("not in canonical form")
)

func (r *reader) value(depth int) (Value, error) {
	if r.nodes--; r.nodes < 0 {
		return nil, limitError(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	tag, err := r.byte()
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
		i, err := r.varint()
		return i, err
	case tagBig:
		return r.bigInt()
	case tagFloat:
		return r.float()
	case tagString:
		s, err := r.text()
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

func (r *reader) byte() (byte, error) {
	if r.rest == "" {
		return 0, errShort
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b, nil
}

func (r *reader) uvarint() (uint64, error) {
	if r.rest != "" && r.rest[0] < 0x80 { // as most are
		u := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(u), nil
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() (uint64, error) {
	var u uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		c := r.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			return 0, errNotCanonical // more than 64 bits
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				return 0, errNotCanonical // a shorter form exists
			}
			r.rest = r.rest[i+1:]
			return u, nil
		}
	}
	return 0, errShort
}

func (r *reader) varint() (int64, error) {
	u, err := r.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// block reads a length and that many bytes.
func (r *reader) block() (string, error) {
	n, err := r.uvarint()
	if err != nil {
		return "", err
	}
	if n > uint64(len(r.rest)) {
		return "", errShort
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

func (r *reader) text() (string, error) {
	s, err := r.block()
	if err == nil && !utf8.ValidString(s) {
		err = errors.New("text is not UTF-8")
	}
	return s, err
}

// count reads how many things follow, each of at least size values and bytes.
// More than there is room for is a lie, told before anything is allocated.
func (r *reader) count(size int) (int, error) {
	n, err := r.uvarint()
	switch {
	case err != nil:
		return 0, err
	case n > uint64(max(0, len(r.rest)-r.owed)/size):
		return 0, errShort
	case n > uint64(max(0, r.nodes-r.owed)/size):
		return 0, limitError(LimitNodes, "a value of more than %d parts", MaxNodes)
	}
	r.owed += int(n) * size
	return int(n), nil
}

func (r *reader) float() (Value, error) {
	if len(r.rest) < 8 {
		return nil, errShort
	}
	bits := uint64(0)
	for i := range 8 {
		bits |= uint64(r.rest[i]) << (8 * i)
	}
	r.rest = r.rest[8:]
	return math.Float64frombits(bits), nil
}

func (r *reader) bigInt() (Value, error) {
	sign, err := r.byte()
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

func (r *reader) values(depth int) ([]Value, error) {
	if depth == 0 {
		return nil, limitError(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.count(1)
	if err != nil {
		return nil, err
	}
	vs := make([]Value, n)
	for i := range vs {
		r.owed--
		if vs[i], err = r.value(depth - 1); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

func (r *reader) dict(depth int) (Value, error) {
	if depth == 0 {
		return nil, limitError(LimitDepth, "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.count(2)
	if err != nil {
		return nil, err
	}
	d := &Dict{entries: make([]Entry, 0, n)}
	for i := range n {
		r.owed--
		k, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		r.owed--
		v, err := r.value(depth - 1)
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
