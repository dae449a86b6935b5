package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestDurationsOfWork asks a person during a call, and an approver before another one: the durations in
// the events are those of the work.
func TestDurationsOfWork(t *testing.T) {
	t.Parallel()
	const thinks = 50 * time.Millisecond
	ctx := context.Background()
	think := func(context.Context, tool.Question) (tool.Answer, error) {
		time.Sleep(thinks)
		return tool.Answer{Yes: true, Value: true}, nil
	}
	m := newMachine(t, inStore)
	m.approve = host.ApproverFunc(think)
	m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) {
		return host.Workflow{Tool: tool.Tool{Name: "flow"}, Script: tool.Script{Name: "flow", Path: "flow.star", Source: "def main():\n    return tools.outer()\n"}}, nil
	}
	p := m.process(0, false)
	p.add("outer.star", star("outer", "", "fs.exists('x')\ntools.call_all([('risky', {}), ('free', {})])\nreturn 1", "needs = ['tool', 'fs.read']"), nil)
	p.add("risky.star", star("risky", "", "return out.send('x')", "needs = ['use:out'], risky = True"), nil)
	p.add("free.star", star("free", "", "return 1", ""), nil)
	events := p.Subscribe(ctx, host.EventFilter{Buffer: 1000})
	start := time.Now()
	if _, err := p.Run(ctx, "flow", nil, host.Durable("r")); err != nil {
		t.Fatal(err)
	}
	most := time.Since(start) - thinks
	p.Close()
	seen := map[string]bool{}
	check := func(what string, duration, waited time.Duration, waits bool) {
		seen[what] = true
		if waits != (waited >= thinks) || waits && duration > most || duration < 0 {
			t.Errorf("%s worked %v of at most %v, and waited %v; want that it waited: %v", what, duration, most, waited, waits)
		}
	}
	for e := range events {
		switch d := e.Data.(type) {
		case tool.ToolCallEnd:
			check(e.Tool, d.Duration, d.Waited, e.Tool != "free")
		case tool.EffectDone:
			if d.Func == "tools.call_all" || d.Func == "fs.exists" {
				check(d.Func, d.Duration, d.Waited, d.Func == "tools.call_all")
			}
		case tool.RunEnd:
			check("the run", d.Duration, d.Waited, true)
		}
	}
	for _, what := range []string{"risky", "free", "outer", "tools.call_all", "fs.exists", "the run"} {
		if !seen[what] {
			t.Errorf("no event of %s: %v", what, seen)
		}
	}
}
