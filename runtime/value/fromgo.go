package value

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/gostruct"
)

// FromGo encodes a Go value as a [Value]. It follows encoding/json for types that have
// no direct counterpart among the values:
//
//   - A bool, a string, an integer of any size and a float are themselves. A
//     float may be NaN or infinite, which has no JSON form.
//   - A struct is a [Dict] with its exported fields in order. The json tags are
//     those of encoding/json: a name, omitempty, omitzero, string and "-", and the
//     rules for embedded structs.
//   - A map is a [Dict] with sorted string keys. Its keys are strings or integers, or
//     implement [encoding.TextMarshaler].
//   - A slice or an array is a [List], a []byte is bytes, and a [Media] is itself.
//   - A nil pointer, interface, slice or map is nil. The nil slices []byte, [List],
//     [Tuple] and [Set] and a nil *[Dict] are values already, which are empty.
//   - A [time.Time] is text as in RFC 3339, a [time.Duration] text such as "1m30s", and
//     a *[big.Int] an integer. A [json.Number] is the number.
//   - A [json.Marshaler] is what it writes, with exact integers, and an
//     [encoding.TextMarshaler] is text. A method with a pointer receiver is called
//     for a value, too.
//   - A Value is itself. It is shared, not copied, unless it holds Go values: these are
//     encoded.
//
// Anything else, such as a function, a channel or text that is not UTF-8, is an
// error of kind Invalid that names the path, as in "orders[2].done". A value that is
// nested more than [MaxDepth] deep, as every cycle is, or has more than [MaxNodes]
// parts is an error of kind Limit.
func FromGo(v any) (Value, error) {
	e := goEncoder{nodes: MaxNodes, deep: true}
	x, err := e.encode(v, MaxDepth)
	if err != nil {
		return nil, PathFailure(err)
	}
	return x, nil
}

// A goEncoder encodes Go values as values.
type goEncoder struct {
	nodes   int  // how many more values may follow
	deep    bool // encodes, bounds and checks the parts of values
	structs gostruct.Cache
}

// shallowDepth bounds the nesting of what NewDict is given.
const shallowDepth = 1000

// encode is the fast path for the types that most values have.
func (e *goEncoder) encode(v any, depth int) (Value, error) {
	if e.nodes--; e.nodes < 0 && e.deep {
		return nil, Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, []byte:
		return v, nil
	case string:
		if e.deep && !utf8.ValidString(v) {
			return nil, Errorf(Invalid, "the string is not UTF-8").WithHint("use []byte instead of string")
		}
		return v, nil
	case Media:
		return v, v.Check()
	case *Dict:
		return e.dict(v, depth)
	case List:
		return e.valueItems(v, depth)
	case Tuple:
		list, err := e.valueItems(v, depth)
		return Tuple(list), err
	case Set:
		list, err := e.valueItems(v, depth)
		return Set(list), err
	case int:
		return int64(v), nil
	case *big.Int:
		if v == nil {
			return nil, nil
		}
		return Integer(v), nil
	case Opaque:
		return nil, Errorf(Invalid, "unsupported Go type: %s", TypeOf(v))
	}
	return e.reflect(reflect.ValueOf(v), depth)
}

// dict encodes the Go values in a dict. It returns d itself if that changes nothing.
func (e *goEncoder) dict(d *Dict, depth int) (Value, error) {
	if !e.deep || d.Len() == 0 {
		return d, nil
	}
	if depth == 0 {
		return nil, tooDeep()
	}
	var changed *Dict
	i := 0
	for k, v := range d.All() {
		x, err := e.encode(v, depth-1)
		if err != nil {
			return nil, AtKey(Display(k), err)
		}
		if changed == nil && !identical(v, x) {
			changed = d.Clone(0)
		}
		if changed != nil {
			changed.entries[i].Value = x
		}
		i++
	}
	if changed != nil {
		return changed, nil
	}
	return d, nil
}

// valueItems encodes the items of a list, tuple or set, and returns the same slice
// if that changes none.
func (e *goEncoder) valueItems(items []Value, depth int) (List, error) {
	if depth == 0 {
		return nil, tooDeep()
	}
	result := List(items)
	for i, item := range items {
		x, err := e.encode(item, depth-1)
		if err != nil {
			return nil, atIndex(i, err)
		}
		if identical(item, x) {
			continue
		}
		if &result[0] == &items[0] {
			result = slices.Clone(items)
		}
		result[i] = x
	}
	return result, nil
}

