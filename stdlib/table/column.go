package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Column is a sequence of values of one type, held in the slice for that type. It is
// not modified once it is part of a batch.
type Column struct {
	Type    Type
	Ints    []int64       // Integer; Bool as 0 and 1; Date in days, DateTime and Instant in microseconds since 1970
	Floats  []float64     // Float
	Texts   []string      // Text
	Values  []value.Value // Any
	Missing []bool        // nil if no value is missing; the value of a missing entry is unspecified
}

// newColumn returns an empty column with capacity for n values.
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
	c.Missing = append(slices.Grow(c.Missing, n+1-len(c.Missing))[:n], true) // the entries in between are false
}

// known marks the value that was appended last as not missing.
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

// text returns the i-th value as written into a CSV file, or "" if it is missing. Each
// value has exactly one text, which parses to the same value.
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

// valueText formats a value of an any column: a text as it is, and a number that JSON
// cannot represent as in a column of floats.
func valueText(v value.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return formatFloat(v)
	}
	return value.FormatJSON(v, "")
}

// formatFloat formats a number so that it parses to the same float: 2.0, 0.1, 1e+30,
// NaN, +Inf.
func formatFloat(f float64) string {
	const full = 1e15 // smaller numbers are written without an exponent
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
	microsecond   = 1_000_000 // microseconds per second
)

// formatTime formats a point in time in ISO 8601: 2006-01-02, 2006-01-02T15:04:05,
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

// slice returns the values from i to j. They share the memory of c.
func (c *Column) slice(i, j int) *Column {
	return &Column{c.Type, part(c.Ints, i, j), part(c.Floats, i, j), part(c.Texts, i, j), part(c.Values, i, j), part(c.Missing, i, j)}
}

func part[T any](s []T, i, j int) []T {
	if len(s) == 0 {
		return s
	}
	return s[i:j:j]
}

// pick returns the values at these indexes, in the order of the indexes; the index -1
// yields a missing value. If they are few of many, their texts are copied: see
// [Batch.owned].
func (c *Column) pick(indexes []int) *Column {
	d := &Column{Type: c.Type}
	switch c.Type {
	case Text:
		d.Texts = picked(c.Texts, indexes)
	case Float:
		d.Floats = picked(c.Floats, indexes)
	case Any:
		d.Values = picked(c.Values, indexes)
	default:
		d.Ints = picked(c.Ints, indexes)
	}
	for k, i := range indexes {
		if i >= 0 && !c.missing(i) {
			continue
		}
		if d.Missing == nil {
			d.Missing = make([]bool, len(indexes))
		}
		d.Missing[k] = true
	}
	const few = 2 // fewer than one in this many
	if len(indexes) < c.Len()/few {
		return d.owned()
	}
	return d
}

func picked[T any](values []T, indexes []int) []T {
	made := make([]T, len(indexes))
	for k, i := range indexes {
		if i >= 0 {
			made[k] = values[i]
		}
	}
	return made
}

// owned returns the column with a copy of its texts: see [Batch.owned].
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

// size returns the approximate number of bytes that the column takes.
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
	case value.Media:
		return 4*one + int64(len(v.Data))
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
