package testutil

import (
	"math"
	"runtime"
	"testing"
	"time"
)

const (
	// linearGrowth is how much larger the second input of [Linear] is. Quadratic work is then 16
	// times as much.
	linearGrowth = 4
	// linearLimit is how much more work it may need: buffers that double as they grow add up to
	// twice the work of some sizes.
	linearLimit = 10
	// linearSlack is the work that is not compared, in bytes.
	linearSlack = 64 << 10
)

// Linear checks that f needs only as much more work as its input of n bytes is longer. It compares
// the bytes that f allocates for n and for 4n. In a run of make soak it also compares how long f
// takes, for inputs of the size soak.
//
// Other goroutines must not run at the same time, so the test must not be parallel.
func Linear(t testing.TB, name string, n, soak int, f func(n int)) {
	t.Helper()
	f(linearGrowth * n) // what is computed only once does not count
	small, large := allocated(func() { f(n) }), allocated(func() { f(linearGrowth * n) })
	if large > linearLimit*small+linearSlack {
		t.Errorf("%s: not linear: %d bytes for a size of %d, %d for %d", name, small, n, large, linearGrowth*n)
	}
	if !Soak() {
		return
	}
	// The shortest times count: other programs may have used the processors for a while.
	short, long := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 5 {
		short, long = min(short, timed(f, soak/linearGrowth)), min(long, timed(f, soak))
		if long/linearLimit <= short+time.Millisecond {
			return
		}
	}
	t.Errorf("%s: not linear: %v for a size of %d, %v for %d", name, short, soak/linearGrowth, long, soak)
}

func timed(f func(n int), n int) time.Duration {
	start := time.Now()
	f(n)
	return time.Since(start)
}

// allocated returns the fewest bytes that three calls allocate.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
