package tool

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Normalize converts the Go values in a definition, such as Min: 1 or
// Default: []string{"a"}, with [value.FromGo], and sets HasDefault for each default.
func (t *Tool) Normalize() error {
	t.Params = slices.Clone(t.Params)
	if err := normalizeParams(t.Params); err != nil {
		return err
	}
	if t.Returns != nil {
		returns := *t.Returns
		t.Returns = &returns
		return returns.normalize()
	}
	return nil
}

func normalizeParams(params []Param) error {
	for i := range params {
		p := &params[i]
		v, err := value.FromGo(p.Default)
		if err == nil {
			err = p.Type.normalize()
		}
		if err != nil {
			return value.Errorf(value.Invalid, "parameter '%s': %w", p.Name, err)
		}
		p.Default = v
		p.HasDefault = p.HasDefault || v != nil
	}
	return nil
}

func (t *Type) normalize() error {
	t.Enum = slices.Clone(t.Enum)
	values := []*value.Value{&t.Min, &t.Max}
	for i := range t.Enum {
		values = append(values, &t.Enum[i])
	}
	for _, v := range values {
		one, err := value.FromGo(*v)
		if err != nil {
			return err
		}
		*v = one
	}
	for _, inner := range []**Type{&t.Items, &t.Values} {
		if *inner != nil {
			c := **inner
			*inner = &c
			if err := c.normalize(); err != nil {
				return err
			}
		}
	}
	t.Fields = slices.Clone(t.Fields)
	return normalizeParams(t.Fields)
}
