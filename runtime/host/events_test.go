package host_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mixedFlow is a run with each kind of effect, decision and failure.
const mixedFlow = `
log("begins")
progress("half", done = 1, total = 2)
got = [tools.note(text = "one")]
got.append(tools.report(n = 1))
got.append([r["ok"] for r in tools.call_all([("report", {"n": 2}), ("refused", {}), ("nothing", {}), ("failing", {})])])
got.append(attempt(tools.refused)["error"])
got.append(attempt(tools.forbidden)["error"])
got.append(attempt(tools.untrusted)["error"])
got.append(attempt(tools.undeclared)["error"])
got.append(attempt(tools.escapes)["error"])
got.append(attempt(tools.note, wrong = 1)["error"])
got.append(attempt(tools.changes)["error"])
got.append(tools.free(text = "x"))
got.append(tools.edited(path = "wrong"))
got.append([tools.always(n = 1), tools.always(n = 2)])
got.append(tools.asks())
got.append(tools.handler())
got.append(attempt(tools.unavailable)["error"])
got.append(attempt(tools.panics)["error"])
got.append([t["name"] for t in tools.list()])
got.append(tools.describe("note")["name"])
got.append(human.confirm("go on?"))
got.append(attempt(human.ask, "which?")["error"])
got.append(tools.chatty())
got.append(attempt(fs.read, "log")["error"])
time.sleep(0)
got.append(random.integer(1, 1))
got.append(tools.note(text = "end"))
return got`

// mixedTools are the tools of the mixed run.
func (p *process) mixedTools() {
	p.tools()
	p.add("refused.star", star("refused", "", "out.send('never')", "needs = ['use:out'], risky = True"), nil)
	p.add("forbidden.star", star("forbidden", "", "return 1", ""), nil)
	p.add("failing.star", star("failing", "", "fs.write('lost', 'x')\nfail('as it should')", "needs = ['fs.write']"), nil)
	p.add("untrusted.star", star("untrusted", "", "return 1", ""), func(t *toolset.Info) { t.State = toolset.Untrusted })
	p.add("undeclared.star", star("undeclared", "", "return fs.read('log')", ""), nil)
	p.add("escapes.star", star("escapes", "", "return fs.read('../x')", "needs = ['fs.read']"), nil)
	p.add("changes.star", star("changes", "", "fs.write('refused.txt', 'x')\nfs.write('refused2.txt', 'x')", "needs = ['fs.read', 'fs.write']"), nil)
	p.add("free.star", star("free", "text: str", "fs.write('free/a.txt', text)\nreturn fs.exists('free/a.txt')", "needs = ['fs.read', 'fs.write']"), nil)
	p.add("edited.star", star("edited", "path: str", "return path", "needs = ['use:out'], risky = True"), nil)
	p.add("always.star", star("always", "n: int", "return out.send('always %d' % n)", "needs = ['use:out'], risky = True"), func(t *toolset.Info) { t.Hash = "h" })
	p.add("asks.star", star("asks", "", "a = fs.read('asked/a')\nb = attempt(fs.read, 'asked/b')\nreturn [a, b['error']]", "needs = ['fs.read']"), nil)
	p.add("chatty.star", star("chatty", "", "for i in range(210): log('line %d' % i)\nemit('chunk')", ""), nil)
	p.add("panics.star", star("panics", "", "return out.panic()", "needs = ['use:out'], risky = True"), nil)
	p.goTool("handler", func(ctx context.Context) (value.Value, error) {
		r, err := p.Call(ctx, tool.Call{Tool: "note", Args: value.NewDict("text", "from Go")})
		return r.Value, err
	})
	p.goTool("unavailable", func(context.Context) (value.Value, error) {
		return nil, value.Errorf(value.Unavailable, "the network is away")
	})
}

// mixedAnswers approves but for some, always and with other arguments.
func mixedAnswers(_ context.Context, q tool.Question) (tool.Answer, error) {
	switch {
	case q.Tool == "refused", q.Tool == "changes":
		return tool.Answer{Why: "not now"}, nil
	case q.Tool == "edited" && q.Args.Text("path") == "wrong":
		return tool.Answer{Yes: true, Args: value.NewDict("path", "right")}, nil
	case q.Func != "" && q.Args.Text("path") == "asked/b":
		return tool.Answer{}, nil
	}
	return tool.Answer{Yes: true, Always: q.Tool == "always"}, nil
}

// An eventLog writes down what a host emits, a line each. What runs in parallel
// is sorted by call, since its order is not defined.
type eventLog struct {
	heard <-chan tool.Event
	lines []eventLine
}

type eventLine struct{ parallel, text string }

