package runtime_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// state returns how a run of the machine stands.
func (m *machine) state(id string) history.Run {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	runs, err := p.j.Runs(context.Background(), history.Filter{ID: id})
	if err != nil || len(runs) != 1 {
		m.t.Fatalf("runs of %s: %v, %v", id, runs, err)
	}
	return runs[0]
}

// TestAnAnswerHoldsOnce checks that a yes to doing a thing again is not one to
// doing it a third time.
func TestAnAnswerHoldsOnce(t *testing.T) {
	m := headless(t)
	m.approve = runtime.ApproveAll
	const body = "return tools.once()"
	start := func(dies int) *process {
		p := m.process(dies, true)
		p.add("once.star", star("once", "", "return out.send('x')", "needs = ['use:out']"), nil)
		return p
	}
	_, _ = start(1).run("r", false, body)
	for try := range 3 {
		p := start(0)
		_, err := p.run("r", true, body)
		p.j.Close()
		if e := tool.ErrorOf(err, tool.Failed); e == nil || e.Limit != "unknown_outcome" {
			t.Fatalf("try %d: the run gave %v, want that it is asked what happened", try, err)
		}
		m.answers(m.state("r").Waits, true)
		if _, err := start(1).run("r", true, body); err == nil {
			t.Fatalf("try %d: the process did not die", try)
		}
	}
}

// TestAnApprovalIsNoAnswer checks that a yes to an effect that asks a person is
// not what he says.
func TestAnApprovalIsNoAnswer(t *testing.T) {
	m := headless(t)
	m.rules = rules(t, "ask human")
	const body = "return human.ask('your name?')"
	at := m.waits(body, false, "approval")
	m.answers(at, true)
	at = m.waits(body, true, "question")
	m.answers(at, "Ann")
	if v, err := m.ends(body); err != nil || v != "Ann" {
		t.Errorf("the run gave %v, %v, want what was answered", v, err)
	}
}

// TestARunWithoutAnID checks that one that the journal names goes by that name.
func TestARunWithoutAnID(t *testing.T) {
	m := headless(t)
	_, err := m.process(0, false).run("", false, "human.ask('go?')")
	e := tool.ErrorOf(err, tool.Failed)
	if e == nil || strings.Contains(e.Message(), "run  waits") || strings.Contains(e.Hint, "answer  ") {
		t.Errorf("it gave %v (%s), want the run named", err, e.Hint)
	}
	p := newMachine(t).process(0, false)
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'x')"); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Undo(context.Background(), runtime.Undo{Run: "r"}); err != nil || out.ID == "" {
		t.Errorf("undo: %+v, %v, want the ID of the run that took back", out, err)
	}
}

// TestOneReasonToWait checks that a run in which several things wait says what
// it waits for as it can be answered.
func TestOneReasonToWait(t *testing.T) {
	m := headless(t)
	p := m.process(0, false)
	p.add("nap.star", star("nap", "", "fs.exists('x')\ntime.sleep(1000)", "needs = ['fs.read']"), nil)
	p.add("ask.star", star("ask", "", "human.ask('go?')", "needs = ['human']"), nil)
	_, err := p.run("r", false, "tools.call_all([('nap', {}), ('ask', {}), ('nap', {}), ('ask', {})])")
	p.j.Close()
	run := m.state("r")
	e := tool.ErrorOf(err, tool.Failed)
	if e == nil || e.Kind != tool.Parked || run.Reason != string(e.Limit) || (run.Reason == "sleep") == run.Wake.IsZero() {
		t.Errorf("it gave %v, and the run is %+v, want one reason", err, run)
	}
}

// TestWhatACalledToolTrips checks that a limit of a tool is a failure of its call,
// and no reason to go on with the run in another process.
func TestWhatACalledToolTrips(t *testing.T) {
	for _, limit := range []tool.LimitName{tool.LimitMemory, tool.LimitCPU, tool.LimitSteps, tool.LimitWall} {
		m := newMachine(t)
		p := m.process(0, false)
		p.goTool("greedy", func(context.Context) (tool.Value, error) {
			e := tool.Errorf(tool.Limit, "too much")
			e.Limit = limit
			return nil, e
		})
		_, err := p.run("r", false, "tools.greedy()")
		p.j.Close()
		if run := m.state("r"); tool.KindOf(err) != tool.Limit || run.State != history.Failed {
			t.Errorf("%s: gave %v, and the run is %s (%s), want it failed", limit, err, run.State, run.Reason)
		}
	}
}

