package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Column is a sequence of values of one type, in the one slice of that type.
// Once it is part of a batch it is not changed.
type Column struct {
	Type    Type
	Ints    []int64       // Integer; Bool as 0 and 1; Date in days, DateTime and Instant in microseconds since 1970
	Floats  []float64     // Float
	Texts   []string      // Text
	Values  []value.Value // Any
	Missing []bool        // nil where no value is missing; what a missing one holds beside is of no account
}

// newColumn returns an empty column with room for n values.
func newColumn(t Type, n int) *Column {
	c := &Column{Type: t}
	switch t {
	case Text:
		c.Texts = make([]string, 0, n)
	case Float:
		c.Floats = make([]float64, 0, n)
	case Any:
		c.Values = make([]value.Value, 0, n)
	default:
		c.Ints = make([]int64, 0, n)
	}
	return c
}

// missingColumn returns a column of missing values.
func missingColumn(t Type, rows int) *Column {
	c := newColumn(t, rows)
	for range rows {
		c.addMissing()
	}
	return c
}

// Len returns how many values the column has.
func (c *Column) Len() int { return len(c.Texts) + len(c.Floats) + len(c.Values) + len(c.Ints) }

// missing reports whether the i-th value is missing.
func (c *Column) missing(i int) bool { return c.Missing != nil && c.Missing[i] }

// addMissing appends a missing value.
func (c *Column) addMissing() {
	n := c.Len()
	switch c.Type {
	case Text:
		c.Texts = append(c.Texts, "")
	case Float:
		c.Floats = append(c.Floats, 0)
	case Any:
		c.Values = append(c.Values, nil)
	default:
		c.Ints = append(c.Ints, 0)
	}
	c.Missing = append(slices.Grow(c.Missing, n+1-len(c.Missing))[:n], true) // those between are false
}

// known says that the last value that was appended is not missing.
func (c *Column) known() {
	if c.Missing != nil {
		c.Missing = append(c.Missing, false)
	}
}

func (c *Column) addInt(v int64)       { c.Ints = append(c.Ints, v); c.known() }
func (c *Column) addFloat(v float64)   { c.Floats = append(c.Floats, v); c.known() }
func (c *Column) addText(v string)     { c.Texts = append(c.Texts, v); c.known() }
func (c *Column) addAny(v value.Value) { c.Values = append(c.Values, v); c.known() }

// addFrom appends the i-th value of a column of the same type.
func (c *Column) addFrom(d *Column, i int) {
	if d.missing(i) {
		c.addMissing()
		return
	}
	switch c.Type {
	case Text:
		c.addText(d.Texts[i])
	case Float:
		c.addFloat(d.Floats[i])
	case Any:
		c.addAny(d.Values[i])
	default:
		c.addInt(d.Ints[i])
	}
}

// value returns the i-th value as scripts see it: dates and times are texts.
func (c *Column) value(i int) value.Value {
	if c.missing(i) {
		return nil
	}
	switch c.Type {
	case Text:
		return c.Texts[i]
	case Integer:
		return c.Ints[i]
	case Float:
		return c.Floats[i]
	case Bool:
		return c.Ints[i] != 0
	case Any:
		return c.Values[i]
	}
	return c.text(i)
}

// text returns the i-th value as it is written into a CSV file; "" where it is
// missing. Each value has one text, and reads back as itself.
func (c *Column) text(i int) string {
	if c.missing(i) {
		return ""
	}
	switch c.Type {
	case Text:
		return c.Texts[i]
	case Integer:
		return strconv.FormatInt(c.Ints[i], 10)
	case Float:
		return formatFloat(c.Floats[i])
	case Bool:
		return strconv.FormatBool(c.Ints[i] != 0)
	case Any:
		return valueText(c.Values[i])
	}
	return formatTime(c.Type, c.Ints[i])
}

// valueText writes a value of an any column: a text is itself, and a number which
// JSON has not is written as in a column of floats.
func valueText(v value.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return formatFloat(v)
	}
	return value.FormatJSON(v, "")
}

// formatFloat writes a number so that it reads back as a float, as itself: 2.0,
// 0.1, 1e+30, NaN, +Inf.
func formatFloat(f float64) string {
	const full = 1e15 // up to here a number is written without an exponent
	form := byte('g')
	if size := math.Abs(f); size >= 1 && size < full {
		form = 'f'
	}
	s := strconv.FormatFloat(f, form, -1, 64)
	for _, r := range s {
		if r == '.' || r == 'e' || r == 'N' || r == 'I' {
			return s
		}
	}
	return s + ".0"
}

