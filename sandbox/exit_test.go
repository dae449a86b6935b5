package sandbox

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestExitError checks how the last words of a worker are read.
func TestExitError(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]value.Kind{
		"fatal error: runtime: out of memory":                            value.Limit,
		"runtime: cannot allocate memory":                                value.Limit,
		"panic: runtime error: makeslice: len out of range":              value.Limit,
		"panic: libc_musl.go:249:mustMalloc\n\ngoroutine 1 [running]:\n": value.Limit,
		"runtime: goroutine stack exceeds 1000000000-byte limit":         value.Limit,
		"panic: index out of range":                                      value.Internal,
		"":                                                               value.Unavailable,
		"exit status 2":                                                  value.Unavailable,
	} {
		if err := (&child{memory: 1 << 20}).exitError(nil, stderr); value.KindOf(err) != want {
			t.Errorf("%q gave %v, want kind %v", stderr, err, want)
		}
	}
}
