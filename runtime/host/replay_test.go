package host_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// replay runs a recorded run of the process again.
func (p *process) replay(o host.Replay) *host.Replayed {
	p.m.t.Helper()
	o.Program = p.program("")
	o.Program.Modules, o.Program.Needs, o.Program.ID = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}, "r"
	r, err := p.Replay(context.Background(), o)
	if err != nil {
		p.m.t.Fatal(err)
	}
	return r
}

// TestReplayIsExact checks that a run comes out the same from its record alone,
// whatever has become of the world, and touches nothing.
func TestReplayIsExact(t *testing.T) { eachStore(t, testReplayIsExact) }

func testReplayIsExact(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	out, err := p.run("r", false, flow)
	if err != nil {
		t.Fatal(err)
	}
	p.write("log", "something else\n")
	tree, effects := m.tree(), p.effects
	again := m.process(0, false)
	again.tools()
	r := again.replay(host.Replay{})
	if r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) || len(r.Differences) > 0 || r.Steps < 15 {
		t.Errorf("replayed: %v, %v, %d steps, differences %v, want %v", r.Outcome.Value, r.Err, r.Steps, r.Differences, out.Value)
	}
	if again.effects != 0 || p.effects != effects || !maps.Equal(m.tree(), tree) || m.sent["report 1"] != 1 {
		t.Errorf("the replay did %d effects and left %v", again.effects, m.tree())
	}
}

// TestReplayAuditsNothing checks that the audit has each decision of a run once, also
// after the run was replayed.
func TestReplayAuditsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t, onDisk)
	m.rules, m.approve = rules(t, "ask tool:report", "deny tool:note"), host.ApproveAll()
	audited := map[string]int{}
	m.audit = func(e tool.Event) error {
		d := e.Data.(tool.Audit)
		audited[d.Decision+" "+e.Tool]++
		return nil
	}
	p := m.process(0, false)
	p.tools()
	if _, err := p.run("r", false, "return [attempt(tools.report, n = 1), attempt(tools.note, text = 'one')]"); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"allowed report": 1, "denied note": 2} // report calls note too
	if !maps.Equal(audited, want) {
		t.Errorf("the run audited %v, want %v", audited, want)
	}
	again := m.process(0, false)
	again.tools()
	if r := again.replay(host.Replay{}); r.Err != nil || len(r.Differences) > 0 || !maps.Equal(audited, want) {
		t.Errorf("the replay: %v, %v, audited %v, want no more", r.Err, r.Differences, audited)
	}
}

// TestReplayOfRefusedCalls checks that what was refused then is refused again,
// whatever the rules are now.
func TestReplayOfRefusedCalls(t *testing.T) { eachStore(t, testReplayOfRefusedCalls) }

func testReplayOfRefusedCalls(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.rules = rules(t, "deny tool:report")
	p := m.process(0, false)
	p.tools()
	out, err := p.run("r", false, `
got = [attempt(tools.report, n = 1), attempt(tools.call, 'nothing')]
return got + tools.call_all([('note', {'text': 'one'}), ('report', {'n': 2}), ('nothing', {}), ('note', {'text': 'two', 'file': 'other'}), ('note', {'line': 1})])`)
	if err != nil {
		t.Fatal(err)
	}
	m.rules = nil
	again := m.process(0, false)
	again.tools()
	r := again.replay(host.Replay{})
	if r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) || len(r.Differences) > 0 || again.effects != 0 {
		t.Errorf("replayed: %v, %v, differences %v, %d effects done, want %v", r.Outcome.Value, r.Err, r.Differences, again.effects, out.Value)
	}
}

// TestReplayOfLimitedCalls checks that calls which failed because of their environment, after
// their first effects, fail again in a replay that could get further.
func TestReplayOfLimitedCalls(t *testing.T) { eachStore(t, testReplayOfLimitedCalls) }

