// Package clock is what scripts can do with time: read it, wait, and compute with dates
// and durations.
package clock

import (
	"context"
	"math"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// MaxSleep is the longest sleep: a year is longer than any run waits, and
// far from where a time.Duration overflows.
const MaxSleep = 366 * 24 * 60 * 60

// Module returns the functions of the module time that read a clock, and wait.
func Module(now func() time.Time) tool.Module {
	return tool.Module{Name: "time", Doc: "The clock.", Funcs: []tool.Func{{
		Name:    "now",
		Doc:     "Tell the time.",
		Returns: "the time in UTC as RFC 3339 text with nanoseconds",
		Kind:    tool.Recorded,
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: timestamp(now())}, nil
		},
	}, {
		Name:    "sleep",
		Doc:     "Wait for a while.",
		Params:  []tool.Param{tool.Required("seconds", tool.TypeNumber, "how long, fractions allowed")},
		Returns: "nothing",
		Kind:    tool.Repeatable,
		Do:      sleep,
	}}}
}

// clockText writes a time with all nine digits, so that texts sort as times do.
func timestamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
}

func sleep(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	v, _ := e.Args.Get("seconds")
	seconds := row.Seconds(v)
	if math.IsNaN(seconds) || seconds < 0 || seconds > MaxSleep {
		return tool.Outcome{}, value.Errorf(value.Invalid, "cannot sleep for %s seconds", value.FormatJSON(v, "")).
			WithHint("give a number from 0 to %d", MaxSleep)
	}
	if err := row.Stopped(ctx); err != nil {
		return tool.Outcome{}, err
	}
	wait := time.Duration(seconds * float64(time.Second))
	if g.Sleep != nil {
		return tool.Outcome{}, g.Sleep(ctx, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return tool.Outcome{}, nil
	case <-ctx.Done():
		return tool.Outcome{}, row.Stopped(ctx)
	}
}
