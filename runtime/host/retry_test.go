package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRetry retries runs that have ended: the steps before the one that failed, or that is
// named, are reused, and the later ones are done by the current scripts.
func TestRetry(t *testing.T) { eachStore(t, testRetry) }

func testRetry(t *testing.T, on keeper) {
	ctx := context.Background()
	const work = "fs.append('log', 'a')\nn = out.send('x')\nfs.append('log', 'b')\nif fs.read('input') == 'bad': fail('bad input')\nout.send('y')\nreturn fs.read('log')"
	for _, c := range []struct {
		name   string
		tool   string // the tool of the first run
		then   string // that of the retry
		call   bool   // the run is a call of the tool
		repair func(p *process)
		from   string
		want   string // the result; "" for a refusal
		refuse string // the error
		x, y   int    // how often they were sent in the end
		log    string
		undone string // the log after the undo of the retry
	}{
		{name: "the input is repaired", tool: work, then: work, repair: func(p *process) { p.write("input", "good") }, refuse: "bad input", x: 1, log: "a"},
		{name: "the input is repaired and read again", tool: work, then: work, repair: func(p *process) { p.write("input", "good") }, from: "1.4", want: "ab", x: 1, y: 1, log: "ab", undone: "a"},
		{name: "the script is repaired", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: work, want: "ab", x: 1, y: 1, log: "ab", undone: "a"},
		{name: "a call", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: work, call: true, want: "ab", x: 1, y: 1, log: "ab", undone: "a"},
		{name: "an earlier step is changed", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: strings.Replace(work, "'x'", "'z'", 1), refuse: "cannot be reused", x: 1, log: "a"},
		{name: "from an earlier step", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: strings.Replace(work, "'x'", "'x'", 1), from: "1.2", want: "ab", x: 2, y: 1, log: "ab", undone: "a"},
		{name: "from the beginning", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: work, from: "1", want: "aab", x: 2, y: 1, log: "aab", undone: "a"},
		{name: "no such step", tool: strings.Replace(work, "== 'bad'", "!= ''", 1), then: work, from: "7", refuse: "has no step 7", x: 1, log: "a"},
	} {
		m := newMachine(t, on)
		begin := func(body string) *process {
			p := m.process(0, false)
			p.add("work.star", star("work", "", body, "needs = ['fs.read', 'fs.write', 'use:out']"), nil)
			return p
		}
		m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) {
			return host.Workflow{Tool: tool.Tool{Name: "flow"}, Script: tool.Script{Name: "flow", Path: "flow.star", Source: "def main():\n    return tools.work()\n"}}, nil
		}
		p := begin(c.tool)
		p.write("input", map[bool]string{true: "bad", false: "good"}[c.repair != nil])
		start := func() (tool.Result, error) { return p.Run(ctx, "flow", nil, host.Durable("r")) }
		if c.call {
			start = func() (tool.Result, error) { return p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("r")) }
		}
		_, err := start()
		if err == nil || m.state("r").State != history.Failed {
			t.Fatalf("%s: the run gave %v", c.name, err)
		}
		p.j.Close()
		p = begin(c.then)
		if c.repair != nil {
			c.repair(p)
		}
		from, _ := history.ParseStepPath(c.from)
		got, err := p.Retry(ctx, retry.Request{Run: "r", From: from, ID: "again"})
		if (err == nil) != (c.want != "") || err == nil && got.Value != c.want || err != nil && !strings.Contains(err.Error(), c.refuse) {
			t.Errorf("%s: %v, %v, want %q or %q", c.name, got.Value, err, c.want, c.refuse)
		}
		if text := m.tree()["log"]; text != c.log || m.sent["x"] != c.x || m.sent["y"] != c.y {
			t.Errorf("%s: the log is %q, want %q, sent %v, want x %d and y %d times", c.name, text, c.log, m.sent, c.x, c.y)
		}
		if c.want != "" {
			if r := m.state("again"); r.State != history.Done || r.ForkedFrom != "r" || r.ForkedAt() == nil {
				t.Errorf("%s: the new run is %+v", c.name, r)
			}
			if r := m.state("r"); r.State != history.Failed {
				t.Errorf("%s: the first run is %s", c.name, r.State)
			}
			if _, err := p.Undo(ctx, "again"); err != nil || m.tree()["log"] != c.undone {
				t.Errorf("%s: after the undo the log is %q, %v, want %q", c.name, m.tree()["log"], err, c.undone)
			}
			if _, err := p.Retry(ctx, retry.Request{Run: "again"}); value.KindOf(err) == value.Internal || err == nil {
				t.Errorf("%s: a retry of what was undone gave %v", c.name, err)
			}
		} else if c.refuse == "cannot be reused" {
			if r := m.state("again"); r.State != history.Failed {
				t.Errorf("%s: the new run is %s, want it failed", c.name, r.State)
			}
		}
		p.j.Close()
	}
}

// TestRetryOfWhatWasUndone checks that steps which were undone are not reused: also where the
// undo was cancelled half-way, and by a retry of a retry.
func TestRetryOfWhatWasUndone(t *testing.T) { eachStore(t, testRetryOfWhatWasUndone) }

func testRetryOfWhatWasUndone(t *testing.T, on keeper) {
	ctx := context.Background()
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p := m.process(0, false)
	p.add("post.star", askingUndo, nil)
	p.add("work.star", star("work", "", "tools.post()\nfs.append('log', 'a')\nreturn out.send('x')", "needs = ['fs.read', 'fs.write', 'tool', 'use:out', 'human']"), nil)
	if _, err := p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("r")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Retry(ctx, retry.Request{Run: "r", From: tool.StepPath{1, 3}, ID: "again"}); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", ID: "u", Parks: true}); value.KindOf(err) != value.Parked || m.tree()["log"] != "" {
		t.Fatalf("the undo gave %v, want that it waits with the log undone", err)
	}
	for _, what := range []string{"waits", "was cancelled"} {
		for _, run := range []string{"r", "again"} {
			_, err := p.Retry(ctx, retry.Request{Run: run, From: tool.StepPath{1, 3}})
			if value.KindOf(err) != value.Conflict || !strings.Contains(err.Error(), "steps of the run 'r' were undone") {
				t.Errorf("a retry of %s while the undo %s gave %v, want a conflict", run, what, err)
			}
		}
		if what == "waits" {
			if err := p.Cancel(ctx, "u"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m.sent["x"] != 2 || m.tree()["log"] != "" {
		t.Errorf("the log is %q, sent %v", m.tree()["log"], m.sent)
	}
}
