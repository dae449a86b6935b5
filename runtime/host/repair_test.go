package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// A fault is something in the environment of a run that is broken until somebody repairs it.
type fault struct {
	name, reason string
	kind         value.Kind
	fails        string                        // the effects that fail with err
	err          func() error                  // or nil
	rules        string                        // the rules while it is broken
	tool         func(p *process, broken bool) // how the tool work is registered; nil: as it should be
	root         bool                          // also as a call of its own; else it is refused before it is recorded
	asks         bool                          // on resume it is asked whether to do it again
}

func systemError(err error) func() error {
	return func() error {
		return fs.CannotWrite(value.Errorf(value.Failed, "write a.txt: %w", err), err)
	}
}

const workBody = "fs.write('a.txt', 'a')\ngot = out.send('x')\nfs.write('b.txt', 'b')\nreturn got"
const workNeeds = "needs = ['fs.read', 'fs.write', 'use:out']"

func addWork(p *process, change func(*toolset.Info)) {
	p.add("work.star", star("work", "", workBody, workNeeds), change)
}

// faults are those that a run must survive.
func faults() []fault {
	unsent := func() error {
		return value.Errorf(value.Unavailable, "the server refuses the connection").WithLimit(value.LimitUnsent)
	}
	return []fault{
		{name: "disk full in a commit", reason: "disk", kind: value.Failed, fails: "fs.commit", err: systemError(syscall.ENOSPC), root: true},
		{name: "no quota left", reason: "disk", kind: value.Failed, fails: "fs.commit", err: systemError(syscall.EDQUOT), root: true},
		{name: "disk full before a commit", reason: "disk", kind: value.Failed, fails: "fs.prepare", err: systemError(syscall.ENOSPC), root: true},
		{name: "disk full in a write", reason: "disk", kind: value.Failed, fails: "fs.write", err: systemError(syscall.ENOSPC), root: true},
		{name: "read-only disk", reason: "read_only", kind: value.Failed, fails: "fs.commit", err: systemError(syscall.EROFS), root: true},
		{name: "immutable file", reason: "read_only", kind: value.Failed, fails: "fs.commit", err: systemError(syscall.EPERM), root: true},
		{name: "a commit that leaves its temporary files", reason: "read_only", kind: value.Failed, fails: "fs.commit fs.reconcile", err: systemError(syscall.EROFS), root: true},
		{name: "temporary files stay after a commit", reason: "read_only", kind: value.Failed, fails: "fs.finish", err: systemError(syscall.EROFS), root: true},
		{name: "a fault of the disk in a commit", reason: "unavailable", kind: value.Unavailable, fails: "fs.commit", err: systemError(syscall.EIO), root: true},
		{name: "too many open files", reason: "unavailable", kind: value.Unavailable, fails: "fs.write", err: systemError(syscall.EMFILE), root: true},
		{name: "a server of files that has restarted", reason: "unavailable", kind: value.Unavailable, fails: "fs.prepare", err: systemError(syscall.ESTALE), root: true},
		{name: "a rule denies writing", reason: "rule", kind: value.Denied, rules: "deny fs.write:b.txt", root: true},
		{name: "a rule denies sending", reason: "rule", kind: value.Denied, rules: "deny use:out", root: true},
		{name: "a rule denies the call", reason: "rule", kind: value.Denied, rules: "deny tool:work", root: true},
		{name: "the tool is missing", reason: "tool", kind: value.NotFound, tool: func(p *process, broken bool) {
			if !broken {
				addWork(p, nil)
			}
		}},
		{name: "the tool is untrusted", reason: "tool", kind: value.Denied, root: true, tool: func(p *process, broken bool) {
			addWork(p, func(t *toolset.Info) {
				if broken {
					t.State = toolset.Untrusted
				}
			})
		}},
		{name: "the tool is edited before its call", reason: "tool", kind: value.Conflict, root: true, tool: func(p *process, broken bool) {
			d, err := p.Describe(context.Background(), tool.Script{Path: "work.star", Source: star("work", "", workBody, workNeeds)})
			if err != nil {
				p.t.Fatal(err)
			}
			err = p.RegisterScript(toolset.Info{Tool: d.Tool}, func() (tool.Script, error) {
				if broken {
					return tool.Script{}, value.Errorf(value.Conflict, "the file has changed since its tool was listed").WithLimit(value.LimitTool)
				}
				return tool.Script{Path: "work.star", Source: star("work", "", workBody, workNeeds)}, nil
			})
			if err != nil {
				p.t.Fatal(err)
			}
		}},
		{name: "the server was not reached", reason: "unavailable", kind: value.Unavailable, fails: "out.send", err: unsent, root: true},
		{name: "the server did not answer", reason: "unavailable", kind: value.Unavailable, fails: "out.send", root: true, asks: true,
			err: func() error { return value.Errorf(value.Unavailable, "the server broke off its answer") }},
		{name: "the server was too slow", reason: "unavailable", kind: value.Timeout, fails: "out.send", root: true, asks: true,
			err: func() error { return value.Errorf(value.Timeout, "no answer within 10s").WithLimit(value.LimitHTTP) }},
		{name: "a rate limit", reason: "rate", kind: value.Limit, fails: "out.send", root: true, asks: true,
			err: func() error { return value.Errorf(value.Limit, "too many requests").WithLimit(value.LimitRate) }},
		{name: "too many steps", reason: "limit", kind: value.Limit, root: true, tool: func(p *process, broken bool) {
			limit := int64(1_000_000)
			if broken {
				limit = 1000
			}
			body := strings.Replace(workBody, "return", "for _ in range(10000): pass\nreturn", 1)
			p.add("work.star", star("work", "", body, workNeeds+fmt.Sprintf(", limits = {'steps': %d}", limit)), nil)
		}},
		{name: "out of memory", reason: "limit", kind: value.Limit, fails: "out.send", root: true, asks: true,
			err: func() error {
				return value.Errorf(value.Limit, "the command used too much memory").WithLimit(value.LimitMemory)
			}},
	}
}

