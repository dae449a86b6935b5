package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// headless is a machine on which nobody can be asked.
func headless(t *testing.T, on keeper) *machine {
	m := newMachine(t, on)
	m.approve, m.answer, m.parks = nil, nil, true
	return m
}

// waits runs, or resumes, a run that is to park, and returns where it waits.
func (m *machine) waits(body string, resume bool, why string) tool.StepPath {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	p.tools()
	_, err := p.run("r", resume, body)
	e := value.ErrorOf(err, value.Failed)
	if e == nil || e.Kind != value.Parked || string(e.Limit) != why || e.Hint == "" {
		m.t.Fatalf("the run gave %v, want that it waits (%s)", err, why)
	}
	if run := p.state("r"); run.State != history.Parked || run.Reason != why {
		m.t.Fatalf("the run is %+v, want it parked (%s)", run, why)
	}
	open := m.questions(p)
	if len(open) == 0 {
		return nil
	}
	return open[0].StepPath
}

// questions returns what the run asks.
func (m *machine) questions(p *process) []history.Asked {
	m.t.Helper()
	questions := p.j.Questions
	if m.on == inMemory {
		questions = func(ctx context.Context, run string) ([]history.Asked, error) {
			return m.records[run].Questions(ctx)
		}
	}
	open, err := questions(context.Background(), "r")
	if err != nil {
		m.t.Fatal(err)
	}
	return open
}

// answered answers as another process would.
func (m *machine) answers(at tool.StepPath, said value.Value) {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	for _, q := range m.questions(p) {
		if q.StepPath.String() != at.String() {
			continue
		}
		a := tool.Answer{Value: said}
		if yes, ok := said.(bool); ok {
			a = tool.Answer{Yes: yes}
		}
		err := p.answers(&q, a)
		if err != nil {
			m.t.Fatal(err)
		}
		return
	}
	m.t.Fatalf("nothing is asked at %s", at)
}

// answers answers a question of a run.
func (p *process) answers(q *history.Asked, a tool.Answer) error {
	if p.m.on == inMemory {
		return p.m.records[q.Run].Send(q.StepPath, q.N, a)
	}
	return p.Answer(context.Background(), q.ID, a)
}

// ends resumes a run that is to end.
func (m *machine) ends(body string) (value.Value, error) {
	p := m.process(0, false)
	defer p.j.Close()
	p.tools()
	out, err := p.run("r", true, body)
	return out.Value, err
}

// TestAnApprovalParksARun checks that a run waits for its approvals in no
// process, one after the other, and goes on with each answer.
func TestAnApprovalParksARun(t *testing.T) { eachRecord(t, testAnApprovalParksARun) }

func testAnApprovalParksARun(t *testing.T, on keeper) {
	m := headless(t, on)
	const body = "a = tools.note(text = 'one')\nb = attempt(tools.report, n = 1)\nreturn [a, b['value'], b['error']]"
	if at := m.waits(body, false, "approval"); at.String() != "1" {
		t.Fatalf("it waits at %s, want at the first call", at)
	}
	if at := m.waits(body, true, "approval"); at.String() != "1" || len(m.tree()) != 0 {
		t.Fatalf("it waits at %s with %v, want at the first call still", at, m.tree())
	}
	m.answers(tool.StepPath{1}, true)
	if at := m.waits(body, true, "approval"); at.String() != "2" || m.tree()["log"] != "one\n" {
		t.Fatalf("it waits at %s with %v, want at the second call", at, m.tree())
	}
	m.answers(tool.StepPath{2}, true)
	at := m.waits(body, true, "approval") // for the tool that the second one calls
	m.answers(at, false)
	v, err := m.ends(body)
	if err != nil || !strings.Contains(value.FormatJSON(v, ""), "was not approved") || m.sent["report 1"] != 1 {
		t.Errorf("the run gave %v, %v and sent %v, want the refusal as an error and one message", v, err, m.sent)
	}
}

// TestSleepParksARun checks that a long sleep takes no process, and a short one
// is not begun anew.
func TestSleepParksARun(t *testing.T) { eachRecord(t, testSleepParksARun) }