func testReplayOfLimitedCalls(t *testing.T, on keeper) {
	for _, failure := range []*value.Error{
		value.Errorf(value.Limit, "the script used more than 8 MB of memory").WithLimit(value.LimitMemory),
		value.Errorf(value.Limit, "the script computed for longer than 1s").WithLimit(value.LimitCPU),
		value.Errorf(value.Timeout, "the call took longer than 1s").WithLimit(value.LimitWall),
		value.Errorf(value.Unavailable, "a worker cannot be started"),
	} {
		m := newMachine(t, on)
		add := func(p *process) *process {
			needs := "needs = ['fs.read', 'fs.write', 'tool', 'use:out']"
			p.write("a", "1")
			p.add("work.star", star("work", "", "fs.exists('a')\nout.send('x')\nout.send('y')\nfs.write('b', 'c')", needs), nil)
			p.add("outer.star", star("outer", "", "fs.exists('a')\nreturn attempt(tools.work)['error']", needs), nil)
			return p
		}
		p := add(m.confined(&deadlyBox{victim: "work.star", at: 2, failure: failure}))
		out, err := p.run("r", false, "r = attempt(tools.work)\nreturn [r['error'], r['error_type'], attempt(tools.call_all, [('outer', {}), ('work', {})])]")
		if err != nil || m.sent["x"] != 3 || m.sent["y"] != 0 {
			t.Fatalf("%v: the run gave %v, %v, and sent %v", failure, out.Value, err, m.sent)
		}
		r := add(m.process(0, false)).replay(host.Replay{})
		if r.Err != nil || r.Ended || len(r.Differences) > 0 || !value.Equal(r.Outcome.Value, out.Value) || m.sent["y"] != 0 {
			t.Errorf("%v: replayed: %v, %v, differences %v, want %v", failure, r.Outcome.Value, r.Err, r.Differences, out.Value)
		}
	}
}

// TestReplayOfNestedCalls checks that a call at a step of its own is not taken for one
// of several, whatever the tool returns that makes it.
func TestReplayOfNestedCalls(t *testing.T) { eachStore(t, testReplayOfNestedCalls) }

func testReplayOfNestedCalls(t *testing.T, on keeper) {
	m := newMachine(t, on)
	start := func() *process {
		p := m.process(0, false)
		p.add("pure.star", star("pure", "", "return 7", ""), nil)
		p.add("bad.star", star("bad", "n: int", "return n", ""), nil)
		p.add("outer.star", star("outer", "", "x = tools.call('pure')\nreturn tools.call_all([('bad', {}), ('pure', {})])", "needs = ['tool']"), nil)
		return p
	}
	out, err := start().run("r", false, "return tools.outer()")
	if err != nil {
		t.Fatal(err)
	}
	if r := start().replay(host.Replay{}); r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) || len(r.Differences) > 0 {
		t.Errorf("replayed: %v, %v, differences %v, want %v", r.Outcome.Value, r.Err, r.Differences, out.Value)
	}
	with := tool.Script{Name: "bad", Path: "bad.star", Source: star("bad", "n: int = 1", "return n", "")}
	if r := start().replay(host.Replay{With: &with}); !r.Used {
		t.Errorf("a replaced tool was not used: %v, %v", r.Outcome.Value, r.Err)
	}
}

// TestReplayOfAnother checks where a replay ends that does not follow its record.
func TestReplayOfAnother(t *testing.T) { eachStore(t, testReplayOfAnother) }

func testReplayOfAnother(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.goTool("cut", func(context.Context) (value.Value, error) { return nil, p.j.Close() })
	if _, err := p.run("r", false, "time.now()\ntools.cut()"); err == nil {
		t.Fatal("the run ended")
	}
	p = m.process(0, false)
	p.goTool("cut", func(context.Context) (value.Value, error) { return nil, nil })
	if r := p.replay(host.Replay{}); !r.Ended || !strings.Contains(r.Err.Error(), "ends in the middle") {
		t.Errorf("a run that broke off gave %v", r.Err)
	}
	for _, c := range []struct{ script, want string }{
		{"def main(arg = None):\n    time.now()\n    time.sleep(1)\n", "replay: the record has no outcome of step 2: time.sleep("},
		{"def main(arg = None):\n    time.now()\n    return 1\n", ""},
	} {
		s := tool.Script{Name: "p", Path: "p.star", Source: c.script}
		r := p.replay(host.Replay{With: &s, Root: true})
		if c.want == "" && (r.Err != nil || r.Outcome.Value != int64(1)) || c.want != "" && (!r.Ended || !strings.Contains(r.Err.Error(), c.want) || !strings.Contains(r.Err.Error(), "p.star:3:")) {
			t.Errorf("%q gave %v, %v, want %q with its line", c.script, r.Outcome.Value, r.Err, c.want)
		}
	}
}