// TestFaultsPark breaks the environment of a run in each way. The run is parked with a reason
// and a hint; as long as nothing is repaired a resume parks it again; then it ends as if
// nothing had happened, with each effect carried out once.
func TestFaultsPark(t *testing.T) { eachStore(t, testFaultsPark) }

func testFaultsPark(t *testing.T, on keeper) {
	ctx := context.Background()
	all := faults()
	if on == onDisk {
		all = testutil.Sample(all, 4)
	}
	for _, f := range all {
		for _, kind := range []string{"workflow", "call", "parallel"} {
			if kind == "call" && !f.root || kind == "parallel" && slices.Contains([]string{"rule", "tool", "limit"}, f.reason) {
				continue
			}
			m := newMachine(t, on)
			m.answer = nil
			m.parks = true
			broken := true
			begin := func() *process {
				m.rules = nil
				if broken && f.rules != "" {
					m.rules = rules(t, f.rules)
				}
				m.execute = func(ctx context.Context, fn *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
					if broken && slices.Contains(strings.Fields(f.fails), e.Func) {
						return tool.Outcome{}, f.err()
					}
					return host.Execute(ctx, fn, e, g)
				}
				p := m.process(0, false)
				p.add("first.star", star("first", "", "fs.append('log', '1')", "needs = ['fs.read', 'fs.write']"), nil)
				p.add("other.star", star("other", "", "return fs.exists('log')", "needs = ['fs.read']"), nil)
				if f.tool != nil {
					f.tool(p, broken)
				} else {
					addWork(p, nil)
				}
				return p
			}
			start := func(resume bool) (value.Value, error) {
				p := begin()
				defer p.j.Close()
				if kind == "call" {
					r, err := p.Call(ctx, tool.Call{Tool: "work"}, host.Durable("r"))
					return r.Value, err
				}
				body := "tools.first()\nreturn tools.work()"
				if kind == "parallel" {
					body = "tools.first()\nreturn [r['value'] for r in tools.call_all([('other', {}), ('work', {}), ('other', {})])][1]"
				}
				out, err := p.run("r", resume, body)
				return out.Value, err
			}
			name := f.name + ", " + kind
			try := func(resume bool) (value.Value, error) {
				got, err := start(resume)
				if value.KindOf(err) != value.Parked {
					return got, err
				}
				p := m.process(0, false)
				open := m.questions(p)
				p.j.Close()
				if !f.asks || len(open) != 1 || open[0].Kind != tool.QuestionUnknown {
					t.Fatalf("%s: it waits for %v, %v", name, open, err)
				}
				m.answers(open[0].StepPath, true)
				return start(true)
			}
			for n := range testutil.Times(2, 3) {
				_, err := try(n > 0)
				e := value.ErrorOf(err, value.Internal)
				run := m.state("r")
				var parked *history.ParkedError
				if e == nil || e.Kind != f.kind || run.State != history.Parked || run.Reason != f.reason {
					t.Fatalf("%s, try %d: %v, and the run is %s (%s), want it parked (%s)", name, n, err, run.State, run.Reason, f.reason)
				}
				if !errors.As(err, &parked) || parked.Reason != f.reason || !strings.Contains(e.Hint, "cassidy runs resume r") || history.Repair(f.reason) == "" {
					t.Errorf("%s: %v (hint: %s) is not a ParkedError with its repair", name, err, e.Hint)
				}
			}
			broken = false
			got, err := try(true)
			if err != nil || got != "sent x" {
				t.Errorf("%s: after the repair it gave %v, %v", name, got, err)
			}
			if m.sent["x"] != 1 {
				t.Errorf("%s: %v was sent, want each once", name, m.sent)
			}
			if files := m.tree(); files["a.txt"] != "a" || files["b.txt"] != "b" || kind != "call" && files["log"] != "1" {
				t.Errorf("%s: the files are %v", name, files)
			}
			if kind != "call" {
				p := begin()
				if r := p.replay(host.Replay{}); r.Err != nil || r.Ended || len(r.Differences) > 0 {
					t.Errorf("%s: the replay gave %+v", name, r)
				}
				p.j.Close()
			}
		}
	}
}

