package table

// A Type is the type of the values of a column.
type Type uint8

// The types. A date has no time. A datetime has no zone. An instant is a time in UTC.
// Any is for the other values of JSON, lists and objects, and for columns with values of
// several types.
const (
	Text Type = iota
	Integer
	Float
	Bool
	Date
	DateTime
	Instant
	Any
)

var typeNames = [...]string{"text", "integer", "float", "bool", "date", "datetime", "instant", "any"}

// String returns the name of the type in scripts.
func (t Type) String() string { return typeNames[t] }

// number reports whether values of the type can be added.
func (t Type) number() bool { return t == Integer || t == Float }

// time reports whether values of the type are points in time.
func (t Type) time() bool { return t == Date || t == DateTime || t == Instant }

// ParseType returns the type with a name.
func ParseType(name string) (Type, error) {
	for i, n := range typeNames {
		if n == name {
			return Type(i), nil
		}
	}
	return 0, oneOf("type", name, typeNames[:])
}

// join returns the type that can hold the values of both types.
func (t Type) join(u Type) Type {
	switch {
	case t == u:
		return t
	case t.number() && u.number():
		return Float
	}
	return Any
}
