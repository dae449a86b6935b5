package host_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A bank is a tool in Go that moves money, and how often its functions ran.
type bank struct {
	transfers, undone int
	args              *value.Dict // of the last undo
	result            value.Value
	during            func() error // what an undo does besides; nil for nothing
}

func (b *bank) tool() tool.Tool {
	return tool.Tool{Name: "transfer", Description: "Transfer money.", Hints: tool.Hints{Idempotent: true}, Params: []tool.Param{
		{Name: "to", Type: tool.Type{Name: tool.TypeString}, Required: true},
		{Name: "amount", Type: tool.Type{Name: tool.TypeInteger}, Default: int64(5), HasDefault: true},
	}}
}

func (b *bank) register(r *rig, t tool.Tool, opts ...host.ToolOption) {
	r.t.Helper()
	do := func(context.Context, *value.Dict) (value.Value, error) {
		b.transfers++
		return value.NewDict("id", "t-1"), nil
	}
	undo := host.UndoFunc(func(_ context.Context, args *value.Dict, result value.Value) error {
		b.undone++
		b.args, b.result = args, result
		if b.during != nil {
			return b.during()
		}
		return nil
	})
	if err := r.Register(t, do, append(opts, undo)...); err != nil {
		r.t.Fatal(err)
	}
}

// transferred returns a process in which the run r has made a transfer.
func (b *bank) transferred(m *machine) *process {
	m.t.Helper()
	p := m.process(0, false)
	b.register(p.rig, b.tool())
	if _, err := p.run("r", false, "return tools.transfer(to = 'ada')"); err != nil {
		m.t.Fatal(err)
	}
	return p
}

// TestUndoOfAGoTool checks that an undo calls the undo function once, with the
// arguments and the result of the call, and never the handler.
func TestUndoOfAGoTool(t *testing.T) {
	t.Parallel()
	m, b := newMachine(t, onDisk), &bank{}
	p := b.transferred(m)
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r", ID: "u"})
	if err != nil || len(out.Done) != 1 || out.Done[0].Already() || len(out.Lasting) != 0 {
		t.Fatalf("undo: %v, %+v, want one step done", err, out)
	}
	if b.transfers != 1 || b.undone != 1 {
		t.Errorf("%d transfers and %d undone, want one each", b.transfers, b.undone)
	}
	if !value.Equal(b.args, value.NewDict("to", "ada", "amount", int64(5))) || !value.Equal(b.result, value.NewDict("id", "t-1")) {
		t.Errorf("undone with %v and %v, want the arguments and the result of the call", b.args, b.result)
	}
	steps := 0
	for e, err := range p.j.Entries(context.Background(), "u") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Func == "undo_handler.transfer" {
			steps++
			if e.Kind != tool.External || e.StepPath.String() != "1.0.0" {
				t.Errorf("the undo is recorded at %s as %v, want an external effect at 1.0.0", e.StepPath, e.Kind)
			}
		}
	}
	if steps != 1 {
		t.Errorf("the undo is recorded in %d steps, want one", steps)
	}
	again, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "u"})
	if err != nil || len(again.Done) != 0 || len(again.Lasting) != 1 || b.transfers != 1 || b.undone != 1 {
		t.Errorf("undo of the undo: %v, %+v, want that it lasts", err, again)
	}
}

// TestUndoOfADurableGoTool checks the undo of a call that is a run of its own, of
// a tool that was registered without one at first.
func TestUndoOfADurableGoTool(t *testing.T) {
	t.Parallel()
	m, b := newMachine(t, onDisk), &bank{}
	p := m.process(0, false)
	b.register(p.rig, b.tool())
	if _, err := p.Call(context.Background(), tool.Call{Tool: "transfer", Args: value.NewDict("to", "bob")}, host.Durable("d")); err != nil {
		t.Fatal(err)
	}
	p.j.Close()
	p = m.process(0, false)
	nothing := func(context.Context, *value.Dict) (value.Value, error) { b.transfers++; return nil, nil }
	if err := p.Register(b.tool(), nothing); err != nil {
		t.Fatal(err)
	}
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "d"})
	if err == nil || out.Failed == nil || b.transfers != 1 {
		t.Errorf("undo without the function: %v, %+v after %d transfers, want a failure", err, out, b.transfers)
	}
	p.j.Close()
	p = m.process(0, false)
	b.register(p.rig, b.tool())
	if _, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "d"}); err != nil || b.undone != 1 || b.transfers != 1 || b.args.Text("to") != "bob" {
		t.Errorf("undo: %v, %d undone with %v, %d transfers", err, b.undone, b.args, b.transfers)
	}
}