// TestCaughtFaults checks that a failure of the environment that a script has caught stays
// what it was, for the resumed run and for a replay, also if it was inside of a called tool.
func TestCaughtFaults(t *testing.T) { eachStore(t, testCaughtFaults) }

func testCaughtFaults(t *testing.T, on keeper) {
	for name, bodies := range map[string][2]string{
		"in the workflow":    {workBody, "r = attempt(tools.work)\nhuman.confirm('go on?')\nreturn [r['error'], tools.after()]"},
		"in the tool":        {"got = attempt(out.send, 'x')['error']\nfs.write('a.txt', 'a')\nreturn got", "r = tools.work()\nhuman.confirm('go on?')\nreturn [r, tools.after()]"},
		"at the tool's end":  {"return attempt(out.send, 'x')['error']", "r = tools.work()\nhuman.confirm('go on?')\nreturn [r, tools.after()]"},
		"in parallel calls":  {workBody, "r = tools.call_all([('work', {})])[0]\nhuman.confirm('go on?')\nreturn [r['error'], tools.after()]"},
		"then another fault": {"attempt(out.send, 'x')\nfail('given up')", "r = attempt(tools.work)\nhuman.confirm('go on?')\nreturn [r['error'], tools.after()]"},
	} {
		m := headless(t, on)
		m.approve = host.ApproveAll()
		start := func() *process {
			p := m.process(0, false)
			p.add("work.star", star("work", "", bodies[0], workNeeds), nil)
			p.add("after.star", star("after", "", "fs.append('log', '1')", workNeeds), nil)
			return p
		}
		m.rules = rules(t, "deny use:out")
		p := start()
		_, err := p.run("r", false, bodies[1])
		open := m.questions(p)
		if value.KindOf(err) != value.Parked || len(open) != 1 {
			t.Fatalf("%s: %v, and %d questions are open", name, err, len(open))
		}
		p.j.Close()
		m.answers(open[0].StepPath, true)
		m.rules = nil
		p = start()
		out, err := p.run("r", true, bodies[1])
		list, _ := out.Value.(value.List)
		if err != nil || len(list) != 2 || m.sent["x"] != 0 || m.tree()["log"] != "1" {
			t.Errorf("%s: %v, %v, sent %v, files %v", name, out.Value, err, m.sent, m.tree())
		}
		if r := p.replay(host.Replay{}); r.Err != nil || r.Ended || len(r.Differences) > 0 || !value.Equal(r.Outcome.Value, out.Value) {
			t.Errorf("%s: the replay gave %v, %+v", name, r.Err, r)
		}
		p.j.Close()
	}
}

