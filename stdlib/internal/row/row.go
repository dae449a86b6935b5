// Package row holds what the rows of the standard library share: arguments, bounds and errors. A
// row is one function of a module.
package row

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// MaxText is the maximum length of a text that a function returns, in bytes. It is
	// also that of a file that a script can read or write.
	MaxText = 8 << 20
	// MaxValues is the maximum number of values in a list that a function returns. A cell
	// of a table takes 60 to 170 bytes, so this is a quarter to two thirds of the memory
	// of a call.
	MaxValues = 500_000
)

// A Run is the Do of a row.
type Run = func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error)

// Do returns the Do of a row from a function of its arguments.
func Do(f func(a *value.Dict) (value.Value, error)) Run {
	return func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
		v, err := f(e.Args)
		return Outcome(v, err)
	}
}

// Pure returns a module with the kind Pure for each function.
func Pure(m tool.Module) tool.Module {
	for i := range m.Funcs {
		m.Funcs[i].Kind = tool.Pure
	}
	return m
}

// Outcome returns the outcome of a function, and fails for a text longer than [MaxText]. A function
// whose result is only a few times its input need not check the length itself.
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

// Limit returns the error of a result that would take too much memory.
func Limit(format string, args ...any) *value.Error {
	return value.Errorf(value.Limit, format, args...).WithLimit(value.LimitMemory)
}

// TooLong returns the error of a text longer than [MaxText].
func TooLong() *value.Error {
	return Limit("the result is longer than %d MB", MaxText>>20)
}

// TooMany returns the error of a list of more than [MaxValues].
func TooMany() *value.Error {
	return Limit("the result has more than %d values", MaxValues)
}

// SizeText formats a number of bytes, such as a limit.
func SizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Size returns an argument that is a size: from 0 to most.
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
	return 0, Limit("argument '%s' is too large: the limit is %d", name, most)
}

// Short returns the beginning of a text, for an error.
func Short(text string) string {
	if short := Head(text, 60); short != text {
		return short + "…"
	}
	return text
}

// Arg returns an argument, or nil if it is missing.
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

// Strings returns an argument that is an array of strings.
func Strings(a *value.Dict, name string) []string {
	items := a.Elements(name)
	texts := make([]string, len(items))
	for i, v := range items {
		texts[i], _ = v.(string)
	}
	return texts
}

// List returns texts as a list.
func List(texts []string) value.List {
	list := make(value.List, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// Number returns a float as an integer if it is one.
func Number(f float64) value.Value {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// Scalar returns a plain value as text without quotes, for a cell or a query, and false for any
// other value. A whole number has no ".0", so that it is the same from a language that has
// only floats.
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

// A Builder builds a text of at most [MaxText] bytes. It drops the rest and sets Full, which a loop
// checks to stop.
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

// Text returns the text, or the error that it is too long.
func (b *Builder) Text() (value.Value, error) {
	if b.Full {
		return nil, TooLong()
	}
	return b.String(), nil
}

// Seconds returns a number as a float: infinity for an integer beyond int64, and NaN for anything
// that is not a number.
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

// Indent lays out JSON that has no space between its parts on several lines, unless it
// would become too long.
func Indent(compact []byte, indent string) (text string, fits bool) {
	if indentedSize(compact, len(indent)) > MaxText {
		return "", false
	}
	var b bytes.Buffer
	_ = json.Indent(&b, compact, "", indent) // which is valid
	return b.String(), true
}

// indentedSize returns the length of JSON after indentation. Values may be nested
// deeply, and each line begins with the indent.
func indentedSize(text []byte, indent int) int {
	size, depth, quoted := len(text), 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += 1 + depth*indent
		case c == '}' || c == ']':
			depth--
			size += 1 + depth*indent
		case c == ',':
			size += 1 + depth*indent
		case c == ':':
			size++
		}
	}
	return size
}

// Fields returns the type of a dict that always has the same keys.
func Fields(names ...string) *tool.Type {
	return &tool.Type{Name: tool.TypeObject, Fields: value.Map(names, func(name string) tool.Param { return tool.Param{Name: name} })}
}
