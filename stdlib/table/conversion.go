package table

import (
	"context"
	"math"
	"math/big"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A conversion converts a column to another type. A value that does not fit is an error
// or becomes a missing value.
type conversion struct {
	column  string // its name, for errors
	to      Type
	missing bool // values that do not fit become missing
	first   int  // the number of rows before the current batch, for errors
}

// canConvert reports whether some values of a type can be converted to another type. If
// not, the error is reported once, not for each value.
func (t Type) canConvert(to Type) bool {
	switch {
	case t == to, t == Text, t == Any, to == Text, to == Any:
		return true
	case t.time() || to.time():
		return t.time() && to.time()
	}
	return true // numbers and bools
}

// check returns an error if no value of the type can be converted.
func (v *conversion) check(from Type) error {
	if from.canConvert(v.to) {
		return nil
	}
	return value.Errorf(value.Invalid, "column %q of type %s cannot be converted to %s", cut(v.column), from, v.to)
}

// convert returns the converted column.
func (v *conversion) convert(ctx context.Context, c *Column) (*Column, error) {
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

// misfit returns the error for a value that cannot be converted.
func (v *conversion) misfit(c *Column, i int) error {
	return value.Errorf(value.Invalid, "row %d, column %q: %s cannot be converted to %s", v.first+i+1, cut(v.column), valueShown(c.value(i)), v.to).
		WithHint(`in a script, errors = "missing" makes such values missing`)
}

// addConverted appends the i-th value of a column of another type, which must not be
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
		return c.addFloatValue(d.Floats[i])
	case c.Type.time():
		return c.addTime(d.Type, d.Ints[i])
	}
	return c.addIntValue(d.Ints[i])
}

// addValue appends a value of a script if it fits: dates and times are texts.
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
		return c.addIntValue(v)
	case float64:
		return c.addFloatValue(v)
	case bool:
		return c.addIntValue(int64(bit(v)))
	}
	return false
}

// addParsed parses a text without the spaces around it, and appends the value if it
// fits.
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
		return ok && c.addIntValue(int64(bit(b)))
	}
	n, ok := parseTime(c.Type, s)
	if ok {
		c.addInt(n)
	}
	return ok
}

// parseTime parses a text as a point in time. A date is the midnight at its start, and
// an instant without a zone is in UTC. A datetime with a zone is rejected: without the
// zone it would be another time.
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

// addFloatValue appends a float to a column of numbers or bools if it fits.
func (c *Column) addFloatValue(f float64) bool {
	if c.Type == Float {
		c.addFloat(f)
		return true
	}
	n, ok := exactInt(f)
	return ok && c.addIntValue(n)
}

// exactInt returns a float as an integer. ok is false if it is not one.
func exactInt(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// addIntValue appends an integer to a column of numbers or bools if it fits. An integer
// that a float would round does not fit a column of floats.
func (c *Column) addIntValue(n int64) bool {
	switch c.Type {
	case Integer:
		c.addInt(n)
		return true
	case Float:
		back, ok := exactInt(float64(n))
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

// addTime appends a point in time of another type if it fits. Only midnight fits a date.
func (c *Column) addTime(from Type, n int64) bool {
	switch {
	case from == c.Type:
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

// add appends a value that is known to fit: one of the type of the column, an integer
// among floats, or a missing value.
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

// addRead appends a value of a file, converted as by with_types; also, numbers of any
// size become floats. It returns an error if the value does not fit.
func (c *Column) addRead(v value.Value, n *numbers) error {
	fits := true
	if s, ok := v.(string); ok && n != nil {
		v = n.ofText(s, c.Type)
	}
	switch at, isTime := v.(foundTime); {
	case v == nil:
		c.addMissing()
	case isTime && c.Type.time():
		fits = c.addTime(at.typ, at.n)
	case isTime && c.Type != Any && c.Type != Text:
		fits = false
	case isTime:
		return c.addRead(formatTime(at.typ, at.n), nil)
	case c.Type == Any:
		c.addAny(v)
	case c.Type == Text: // codes may have been saved as numbers
		switch v.(type) {
		case string, int64, float64, bool, *big.Int:
			c.addText(valueText(v))
		default:
			fits = false
		}
	case c.Type == Float:
		switch n := v.(type) {
		case int64:
			c.addFloat(float64(n))
		case *big.Int:
			f, _ := new(big.Float).SetInt(n).Float64()
			c.addFloat(f)
			fits = !math.IsInf(f, 0)
		default:
			fits = c.addValue(v)
		}
	default:
		fits = c.addValue(v)
	}
	if !fits {
		return value.Errorf(value.Invalid, "%s is not of type %s", valueShown(v), c.Type)
	}
	return nil
}
