// Package clock is what scripts can do with time: the module time, whose functions read a
// clock, wait, and compute with dates and durations.
//
// Times are texts as RFC 3339 has them. Time zones come with the program, so that a result
// does not depend on the machine.
package clock

import (
	"context"
	"math"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// maxSleep is the longest sleep: a year is longer than any run waits, and
// far from where a time.Duration overflows.
const maxSleep = 366 * 24 * 60 * 60

// Module returns the functions of the module time that read a clock, and wait.
func Module(now func() time.Time) tool.Module {
	return tool.Module{Name: "time", Doc: "The clock.", Funcs: []tool.Func{{
		Name:    "now",
		Doc:     "Return the current time.",
		Returns: "the time in UTC as RFC 3339 text with nanoseconds",
		Kind:    tool.Recorded,
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: timestamp(now())}, nil
		},
	}, {
		Name:    "sleep",
		Doc:     "Wait for a number of seconds.",
		Params:  []tool.Param{tool.Required("seconds", tool.TypeNumber, "the number of seconds, which may have a fraction")},
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
	if math.IsNaN(seconds) || seconds < 0 || seconds > maxSleep {
		return tool.Outcome{}, value.Errorf(value.Invalid, "sleep: invalid number of seconds: %s", value.FormatJSON(v, "")).
			WithHint("pass a number from 0 to %d", maxSleep)
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
