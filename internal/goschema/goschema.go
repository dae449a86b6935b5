// Package goschema derives the parameters and the result of a tool from Go types.
package goschema

import (
	"encoding"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/gostruct"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Params returns the parameters of a tool whose arguments are decoded with
// [value.ToGo] as a T, a struct or a pointer to one. Each field is a parameter with the
// name of its json tag. It is required unless the tag has omitempty or omitzero or
// the field is a pointer, and its description is in the tag jsonschema:
//
//	Path string `json:"path" jsonschema:"the file to read"`
//
// A struct within itself is described as any object, and a type that reads itself
// from JSON as anything. A T that is not a struct, or has a field that cannot be
// decoded, is an error of kind Invalid.
func Params[T any]() ([]tool.Param, error) {
	t := reflect.TypeFor[T]()
	m := typeMaker{nodes: maxTypeNodes, seen: map[reflect.Type]bool{}}
	s := gostruct.DerefType(t)
	if s.Kind() != reflect.Struct || s == reflect.TypeFor[value.Dict]() || s == reflect.TypeFor[time.Time]() || s == reflect.TypeFor[big.Int]() {
		return nil, value.Errorf(value.Invalid, "the function should take a struct or a pointer to a struct, not %s", t)
	}
	if form := m.ownForm(s); form != noForm {
		method := map[ownForm]string{jsonForm: "UnmarshalJSON", textForm: "UnmarshalText"}[form]
		return nil, value.Errorf(value.Invalid, "cannot derive parameters from %s: the type implements %s", t, method).
			WithHint("set Params or Schema of the tool")
	}
	m.seen[s] = true
	params, err := m.fields(s)
	return params, value.PathFailure(err)
}

// Returns returns the type of a result that [value.FromGo] encodes from a T. It is nil
// for an interface, which may be anything, and for an empty struct, which means no
// result. A T that can never be encoded is an error of kind Invalid.
func Returns[T any]() (*tool.Type, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[struct{}]() {
		return nil, nil
	}
	m := typeMaker{result: true, nodes: maxTypeNodes, seen: map[reflect.Type]bool{}}
	typ, _, err := m.typ(t)
	if err != nil {
		return nil, value.PathFailure(err)
	}
	return &typ, nil
}

// maxTypeNodes is how many types a derived type may have. A model reads all of them.
const maxTypeNodes = 2000

// A typeMaker derives types from Go types.
type typeMaker struct {
	result  bool // of encoded results; else of decoded arguments
	nodes   int
	seen    map[reflect.Type]bool // the enclosing structs
	structs gostruct.Cache
}

// ownForm is how a type encodes or decodes itself.
type ownForm int

const (
	noForm ownForm = iota
	jsonForm
	textForm
)

func (m *typeMaker) ownForm(t reflect.Type) ownForm {
	p := reflect.PointerTo(t)
	asJSON, asText := reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
	if m.result {
		asJSON, asText = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	}
	switch {
	case t.Kind() == reflect.Interface:
		return noForm
	case p.Implements(asJSON):
		return jsonForm
	case p.Implements(asText):
		return textForm
	}
	return noForm
}

// typ derives a type, and a default description for a parameter.
func (m *typeMaker) typ(t reflect.Type) (tool.Type, string, error) {
	if m.nodes--; m.nodes < 0 {
		return tool.Type{}, "", value.Errorf(value.Invalid, "the Go type has more than %d fields and elements", maxTypeNodes)
	}
	switch t {
	case reflect.TypeFor[*value.Dict](), reflect.TypeFor[value.Dict]():
		return tool.Type{Name: tool.TypeObject}, "", nil
	case reflect.TypeFor[value.List](), reflect.TypeFor[value.Tuple](), reflect.TypeFor[value.Set]():
		return tool.Type{Name: tool.TypeArray}, "", nil
	case reflect.TypeFor[value.Media]():
		return tool.Type{Name: tool.TypeMedia}, "", nil
	case reflect.TypeFor[time.Time]():
		return tool.Type{Name: tool.TypeString}, "a time as in RFC 3339, such as 2026-01-31T12:00:00Z", nil
	case reflect.TypeFor[time.Duration]():
		return tool.Type{Name: tool.TypeString}, "a duration, such as 1m30s", nil
	case reflect.TypeFor[json.Number]():
		return tool.Type{Name: tool.TypeNumber}, "", nil
	case reflect.TypeFor[big.Int]():
		if m.result {
			return tool.Type{Name: tool.TypeInteger}, "", nil
		}
		return tool.Type{Name: tool.TypeNumber}, "an integer of any size", nil // an argument of type integer fits int64
	}
	if t.Kind() == reflect.Pointer {
		typ, doc, err := m.typ(t.Elem())
		typ.Nullable = typ.Name != tool.TypeAny
		return typ, doc, err
	}
	switch m.ownForm(t) {
	case jsonForm:
		return tool.Type{Name: tool.TypeAny}, "", nil
	case textForm:
		return tool.Type{Name: tool.TypeString}, "", nil
	}
	return m.kind(t)
}

func (m *typeMaker) kind(t reflect.Type) (tool.Type, string, error) {
	switch t.Kind() {
	case reflect.Bool:
		return tool.Type{Name: tool.TypeBoolean}, "", nil
	case reflect.String:
		return tool.Type{Name: tool.TypeString}, "", nil
	case reflect.Float32, reflect.Float64:
		return tool.Type{Name: tool.TypeNumber}, "", nil
	case reflect.Int, reflect.Int64:
		return tool.Type{Name: tool.TypeInteger}, "", nil
	case reflect.Int8, reflect.Int16, reflect.Int32:
		bits := t.Bits()
		return tool.Type{Name: tool.TypeInteger, Min: int64(-1) << (bits - 1), Max: int64(1)<<(bits-1) - 1}, "", nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return tool.Type{Name: tool.TypeInteger, Min: int64(0), Max: int64(1)<<t.Bits() - 1}, "", nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return tool.Type{Name: tool.TypeInteger, Min: int64(0), Max: new(big.Int).SetUint64(math.MaxUint64)}, "", nil
	case reflect.Interface:
		if t.NumMethod() == 0 || m.result {
			return tool.Type{Name: tool.TypeAny}, "", nil
		}
	case reflect.Struct:
		return m.structure(t)
	case reflect.Map:
		return m.mapping(t)
	case reflect.Slice, reflect.Array:
		return m.items(t)
	}
	if m.result {
		return tool.Type{}, "", value.Errorf(value.Invalid, "unsupported Go type of a result: %s", t)
	}
	return tool.Type{}, "", value.Errorf(value.Invalid, "unsupported Go type of a parameter: %s", t)
}

func (m *typeMaker) structure(t reflect.Type) (tool.Type, string, error) {
	typ := tool.Type{Name: tool.TypeObject}
	if m.seen[t] {
		return typ, "", nil
	}
	m.seen[t] = true
	defer delete(m.seen, t)
	var err error
	typ.Fields, err = m.fields(t)
	return typ, "", err
}

func (m *typeMaker) mapping(t reflect.Type) (tool.Type, string, error) {
	key, text := t.Key(), reflect.TypeFor[encoding.TextMarshaler]()
	if !m.result {
		key, text = reflect.PointerTo(key), reflect.TypeFor[encoding.TextUnmarshaler]()
	}
	switch k := t.Key().Kind(); {
	case k == reflect.String, reflect.Int <= k && k <= reflect.Uintptr, key.Implements(text):
	case k == reflect.Interface && t.Key().NumMethod() == 0 && !m.result:
	default:
		return tool.Type{}, "", value.Errorf(value.Invalid, "unsupported type of map keys: %s cannot be converted to a string", t.Key())
	}
	item, _, err := m.typ(t.Elem())
	return tool.Type{Name: tool.TypeObject, Values: &item, Nullable: m.result}, "", err
}

func (m *typeMaker) items(t reflect.Type) (tool.Type, string, error) {
	if value.IsByteSlice(t) {
		return tool.Type{Name: tool.TypeAny}, "bytes, or text in base64", nil
	}
	item, _, err := m.typ(t.Elem())
	typ := tool.Type{Name: tool.TypeArray, Items: &item, Nullable: m.result && t.Kind() == reflect.Slice}
	if t.Kind() == reflect.Array {
		n := t.Len()
		typ.MinLength, typ.MaxLength = &n, &n
	}
	return typ, "", err
}

func (m *typeMaker) fields(t reflect.Type) ([]tool.Param, error) {
	fields := m.structs.Fields(t).List
	params := make([]tool.Param, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		typ, doc, err := m.typ(f.Typ)
		if err != nil {
			return nil, value.AtKey(f.Name, err)
		}
		p := tool.Param{Name: f.Name, Type: typ, Description: f.Doc, Required: !f.Optional() && !viaPointer(t, f.Index)}
		if p.Description == "" {
			p.Description = doc
		}
		if f.Quoted {
			p.Type = tool.Type{Name: tool.TypeString, Nullable: typ.Nullable}
		}
		if f.Typ.Kind() == reflect.Pointer && !m.result {
			p.Required, p.Type.Nullable = false, false // null means absent
		}
		params = append(params, p)
	}
	return params, nil
}

// viaPointer reports whether a field is in a struct that is embedded by a pointer.
func viaPointer(t reflect.Type, index []int) bool {
	for _, n := range index[:len(index)-1] {
		t = t.Field(n).Type
		if t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// Check checks that the arguments of a tool with Params or Schema can be decoded with
// [value.ToGo] as a T: each parameter must be a field whose type can hold it, and each
// required field must be a parameter. It compares types by name, and checks nothing for
// a T that decodes itself. An error is of kind Invalid.
func Check[T any](t *tool.Tool) error {
	m := typeMaker{}
	if s := gostruct.DerefType(reflect.TypeFor[T]()); s == reflect.TypeFor[value.Dict]() || m.ownForm(s) != noForm {
		return nil
	}
	fields, err := Params[T]()
	if err != nil {
		return err
	}
	params := t.Params
	if len(t.Schema) > 0 {
		schema, err := t.ArgsSchema()
		if err != nil {
			return err
		}
		if params, err = tool.ParamsFromSchema(schema); err != nil || params == nil {
			return err
		}
	}
	return fits(params, fields, reflect.TypeFor[T]().String())
}

// fits checks parameters against the fields of the struct into which they are decoded.
func fits(params, fields []tool.Param, in string) error {
	for i := range params {
		p := &params[i]
		if p.FromHost {
			continue
		}
		f := slices.IndexFunc(fields, func(f tool.Param) bool { return f.Name == p.Name })
		if f < 0 {
			names := value.Map(fields, func(f tool.Param) string { return f.Name })
			return value.Errorf(value.Invalid, "the parameter '%s' is not a field of %s%s", p.Name, in, value.DidYouMean(p.Name, names))
		}
		if !holds(&fields[f].Type, &p.Type) {
			return value.Errorf(value.Invalid, "the parameter '%s' has type %s, but the field of %s has type %s", p.Name, p.Type, in, fields[f].Type)
		}
	}
	for _, f := range fields {
		if f.Required && !slices.ContainsFunc(params, func(p tool.Param) bool { return p.Name == f.Name }) {
			return value.Errorf(value.Invalid, "the required field '%s' of %s has no parameter", f.Name, in).
				WithHint("add the parameter, or add omitempty to the json tag of the field")
		}
	}
	return nil
}

// holds reports whether a field of a type can hold the values of another type. It
// compares their names and those of their items.
func holds(field, param *tool.Type) bool {
	if field.Name == tool.TypeAny || param.Name == tool.TypeAny || param.Name == "" || !param.Known() {
		return true
	}
	switch param.Name {
	case tool.TypeLogical:
		return field.Name == tool.TypeBoolean
	case tool.TypeCharacter:
		return field.Name == tool.TypeArray && (field.Items == nil || holds(field.Items, &tool.Type{Name: tool.TypeString}))
	case tool.TypeList:
		return field.Name == tool.TypeArray || field.Name == tool.TypeObject
	case tool.TypeInteger:
		return field.Name == tool.TypeInteger || field.Name == tool.TypeNumber
	}
	if field.Name != param.Name {
		return false
	}
	return (field.Items == nil || param.Items == nil || holds(field.Items, param.Items)) &&
		(field.Values == nil || param.Values == nil || holds(field.Values, param.Values))
}
