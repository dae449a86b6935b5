package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A deadlyBox is a sandbox in which one worker is killed while the host does an
// effect for it.
type deadlyBox struct {
	sandbox.Sandbox
	victim string // the path of its script; "" kills nobody
	// failure is what happens to the worker in place of its death, at the at-th effect of each call.
	failure *value.Error

	mu    sync.Mutex
	at    int // the effect that is done meanwhile
	count int
}

func (b *deadlyBox) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	var died error
	effects := 0
	out, err := b.Sandbox.Run(ctx, s, c, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		out, err := do(ctx, e)
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.Path == b.victim {
			b.count++
		}
		if effects++; s.Path == b.victim && b.failure != nil && effects == b.at {
			died = b.failure
			return tool.Outcome{}, b.failure
		}
		if s.Path == b.victim && b.failure == nil && b.count == b.at {
			killed := value.Errorf(value.Unavailable, "the process that ran the script was killed from outside")
			killed.Limit = value.LimitWorker
			died = killed
			return tool.Outcome{}, killed
		}
		return out, err
	})
	if died != nil {
		return tool.Outcome{}, died
	}
	return out, err
}

// mortality is a host of the machine whose sandbox is deadly.
func (m *machine) mortality(victim string, at int) *process {
	m.t.Helper()
	return m.confined(&deadlyBox{victim: victim, at: at})
}

// confined is a host of the machine with that sandbox.
func (m *machine) confined(box *deadlyBox) *process {
	m.t.Helper()
	world, err := stdlib.Open(&stdlib.Options{Root: m.dir})
	if err != nil {
		m.t.Fatal(err)
	}
	p := &process{m: m}
	var close func()
	p.j, close = m.open()
	m.t.Cleanup(func() { p.j.Close(); close(); world.Close() })
	modules := append(world.Modules(), m.service())
	box.Sandbox = inline(modules)
	h, err := host.New(&host.Options{Sandbox: box, Modules: modules, WorkDir: m.dir, Journal: recordIn(p.j), Approver: m.approve})
	if err != nil {
		m.t.Fatal(err)
	}
	p.rig = &rig{h, m.t, m.dir}
	p.tools()
	return p
}

// TestWorkerDeathInterruptsRun kills workers of a recorded run, one after the
// other, at effects: the run is interrupted, resumed, and ends as if
// nothing had happened. No script catches the death of a worker.
func TestWorkerDeathInterruptsRun(t *testing.T) {
	t.Parallel()
	caught := strings.Replace(flow, "got = [tools.note(text = 'one')]", "got = [attempt(tools.note, text = 'one')['value']]", 1)
	whole := newMachine(t, onDisk)
	want, err := whole.mortality("", 0).run("r", false, caught)
	if err != nil {
		t.Fatal(err)
	}
	deaths := 0
	for _, victim := range []string{"p.star", "note.star", "report.star"} {
		for at := 1; ; at += testutil.Times(3, 1) {
			m := newMachine(t, onDisk)
			p := m.mortality(victim, at)
			out, err := p.run("r", false, caught)
			p.j.Close()
			if err == nil { // it has fewer effects
				break
			}
			deaths++
			name := fmt.Sprintf("%s at effect %d", victim, at)
			if e := value.ErrorOf(err, value.Internal); e.Kind != value.Unavailable || e.Limit != value.LimitWorker {
				t.Fatalf("%s: the run gave %v, want that a worker was killed", name, err)
			}
			p = m.mortality("", 0)
			run, err := p.j.Run(context.Background(), "r")
			if err != nil || run.State != history.Parked || run.Reason != "interrupted" {
				t.Fatalf("%s: the run is %+v, %v, want it parked (interrupted)", name, run, err)
			}
			if out, err = p.run("r", true, caught); err != nil || !value.Equal(out.Value, want.Value) {
				t.Errorf("%s: resumed, the run gave %v, %v, want %v", name, value.FormatJSON(out.Value, ""), err, value.FormatJSON(want.Value, ""))
			}
			for text, n := range m.sent {
				if n != 1 {
					t.Errorf("%s: %q was sent %d times", name, text, n)
				}
			}
			if got, want := m.tree(), whole.tree(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: the files are %v, want %v", name, got, want)
			}
			p.j.Close()
		}
	}
	if least := testutil.Times(8, 20); deaths < least {
		t.Errorf("%d workers were killed, want at least %d", deaths, least)
	}
}

// TestWorkerDeathFailsCall checks that in a run that is not recorded the death
// of a worker is a failure of its call.
func TestWorkerDeathFailsCall(t *testing.T) {
	t.Parallel()
	m := newMachine(t, onDisk)
	p := m.mortality("note.star", 1)
	waits := false
	stop := hear(t, p.Host, func(e tool.Event) {
		end, _ := e.Data.(tool.ToolCallEnd)
		waits = waits || end.Waits
	})
	program := p.program(`
got = tools.call_all([('note', {'text': 'one'}), ('nothing', {})])
return [r['error'] for r in got] + [tools.note(text = 'two')]`)
	program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}}
	out, err := p.RunProgram(context.Background(), program)
	list, _ := out.Value.(value.List)
	if err != nil || len(list) != 3 || !strings.Contains(fmt.Sprint(list[0]), "killed from outside") || list[2] != "two\n" {
		t.Errorf("the run gave %v, %v, want the death in the list", out.Value, err)
	}
	if stop(); waits {
		t.Error("a call is reported to wait")
	}
	_, err = m.mortality("note.star", 1).Call(context.Background(), tool.Call{Tool: "note", Args: value.NewDict("text", "x")})
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Unavailable || e.Limit != value.LimitWorker {
		t.Errorf("the call gave %v, want that its worker was killed", err)
	}
}
