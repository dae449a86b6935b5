package table

import (
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The cells of a file have kinds of their own. A first pass collects
// the kinds of the values of each column; a second pass fills the columns. So the types
// do not depend on the order of the rows, and only the columns are held in memory.

// A foundTime is a cell of a spreadsheet that shows a date, or a date and time.
type foundTime struct {
	typ Type
	n   int64
}

// kindSet is a set of kinds of values, those of one column.
type kindSet uint16

const (
	hasInteger kindSet = 1 << iota
	hasLarge           // an integer that a float cannot hold
	hasFloat
	hasBool
	hasText
	hasDateText // a text that is a date by ISO 8601
	hasDateTimeText
	hasInstantText
	hasDate // a foundTime, or a date in a CSV file
	hasDateTime
	hasInstant
	hasBlank   // a text that is a missing value if the other values are not texts
	hasQuoted  // a cell of a CSV file in quotes that are not needed
	hasOther   // a list, a dict, an integer beyond 64 bits
	hasDressed // a number of a CSV file that is written for people
	hasSign    // a sign for a missing value
)

// add adds the kind of a value. A text is parsed only while the column may be one of
// dates.
func (s *kindSet) add(v value.Value) {
	switch v := v.(type) {
	case nil:
	case int64:
		*s |= hasInteger
		if !exact(v) {
			*s |= hasLarge
		}
	case float64:
		*s |= hasFloat
	case bool:
		*s |= hasBool
	case string:
		if *s&hasText == 0 {
			*s |= kindOfText(v)
		}
	case foundTime:
		if v.typ == Date {
			*s |= hasDate
		} else {
			*s |= hasDateTime
		}
	default:
		*s |= hasOther
	}
}

// exact reports whether a float can represent the integer exactly.
func exact(i int64) bool {
	const most = 1 << 53
	return -most <= i && i <= most
}

// kindOfText returns the kind of a text in JSON. Numbers in quotes are texts.
func kindOfText(s string) kindSet {
	if _, ok := parseDate(s); ok {
		return hasDateText
	}
	if _, zoned, ok := parseDateTime(s); ok {
		if zoned {
			return hasInstantText
		}
		return hasDateTimeText
	}
	return hasText
}

// columnType returns the type that can hold all values without loss.
func (s kindSet) columnType() Type {
	const texts = hasText | hasDateText | hasDateTimeText | hasInstantText
	s &^= hasDressed | hasSign
	switch known := s &^ hasBlank; {
	case known == 0:
		return Text
	case known&^(hasInteger|hasLarge) == 0:
		return Integer
	case known&^(hasInteger|hasFloat) == 0:
		return Float
	case known == hasBool:
		return Bool
	case known == hasDate, s == hasDateText:
		return Date
	case known&^(hasDate|hasDateTime) == 0, s == hasDateTimeText:
		return DateTime
	case known == hasInstant, s == hasInstantText:
		return Instant
	case known&^texts == 0:
		return Text
	}
	return Any
}

// columnOfValues returns a column with the values that a script provided. A text stays a
// text even if it looks like a date. Integers among floats become floats, as when a
// script adds the two.
func columnOfValues(values []value.Value) *Column {
	var kinds kindSet
	for _, v := range values {
		if isText(v) {
			kinds |= hasText
		} else {
			kinds.add(v)
		}
	}
	c := newColumn((kinds &^ hasLarge).columnType(), len(values))
	for _, v := range values {
		c.add(v)
	}
	return c
}

func isText(v value.Value) bool { _, ok := v.(string); return ok }

// isWord reports whether a text is one of the words for a missing value that need no
// declaration.
func isWord(s string) bool {
	switch s {
	case "NA", "N/A", "NaN", "null", "NULL":
		return true
	}
	return false
}

// checkPlain returns an error for a value that a cell cannot hold because it could not
// be compared or written: a function, an object, or a value larger or nested deeper than
// values may be.
func checkPlain(v value.Value) error {
	nodes := value.MaxNodes
	return checkNested(v, value.MaxDepth, &nodes)
}

func checkNested(v value.Value, depth int, nodes *int) error {
	if *nodes--; *nodes < 0 {
		return overValue(value.LimitNodes, "a cell cannot hold a value with more than %s items", thousands(value.MaxNodes))
	}
	switch v.(type) {
	case nil, string, int64, float64, bool, []byte, *big.Int:
		return nil
	}
	d, isDict := v.(*value.Dict)
	items, isList := value.Elements(v)
	switch {
	case !isDict && !isList:
		return value.Errorf(value.Invalid, "a cell cannot hold a value of type %s", value.TypeOf(v))
	case depth == 0:
		return overValue(value.LimitDepth, "a cell cannot hold a value with more than %d levels of nesting", value.MaxDepth)
	}
	for k, x := range d.All() {
		*nodes++ // keys are not counted
		if err := checkNested(k, depth-1, nodes); err != nil {
			return err
		}
		if err := checkNested(x, depth-1, nodes); err != nil {
			return err
		}
	}
	for _, x := range items {
		if err := checkNested(x, depth-1, nodes); err != nil {
			return err
		}
	}
	return nil
}

func overValue(limit value.LimitName, format string, args ...any) error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e.WithHint("use a part of the value, or encode a part as text with json.encode")
}
