package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// state returns how a run of the machine stands.
func (m *machine) state(id string) history.Run {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	run, err := p.j.Run(context.Background(), id)
	if err != nil {
		m.t.Fatalf("the run %s: %v", id, err)
	}
	return run
}

// asked returns the step of the only question that the run asks.
func (m *machine) openQuestion() tool.StepPath {
	m.t.Helper()
	p := m.process(0, false)
	defer p.j.Close()
	open := m.questions(p)
	if len(open) != 1 {
		m.t.Fatalf("the run asks %v, want one question", open)
	}
	return open[0].StepPath
}

// TestAnAnswerHoldsOnce checks that a yes to doing a thing again is not one to
// doing it a third time.
func TestAnAnswerHoldsOnce(t *testing.T) { eachStore(t, testAnAnswerHoldsOnce) }

func testAnAnswerHoldsOnce(t *testing.T, on keeper) {
	m := headless(t, on)
	m.approve = host.ApproveAll()
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
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Limit != "unknown_outcome" {
			t.Fatalf("try %d: the run gave %v, want that it is asked what happened", try, err)
		}
		m.answers(m.openQuestion(), true)
		if _, err := start(1).run("r", true, body); err == nil {
			t.Fatalf("try %d: the process did not die", try)
		}
	}
}

// TestAnApprovalIsNoAnswer checks that a yes to an effect that asks a person is
// not what he says.
func TestAnApprovalIsNoAnswer(t *testing.T) { eachStore(t, testAnApprovalIsNoAnswer) }

func testAnApprovalIsNoAnswer(t *testing.T, on keeper) {
	m := headless(t, on)
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
func TestARunWithoutAnID(t *testing.T) { eachStore(t, testARunWithoutAnID) }

func testARunWithoutAnID(t *testing.T, on keeper) {
	m := headless(t, on)
	_, err := m.process(0, false).run("", false, "human.ask('go?')")
	e := value.ErrorOf(err, value.Failed)
	if e == nil || strings.Contains(e.Message(), "run  waits") || strings.Contains(e.Hint, "answer  ") {
		t.Errorf("it gave %v (%s), want the run named", err, e.Hint)
	}
	p := newMachine(t, on).process(0, false)
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'x')"); err != nil {
		t.Fatal(err)
	}
	if out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"}); err != nil || out.ID == "" {
		t.Errorf("undo: %+v, %v, want the ID of the run that took back", out, err)
	}
}

// TestSeveralThingsToWaitFor checks that everything which a run waits for is
// recorded while its other parts run on, that any answer makes it due, and that
// it ends when all is answered, each effect done once.
func TestSeveralThingsToWaitFor(t *testing.T) { eachStore(t, testSeveralThingsToWaitFor) }

func testSeveralThingsToWaitFor(t *testing.T, on keeper) {
	m := headless(t, on)
	start := func() *process {
		p := m.process(0, false)
		p.add("nap.star", star("nap", "", "time.sleep(1000)", ""), nil)
		p.add("ask.star", star("ask", "n: int", "return human.ask('which %d?' % n)", "needs = ['human']"), nil)
		p.add("send.star", star("send", "", "return out.send('x')", "needs = ['use:out']"), nil)
		p.add("look.star", star("look", "", "return fs.exists('x')", "needs = ['fs.read']"), nil)
		return p
	}
	const body = "return [r['value'] for r in tools.call_all([('ask', {'n': 1}), ('look', {}), ('send', {}), ('ask', {'n': 2}), ('look', {})])]"
	p := start()
	_, err := p.run("r", false, body)
	var parked *host.ParkedError
	if !errors.As(err, &parked) || len(parked.Questions) != 3 || !parked.Until.IsZero() {
		t.Fatalf("it gave %v, want three questions", err)
	}
	looked := 0
	for _, did := range p.did {
		if strings.HasPrefix(did, "fs.exists") {
			looked++
		}
	}
	if open := m.questions(p); len(open) != 3 || looked != 2 {
		t.Fatalf("open are %v after %d looks, want three questions, and that the others ran on", open, looked)
	}
	p.j.Close()
	for i, answer := range []struct {
		at   tool.StepPath
		said value.Value
	}{{tool.StepPath{1, 4, 1}, "b"}, {tool.StepPath{1, 3, 1}, true}, {tool.StepPath{1, 1, 1}, "a"}} {
		p := start()
		for range p.j.Due(context.Background(), time.Now()) {
			t.Error("the run is due before it has another answer")
		}
		p.j.Close()
		m.answers(answer.at, answer.said)
		p = start()
		n := 0
		for range p.j.Due(context.Background(), time.Now()) {
			n++
		}
		out, err := p.run("r", true, body)
		p.j.Close()
		if n != 1 || i < 2 && (!errors.As(err, &parked) || len(parked.Questions) != 2-i) {
			t.Fatalf("after %d answers %d runs were due, and it gave %v", i+1, n, err)
		}
		if i == 2 && (err != nil || value.FormatJSON(out.Value, "") != `["a",false,"sent x","b",false]` || m.sent["x"] != 1) {
			t.Errorf("it gave %v, %v and sent %v", value.FormatJSON(out.Value, ""), err, m.sent)
		}
	}
	m = headless(t, on)
	_, err = start().run("r", false, "tools.call_all([('nap', {}), ('ask', {'n': 1})])")
	if run := m.state("r"); !errors.As(err, &parked) || len(parked.Questions) != 1 || run.Reason != "question" || run.Wake.IsZero() {
		t.Errorf("it gave %v, and the run is %+v, want a question and a time", err, run)
	}
}

