package table

import (
	"context"
	"math"
	"math/big"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A conversion makes a column of another type. A value that does not fit is an
// error, or becomes a missing one.
type conversion struct {
	column  string // its name, for errors
	to      Type
	missing bool // what does not fit becomes missing
	first   int  // how many rows come before the batch at hand, for errors
}

// canBecome reports whether values of a type can become some of another. What
// one cannot is said at once, and not once for each value.
func (t Type) canBecome(to Type) bool {
	switch {
	case t == to, t == Text, t == Any, to == Text, to == Any:
		return true
	case t.time() || to.time():
		return t.time() && to.time()
	}
	return true // numbers and bools
}

// check fails where no value of the type can be converted.
func (v *conversion) check(from Type) error {
	if from.canBecome(v.to) {
		return nil
	}
	return value.Errorf(value.Invalid, "column %q is %s, which cannot become %s", cut(v.column), from, v.to)
}

// of converts a column.
func (v *conversion) of(ctx context.Context, c *Column) (*Column, error) {
	if c.Type == v.to {
		return c, nil
	}
	if err := v.check(c.Type); err != nil {
		return nil, err
	}
	d := newColumn(v.to, c.Len())
	for i := range c.Len() {
		if i%batchRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if c.missing(i) {
			d.addMissing()
			continue
		}
		if d.addConverted(c, i) {
			continue
		}
		if !v.missing {
			return nil, v.misfit(c, i)
		}
		d.addMissing()
	}
	return d, nil
}

// misfit is the error of a value that cannot be converted.
func (v *conversion) misfit(c *Column, i int) error {
	return value.Errorf(value.Invalid, "row %d, column %q: %s cannot become %s", v.first+i+1, cut(v.column), valueShown(c.value(i)), v.to).
		WithHint(`with errors = "missing" such values become missing ones`)
}

// addConverted appends the i-th value of a column of another type, which is not
// missing. It reports whether the value fits.
func (c *Column) addConverted(d *Column, i int) bool {
	switch {
	case c.Type == Any:
		c.addAny(d.value(i))
		return true
	case c.Type == Text:
		c.addText(d.text(i))
		return true
	case d.Type == Any:
		return c.addValue(d.Values[i])
	case d.Type == Text:
		return c.addParsed(d.Texts[i])
	case d.Type == Float:
		return c.addNumber(d.Floats[i])
	case c.Type.time():
		return c.addTime(d.Type, d.Ints[i])
	}
	return c.addWhole(d.Ints[i])
}

// addValue appends what a script holds, if it fits: dates and times are texts.
func (c *Column) addValue(v value.Value) bool {
	switch v := v.(type) {
	case nil:
		c.addMissing()
		return true
	case string:
		if c.Type == Text {
			c.addText(v)
			return true
		}
		return c.addParsed(v)
	case int64:
		return c.addWhole(v)
	case float64:
		return c.addNumber(v)
	case bool:
		return c.addWhole(int64(bit(v)))
	}
	return false
}

// addParsed appends what a text says, if it fits; spaces around it are of no
// account.
func (c *Column) addParsed(s string) bool {
	s = strings.Trim(s, " \t\r\n")
	switch c.Type {
	case Integer:
		n, ok := parseInteger(s)
		if ok {
			c.addInt(n)
		}
		return ok
	case Float:
		f, ok := parseFloat(s)
		if ok {
			c.addFloat(f)
		}
		return ok
	case Bool:
		b, ok := parseBool(s)
		return ok && c.addWhole(int64(bit(b)))
	}
	n, ok := parseTime(c.Type, s)
	if ok {
		c.addInt(n)
	}
	return ok
}

// parseTime reads a text as a point in time. A date is the midnight with which it
// begins, and without a zone an instant is in UTC; but a datetime with a zone is
// none: to drop it would be another time.
func parseTime(t Type, s string) (int64, bool) {
	if days, ok := parseDate(s); ok {
		if t == Date {
			return days, true
		}
		return days * microsPerDay, true
	}
	n, zoned, ok := parseDateTime(s)
	return n, ok && (t == Instant || t == DateTime && !zoned)
}

const microsPerDay = secondsPerDay * microsecond

// addNumber appends a float to a column of numbers or bools, if it fits.
func (c *Column) addNumber(f float64) bool {
	if c.Type == Float {
		c.addFloat(f)
		return true
	}
	n, ok := wholeNumber(f)
	return ok && c.addWhole(n)
}

// wholeNumber returns a float as the integer that it is.
func wholeNumber(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// addWhole appends an integer to a column of numbers or bools, if it fits. One
// that a float would round does not.
func (c *Column) addWhole(n int64) bool {
	switch c.Type {
	case Integer:
		c.addInt(n)
		return true
	case Float:
		back, ok := wholeNumber(float64(n))
		if ok = ok && back == n; ok {
			c.addFloat(float64(n))
		}
		return ok
	case Bool:
		if n == 0 || n == 1 {
			c.addInt(n)
			return true
		}
	}
	return false
}

// addTime appends a point in time of another type, if it fits: a date only has
// room for midnight.
func (c *Column) addTime(from Type, n int64) bool {
	switch {
	case from == Date:
		n *= microsPerDay
	case c.Type == Date:
		if n%microsPerDay != 0 {
			return false
		}
		n /= microsPerDay
	}
	c.addInt(n)
	return true
}

// add appends a value that the column was made for: one of its type, an integer
// among floats, or a missing one.
func (c *Column) add(v value.Value) {
	switch v := v.(type) {
	case nil:
		c.addMissing()
		return
	case int64:
		if c.Type == Float {
			c.addFloat(float64(v))
			return
		}
	}
	if c.Type == Any {
		c.addAny(v)
		return
	}
	if !c.addValue(v) {
		panic("table: " + valueShown(v) + " in a column of " + c.Type.String())
	}
}

// addRead appends a value that a file holds, as with_types converts it, and beside
// that a number of any size to floats. It fails where the value does not fit.
func (c *Column) addRead(v value.Value) error {
	if !c.takes(v) {
		return value.Errorf(value.Invalid, "%s is not of type %s", valueShown(v), c.Type)
	}
	return nil
}

// takes is addRead, and reports whether the value fits.
func (c *Column) takes(v value.Value) bool {
	found, isTime := v.(foundTime)
	switch {
	case v == nil:
		c.addMissing()
	case isTime:
		return c.addFound(found)
	case c.Type == Any:
		c.addAny(v)
	case c.Type == Text: // a column of codes may have been saved as numbers
		switch v.(type) {
		case string, int64, float64, bool, *big.Int:
			c.addText(valueText(v))
		default:
			return false
		}
	case c.Type == Float:
		if n := bigFloat(v); n != nil {
			f, _ := n.Float64()
			c.addFloat(f)
			return !math.IsInf(f, 0) || n.IsInf()
		}
		return c.addValue(v)
	default:
		return c.addValue(v)
	}
	return true
}

// addFound appends what a cell of a spreadsheet shows as a date or a time.
func (c *Column) addFound(t foundTime) bool {
	switch {
	case c.Type == Any:
		c.addAny(formatTime(t.typ, t.n))
	case c.Type == Text:
		c.addText(formatTime(t.typ, t.n))
	case c.Type == t.typ:
		c.addInt(t.n)
	case c.Type.time():
		return c.addTime(t.typ, t.n)
	default:
		return false
	}
	return true
}