// identical reports whether x, the encoding of v, is v itself. For slices it may report
// false for identical ones.
func identical(v, x Value) bool {
	switch v := v.(type) {
	case nil, bool, int64, string, float64, []byte, Media:
		return true // these encode as themselves
	case *Dict, *big.Int:
		return v == x
	case List:
		y, ok := x.(List)
		return ok && sameItems(v, y)
	case Tuple:
		y, ok := x.(Tuple)
		return ok && sameItems(v, y)
	case Set:
		y, ok := x.(Set)
		return ok && sameItems(v, y)
	}
	return false
}

func sameItems(a, b []Value) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// element encodes a part of a Go value, which may be an unexported field.
func (e *goEncoder) element(v reflect.Value, depth int) (Value, error) {
	switch v.Kind() {
	case reflect.Struct, reflect.Array, reflect.Map: // stay addressable
	case reflect.Pointer:
		if v.Type() == dictPointerType && v.CanInterface() {
			return e.encode(v.Interface(), depth)
		}
	default:
		if v.CanInterface() {
			return e.encode(v.Interface(), depth)
		}
	}
	if e.nodes--; e.nodes < 0 && e.deep {
		return nil, Limitf(LimitNodes, "the value has more than %d elements in total", MaxNodes)
	}
	return e.reflect(v, depth)
}

// reflect encodes a value of a type that encode does not know.
func (e *goEncoder) reflect(v reflect.Value, depth int) (Value, error) {
	if v.CanInterface() {
		if x, done, err := e.special(v, depth); done {
			return x, err
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Integer(new(big.Int).SetUint64(v.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return e.encode(v.String(), depth)
	case reflect.Pointer, reflect.Interface:
		return e.indirect(v, depth)
	}
	if depth == 0 {
		return nil, tooDeep()
	}
	switch v.Kind() {
	case reflect.Struct:
		return e.structure(v, depth)
	case reflect.Map:
		return e.mapping(v, depth)
	case reflect.Slice, reflect.Array:
		return e.items(v, depth)
	}
	return nil, Errorf(Invalid, "unsupported Go type: %s", v.Type())
}

// The types with their own encoding.
var (
	dictType          = reflect.TypeFor[Dict]()
	dictPointerType   = reflect.TypeFor[*Dict]()
	listType          = reflect.TypeFor[List]()
	tupleType         = reflect.TypeFor[Tuple]()
	setType           = reflect.TypeFor[Set]()
	timeType          = reflect.TypeFor[time.Time]()
	durationType      = reflect.TypeFor[time.Duration]()
	bigIntType        = reflect.TypeFor[big.Int]()
	mediaType         = reflect.TypeFor[Media]()
	numberType        = reflect.TypeFor[json.Number]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// special encodes the types with their own encoding.
func (e *goEncoder) special(v reflect.Value, depth int) (x Value, done bool, err error) {
	t := v.Type()
	switch t {
	case durationType:
		return time.Duration(v.Int()).String(), true, nil
	case bigIntType:
		i := v.Interface().(big.Int)
		return Integer(new(big.Int).Set(&i)), true, nil
	case dictType:
		d := v.Interface().(Dict)
		x, err = e.dict(&d, depth)
		return x, true, err
	case mediaType:
		m := v.Interface().(Media)
		return m, true, m.Check()
	case numberType:
		x, err = numberOf(v.String())
		return x, true, err
	}
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return nil, false, nil // the element is encoded instead
	}
	if m, ok := implementation[json.Marshaler](v); ok {
		text, err := m.MarshalJSON()
		if err == nil {
			x, err = ParseJSON(text)
		}
		if err != nil {
			err = Errorf(Invalid, "%s.MarshalJSON: %w", t, err)
		}
		return x, true, err
	}
	if m, ok := implementation[encoding.TextMarshaler](v); ok {
		text, err := m.MarshalText()
		if err != nil {
			return nil, true, Errorf(Invalid, "%s.MarshalText: %w", t, err)
		}
		x, err = e.encode(string(text), depth)
		return x, true, err
	}
	return nil, false, nil
}

// implementation returns v or a pointer to it as a T, if either implements T. The
// pointer is to a copy if v is not addressable.
func implementation[T any](v reflect.Value) (T, bool) {
	t, want := v.Type(), reflect.TypeFor[T]()
	if !t.Implements(want) {
		if !reflect.PointerTo(t).Implements(want) {
			var none T
			return none, false
		}
		if !v.CanAddr() {
			c := reflect.New(t)
			c.Elem().Set(v)
			v = c.Elem()
		}
		v = v.Addr()
	}
	m, ok := v.Interface().(T)
	return m, ok
}

// numberOf reads the text of a [json.Number].
func numberOf(text string) (Value, error) {
	if text == "" {
		return int64(0), nil // as encoding/json writes it
	}
	v, err := ParseJSON([]byte(text))
	if err != nil || !Numeric(v) || text != strings.TrimSpace(text) {
		return nil, Errorf(Invalid, "%q is not a number", Cut(text, 60))
	}
	return v, nil
}

// indirect encodes what a pointer or an interface holds. A pointer to a pointer
// counts as a level, since it may be a cycle.
func (e *goEncoder) indirect(v reflect.Value, depth int) (Value, error) {
	if v.IsNil() {
		return nil, nil
	}
	inner := v.Elem()
	if k := inner.Kind(); k == reflect.Pointer || k == reflect.Interface {
		if depth == 0 {
			return nil, tooDeep()
		}
		depth--
	}
	return e.element(inner, depth)
}

func (e *goEncoder) structure(v reflect.Value, depth int) (Value, error) {
	fields := e.structs.Fields(v.Type()).List
	d := &Dict{entries: make([]Entry, 0, len(fields))}
	for i := range fields {
		f := &fields[i]
		fv, ok := fieldOf(v, f.Index)
		if !ok || f.OmitEmpty && isEmpty(fv) || f.OmitZero && isZero(fv) {
			continue
		}
		x, err := e.element(fv, depth-1)
		if err == nil && f.Quoted {
			x, err = quoted(x)
		}
		if err != nil {
			return nil, AtKey(f.Name, err)
		}
		d.Put(f.Name, x)
	}
	return d, nil
}

// fieldOf returns a field. It reports false if the field is embedded by a nil pointer.
func fieldOf(v reflect.Value, index []int) (reflect.Value, bool) {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, true
}

// isEmpty reports whether omitempty leaves a field out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero reports whether omitzero leaves a field out.
func isZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return true
		}
	}
	if !v.CanInterface() {
		return v.IsZero()
	}
	if z, ok := implementation[interface{ IsZero() bool }](v); ok {
		if e := v; e.Kind() == reflect.Interface && e.Elem().Kind() == reflect.Pointer && e.Elem().IsNil() {
			return true
		}
		return z.IsZero()
	}
	return v.IsZero()
}