// TestReplayWithAMendedTool checks what is told of a tool that was changed since.
func TestReplayWithAMendedTool(t *testing.T) { eachStore(t, testReplayWithAMendedTool) }

func testReplayWithAMendedTool(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.write("in", "3 apples")
	const needs = "needs = ['fs.read', 'fs.write']"
	p.add("count.star", star("count", "", "text = fs.read('in')\nreturn int(text[0]) + 1", needs), nil)
	const body = "return [tools.count(), tools.count()]"
	if _, err := p.run("r", false, body); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, body string
		from       tool.StepPath
		want       string
		differ     int
		would      int
		text       string
	}{
		{"mended", "return int(fs.read('in')[0])", nil, "[3,3]", 2, 0, ""},
		{"from the second", "return int(fs.read('in')[0])", tool.StepPath{2}, "[4,3]", 1, 0, ""},
		{"with a write", "fs.write('out', 'x')\nreturn int(fs.read('in')[0])", nil, "[3,3]", 2, 2, ""},
		{"with what is not known", "return fs.read('other')", nil, "", 0, 0, "nothing at step 1.1"},
	} {
		s := tool.Script{Name: "count", Path: "count.star", Source: star("count", "", c.body, needs)}
		r := p.replay(host.Replay{With: &s, From: c.from})
		got := strings.ReplaceAll(value.FormatJSON(r.Outcome.Value, ""), " ", "")
		if c.text != "" {
			if !r.Ended || !strings.Contains(r.Err.Error(), "step 1.1") {
				t.Errorf("%s: gave %v, want that the record ends", c.name, r.Err)
			}
			continue
		}
		if r.Err != nil || got != c.want || len(r.Differences) != c.differ || len(r.Would) != c.would {
			t.Errorf("%s: gave %s, %v with differences %v and would %v", c.name, got, r.Err, r.Differences, r.Would)
		}
	}
	if _, known := m.tree()["out"]; known {
		t.Error("a replay wrote a file")
	}
}

// TestReplayMarksAssumptions checks that a replay with a changed tool reports what it takes from
// the record although the change could have changed it: a counter that adds 10 has 10 and 20,
// and the record knows of 0 and 1.
func TestReplayMarksAssumptions(t *testing.T) { eachStore(t, testReplayMarksAssumptions) }

func testReplayMarksAssumptions(t *testing.T, on keeper) {
	const count = "n = int(fs.read('n')) + 1\nfs.write('n', str(n))\nreturn n"
	m := newMachine(t, on)
	p := m.process(0, false)
	p.write("n", "0")
	p.add("count.star", star("count", "", count, "needs = ['fs.read', 'fs.write']"), nil)
	if out, err := p.run("r", false, "return [tools.count(), tools.count()]"); err != nil || value.FormatJSON(out.Value, "") != "[1,2]" {
		t.Fatal(out.Value, err)
	}
	if r := p.replay(host.Replay{}); len(r.Assumed) > 0 {
		t.Errorf("the exact replay assumes %v", r.Assumed)
	}
	with := tool.Script{Name: "count", Path: "count.star", Source: star("count", "", strings.Replace(count, "+ 1", "+ 10", 1), "needs = ['fs.read', 'fs.write']")}
	r := p.replay(host.Replay{With: &with})
	if r.Err != nil || len(r.Assumed) != 1 || r.Assumed[0].Func != "fs.read" || r.Assumed[0].StepPath.String() != "2.1" {
		t.Errorf("the replay gave %v, %v, and assumes %v, want step 2.1", r.Outcome.Value, r.Err, r.Assumed)
	}
	same := tool.Script{Name: "count", Path: "count.star", Source: star("count", "", strings.Replace(count, "+ 1", "+ 2 - 1", 1), "needs = ['fs.read', 'fs.write']")}
	if r := p.replay(host.Replay{With: &same}); r.Err != nil || len(r.Assumed) > 0 {
		t.Errorf("the replay without a difference gave %v, and assumes %v", r.Err, r.Assumed)
	}
}
