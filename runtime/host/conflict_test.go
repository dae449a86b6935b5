package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// collide has the first parallel calls write only when each of them has read, so that all but
// one meet a conflict. After the process has died, nothing waits.
func (m *machine) collide() {
	const together = 8 // as many as tools.call_all makes at the same time
	var p *process
	var mu sync.Mutex
	arrived, open := 0, make(chan struct{})
	release := func() {
		if arrived++; arrived == together {
			close(open)
		}
	}
	m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		out, err := host.Execute(ctx, f, e, g)
		m.mu.Lock()
		if p == nil {
			p = m.last
		}
		dead := p != m.last || p.dies > 0 && p.effects >= p.dies
		m.mu.Unlock()
		mu.Lock()
		switch {
		case arrived >= together:
		case dead:
			arrived = together - 1
			release()
		case e.Func == "fs.read":
			release()
		}
		mu.Unlock()
		if e.Func == "fs.read" {
			<-open
		}
		return out, err
	}
}

// increments makes ten calls in parallel, and returns what went wrong with them.
const increments = `
got = tools.call_all([('%s', {})] * 10)
return [r['value'] if r['ok'] else r['error'] for r in got]`

func (p *process) incrementTools() {
	needs := "needs = ['fs.read', 'fs.write', 'use:out', 'tool', 'human']"
	p.add("inc.star", star("inc", "", "n = int(fs.read('count')) + 1\nfs.write('count', str(n))\nreturn n", needs), nil)
	p.add("outer.star", star("outer", "", "return tools.inc()", needs), nil)
	p.add("sends.star", star("sends", "", "n = int(fs.read('count')) + 1\nout.send('x')\nfs.write('count', str(n))\nreturn n", needs), nil)
	p.add("asks.star", star("asks", "", "n = int(fs.read('count')) + 1\nhuman.confirm('go on?')\nfs.write('count', str(n))\nreturn n", needs), nil)
	p.add("calls.star", star("calls", "", "n = int(fs.read('count')) + 1\ntools.mark()\nfs.write('count', str(n))\nreturn n", needs), nil)
	p.add("mark.star", star("mark", "", "out.send('x')", needs), nil)
}

// TestParallelCallsOfOneFile checks that tools.call_all repeats a call whose file another one
// has changed, and that the record of the run has that.
func TestParallelCallsOfOneFile(t *testing.T) { eachStore(t, testParallelCallsOfOneFile) }

func testParallelCallsOfOneFile(t *testing.T, on keeper) {
	for _, name := range []string{"inc", "outer"} {
		m := newMachine(t, on)
		m.collide()
		p := m.process(0, false)
		p.incrementTools()
		p.write("count", "0")
		out, err := p.run("r", false, fmt.Sprintf(increments, name))
		var want, got []string
		for i, v := range out.Value.(value.List) {
			want, got = append(want, fmt.Sprint(i+1)), append(got, fmt.Sprint(v))
		}
		slices.Sort(want)
		if slices.Sort(got); err != nil || m.tree()["count"] != "10" || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, and the file says %s, want 1 to 10", name, got, err, m.tree()["count"])
		}
		again := m.process(0, false)
		again.incrementTools()
		r := again.replay(host.Replay{})
		if r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) || len(r.Differences) > 0 || again.effects != 0 {
			t.Errorf("%s: replayed: %v, %v, differences %v, want %v", name, r.Outcome.Value, r.Err, r.Differences, out.Value)
		}
	}
}

// TestParallelCallsWithoutARecord checks the same for a call that is not recorded.
func TestParallelCallsWithoutARecord(t *testing.T) {
	t.Parallel()
	m := newMachine(t, inStore)
	m.collide()
	p := m.process(0, false)
	p.incrementTools()
	p.write("count", "0")
	p.add("all.star", star("all", "", fmt.Sprintf(increments, "inc"), "needs = ['tool', 'fs.read', 'fs.write']"), nil)
	if r, err := p.Call(t.Context(), tool.Call{Tool: "all", Caller: tool.ByPerson}); err != nil || m.tree()["count"] != "10" {
		t.Errorf("the calls gave %v, %v, and the file says %s, want 10", r.Value, err, m.tree()["count"])
	}
}

// TestCallsThatActedAreNotRepeated checks that a call that did something else before its
// conflict fails with it, and the others and the run do not.
func TestCallsThatActedAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sends", "asks", "calls"} {
		m := newMachine(t, inStore)
		m.collide()
		p := m.process(0, false)
		p.incrementTools()
		p.write("count", "0")
		out, err := p.run("r", false, fmt.Sprintf(increments, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		done, failed := 0, 0
		for _, v := range out.Value.(value.List) {
			if text, ok := v.(string); ok && strings.Contains(text, "count ") && strings.Contains(text, " changed ") {
				failed++
			} else if _, ok := v.(int64); ok {
				done++
			}
		}
		if done+failed != 10 || failed == 0 || m.tree()["count"] != fmt.Sprint(done) {
			t.Errorf("%s: got %v, and the file says %s, want some conflicts", name, out.Value, m.tree()["count"])
		}
		if n := m.sent["x"] + len(m.asked); n != 10 {
			t.Errorf("%s: it acted %d times, want once for each call", name, n)
		}
	}
}

// TestRepeatedCallsSurviveTheirProcess ends the process at effects of parallel calls of one
// file, and has another one resume the run.
func TestRepeatedCallsSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	whole := newMachine(t, inStore)
	whole.collide()
	p := whole.process(0, false)
	p.incrementTools()
	p.write("count", "0")
	if _, err := p.run("r", false, fmt.Sprintf(increments, "inc")); err != nil {
		t.Fatal(err)
	}
	for _, at := range crashes(p.effects, 15) {
		m := newMachine(t, inStore)
		m.collide()
		first := m.process(at.dies, at.after)
		first.incrementTools()
		first.write("count", "0")
		if _, err := first.run("r", false, fmt.Sprintf(increments, "inc")); err == nil {
			continue // it met fewer conflicts
		}
		second := m.process(0, false)
		second.incrementTools()
		out, err := second.run("r", true, fmt.Sprintf(increments, "inc"))
		if err != nil || m.tree()["count"] != "10" {
			t.Errorf("%s: got %v, %v, and the file says %s, want 10", at, out.Value, err, m.tree()["count"])
		}
	}
}
