package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOptionsOfAWorkflowInsideACall checks that a workflow which a call runs is not
// run without the rules that it was narrowed by, or without a record.
func TestOptionsOfAWorkflowInsideACall(t *testing.T) { eachStore(t, testOptionsOfAWorkflowInsideACall) }

func testOptionsOfAWorkflowInsideACall(t *testing.T, on keeper) {
	m := newMachine(t, on)
	var flow host.Workflow
	m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) { return flow, nil }
	p := m.process(0, false)
	flow = workflowFrom(t, p.Host, "flow", "def main():\n    return 1\n")
	deny := host.Narrow(tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "tool"}})
	var opts []host.CallOption
	if err := p.Register(tool.Tool{Name: "inside", Description: "I."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		got, err := p.Run(ctx, "flow", nil, opts...)
		return got.Value, err
	}); err != nil {
		t.Fatal(err)
	}
	call := func() (tool.Result, error) {
		return p.Call(context.Background(), tool.Call{Tool: "inside", Caller: tool.ByPerson})
	}
	if got, err := call(); err != nil || got.Value != int64(1) {
		t.Errorf("without options: %v, %v", got.Value, err)
	}
	for name, opt := range map[string]host.CallOption{"Narrow": deny, "Durable": host.Durable("d")} {
		opts = []host.CallOption{opt}
		if _, err := call(); value.KindOf(err) != value.Invalid {
			t.Errorf("%s inside a call gave %v, want an error of kind Invalid", name, err)
		}
	}
}

// TestNarrowedWorkflowAgain checks that the ID of a workflow is not continued with
// other rules than it began with.
func TestNarrowedWorkflowAgain(t *testing.T) { eachStore(t, testNarrowedWorkflowAgain) }

func testNarrowedWorkflowAgain(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	var flow host.Workflow
	m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) { return flow, nil }
	p := m.process(0, false)
	flow = workflowFrom(t, p.Host, "flow", "def main():\n    return human.confirm('so?')\n")
	ctx, deny := context.Background(), host.Narrow(tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "tool"}})
	for id, tt := range map[string]struct{ first, again []host.CallOption }{
		"wide":   {nil, []host.CallOption{deny}},
		"narrow": {[]host.CallOption{deny}, nil},
	} {
		durable := host.Durable(id)
		if _, err := p.Run(ctx, "flow", nil, append(tt.first, durable)...); value.KindOf(err) != value.Parked {
			t.Fatalf("%s: the workflow gave %v, want that it waits", id, err)
		}
		if _, err := p.Run(ctx, "flow", nil, append(tt.first, durable)...); value.KindOf(err) != value.Parked {
			t.Errorf("%s: the same again gave %v, want that it waits", id, err)
		}
		if _, err := p.Run(ctx, "flow", nil, append(tt.again, durable)...); value.KindOf(err) != value.Conflict {
			t.Errorf("%s: with other rules it gave %v, want a conflict", id, err)
		}
	}
}

// TestResumeThroughMiddleware checks that a durable call is resumed by the tool that a
// middleware calls for it.
func TestResumeThroughMiddleware(t *testing.T) { eachStore(t, testResumeThroughMiddleware) }

func testResumeThroughMiddleware(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	m.middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if c.Tool == "old" {
				c.Tool = "asks"
			}
			return next(ctx, c)
		}
	}}
	p := m.process(0, false)
	p.add("asks.star", star("asks", "", "return human.confirm('so?')", "needs = ['human']"), nil)
	ctx := context.Background()
	if _, err := p.Call(ctx, tool.Call{Tool: "old"}, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	plain := m.middleware
	m.middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc { return next }}
	if _, err := m.process(0, false).Resume(ctx, "r"); value.KindOf(err) != value.NotFound {
		t.Errorf("resumed where no tool has the name: %v, want an error of kind NotFound", err)
	}
	m.middleware = plain
	if got, err := p.Resume(ctx, "r"); err != nil || got.Value != true {
		t.Errorf("resumed: %v, %v", got.Value, err)
	}
}

// TestCloseWhileShutdownWaits checks that Close ends a Shutdown that waits for a handler
// which ignores its context.
func TestCloseWhileShutdownWaits(t *testing.T) {
	t.Parallel() // Close waits a second
	release := make(chan struct{})
	defer close(release)
	c := newClosing(t, &host.Options{}, func(context.Context, *value.Dict) (value.Value, error) { <-release; return nil, nil })
	c.call(tool.Call{Tool: "t"})
	<-c.begun
	shut := make(chan error, 1)
	go func() { shut <- c.Shutdown(context.Background()) }()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-shut:
		if !errors.Is(err, value.ErrClosed) {
			t.Errorf("Shutdown gave %v, want that the calls were canceled", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("Shutdown waits although the host was closed")
	}
}
