package star

import (
	"math/big"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// toStar converts a value to Starlark.
func toStar(v value.Value) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case *big.Int:
		return starlark.MakeBigInt(v), nil
	case float64:
		return starlark.Float(v), nil
	case string:
		return starlark.String(v), nil
	case []byte:
		return starlark.Bytes(v), nil
	case value.Media:
		return &media{v}, nil
	case value.List:
		items, err := manyToStar(v)
		return starlark.NewList(items), err
	case value.Tuple:
		items, err := manyToStar(v)
		return starlark.Tuple(items), err
	case value.Set:
		items, err := manyToStar(v)
		set := starlark.NewSet(len(items))
		for i := 0; i < len(items) && err == nil; i++ {
			err = set.Insert(items[i])
		}
		return set, err
	case *value.Dict:
		return dictToStar(v)
	}
	return nil, script.NotValue(v)
}

func manyToStar(vs []value.Value) ([]starlark.Value, error) {
	items := make([]starlark.Value, len(vs))
	for i, v := range vs {
		item, err := toStar(v)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func dictToStar(d *value.Dict) (starlark.Value, error) {
	dict := starlark.NewDict(d.Len())
	for k, v := range d.All() {
		key, err := toStar(k)
		if err != nil {
			return nil, err
		}
		value, err := toStar(v)
		if err != nil {
			return nil, err
		}
		if err := dict.SetKey(key, value); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// fromStar converts a Starlark value to one that can leave the script. It counts the
// parts: a small script can make a tree of a billion leaves, all of them the same
// object.
func fromStar(v starlark.Value) (value.Value, error) {
	return converter{nodes: value.MaxNodes}.one(v)
}

// A converter converts Starlark values. Without callback, functions are rejected. Without
// callback, or with plain, objects become plain values.
type converter struct {
	nodes    int
	plain    bool
	callback func(starlark.Callable) tool.Function
}

// one converts a value. The converter is a copy, so the limits apply to each value.
func (c converter) one(v starlark.Value) (value.Value, error) {
	return c.value(v, value.MaxDepth)
}

func (c *converter) value(v starlark.Value, depth int) (value.Value, error) {
	if c.nodes--; c.nodes < 0 {
		return nil, script.TooManyParts()
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		if i, ok := v.Int64(); ok {
			return i, nil
		}
		return v.BigInt(), nil
	case starlark.Float:
		return float64(v), nil
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, value.Errorf(value.Failed, "a string is not UTF-8").WithHint("use bytes instead of the string")
		}
		return string(v), nil
	case starlark.Bytes:
		return []byte(v), nil
	case *media:
		return v.Media, nil
	case *starlark.Dict:
		return c.dict(v, depth)
	case starlark.Tuple:
		items, err := c.sequence(v, depth)
		return value.Tuple(items), err
	case *starlark.Set:
		items, err := c.sequence(v, depth)
		return value.Set(items), err
	case *collection:
		return c.object(&v.object, depth)
	case *object:
		return c.object(v, depth)
	case starlark.Callable:
		if c.callback != nil {
			return c.callback(v), nil
		}
		return nil, script.FunctionLeaves("the function " + v.Name())
	case starlark.Sequence:
		items, err := c.sequence(v, depth)
		return value.List(items), err
	}
	return nil, value.Errorf(value.Failed, "expected data but got a value of type %s", v.Type())
}

func (c *converter) object(o *object, depth int) (value.Value, error) {
	if c.callback != nil && !c.plain {
		return o.object, nil
	}
	return o.run.Plain(o.object, depth, &c.nodes)
}

func (c *converter) sequence(s starlark.Sequence, depth int) ([]value.Value, error) {
	if depth == 0 {
		return nil, script.TooDeep()
	}
	if s.Len() > c.nodes {
		return nil, script.TooManyParts()
	}
	items := make([]value.Value, 0, s.Len())
	iter := s.Iterate()
	defer iter.Done()
	for x := starlark.Value(nil); iter.Next(&x); {
		item, err := c.value(x, depth-1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (c *converter) dict(d *starlark.Dict, depth int) (value.Value, error) {
	if depth == 0 {
		return nil, script.TooDeep()
	}
	result := value.MakeDict(d.Len())
	iter := d.Iterate() // in a recursive function, d.Entries allocates more
	defer iter.Done()
	for k := starlark.Value(nil); iter.Next(&k); {
		key, err := c.value(k, depth-1)
		if err != nil {
			return nil, err
		}
		x, _, _ := d.Get(k) // the key exists
		val, err := c.value(x, depth-1)
		if err != nil {
			return nil, err
		}
		if err := result.Set(key, val); err != nil {
			return nil, value.Errorf(value.Failed, "%w", err)
		}
	}
	return result, nil
}
