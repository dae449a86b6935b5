package table

import (
	"math/big"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The values of JSON and of a spreadsheet have types of their own. What a column
// holds is found out in a first reading, as the set of the kinds of its values;
// a second one fills the column. So the order of the rows is of no account, and
// nothing is held but the columns.

// A foundTime is a cell of a spreadsheet that shows a date, or a date and time.
type foundTime struct {
	typ Type
	n   int64
}

// kindSet is the set of the kinds of values that a column has.
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
	hasDate // a foundTime
	hasDateTime
	hasBlank // a text that is a missing value where the others are no texts
	hasOther // a list, a dict, an integer beyond 64 bits
)

// add notes a value. A text is looked into only while the column may be one of
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

// exact reports whether a float holds the integer.
func exact(i int64) bool {
	const most = 1 << 53
	return -most <= i && i <= most
}

// kindOfText is what a text of JSON is: numbers in quotes are meant as texts.
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

// columnType is the type that holds all of the values without a loss.
func (s kindSet) columnType() Type {
	const texts = hasText | hasDateText | hasDateTimeText | hasInstantText
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
	case s == hasInstantText:
		return Instant
	case known&^texts == 0:
		return Text
	}
	return Any
}

// columnOfValues returns the column that holds what a script gave. A text is text
// even where it says a date, and integers among floats become floats, as where a
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

// isWord reports whether a text may stand for a missing value without being said
// to.
func isWord(s string) bool {
	switch s {
	case "NA", "N/A", "NaN", "null", "NULL":
		return true
	}
	return false
}

// checkPlain fails for a value that a cell cannot hold: a function or an object, or
// one that is larger or nested deeper than a value may be: it could be neither
// compared nor written.
func checkPlain(v value.Value) error {
	nodes := value.MaxNodes
	return checkNested(v, value.MaxDepth, &nodes)
}

func checkNested(v value.Value, depth int, nodes *int) error {
	if *nodes--; *nodes < 0 {
		return overValue(value.LimitNodes, "a cell cannot hold a value of more than %s parts", thousands(value.MaxNodes))
	}
	switch v.(type) {
	case nil, string, int64, float64, bool, []byte, *big.Int:
		return nil
	}
	d, isDict := v.(*value.Dict)
	items, isList := value.Elements(v)
	switch {
	case !isDict && !isList:
		return value.Errorf(value.Invalid, "a cell cannot hold a %s", value.TypeOf(v))
	case depth == 0:
		return overValue(value.LimitDepth, "a cell cannot hold a value nested more than %d deep", value.MaxDepth)
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
	return e.WithHint("give a part of it, or the text that json.encode makes of a part")
}
