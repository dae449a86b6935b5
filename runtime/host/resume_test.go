package host_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A machine is what is left when a process dies: a project, a journal, and a
// service far away.
type machine struct {
	t            testing.TB
	dir, journal string
	on           keeper
	memory       journal.Store              // in place of the folder journal
	records      map[string]*history.Memory // in place of any journal, by the ID of the run
	mu           sync.Mutex
	sent         map[string]int // how often the service got each text, once per key
	keys         map[string]bool
	asked        []string // of people
	answer       value.Value
	parks        bool
	approve      host.Approver
	rules        []tool.Rule
	execute      host.Executor
	middleware   []host.Middleware
	audit        func(tool.Event) error
	workflow     func(context.Context, toolset.Source, string) (host.Workflow, error)
	admit        func(context.Context, host.Recorded) (bool, error)
	revoked      map[string]bool // scripts, by their paths
	release      int64           // what the pure function out.release returns
	last         *process
}

// A keeper is what keeps the records of a machine.
type keeper string

const (
	onDisk   keeper = "journal on disk"
	inStore  keeper = "journal in memory"
	inMemory keeper = "memory" // and no journal
)

// eachStore runs a test over each kind of store.
func eachStore(t *testing.T, test func(*testing.T, keeper)) {
	for _, on := range []keeper{onDisk, inStore} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// eachRecord runs a test over each kind of record. What it does with runs but for
// their programs must go through the machine.
func eachRecord(t *testing.T, test func(*testing.T, keeper)) {
	eachStore(t, test)
	t.Run(string(inMemory), func(t *testing.T) {
		t.Parallel()
		test(t, inMemory)
	})
}

func newMachine(t testing.TB, on keeper) *machine {
	return &machine{on: on, memory: journal.Memory(), records: map[string]*history.Memory{}, t: t, dir: t.TempDir(), journal: t.TempDir(), sent: map[string]int{}, keys: map[string]bool{}, approve: host.ApproveAll(), answer: true}
}

// A process is a host on the machine, until it dies.
type process struct {
	*rig
	m       *machine
	j       *history.Journal
	effects int // how many have been asked for
	did     []string
	dies    int  // at which of them; 0 is never
	after   bool // when that one is done, and not before
}

// process starts one. It dies by losing its journal: nothing that it does then
// is recorded.
func (m *machine) process(dies int, after bool) *process {
	m.t.Helper()
	p := &process{m: m, dies: dies, after: after}
	m.last = p
	world, err := stdlib.Open(&stdlib.Options{Root: m.dir})
	if err != nil {
		m.t.Fatal(err)
	}
	var close func()
	p.j, close = m.open()
	m.t.Cleanup(func() { p.j.Close(); close(); world.Close() })
	modules := append(world.Modules(), m.service())
	for i := range modules {
		modules[i].Funcs = slices.Clone(modules[i].Funcs)
		for k := range modules[i].Funcs {
			p.mortal(&modules[i].Funcs[k])
		}
	}
	var ask host.Asker
	var asking sync.Mutex // calls of call_all ask at the same time
	if m.answer != nil {
		ask = host.AskerFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
			asking.Lock()
			m.asked = append(m.asked, q.Text)
			asking.Unlock()
			if _, isBool := m.answer.(bool); isBool && q.Kind == tool.QuestionAsk {
				return tool.Answer{}, value.Errorf(value.Internal, "Options.Ask answered with boolean") // as events.golden has it
			}
			return tool.Answer{Value: m.answer}, nil
		})
	}
	h, err := host.New(&host.Options{Sandbox: inline(modules), Modules: modules, WorkDir: m.dir, Journal: recordIn(p.j), Approver: m.approve, Rules: m.rules, Asker: ask, Executor: m.execute, Middleware: m.middleware, Audit: m.audit, Workflow: m.workflow, Admit: m.admit,
		Revoked: func(_ toolset.Source, s *tool.Script) bool { return m.revoked[s.Path] }})
	if err != nil {
		m.t.Fatal(err)
	}
	p.rig = &rig{h, m.t, m.dir}
	return p
}

