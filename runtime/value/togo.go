package value

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/gostruct"
)

// ToGo decodes a value as a T. It reads what [FromGo] writes, and the equivalents that
// scripts and models write:
//
//   - A struct is decoded from a [Dict] by the names of its json tags. A key that
//     differs from a name in case alone is taken if there is no equal one. Unknown keys
//     are ignored.
//   - An integer type takes integers, and floats without a fraction, in its range. A
//     float type takes any number, rounded.
//   - A slice takes a list, a tuple or a set. An array takes one of its length.
//   - A []byte takes bytes, and text in base64, which is how JSON writes bytes. A [Media]
//     takes media, and a data URL, which is how JSON writes media.
//   - A [time.Time] takes text as in RFC 3339. A [time.Duration] takes text such as
//     "1m30s", or an integer of nanoseconds.
//   - An interface without methods takes the value itself, as do a *[Dict], a [List], a
//     [Tuple] and a [Set] with a value of their kind. It is shared, not copied.
//   - A [json.Unmarshaler] gets the JSON of the value, and an
//     [encoding.TextUnmarshaler] its text.
//   - nil makes a pointer, an interface, a slice or a map nil, and leaves any other
//     type at its zero value, as in encoding/json.
//
// A value that does not fit is an error of kind Invalid that names the path and both
// types, as in "orders[2].count: expected an integer but got string". Values nested
// more than [MaxDepth] deep are an error of kind Limit.
func ToGo[T any](v Value) (T, error) {
	var x T
	var d goDecoder
	if err := d.decode(reflect.ValueOf(&x).Elem(), v, MaxDepth); err != nil {
		var zero T
		return zero, PathFailure(err)
	}
	return x, nil
}

// A goDecoder decodes values as Go values.
type goDecoder struct {
	structs gostruct.Cache
}

func expected(what string, v Value) error {
	return Errorf(Invalid, "expected %s but got %s", what, TypeOf(v))
}

// decode sets dst, which is zero. It may be an unexported embedded struct with exported
// fields.
func (d *goDecoder) decode(dst reflect.Value, v Value, depth int) error {
	v, err := oneForm(v)
	if err != nil {
		return err
	}
	t := dst.Type()
	switch {
	case dst.CanSet():
		if done, err := d.special(dst, t, v); done {
			return err
		}
	case t.Kind() != reflect.Struct:
		return Errorf(Invalid, "decode: the embedded field of the unexported type %s cannot be set", t)
	}
	if v == nil {
		return nil // dst is already zero
	}
	switch t.Kind() {
	case reflect.Bool:
		b, ok := v.(bool)
		if !ok {
			return expected("a boolean", v)
		}
		dst.SetBool(b)
	case reflect.String:
		s, ok := v.(string)
		if !ok {
			return expected("a string", v)
		}
		dst.SetString(s)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt(dst, v)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return decodeUint(dst, v)
	case reflect.Float32, reflect.Float64:
		return decodeFloat(dst, v)
	default:
		if depth == 0 {
			return tooDeep()
		}
		return d.container(dst, v, depth)
	}
	return nil
}

// oneForm encodes a Go value that is not yet a Value, such as an int that a program put
// into a dict.
func oneForm(v Value) (Value, error) {
	switch v.(type) {
	case nil, bool, int64, float64, string, []byte, *big.Int, *Dict, List, Tuple, Set, Media:
		return v, nil
	}
	return FromGo(v)
}

// container decodes the types with elements.
func (d *goDecoder) container(dst reflect.Value, v Value, depth int) error {
	t := dst.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if k := t.Elem().Kind(); k == reflect.Pointer {
			depth-- // a recursive pointer type has no end
		}
		p := reflect.New(t.Elem())
		if err := d.decode(p.Elem(), v, depth); err != nil {
			return err
		}
		dst.Set(p)
		return nil
	case reflect.Struct:
		return d.structure(dst, v, depth)
	case reflect.Map:
		return d.mapping(dst, v, depth)
	case reflect.Slice:
		return d.slice(dst, v, depth)
	case reflect.Array:
		items, ok := Elements(v)
		if !ok {
			return expected("an array", v)
		}
		if len(items) != t.Len() {
			return Errorf(Invalid, "expected a list of length %d but got %d", t.Len(), len(items))
		}
		return d.items(dst, items, depth)
	}
	return Errorf(Invalid, "decode: unsupported Go type %s", t)
}

