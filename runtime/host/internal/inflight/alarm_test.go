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

// TestAlarm checks that each of several walls ends at its own time, that one which was
// stopped or waits does not, and that an alarm without walls is silent.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarm
		walls, contexts := make([]Wall, 5), make([]context.Context, 5)
		for i, limit := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, time.Second, math.MaxInt64} {
			contexts[i] = walls[i].Open(t.Context())
			walls[i].start(&a, limit)
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
		if a.stop(); len(a.walls) != 0 {
			t.Errorf("the alarm still has %d walls", len(a.walls))
		}
	})
}
