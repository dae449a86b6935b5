// Package pack is the binary form of Go structs, for records on disk and for frames
// between processes. Reading is strict, since the data may be damaged or hostile.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Append appends the binary form of the struct that x points to. Its exported fields
// follow each other without their names, so a form can be read only by a program with the
// same struct: a change of it needs another version of what it is a part of.
//
// The fields are booleans, integers, strings, bytes, times, values, dicts, and structs,
// pointers, slices and maps by strings of these. The form is canonical, and [Decode] reads back what
// was written; only an empty slice or map comes back as nil. It fails for a string that is
// not UTF-8, and beyond [value.MaxDepth] and [value.MaxNodes].
func Append(dst []byte, x any) ([]byte, error) {
	w := writer{value.Encoder{Buf: dst, Nodes: value.MaxNodes}}
	err := w.value(reflect.ValueOf(x).Elem(), value.MaxDepth)
	return w.Buf, err
}

// A Raw is a field with any bytes. Like a string it shares the memory of what it is read
// from.
type Raw string

var rawType = reflect.TypeFor[Raw]()

type writer struct{ value.Encoder }

func (w *writer) value(v reflect.Value, depth int) error {
	if depth == 0 {
		return errDepth()
	}
	switch v.Kind() {
	case reflect.Bool:
		w.flag(v.Bool())
	case reflect.Int, reflect.Int64:
		w.Buf = binary.AppendVarint(w.Buf, v.Int())
	case reflect.Uint8, reflect.Uint32:
		w.Buf = binary.AppendUvarint(w.Buf, v.Uint())
	case reflect.String:
		if v.Type() != rawType && !utf8.ValidString(v.String()) {
			return fmt.Errorf("encode text: not UTF-8: %q", value.Cut(v.String(), 40))
		}
		w.Buf = append(binary.AppendUvarint(w.Buf, uint64(v.Len())), v.String()...)
	case reflect.Interface:
		return w.Encoder.Value(v.Interface(), value.MaxDepth)
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			w.Buf = binary.AppendVarint(w.Buf, t.UnixNano())
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() {
				if err := w.value(f, depth); err != nil {
					return err
				}
			}
		}
	case reflect.Pointer:
		w.flag(!v.IsNil())
		if v.IsNil() {
			return nil
		}
		if d, ok := v.Interface().(*value.Dict); ok {
			return w.Encoder.Value(d, value.MaxDepth)
		}
		return w.value(v.Elem(), depth-1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.Buf = append(binary.AppendUvarint(w.Buf, uint64(v.Len())), v.Bytes()...)
			return nil
		}
		return w.items(v, depth)
	case reflect.Map:
		return w.entries(v, depth)
	default:
		return fmt.Errorf("encode value: unsupported type %s", v.Type())
	}
	return nil
}

func (w *writer) flag(on bool) {
	if on {
		w.Buf = append(w.Buf, 1)
		return
	}
	w.Buf = append(w.Buf, 0)
}

// count writes how many items follow.
func (w *writer) count(n int) error {
	if w.Nodes -= n; w.Nodes < 0 {
		return value.Limitf(value.LimitNodes, "the value has more than %d elements in total", value.MaxNodes)
	}
	w.Buf = binary.AppendUvarint(w.Buf, uint64(n))
	return nil
}

func (w *writer) items(v reflect.Value, depth int) error {
	n := v.Len()
	err := w.count(n)
	for i := 0; i < n && err == nil; i++ {
		err = w.value(v.Index(i), depth-1)
	}
	return err
}

func (w *writer) entries(v reflect.Value, depth int) error {
	err := w.count(v.Len())
	names := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	for _, name := range names {
		if err == nil {
			err = w.value(reflect.ValueOf(&name).Elem(), depth)
		}
		if err == nil {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(reflect.ValueOf(name)))
			err = w.value(item, depth-1)
		}
	}
	return err
}

func errDepth() error {
	return value.Limitf(value.LimitDepth, "the value is nested more than %d levels deep", value.MaxDepth)
}

var errForm = errors.New("the encoding is not canonical")

