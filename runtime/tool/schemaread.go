package tool

import (
	"math/big"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// ParamsFromSchema reads the parameters out of a JSON Schema of an object, as
// a vendor's definition of a tool holds one. Type names outside JSON Schema
// that are in use (dict, float, tuple) are understood. What the schema says
// beyond what a [Type] can, such as oneOf, is left out; a caller that must be
// exact puts the schema itself into [Tool.Schema].
func ParamsFromSchema(schema *value.Dict) ([]Param, error) {
	properties, _ := schema.Get("properties")
	fields, ok := properties.(*value.Dict)
	if !ok {
		if properties != nil {
			return nil, value.Errorf(value.Invalid, "properties of a schema should be object but got %s", value.TypeOf(properties))
		}
		return nil, nil
	}
	required, _ := schema.Get("required")
	names, _ := value.Elements(required)
	params := make([]Param, 0, fields.Len())
	for k, v := range fields.All() {
		name, _ := k.(string)
		sub, ok := v.(*value.Dict)
		if b, isBool := v.(bool); isBool && b {
			sub, ok = &value.Dict{}, true
		}
		if !ok {
			return nil, value.Errorf(value.Invalid, "property '%s' should be a schema but got %s", name, value.TypeOf(v))
		}
		p, err := paramFromSchema(name, sub)
		if err != nil {
			return nil, err
		}
		p.Required = slices.Contains(names, value.Value(name))
		params = append(params, p)
	}
	return params, nil
}

// CallerParams returns the parameters that a caller gives: those of the tool's own
// schema, where it has one, without those that the host fills in. The error is Invalid,
// and says that the schema cannot be read as such a list.
func (t *Tool) CallerParams() ([]Param, error) {
	params := t.Params
	if len(t.Schema) > 0 {
		v, err := value.ParseJSON(t.Schema)
		if err != nil {
			return nil, err
		}
		schema, ok := v.(*value.Dict)
		if !ok {
			return nil, value.Errorf(value.Invalid, "the schema is no object")
		}
		if params, err = ParamsFromSchema(schema); err != nil {
			return nil, err
		}
	}
	var given []Param
	for i := range params {
		if !params[i].FromHost {
			given = append(given, params[i])
		}
	}
	return given, nil
}

func paramFromSchema(name string, s *value.Dict) (Param, error) {
	t, err := typeFromSchema(s, value.MaxDepth)
	if err != nil {
		return Param{}, value.Errorf(value.Invalid, "property '%s': %w", name, err)
	}
	p := Param{Name: name, Type: t, Description: s.Text("description")}
	// A default that its own type would refuse is documentation, not a value.
	if v, ok := s.Get("default"); ok {
		if v, problems := checkValue(&t, v); len(problems) == 0 {
			p.Default, p.HasDefault = v, true
		}
	}
	return p, nil
}

func typeFromSchema(s *value.Dict, depth int) (Type, error) {
	if depth == 0 {
		return Type{}, value.Limitf(value.LimitDepth, "a schema nested more than %d deep", value.MaxDepth)
	}
	t, err := typeName(s)
	if err != nil {
		return Type{}, err
	}
	if enum, ok := s.Get("enum"); ok {
		t.Enum, _ = value.Elements(enum)
	}
	t.Min, t.Max = boundFrom(s, "minimum"), boundFrom(s, "maximum")
	t.Pattern = s.Text("pattern")
	lengths := [2]string{"minLength", "maxLength"}
	if t.Name == TypeArray {
		lengths = [2]string{"minItems", "maxItems"}
	}
	t.MinLength, t.MaxLength = lengthFrom(s, lengths[0]), lengthFrom(s, lengths[1])
	if items, ok := s.Get("items"); ok && t.Name == TypeArray {
		if sub, ok := items.(*value.Dict); ok {
			inner, err := typeFromSchema(sub, depth-1)
			if err != nil {
				return Type{}, err
			}
			t.Items = &inner
		}
	}
	if t.Name != TypeObject {
		return t, nil
	}
	if extra, ok := s.Get("additionalProperties"); ok {
		if sub, ok := extra.(*value.Dict); ok {
			inner, err := typeFromSchema(sub, depth-1)
			if err != nil {
				return Type{}, err
			}
			t.Values = &inner
		}
	}
	t.Fields, err = ParamsFromSchema(s)
	return t, err
}

// typeName reads the "type" of a schema: one name, or a list of which one may
// be null. Any other list means any.
func typeName(s *value.Dict) (Type, error) {
	v, _ := s.Get("type")
	names, isList := value.Elements(v)
	if !isList {
		names = []value.Value{v}
	}
	t := Type{Name: TypeAny}
	known := 0
	for _, n := range names {
		name, ok := n.(string)
		switch {
		case name == "null":
			t.Nullable = true
		case ok:
			parsed, err := ParseType(name)
			if err != nil {
				return Type{}, err
			}
			parsed.Nullable = parsed.Nullable || t.Nullable
			t = parsed
			known++
		case n != nil:
			return Type{}, value.Errorf(value.Invalid, "type should be a name but got %s", value.TypeOf(n))
		}
	}
	if known > 1 {
		return Type{Name: TypeAny, Nullable: slices.Contains(names, value.Value("null"))}, nil
	}
	return t, nil
}

// boundFrom reads minimum or maximum; what is no number bounds nothing.
func boundFrom(s *value.Dict, name string) value.Value {
	if v, _ := s.Get(name); value.Numeric(v) {
		return v
	}
	return nil
}

func lengthFrom(s *value.Dict, name string) *int {
	v, _ := s.Get(name)
	v, _ = value.Integral(v)
	switch n := v.(type) {
	case int64:
		i := int(n)
		return &i
	case *big.Int:
		return nil
	}
	return nil
}
