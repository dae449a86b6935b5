package tool

import (
	"slices"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ParamsFromSchema returns the parameters that a JSON Schema of an object describes, such
// as that of a vendor's definition of a tool. It accepts common type names that are not
// JSON Schema (dict, float, tuple), and ignores keywords that a [Type] does not have, such
// as oneOf. To be exact, set [Tool.Schema] instead. An error is of kind Invalid.
func ParamsFromSchema(schema *value.Dict) ([]Param, error) {
	properties, _ := schema.Get("properties")
	fields, ok := properties.(*value.Dict)
	if !ok {
		if properties != nil {
			return nil, value.Errorf(value.Invalid, "'properties' of a schema should be an object but got %s", value.TypeOf(properties))
		}
		return nil, nil
	}
	names := schema.Elements("required")
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
		schema, err := t.ArgsSchema()
		if err != nil {
			return nil, err
		}
		if params, err = ParamsFromSchema(schema); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(params), func(p Param) bool { return p.FromHost }), nil
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
		return Type{}, value.Limitf(value.LimitDepth, "the schema is nested more than %d levels deep", value.MaxDepth)
	}
	t, err := typeName(s)
	if err != nil {
		return Type{}, err
	}
	t.Enum, t.Pattern = s.Elements("enum"), s.Text("pattern")
	t.Min, t.Max = boundFrom(s, "minimum"), boundFrom(s, "maximum")
	lengths := [2]string{"minLength", "maxLength"}
	if t.Name == TypeArray {
		lengths = [2]string{"minItems", "maxItems"}
	}
	t.MinLength, t.MaxLength = lengthFrom(s, lengths[0]), lengthFrom(s, lengths[1])
	switch t.Name {
	case TypeArray:
		t.Items, err = innerType(s.Dict("items"), t.Items, depth)
	case TypeObject:
		if t.Values, err = innerType(s.Dict("additionalProperties"), t.Values, depth); err == nil {
			t.Fields, err = ParamsFromSchema(s)
		}
	}
	return t, err
}

// innerType reads the schema of the parts of a value. Without one it returns the type that the
// name has, as in ArrayList<Integer>, or nil for any.
func innerType(s *value.Dict, named *Type, depth int) (*Type, error) {
	if s == nil {
		return named, nil
	}
	t, err := typeFromSchema(s, depth-1)
	return &t, err
}

// typeName reads the "type" of a schema: one name, or a list of names and
// null. Any other list means any.
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
			parsed, err := parseTypeWith(name, schemaType)
			if err != nil {
				return Type{}, err
			}
			parsed.Nullable = parsed.Nullable || t.Nullable
			t = parsed
			known++
		case n != nil:
			return Type{}, value.Errorf(value.Invalid, "'type' of a schema should be a name but got %s", value.TypeOf(n)).WithHint(`for example: "type": "string"`)
		}
	}
	if known > 1 {
		return Type{Name: TypeAny, Nullable: slices.Contains(names, value.Value("null"))}, nil
	}
	return t, nil
}

// schemaType reads the name of a type in a schema: one of [ParseType], or of another language. An
// unknown name is kept.
func schemaType(name string) (Type, bool) {
	t, err := ParseType(name)
	if is := jsonschema.TypeNamed(name); is != "" && (err != nil || !t.Known()) {
		t.Name = is
	}
	return t, true
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
	if n, ok := v.(int64); ok {
		return new(int(n))
	}
	return nil
}