// Decode reads the struct that [Append] wrote, all of data, to what x points to. Other data
// is an error. The strings share the memory of data.
func Decode(data string, x any) error {
	rest, err := Next(data, x)
	if err == nil && rest != "" {
		err = fmt.Errorf("decode %T: unexpected data after the value: %d bytes", x, len(rest))
	}
	return err
}

// Next is [Decode] for data with more behind the struct, which it returns.
func Next(data string, x any) (rest string, err error) {
	r := reader{value.Decoder{Rest: data, Nodes: value.MaxNodes}}
	if err := r.value(reflect.ValueOf(x).Elem(), value.MaxDepth); err != nil {
		return "", fmt.Errorf("decode %T at byte %d: %w", x, len(data)-len(r.Rest), err)
	}
	return r.Rest, nil
}

type reader struct{ value.Decoder }

func (r *reader) value(v reflect.Value, depth int) error {
	if depth == 0 {
		return errDepth()
	}
	switch v.Kind() {
	case reflect.Bool:
		on, err := r.flag()
		v.SetBool(on)
		return err
	case reflect.Int, reflect.Int64:
		i, err := r.Varint()
		if v.OverflowInt(i) {
			return errors.New("the number does not fit in an int on this machine")
		}
		v.SetInt(i)
		return err
	case reflect.Uint8, reflect.Uint32:
		u, err := r.Uvarint()
		if v.OverflowUint(u) {
			return errForm
		}
		v.SetUint(u)
		return err
	case reflect.String:
		read := r.Text
		if v.Type() == rawType {
			read = r.Bytes
		}
		s, err := read()
		v.SetString(s)
		return err
	case reflect.Interface:
		x, err := r.Decoder.Value(value.MaxDepth)
		if x != nil {
			v.Set(reflect.ValueOf(x))
		}
		return err
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			nanos, err := r.Varint()
			*t = time.Unix(0, nanos)
			return err
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				if err := r.value(f, depth); err != nil {
					return err
				}
			}
		}
		return nil
	case reflect.Pointer:
		return r.pointer(v, depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b, err := r.Bytes()
			if b != "" {
				v.SetBytes([]byte(b))
			}
			return err
		}
		return r.items(v, depth)
	case reflect.Map:
		return r.entries(v, depth)
	}
	return fmt.Errorf("unsupported type %s", v.Type())
}

func (r *reader) flag() (bool, error) {
	b, err := r.Byte()
	if b > 1 {
		return false, errForm
	}
	return b == 1, err
}

func (r *reader) pointer(v reflect.Value, depth int) error {
	on, err := r.flag()
	if !on || err != nil {
		return err
	}
	if _, ok := v.Interface().(*value.Dict); ok {
		x, err := r.Decoder.Value(value.MaxDepth)
		d, ok := x.(*value.Dict)
		if err == nil && !ok {
			err = errForm
		}
		v.Set(reflect.ValueOf(d))
		return err
	}
	v.Set(reflect.New(v.Type().Elem()))
	return r.value(v.Elem(), depth-1)
}

// count reads how many items follow, each of at least a byte.
func (r *reader) count() (int, error) {
	n, err := r.Uvarint()
	switch {
	case err != nil:
		return 0, err
	case n > uint64(len(r.Rest)):
		return 0, errors.New("unexpected end of data")
	case n > uint64(r.Nodes):
		return 0, value.Limitf(value.LimitNodes, "the value has more than %d elements in total", value.MaxNodes)
	}
	r.Nodes -= int(n)
	return int(n), nil
}

// allocated is how many items are allocated before they are read. Where more are claimed,
// the slice grows with what is there.
const allocated = 16

func (r *reader) items(v reflect.Value, depth int) error {
	n, err := r.count()
	if n == 0 || err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, min(n, allocated)))
	for i := range n {
		if i == v.Cap() {
			v.Grow(i) // doubles it
		}
		v.SetLen(i + 1)
		if err := r.value(v.Index(i), depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entries(v reflect.Value, depth int) error {
	n, err := r.count()
	if n == 0 || err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	last := ""
	for i := range n {
		name, err := r.Text()
		if err == nil && i > 0 && name <= last {
			err = errForm
		}
		if err != nil {
			return err
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := r.value(item, depth-1); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), item)
		last = name
	}
	return nil
}
