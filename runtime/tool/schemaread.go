package tool

import (
	"math/big"
	"slices"
)

// ParamsFromSchema reads the parameters out of a JSON Schema of an object, as
// a vendor's definition of a tool holds one. Type names outside JSON Schema
// that are in use (dict, float, tuple) are understood. What the schema says
// beyond what a [Type] can, such as oneOf, is left out; a caller that must be
// exact puts the schema itself into [Tool.Schema].
func ParamsFromSchema(schema *Dict) ([]Param, error) {
	properties, _ := schema.Get("properties")
	fields, ok := properties.(*Dict)
	if !ok {
		if properties != nil {
			return nil, Errorf(Invalid, "properties of a schema should be object but got %s", TypeOf(properties))
		}
		return nil, nil
	}
	required, _ := schema.Get("required")
	names, _ := Elements(required)
	params := make([]Param, 0, fields.Len())
	for k, v := range fields.All() {
		name, _ := k.(string)
		sub, ok := v.(*Dict)
		if b, isBool := v.(bool); isBool && b {
			sub, ok = &Dict{}, true
		}
		if !ok {
			return nil, Errorf(Invalid, "property '%s' should be a schema but got %s", name, TypeOf(v))
		}
		p, err := paramFromSchema(name, sub)
		if err != nil {
			return nil, err
		}
		p.Required = slices.Contains(names, Value(name))
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
		v, err := ParseJSON(t.Schema)
		if err != nil {
			return nil, err
		}
		schema, ok := v.(*Dict)
		if !ok {
			return nil, Errorf(Invalid, "the schema is no object")
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

func paramFromSchema(name string, s *Dict) (Param, error) {
	t, err := typeFromSchema(s, MaxDepth)
	if err != nil {
		return Param{}, Errorf(Invalid, "property '%s': %w", name, err)
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

func typeFromSchema(s *Dict, depth int) (Type, error) {
	if depth == 0 {
		return Type{}, limitError(LimitDepth, "a schema nested more than %d deep", MaxDepth)
	}
	t, err := typeName(s)
	if err != nil {
		return Type{}, err
	}
	if enum, ok := s.Get("enum"); ok {
		t.Enum, _ = Elements(enum)
	}
	t.Min, t.Max = boundFrom(s, "minimum"), boundFrom(s, "maximum")
	t.Pattern = s.Text("pattern")
	lengths := [2]string{"minLength", "maxLength"}
	if t.Name == TypeArray {
		lengths = [2]string{"minItems", "maxItems"}
	}
	t.MinLength, t.MaxLength = lengthFrom(s, lengths[0]), lengthFrom(s, lengths[1])
	if items, ok := s.Get("items"); ok && t.Name == TypeArray {
		if sub, ok := items.(*Dict); ok {
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
		if sub, ok := extra.(*Dict); ok {
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
func typeName(s *Dict) (Type, error) {
	v, _ := s.Get("type")
	names, isList := Elements(v)
	if !isList {
		names = []Value{v}
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
			return Type{}, Errorf(Invalid, "type should be a name but got %s", TypeOf(n))
		}
	}
	if known > 1 {
		return Type{Name: TypeAny, Nullable: slices.Contains(names, Value("null"))}, nil
	}
	return t, nil
}

// boundFrom reads minimum or maximum; what is no number bounds nothing.
func boundFrom(s *Dict, name string) Value {
	if v, _ := s.Get(name); numeric(v) {
		return v
	}
	return nil
}

func lengthFrom(s *Dict, name string) *int {
	v, _ := s.Get(name)
	v, _ = integral(v)
	switch n := v.(type) {
	case int64:
		i := int(n)
		return &i
	case *big.Int:
		return nil
	}
	return nil
}
