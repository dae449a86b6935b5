package inflight

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestWall checks that each of several walls ends at its own time, and that one which was
// stopped or waits does not.
func TestWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		walls, contexts := make([]Wall, 5), make([]context.Context, 5)
		for i, limit := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, time.Second, math.MaxInt64} {
			contexts[i] = walls[i].Open(t.Context())
			walls[i].Start(limit)
		}
		walls[2].Stop()
		walls[3].Pause()
		over := func(want ...int) {
			t.Helper()
			synctest.Wait()
			for i, ctx := range contexts {
				if i == 2 {
					continue // it was stopped
				}
				e, _ := context.Cause(ctx).(*value.Error)
				expected := slices.Contains(want, i)
				if expected != (e != nil && e.Limit == value.LimitWall) {
					t.Errorf("after %v the wall %d ended with %v", want, i, context.Cause(ctx))
				}
			}
		}
		over()
		time.Sleep(time.Second)
		over(1)
		time.Sleep(5 * time.Second)
		over(0, 1)
		walls[3].Resume()
		time.Sleep(time.Second)
		over(0, 1, 3)
		walls[4].Stop()
		if walls[2].timer.Stop() || walls[4].timer.Stop() {
			t.Error("the timer of a stopped wall still runs")
		}
	})
}
