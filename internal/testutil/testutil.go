// Package testutil lets tests decide how much they do, and builds the programs that they start.
//
// What proves a rule runs in each test run, on the smallest input that proves it. What hunts for
// faults (kills in a loop, bombs of full size, storms, random inputs) does a fixed sample then, and
// all of it under make soak, which sets the environment variable CASSIDY_SOAK to 1.
package testutil

import (
	"os"
	"runtime/debug"
	"testing"
)

// Main is the body of a TestMain: it collects garbage as rarely as the command does, since tests with a small
// heap otherwise spend a quarter of their time on that, and has temporary folders in memory.
func Main(m *testing.M) {
	CollectRarely()
	TempInMemory()
	os.Exit(m.Run())
}

// CollectRarely has the garbage of this process collected as rarely as that of the command, unless the
// environment variable GOGC says otherwise.
func CollectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Soak reports whether this is a run of make soak.
func Soak() bool { return os.Getenv("CASSIDY_SOAK") == "1" }

// Times returns how often a test repeats something, or how large an input is: few by default, and
// all in a run of make soak.
func Times(few, all int) int {
	if Soak() {
		return all
	}
	return few
}

// Sample returns n cases that are spread evenly over all, beginning with the first. It returns all
// of them in a run of make soak.
func Sample[T any](all []T, n int) []T {
	if Soak() || n >= len(all) {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// SkipShort skips a test that computes in one goroutine for long: go test -short is how CI looks for races.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it has one goroutine")
	}
}
