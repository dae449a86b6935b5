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
		walls, contexts, g := make([]Wall, 5), make([]context.Context, 5), &Group{}
		for i, limit := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, time.Second, math.MaxInt64} {
			contexts[i] = walls[i].Open(t.Context())
			g.Start(&walls[i], limit)
		}
		second, last := walls[2].clock, walls[4].clock
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
		if second.timer.Stop() || last.timer.Stop() {
			t.Error("the timer of a stopped wall still runs")
		}
	})
}

// TestClockIsReused checks that a clock which rings for a call that has ended does not end the next call
// that uses it.
func TestClockIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{}
		var before, now Wall
		before.Open(t.Context())
		g.Start(&before, time.Second)
		late := before.clock
		before.Stop()
		ctx := now.Open(t.Context())
		g.Start(&now, time.Minute)
		now.clock.wall.Store(nil)
		late.wall.Store(&now)
		late.ring()
		if err := context.Cause(ctx); err != nil {
			t.Errorf("the next call ended with %v", err)
		}
		now.Stop()
		if now.Left() != time.Minute {
			t.Errorf("a stopped wall has %v left", now.Left())
		}
	})
}

// TestShortWallsRing checks that no ring is lost where the time of a call is over as soon as its clock starts.
func TestShortWallsRing(t *testing.T) {
	t.Parallel()
	g := &Group{}
	for range 20_000 {
		w := &Wall{}
		ctx := w.Open(t.Context())
		g.Start(w, 1)
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Minute):
			t.Fatal("a call whose time is over goes on")
		}
		w.Stop()
	}
}