// special decodes the types with their own encoding.
func (d *goDecoder) special(dst reflect.Value, t reflect.Type, v Value) (done bool, err error) {
	switch t {
	case dictPointerType, dictType:
		return true, decodeDict(dst, v)
	case listType, tupleType, setType:
		return true, decodeItems(dst, t, v)
	}
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		if v != nil {
			dst.Set(reflect.ValueOf(v))
		}
		return true, nil
	}
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false, nil // the element is decoded instead
	}
	switch t {
	case durationType:
		return decodeDuration(dst, v)
	case numberType:
		return true, decodeNumber(dst, v)
	case bigIntType:
		return true, decodeBigInt(dst, v)
	case mediaType:
		if m, ok := v.(Media); ok {
			dst.Set(reflect.ValueOf(m))
			return true, nil
		}
	}
	if u, ok := dst.Addr().Interface().(json.Unmarshaler); ok && t != timeType {
		text, err := AppendJSON(nil, v)
		if err == nil {
			err = u.UnmarshalJSON(text)
		}
		if err != nil {
			err = Errorf(Invalid, "%w", err)
		}
		return true, err
	}
	if u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok && v != nil {
		text, ok := v.(string)
		switch {
		case !ok && t == mediaType:
			return true, expected("an image or a PDF", v)
		case !ok:
			return true, expected("a string", v)
		}
		err := u.UnmarshalText([]byte(text))
		switch {
		case err == nil:
			return true, nil
		case t == mediaType:
			return true, err
		case t == timeType:
			return true, Errorf(Invalid, "expected a time as in RFC 3339 (2026-01-31T12:00:00Z) but got %q", Cut(text, 60))
		}
		return true, Errorf(Invalid, "%w", err)
	}
	return false, nil
}

func decodeDict(dst reflect.Value, v Value) error {
	x, ok := v.(*Dict)
	switch {
	case v == nil:
	case !ok:
		return expected("an object", v)
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.ValueOf(x))
	default:
		dst.Set(reflect.ValueOf(x.Clone(0)).Elem())
	}
	return nil
}

// decodeItems decodes a list, tuple or set as any of these types. A set drops
// duplicates.
func decodeItems(dst reflect.Value, t reflect.Type, v Value) error {
	if v == nil {
		return nil
	}
	items, ok := Elements(v)
	if !ok {
		return expected("an array", v)
	}
	if _, isSet := v.(Set); t == setType && !isSet {
		var distinct Dict
		for i, item := range items {
			if err := distinct.Set(item, nil); err != nil {
				return atIndex(i, AsError(err, Invalid))
			}
		}
		items = make([]Value, 0, distinct.Len())
		for item := range distinct.All() {
			items = append(items, item)
		}
	}
	dst.Set(reflect.ValueOf(items).Convert(t))
	return nil
}

// decodeDuration decodes text; an integer is decoded by its kind.
func decodeDuration(dst reflect.Value, v Value) (done bool, err error) {
	text, ok := v.(string)
	if !ok {
		return false, nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return true, Errorf(Invalid, "expected a duration such as \"1m30s\" but got %q", Cut(text, 60))
	}
	dst.SetInt(int64(duration))
	return true, nil
}