// TestUndoOfAGoToolIsApproved checks that an undo passes the rules, and is asked
// about, like a call.
func TestUndoOfAGoToolIsApproved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rule string
		yes        bool
		asked      int
	}{
		{"a yes", "", true, 2},
		{"a no", "", false, 2},
		{"a rule", "deny tool:transfer", true, 1},
	} {
		m, b := newMachine(t, onDisk), &bank{}
		asked := 0
		m.approve = host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
			asked++
			return tool.Answer{Yes: asked == 1 || c.yes}, nil
		})
		p := m.process(0, false)
		risky := b.tool()
		risky.Risky = true
		b.register(p.rig, risky)
		if _, err := p.run("r", false, "return tools.transfer(to = 'ada')"); err != nil {
			t.Fatal(err)
		}
		p.j.Close()
		if c.rule != "" {
			m.rules = rules(t, c.rule)
		}
		p = m.process(0, false)
		b.register(p.rig, risky)
		_, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"})
		undone := 0
		if c.yes && c.rule == "" {
			undone = 1
		}
		if (err == nil) != (undone == 1) || b.undone != undone || b.transfers != 1 || asked != c.asked {
			t.Errorf("%s: undo %v, %d undone, %d transfers, asked %d times", c.name, err, b.undone, b.transfers, asked)
		}
		p.j.Close()
	}
}

// TestAnInterruptedUndoOfAGoTool checks that an undo with an unknown outcome is
// asked about, and not repeated, although calls of the tool are idempotent.
func TestAnInterruptedUndoOfAGoTool(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		m, b := newMachine(t, onDisk), &bank{}
		p := b.transferred(m)
		b.during = func() error {
			p.j.Close()
			return errors.New("killed")
		}
		if _, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r", ID: "u"}); err == nil {
			t.Fatal("the process did not die")
		}
		b.during = nil
		m.answer = again
		p = m.process(0, false)
		b.register(p.rig, b.tool())
		_, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r", ID: "u", Resume: true})
		want := 1
		if again {
			want = 2
		}
		if (err == nil) != again || b.undone != want || b.transfers != 1 || len(m.asked) != 1 || !strings.Contains(m.asked[0], "undo_handler.transfer(") {
			t.Errorf("again %v: %v, %d undone, %d transfers, asked %q", again, err, b.undone, b.transfers, m.asked)
		}
	}
}

// TestAFailedUndoOfAGoTool checks what becomes of a panic, and of an undo that
// takes too long.
func TestAFailedUndoOfAGoTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		during func() error
		kind   value.Kind
	}{
		{"a panic", func() error { panic("oh") }, value.Internal},
		{"an error", func() error { return errors.New("oh") }, value.Failed},
		{"an error with a kind", func() error { return value.Errorf(value.Conflict, "oh") }, value.Conflict},
		{"a nil *tool.Error", func() error { var e *value.Error; return e }, 0},
	} {
		m, b := newMachine(t, onDisk), &bank{}
		p := b.transferred(m)
		b.during = c.during
		out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"})
		if strings.HasPrefix(c.name, "a nil") {
			if err != nil || len(out.Done) != 1 {
				t.Errorf("%s: %v, %+v", c.name, err, out)
			}
		} else if value.KindOf(err) != c.kind || !strings.Contains(err.Error(), "oh") || out.Failed == nil {
			t.Errorf("%s: %v, %+v, want the kind %v", c.name, err, out, c.kind)
		}
	}

	m := newMachine(t, onDisk)
	p := m.process(0, false)
	slow := tool.Tool{Name: "slow", Description: "D.", Timeout: 50 * time.Millisecond}
	nothing := func(context.Context, *value.Dict) (value.Value, error) { return nil, nil }
	err := p.Register(slow, nothing, host.UndoFunc(func(ctx context.Context, _ *value.Dict, _ value.Value) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.run("r", false, "return tools.slow()"); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"}); value.KindOf(err) != value.Timeout {
		t.Errorf("a slow undo gave %v, want a timeout", err)
	}
}

