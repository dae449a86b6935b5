package bench

import (
	"slices"
	"testing"
	"time"
)

// compare measures ours and theirs alternately, and reports the medians of both and their ratio, which
// should be at most goal. A batch is shorter than the time for which another process gets the processor,
// so the medians hardly depend on what else runs.
func compare(b *testing.B, goal float64, ours, theirs func()) {
	b.Helper()
	const batch = 16
	times := func(do func()) time.Duration {
		return timed(func() {
			for range batch {
				do()
			}
		})
	}
	ours() // one-time work is done now
	theirs()
	var our, their []time.Duration
	for b.Loop() {
		our, their = append(our, times(ours)), append(their, times(theirs))
	}
	t, u := median(our), median(their)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(t.Nanoseconds())/batch, "ours-ns")
	b.ReportMetric(float64(u.Nanoseconds())/batch, "theirs-ns")
	b.ReportMetric(float64(t)/float64(u), "ratio")
	b.ReportMetric(goal, "goal")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// median returns the median of the times.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
