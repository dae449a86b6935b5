// Package rowtest calls the rows of the standard library in tests, as engines and
// hosts do.
package rowtest

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// named is an argument of a test call that is given by name.
type named struct {
	name  string
	value value.Value
}

// Named returns an argument that [Call] gives by name.
func Named(name string, v value.Value) any { return named{name, v} }

// Call calls a pure function as an engine would: it binds the arguments,
// those of [Named] by name, and carries out the row.
func Call(t testing.TB, modules []tool.Module, function string, args ...any) (value.Value, error) {
	t.Helper()
	f := Find(t, modules, function)
	var positional []value.Value
	byName := &value.Dict{}
	for _, a := range args {
		if n, ok := a.(named); ok {
			byName.Put(n.name, n.value)
			continue
		}
		positional = append(positional, a)
	}
	bound, err := f.Bind(positional, byName)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	grant := tool.Grant{Rand: func() (*rand.Rand, error) { return r, nil }}
	out, err := f.Do(context.Background(), tool.Effect{Func: function, Args: bound}, grant)
	if o, ok := out.Value.(tool.Object); ok && err == nil {
		out.Value, err = o.Plain(context.Background(), grant)
	}
	if err == nil {
		checkValue(t, function, out.Value)
	}
	return out.Value, err
}

// Must is Call for what must not fail.
func Must(t testing.TB, modules []tool.Module, function string, args ...any) value.Value {
	t.Helper()
	v, err := Call(t, modules, function, args...)
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	return v
}

// Find returns a row of the modules by its name.
func Find(t Tester, modules []tool.Module, function string) *tool.Func {
	t.Helper()
	module, name, ok := strings.Cut(function, ".")
	if !ok {
		module, name = "", function
	}
	for _, m := range modules {
		for i := range m.Funcs {
			if m.Name == module && m.Funcs[i].Name == name {
				return &m.Funcs[i]
			}
		}
	}
	t.Fatalf("there is no function %s", function)
	return nil
}

// checkValue fails for a result that could not cross a border: one of a
// foreign type, or text that is not UTF-8.
func checkValue(t testing.TB, function string, v value.Value) {
	t.Helper()
	if _, err := value.Append(nil, v); err != nil && value.KindOf(err) != value.Limit {
		t.Errorf("%s returns an invalid value: %v", function, err)
	}
}

// A Case is one call with what must come of it: a value, or an error whose
// text contains Err.
type Case struct {
	Fn   string // module.function
	Args []any
	Want value.Value
	Err  string
}

// Table runs calls as Starlark makes them and, unless exact is set, again
// as Lua does, where every number is a float; both must come to the same.
func Table(t *testing.T, modules []tool.Module, exact bool, cases []Case) {
	t.Helper()
	for _, c := range cases {
		got, err := Call(t, modules, c.Fn, c.Args...)
		compare(t, c, got, err)
		if exact {
			continue
		}
		asLua := make([]any, len(c.Args))
		for i, a := range c.Args {
			asLua[i] = floats(a)
		}
		c.Args = asLua
		got, err = Call(t, modules, c.Fn, c.Args...)
		c.Want = floats(c.Want)
		compare(t, c, floats(got), err)
	}
}

func compare(t *testing.T, c Case, got value.Value, err error) {
	t.Helper()
	switch {
	case c.Err != "":
		if err == nil || !strings.Contains(err.Error(), c.Err) {
			t.Errorf("%s%v = %s, %v, want an error with %q", c.Fn, c.Args, Show(got), err, c.Err)
		}
	case err != nil:
		t.Errorf("%s%v fails: %v, want %s", c.Fn, c.Args, err, Show(c.Want))
	case !value.Equal(got, c.Want):
		t.Errorf("%s%v = %s, want %s", c.Fn, c.Args, Show(got), Show(c.Want))
	}
}

// Show writes a value with its type, for messages.
func Show(v value.Value) string { return value.TypeOf(v) + " " + value.FormatJSON(v, "") }

// floats makes every integer in a value a float.
func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case named:
		return named{v.name, floats(v.value)}
	case value.List:
		out := make(value.List, len(v))
		for i := range v {
			out[i] = floats(v[i])
		}
		return out
	case *value.Dict:
		out := &value.Dict{}
		for k, item := range v.All() {
			_ = out.Set(k, floats(item))
		}
		return out
	}
	return v
}

// Big returns an integer of any length.
func Big(digits string) *big.Int {
	i, _ := new(big.Int).SetString(digits, 10)
	return i
}

// NaN returns what is not a number.
func NaN() float64 { return math.NaN() }

// Inf returns positive infinity.
func Inf() float64 { return math.Inf(1) }