// TestReplayOfAGoTool checks that a replay calls no function of the tool.
func TestReplayOfAGoTool(t *testing.T) {
	t.Parallel()
	m, b := newMachine(t, onDisk), &bank{}
	p := b.transferred(m)
	p.j.Close()
	p = m.process(0, false)
	asked := 0
	b.register(p.rig, b.tool(), host.AvailableFunc(func(context.Context) error { asked++; return errors.New("not here") }))
	r := p.replay(host.Replay{})
	if r.Err != nil || b.transfers != 1 || b.undone != 0 || asked != 0 {
		t.Errorf("replay: %v, %d transfers, %d undone, asked %d times", r.Err, b.transfers, b.undone, asked)
	}
}

// TestAvailableFunc checks that a tool in Go is asked once until a refresh whether
// it can be used, and that listing it never runs it.
func TestAvailableFunc(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ran, asked := 0, 0
	var away error
	do := func(context.Context, *value.Dict) (value.Value, error) { ran++; return "done", nil }
	available := func(context.Context) error { asked++; return away }
	def := tool.Tool{Name: "t", Description: "D.", Risky: true}
	if err := r.Register(def, do, host.AvailableFunc(available)); err != nil {
		t.Fatal(err)
	}
	state := func() toolset.Info { return r.Tools()[0] }
	refresh := func() {
		t.Helper()
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(); got.State != toolset.Ready || state().State != toolset.Ready || asked != 1 {
		t.Errorf("the state is %s after %d questions, want ready after one", got.State, asked)
	}
	away = value.Errorf(value.Timeout, "no network").WithHint("plug it in")
	if state().State != toolset.Ready || asked != 1 {
		t.Errorf("asked %d times before a refresh, want once", asked)
	}
	refresh()
	if got := state(); got.State != toolset.NotHere || !strings.Contains(got.Reason, "no network") || asked != 2 {
		t.Errorf("the state is %s (%s) after %d questions, want unavailable", got.State, got.Reason, asked)
	}
	_, err := r.call()
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Timeout || e.Hint != "plug it in" || asked != 2 {
		t.Errorf("the call gave %v after %d questions, want a timeout with its hint", err, asked)
	}
	away = errors.New("no network")
	refresh()
	if _, err := r.call(); value.KindOf(err) != value.Unavailable {
		t.Errorf("the call gave %v, want unavailable", err)
	}
	if all, err := r.Select(); err != nil || len(all) != 0 {
		t.Errorf("selected %v, %v, want nothing", all, err)
	}
	if ran != 0 {
		t.Errorf("the handler ran %d times", ran)
	}
	away = nil
	if err := r.Replace(def, do, host.AvailableFunc(available)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.call(); err != nil || got.Value != "done" || ran != 1 {
		t.Errorf("the call of the replaced tool gave %v, %v after %d runs", got.Value, err, ran)
	}
}

// TestAnAvailableFuncThatFails checks what becomes of a panic and of an answer
// that comes too late.
func TestAnAvailableFuncThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    func(context.Context) error
		kind value.Kind
		text string
	}{
		{"a panic", func(context.Context) error { panic("oh") }, value.Internal, "oh"},
		{"too late", func(ctx context.Context) error { <-ctx.Done(); return nil }, value.Timeout, "longer than 2s"},
		{"what would park a run", func(context.Context) error { return value.Errorf(value.Parked, "later") }, value.Unavailable, "later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			ran := false
			err := r.Register(tool.Tool{Name: "t", Description: "D."}, func(context.Context, *value.Dict) (value.Value, error) { ran = true; return nil, nil }, host.AvailableFunc(c.f))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Tools()[0]; got.State != toolset.NotHere || !strings.Contains(got.Reason, c.text) {
				t.Errorf("the state is %s (%s), want unavailable with %s", got.State, got.Reason, c.text)
			}
			if _, err := r.call(); value.KindOf(err) != c.kind || ran {
				t.Errorf("the call gave %v, ran: %v, want the kind %v", err, ran, c.kind)
			}
		})
	}
}