// TestACancelledRunHasEnded checks that a run which its user ends is not taken for
// one that broke off.
func TestACancelledRunHasEnded(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithCancel(context.Background())
	p := m.process(0, false)
	p.goTool("stop", func(ctx context.Context) (tool.Value, error) {
		cancel()
		_, err := p.Call(ctx, tool.Call{Tool: "other"})
		return nil, err
	})
	p.goTool("other", func(context.Context) (tool.Value, error) { return nil, nil })
	program := p.program("tools.stop()")
	program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}
	program.ID, program.Kind = "r", "run"
	_, err := p.Run(ctx, program)
	p.j.Close()
	if run := m.state("r"); tool.KindOf(err) != tool.Canceled || run.State != history.Cancelled {
		t.Errorf("it gave %v, and the run is %s, want it cancelled", err, run.State)
	}
}

// TestAnApprovalForGoodComesLater checks that what was refused stays so, though
// the same was approved for good after it; and that a replay approves nothing.
func TestAnApprovalForGoodComesLater(t *testing.T) {
	m := newMachine(t)
	asked := 0
	m.approve = func(_ context.Context, q runtime.Question) (runtime.Answer, error) {
		asked++
		return runtime.Answer{Yes: asked > 1, Always: asked > 1}, nil
	}
	tools := func(p *process) {
		p.add("send.star", star("send", "n: int", "out.send('x%d' % n)", "needs = ['use:out']"), func(d *tool.Tool) { d.Hash = "h" })
		p.add("both.star", star("both", "", "a = attempt(tools.send, 1)\ntools.send(2)\nreturn a['ok']", "needs = ['tool', 'use:out']"), nil)
	}
	p := m.process(0, false)
	tools(p)
	out, err := p.run("r", false, "return [attempt(tools.send, n = 1)['ok'], attempt(tools.send, n = 2)['ok'], attempt(tools.send, n = 3)['ok']]")
	if err != nil || asked != 2 || tool.FormatJSON(out.Value, "") == "" {
		t.Fatalf("the run gave %v, %v after %d questions", out.Value, err, asked)
	}
	other := m.process(0, false)
	tools(other)
	for range 2 {
		if r := other.replay(runtime.Replay{}); r.Err != nil || !tool.Equal(r.Outcome.Value, out.Value) {
			t.Errorf("replayed: %v, %v, want %v", r.Outcome.Value, r.Err, out.Value)
		}
	}
	if _, err := other.run("s", false, "tools.send(n = 4)"); err != nil || asked != 3 {
		t.Errorf("after a replay, a call gave %v and %d questions were asked, want that it is asked about", err, asked)
	}
}

// TestARecordThatCannotBeTakenUpIsNotInHand checks that a run whose record is
// damaged says so each time.
func TestARecordThatCannotBeTakenUpIsNotInHand(t *testing.T) {
	m := headless(t)
	var big strings.Builder // too large to be kept in the database
	for i := range 3500 {
		big.WriteString("# " + tool.HashBytes([]byte{byte(i), byte(i >> 8)}) + "\n")
	}
	start := func() *process {
		p := m.process(0, false)
		p.add("w.star", star("w", "", "return 1", "")+big.String(), nil)
		return p
	}
	p := start()
	if _, err := p.run("r", false, "tools.w()\nhuman.ask('go?')"); tool.KindOf(err) != tool.Parked {
		t.Fatal(err)
	}
	p.j.Close()
	if err := os.RemoveAll(m.journal + "/blobs"); err != nil {
		t.Fatal(err)
	}
	p = start()
	for range 2 {
		if _, err := p.run("r", true, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("resumed, it gave %v, want what is damaged", err)
		}
	}
}

// TestWhatAnEffectTakesIsTold checks that the commit before an effect is not told
// as the effect.
func TestWhatAnEffectTakesIsTold(t *testing.T) {
	p := newMachine(t).process(0, false)
	p.add("w.star", star("w", "", "fs.write('a', 'x')\nout.send('x')", "needs = ['fs.write', 'use:out']"), nil)
	told := map[string]string{}
	defer p.Events.Subscribe(tool.EffectDone, func(e tool.Event) {
		list, _ := e.Data.Get("capabilities")
		told[e.Data.Text("func")] = tool.FormatJSON(list, "")
	})()
	if _, err := p.run("r", false, "tools.w()"); err != nil || !strings.Contains(told["out.send"], "use:out") || !strings.Contains(told["fs.commit"], "fs.write:a") {
		t.Errorf("%v, told are %v", err, told)
	}
}