// TestWhatACalledToolTrips checks that a limit of a called tool parks the run, which
// continues with the call once the limit is no longer reached.
func TestWhatACalledToolTrips(t *testing.T) { eachStore(t, testWhatACalledToolTrips) }

func testWhatACalledToolTrips(t *testing.T, on keeper) {
	for _, limit := range []value.LimitName{value.LimitMemory, value.LimitCPU, value.LimitSteps, value.LimitWall} {
		m := newMachine(t, on)
		repaired := false
		greedy := func(p *process) {
			err := p.Register(tool.Tool{Name: "greedy", Description: "Take.", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, *value.Dict) (value.Value, error) {
				if repaired {
					return "enough", nil
				}
				return nil, value.Errorf(value.Limit, "too much").WithLimit(limit)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		p := m.process(0, false)
		greedy(p)
		_, err := p.run("r", false, "return tools.greedy()")
		p.j.Close()
		if run := m.state("r"); value.KindOf(err) != value.Limit || run.State != history.Parked || run.Reason != "limit" {
			t.Errorf("%s: gave %v, and the run is %s (%s), want it parked", limit, err, run.State, run.Reason)
		}
		repaired = true
		p = m.process(0, false)
		greedy(p)
		if out, err := p.run("r", true, ""); err != nil || out.Value != "enough" {
			t.Errorf("%s: resumed: %v, %v", limit, out.Value, err)
		}
	}
}

// TestOnlyCancelEndsARun checks that the end of its context and that of its host
// interrupt a run, which is then resumed, and that Cancel ends it.
func TestOnlyCancelEndsARun(t *testing.T) { eachStore(t, testOnlyCancelEndsARun) }

func testOnlyCancelEndsARun(t *testing.T, on keeper) {
	for name, stop := range map[string]func(*process, *process, context.CancelFunc){
		"context":            func(_, _ *process, cancel context.CancelFunc) { cancel() },
		"close":              func(p, _ *process, _ context.CancelFunc) { go p.Close() },
		"cancel":             func(p, _ *process, _ context.CancelFunc) { _ = p.Cancel(context.Background(), "r") },
		"cancel from beside": func(_, other *process, _ context.CancelFunc) { _ = other.Cancel(context.Background(), "r") },
	} {
		m := newMachine(t, on)
		ctx, cancel := context.WithCancel(context.Background())
		p, other := m.process(0, false), m.process(0, false)
		start := func(p *process, wait bool) {
			p.add("send.star", star("send", "", "return out.send('x')", "needs = ['use:out']"), nil)
			err := p.Register(tool.Tool{Name: "stop", Description: "Wait.", Hints: tool.Hints{ReadOnly: true}}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
				if wait {
					stop(p, other, cancel)
					<-ctx.Done()
				}
				return "on", ctx.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		start(p, true)
		program := p.program("tools.send()\nreturn attempt(tools.stop)['value']")
		program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}}
		program.ID, program.Kind = "r", "run"
		_, err := p.RunProgram(ctx, program)
		p.j.Close()
		run := m.state("r")
		if strings.HasPrefix(name, "cancel") {
			if value.KindOf(err) != value.Canceled || run.State != history.Cancelled || len(host.Operate(p.Host).Executing()) > 0 {
				t.Errorf("%s: it gave %v, and the run is %s, want it cancelled", name, err, run.State)
			}
			continue
		}
		if value.KindOf(err) != value.Canceled || run.State != history.Parked || run.Reason != "interrupted" {
			t.Errorf("%s: it gave %v, and the run is %s (%s), want it interrupted", name, err, run.State, run.Reason)
		}
		p = m.process(0, false)
		start(p, false)
		if out, err := p.run("r", true, ""); err != nil || out.Value != "on" || m.sent["x"] != 1 {
			t.Errorf("%s: resumed it gave %v, %v and sent %v", name, out.Value, err, m.sent)
		}
	}
}

// TestRunLog checks that a queued run begins when it is first executed, and is resumed afterwards.
func TestRunLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newQuestionRig(t, journal.Memory(), func(o *host.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r.script("", "return 1", "risky = True")
	if _, err := r.BeginCall(t.Context(), tool.Call{Tool: "t"}, host.Durable("r")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Resume(t.Context(), "r"); !errors.Is(err, value.ErrParked) {
			t.Fatalf("the run gave %v, want that it waits", err)
		}
	}
	var said []string
	for line := range strings.Lines(log.String()) {
		_, text, _ := strings.Cut(line, `msg="`)
		text, _, _ = strings.Cut(text, `"`)
		said = append(said, text)
	}
	if want := []string{"run begun", "run parked", "run resumed", "run parked"}; !slices.Equal(said, want) {
		t.Errorf("the log has %q, want %q", said, want)
	}
}

// A parkingLog calls a function when a run is about to be recorded as parked.
type parkingLog struct {
	slog.Handler
	before func()
}

func (l *parkingLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *parkingLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "run parked" {
		l.before()
	}
	return nil
}

// TestCancelWhileParking cancels a run, here and in another process, after it has decided to wait, and before that is
// recorded.
func TestCancelWhileParking(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		log, parks, store := &parkingLog{Handler: slog.DiscardHandler}, 0, journal.Memory()
		r, other := newQuestionRig(t, store, func(o *host.Options) { o.Logger = slog.New(log) }), newQuestionRig(t, store, nil)
		log.before = func() {
			parks++
			cancel := r.Cancel
			if elsewhere {
				cancel = other.Cancel
			}
			if err := cancel(t.Context(), "r"); err != nil {
				t.Error(err)
			}
		}
		r.script("", "return 1", "risky = True")
		if _, err := r.Call(t.Context(), tool.Call{Tool: "t"}, host.Durable("r")); !errors.Is(err, value.ErrParked) || parks != 1 {
			t.Fatalf("the call gave %v after %d parks, want that it waits", err, parks)
		}
		run, err := r.Recorded(t.Context(), "r")
		if err != nil || run.State != history.Cancelled {
			t.Errorf("cancelled elsewhere %v: the run is %s, %v, want it cancelled", elsewhere, run.State, err)
		}
	}
}

// TestCancelBeforeParking cancels a run whose call has just come to a question.
func TestCancelBeforeParking(t *testing.T) {
	t.Parallel()
	var r *rig
	r = newQuestionRig(t, journal.Memory(), func(o *host.Options) {
		o.Middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				result, err := next(ctx, c)
				if !errors.Is(err, value.ErrParked) {
					t.Errorf("the call gave %v, want that it waits", err)
				}
				return result, errors.Join(err, r.Cancel(ctx, "r"))
			}
		}}
	})
	r.script("", "return 1", "risky = True")
	_, err := r.Call(t.Context(), tool.Call{Tool: "t"}, host.Durable("r"))
	if run, e := r.Recorded(t.Context(), "r"); value.KindOf(err) != value.Canceled || run.State != history.Cancelled {
		t.Errorf("the call gave %v, and the run is %s, %v, want it cancelled", err, run.State, e)
	}
}

