package scripttest

import (
	"fmt"
	"math/big"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// same reports whether two values are equal for a test: 3 equals 3.0, and a tuple a list of the
// same elements, as in the JSON that models get.
func same(a, b value.Value) bool { return value.Equal(a, b) || value.EqualJSON(a, b) }

// Diff returns the difference between an expected value and another one, as go-cmp shows it: lines
// that begin with - are expected.
func Diff(want, got value.Value) string {
	d := cmp.Diff(plain(want), plain(got))
	if d == "" { // they differ only in their types
		return fmt.Sprintf("  want %s %s\n  got  %s %s", value.TypeOf(want), brief(want), value.TypeOf(got), brief(got))
	}
	return d
}

// ExampleError returns the error of an example whose result is not the expected one, or nil.
func ExampleError(e *tool.Example, got value.Value) error {
	if !e.HasExpect || value.EqualJSON(got, e.Expect) {
		return nil
	}
	return value.Errorf(value.Failed, "the result differs from the example (-want +got):\n%s", Diff(e.Expect, got))
}

// plain returns a value in the types of Go that go-cmp shows.
func plain(v value.Value) any {
	switch v := v.(type) {
	case *value.Dict:
		m := map[string]any{}
		for k, item := range v.All() {
			name, ok := k.(string)
			if !ok {
				name = value.FormatJSON(k, "")
			}
			m[name] = plain(item)
		}
		return m
	case *big.Int:
		return v.String()
	case value.Media:
		return fmt.Sprint(v)
	}
	if items, ok := value.Elements(v); ok {
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = plain(item)
		}
		return list
	}
	return v
}
