package tool

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// FromGo turns what Go programs usually have into a [Value]: any integer or
// float type, []string, []any, map[string]any (its keys sorted), and those
// inside one another. A Value stays as it is. Anything else is an error of
// kind Internal.
func FromGo(v any) (Value, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte, List, Tuple, Set, *Dict:
		return v, nil
	case *big.Int:
		return Integer(v), nil
	case int:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint:
		return fromUint(uint64(v)), nil
	case uint8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		return fromUint(v), nil
	case float32:
		return float64(v), nil
	case []string:
		return fromSlice(v)
	case []any:
		return fromSlice(v)
	case []Value:
		return fromSlice(v)
	case map[string]any:
		return fromMap(v)
	case map[string]string:
		return fromMap(v)
	}
	return nil, Errorf(Internal, "a %T is no value", v)
}

func fromUint(u uint64) Value { return Integer(new(big.Int).SetUint64(u)) }

func fromSlice[T any](items []T) (Value, error) {
	list := make(List, len(items))
	for i, item := range items {
		v, err := FromGo(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		list[i] = v
	}
	return list, nil
}

func fromMap[T any](m map[string]T) (Value, error) {
	d := &Dict{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, err := FromGo(m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d.Put(name, v)
	}
	return d, nil
}
