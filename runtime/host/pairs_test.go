package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// paired drains events and checks that each start has exactly one end, of the same
// call, and that nothing of a call comes after its end. It returns how many pairs
// there are.
func paired(t *testing.T, events <-chan tool.Event) (calls, runs int) {
	t.Helper()
	open := map[string]bool{}
	for len(events) > 0 {
		e := <-events
		call, run := "call "+e.Call, "run "+e.Call
		switch e.Data.(type) {
		case tool.ToolCallStart:
			if open[call] {
				t.Errorf("%s starts twice", call)
			}
			open[call] = true
		case tool.ToolCallEnd:
			if !open[call] {
				t.Errorf("%s ends, and did not start", call)
			}
			delete(open, call)
			calls++
		case tool.RunStart:
			if open[run] {
				t.Errorf("%s starts twice", run)
			}
			open[run] = true
		case tool.RunEnd:
			if !open[run] {
				t.Errorf("%s ends, and did not start", run)
			}
			delete(open, run)
			runs++
		case tool.Lost:
			t.Errorf("events were lost: %+v", e)
		default:
			if !open[call] && !open[run] {
				t.Errorf("%s comes outside of its call: %+v", e.Type(), e)
			}
		}
	}
	for what := range open {
		t.Errorf("%s has no end", what)
	}
	return calls, runs
}

// TestStartsAndEnds checks that each call and each run that starts ends, however
// that comes.
func TestStartsAndEnds(t *testing.T) { eachStore(t, testStartsAndEnds) }

func testStartsAndEnds(t *testing.T, on keeper) {
	m := newMachine(t, on)
	var p *process
	var events <-chan tool.Event
	start := func(dies int) {
		p = m.process(dies, true)
		p.mixedTools()
		p.goTool("panics_in_go", func(context.Context) (value.Value, error) { panic("no") })
		p.goTool("emits", func(ctx context.Context) (value.Value, error) {
			host.EmitAnswered(ctx, tool.Call{Tool: "x"}, "", nil)
			return nil, nil
		})
		p.write("asked/a", "a")
		events = p.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 14})
	}
	check := func(what string, calls, runs int) {
		t.Helper()
		gotCalls, gotRuns := paired(t, events)
		if gotCalls < calls || gotRuns != runs {
			t.Errorf("%s: %d calls and %d runs, want at least %d and %d", what, gotCalls, gotRuns, calls, runs)
		}
	}
	start(0)
	_, _ = p.run("mixed", false, mixedFlow)
	check("a mixed run", 20, 1)
	for _, name := range []string{"nothing", "refused", "unavailable", "panics", "panics_in_go", "emits", "untrusted", "note"} {
		_, _ = p.Call(t.Context(), tool.Call{Tool: name})
		check(name, 1, 0)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = p.Call(cancelled, tool.Call{Tool: "note", Args: value.NewDict("text", "x"), Caller: tool.ByPerson})
	check("a cancelled call", 1, 0)
	_, _ = p.Call(cancelled, tool.Call{Tool: "note", Args: value.NewDict("text", "x"), Caller: tool.ByPerson}, host.Durable("cancelled"))
	paired(t, events)
	p.j.Close()

	start(9)
	_, _ = p.run("dies", false, mixedFlow)
	check("a run that dies", 1, 1)
	p.j.Close()
	start(0)
	_, _ = p.run("dies", true, "")
	check("and is resumed", 1, 1)

	m.parks, m.answer, m.approve = true, nil, nil
	start(0)
	if _, err := p.run("parks", false, "tools.call_all([('note', {'text': str(i)}) for i in range(20)])"); value.KindOf(err) != value.Parked {
		t.Errorf("the run gave %v, want it parked", err)
	}
	check("a run that is parked", 20, 1)
	_, err := p.Call(t.Context(), tool.Call{Tool: "note", Args: value.NewDict("text", "x")}, host.Durable("parked"))
	if value.KindOf(err) != value.Parked {
		t.Errorf("the call gave %v, want it parked", err)
	}
	check("a call that is parked", 1, 0)
}

// TestAPanicOfTheApproverHasAnEnd checks that a call ends for those who follow it
// also where the program that embeds the host panics.
func TestAPanicOfTheApproverHasAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) {
		o.Approver = host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) { panic("no") })
	})
	r.script("", "return 1", "risky = True")
	events := r.Subscribe(t.Context(), host.EventFilter{})
	func() {
		defer func() { _ = recover() }()
		_, err := r.Call(t.Context(), tool.Call{Tool: "t"})
		_ = fmt.Sprint(err) // it may also be an error
	}()
	if calls, _ := paired(t, events); calls != 1 {
		t.Errorf("%d calls ended, want 1", calls)
	}
}
