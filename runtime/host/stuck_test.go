package host_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestStuck resumes runs after a pure function has changed: they are stuck, until the old function
// is back or they are retried from the step that differs.
func TestStuck(t *testing.T) { eachStore(t, testStuck) }

func testStuck(t *testing.T, on keeper) {
	ctx := context.Background()
	const work = "out.send('x')\nout.send('release %d' % out.release())\nfs.append('log', 'a')\nif not human.confirm('ok?'): fail('no')\nreturn 'done'"
	for _, kind := range []string{host.CallKind, host.WorkflowKind} {
		m := newMachine(t, on)
		m.answer = nil
		m.workflow = func(context.Context, toolset.Source, string) (host.Workflow, error) {
			return host.Workflow{Tool: tool.Tool{Name: "flow"}, Script: tool.Script{Name: "flow", Path: "flow.star", Source: "def main():\n    return tools.work()\n"}}, nil
		}
		upgrade := func(to int64) *process {
			m.release = to
			if m.last != nil {
				m.last.j.Close()
			}
			p := m.process(0, false)
			p.add("work.star", star("work", "", work, "needs = ['fs.read', 'fs.write', 'use:out', 'human']"), nil)
			return p
		}
		p := upgrade(1)
		var err error
		if kind == host.CallKind {
			_, err = p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("r"))
		} else {
			_, err = p.Run(ctx, "flow", nil, host.Durable("r"))
		}
		if value.KindOf(err) != value.Parked {
			t.Fatalf("%s: the run gave %v", kind, err)
		}
		for n, waiting := range []int{0, 1, 0} { // also after the old function was back
			if p = upgrade(2 - int64(waiting)); waiting == 1 {
				if _, err := p.Resume(ctx, "r"); value.KindOf(err) != value.Parked || m.state("r").Stuck != "" {
					t.Errorf("%s: with the old function: %v", kind, err)
				}
				continue
			}
			_, err := p.Resume(ctx, "r")
			e := value.ErrorOf(err, value.Internal)
			const differs = `.2 differs from the record: recorded out.send({"text":"release 1"}), got out.send({"text":"release 2"})`
			if e.Kind != value.Conflict || !strings.Contains(e.Message(), differs) || !strings.Contains(e.Hint, "cassidy runs retry r; after the cause is gone: cassidy runs resume r") {
				t.Errorf("%s, attempt %d: %v, hint %q", kind, n, err, e.Hint)
			}
			if r := m.state("r"); r.State != history.Stuck || !strings.Contains(r.Stuck, differs) {
				t.Errorf("%s, attempt %d: the run is %+v", kind, n, r)
			}
		}
		for r, err := range p.Due(ctx) {
			t.Errorf("%s: %s is due, %v", kind, r.ID, err)
		}
		for q, err := range p.Waiting(ctx) {
			t.Errorf("%s: a question of a run that is stuck: %v, %v", kind, q, err)
		}
		m.answer = true
		p = upgrade(2)
		if got, err := p.Retry(ctx, retry.Request{Run: "r", ID: "again"}); err != nil || got.Value != "done" {
			t.Errorf("%s: the retry gave %v, %v", kind, got.Value, err)
		}
		if m.sent["x"] != 1 || m.sent["release 1"] != 1 || m.sent["release 2"] != 1 {
			t.Errorf("%s: sent %v, want that the retry reuses the steps before the one that differs", kind, m.sent)
		}
		if err := p.Cancel(ctx, "r"); err != nil || m.state("r").State != history.Cancelled {
			t.Errorf("%s: Cancel gave %v, the run is %s", kind, err, m.state("r").State)
		}
	}
}

// TestNotStuck fails a run in ways that another attempt may survive: it stays as it is.
func TestNotStuck(t *testing.T) { eachStore(t, testNotStuck) }

func testNotStuck(t *testing.T, on keeper) {
	ctx := context.Background()
	m := newMachine(t, on)
	m.answer = nil
	p := m.process(0, false)
	p.add("work.star", star("work", "", "fs.append('log', 'a')\nif not human.confirm('ok?'): fail('no')\nout.send('x')\nreturn 1", "needs = ['fs.read', 'fs.write', 'use:out', 'human']"), nil)
	if _, err := p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatal(err)
	}
	j, release := m.open()
	defer release()
	hold, err := j.Hold(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resume(ctx, "r"); value.KindOf(err) != value.Conflict || m.state("r").State != history.Parked {
		t.Errorf("while another process has the run: %v, the run is %s", err, m.state("r").State)
	}
	hold()
	p.j.Close() // nothing can be recorded
	if _, err := p.Resume(ctx, "r"); err == nil || m.state("r").State != history.Parked {
		t.Errorf("with a closed journal: %v, the run is %s", err, m.state("r").State)
	}
	cancelled, cancel := context.WithTimeoutCause(ctx, time.Hour, errors.New("late"))
	cancel()
	p = m.process(0, false)
	if _, err := p.Resume(cancelled, "r"); err == nil || m.state("r").State == history.Stuck {
		t.Errorf("with a context that has ended: %v, the run is %s", err, m.state("r").State)
	}
}

// TestLostJournal removes the journal while a call waits for an approval: the call sends nothing, as
// that could not be recorded, and fails.
func TestLostJournal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	m := newMachine(t, onDisk)
	m.approve = host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Yes: true}, os.RemoveAll(m.journal)
	})
	p := m.process(0, false)
	p.add("risky.star", star("risky", "", "return out.send('x')", "needs = ['use:out'], risky = True"), nil)
	p.add("work.star", star("work", "", "fs.append('log', 'a')\nreturn attempt(tools.risky)", "needs = ['fs.read', 'fs.write', 'tool']"), nil)
	_, err := p.Call(context.Background(), tool.Call{Tool: "work"}, host.Durable("r"))
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Unavailable || !strings.Contains(e.Message(), "was removed while it was in use") {
		t.Errorf("the call gave %v", err)
	}
	if m.sent["x"] != 0 {
		t.Error("something was sent without a record")
	}
}
