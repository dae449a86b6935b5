// Package form converts structs to dicts and back, by the dict tags of their fields.
//
// The structs that are sent and recorded as dicts have a dict tag on each field: the name in the
// dict, and after a comma, omitempty if a zero field is left out. A field without a tag is not in the
// dict. A duration is a number of milliseconds, a time is RFC 3339 and null if it is zero, a nil slice
// is an empty list, a type with the methods String and Set is text, and invalid UTF-8 is replaced.
package form

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Dict returns a struct as a dict.
func Dict(x any) *value.Dict {
	d := &value.Dict{}
	Put(d, x)
	return d
}

// Put puts the fields of a struct into a dict.
func Put(d *value.Dict, x any) { putFields(d, reflect.ValueOf(x)) }

// Read sets the fields of a struct, to which into points, to what Put put into a dict, also after
// JSON. What is missing or null is left as it is. The error is of kind Invalid, and names the field
// that has another type.
func Read(into any, d *value.Dict) error { return readFields(reflect.ValueOf(into).Elem(), d) }

func putFields(d *value.Dict, v reflect.Value) {
	for i := range v.NumField() {
		name, option, ok := dictTag(v.Type().Field(i))
		switch {
		case !ok:
		case option == "omitempty" && v.Field(i).IsZero():
		case option == "agent" && v.FieldByName("Policy").IsZero(): // of a RunStart
		default:
			d.Put(name, formOf(v.Field(i)))
		}
	}
}

func dictTag(f reflect.StructField) (name, option string, ok bool) {
	tag, ok := f.Tag.Lookup("dict")
	name, option, _ = strings.Cut(tag, ",")
	return name, option, ok
}

// formOf returns the value that a field is in a dict.
func formOf(v reflect.Value) value.Value {
	switch x := v.Interface().(type) {
	case time.Duration:
		return float64(x) / float64(time.Millisecond)
	case time.Time:
		if x.IsZero() {
			return nil
		}
		return x.UTC().Format(time.RFC3339Nano)
	case *value.Dict, []byte:
		if v.IsNil() {
			return nil
		}
		return x
	}
	switch v.Kind() {
	case reflect.String:
		return validText(v.String())
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Uint32, reflect.Uint64:
		return int64(min(v.Uint(), math.MaxInt64))
	case reflect.Float64:
		if f := v.Float(); f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
			return f
		}
		return int64(v.Float())
	case reflect.Slice:
		list := make(value.List, v.Len())
		for i := range list {
			list[i] = formOf(v.Index(i))
		}
		return list
	case reflect.Struct:
		if reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[interface{ Set(text string) }]()) {
			return validText(fmt.Sprint(v.Interface()))
		}
		return Dict(v.Interface())
	}
	return v.Interface() // a bool or a value
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func readFields(v reflect.Value, d *value.Dict) error {
	for i := range v.NumField() {
		name, _, _ := dictTag(v.Type().Field(i))
		x, ok := d.Get(name)
		if !ok || x == nil {
			continue
		}
		if err := readForm(v.Field(i), x); err != nil {
			return value.Errorf(value.Invalid, "the field %q has an unexpected type", name)
		}
	}
	return nil
}

var errForm = errors.New("unexpected type")

// readForm sets a field to a value that is not null.
func readForm(v reflect.Value, x value.Value) error {
	given := reflect.ValueOf(x)
	if given.Type().AssignableTo(v.Type()) { // a bool, a dict, a list or any value
		v.Set(given)
		return nil
	}
	text, isText := x.(string)
	switch field := v.Addr().Interface().(type) {
	case *time.Duration:
		var ms float64
		err := readForm(reflect.ValueOf(&ms).Elem(), x)
		*field = time.Duration(math.Round(ms * float64(time.Millisecond)))
		return err
	case *time.Time:
		t, err := time.Parse(time.RFC3339Nano, text)
		*field = t.UTC()
		return err
	case interface{ Set(text string) }:
		field.Set(text)
		return onlyIf(isText)
	case *[]byte:
		data, err := base64.StdEncoding.DecodeString(text)
		if *field = data; !isText {
			err = errForm
		}
		return err
	}
	n, isInt := x.(int64)
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return onlyIf(isText)
	case reflect.Int:
		v.SetInt(n)
		return onlyIf(isInt)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(max(0, n)))
		return onlyIf(isInt)
	case reflect.Float64:
		v.SetFloat(float64(n))
		return onlyIf(isInt)
	case reflect.Slice:
		list, ok := x.(value.List)
		if len(list) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		}
		for i, item := range list {
			if item == nil || readForm(v.Index(i), item) != nil {
				return errForm
			}
		}
		return onlyIf(ok)
	case reflect.Struct:
		d, ok := x.(*value.Dict)
		if !ok {
			return errForm
		}
		return readFields(v, d)
	}
	return errForm
}

func onlyIf(ok bool) error {
	if !ok {
		return errForm
	}
	return nil
}
