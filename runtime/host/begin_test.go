package host_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// flowing returns a process with the tools of the workflow flow, which is what m.workflow finds.
func (m *machine) flowing(source string) *process {
	m.t.Helper()
	var flow host.Workflow
	m.workflow = func(_ context.Context, _ toolset.Source, name string) (host.Workflow, error) {
		if name != "flow" {
			return host.Workflow{}, value.Errorf(value.NotFound, "Unknown workflow: %s", name)
		}
		return flow, nil
	}
	p := m.process(0, false)
	p.tools()
	flow = workflowFrom(m.t.(*testing.T), p.Host, "flow", source)
	return p
}

// dueRuns returns the IDs of the runs that are due.
func (p *process) dueRuns() (ids []string) {
	p.m.t.Helper()
	for r, err := range p.Due(context.Background()) {
		if err != nil {
			p.m.t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestBegin checks that what one process begins is executed by another one, once.
func TestBegin(t *testing.T) { eachStore(t, testBegin) }

func testBegin(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.flowing("def main(text: str):\n    return tools.note(text = text)\n")
	ctx := host.StartedBy(context.Background(), "Ann")
	note := tool.Call{Tool: "note", Args: value.NewDict("text", "called")}
	for range 2 { // the same request again
		if id, err := p.Begin(ctx, "flow", value.NewDict("text", "flowed"), host.Durable("w")); id != "w" || err != nil {
			t.Fatalf("Begin gave %q, %v", id, err)
		}
		if id, err := p.BeginCall(ctx, note, host.Durable("c")); id != "c" || err != nil {
			t.Fatalf("BeginCall gave %q, %v", id, err)
		}
	}
	if len(m.tree()) > 0 || p.effects > 0 {
		t.Errorf("beginning a run did %q", p.did)
	}
	r, err := p.Recorded(ctx, "w")
	if err != nil || r.State != history.Parked || r.Reason != history.Queued || r.By() != "Ann" {
		t.Errorf("the run is %v (%s), begun by %q: %v", r.State, r.Reason, r.By(), err)
	}
	for name, begin := range map[string]func() (string, error){
		"other arguments": func() (string, error) { return p.Begin(ctx, "flow", value.NewDict("text", "x"), host.Durable("w")) },
		"other kind":      func() (string, error) { return p.BeginCall(ctx, note, host.Durable("w")) },
	} {
		if _, err := begin(); value.KindOf(err) != value.Conflict {
			t.Errorf("%s under the same ID gave %v, want a conflict", name, err)
		}
	}
	if _, err := p.Begin(ctx, "none", nil); value.KindOf(err) != value.NotFound {
		t.Errorf("an unknown workflow gave %v", err)
	}
	if _, err := p.Begin(ctx, "flow", nil); value.KindOf(err) != value.Invalid {
		t.Errorf("a missing argument gave %v", err)
	}
	if _, err := p.BeginCall(ctx, tool.Call{Tool: "none"}); value.KindOf(err) != value.NotFound {
		t.Errorf("an unknown tool gave %v", err)
	}

	other := m.process(0, false)
	other.tools()
	if due := other.dueRuns(); !slices.Equal(due, []string{"c", "w"}) {
		t.Fatalf("due are %q, want both", due)
	}
	for _, id := range other.dueRuns() {
		if _, err := other.Resume(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.tree()["log"]; got != "called\nflowed\n" {
		t.Errorf("the runs wrote %q", got)
	}

	undo, err := p.BeginUndo(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.BeginUndo(ctx, "w"); again != undo || err != nil {
		t.Errorf("the second BeginUndo gave %q, %v, want %q", again, err, undo)
	}
	if _, err := other.Resume(context.Background(), undo); err != nil || !maps.Equal(m.tree(), map[string]string{"log": "called\n"}) {
		t.Errorf("the undo gave %v, and the files are %v", err, m.tree())
	}
}

// TestBeginInACall checks that a call begins no run, which could have more rights.
func TestBeginInACall(t *testing.T) {
	t.Parallel()
	m := newMachine(t, inStore)
	p := m.flowing("def main():\n    return 1\n")
	begin := map[string]func(ctx context.Context) (string, error){
		"workflow": func(ctx context.Context) (string, error) { return p.Begin(ctx, "flow", nil) },
		"call":     func(ctx context.Context) (string, error) { return p.BeginCall(ctx, tool.Call{Tool: "note"}) },
		"program": func(ctx context.Context) (string, error) {
			return p.BeginProgram(ctx, &host.Program{Name: "x", Recording: host.Recording{Kind: "x"}})
		},
	}
	for name, do := range begin {
		if err := p.Register(tool.Tool{Name: name, Description: "Begin."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) { return do(ctx) }); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(context.Background(), tool.Call{Tool: name, Caller: tool.ByPerson}); value.KindOf(err) != value.Invalid {
			t.Errorf("%s: %v, want kind Invalid", name, err)
		}
	}
	if due := p.dueRuns(); due != nil {
		t.Errorf("calls have begun %q", due)
	}
}

// TestAdmit checks that whoever executes a run decides about it: whether it is resumed, and whether what the
// program that began it has approved is approved here.
func TestAdmit(t *testing.T) { eachStore(t, testAdmit) }

func testAdmit(t *testing.T, on keeper) {
	m := newMachine(t, on)
	p := m.flowing("def main():\n    return tools.risky()\n") // approves everything
	ctx := context.Background()
	for _, id := range []string{"refused", "asks", "approved"} {
		if _, err := p.Begin(ctx, "flow", nil, host.Durable(id)); err != nil {
			t.Fatal(err)
		}
	}
	m.approve, m.answer, m.parks = nil, nil, true
	m.admit = func(_ context.Context, r host.Recorded) (bool, error) {
		if r.ID == "refused" {
			return false, value.Errorf(value.Denied, "nobody has reviewed the workflow")
		}
		return r.ID == "approved", nil
	}
	other := m.process(0, false)
	other.add("risky.star", star("risky", "", "out.send('x')\nreturn 'done'", "needs = ['use:out'], hints = {'risky': True}"), nil)
	for id, want := range map[string]value.Kind{"refused": value.Denied, "asks": value.Parked} {
		if _, err := other.Resume(ctx, id); value.KindOf(err) != want {
			t.Errorf("%s: %v, want kind %v", id, err, want)
		}
	}
	if result, err := other.Resume(ctx, "approved"); err != nil || result.Value != "done" {
		t.Errorf("approved: %v, %v", result.Value, err)
	}
	if r, err := other.Recorded(ctx, "refused"); err != nil || r.State != history.Parked || r.Reason != history.Queued {
		t.Errorf("the run that was not admitted is %v (%s): %v", r.State, r.Reason, err)
	}
	if m.sent["x"] != 1 {
		t.Errorf("sent %d times, want once, by the run that is approved here", m.sent["x"])
	}
}

// TestDueOfAProject checks that a host resumes the runs of its own project only, whose folder it has.
func TestDueOfAProject(t *testing.T) {
	t.Parallel()
	j := history.Open(journal.Memory(), nil)
	t.Cleanup(func() { j.Close() })
	at := func(project string) *rig {
		r := newRig(t, func(o *host.Options) { o.Journal, o.Project = recordIn(j), project })
		r.add("one.star", "def one():\n    \"One.\"\n    return 1\n\ntool(one)\n", nil)
		return r
	}
	a, b, all := at("/a"), at("/b"), at("")
	for _, r := range []*rig{a, b} {
		if _, err := r.BeginCall(t.Context(), tool.Call{Tool: "one"}); err != nil {
			t.Fatal(err)
		}
	}
	for r, want := range map[*rig][]string{a: {"/a"}, b: {"/b"}, all: {"/a", "/b"}} {
		var got []string
		for run, err := range r.Due(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, run.Project)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("due are the runs of %q, want %q", got, want)
		}
	}
	n, err := a.CountRuns(t.Context(), history.Filter{})
	if err != nil || !maps.Equal(n, map[history.State]int{history.Parked: 2}) {
		t.Errorf("CountRuns gave %v, %v", n, err)
	}
}

// TestStart checks that a call is recorded before it is made, that nobody else takes its run meanwhile, and what is not begun.
func TestStart(t *testing.T) {
	for _, known := range []bool{true, false} {
		eachStore(t, func(t *testing.T, on keeper) { testStart(t, on, known) })
	}
}

func testStart(t *testing.T, on keeper, known bool) {
	m := newMachine(t, on)
	p := m.process(0, false)
	p.tools()
	op, ctx := host.Operate(p.Host), host.StartedBy(context.Background(), "Ann")
	note := tool.Call{Tool: "note", Args: value.NewDict("text", "called")}
	call, err := op.Start(ctx, "c", known, note)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Recorded(ctx, "c")
	if err != nil || r.State != history.Running || r.By() != "Ann" || p.effects > 0 {
		t.Errorf("after Start, the run is %v, begun by %q, with %d effects: %v", r.State, r.By(), p.effects, err)
	}
	if due := p.dueRuns(); len(due) > 0 {
		t.Errorf("due are %q", due)
	}
	if _, err := op.Start(ctx, "c", true, note); value.KindOf(err) != value.Conflict {
		t.Errorf("the ID again gave %v", err)
	}
	if _, err := p.Resume(ctx, "c"); value.KindOf(err) != value.Conflict {
		t.Errorf("Resume meanwhile gave %v", err)
	}
	if result, err := call(ctx); err != nil || !result.Success || p.effects == 0 {
		t.Errorf("the call gave %+v after %d effects: %v", result, p.effects, err)
	}
	if r, err := p.Recorded(ctx, "c"); err != nil || r.State != history.Done {
		t.Errorf("the run is %v: %v", r.State, err)
	}
	for name, c := range map[string]tool.Call{"an unknown tool": {Tool: "none"}, "a wrong argument": {Tool: "note", Args: value.NewDict("txt", 1)}} {
		if _, err := op.Start(ctx, "x", false, c); err == nil {
			t.Errorf("%s was begun", name)
		}
		if _, err := p.Recorded(ctx, "x"); value.KindOf(err) != value.NotFound {
			t.Errorf("%s was recorded: %v", name, err)
		}
	}
	if err := p.Shutdown(ctx); err != nil { // no call is counted as in progress
		t.Error(err)
	}
	if _, err := op.Start(ctx, "y", true, note); value.KindOf(err) != value.Closed {
		t.Errorf("a host that is closed gave %v", err)
	}
}
