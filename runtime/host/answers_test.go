package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAPermanentAnswerHoldsForAllOpenQuestions checks that a permanent yes to one
// of several open questions answers those that are asked alike, and no others,
// whichever comes up first when the run is resumed.
func TestAPermanentAnswerHoldsForAllOpenQuestions(t *testing.T) {
	t.Parallel()
	eachStore(t, testAPermanentAnswerHoldsForAllOpenQuestions)
}

func testAPermanentAnswerHoldsForAllOpenQuestions(t *testing.T, on keeper) {
	const body = "return [r['value'] for r in tools.call_all([('send', {'n': 1}), ('send', {'n': 2}), ('other', {}), ('send', {'n': 3})])]"
	for answered := range 4 {
		if answered == 2 {
			continue // that of the other tool
		}
		m := headless(t, on)
		start := func() *process {
			p := m.process(0, false)
			p.add("send.star", star("send", "n: int", "return out.send('x%d' % n)", "needs = ['use:out']"), func(d *toolset.Info) { d.Hash = "h" })
			p.add("other.star", star("other", "", "return out.send('y')", "needs = ['use:out']"), func(d *toolset.Info) { d.Hash = "i" })
			return p
		}
		p := start()
		_, err := p.run("r", false, body)
		var parked *host.ParkedError
		if !errors.As(err, &parked) || len(parked.Questions) != 4 {
			t.Fatalf("the run gave %v, want that it has four questions", err)
		}
		for _, q := range m.questions(p) {
			if q.StepPath[1] == answered+1 {
				if err := p.Answer(context.Background(), q.ID, tool.Answer{Yes: true, Always: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.j.Close()
		p = start()
		_, err = p.run("r", true, body)
		if !errors.As(err, &parked) || len(parked.Questions) != 1 || !strings.Contains(parked.Questions[0].Text, "'other'") || len(m.sent) != 3 {
			t.Errorf("after a permanent yes to call %d the run gave %v and sent %v, want that it asks about the other tool alone", answered+1, err, m.sent)
		}
		p.j.Close()
	}
}

// TestWrongArgumentsInAnAnswer checks that arguments which the tool does not take
// bring the question back, with what is wrong, in whatever process it is asked.
func TestWrongArgumentsInAnAnswer(t *testing.T) { eachStore(t, testWrongArgumentsInAnAnswer) }

func testWrongArgumentsInAnAnswer(t *testing.T, on keeper) {
	m := headless(t, on)
	start := func() *process {
		p := m.process(0, false)
		p.add("send.star", star("send", "n: int", "return out.send('x%d' % n)", "needs = ['use:out'], risky = True"), nil)
		return p
	}
	call := tool.Call{Tool: "send", Args: value.NewDict("n", 1)}
	answer := func(number int, args *value.Dict) {
		t.Helper()
		p := start()
		defer p.j.Close()
		open := m.questions(p)
		if len(open) != 1 || open[0].N != number {
			t.Fatalf("open are %+v, want question %d", open, number)
		}
		if err := p.Answer(context.Background(), open[0].ID, tool.Answer{Yes: true, Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	var parked *host.ParkedError
	p := start()
	if _, err := p.Call(context.Background(), call, host.Durable("r")); !errors.As(err, &parked) {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	p.j.Close()
	answer(1, value.NewDict("n", "many"))
	p = start()
	if _, err := p.Resume(context.Background(), "r"); !errors.As(err, &parked) || len(parked.Questions) != 1 ||
		!strings.Contains(parked.Questions[0].Why, "the arguments are invalid") {
		t.Fatalf("with wrong arguments the call gave %v, want that it asks again", err)
	}
	p.j.Close()
	answer(2, value.NewDict("n", 7))
	p = start()
	defer p.j.Close()
	if r, err := p.Resume(context.Background(), "r"); err != nil || m.sent["x7"] != 1 || len(m.sent) != 1 {
		t.Errorf("with right arguments the call gave %+v, %v and sent %v", r, err, m.sent)
	}
}

// TestAnInterruptedRunIsDue checks that a run which was stopped is due, though it
// has a question that nobody has answered: what runs beside that can continue.
func TestAnInterruptedRunIsDue(t *testing.T) { eachStore(t, testAnInterruptedRunIsDue) }

func testAnInterruptedRunIsDue(t *testing.T, on keeper) {
	m := headless(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	p.add("ask.star", star("ask", "", "return human.ask('which?')", "needs = ['human']"), nil)
	p.add("nap.star", star("nap", "", "time.sleep(30)", ""), nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := p.runIn(ctx, "r", false, "tools.call_all([('ask', {}), ('nap', {})])")
		done <- err
	}()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) { // until it has asked
		if open, _ := p.j.Questions(ctx, "r"); len(open) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the run did not ask")
		}
	}
	cancel()
	if err := <-done; value.KindOf(err) != value.Canceled {
		t.Fatalf("the run gave %v, want that it was interrupted", err)
	}
	due := 0
	for r, err := range p.j.Due(context.Background(), time.Now()) {
		if due++; err != nil || r.Reason != history.Interrupted {
			t.Errorf("due is %+v, %v, want the interrupted run", r, err)
		}
	}
	if due != 1 || len(m.questions(p)) != 1 {
		t.Errorf("%d runs are due and %d questions are open, want 1 and 1", due, len(m.questions(p)))
	}
}

// TestACallOfAnUntrustedToolWaits checks that a call is not ended by a resume where
// its tool is not trusted.
func TestACallOfAnUntrustedToolWaits(t *testing.T) { eachStore(t, testACallOfAnUntrustedToolWaits) }

func testACallOfAnUntrustedToolWaits(t *testing.T, on keeper) {
	m := headless(t, on)
	start := func(state toolset.State) *process {
		p := m.process(0, false)
		p.add("send.star", star("send", "n: int", "return out.send('x%d' % n)", "needs = ['use:out']"), func(d *toolset.Info) { d.State = state })
		return p
	}
	p := start(toolset.Ready)
	_, err := p.Call(context.Background(), tool.Call{Tool: "send", Args: value.NewDict("n", 1)}, host.Durable("r"))
	if value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	if err := p.Answer(context.Background(), m.questions(p)[0].ID, tool.Answer{Yes: true}); err != nil {
		t.Fatal(err)
	}
	p.j.Close()
	for _, revoked := range []bool{true, false} {
		p := m.process(0, false)
		p.add("send.star", star("send", "n: int", "return 1", "needs = ['use:out']"), func(d *toolset.Info) {
			d.State, d.Revoked, d.Hash = toolset.Untrusted, revoked, "another"
		})
		_, err := p.Resume(context.Background(), "r")
		if denied := value.KindOf(err) == value.Denied; denied != revoked {
			t.Errorf("revoked %v: the call gave %v", revoked, err)
		}
		if state := m.state("r").State; state.Ended() == revoked {
			t.Errorf("revoked %v: the run is %v", revoked, state)
		}
		p.j.Close()
	}
	if m.sent["x1"] != 1 {
		t.Errorf("sent was %v, want what the tool sent when the run called it", m.sent)
	}
}
