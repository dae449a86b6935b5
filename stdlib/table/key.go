package table

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The kinds of keys. Numbers have one kind, so an integer and an equal float have the
// same key.
const (
	keyMissing = iota
	keyInteger
	keyFloat
	keyText
	keyBool
	keyTime
	keyOther
)

// appendKey appends a key that is equal for two values if and only if the values are
// equal. No key is a prefix of another.
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
	if n, ok := exactInt(f); ok {
		return appendIntKey(key, keyInteger, n)
	}
	if f != f {
		f = math.NaN() // there are several NaNs
	}
	return binary.BigEndian.AppendUint64(append(key, keyFloat), math.Float64bits(f))
}

// identity returns a text that is the same for equal values of an any column, and for no others.
func identity(v value.Value) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil { // such as NaN
		return value.FormatJSON(v, "")
	}
	return string(text)
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
	if err != nil { // nested too deep for JSON
		code = []byte(value.FormatJSON(v, ""))
	}
	key = binary.AppendUvarint(append(key, keyOther), uint64(len(code)))
	return append(key, code...)
}

// appendRowKey appends the key of some columns of a row. missing reports whether a value
// is missing.
func appendRowKey(key []byte, columns []*Column, i int) (_ []byte, missing bool) {
	for _, c := range columns {
		missing = missing || c.missing(i)
		key = c.appendKey(key, i)
	}
	return key, missing
}

// chosen returns the columns at these indexes.
func (b *Batch) chosen(indexes []int) []*Column {
	columns := make([]*Column, len(indexes))
	for i, at := range indexes {
		columns[i] = b.Columns[at]
	}
	return columns
}
