package host_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestUndo checks that a run is taken back to the last byte, and that taking back
// is too.
func TestUndo(t *testing.T) { eachRecord(t, testUndo) }

func testUndo(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	p.write("log", "before\n")
	p.write("old/a.txt", "a")
	before := m.tree()
	p.add("tidy.star", star("tidy", "", "fs.remove('old/a.txt')\nfs.mkdir('new')\nfs.edit('log', 'before', 'after')", "needs = ['fs.read', 'fs.write']"), nil)
	if _, err := p.run("r", false, "tools.tidy()\n"+flow); err != nil {
		t.Fatal(err)
	}
	after := m.tree()
	out, err := p.undo(operate.Undo{Run: "r", ID: "u"})
	if err != nil || !maps.Equal(m.tree(), before) {
		t.Fatalf("undo: %v, the files are %v, want %v", err, m.tree(), before)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "new")); err == nil {
		t.Error("a folder that the run made is still there")
	}
	if len(out.Lasting) != 3 || !strings.HasPrefix(out.Lasting[0].What, "out.send(") || out.Failed != nil {
		t.Errorf("what lasts is %v, want three messages", out.Lasting)
	}
	if _, err := p.undo(operate.Undo{Run: "u"}); err != nil || !maps.Equal(m.tree(), after) {
		t.Errorf("the undo of the undo: %v, the files are %v, want %v", err, m.tree(), after)
	}
	if on == inMemory {
		return
	}
	if _, err := p.undo(operate.Undo{Run: "none"}); value.KindOf(err) != value.NotFound {
		t.Errorf("undo of no run: %v", err)
	}
}

// TestUndoAndRuns checks the undo of a run by its ID alone, and that the runs of a
// host are listed.
func TestUndoAndRuns(t *testing.T) {
	t.Parallel()
	m := newMachine(t, onDisk)
	p := m.process(0, false)
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'one')"); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	out, err := p.Undo(ctx, "r")
	d, _ := out.Value.(*value.Dict)
	if err != nil || d.Int("undone") != 1 || len(m.tree()) > 0 {
		t.Errorf("undo: %v, %v, the files are %v", out.Value, err, m.tree())
	}
	var kinds []string
	for r, err := range p.Runs(ctx, history.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Kind)
	}
	if len(kinds) != 2 || kinds[0] != "undo" {
		t.Errorf("the kinds of the runs are %q, want the undo and the run", kinds)
	}
	if _, err := p.Undo(ctx, "none"); value.KindOf(err) != value.NotFound {
		t.Errorf("undo of no run: %v", err)
	}
}

// TestUndoOfAMemoryNamesIt checks that the record is enough to say which run is undone,
// and that an undo with nothing to do ends its record.
func TestUndoOfAMemoryNamesIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t, inMemory)
	p := m.process(0, false)
	if _, err := p.run("r", false, "return 1"); err != nil {
		t.Fatal(err)
	}
	own := history.NewMemory(history.Run{ID: "u"}, tool.Script{})
	out, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Of: m.records["r"], Record: own})
	if err != nil || out.ID != "u" || own.Current().State != history.Done {
		t.Errorf("undo: %+v, %v, and its record is %v", out, err, own.Current().State)
	}
	p.tools()
	if _, err := p.run("w", false, "tools.note(text = 'one')"); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Of: m.records["w"]}); err != nil || len(m.tree()) > 0 {
		t.Errorf("undo without a record of its own: %v, the files are %v", err, m.tree())
	}
	if runs := allRuns(t, p.j); len(runs) > 0 {
		t.Errorf("the journal has %+v, want nothing of a run that it does not know", runs)
	}
}

// TestAWaitingUndoExcludesAnother checks that what an undo has begun is not begun again
// by another while it waits.
func TestAWaitingUndoExcludesAnother(t *testing.T) { eachStore(t, testAWaitingUndoExcludesAnother) }

