package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDurableCallsTimeOut ends calls by the deadline of their context. The error is
// of kind Timeout, whether the call is recorded or not, and a recorded one is
// interrupted.
func TestDurableCallsTimeOut(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := history.Open(journal.Memory(), nil)
	t.Cleanup(func() { j.Close() })
	r := newRig(t, func(o *host.Options) { o.Journal = recordIn(j) })
	hold := func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := r.Register(tool.Tool{Name: "hold", Description: "Hold."}, hold); err != nil {
		t.Fatal(err)
	}
	r.add("sleeps.star", "def sleeps():\n    \"Sleep.\"\n    time.sleep(20)\n    return 1\n\ntool(sleeps)\n", nil)
	for _, name := range []string{"hold", "sleeps"} {
		for _, opts := range [][]host.CallOption{nil, {host.Durable(name)}} {
			late, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			_, err := r.Call(late, tool.Call{Tool: name}, opts...)
			cancel()
			if !errors.Is(err, value.ErrTimeout) {
				t.Errorf("%s with %d options gave %v of kind %s, want a timeout", name, len(opts), err, value.KindOf(err))
			}
		}
	}
	recorded := 0
	for run, err := range r.Runs(ctx, history.Filter{}) {
		if recorded++; err != nil || run.State != history.Parked || run.Reason != "interrupted" {
			t.Errorf("the run is %+v, %v, want it interrupted", run, err)
		}
	}
	if recorded != 2 {
		t.Errorf("%d runs are recorded, want 2", recorded)
	}
}