const (
	secondsPerDay = 24 * 60 * 60
	microsecond   = 1_000_000 // in a second
)

// formatTime writes a point in time by ISO 8601: 2006-01-02, 2006-01-02T15:04:05,
// 2006-01-02T15:04:05.25Z.
func formatTime(t Type, n int64) string {
	switch t {
	case Date:
		return time.Unix(n*secondsPerDay, 0).UTC().Format(time.DateOnly)
	case DateTime:
		return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999")
	}
	return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// slice returns the values from i to j, which share the memory of c.
func (c *Column) slice(i, j int) *Column {
	d := &Column{Type: c.Type}
	switch c.Type {
	case Text:
		d.Texts = c.Texts[i:j:j]
	case Float:
		d.Floats = c.Floats[i:j:j]
	case Any:
		d.Values = c.Values[i:j:j]
	default:
		d.Ints = c.Ints[i:j:j]
	}
	if c.Missing != nil {
		d.Missing = c.Missing[i:j:j]
	}
	return d
}

// pick returns the values at these places, in their order; -1 is a missing one.
// Few of many have texts of their own: see [Batch.owned].
func (c *Column) pick(places []int) *Column {
	d := &Column{Type: c.Type}
	switch c.Type {
	case Text:
		d.Texts = picked(c.Texts, places)
	case Float:
		d.Floats = picked(c.Floats, places)
	case Any:
		d.Values = picked(c.Values, places)
	default:
		d.Ints = picked(c.Ints, places)
	}
	for k, i := range places {
		if i >= 0 && !c.missing(i) {
			continue
		}
		if d.Missing == nil {
			d.Missing = make([]bool, len(places))
		}
		d.Missing[k] = true
	}
	const few = 2 // one of so many, or fewer
	if len(places) < c.Len()/few {
		return d.owned()
	}
	return d
}

func picked[T any](values []T, places []int) []T {
	made := make([]T, len(places))
	for k, i := range places {
		if i >= 0 {
			made[k] = values[i]
		}
	}
	return made
}

// owned returns the column with texts in memory of its own: see [Batch.owned].
func (c *Column) owned() *Column {
	d := *c
	switch c.Type {
	case Text:
		var all strings.Builder
		all.Grow(c.textBytes())
		for _, s := range c.Texts {
			all.WriteString(s)
		}
		rest := all.String()
		d.Texts = make([]string, len(c.Texts))
		for i, s := range c.Texts {
			d.Texts[i], rest = rest[:len(s)], rest[len(s):]
		}
	case Any:
		d.Values = slices.Clone(c.Values)
		for i, v := range c.Values {
			if s, ok := v.(string); ok {
				d.Values[i] = strings.Clone(s)
			}
		}
	}
	return &d
}

func (c *Column) textBytes() int {
	n := 0
	for _, s := range c.Texts {
		n += len(s)
	}
	return n
}

// extend appends all values of a column of the same type.
func (c *Column) extend(d *Column) {
	n := c.Len()
	c.Ints = append(c.Ints, d.Ints...)
	c.Floats = append(c.Floats, d.Floats...)
	c.Texts = append(c.Texts, d.Texts...)
	c.Values = append(c.Values, d.Values...)
	if c.Missing == nil && d.Missing == nil {
		return
	}
	missing := append(slices.Grow(c.Missing, c.Len()-len(c.Missing))[:n], d.Missing...)
	c.Missing = append(missing, make([]bool, c.Len()-len(missing))...)
}

// size returns about how many bytes the column takes.
func (c *Column) size() int64 {
	n := int64(8*len(c.Ints) + 8*len(c.Floats) + 16*len(c.Texts) + c.textBytes() + len(c.Missing))
	for _, v := range c.Values {
		n += valueSize(v)
	}
	return n
}

func valueSize(v value.Value) int64 {
	const one = 16 // an interface
	switch v := v.(type) {
	case string:
		return 2*one + int64(len(v))
	case []byte:
		return 2*one + int64(len(v))
	case *value.Dict:
		n := int64(4 * one)
		for k, x := range v.All() {
			n += valueSize(k) + valueSize(x)
		}
		return n
	}
	items, _ := value.Elements(v)
	n := int64(2 * one)
	for _, x := range items {
		n += valueSize(x)
	}
	return n
}