func testSleepParksARun(t *testing.T, on keeper) {
	m := headless(t, on)
	const body = "time.sleep(100000)\nreturn 'awake'"
	m.waits(body, false, "sleep")
	m.waits(body, true, "sleep")
	if on == inMemory {
		return // nobody asks it what is due
	}
	p := m.process(0, false)
	for in, want := range map[time.Duration]int{0: 0, 90_000 * time.Second: 0, 110_000 * time.Second: 1} {
		n := 0
		for _, err := range p.j.Due(context.Background(), time.Now().Add(in)) {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != want {
			t.Errorf("after %v %d runs are due, want %d", in, n, want)
		}
	}
	m = headless(t, on)
	if v, err := m.process(0, false).run("r", false, "time.sleep(0.01)\nreturn 'awake'"); err != nil || v.Value != "awake" {
		t.Errorf("a short sleep gave %v, %v", v, err)
	}
}

// TestWhatMayHaveHappenedIsAsked checks that an effect beyond the project that
// may have been done is done again only if somebody says so.
func TestWhatMayHaveHappenedIsAsked(t *testing.T) { eachRecord(t, testWhatMayHaveHappenedIsAsked) }

func testWhatMayHaveHappenedIsAsked(t *testing.T, on keeper) {
	const body = "r = attempt(tools.once)\nreturn r['ok']"
	for _, again := range []bool{true, false} {
		m := headless(t, on)
		m.approve = host.ApproveAll()
		once := func(p *process) {
			p.add("once.star", star("once", "", "return out.send('x')", "needs = ['use:out']"), nil)
		}
		p := m.process(1, true)
		once(p)
		if _, err := p.run("r", false, body); err == nil {
			t.Fatal("the process did not die")
		}
		p = m.process(0, false)
		once(p)
		_, err := p.run("r", true, body)
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Limit != "unknown_outcome" {
			t.Fatalf("resumed, the run gave %v, want that it is asked what happened", err)
		}
		m.answers(m.questions(p)[0].StepPath, again)
		p = m.process(0, false)
		once(p)
		out, err := p.run("r", true, body)
		if err != nil || out.Value != again || m.sent["x"] != 1 {
			t.Errorf("answered %v: gave %v, %v, sent %v", again, out.Value, err, m.sent)
		}
	}
}

// TestARunKeepsItsTools checks that a run goes on with the tools as it has first
// called them, and with none of which the trust was taken back.
func TestARunKeepsItsTools(t *testing.T) { eachRecord(t, testARunKeepsItsTools) }

func testARunKeepsItsTools(t *testing.T, on keeper) {
	const body = "a = tools.say()\nhuman.confirm('go on?')\nreturn [a, tools.say(), tools.other()]"
	say := func(p *process, text string, change func(*toolset.Info)) {
		p.add("say.star", star("say", "", "return '"+text+"'", ""), func(d *toolset.Info) {
			d.Hash = text
			if change != nil {
				change(d)
			}
		})
		p.add("other.star", star("other", "", "return '"+text+"'", ""), func(d *toolset.Info) { d.Hash = "other " + text })
	}
	for _, c := range []struct {
		name, want string
		change     func(*toolset.Info)
	}{
		{"changed", `["old","old","new"]`, func(d *toolset.Info) { d.State, d.Reason = toolset.Untrusted, "it has changed since it was trusted" }},
		{"revoked", "untrusted", func(d *toolset.Info) { d.State, d.Revoked = toolset.Untrusted, true }},
	} {
		m := headless(t, on)
		p := m.process(0, false)
		say(p, "old", nil)
		if _, err := p.run("r", false, body); value.KindOf(err) != value.Parked {
			t.Fatalf("%s: gave %v, want that it waits", c.name, err)
		}
		p.j.Close()
		p = m.process(0, false)
		say(p, "new", c.change)
		m.answers(tool.StepPath{2}, true)
		out, err := p.run("r", true, body)
		got := value.FormatJSON(out.Value, "")
		if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, " ", ""); !strings.Contains(got, c.want) {
			t.Errorf("%s: resumed gave %s, want %s", c.name, got, c.want)
		}
	}
}

// TestARunIsInOnePlace checks that a run in hand is resumed by nobody else, and
// one that has ended by nobody.
func TestARunIsInOnePlace(t *testing.T) { eachStore(t, testARunIsInOnePlace) }

func testARunIsInOnePlace(t *testing.T, on keeper) {
	m := headless(t, on)
	p, other := m.process(0, false), m.process(0, false)
	p.goTool("look", func(context.Context) (value.Value, error) {
		_, err := other.run("r", true, "")
		return value.KindOf(err).String(), nil
	})
	m.approve = host.ApproveAll()
	out, err := p.run("r", false, "return tools.look()")
	if err != nil || out.Value != "conflict" {
		t.Errorf("resumed in the middle, the run gave %v, %v, want a conflict", out.Value, err)
	}
	if _, err := other.run("r", true, ""); value.KindOf(err) != value.Conflict {
		t.Errorf("resumed after its end, it gave %v, want a conflict", err)
	}
}
