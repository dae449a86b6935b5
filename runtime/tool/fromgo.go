package tool

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
)

// FromGo turns what Go programs usually have into a [Value]: any integer or
// float type, slices, arrays and maps by string (their keys sorted), of
// such in turn. A Value stays as it is. Anything else is an error of
// kind Internal.
func FromGo(v any) (Value, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte, *Dict:
		return v, nil
	case List:
		return oneForm(v)
	case Tuple:
		list, err := oneForm(v)
		return Tuple(list), err
	case Set:
		list, err := oneForm(v)
		return Set(list), err
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
	return fromReflection(reflect.ValueOf(v))
}

// fromReflection is for the slices and maps of other types.
func fromReflection(r reflect.Value) (Value, error) {
	switch {
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		items := make([]any, r.Len())
		for i := range items {
			items[i] = r.Index(i).Interface()
		}
		return fromSlice(items)
	case r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String:
		m := make(map[string]any, r.Len())
		for key, v := range r.Seq2() {
			m[key.String()] = v.Interface()
		}
		return fromMap(m)
	}
	return nil, Errorf(Internal, "a %s is no value", r.Type())
}

// oneForm gives each item its one form; most lists are right already.
func oneForm(items []Value) (List, error) {
	for i, item := range items {
		switch item.(type) {
		case nil, bool, int64, float64, string, []byte, *Dict:
			continue
		}
		list := slices.Clone(items[:i])
		for _, item := range items[i:] {
			v, err := FromGo(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return items, nil
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