// TestAnAvailableFuncOfACalledTool checks that the check of a tool that a call
// calls is no part of that call.
func TestAnAvailableFuncOfACalledTool(t *testing.T) {
	t.Parallel()
	m := newMachine(t, onDisk)
	p := m.process(0, false)
	p.goTool("other", func(context.Context) (value.Value, error) { return "x", nil })
	err := p.Register(tool.Tool{Name: "t", Description: "D."}, func(context.Context, *value.Dict) (value.Value, error) { return "done", nil },
		host.AvailableFunc(func(ctx context.Context) error {
			_, err := p.Call(ctx, tool.Call{Tool: "other"})
			return err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.run("r", false, "return tools.t()"); err != nil || out.Value != "done" {
		t.Fatalf("the run gave %v, %v", out.Value, err)
	}
	for e := range p.j.Entries(context.Background(), "r") {
		if e.Func == "handler.other" {
			t.Errorf("the check is recorded at %s", e.StepPath)
		}
	}
}

// TestTheCheckOfAPinnedTool checks that a run which has called a script does not
// call functions of a tool in Go that has its name now.
func TestTheCheckOfAPinnedTool(t *testing.T) {
	t.Parallel()
	m := headless(t, onDisk)
	const body = "a = tools.t()\nhuman.confirm('continue?')\nreturn [a, tools.t()]"
	p := m.process(0, false)
	p.add("t.star", "def here():\n    return True\n\n"+star("t", "", "return 1", "available = here"), func(d *toolset.Info) { d.Hash = "one" })
	if _, err := p.run("r", false, body); value.KindOf(err) != value.Parked {
		t.Fatalf("the run gave %v, want that it waits", err)
	}
	p.j.Close()
	m.answers(tool.StepPath{2}, true)
	p = m.process(0, false)
	var ran atomic.Int32
	p.goTool("t", func(context.Context) (value.Value, error) { ran.Add(1); return 2, nil })
	out, err := p.run("r", true, body)
	if err != nil || !value.Equal(out.Value, value.List{int64(1), int64(1)}) || ran.Load() != 0 {
		t.Errorf("resumed: %v, %v, the handler ran %d times, want [1, 1]", out.Value, err, ran.Load())
	}
}

// TestGoToolsThatAreRefused checks that a definition which a program cannot
// register says what to do instead.
func TestGoToolsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*tool.Tool)
		opts   []host.ToolOption
		want   string // in the error or its hint
	}{
		{"Undo", func(d *tool.Tool) { d.Undo = "undo" }, nil, "UndoFunc"},
		{"Available", func(d *tool.Tool) { d.Available = "here" }, nil, "AvailableFunc"},
		{"a nil undo", nil, []host.ToolOption{host.UndoFunc[*value.Dict, value.Value](nil)}, "UndoFunc: the function is nil"},
		{"a nil check", nil, []host.ToolOption{host.AvailableFunc(nil)}, "AvailableFunc: the function is nil"},
	} {
		r := newRig(t, nil)
		d := tool.Tool{Name: "t", Description: "D."}
		if c.change != nil {
			c.change(&d)
		}
		do := func(context.Context, *value.Dict) (value.Value, error) { return nil, nil }
		for name, register := range map[string]func(tool.Tool, func(context.Context, *value.Dict) (value.Value, error), ...host.ToolOption) error{"Register": r.Register, "Replace": r.Replace} {
			err := register(d, do, c.opts...)
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != value.Invalid || !strings.Contains(e.Message()+e.Hint, c.want) || !strings.Contains(e.Message(), "'t'") {
				t.Errorf("%s with %s: %v, want invalid with %s", name, c.name, err, c.want)
			}
		}
		if len(r.Tools()) != 0 {
			t.Errorf("%s: the tool was registered", c.name)
		}
	}
}

// TestAnUnavailableGoTool checks that a program can list a tool that it cannot
// provide.
func TestAnUnavailableGoTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ran := false
	d := tool.Tool{Name: "t", Description: "D."}
	lacks := host.AvailableFunc(func(context.Context) error { return value.Errorf(value.Unavailable, "no licence") })
	if err := r.Register(d, func(context.Context, *value.Dict) (value.Value, error) { ran = true; return nil, nil }, lacks); err != nil {
		t.Fatal(err)
	}
	if got := r.Tools()[0]; got.State != toolset.NotHere || !strings.HasSuffix(got.Reason, "no licence") {
		t.Errorf("the state is %s (%s)", got.State, got.Reason)
	}
	if _, err := r.call(); value.KindOf(err) != value.Unavailable || !strings.Contains(err.Error(), "no licence") || ran {
		t.Errorf("the call gave %v, ran: %v", err, ran)
	}
	if err := r.Replace(d, func(context.Context, *value.Dict) (value.Value, error) { return "here", nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := r.call(); err != nil || got.Value != "here" {
		t.Errorf("the replaced tool gave %v, %v", got.Value, err)
	}
}