func testAWaitingUndoExcludesAnother(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p := m.process(0, false)
	p.add("post.star", `
def post():
    "Post."
    return out.send("post")

def unpost(args, result):
    out.send("refund")
    human.confirm("and the rest?")

tool(post, needs = ["use:out", "human"], undo = unpost)
`, nil)
	if _, err := p.run("r", false, "tools.post()"); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", ID: "u", Parks: true}); value.KindOf(err) != value.Parked {
		t.Fatalf("the undo gave %v, want that it waits", err)
	}
	_, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", ID: "v", Parks: true})
	if e := value.ErrorOf(err, value.Failed); value.KindOf(err) != value.Conflict || !strings.Contains(e.Hint, "runs resume u") {
		t.Errorf("another undo gave %v, want a conflict that names the first", err)
	}
	for q := range p.Waiting(ctx) {
		if err := p.Answer(ctx, q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Resume(ctx, "u"); err != nil || m.sent["refund"] != 1 {
		t.Errorf("resumed: %v, sent %v", err, m.sent)
	}
	if out, err := host.Operate(p.Host).UndoRun(ctx, operate.Undo{Run: "r", ID: "w"}); err != nil || !out.Done[0].Already() || m.sent["refund"] != 1 {
		t.Errorf("an undo afterwards: %+v, %v, sent %v", out, err, m.sent)
	}
}

// TestUndoOfARunThatHasNotEnded checks that what would go on is not taken back.
func TestUndoOfARunThatHasNotEnded(t *testing.T) { eachRecord(t, testUndoOfARunThatHasNotEnded) }

func testUndoOfARunThatHasNotEnded(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	p := m.process(0, false)
	p.tools()
	if _, err := p.run("r", false, "tools.note(text = 'one')\nhuman.confirm('go on?')"); value.KindOf(err) != value.Parked {
		t.Fatalf("gave %v, want that it waits", err)
	}
	if _, err := p.undo(operate.Undo{Run: "r"}); value.KindOf(err) != value.Conflict || m.tree()["log"] != "one\n" {
		t.Errorf("undo: %v, the files are %v, want a conflict", err, m.tree())
	}
}

// TestUndoInPart checks that a part of a run is taken back, and that nothing is
// that somebody has changed since.
func TestUndoInPart(t *testing.T) { eachRecord(t, testUndoInPart) }

func testUndoInPart(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	const body = "tools.note(text = 'one', file = 'a')\ntools.note(text = 'two', file = 'a')\ntools.note(text = 'three', file = 'b')"
	if _, err := p.run("r", false, body); err != nil {
		t.Fatal(err)
	}
	p.write("a", "mine\n")
	out, err := p.undo(operate.Undo{Run: "r", To: tool.StepPath{2}})
	if value.KindOf(err) != value.Conflict || out.Failed == nil || out.Failed.StepPath.String() != "2.3" || len(out.Done) != 1 || len(out.Left) != 0 {
		t.Errorf("undo over a change: %v, %+v, want a conflict at 2.3 after one step", err, out)
	}
	if want := "a was not restored: the file has changed since step 2.3"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("undo over a change: %v, want %q", err, want)
	}
	if tree := m.tree(); tree["a"] != "mine\n" || tree["b"] != "" {
		t.Errorf("the files are %v, want the changed one as it is", tree)
	}
	p.write("a", "one\ntwo\n")
	if _, err := p.undo(operate.Undo{Run: "r", To: tool.StepPath{2}}); err != nil || m.tree()["a"] != "one\n" {
		t.Errorf("undo to step 2: %v, the files are %v", err, m.tree())
	}
}

// TestUndoOfATool checks that a tool says itself how its calls are taken back.
func TestUndoOfATool(t *testing.T) { eachRecord(t, testUndoOfATool) }

func testUndoOfATool(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.add("post.star", `
def post(text: str):
    "Post it."
    return {"id": out.send(text)}

def unpost(args, result):
    return out.send("un" + args["text"] + " " + result["id"])

tool(post, needs = ["use:out"], undo = unpost)
`, nil)
	if _, err := p.run("r", false, "tools.call_all([('post', {'text': 'x'}), ('post', {'text': 'y'})])"); err != nil {
		t.Fatal(err)
	}
	out, err := p.undo(operate.Undo{Run: "r"})
	if err != nil || len(out.Done) != 2 || len(out.Lasting) != 0 || m.sent["unx sent x"] != 1 || m.sent["uny sent y"] != 1 {
		t.Errorf("undo: %v, %+v, sent %v", err, out, m.sent)
	}
}
