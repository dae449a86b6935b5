package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestStarThreads checks that calls share no state of their threads: steps, the limit
// of steps, and the receiver of print, after calls that succeeded, failed or were
// stopped, and in parallel.
func TestStarThreads(t *testing.T) {
	e := engine.New(nil)
	s := tool.Script{Path: "t.star", Source: `def t(name, how):
    print(name)
    if how == "fails":
        fail("no")
    if how == "loops":
        for i in range(1000000):
            pass
    if how == "is long":
        for i in range(10000):
            pass
    return name

tool(t)
`}
	call := func(name, how string, limit int64) (tool.Outcome, string, error) {
		var printed string
		do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			printed += e.Args.Text("message")
			return tool.Outcome{}, nil
		}
		out, err := e.Run(t.Context(), s, tool.Call{Args: value.NewDict("name", name, "how", how), Limits: tool.Limits{Steps: limit}}, do)
		return out, printed, err
	}
	first, _, err := call("first", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				how := []string{"", "fails", "loops", "is long"}[(i+j)%4]
				_, _, err := call("other", how, 200_000)
				if wrong := how == "fails" || how == "loops"; wrong != (err != nil) {
					t.Errorf("%q: %v", how, err)
				}
				name := fmt.Sprint(i, "/", j)
				out, printed, err := call(name, "", first.Usage.Steps+1)
				if err != nil || out.Value != name || printed != name || out.Usage.Steps != first.Usage.Steps {
					t.Errorf("after one that %q, %s gave %v and printed %q in %d steps, want %d: %v", how, name, out.Value, printed, out.Usage.Steps, first.Usage.Steps, err)
				}
			}
		})
	}
	all.Wait()
}
