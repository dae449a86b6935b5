package testutil

import (
	"math"
	"runtime"
	"testing"
	"time"
)

const (
	// linearGrowth is how much larger the second input of [Linear] is. Work that is quadratic is then
	// 64 times as much.
	linearGrowth = 8
	// linearLimit is how much more work it may need. It is more than linearGrowth since buffers grow
	// in steps, and since processors read much memory more slowly than little.
	linearLimit = 3 * linearGrowth
	// linearSlack is the work that is not compared, in bytes.
	linearSlack = 64 << 10
)

// Linear checks that f needs only as much more work as its input of n bytes is longer. It compares
// the bytes that f allocates for n and for 8n. In a run of make soak it also compares how long f
// takes, with an input of the size soak.
//
// Other goroutines must not allocate at the same time, so the test must not be parallel.
func Linear(t testing.TB, name string, n, soak int, f func(n int)) {
	t.Helper()
	// The smallest numbers of a few tries count: what is computed only once is not in them, and other
	// programs may have used the processors for a while.
	small, large := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for try := 0; large/linearLimit > small || try == 0; try++ {
		if try == 3 {
			t.Errorf("%s: not linear: %d bytes for a size of %d, %d for %d", name, small, n, large, linearGrowth*n)
			return
		}
		small, large = min(small, linearSlack+allocated(f, n)), min(large, allocated(f, linearGrowth*n))
	}
	if !Soak() {
		return
	}
	short, long := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for try := 0; long/linearLimit > short+time.Millisecond || try == 0; try++ {
		if try == 5 {
			t.Errorf("%s: not linear: %v for a size of %d, %v for %d", name, short, soak/linearGrowth, long, soak)
			return
		}
		short, long = min(short, timed(f, soak/linearGrowth)), min(long, timed(f, soak))
	}
}

func allocated(f func(n int), n int) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f(n)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func timed(f func(n int), n int) time.Duration {
	start := time.Now()
	f(n)
	return time.Since(start)
}
