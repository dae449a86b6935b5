package host

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strings"
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
		walls, contexts := make([]wall, 5), make([]context.Context, 5)
		for i, limit := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, time.Second, math.MaxInt64} {
			contexts[i] = walls[i].open(t.Context())
			walls[i].start(&a, limit)
		}
		walls[2].stop()
		walls[3].pause()
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
		walls[3].resume()
		time.Sleep(time.Second)
		over(0, 1, 3)
		walls[4].stop()
		if a.stop(); len(a.walls) != 0 {
			t.Errorf("the alarm still has %d walls", len(a.walls))
		}
	})
}

// TestJSONFits checks that what is said to fit is not longer, and can be written.
func TestJSONFits(t *testing.T) {
	list := value.Dict{}
	if err := list.Set(int64(1), "x"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []value.Value{
		nil, true, int64(math.MinInt64), "", "plain", "\x00\x01\x7f\"\\", strings.Repeat("\x01", 100), "\xff\xff",
		math.NaN(), 1.5, new(big.Int).Lsh(big.NewInt(1), 100_000), []byte("x"), value.List{"x"}, &list,
		&value.Dict{}, value.NewDict("a", nil, "b", false, "\n", int64(math.MinInt64), "c", value.NewDict("d", "e")), value.NewDict("a", math.Inf(1)),
	} {
		text, err := value.AppendJSON(nil, v)
		for limit := range 1000 {
			if jsonFits(v, limit) >= 0 && (err != nil || len(text) > limit) {
				t.Errorf("%#v fits %d bytes, but has %d: %v", v, limit, len(text), err)
				break
			}
		}
	}
	if jsonFits(value.NewDict("text", "Hello"), 100) < 0 {
		t.Error("a short text does not fit")
	}
}