// open opens the journal as a process of its own would.
func (m *machine) open() (j *history.Journal, close func()) {
	m.t.Helper()
	if m.on != onDisk {
		return history.Open(m.memory, nil), func() {}
	}
	store, err := sqlite.Open(m.journal)
	if err != nil {
		m.t.Fatal(err)
	}
	return history.Open(store, nil), func() { _ = store.Close() }
}

// recordIn is the option of a host that records in a journal.
func recordIn(j *history.Journal) func() (*history.Journal, error) {
	return func() (*history.Journal, error) { return j, nil }
}

// mortal has the process die at its effect. The removal of temporary files is not counted: it
// follows an outcome, and what it leaves is swept.
func (p *process) mortal(f *tool.Func) {
	do := f.Do
	if do == nil || f.Kind == tool.Notice || f.Name == "finish" {
		return
	}
	f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		p.m.mu.Lock()
		p.effects++
		p.did = append(p.did, e.Func+" "+e.StepPath.String())
		dies := p.effects == p.dies
		p.m.mu.Unlock()
		if dies && !p.after {
			p.die()
			return tool.Outcome{}, value.Errorf(value.Canceled, "killed")
		}
		out, err := do(ctx, e, g)
		if dies {
			p.die()
		}
		return out, err
	}
}

// service is an effect beyond the project, which does a thing once for a key.
func (m *machine) service() tool.Module {
	return tool.Module{Name: "out", Funcs: []tool.Func{{
		Name: "send", Kind: tool.External, Params: []tool.Param{{Name: "text", Type: tool.Type{Name: tool.TypeString}, Required: true}},
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: "out"}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if !m.keys[g.Key] {
				m.keys[g.Key] = true
				m.sent[e.Args.Text("text")]++
			}
			return tool.Outcome{Value: "sent " + e.Args.Text("text")}, nil
		},
	}, {
		Name: "panic", Kind: tool.External,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: "out"}}, nil
		},
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { panic("a bug") },
	}, {
		Name: "release", Kind: tool.Pure,
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: m.release}, nil
		},
	}}}
}

// tools are those of the workflow.
func (p *process) tools() {
	needs := "needs = ['fs.read', 'fs.write', 'use:out', 'tool'], "
	p.add("note.star", star("note", "text: str, file: str = 'log'", "fs.append(file, text + '\\n')\nreturn fs.read(file)", needs), nil)
	p.add("report.star", star("report", "n: int", `
fs.write('out/%d.txt' % n, 'first\n')
out.send('report %d' % n)
fs.edit('out/%d.txt' % n, 'first', 'second')
fs.append('log%d' % n, tools.note(text = 'inner', file = 'log%d' % n)[:5] + '\n')
fs.move('out/%d.txt' % n, 'done/%d.txt' % n)
return fs.read('done/%d.txt' % n)`, needs+"hints = {'idempotent': True}"), nil)
}

// flow is the workflow: a list of what it got.
const flow = `
got = [tools.note(text = 'one')]
got.append(tools.report(n = 1))
for r in tools.call_all([('report', {'n': 2}), ('report', {'n': 3})]):
    got.append(r['value'])
got.append(attempt(tools.call, 'nothing')['error'])
got.append(str(random.integer(1, 1000000) > 0))
got.append(tools.note(text = 'end'))
return got`

func (p *process) run(id string, resume bool, body string) (tool.Outcome, error) {
	return p.runIn(context.Background(), id, resume, body)
}

func (p *process) runIn(ctx context.Context, id string, resume bool, body string) (tool.Outcome, error) {
	program := p.program(body)
	program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}
	program.ID, program.Kind, program.Resume, program.Parks = id, "run", resume, p.m.parks
	p.m.keep(program)
	return p.RunProgram(ctx, program)
}

// keep has a program recorded in memory, where that is what keeps runs.
func (m *machine) keep(p *host.Program) {
	if m.on == inMemory {
		p.Record = m.record(history.Run{ID: p.ID, Args: p.Args}, p.Script, p.Resume)
	}
}

