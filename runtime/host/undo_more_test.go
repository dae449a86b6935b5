package host_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestUndoOfABrokenRun ends a process at effects, gives its run up, and takes
// it back, in processes that end too.
func TestUndoOfABrokenRun(t *testing.T) { eachStore(t, testUndoOfABrokenRun) }

func testUndoOfABrokenRun(t *testing.T, on keeper) {
	const body = "for i in range(3):\n    tools.put(n = i)"
	tools := func(p *process) {
		p.add("put.star", star("put", "n: int", "fs.append('log', 'line %d\\n' % n)\nfs.write('d%d/x' % n, 'x')\nout.send('x')\nfs.append('log', 'more\\n')\nif n: fs.move('d%d/x' % (n - 1), 'moved')\nif n: fs.move('moved', 'd%d/y' % n)", "needs = ['fs.read', 'fs.write', 'use:out']"), nil)
	}
	start := func(m *machine, dies int, after bool) *process {
		p := m.process(dies, after)
		tools(p)
		return p
	}
	whole := newMachine(t, on)
	p := start(whole, 0, false)
	if _, err := p.run("r", false, body); err != nil {
		t.Fatal(err)
	}
	some := map[keeper]int{onDisk: 3, inStore: 7}[on]
	for _, at := range crashes(p.effects, some) {
		m := newMachine(t, on)
		first := start(m, 0, false)
		first.write("log", "before\n")
		first.j.Close()
		before := m.tree()
		_, _ = start(m, at.dies, at.after).run("r", false, body)
		p := start(m, 1+at.dies%4, at.after) // dies soon
		log, err := p.j.Resume(context.Background(), "r")
		if err != nil {
			continue // it had ended
		}
		if err := log.End(context.Background(), "", tool.Outcome{}, value.Errorf(value.Canceled, "given up")); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		_, err = p.undo(operate.Undo{Run: "r", ID: "u"})
		p.j.Close()
		p = start(m, 0, false)
		if err != nil {
			_, err = p.undo(operate.Undo{Run: "r", ID: "u", Resume: true})
		}
		if err != nil || !maps.Equal(m.tree(), before) {
			t.Errorf("%s: undo %v, the files are %v, want %v", at, err, m.tree(), before)
		}
		p.j.Close()
	}
}

// TestUndoAndRules checks that what a rule keeps from everybody, it keeps from
// taking back.
func TestUndoAndRules(t *testing.T) { eachRecord(t, testUndoAndRules) }

func testUndoAndRules(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'x')"); err != nil {
		t.Fatal(err)
	}
	p.j.Close()
	tree := m.tree()
	m.rules = rules(t, "deny fs.write")
	p = m.process(0, false)
	p.tools()
	out, err := p.undo(operate.Undo{Run: "r"})
	if value.KindOf(err) != value.Denied || out.Failed == nil || !maps.Equal(m.tree(), tree) {
		t.Errorf("undo: %+v, %v, the files are %v", out, err, m.tree())
	}
}

// TestUndoOfUndoOfUndo checks that taking back can be taken back again and again.
func TestUndoOfUndoOfUndo(t *testing.T) { eachRecord(t, testUndoOfUndoOfUndo) }

func testUndoOfUndoOfUndo(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	if _, err := p.run("0", false, flow); err != nil {
		t.Fatal(err)
	}
	states := []map[string]string{{}, m.tree()}
	for i := 1; i < 5; i++ {
		_, err := p.undo(operate.Undo{Run: fmt.Sprint(i - 1), ID: fmt.Sprint(i)})
		if want := states[(i+1)%2]; err != nil || !maps.Equal(m.tree(), want) {
			t.Errorf("undo %d: %v, the files are %v, want %v", i, errors.Unwrap(err), m.tree(), want)
		}
	}
}

// TestUndoOfACallInACall checks that a call which its caller takes back is not
// taken back twice.
func TestUndoOfACallInACall(t *testing.T) { eachRecord(t, testUndoOfACallInACall) }

func testUndoOfACallInACall(t *testing.T, on keeper) {
	const source = "def %[1]s():\n    \"Do it.\"\n    %[2]s\n    fs.append('log', '%[1]s')\n\ndef back(args, result):\n    out.send('no %[1]s')\n\n" +
		"tool(%[1]s, needs = ['use:out', 'tool', 'fs.read', 'fs.write'], undo = back)\n"
	m := newMachine(t, on)
	p := m.process(0, false)
	p.add("post.star", fmt.Sprintf(source, "post", "out.send('x')"), nil)
	p.add("order.star", fmt.Sprintf(source, "order", "tools.post()"), nil)
	if _, err := p.run("r", false, "tools.order()\ntools.post()"); err != nil {
		t.Fatal(err)
	}
	out, err := p.undo(operate.Undo{Run: "r"})
	if err != nil || len(out.Done) != 5 || len(out.Lasting) != 0 || len(m.tree()) != 0 || m.sent["no order"] != 1 || m.sent["no post"] != 1 {
		t.Errorf("undo: %v, %+v, the files are %v, sent %v", err, out, m.tree(), m.sent)
	}
}

// askingUndo is a tool whose undo asks a person.
const askingUndo = `
def post():
    "Post."
    return out.send("post")

def unpost(args, result):
    human.confirm("undo it?")

tool(post, needs = ["use:out", "human"], undo = unpost)
`

// TestUndoContinuesAndSkips checks that an undo which continues an interrupted one skips what
// has changed if it is told to, whatever the first one was told.
func TestUndoContinuesAndSkips(t *testing.T) { eachStore(t, testUndoContinuesAndSkips) }

func testUndoContinuesAndSkips(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p := m.process(0, false)
	p.tools()
	p.add("post.star", askingUndo, nil)
	p.write("first", "1")
	p.add("both.star", star("both", "", "fs.append('first', 'a')\ntools.note(text = 'one')\ntools.post()", "needs = ['fs.read', 'fs.write', 'tool', 'use:out', 'human']"), nil)
	if _, err := p.run("r", false, "tools.both()"); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", ID: "u", Parks: true}); value.KindOf(err) != value.Parked {
		t.Fatalf("the undo gave %v, want that it waits", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	p.write("log", "changed")
	out, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", Skip: true})
	if err != nil || out.ID != "u" || len(out.Skipped) != 1 || m.tree()["first"] != "1" {
		t.Errorf("the undo gave %+v, %v, the files are %v, want that it continues and skips the log", out, err, m.tree())
	}
}