func (l *eventLog) note(e tool.Event) {
	parallel := ""
	if i := strings.IndexByte(e.Call, '.'); i >= 0 {
		parallel, _, _ = strings.Cut(e.Call[i:], "/")
	}
	switch e.Data.(type) {
	case tool.RunStart, tool.RunEnd:
		return
	}
	d := &value.Dict{}
	for k, v := range e.Fields().All() {
		name, _ := k.(string)
		_, ends := e.Data.(tool.ToolCallEnd)
		if name != "wall_ms" && name != "waited_ms" && !(ends && slices.Contains([]string{"duration_ms", "usage", "error", "error_type", "error_kind", "suggestion", "limit"}, name)) {
			d.Put(name, v)
		}
	}
	l.lines = append(l.lines, eventLine{parallel, fmt.Sprintf("%s %s %s %s", e.Type(), e.Call, e.Tool, value.FormatJSON(d, ""))})
}

// take returns the lines since the last one, under a heading.
func (l *eventLog) take(heading string) string {
	for len(l.heard) > 0 {
		l.note(<-l.heard)
	}
	lines := l.lines
	l.lines = nil
	for i := 0; i < len(lines); {
		n := i
		for n < len(lines) && lines[n].parallel != "" {
			n++
		}
		slices.SortStableFunc(lines[i:n], func(a, b eventLine) int { return strings.Compare(a.parallel, b.parallel) })
		i = n + 1
	}
	var b strings.Builder
	b.WriteString("# " + heading + "\n")
	for _, line := range lines {
		b.WriteString(line.text + "\n")
	}
	return b.String()
}

// TestEventsStayTheSame runs a long mixed workflow without a record, with one,
// broken off and resumed, replayed and undone, and compares every event with
// the golden file: the order of checks, and each decision that is audited.
func TestEventsStayTheSame(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	m := newMachine(t, onDisk)
	m.approve = host.ApproverFunc(mixedAnswers)
	m.rules = rules(t, "deny tool:forbidden", "allow fs.write:free/**", "ask fs.read:asked/**")
	events := &eventLog{}
	start := func(dies int) *process {
		p := m.process(dies, true)
		p.mixedTools()
		p.write("asked/a", "a")
		p.write("asked/b", "b")
		events.heard = p.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 16})
		return p
	}
	run := func(p *process, heading, kind string, resume bool) {
		program := p.program(mixedFlow)
		program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}
		program.ID, program.Kind, program.Resume = "r", kind, resume
		out, err := p.RunProgram(context.Background(), program)
		got.WriteString(events.take(heading))
		fmt.Fprintf(&got, "= %s %v\n", value.FormatJSON(out.Value, ""), err)
	}
	p := start(0)
	run(p, "without a record", "", false)
	direct := func(heading string, c tool.Call) {
		r, err := p.Call(context.Background(), c)
		got.WriteString(events.take(heading))
		fmt.Fprintf(&got, "= %s %v\n", value.FormatJSON(r.Value, ""), err)
	}
	direct("a call by a model", tool.Call{ID: "c", Tool: "report", Args: value.NewDict("n", "7"), Texts: true})
	direct("a call by a person", tool.Call{ID: "c", Tool: "note", Args: value.NewDict("text", "x"), Caller: tool.ByPerson})
	direct("a call that is refused", tool.Call{ID: "c", Tool: "refused"})
	p.j.Close()

	m.dir = t.TempDir()
	run(start(0), "recorded", "run", false)
	p = start(0)
	if r, err := p.Replay(context.Background(), host.Replay{Program: replayedProgram(p)}); err != nil || r.Err != nil {
		t.Errorf("replay: %v, %v", err, r.Err)
	}
	got.WriteString(events.take("replayed"))
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r", ID: "u"})
	if err != nil || len(out.Lasting) == 0 {
		t.Errorf("undo: %+v, %v", out, err)
	}
	got.WriteString(events.take("undone"))
	p.j.Close()

	m.dir, m.journal = t.TempDir(), t.TempDir()
	first := start(14)
	program := first.program(mixedFlow)
	program.Modules, program.Needs = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}
	program.ID, program.Kind = "r", "run"
	if _, err := first.RunProgram(context.Background(), program); err == nil {
		t.Error("the process did not die")
	}
	events.take("")
	run(start(0), "resumed", "run", true)

	golden := filepath.Join("testdata", "events.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("the events have changed (-want +got):\n%s", diff)
	}
}

func replayedProgram(p *process) *host.Program {
	program := p.program("")
	program.Modules, program.Needs, program.ID = nil, []tool.Capability{{Name: "tool"}, {Name: "human"}}, "r"
	return program
}