// TestCaughtFaultsOfParallelCalls checks that a script can catch a failure of the environment in parallel calls,
// and that a replay does the same.
func TestCaughtFaultsOfParallelCalls(t *testing.T) {
	t.Parallel()
	m := headless(t, inStore)
	m.approve = host.ApproveAll()
	m.execute = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if e.Func == "fs.commit" {
			return tool.Outcome{}, systemError(syscall.ENOSPC)()
		}
		return host.Execute(ctx, f, e, g)
	}
	start := func() *process {
		p := m.process(0, false)
		addWork(p, nil)
		return p
	}
	const body = "r = attempt(tools.call_all, [('work', {}), ('nothing', {})])\nreturn [r['ok'], r['error']]"
	out, err := start().run("r", false, body)
	list, _ := out.Value.(value.List)
	if text := fmt.Sprint(list); err != nil || !strings.Contains(text, "false") || !strings.Contains(text, "no space left") {
		t.Fatalf("the run gave %v, %v", out.Value, err)
	}
	if r := start().replay(host.Replay{}); r.Err != nil || r.Ended || len(r.Differences) > 0 || !value.Equal(r.Outcome.Value, out.Value) {
		t.Errorf("the replay gave %v, %+v", r.Err, r)
	}
}

// TestTemporaryFilesThatStay checks that a script does not get the failure of a commit whose
// temporary files cannot be removed: it would write again what is written already.
func TestTemporaryFilesThatStay(t *testing.T) { eachStore(t, testTemporaryFilesThatStay) }

func testTemporaryFilesThatStay(t *testing.T, on keeper) {
	const twice = "calls = [('work', {'file': 'a'}), ('work', {'file': 'b'})]\n" +
		"return [r['value'] if r['ok'] else tools.call(c[0], **c[1]) for c, r in zip(calls, tools.call_all(calls))]"
	for _, fails := range []string{"fs.finish", "fs.commit fs.reconcile"} {
		m := headless(t, on)
		m.approve = host.ApproveAll()
		broken := true
		m.execute = func(ctx context.Context, fn *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			if broken && slices.Contains(strings.Fields(fails), e.Func) {
				return tool.Outcome{}, systemError(syscall.EROFS)()
			}
			return host.Execute(ctx, fn, e, g)
		}
		for try := range 3 {
			broken = try < 2
			p := m.process(0, false)
			p.add("work.star", star("work", "file: str", "fs.append(file, '1')", workNeeds), nil)
			_, err := p.run("r", try > 0, twice)
			if run := m.state("r"); broken != (run.State == history.Parked && run.Reason == "read_only") || broken != (err != nil) {
				t.Errorf("%s fails, %t: %v, and the run is %s (%s)", fails, broken, err, run.State, run.Reason)
			}
			p.j.Close()
		}
		if files := m.tree(); files["a"] != "1" || files["b"] != "1" {
			t.Errorf("%s failed: the files are %v, want each written once", fails, files)
		}
	}
}

// TestManyEffects checks that a recorded run may have more effects than a call that is not
// recorded, also when it is resumed and replayed.
func TestManyEffects(t *testing.T) {
	t.Parallel()
	m := headless(t, inStore)
	const n = host.MaxTreeEffects + 1000
	body := fmt.Sprintf("for i in range(%d): time.now()\nreturn human.ask('so?')", n)
	p := m.process(0, false)
	if _, err := p.run("r", false, body); value.KindOf(err) != value.Parked {
		t.Fatalf("the run gave %v, want it parked with a question", err)
	}
	m.answers(tool.StepPath{n + 1}, "yes")
	p = m.process(0, false)
	if out, err := p.run("r", true, body); err != nil || out.Value != "yes" {
		t.Errorf("resumed: %v, %v", out.Value, err)
	}
	if r := p.replay(host.Replay{}); r.Err != nil || r.Steps != n+1 {
		t.Errorf("replayed: %v after %d steps", r.Err, r.Steps)
	}
	program := p.program(body)
	program.Modules, program.Needs = nil, []tool.Capability{{Name: "human"}}
	_, err := p.RunProgram(context.Background(), program)
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitEffects || strings.Contains(e.Hint, "in parts") {
		t.Errorf("not recorded: %v (hint: %s)", err, e.Hint)
	}
}
