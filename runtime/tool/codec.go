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
// It fails for a type that is not a [Value], for text that is not UTF-8, and
// for a value deeper than [MaxDepth] or of more than [MaxNodes] parts, which
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
		return limitError("nodes", "a value of more than %d parts", MaxNodes)
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
		return limitError("depth", "a value nested more than %d deep", MaxDepth)
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
		return limitError("depth", "a value nested more than %d deep", MaxDepth)
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

// Decode reads the value that [Append] wrote, all of it. Any other bytes are
// an error: a length beyond the data, a form that Append would not have
// chosen, a repeated key, bytes left over.
func Decode(data []byte) (Value, error) {
	r := reader{rest: data, nodes: MaxNodes}
	v, err := r.value(MaxDepth)
	if err == nil && len(r.rest) > 0 {
		err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode value at byte %d: %w", len(data)-len(r.rest), err)
	}
	return v, nil
}

type reader struct {
	rest  []byte
	nodes int
}

var (
	errShort        = errors.New("data ends early")
	errNotCanonical = errors.New("not in canonical form")
)

func (r *reader) value(depth int) (Value, error) {
	if r.nodes--; r.nodes < 0 {
		return nil, limitError("nodes", "a value of more than %d parts", MaxNodes)
	}
	tag, err := r.take(1)
	if err != nil {
		return nil, err
	}
	switch tag[0] {
	case tagNil:
		return nil, nil
	case tagFalse:
		return false, nil
	case tagTrue:
		return true, nil
	case tagInt:
		return r.int()
	case tagBig:
		return r.bigInt()
	case tagFloat:
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case tagString:
		b, err := r.block()
		if err == nil && !utf8.Valid(b) {
			err = errors.New("text is not UTF-8")
		}
		return string(b), err
	case tagBytes:
		b, err := r.block()
		return append([]byte{}, b...), err
	case tagList:
		vs, err := r.values(depth)
		return List(vs), err
	case tagTuple:
		vs, err := r.values(depth)
		return Tuple(vs), err
	case tagSet:
		return r.set(depth)
	case tagDict:
		return r.dict(depth)
	}
	return nil, fmt.Errorf("unknown tag %d", tag[0])
}

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.rest) {
		return nil, errShort
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

func (r *reader) int() (Value, error) {
	i, n := binary.Varint(r.rest)
	if n <= 0 {
		return nil, errShort
	}
	if n != len(binary.AppendVarint(nil, i)) {
		return nil, errNotCanonical
	}
	r.rest = r.rest[n:]
	return i, nil
}

// size reads a length or a count. Each thing counted takes at least one byte,
// so more of them than bytes left is a lie, told before anything is allocated.
func (r *reader) size() (int, error) {
	u, n := binary.Uvarint(r.rest)
	if n <= 0 || u > uint64(len(r.rest)-n) {
		return 0, errShort
	}
	if n > 1 && u < 1<<(7*(n-1)) {
		return 0, errNotCanonical
	}
	r.rest = r.rest[n:]
	return int(u), nil
}

func (r *reader) block() ([]byte, error) {
	n, err := r.size()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

func (r *reader) bigInt() (Value, error) {
	sign, err := r.take(1)
	if err != nil {
		return nil, err
	}
	magnitude, err := r.block()
	if err != nil {
		return nil, err
	}
	if sign[0] > 1 || len(magnitude) == 0 || magnitude[0] == 0 {
		return nil, errNotCanonical
	}
	i := new(big.Int).SetBytes(magnitude)
	if sign[0] == 1 {
		i.Neg(i)
	}
	if i.IsInt64() {
		return nil, errNotCanonical
	}
	return i, nil
}

func (r *reader) values(depth int) ([]Value, error) {
	if depth == 0 {
		return nil, limitError("depth", "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.size()
	if err != nil {
		return nil, err
	}
	if n > r.nodes {
		return nil, limitError("nodes", "a value of more than %d parts", MaxNodes)
	}
	vs := make([]Value, n)
	for i := range vs {
		if vs[i], err = r.value(depth - 1); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

func (r *reader) set(depth int) (Value, error) {
	vs, err := r.values(depth)
	if err != nil {
		return nil, err
	}
	var seen Dict
	for _, v := range vs {
		if err := seen.Set(v, nil); err != nil {
			return nil, err
		}
	}
	if seen.Len() != len(vs) {
		return nil, errors.New("an element twice in a set")
	}
	return Set(vs), nil
}

func (r *reader) dict(depth int) (Value, error) {
	if depth == 0 {
		return nil, limitError("depth", "a value nested more than %d deep", MaxDepth)
	}
	n, err := r.size()
	if err != nil {
		return nil, err
	}
	if n > r.nodes/2 {
		return nil, limitError("nodes", "a value of more than %d parts", MaxNodes)
	}
	d := &Dict{entries: make([]Entry, 0, n)}
	for range n {
		k, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		v, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		before := d.Len()
		if err := d.Set(k, v); err != nil {
			return nil, err
		}
		if d.Len() == before {
			return nil, errors.New("a key twice in a dict")
		}
	}
	return d, nil
}
