package cassidy_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestWorkersKilledDuringEffect kills all workers of a recorded run, that of a
// workflow and that of a tool which it calls, while the host does an effect.
// The effect is completed and recorded before the run is interrupted; resumed,
// the run does not do it again, and no script catches anything.
func TestWorkersKilledDuringEffect(t *testing.T) {
	for name, flow := range map[string]string{
		"tool":     "return tools.order(n = 1)",
		"attempt":  "return attempt(tools.order, n = 1)['value']",
		"call_all": "return tools.call_all([('order', {'n': 1}), ('order', {'n': 2})])[0]['value']",
	} {
		t.Run(name, func(t *testing.T) {
			dir, records := t.TempDir(), t.TempDir()
			putFile(t, filepath.Join(dir, ".cassidy", "tools", "order.star"), `def order(n: int) -> str:
    "Order something."
    first = stock.order(n = n)
    return first + " and " + stock.order(n = 10 * n)
tool(order, needs = ["use:stock"])
`)
			var orders atomic.Int32
			kills := false
			stock := tool.Module{Name: "stock", Funcs: []tool.Func{{
				Name: "order", Kind: tool.External, Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Required: true}},
				Target: func(*value.Dict) ([]tool.Capability, error) {
					return []tool.Capability{{Name: "use", Target: "stock"}}, nil
				},
				Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
					if kills && e.Args.Int("n") == 1 {
						for _, pid := range workers(t) {
							if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
								t.Error(err)
							}
						}
						time.Sleep(50 * time.Millisecond) // they are gone when the effect is completed
					}
					orders.Add(1)
					return tool.Outcome{Value: "ordered " + value.FormatJSON(e.Args.Int("n"), "")}, nil
				},
			}}}
			run := func(resume bool) (tool.Outcome, error) {
				h, err := testhost.Open(t, testhost.On{Journal: records}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll(), Modules: []tool.Module{stock}})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := h.Close(); err != nil {
						t.Error(err)
					}
				}()
				return h.RunProgram(context.Background(), &host.Program{
					ID: "r", Name: "flow", Entry: "main", Needs: []tool.Capability{{Name: "tool"}},
					Script:    tool.Script{Name: "flow", Path: "flow.star", Source: "def main():\n    " + flow + "\n"},
					Recording: host.Recording{Kind: "run", Resume: resume},
				})
			}
			kills = true
			_, err := run(false)
			if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Unavailable || e.Limit != value.LimitWorker || e.Hint == "" {
				t.Fatalf("the run gave %v, want that a worker was killed", err)
			}
			before := orders.Load()
			if name != "call_all" && before != 1 {
				t.Errorf("%d orders were made, want the one that was under way", before)
			}
			steps := checkInterrupted(t, records)
			if e := steps["1.1"]; name != "call_all" && (e.Func != "stock.order" || e.Unknown() || e.Err != nil) {
				t.Errorf("the effect is recorded as %+v, want with its outcome", e)
			}
			kills = false
			out, err := run(true)
			if err != nil || out.Value != "ordered 1 and ordered 10" {
				t.Errorf("resumed, the run gave %v, %v", out.Value, err)
			}
			want := int32(2)
			if name == "call_all" {
				want = 4
			}
			if n := orders.Load(); n != want {
				t.Errorf("%d orders were made, want %d", n, want)
			}
		})
	}
}

// checkInterrupted checks that the run is parked, with the calls that it was
// inside of open, and returns its steps.
func checkInterrupted(t *testing.T, records string) map[string]history.Entry {
	t.Helper()
	store, err := sqlite.Open(records)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j := history.Open(store, nil)
	defer j.Close()
	run, err := j.Run(context.Background(), "r")
	if err != nil || run.State != history.Parked || run.Reason != "interrupted" {
		t.Fatalf("the run is %+v, %v, want it parked (interrupted)", run, err)
	}
	steps := map[string]history.Entry{}
	for e, err := range j.Entries(context.Background(), "r") {
		if err != nil {
			t.Fatal(err)
		}
		steps[e.StepPath.String()] = e
	}
	if e := steps["1"]; !e.Unknown() {
		t.Errorf("the call is recorded as %+v, want it open", e)
	}
	return steps
}