func decodeNumber(dst reflect.Value, v Value) error {
	text, isText := v.(string)
	switch {
	case v == nil:
		return nil
	case Numeric(v):
		b, err := AppendJSON(nil, v)
		if err != nil {
			return Errorf(Invalid, "%w", err)
		}
		text = string(b)
	case isText:
		if _, err := numberOf(text); err != nil {
			return err
		}
	default:
		return expected("a number", v)
	}
	dst.SetString(text)
	return nil
}

func decodeBigInt(dst reflect.Value, v Value) error {
	if v == nil {
		return nil
	}
	n, ok := Integral(v)
	if !ok {
		return notInteger(v)
	}
	i := dst.Addr().Interface().(*big.Int)
	switch n := n.(type) {
	case int64:
		i.SetInt64(n)
	case *big.Int:
		i.Set(n)
	}
	return nil
}

// notInteger is the error for a value that is not an integer. For a number it includes
// the value.
func notInteger(v Value) error {
	if f, ok := v.(float64); ok {
		return Errorf(Invalid, "expected an integer but got %s", strconv.FormatFloat(f, 'g', -1, 64))
	}
	return expected("an integer", v)
}

func decodeInt(dst reflect.Value, v Value) error {
	n, ok := Integral(v)
	if !ok {
		return notInteger(v)
	}
	if i, ok := n.(int64); ok && !dst.OverflowInt(i) {
		dst.SetInt(i)
		return nil
	}
	bits := dst.Type().Bits()
	return Errorf(Invalid, "expected an integer from %d to %d but got %s", int64(-1)<<(bits-1), int64(1)<<(bits-1)-1, shortNumber(n))
}

func decodeUint(dst reflect.Value, v Value) error {
	n, ok := Integral(v)
	if !ok {
		return notInteger(v)
	}
	u, fits := uint64(0), false
	switch n := n.(type) {
	case int64:
		u, fits = uint64(n), n >= 0
	case *big.Int:
		u, fits = n.Uint64(), n.IsUint64()
	}
	if fits && !dst.OverflowUint(u) {
		dst.SetUint(u)
		return nil
	}
	return Errorf(Invalid, "expected an integer from 0 to %d but got %s", uint64(math.MaxUint64)>>(64-dst.Type().Bits()), shortNumber(n))
}

// shortNumber formats an integer for an error.
func shortNumber(n Value) string { return Cut(FormatJSON(n, ""), 60) }

func decodeFloat(dst reflect.Value, v Value) error {
	var f float64
	switch n := v.(type) {
	case float64:
		f = n
	case int64:
		f = float64(n)
	case *big.Int:
		f, _ = new(big.Float).SetInt(n).Float64()
		if math.IsInf(f, 0) {
			return Errorf(Invalid, "expected a number in the range of float%d but got %s", dst.Type().Bits(), shortNumber(n))
		}
	default:
		return expected("a number", v)
	}
	if dst.OverflowFloat(f) { // infinity fits
		return Errorf(Invalid, "expected a number in the range of float%d but got %s", dst.Type().Bits(), strconv.FormatFloat(f, 'g', -1, 64))
	}
	dst.SetFloat(f)
	return nil
}

func (d *goDecoder) structure(dst reflect.Value, v Value, depth int) error {
	from, ok := v.(*Dict)
	if !ok {
		return expected("an object", v)
	}
	fields := d.structs.Fields(dst.Type())
	for k, x := range from.All() {
		name, _ := k.(string)
		f := named(fields, name, from)
		if f == nil {
			continue
		}
		field, err := settableField(dst, f.Index)
		if err == nil && f.Quoted {
			x, err = unquoted(x, gostruct.DerefType(f.Typ).Kind())
		}
		if err == nil {
			err = d.decode(field, x, depth-1)
		}
		if err != nil {
			return AtKey(name, err)
		}
	}
	return nil
}

// settableField returns a field. It allocates structs that are embedded by a pointer.
func settableField(v reflect.Value, index []int) (reflect.Value, error) {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					return v, Errorf(Invalid, "decode: the embedded pointer to the unexported struct %s cannot be set", v.Type().Elem())
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, nil
}

