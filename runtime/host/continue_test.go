package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// deploys registers a tool in Go that acts, and notes what it deployed to.
func (p *process) deploys(to *[]string) {
	p.m.t.Helper()
	d := tool.Tool{Name: "deploy", Description: "Deploy.", Needs: []tool.Capability{{Name: "use", Target: "out"}},
		Params: []tool.Param{{Name: "to", Type: tool.Type{Name: tool.TypeString}, Required: true}}}
	err := p.Register(d, func(_ context.Context, args *value.Dict) (value.Value, error) {
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		*to = append(*to, args.Text("to"))
		return strings.Repeat("x", 5000), nil
	})
	if err != nil {
		p.m.t.Fatal(err)
	}
}

var toStaging = tool.Call{Tool: "deploy", Args: value.NewDict("to", "staging")}

// waiting makes a durable call that waits for its approval, and answers it.
func (p *process) waiting(c tool.Call, a tool.Answer) {
	p.m.t.Helper()
	if _, err := p.Call(context.Background(), c, host.Durable("r")); value.KindOf(err) != value.Parked {
		p.m.t.Fatalf("the call gave %v, want that it waits", err)
	}
	if err := p.Answer(context.Background(), p.m.questions(p)[0].ID, a); err != nil {
		p.m.t.Fatal(err)
	}
}

// TestOneRunIsResumedByMany resumes a run from many goroutines at a time, which it
// waits after each: whoever comes first has it, and the host stays whole.
func TestOneRunIsResumedByMany(t *testing.T) { eachStore(t, testOneRunIsResumedByMany) }

func testOneRunIsResumedByMany(t *testing.T, on keeper) {
	m := headless(t, on)
	p := m.process(0, false)
	var to []string
	p.deploys(&to)
	if _, err := p.Call(context.Background(), toStaging, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	times := 25
	if on == onDisk {
		times = testutil.Times(5, 25)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range times {
				if _, err := p.Resume(context.Background(), "r"); value.KindOf(err) != value.Parked && value.KindOf(err) != value.Conflict {
					t.Errorf("a resume gave %v", err)
				}
			}
		})
	}
	all.Wait()
	if n := len(host.Operate(p.Host).Executing()); n != 0 {
		t.Errorf("%d runs are executed, want none", n)
	}
}

// TestACallWaitsForItsTool resumes an approved call in hosts that do not have its
// tool, or not now: the run is not ended by that.
func TestACallWaitsForItsTool(t *testing.T) { eachStore(t, testACallWaitsForItsTool) }

