package star

import (
	"math/big"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// toStar turns a value into Starlark's.
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
	case value.List:
		items, err := manyToStar(v)
		return starlark.NewList(items), err
	case value.Tuple:
		items, err := manyToStar(v)
		return starlark.Tuple(items), err
	case value.Set:
		return setToStar(v)
	case *value.Dict:
		return dictToStar(v)
	}
	return nil, value.Errorf(value.Internal, "a %T is not a value", v).WithHint("a function in Go returns what cassidy.Encode returns")
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

func setToStar(vs value.Set) (starlark.Value, error) {
	set := starlark.NewSet(len(vs))
	for _, v := range vs {
		item, err := toStar(v)
		if err != nil {
			return nil, err
		}
		if err := set.Insert(item); err != nil {
			return nil, err
		}
	}
	return set, nil
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

// fromStar turns a Starlark value into one that can leave the script. Its
// parts are counted, since a small script can make a value that is a tree of
// a billion leaves, all of them the same object.
func fromStar(v starlark.Value) (value.Value, error) {
	return converter{nodes: value.MaxNodes}.one(v)
}

// A starConverter turns values into ours. Without lend objects become plain
// values, and functions are refused.
type converter struct {
	nodes int
	lend  func(starlark.Callable) tool.Function
}

// one turns a whole value: the converter is a copy, so each has all the parts.
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
			return nil, value.Errorf(value.Failed, "a string that is not UTF-8 cannot leave the script").WithHint("use bytes")
		}
		return string(v), nil
	case starlark.Bytes:
		return []byte(v), nil
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
		if c.lend != nil {
			return c.lend(v), nil
		}
		return nil, value.Errorf(value.Failed, "the function %s cannot leave the script", v.Name()).
			WithHint("call it, with (), and pass on what it returns")
	case starlark.Sequence:
		items, err := c.sequence(v, depth)
		return value.List(items), err
	}
	return nil, value.Errorf(value.Failed, "a %s cannot leave the script", v.Type())
}

func (c *converter) object(o *object, depth int) (value.Value, error) {
	if c.lend != nil {
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
	result := &value.Dict{}
	iter := d.Iterate() // in a recursive function, d.Entries allocates more
	defer iter.Done()
	for k := starlark.Value(nil); iter.Next(&k); {
		key, err := c.value(k, depth-1)
		if err != nil {
			return nil, err
		}
		x, _, _ := d.Get(k) // it is there
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
