package tool

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Type describes the values of a parameter or a result. The zero Type is any. Checks,
// JSON Schemas, the definitions for each vendor and the help are made from it.
type Type struct {
	Name     string  // one of TypeNames; "" and unknown names mean "any"
	Nullable bool    // null is a value of its own, as in str | None
	Items    *Type   // of an array: what each item is
	Values   *Type   // of an object: what each value is
	Fields   []Param // of an object: its known properties

	// Constraints; those that do not apply to the type are ignored.
	Min, Max             value.Value // int64 or float64, inclusive; nil means none
	MinLength, MaxLength *int        // characters of a string, items of an array
	Pattern              string
	Enum                 []value.Value
}

// The types. TypeCharacter is a list of strings, which may be given as a single string, and
// TypeList is any array or object: both are kept for files of early tools. TypeLogical is
// another name for TypeBoolean.
const (
	TypeAny       = "any"
	TypeString    = "string"
	TypeNumber    = "number"
	TypeInteger   = "integer"
	TypeBoolean   = "boolean"
	TypeLogical   = "logical"
	TypeArray     = "array"
	TypeObject    = "object"
	TypeMedia     = "media" // a [value.Media]; text that is a data URL becomes one
	TypeCharacter = "character"
	TypeList      = "list"
)

// TypeNames lists the names that a type may have.
func TypeNames() []string {
	return []string{TypeString, TypeCharacter, TypeNumber, TypeInteger, TypeLogical, TypeList, TypeAny, TypeBoolean, TypeArray, TypeObject, TypeMedia}
}

// Known reports whether the type's name is one of TypeNames. An unknown name
// accepts anything, so that a file written for a later version still loads.
func (t Type) Known() bool {
	return t.Name == "" || slices.Contains(TypeNames(), t.Name)
}

// String names the type as a reader would write it: "array of string".
func (t Type) String() string {
	var s string
	switch {
	case t.Name == "":
		s = TypeAny
	case t.Name == TypeArray && t.Items != nil:
		s = "array of " + t.Items.within()
	case t.Name == TypeObject && t.Values != nil:
		s = "object of " + t.Values.within()
	default:
		s = t.Name
	}
	if t.Nullable {
		s += " or null"
	}
	return s
}

// within names the type as a part of another's name.
func (t Type) within() string {
	if t.Nullable {
		return "(" + t.String() + ")"
	}
	return t.String()
}

func paramNames(params []Param) []string {
	names := make([]string, 0, len(params))
	for _, p := range params {
		if !p.FromHost {
			names = append(names, p.Name)
		}
	}
	return names
}
