package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	t.Parallel()
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
	t.Parallel()
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

// TestTimeoutBoundsSleeping checks that the timeout of a tool holds for its sleeps in each
// mode: in a call that is not recorded, in a recorded one, and over the processes of a run
// that is parked while it sleeps. Waiting for a person does not count.
func TestTimeoutBoundsSleeping(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name, body, timeout string
		durable             bool
		naps                int // how often it is parked before it ends
		fails               bool
	}{
		{"not recorded", "time.sleep(50)", "0.05", false, 0, true},
		{"recorded", "time.sleep(50)", "0.05", true, 0, true},
		{"many short ones", "for _ in range(100):\n    time.sleep(0.01)", "0.05", true, 0, true},
		{"a long one", "time.sleep(3600)", "3000", true, 0, true},
		{"none declared", "time.sleep(3600)\ntime.sleep(100000)", "", true, 2, false},
		{"a long one within it", "time.sleep(3600)", "4000", true, 1, false},
		{"two within it", "time.sleep(3600)\ntime.sleep(3600)", "8000", true, 2, false},
		{"two that are too long together", "time.sleep(3600)\ntime.sleep(3600)", "7000", true, 1, true},
		{"with a question", "time.sleep(3600)\nhuman.confirm('go on?')\ntime.sleep(3600)", "8000", true, 3, false},
	} {
		var passed atomic.Int64
		begin := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		clock := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
		j := history.Open(journal.Memory(), &history.Options{Clock: clock})
		world, err := stdlib.Open(&stdlib.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(o *host.Options) {
			o.Sandbox = sandbox.NewInline(slices.Concat(stdlib.Pure(), world.Modules(), host.Modules())...)
			o.Modules, o.Clock = world.Modules(), clock
			o.Journal = func() (*history.Journal, error) { return j, nil }
		})
		r.script("", c.body+"\nreturn 'awake'", strings.TrimSuffix("needs = ['human'], timeout = "+c.timeout, ", timeout = "))
		var options []host.CallOption
		if c.durable {
			options = append(options, host.Durable("r"))
		}
		naps := 0
		got, err := r.Call(ctx, tool.Call{Tool: "t"}, options...)
		for ; value.KindOf(err) == value.Parked && err != nil && naps < 5; naps++ {
			var parked *host.ParkedError
			errors.As(err, &parked)
			for _, q := range parked.Questions {
				passed.Add(int64(100 * time.Hour)) // it takes a person days
				if err := r.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
					t.Error(err)
				}
			}
			passed.Add(int64(30 * time.Hour))
			got, err = r.Resume(ctx, "r")
		}
		e := value.ErrorOf(err, value.Internal)
		if c.fails != (e != nil && e.Kind == value.Timeout && e.Limit == value.LimitWall) || !c.fails && got.Value != "awake" || naps != c.naps {
			t.Errorf("%s: %v, %v after %d naps, want it to fail: %v, after %d", c.name, got.Value, err, naps, c.fails, c.naps)
		}
		j.Close()
	}
}
