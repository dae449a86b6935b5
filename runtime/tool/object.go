package tool

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

import "context"

// An Object is a value with methods of its own, as a table is. Functions of a
// module give it and take it; it stays in the process of its script, and nothing
// changes it once it is made. Where a value leaves the script, Plain stands for it.
//
// The grant is that of the call of the script, which an object may need to be
// read: a table of a large file is read when it is looked at.
type Object interface {
	value.Opaque
	// Type returns the type, the same for all objects of it.
	Type() *ObjectType
	// Plain returns the object as a [value.Value].
	Plain(ctx context.Context, g Grant) (value.Value, error)
	// Text returns the text that a script prints for it.
	Text(ctx context.Context, g Grant) (string, error)
}

// A Collection is an [Object] with parts.
type Collection interface {
	Object
	// Len returns how many parts it has.
	Len(ctx context.Context, g Grant) (int, error)
	// At returns the part under a key: the i-th, counted from 0, or from the end if i is
	// negative, or the part with a name.
	At(ctx context.Context, g Grant, key value.Value) (value.Value, error)
	// Each yields the parts in order until yield returns false.
	Each(ctx context.Context, g Grant, yield func(value.Value) bool) error
	// Equal reports whether another collection is the same.
	Equal(ctx context.Context, g Grant, other Collection) (bool, error)
}

// An ObjectType is what scripts can do with a kind of object. Its functions are like those
// of a [Module], but Pure; the object is the Self of their effects.
type ObjectType struct {
	Name    string // as in messages: "table"
	Doc     string
	Fields  []Func // read without a call, as in t.columns; they have no parameters
	Methods []Func // called, as in t.head(3)
	// Lacks returns what to write instead of a name that is neither a field nor a method,
	// but that other libraries have, or "". It may be nil.
	Lacks func(name string) string
}

// A Function is a function of the script, as an argument of a method of an object or of a
// [Func] with [ModeObjects]. It may be called only until these return. Its error is that of the
// script.
type Function func(args ...value.Value) (value.Value, error)

// TypeName is "function".
func (Function) TypeName() string { return "function" }