func testACallWaitsForItsTool(t *testing.T, on keeper) {
	m := headless(t, on)
	p := m.process(0, false)
	var to []string
	p.deploys(&to)
	p.waiting(toStaging, tool.Answer{Yes: true})
	p.j.Close()

	p = m.process(0, false)
	if _, err := p.Resume(context.Background(), "r"); value.KindOf(err) != value.NotFound {
		t.Errorf("without the tool the call gave %v", err)
	}
	p.j.Close()
	p = m.process(0, false)
	away := errors.New("the cluster is away")
	err := p.Register(tool.Tool{Name: "deploy", Description: "Deploy."}, func(context.Context, *value.Dict) (value.Value, error) { return nil, nil },
		host.AvailableFunc(func(context.Context) error { return away }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resume(context.Background(), "r"); value.KindOf(err) != value.Unavailable {
		t.Errorf("while the tool is not available the call gave %v", err)
	}
	p.j.Close()
	p = m.process(0, false)
	defer p.j.Close()
	p.deploys(&to)
	if r, err := p.Resume(context.Background(), "r"); err != nil || len(to) != 1 || to[0] != "staging" {
		t.Errorf("the call gave %v, %v and deployed to %v", r.Success, err, to)
	}
}

// TestAnAnswerIsForOneCall checks that a yes to one call is none to another at the
// same place, which a handler in Go makes when it is run again.
func TestAnAnswerIsForOneCall(t *testing.T) { eachStore(t, testAnAnswerIsForOneCall) }

func testAnAnswerIsForOneCall(t *testing.T, on keeper) {
	m := headless(t, on)
	var to []string
	start := func(first string) *process {
		p := m.process(0, false)
		p.deploys(&to)
		err := p.Register(tool.Tool{Name: "release", Description: "Release.", OnlyCalls: true, Needs: []tool.Capability{{Name: "tool"}}},
			func(ctx context.Context, _ *value.Dict) (value.Value, error) {
				r, err := p.Call(ctx, tool.Call{Tool: "deploy", Args: value.NewDict("to", first)})
				return r.Value, err
			})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := start("staging")
	_, err := p.Call(context.Background(), tool.Call{Tool: "release", Caller: tool.ByPerson}, host.Durable("r"))
	if value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	if err := p.Answer(context.Background(), m.questions(p)[0].ID, tool.Answer{Yes: true}); err != nil {
		t.Fatal(err)
	}
	p.j.Close()
	p = start("production")
	if _, err := p.Resume(context.Background(), "r"); value.KindOf(err) != value.Parked || len(to) != 0 {
		t.Fatalf("another call gave %v and deployed to %v, want that it is asked about", err, to)
	}
	p.j.Close()
}

// TestAPermanentAnswerEndsWithItsRun checks that what somebody has answered to one
// run permanently is no approval of what is called beside it.
func TestAPermanentAnswerEndsWithItsRun(t *testing.T) {
	t.Parallel()
	eachStore(t, testAPermanentAnswerEndsWithItsRun)
}

func testAPermanentAnswerEndsWithItsRun(t *testing.T, on keeper) {
	m := headless(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	var to []string
	p.deploys(&to)
	p.waiting(toStaging, tool.Answer{Yes: true, Always: true})
	if _, err := p.Resume(context.Background(), "r"); err != nil {
		t.Fatal(err)
	}
	_, err := p.Call(context.Background(), tool.Call{Tool: "deploy", Args: value.NewDict("to", "production")})
	if value.KindOf(err) != value.Denied || len(to) != 1 {
		t.Errorf("a call beside the run gave %v and deployed to %v, want that nobody has approved it", err, to)
	}
}

// TestADurableCallKeepsItsLimits checks that the limits of a call hold when it is
// resumed, and that the same call may be made for another reason.
func TestADurableCallKeepsItsLimits(t *testing.T) { eachStore(t, testADurableCallKeepsItsLimits) }

func testADurableCallKeepsItsLimits(t *testing.T, on keeper) {
	m := headless(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	var to []string
	p.deploys(&to)
	c := toStaging
	c.Limits.Result, c.Reasoning = 100, "it is time"
	p.waiting(c, tool.Answer{Yes: true})
	c.Reasoning = "once more"
	if _, err := p.Call(context.Background(), c, host.Durable("r")); value.KindOf(err) != value.Limit {
		t.Errorf("the call gave %v, want that its result is too long", err)
	}
}

// TestACancelWinsOverAnInterruption cancels a run that is being interrupted.
func TestACancelWinsOverAnInterruption(t *testing.T) { eachStore(t, testACancelWinsOverAnInterruption) }

func testACancelWinsOverAnInterruption(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	ctx, cancel := context.WithCancel(context.Background())
	err := p.Register(tool.Tool{Name: "stop", Description: "Stop.", Hints: tool.Hints{ReadOnly: true}}, func(inner context.Context, _ *value.Dict) (value.Value, error) {
		cancel()
		<-inner.Done()
		return nil, p.Cancel(context.Background(), "r")
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.runIn(ctx, "r", false, "tools.stop()")
	if state := m.state("r").State; value.KindOf(err) != value.Canceled || state != history.Cancelled {
		t.Errorf("the run gave %v and is %v, want it cancelled", err, state)
	}
}

// TestAHandlerThatSaysParked checks that a run is resumable in which a handler in
// Go reports that it waits, though nothing is asked.
func TestAHandlerThatSaysParked(t *testing.T) { eachStore(t, testAHandlerThatSaysParked) }

func testAHandlerThatSaysParked(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	err := p.Register(tool.Tool{Name: "later", Description: "Wait."}, func(context.Context, *value.Dict) (value.Value, error) {
		return nil, value.Errorf(value.Parked, "later")
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(context.Background(), tool.Call{Tool: "later"}, host.Durable("r"))
	if state := m.state("r").State; value.KindOf(err) != value.Parked || state != history.Parked {
		t.Errorf("the call gave %v and its run is %v, want it parked", err, state)
	}
}

// TestAnUndoListsWhatFailed checks that an effect beyond the project which failed is
// among what lasts, and one that was refused is not.
func TestAnUndoListsWhatFailed(t *testing.T) { eachStore(t, testAnUndoListsWhatFailed) }

func testAnUndoListsWhatFailed(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	defer p.j.Close()
	err := p.Register(tool.Tool{Name: "send", Description: "Send."}, func(context.Context, *value.Dict) (value.Value, error) {
		return nil, errors.New("sent, but there is no receipt")
	})
	if err != nil {
		t.Fatal(err)
	}
	p.add("refused.star", star("refused", "", "out.send('x')", "needs = ['fs.read']"), nil)
	if _, err := p.run("r", false, "attempt(tools.send)\nattempt(tools.refused)"); err != nil {
		t.Fatal(err)
	}
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"})
	if err != nil || len(out.Lasting) != 1 || !strings.HasPrefix(out.Lasting[0].What, "handler.send(") {
		t.Errorf("undo gave %+v, %v, want that the message lasts", out, err)
	}
}

// TestAnExecutorSeesAnUndo checks that what an undo does passes the executor too.
func TestAnExecutorSeesAnUndo(t *testing.T) { eachStore(t, testAnExecutorSeesAnUndo) }

func testAnExecutorSeesAnUndo(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if e.Func == "fs.restore" {
			return tool.Outcome{}, value.Errorf(value.Failed, "nothing is restored in a rehearsal")
		}
		return host.Execute(ctx, f, e, g)
	}
	p := m.process(0, false)
	defer p.j.Close()
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'one')"); err != nil {
		t.Fatal(err)
	}
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"})
	if err == nil && out.Failed == nil || m.tree()["log"] != "one\n" {
		t.Errorf("undo gave %+v, %v, and the files are %v, want that the executor kept them", out, err, m.tree())
	}
}

// TestACallIsUndoneOnce undoes a run twice, and checks that the function with which a
// tool undoes its calls is called by the first alone.
func TestACallIsUndoneOnce(t *testing.T) { eachStore(t, testACallIsUndoneOnce) }

func testACallIsUndoneOnce(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p, other := m.process(0, false), m.process(0, false)
	defer p.j.Close()
	undone := 0
	undo := func(ctx context.Context, _ *value.Dict, _ value.Value) error {
		undone++
		if _, err := host.Operate(other.Host).UndoRun(context.Background(), operate.Undo{Run: "r"}); value.KindOf(err) != value.Conflict {
			t.Errorf("another undo meanwhile: %v, want a conflict", err)
		}
		if err := other.Cancel(context.Background(), "r"); value.KindOf(err) != value.Conflict || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("a cancel meanwhile: %v, want that the run has ended", err)
		}
		return nil
	}
	d := tool.Tool{Name: "send", Description: "Send."}
	if err := p.Register(d, func(context.Context, *value.Dict) (value.Value, error) { return "sent", nil }, host.UndoFunc(undo)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run("r", false, "tools.send()"); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"u", "v", "w"} {
		out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r", ID: id})
		if err != nil || undone != 1 || len(out.Done) != 1 || out.Done[0].Already() != (i > 0) {
			t.Errorf("undo %d gave %+v, %v, and %d calls were undone", i+1, out, err, undone)
		}
	}
}
