package testutil

import (
	"fmt"
	"strings"
	"testing"
)

// failures records the errors of a test instead of failing.
type failures struct {
	testing.TB
	text []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.text = append(f.text, fmt.Sprintf(format, args...))
}

func TestLinear(t *testing.T) {
	var kept []string
	for _, c := range []struct {
		name   string
		work   func(n int)
		linear bool
	}{
		{"nothing", func(int) {}, true},
		{"a copy", func(n int) { kept = append(kept[:0], strings.Repeat("a", n)) }, true},
		{"a list that grows", func(n int) {
			kept = nil
			for range n {
				kept = append(kept, "a")
			}
		}, true},
		{"a copy at each place", func(n int) {
			for at := 0; at < n; at += 100 {
				kept = append(kept[:0], strings.Repeat("a", n))
			}
		}, false},
	} {
		f := &failures{TB: t}
		if Linear(f, c.name, 5_000, 100_000, c.work); len(f.text) == 0 != c.linear {
			t.Errorf("%s: %q, want linear: %v", c.name, f.text, c.linear)
		}
	}
}
