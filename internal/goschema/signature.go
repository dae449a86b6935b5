package goschema

import (
	"reflect"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Signature is the types of a function of a tool. The zero value is that of a handler that
// takes a dict.
type Signature struct{ in, out reflect.Type }

// IsDict reports whether a type is *[value.Dict].
func IsDict[T any]() bool { return isDict(reflect.TypeFor[T]()) }

func isDict(t reflect.Type) bool { return t == reflect.TypeFor[*value.Dict]() }

// SignatureOf returns the signature of a function.
func SignatureOf[In, Out any]() Signature {
	return Signature{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
}

// Fits reports whether a function of a call, such as its undo, accepts the arguments and the result of
// the handler. If either is untyped, it does.
func (s Signature) Fits(handler Signature) bool {
	fit := func(t, of reflect.Type) bool {
		return t == nil || of == nil || isDict(t) || isDict(of) || isAny(t) || isAny(of) || pointee(t) == pointee(of)
	}
	return fit(s.in, handler.in) && fit(s.out, handler.out)
}

func (s Signature) String() string { return s.in.String() + " and " + s.out.String() }

func isAny(t reflect.Type) bool { return t.Kind() == reflect.Interface && t.NumMethod() == 0 }

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// DecodeCall decodes the arguments and the result of a call.
func DecodeCall[In, Out any](args *value.Dict, result value.Value) (in In, out Out, err error) {
	if in, err = value.ToGo[In](args); err != nil {
		return in, out, value.Errorf(value.Invalid, "decode the recorded arguments: %w", err)
	}
	if out, err = value.ToGo[Out](result); err != nil {
		err = value.Errorf(value.Invalid, "decode the recorded result: %w", err)
	}
	return in, out, err
}