// record returns the record in memory of a run that begins or is resumed.
func (m *machine) record(run history.Run, s tool.Script, resume bool) *history.Memory {
	r := m.records[run.ID]
	switch {
	case resume && r != nil:
		r = r.Resume()
	default:
		r = history.NewMemory(run, s)
	}
	m.records[run.ID] = r
	return r
}

// die ends what the process can record, as its end would.
func (p *process) die() {
	_ = p.j.Close()
	for _, r := range p.m.records {
		_ = r.Close()
	}
}

// state returns how a run stands.
func (p *process) state(id string) history.Run {
	p.m.t.Helper()
	if p.m.on == inMemory {
		return p.m.records[id].Current()
	}
	r, err := p.j.Run(context.Background(), id)
	if err != nil {
		p.m.t.Fatal(err)
	}
	return r
}

// undo takes a run back.
func (p *process) undo(u operate.Undo) (*operate.Undone, error) {
	if p.m.on == inMemory {
		u.Of = p.m.records[u.Run]
		u.ID = cmp.Or(u.ID, "undo-of-"+u.Run)
		u.Record = p.m.record(history.Run{ID: u.ID}, tool.Script{}, u.Resume)
	}
	return host.Operate(p.Host).UndoRun(context.Background(), u)
}

// tree returns the files of the project.
func (m *machine) tree() map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(m.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(m.dir, path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return files
}

// A crash is the moment at which a process dies: before or after one of its effects, by their
// numbers from 1.
type crash struct {
	dies  int
	after bool
}

func (c crash) String() string { return fmt.Sprintf("killed at effect %d, after: %v", c.dies, c.after) }

// crashes returns the moments of a run with so many effects, or some of them, spread over the run,
// unless this is a run of make soak.
func crashes(effects, some int) []crash {
	var all []crash
	for _, after := range []bool{false, true} {
		for dies := 1; dies <= effects; dies++ {
			all = append(all, crash{dies, after})
		}
	}
	return testutil.Sample(all, some)
}

// TestARunSurvivesItsProcess ends a process before and after effects of a
// run, has another one resume it, which may die too, and compares what comes of
// it with the run that nothing happened to.
func TestARunSurvivesItsProcess(t *testing.T) { eachRecord(t, testARunSurvivesItsProcess) }

func testARunSurvivesItsProcess(t *testing.T, on keeper) {
	whole := newMachine(t, on)
	p := whole.process(0, false)
	p.tools()
	want, err := p.run("r", false, flow)
	if err != nil {
		t.Fatal(err)
	}
	files := whole.tree()
	if len(files) != 7 || whole.sent["report 2"] != 1 || p.effects < 20 {
		t.Fatalf("the run without a crash made %v and sent %v with %d effects", files, whole.sent, p.effects)
	}
	some := map[keeper]int{onDisk: 3, inStore: 5, inMemory: 7}[on]
	for _, at := range crashes(p.effects, some) {
		m := newMachine(t, on)
		first := m.process(at.dies, at.after)
		first.tools()
		_, err := first.run("r", false, flow)
		if err == nil {
			t.Fatalf("the process did not die at effect %d", at.dies)
		}
		second := m.process(3, at.after) // dies soon, and again
		second.tools()
		out, err := second.run("r", true, flow)
		if err != nil {
			third := m.process(0, false)
			third.tools()
			out, err = third.run("r", true, flow)
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", at, err)
		case !value.Equal(out.Value, want.Value):
			t.Errorf("%s: gave %v, want %v", at, out.Value, want.Value)
		case !maps.Equal(m.tree(), files):
			t.Errorf("%s: the files are %v, want %v", at, m.tree(), files)
		case !maps.Equal(m.sent, whole.sent):
			t.Errorf("%s: sent were %v, want each once", at, m.sent)
		case len(m.asked) > 0:
			t.Errorf("%s: somebody was asked %q", at, m.asked)
		}
	}
}
