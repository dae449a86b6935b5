package clock_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/clock"
)

// Let a script compute with times that it is given, and read no clock.
func ExamplePure() {
	e := engine.New(&engine.Options{Modules: []tool.Module{clock.Pure()}})
	script := tool.Script{Path: "due.star", Source: `
def due(day: str) -> str:
    """Return the day four weeks later, in words."""
    return time.format(time.add(day, days = 28), "%A, %-d %B")

tool(due)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("day", "2026-02-10")}, nil)
	fmt.Println(out.Value, err)
	// Output: Tuesday, 10 March <nil>
}
