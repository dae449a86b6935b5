// Package row holds what the rows of the standard library share: their arguments,
// their bounds and their errors.
package row

import (
	"context"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// MaxText is how long a text that a function makes may be: as long as
	// the longest file that a script can read or write.
	MaxText = 8 << 20
	// MaxValues is how many values a list that a function makes may hold in
	// all. A cell of a table takes 60 to 170 bytes, so this is a quarter to two
	// thirds of the memory that a call has.
	MaxValues = 500_000
)

// A Run is the Do of a row.
type Run = func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error)

// Do makes a row's Do of a function of its arguments alone.
func Do(f func(a *value.Dict) (value.Value, error)) Run {
	return func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
		v, err := f(e.Args)
		return Outcome(v, err)
	}
}

// Outcome wraps what a function gives, and holds it to the longest text:
// functions whose result is a few times their input need not look themselves.
func Outcome(v value.Value, err error) (tool.Outcome, error) {
	if err != nil {
		return tool.Outcome{}, value.AsError(err, value.Failed)
	}
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case []byte:
		n = len(v)
	}
	if n > MaxText {
		return tool.Outcome{}, TooLong()
	}
	return tool.Outcome{Value: v}, nil
}

// Items narrows a parameter that is an array to items of one kind.
func Items(p tool.Param, kind string) tool.Param {
	p.Type.Items = &tool.Type{Name: kind}
	return p
}

// Between narrows a parameter that is a number to a range.
func Between(p tool.Param, low, high int64) tool.Param {
	p.Type.Min, p.Type.Max = low, high
	return p
}

// Invalid returns an error of kind Invalid.
func Invalid(format string, args ...any) *value.Error {
	return value.Errorf(value.Invalid, format, args...)
}

// Limit returns the error that a result would take too much memory.
func Limit(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitMemory
	return e
}

// TooLong returns the error of a text longer than [MaxText].
func TooLong() *value.Error {
	return Limit("the result is longer than %d MB", MaxText>>20)
}

// TooMany returns the error of a list of more than [MaxValues].
func TooMany() *value.Error {
	return Limit("the result holds more than %d values", MaxValues)
}

// Size returns an argument that says how large a result is to be.
func Size(a *value.Dict, name string, most int) (int, error) {
	switch n := Arg(a, name).(type) {
	case int64:
		if n < 0 {
			return 0, Invalid("argument '%s' must not be negative (got %d)", name, n)
		}
		if n <= int64(most) {
			return int(n), nil
		}
	}
	return 0, Limit("argument '%s' is larger than %d", name, most)
}

// Short cuts what is shown of a text in an error.
func Short(text string) string {
	if short := Head(text, 60); short != text {
		return short + "…"
	}
	return text
}

// Arg returns an argument, or nil where there is none.
func Arg(a *value.Dict, name string) value.Value {
	v, _ := a.Get(name)
	return v
}

// Bytes returns an argument that may be text or bytes.
func Bytes(a *value.Dict, name string) ([]byte, error) {
	switch v := Arg(a, name).(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	default:
		return nil, Invalid("argument '%s' should be string or bytes but got %s", name, value.TypeOf(v))
	}
}

// Elements returns an argument that is an array.
func Elements(a *value.Dict, name string) []value.Value {
	items, _ := value.Elements(Arg(a, name))
	return items
}

// Strings returns an argument that is an array of strings.
func Strings(a *value.Dict, name string) []string {
	items := Elements(a, name)
	texts := make([]string, len(items))
	for i, v := range items {
		texts[i], _ = v.(string)
	}
	return texts
}

// List makes a list of texts.
func List(texts []string) value.List {
	list := make(value.List, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// Number gives a number in its plainest form: an integer where it is one.
func Number(f float64) value.Value {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// Scalar writes a plain value as a text without quotes, for a cell or a
// query; it reports false for what is none. A whole number has no ".0", so that
// it reads the same from a language that has only floats.
func Scalar(v value.Value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		if i, ok := Number(v).(int64); ok {
			return strconv.FormatInt(i, 10), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// A Builder builds a text that may not be longer than [MaxText]. What
// would be too much is dropped and remembered; a loop checks Full to stop.
type Builder struct {
	strings.Builder
	Full bool // the text would have been too long
}

// Add appends texts, unless the text would become too long.
func (b *Builder) Add(texts ...string) {
	for _, s := range texts {
		if b.Full = b.Full || b.Len()+len(s) > MaxText; b.Full {
			return
		}
		b.WriteString(s)
	}
}

// Repeat appends s n times, unless the text would become too long.
func (b *Builder) Repeat(s string, n int) {
	if n <= 0 || s == "" {
		return
	}
	if n > MaxText/len(s) {
		b.Full = true
		return
	}
	b.Add(strings.Repeat(s, n))
}

// Text returns what was built, or the error that it was too much.
func (b *Builder) Text() (value.Value, error) {
	if b.Full {
		return nil, TooLong()
	}
	return b.String(), nil
}

// Seconds gives a number as a float; an integer beyond int64 is beyond
// every limit, and anything else no number.
func Seconds(v value.Value) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case *big.Int:
		return math.Inf(n.Sign())
	}
	return math.NaN()
}

// MaxURL is how long an address may be; servers take 8 KB.
const MaxURL = 8 << 10

// Float returns an argument as a finite float.
func Float(a *value.Dict, name string) (float64, error) {
	return Finite(Arg(a, name), "argument '"+name+"'")
}

// Finite returns a number as a finite float; label names it in errors.
func Finite(v value.Value, label string) (float64, error) {
	f := math.NaN()
	switch n := v.(type) {
	case int64:
		return float64(n), nil
	case *big.Int:
		f, _ = new(big.Float).SetInt(n).Float64()
	case float64:
		f = n
	}
	switch {
	case math.IsNaN(f):
		return 0, Invalid("%s is not a number (NaN)", label)
	case math.IsInf(f, 0):
		return 0, Invalid("%s is infinite or too large for a float", label)
	}
	return f, nil
}

// Head returns the first n characters.
func Head(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
