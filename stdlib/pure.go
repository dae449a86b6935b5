package stdlib

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
	// pureMaxText is how long a text that a function makes may be: as long as
	// the longest file that a script can read or write.
	pureMaxText = 8 << 20
	// pureMaxValues is how many values a list that a function makes may hold in
	// all. A cell of a table takes 60 to 170 bytes, so this is a quarter to two
	// thirds of the memory that a call has.
	pureMaxValues = 500_000
)

// A pureRun is the Do of a row.
type pureRun = func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error)

// pureDo makes a row's Do of a function of its arguments alone.
func pureDo(f func(a *value.Dict) (value.Value, error)) pureRun {
	return func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
		v, err := f(e.Args)
		return pureOutcome(v, err)
	}
}

// pureOutcome wraps what a function gives, and holds it to the longest text:
// functions whose result is a few times their input need not look themselves.
func pureOutcome(v value.Value, err error) (tool.Outcome, error) {
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
	if n > pureMaxText {
		return tool.Outcome{}, pureTooLong()
	}
	return tool.Outcome{Value: v}, nil
}

// pureItems narrows a parameter that is an array to items of one kind.
func pureItems(p tool.Param, kind string) tool.Param {
	p.Type.Items = &tool.Type{Name: kind}
	return p
}

// pureBetween narrows a parameter that is a number to a range.
func pureBetween(p tool.Param, low, high int64) tool.Param {
	p.Type.Min, p.Type.Max = low, high
	return p
}

func pureInvalid(format string, args ...any) *value.Error {
	return value.Errorf(value.Invalid, format, args...)
}

func pureLimit(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitMemory
	return e
}

func pureTooLong() *value.Error {
	return pureLimit("the result is longer than %d MB", pureMaxText>>20)
}

func pureTooMany() *value.Error {
	return pureLimit("the result holds more than %d values", pureMaxValues)
}

// pureSize returns an argument that says how large a result is to be.
func pureSize(a *value.Dict, name string, most int) (int, error) {
	switch n := pureArg(a, name).(type) {
	case int64:
		if n < 0 {
			return 0, pureInvalid("argument '%s' must not be negative (got %d)", name, n)
		}
		if n <= int64(most) {
			return int(n), nil
		}
	}
	return 0, pureLimit("argument '%s' is larger than %d", name, most)
}

// pureShort cuts what is shown of a text in an error.
func pureShort(text string) string {
	if short := textHead(text, 60); short != text {
		return short + "…"
	}
	return text
}

// pureArg returns an argument, or nil where there is none.
func pureArg(a *value.Dict, name string) value.Value {
	v, _ := a.Get(name)
	return v
}

// pureBytes returns an argument that may be text or bytes.
func pureBytes(a *value.Dict, name string) ([]byte, error) {
	switch v := pureArg(a, name).(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	default:
		return nil, pureInvalid("argument '%s' should be string or bytes but got %s", name, value.TypeOf(v))
	}
}

// pureElements returns an argument that is an array.
func pureElements(a *value.Dict, name string) []value.Value {
	items, _ := value.Elements(pureArg(a, name))
	return items
}

// pureStrings returns an argument that is an array of strings.
func pureStrings(a *value.Dict, name string) []string {
	items := pureElements(a, name)
	texts := make([]string, len(items))
	for i, v := range items {
		texts[i], _ = v.(string)
	}
	return texts
}

// pureList makes a list of texts.
func pureList(texts []string) value.List {
	list := make(value.List, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// pureNumber gives a number in its plainest form: an integer where it is one.
func pureNumber(f float64) value.Value {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// pureScalar writes a plain value as a text without quotes, for a cell or a
// query; it reports false for what is none. A whole number has no ".0", so that
// it reads the same from a language that has only floats.
func pureScalar(v value.Value) (string, bool) {
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
		if i, ok := pureNumber(v).(int64); ok {
			return strconv.FormatInt(i, 10), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// A pureBuilder builds a text that may not be longer than pureMaxText. What
// would be too much is dropped and remembered; a loop looks at full to stop.
type pureBuilder struct {
	strings.Builder
	full bool
}

func (b *pureBuilder) add(texts ...string) {
	for _, s := range texts {
		if b.full = b.full || b.Len()+len(s) > pureMaxText; b.full {
			return
		}
		b.WriteString(s)
	}
}

func (b *pureBuilder) repeat(s string, n int) {
	if n <= 0 || s == "" {
		return
	}
	if n > pureMaxText/len(s) {
		b.full = true
		return
	}
	b.add(strings.Repeat(s, n))
}

// text returns what was built, or the error that it was too much.
func (b *pureBuilder) text() (value.Value, error) {
	if b.full {
		return nil, pureTooLong()
	}
	return b.String(), nil
}

// clockSeconds gives a number as a float; an integer beyond int64 is beyond
// every limit, and anything else no number.
func clockSeconds(v value.Value) float64 {
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

// httpMaxURL is how long an address may be; servers take 8 KB.
const httpMaxURL = 8 << 10

// mathFloat returns an argument as a finite float.
func mathFloat(a *value.Dict, name string) (float64, error) {
	return mathFinite(pureArg(a, name), "argument '"+name+"'")
}

func mathFinite(v value.Value, label string) (float64, error) {
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
		return 0, pureInvalid("%s is not a number (NaN)", label)
	case math.IsInf(f, 0):
		return 0, pureInvalid("%s is infinite or too large for a float", label)
	}
	return f, nil
}

// textHead returns the first n characters.
func textHead(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