// TestNobodysChangeIsLost checks that a call which goes on after somebody has
// changed what it read does not write over that, and only then.
func TestNobodysChangeIsLost(t *testing.T) {
	for _, c := range []struct {
		name, body, meanwhile, want string
		fails                       bool
	}{
		{"changed meanwhile", "n = fs.read('n')\nhuman.confirm('go?')\nfs.write('n', n + '1')", "10", "10", true},
		{"not changed", "n = fs.read('n')\nhuman.confirm('go?')\nfs.write('n', n + '1')", "1", "11", false},
		{"made meanwhile", "n = attempt(fs.read, 'm')\nhuman.confirm('go?')\nfs.write('m', 'x')\nfs.write('n', 'x')", "10", "x", false},
		{"changed by itself", "n = fs.read('n')\nfs.write('n', n + '2')\nhuman.confirm('go?')\nfs.write('n', fs.read('n') + '3')\ntime.sleep(0)\nfs.append('n', '4')", "12", "1234", false},
		{"changed by itself, and then", "n = fs.read('n')\nfs.write('n', n + '2')\nn = fs.read('n')\nhuman.confirm('go?')\nfs.write('n', n + '3')", "5", "5", true},
	} {
		m := headless(t)
		m.approve = runtime.ApproveAll
		start := func() *process {
			p := m.process(0, false)
			p.add("t.star", star("t", "", c.body, "needs = ['fs.read', 'fs.write', 'human']"), nil)
			return p
		}
		p := start()
		p.write("n", "1")
		_, err := p.run("r", false, "tools.t()")
		p.j.Close()
		if tool.KindOf(err) != tool.Parked {
			t.Fatalf("%s: %v", c.name, err)
		}
		p.write("n", c.meanwhile)
		m.answers(m.state("r").Waits, true)
		_, err = start().run("r", true, "")
		if got := m.tree()["n"]; got != c.want || c.fails != (tool.KindOf(err) == tool.Conflict && err != nil) {
			t.Errorf("%s: gave %v and left %q, want %q", c.name, err, got, c.want)
		}
	}
}

// TestAReplayIsOfThen checks that rules and tools of now change nothing in a
// replay.
func TestAReplayIsOfThen(t *testing.T) {
	for _, c := range []struct{ then, now, body string }{
		{"", "deny tool:note", "return tools.note(text = 'x')"},
		{"deny tool:note", "", "return attempt(tools.note, text = 'x')"},
		{"", "ask tool", "return tools.call_all([('note', {'text': 'x'}), ('report', {'n': 1})])"},
		{"", "", "return attempt(tools.later)"},
	} {
		m := newMachine(t)
		if c.then != "" {
			m.rules = rules(t, c.then)
		}
		p := m.process(0, false)
		p.tools()
		out, err := p.run("r", false, c.body)
		if err != nil {
			t.Fatal(err)
		}
		p.j.Close()
		m.rules, m.approve = nil, nil
		if c.now != "" {
			m.rules = rules(t, c.now)
		}
		p = m.process(0, false)
		p.tools()
		p.goTool("later", func(context.Context) (tool.Value, error) { return nil, nil })
		if r := p.replay(runtime.Replay{}); r.Err != nil || !tool.Equal(r.Outcome.Value, out.Value) {
			t.Errorf("%s: replayed under %q it gave %v, %v, want %v", c.body, c.now, r.Outcome.Value, r.Err, out.Value)
		}
	}
}

// TestAMendedToolThatTells checks that what a changed tool asks for is found in
// the record, whatever the tool told before it.
func TestAMendedToolThatTells(t *testing.T) {
	p := newMachine(t).process(0, false)
	p.write("a", "1")
	const needs = "needs = ['fs.read']"
	p.add("t.star", star("t", "", "log('one')\nlog('two')\nreturn fs.read('a')", needs), nil)
	if _, err := p.run("r", false, "return tools.t()"); err != nil {
		t.Fatal(err)
	}
	s := tool.Script{Name: "t", Path: "t.star", Source: star("t", "", "return fs.read('a') + '!'", needs)}
	if r := p.replay(runtime.Replay{With: &s}); r.Err != nil || r.Outcome.Value != "1!" {
		t.Errorf("it gave %v, %v", r.Outcome.Value, r.Err)
	}
}