// unquoted parses the text of a field with the string option. Other values are returned
// as they are, since scripts may not quote them.
func unquoted(v Value, kind reflect.Kind) (Value, error) {
	text, ok := v.(string)
	if !ok {
		return v, nil
	}
	x, err := ParseJSON([]byte(text))
	if _, isText := x.(string); err != nil || isText != (kind == reflect.String) {
		return nil, Errorf(Invalid, "expected a string that contains JSON of type %s but got %q", kind, Cut(text, 60))
	}
	return x, nil
}

func (d *goDecoder) mapping(dst reflect.Value, v Value, depth int) error {
	from, ok := v.(*Dict)
	if !ok {
		return expected("an object", v)
	}
	t := dst.Type()
	m := reflect.MakeMapWithSize(t, from.Len())
	for k, x := range from.All() {
		key := reflect.New(t.Key()).Elem()
		if err := decodeKey(key, k); err != nil {
			return err
		}
		item := reflect.New(t.Elem()).Elem()
		if err := d.decode(item, x, depth-1); err != nil {
			return AtKey(Display(k), err)
		}
		m.SetMapIndex(key, item)
	}
	dst.Set(m)
	return nil
}

// decodeKey decodes the key of a map. Integer keys are decoded from integers and from
// their text.
func decodeKey(dst reflect.Value, k Value) error {
	text, isText := k.(string)
	if dst.Kind() != reflect.String && isText {
		if u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
			if err := u.UnmarshalText([]byte(text)); err != nil {
				return Errorf(Invalid, "the key %q: %w", Cut(text, 60), err)
			}
			return nil
		}
		if n, ok := new(big.Int).SetString(text, 10); ok && len(text) <= MaxDigits {
			k = Integer(n)
		}
	}
	var err error
	switch {
	case dst.Kind() == reflect.String && isText:
		dst.SetString(text)
	case dst.Kind() == reflect.Interface && dst.NumMethod() == 0 && isText:
		dst.Set(reflect.ValueOf(k))
	case dst.CanInt():
		err = decodeInt(dst, k)
	case dst.CanUint():
		err = decodeUint(dst, k)
	case dst.Kind() == reflect.String:
		err = expected("a string", k)
	default:
		err = Errorf(Invalid, "decode: unsupported Go type of a key: %s", dst.Type())
	}
	if err != nil {
		return Errorf(Invalid, "the key %s: %w", Cut(Display(k), 60), err)
	}
	return nil
}

func (d *goDecoder) slice(dst reflect.Value, v Value, depth int) error {
	t := dst.Type()
	if items, ok := Elements(v); ok {
		list := reflect.MakeSlice(t, len(items), len(items))
		if err := d.items(list, items, depth); err != nil {
			return err
		}
		dst.Set(list)
		return nil
	}
	if !IsByteSlice(t) {
		return expected("an array", v)
	}
	b, ok := v.([]byte)
	text, isText := v.(string)
	switch {
	case ok:
		b = bytes.Clone(b)
	case isText:
		var err error
		if b, err = base64.StdEncoding.DecodeString(text); err != nil {
			return Errorf(Invalid, "expected bytes or base64 text but got %q", Cut(text, 60))
		}
	default:
		return expected("bytes", v)
	}
	dst.SetBytes(b)
	return nil
}

// items decodes items into a slice or array of the same length.
func (d *goDecoder) items(dst reflect.Value, items []Value, depth int) error {
	for i, item := range items {
		if err := d.decode(dst.Index(i), item, depth-1); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

// named returns the field for a key of a dict, or nil. An exact match takes precedence
// over one that differs in case.
func named(f *gostruct.Fields, key string, from *Dict) *gostruct.Field {
	if field := f.ByName[key]; field != nil {
		return field
	}
	for i := range f.List {
		if field := &f.List[i]; strings.EqualFold(field.Name, key) && !from.Has(field.Name) {
			return field
		}
	}
	return nil
}
