package table

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// What distinguishes values of different kinds in a key. A number is the same as
// an integer and as a float.
const (
	keyMissing = iota
	keyInteger
	keyFloat
	keyText
	keyBool
	keyTime
	keyOther
)

// appendKey appends bytes that are the same for two values exactly where these
// are equal. No key is the beginning of another.
func (c *Column) appendKey(key []byte, i int) []byte {
	if c.missing(i) {
		return append(key, keyMissing)
	}
	switch c.Type {
	case Text:
		return appendTextKey(key, c.Texts[i])
	case Float:
		return appendFloatKey(key, c.Floats[i])
	case Integer:
		return appendIntKey(key, keyInteger, c.Ints[i])
	case Bool:
		return appendIntKey(key, keyBool, c.Ints[i])
	case Any:
		return appendValueKey(key, c.Values[i])
	}
	return appendIntKey(key, keyTime, c.Ints[i])
}

func appendIntKey(key []byte, kind byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(key, kind), uint64(n))
}

func appendTextKey(key []byte, s string) []byte {
	key = binary.AppendUvarint(append(key, keyText), uint64(len(s)))
	return append(key, s...)
}

func appendFloatKey(key []byte, f float64) []byte {
	if n, ok := wholeNumber(f); ok {
		return appendIntKey(key, keyInteger, n)
	}
	if f != f {
		f = math.NaN() // there are several
	}
	return binary.BigEndian.AppendUint64(append(key, keyFloat), math.Float64bits(f))
}

func appendValueKey(key []byte, v value.Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(key, keyMissing)
	case string:
		return appendTextKey(key, v)
	case int64:
		return appendIntKey(key, keyInteger, v)
	case float64:
		return appendFloatKey(key, v)
	case bool:
		return appendIntKey(key, keyBool, int64(bit(v)))
	case *big.Int:
		if f, accuracy := new(big.Float).SetInt(v).Float64(); accuracy == big.Exact {
			return appendFloatKey(key, f)
		}
	}
	code, err := value.Append(nil, v)
	if err != nil { // nested too deep for a record
		code = []byte(value.FormatJSON(v, ""))
	}
	key = binary.AppendUvarint(append(key, keyOther), uint64(len(code)))
	return append(key, code...)
}

// appendRowKey appends the key of some columns of a row. missing says that one of
// them is missing.
func appendRowKey(key []byte, columns []*Column, i int) (_ []byte, missing bool) {
	for _, c := range columns {
		missing = missing || c.missing(i)
		key = c.appendKey(key, i)
	}
	return key, missing
}

// chosen returns the columns at these places.
func (b *Batch) chosen(places []int) []*Column {
	columns := make([]*Column, len(places))
	for i, at := range places {
		columns[i] = b.Columns[at]
	}
	return columns
}
