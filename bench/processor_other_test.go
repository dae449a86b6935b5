//go:build !linux

package bench

import "testing"

// oneProcessor does nothing where a process cannot choose its processors.
func oneProcessor(*testing.B) {}
