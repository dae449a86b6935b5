package host_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestClockOfAnyTime checks that a clock which shows what no record can hold damages
// none.
func TestClockOfAnyTime(t *testing.T) {
	ctx := context.Background()
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		clock := func() time.Time { return at }
		j := history.Open(journal.Memory(), &history.Options{Clock: clock})
		r := newRig(t, func(o *host.Options) {
			o.Clock, o.Journal = clock, func() (*history.Journal, error) { return j, nil }
		})
		r.script("", "time.sleep(3600)", "")
		for range 2 {
			if _, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r")); value.KindOf(err) != value.Parked {
				t.Errorf("at %v the call gave %v, want it parked", at, err)
			}
		}
		if run, err := j.Run(ctx, "r"); err != nil || run.Damage != nil {
			t.Errorf("at %v the run is %+v, %v", at, run, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClock checks that a run sleeps by the clock of its host, and that its records
// and events have the times of that clock.
func TestClock(t *testing.T) {
	begin := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	var passed atomic.Int64
	clock := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	store := journal.Memory()
	j := history.Open(store, &history.Options{Clock: clock})
	defer j.Close()
	world, err := stdlib.Open(&stdlib.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	box := sandbox.NewInline(slices.Concat(stdlib.Pure(), world.Modules(), host.Modules())...)
	r := newRig(t, func(o *host.Options) {
		o.Sandbox, o.Modules, o.Clock = box, world.Modules(), clock
		o.Journal = func() (*history.Journal, error) { return j, nil }
	})
	r.script("", "time.sleep(3600)\nreturn time.now()", "")
	wrong := 0
	stop := hear(t, r.Host, func(e tool.Event) {
		if at := e.Time; !at.Equal(begin) && !at.Equal(begin.Add(time.Hour)) {
			wrong++
		}
	})
	ctx := context.Background()
	_, err = r.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r"))
	var parked *host.ParkedError
	if !errors.As(err, &parked) || !parked.Until.Equal(begin.Add(time.Hour)) {
		t.Fatalf("the call gave %v, %+v, want it parked until %v", err, parked, begin.Add(time.Hour))
	}
	run, err := j.Run(ctx, "r")
	if err != nil || !run.Started.Equal(begin) || !run.Wake.Equal(begin.Add(time.Hour)) {
		t.Errorf("the run is %+v, %v, want it started at %v", run, err, begin)
	}
	passed.Store(int64(time.Hour))
	got, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r"))
	if err != nil || got.Value != "2001-02-03T05:05:06.000000000Z" {
		t.Errorf("an hour later the call gave %v, %v", got.Value, err)
	}
	if run, err = j.Run(ctx, "r"); err != nil || !run.Ended.Equal(begin.Add(time.Hour)) {
		t.Errorf("the run is %+v, %v, want it ended an hour later", run, err)
	}
	if stop(); wrong > 0 {
		t.Errorf("%d events have another time", wrong)
	}
}