// TestACancelBeatsAPark checks that a run which another process has cancelled is
// not parked, though it did not look before it came to a question.
func TestACancelBeatsAPark(t *testing.T) { eachStore(t, testACancelBeatsAPark) }

func testACancelBeatsAPark(t *testing.T, on keeper) {
	m := headless(t, on)
	p, other := m.process(0, false), m.process(0, false)
	defer p.j.Close()
	err := p.Register(tool.Tool{Name: "beside", Description: "Cancel.", Hints: tool.Hints{ReadOnly: true}}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		return nil, other.Cancel(ctx, "r")
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.run("r", false, "tools.beside()\nhuman.ask('which?')")
	if state := m.state("r").State; value.KindOf(err) != value.Canceled || state != history.Cancelled {
		t.Errorf("the run gave %v and is %v, want it cancelled", err, state)
	}
}

// TestALaterPermanentApproval checks that a refused effect stays refused, although
// the same was approved permanently after it; and that a replay approves nothing.
func TestALaterPermanentApproval(t *testing.T) { eachStore(t, testALaterPermanentApproval) }

func testALaterPermanentApproval(t *testing.T, on keeper) {
	m := newMachine(t, on)
	asked := 0
	m.approve = host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
		asked++
		return tool.Answer{Yes: asked > 1, Always: asked > 1}, nil
	})
	tools := func(p *process) {
		p.add("send.star", star("send", "n: int", "out.send('x%d' % n)", "needs = ['use:out']"), func(d *toolset.Info) { d.Hash = "h" })
		p.add("both.star", star("both", "", "a = attempt(tools.send, 1)\ntools.send(2)\nreturn a['ok']", "needs = ['tool', 'use:out']"), nil)
	}
	p := m.process(0, false)
	tools(p)
	out, err := p.run("r", false, "return [attempt(tools.send, n = 1)['ok'], attempt(tools.send, n = 2)['ok'], attempt(tools.send, n = 3)['ok']]")
	if err != nil || asked != 2 || value.FormatJSON(out.Value, "") == "" {
		t.Fatalf("the run gave %v, %v after %d questions", out.Value, err, asked)
	}
	other := m.process(0, false)
	tools(other)
	for range 2 {
		if r := other.replay(host.Replay{}); r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) {
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
	t.Parallel()
	m := headless(t, onDisk)
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
	if _, err := p.run("r", false, "tools.w()\nhuman.ask('go?')"); value.KindOf(err) != value.Parked {
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
func TestWhatAnEffectTakesIsTold(t *testing.T) { eachStore(t, testWhatAnEffectTakesIsTold) }

func testWhatAnEffectTakesIsTold(t *testing.T, on keeper) {
	p := newMachine(t, on).process(0, false)
	p.add("w.star", star("w", "", "fs.write('a', 'x')\nout.send('x')", "needs = ['fs.write', 'use:out']"), nil)
	told := map[string]string{}
	stop := hear(t, p.Host, func(e tool.Event) {
		if done, ok := e.Data.(tool.EffectDone); ok {
			told[done.Func] = fmt.Sprint(done.Capabilities)
		}
	})
	_, err := p.run("r", false, "tools.w()")
	if stop(); err != nil || !strings.Contains(told["out.send"], "use:out") || !strings.Contains(told["fs.commit"], "fs.write:a") {
		t.Errorf("%v, told are %v", err, told)
	}
}

// TestNobodysChangeIsLost checks that a call which goes on after somebody has
// changed what it read does not write over that, and only then.
func TestNobodysChangeIsLost(t *testing.T) { eachStore(t, testNobodysChangeIsLost) }

func testNobodysChangeIsLost(t *testing.T, on keeper) {
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
		m := headless(t, on)
		m.approve = host.ApproveAll()
		start := func() *process {
			p := m.process(0, false)
			p.add("t.star", star("t", "", c.body, "needs = ['fs.read', 'fs.write', 'human']"), nil)
			return p
		}
		p := start()
		p.write("n", "1")
		_, err := p.run("r", false, "tools.t()")
		p.j.Close()
		if value.KindOf(err) != value.Parked {
			t.Fatalf("%s: %v", c.name, err)
		}
		p.write("n", c.meanwhile)
		m.answers(m.openQuestion(), true)
		_, err = start().run("r", true, "")
		if got := m.tree()["n"]; got != c.want || c.fails != (value.KindOf(err) == value.Conflict && err != nil) {
			t.Errorf("%s: gave %v and left %q, want %q", c.name, err, got, c.want)
		}
	}
}

// TestAReplayIsOfThen checks that rules and tools of now change nothing in a
// replay.
func TestAReplayIsOfThen(t *testing.T) { eachStore(t, testAReplayIsOfThen) }

func testAReplayIsOfThen(t *testing.T, on keeper) {
	for _, c := range []struct{ then, now, body string }{
		{"", "deny tool:note", "return tools.note(text = 'x')"},
		{"deny tool:note", "", "return attempt(tools.note, text = 'x')"},
		{"", "ask tool", "return tools.call_all([('note', {'text': 'x'}), ('report', {'n': 1})])"},
		{"", "", "return attempt(tools.later)"},
	} {
		m := newMachine(t, on)
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
		p.goTool("later", func(context.Context) (value.Value, error) { return nil, nil })
		if r := p.replay(host.Replay{}); r.Err != nil || !value.Equal(r.Outcome.Value, out.Value) {
			t.Errorf("%s: replayed under %q it gave %v, %v, want %v", c.body, c.now, r.Outcome.Value, r.Err, out.Value)
		}
	}
}

// TestAMendedToolThatTells checks that what a changed tool asks for is found in
// the record, whatever the tool told before it.
func TestAMendedToolThatTells(t *testing.T) { eachStore(t, testAMendedToolThatTells) }

func testAMendedToolThatTells(t *testing.T, on keeper) {
	p := newMachine(t, on).process(0, false)
	p.write("a", "1")
	const needs = "needs = ['fs.read']"
	p.add("t.star", star("t", "", "log('one')\nlog('two')\nreturn fs.read('a')", needs), nil)
	if _, err := p.run("r", false, "return tools.t()"); err != nil {
		t.Fatal(err)
	}
	s := tool.Script{Name: "t", Path: "t.star", Source: star("t", "", "return fs.read('a') + '!'", needs)}
	if r := p.replay(host.Replay{With: &s}); r.Err != nil || r.Outcome.Value != "1!" {
		t.Errorf("it gave %v, %v", r.Outcome.Value, r.Err)
	}
}
