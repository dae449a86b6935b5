package table

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
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
func (s *kindSet) add(v tool.Value) {
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

// addRead appends a value, converted to the type of the column. It fails where
// that is not the same value.
func (c *Column) addRead(v tool.Value) error {
	ok := true
	switch c.Type {
	case Any:
		ok = c.addAnything(v)
	case Text:
		ok = c.addAsText(v)
	case Integer:
		ok = c.addAsInteger(v)
	case Float:
		ok = c.addAsFloat(v)
	case Bool:
		ok = c.addAsBool(v)
	default:
		ok = c.addAsTime(v)
	}
	if !ok {
		return tool.Errorf(tool.Invalid, "%s is not of type %s", valueText(v), c.Type)
	}
	return nil
}

func (c *Column) addAnything(v tool.Value) bool {
	switch v := v.(type) {
	case nil:
		c.addMissing()
	case foundTime:
		c.addAny(formatTime(v.typ, v.n))
	default:
		c.addAny(v)
	}
	return true
}

// addAsText writes numbers as JSON does: a column of codes may have been saved as
// numbers.
func (c *Column) addAsText(v tool.Value) bool {
	switch v := v.(type) {
	case nil:
		c.addMissing()
	case string:
		c.addText(v)
	case int64:
		c.addText(strconv.FormatInt(v, 10))
	case *big.Int:
		c.addText(tool.FormatJSON(v, ""))
	case float64:
		c.addText(formatFloat(v))
	case bool:
		c.addText(strconv.FormatBool(v))
	case foundTime:
		c.addText(formatTime(v.typ, v.n))
	default:
		return false
	}
	return true
}

func (c *Column) addAsInteger(v tool.Value) bool {
	const beyond = 1 << 63
	switch v := v.(type) {
	case nil:
		c.addMissing()
	case int64:
		c.addInt(v)
	case float64:
		if v != math.Trunc(v) || v < -beyond || v >= beyond {
			return false
		}
		c.addInt(int64(v))
	case string:
		n, ok := parseInteger(v)
		if !ok {
			return false
		}
		c.addInt(n)
	default:
		return false
	}
	return true
}

func (c *Column) addAsFloat(v tool.Value) bool {
	switch v := v.(type) {
	case nil:
		c.addMissing()
	case int64:
		c.addFloat(float64(v))
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		c.addFloat(f)
		return !math.IsInf(f, 0)
	case float64:
		c.addFloat(v)
	case string:
		f, ok := parseFloat(v)
		if !ok {
			return false
		}
		c.addFloat(f)
	default:
		return false
	}
	return true
}

func (c *Column) addAsBool(v tool.Value) bool {
	b, ok := v.(bool)
	if s, isText := v.(string); isText {
		b, ok = parseBool(s)
	}
	switch {
	case v == nil:
		c.addMissing()
	case !ok:
		return false
	case b:
		c.addInt(1)
	default:
		c.addInt(0)
	}
	return true
}

// addAsTime takes a date for the datetime at its beginning, but not the other way
// round.
func (c *Column) addAsTime(v tool.Value) bool {
	const day = secondsPerDay * microsecond
	switch v := v.(type) {
	case nil:
		c.addMissing()
		return true
	case foundTime:
		switch {
		case v.typ == c.Type:
			c.addInt(v.n)
		case v.typ == Date && c.Type == DateTime:
			c.addInt(v.n * day)
		default:
			return false
		}
		return true
	case string:
		days, isDate := parseDate(v)
		micros, zoned, isTime := parseDateTime(v)
		switch {
		case isDate && c.Type == Date:
			c.addInt(days)
		case isDate && c.Type == DateTime:
			c.addInt(days * day)
		case isTime && zoned == (c.Type == Instant) && c.Type != Date:
			c.addInt(micros)
		default:
			return false
		}
		return true
	}
	return false
}

// valueText shows a value in an error.
func valueText(v tool.Value) string {
	switch v := v.(type) {
	case foundTime:
		return formatTime(v.typ, v.n)
	case string:
		return strconv.Quote(cut(v))
	case tool.List, tool.Tuple, *tool.Dict:
		return "a " + tool.TypeOf(v)
	}
	return cut(tool.FormatJSON(v, ""))
}

// cut shortens a text for an error.
func cut(s string) string {
	const most = 60 // characters
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s[:min(len(s), 4*most)])[:most]) + "…"
}

// A header is the names of the columns of a file whose rows are lists.
type header struct {
	names []string
	notes []string
}

// newHeader names n columns by the texts of the first row; those without a name
// are column_1, column_2 …, and a name that was there is given a number.
func newHeader(texts []string, n int) header {
	h := header{names: make([]string, n)}
	used := make(map[string]int, n) // and the number that was given last
	for i := range n {
		name := ""
		if i < len(texts) {
			name = strings.TrimSpace(texts[i])
		}
		given := name
		if name == "" {
			given = fmt.Sprintf("column_%d", i+1)
		}
		unique := given
		for used[unique] > 0 {
			used[given]++
			unique = fmt.Sprintf("%s_%d", given, used[given])
		}
		used[unique] = 1
		h.names[i] = unique
		if name != "" && unique != name {
			h.note("column %d is named %q: there is a %q before it", i+1, unique, cut(name))
		}
		if name == "" && len(texts) > 0 {
			h.note("column %d has no name: it is %q", i+1, unique)
		}
	}
	return h
}

// note adds a note; the number of them is bounded.
func (h *header) note(format string, args ...any) {
	const most = 10
	if len(h.notes) < most {
		h.notes = append(h.notes, fmt.Sprintf(format, args...))
	}
}

// typesOfColumns returns the types of columns: those that the caller says, and
// else those that the values have.
func (o *readOptions) typesOfColumns(names []string, columns []kindSet) ([]Type, error) {
	for name := range o.types {
		t := &Table{names: names}
		if len(names) == 0 {
			break // nothing is known of a file without records
		}
		if _, err := t.column(name); err != nil {
			return nil, err
		}
	}
	types := make([]Type, len(names))
	for i, name := range names {
		if t, ok := o.types[name]; ok {
			types[i] = t
		} else {
			types[i] = columns[i].columnType()
		}
	}
	return types, nil
}

// rowsPerBatch is how many rows a batch of so many columns has: a table of very
// many columns is read in smaller ones.
func rowsPerBatch(columns int) int {
	const cells = 1 << 20
	return max(1, min(batchRows, cells/max(1, columns)))
}
