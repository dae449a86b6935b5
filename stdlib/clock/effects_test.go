package clock

import (
	"context"
	"math"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func callerAt(t *testing.T, now func() time.Time) *rowtest.Caller {
	return &rowtest.Caller{T: t, Modules: []tool.Module{Module(now)}}
}

func TestTimeNow(t *testing.T) {
	for _, tt := range []struct {
		now  time.Time
		want string
	}{
		{time.Date(2026, 1, 2, 3, 4, 5, 6_000, time.UTC), "2026-01-02T03:04:05.000006000Z"},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), "2026-01-02T02:04:05.000000000Z"},
	} {
		d := callerAt(t, func() time.Time { return tt.now })
		got := d.Must("time.now")
		if got != tt.want {
			t.Errorf("time.now() = %v, want %s", got, tt.want)
		}
		if back, err := time.Parse(time.RFC3339Nano, got.(string)); err != nil || !back.Equal(tt.now) {
			t.Errorf("time.now() reads back as %v, %v, want %v", back, err, tt.now)
		}
	}
}

func TestTimeSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := callerAt(t, time.Now)
		for seconds, want := range map[value.Value]time.Duration{
			int64(0): 0, int64(90): 90 * time.Second, 0.25: 250 * time.Millisecond,
		} {
			start := time.Now()
			if got := d.Must("time.sleep", "seconds", seconds); got != nil {
				t.Errorf("time.sleep(%v) = %v, want null", seconds, got)
			}
			if got := time.Since(start); got != want {
				t.Errorf("time.sleep(%v) took %v, want %v", seconds, got, want)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := d.Run(ctx, "time.sleep", "seconds", int64(3600))
		rowtest.Wrong(t, err, value.Timeout, "time", "time.sleep")
		if got := time.Since(start); got != time.Minute {
			t.Errorf("time.sleep went on for %v, want a minute", got)
		}
		stopped, stop := context.WithCancel(context.Background())
		stop()
		_, err = d.Run(stopped, "time.sleep", "seconds", int64(0))
		rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", "time.sleep")
	})
}

// TestTimeSleepOfRun checks that a run which can wait otherwise does, and that
// what it says goes back unchanged.
func TestTimeSleepOfRun(t *testing.T) {
	d := callerAt(t, time.Now)
	f := d.Func("time.sleep")
	parked := value.Errorf(value.Parked, "until tomorrow")
	for _, tt := range []struct {
		seconds value.Value
		want    time.Duration
		err     error
	}{
		{int64(0), 0, nil},
		{int64(maxSleep), maxSleep * time.Second, parked},
		{0.25, 250 * time.Millisecond, nil},
	} {
		slept := time.Duration(-1)
		grant := tool.Grant{Sleep: func(_ context.Context, d time.Duration) error {
			slept = d
			return tt.err
		}}
		_, err := f.Do(context.Background(), tool.Effect{Args: value.NewDict("seconds", tt.seconds)}, grant)
		if err != tt.err || slept != tt.want {
			t.Errorf("time.sleep(%v) slept %v and gave %v, want %v and %v", tt.seconds, slept, err, tt.want, tt.err)
		}
	}
	grant := tool.Grant{Sleep: func(context.Context, time.Duration) error { t.Error("slept"); return nil }}
	if _, err := f.Do(context.Background(), tool.Effect{Args: value.NewDict("seconds", int64(-1))}, grant); value.KindOf(err) != value.Invalid {
		t.Errorf("time.sleep(-1) = %v, want it refused", err)
	}
}

func TestTimeSleepRefuses(t *testing.T) {
	d := callerAt(t, time.Now)
	for _, v := range []value.Value{int64(-1), -0.001, math.NaN(), math.Inf(1), math.Inf(-1), int64(math.MaxInt64), 1e300, new(big.Int).Lsh(big.NewInt(1), 100)} {
		d.Fails(value.Invalid, "sleep: invalid number of seconds", "time.sleep", "seconds", v)
	}
	d.Fails(value.Invalid, "should be number", "time.sleep", "seconds", "1")
}