// quoted writes a scalar as text, for the string option of a json tag.
func quoted(x Value) (Value, error) {
	if x == nil {
		return nil, nil
	}
	text, err := AppendJSON(nil, x)
	if err != nil {
		return nil, Errorf(Invalid, "%w", err)
	}
	return string(text), nil
}

func (e *goEncoder) mapping(v reflect.Value, depth int) (Value, error) {
	if v.IsNil() {
		return nil, nil
	}
	type pair struct {
		name string
		v    reflect.Value
	}
	pairs := make([]pair, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		name, err := keyText(iter.Key())
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{name, iter.Value()})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	d := &Dict{entries: make([]Entry, 0, len(pairs))}
	for _, p := range pairs {
		name, err := e.encode(p.name, depth)
		if err != nil {
			return nil, Errorf(Invalid, "map key: %w", err)
		}
		if d.Has(p.name) {
			return nil, Errorf(Invalid, "duplicate map key: two keys have the text %q", p.name)
		}
		x, err := e.element(p.v, depth-1)
		if err != nil {
			return nil, AtKey(p.name, err)
		}
		d.add(name, name, x)
	}
	return d, nil
}

// keyText returns the key of a map as text.
func keyText(k reflect.Value) (string, error) {
	switch {
	case k.Kind() == reflect.String:
		return k.String(), nil
	case k.CanInterface() && k.Type().Implements(textMarshalerType):
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		text, err := k.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return "", Errorf(Invalid, "map key: %s.MarshalText: %w", k.Type(), err)
		}
		return string(text), nil
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	}
	return "", Errorf(Invalid, "unsupported type of a map key: %s", k.Type())
}

func (e *goEncoder) items(v reflect.Value, depth int) (Value, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil, nil
	}
	if IsByteSlice(v.Type()) {
		return v.Bytes(), nil
	}
	list := make(List, v.Len())
	for i := range list {
		x, err := e.element(v.Index(i), depth-1)
		if err != nil {
			return nil, atIndex(i, err)
		}
		list[i] = x
	}
	return list, nil
}

// IsByteSlice reports whether a type holds bytes that do not encode themselves.
func IsByteSlice(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8 {
		return false
	}
	p := reflect.PointerTo(t.Elem())
	return !p.Implements(jsonMarshalerType) && !p.Implements(textMarshalerType)
}

func tooDeep() error {
	return Limitf(LimitDepth, "the value is nested more than %d levels deep", MaxDepth)
}
