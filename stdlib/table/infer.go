package table

import (
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// columnOfValues returns the column that holds what a script gave. Its type is
// that of the values: integers and floats together are floats, what else is mixed
// is any, and where all are missing it is text.
func columnOfValues(values []tool.Value) *Column {
	t, found := Text, false
	for _, v := range values {
		if v == nil {
			continue
		}
		u := typeOfValue(v)
		if found {
			u = t.join(u)
		}
		t, found = u, true
	}
	c := newColumn(t, len(values))
	for _, v := range values {
		c.addInferred(v)
	}
	return c
}

// addInferred appends a value that the type of the column was found out from.
func (c *Column) addInferred(v tool.Value) {
	switch {
	case v == nil:
		c.addMissing()
	case c.Type == Any:
		c.addAny(v)
	default:
		if n, ok := v.(int64); ok && c.Type == Float {
			c.addFloat(float64(n)) // rounded, as where a script adds the two
		} else {
			c.addValue(v)
		}
	}
}

// typeOfValue returns the type of a value that is not missing.
func typeOfValue(v tool.Value) Type {
	switch v.(type) {
	case string:
		return Text
	case int64:
		return Integer
	case float64:
		return Float
	case bool:
		return Bool
	}
	return Any
}

// checkPlain fails for a value that a cell cannot hold: a function or an object.
func checkPlain(v tool.Value) error {
	switch v := v.(type) {
	case nil, string, int64, float64, bool, []byte, *big.Int:
		return nil
	case *tool.Dict:
		for k, x := range v.All() {
			if err := checkPlain(k); err != nil {
				return err
			}
			if err := checkPlain(x); err != nil {
				return err
			}
		}
		return nil
	}
	items, ok := tool.Elements(v)
	if !ok {
		return tool.Errorf(tool.Invalid, "a cell cannot hold a %s", tool.TypeOf(v))
	}
	for _, x := range items {
		if err := checkPlain(x); err != nil {
			return err
		}
	}
	return nil
}
