package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestTheEndOfAnInterruptedRun checks that the event of a run's end says whether the run
// was interrupted, and can be resumed, or was cancelled.
func TestTheEndOfAnInterruptedRun(t *testing.T) { eachStore(t, testTheEndOfAnInterruptedRun) }

func testTheEndOfAnInterruptedRun(t *testing.T, on keeper) {
	for _, c := range []struct {
		by, reason string
		state      history.State
		limit      value.LimitName
	}{
		{"its context", "interrupted", history.Parked, value.LimitInterrupted},
		{"Close", "interrupted", history.Parked, value.LimitInterrupted},
		{"Cancel", "cancelled", history.Cancelled, ""},
	} {
		m := newMachine(t, on)
		p := m.process(0, false)
		w := workflowFrom(t, p.Host, "waits", "def main():\n    return tools.hold()\n")
		m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) { return w, nil }
		p = m.process(0, false)
		begun := make(chan bool)
		p.goTool("hold", func(ctx context.Context) (value.Value, error) {
			begun <- true
			<-ctx.Done()
			return nil, ctx.Err()
		})
		events := p.Subscribe(t.Context(), host.EventFilter{Run: "r", Buffer: 1 << 10})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := p.Run(ctx, "waits", nil, host.Durable("r"))
			ended <- err
		}()
		<-begun
		closed := make(chan error, 1)
		switch c.by {
		case "Close":
			go func() { closed <- p.Close() }()
		case "Cancel":
			closed <- p.Cancel(ctx, "r")
		default:
			stop()
			closed <- nil
		}
		e := value.ErrorOf(<-ended, value.Failed)
		if err := <-closed; err != nil {
			t.Errorf("%s: %v", c.by, err)
		}
		if e == nil || e.Limit != c.limit || c.limit != "" && e.Catchable() {
			t.Errorf("%s: the run gave %v with the limit %q, want %q", c.by, e, e.Limit, c.limit)
		}
		for e := range events {
			if end, ok := e.Data.(tool.RunEnd); ok {
				if end.Reason != c.reason || end.Success {
					t.Errorf("%s: the run ended with %+v, want the reason %q", c.by, end, c.reason)
				}
				break
			}
		}
		if c.by == "Close" {
			p = m.process(0, false)
		}
		if r := p.state("r"); r.State != c.state || r.Reason != c.reason {
			t.Errorf("%s: the run is %s (%s), want %s (%s)", c.by, r.State, r.Reason, c.state, c.reason)
		}
		stop()
	}
}
