package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lines are events as JSON, those with a number.
func numbered(t *testing.T, events <-chan tool.Event) (lines []string) {
	t.Helper()
	for len(events) > 0 {
		if e := <-events; e.Seq > 0 {
			lines = append(lines, eventText(t, e))
		}
	}
	return lines
}

func eventText(t testing.TB, e tool.Event) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// recordedEvents are those of a run after a number, which must grow.
func (p *process) recordedEvents(run string, after uint64) (lines []string) {
	p.t.Helper()
	last := after
	for e, err := range p.Events(context.Background(), run, after) {
		if err != nil {
			p.t.Fatal(err)
		}
		if e.Seq <= last {
			p.t.Errorf("event %d comes after %d", e.Seq, last)
		}
		last = e.Seq
		lines = append(lines, eventText(p.t, e))
	}
	return lines
}

// parallelFlow makes calls in each other, and at a time.
const parallelFlow = `
log("not recorded")
got = [r["ok"] for r in tools.call_all([("report", {"n": i}) for i in range(10)] + [("nothing", {}), ("note", {"text": "x" * 100000})])]
got.append(human.confirm("go on?"))
got.append(tools.report(n = 100))
return got`

// TestEventsAreRecorded checks that a run that is parked and resumed has the
// numbers live that its record has, in order and without gaps, in any process.
func TestEventsAreRecorded(t *testing.T) { eachStore(t, testEventsAreRecorded) }

func testEventsAreRecorded(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.parks, m.answer = true, nil
	var live []string
	events := func(p *process) <-chan tool.Event {
		p.mixedTools()
		return p.Subscribe(t.Context(), host.EventFilter{Run: "r", Buffer: 1 << 12})
	}
	p := m.process(0, false)
	heard := events(p)
	if _, err := p.run("r", false, parallelFlow); value.KindOf(err) != value.Parked {
		t.Fatalf("the run gave %v, want it parked", err)
	}
	live = append(live, numbered(t, heard)...)
	if diff := cmp.Diff(live, p.recordedEvents("r", 0)); diff != "" {
		t.Fatalf("recorded are other events (-live +recorded):\n%s", diff)
	}
	before := len(live)
	p.j.Close()

	p = m.process(0, false)
	heard = events(p)
	for q, err := range p.Waiting(t.Context()) {
		if err == nil {
			err = p.Answer(t.Context(), q.ID, tool.Answer{Yes: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.run("r", true, ""); err != nil {
		t.Fatal(err)
	}
	live = append(live, numbered(t, heard)...)
	got := p.recordedEvents("r", 0)
	if diff := cmp.Diff(live, got); diff != "" {
		t.Errorf("after the resume, recorded are other events (-live +recorded):\n%s", diff)
	}
	if after := p.recordedEvents("r", uint64(before)); !slices.Equal(after, live[before:]) {
		t.Errorf("after event %d there are %d, want the %d of the second process", before, len(after), len(live)-before)
	}
	if last := p.recordedEvents("r", uint64(len(live)-1)); len(last) != 1 || !strings.Contains(last[0], "run_end") {
		t.Errorf("the last event is %s, want the end, as number %d", last, len(live))
	}
	if rest := p.recordedEvents("r", uint64(len(live))); rest != nil {
		t.Errorf("after the last there are %s", rest)
	}
	for _, id := range []string{"none", "", "../r"} {
		n := 0
		for _, err := range p.Events(t.Context(), id, 0) {
			if n++; value.KindOf(err) != value.NotFound {
				t.Errorf("events of %q: %v, want that it is not found", id, err)
			}
		}
		if n != 1 {
			t.Errorf("events of %q: %d, want an error", id, n)
		}
	}
}

// TestNumbersAreNotUsedTwice checks that after the death of a process, whose last
// events may not be on disk, a run continues with numbers that nobody has seen.
func TestNumbersAreNotUsedTwice(t *testing.T) { eachStore(t, testNumbersAreNotUsedTwice) }

func testNumbersAreNotUsedTwice(t *testing.T, on keeper) {
	seen := map[uint64]string{}
	m := newMachine(t, on)
	run := func(dies int, resume bool) *process {
		p := m.process(dies, true)
		p.mixedTools()
		heard := p.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 12})
		_, err := p.run("r", resume, "tools.report(n = 1)\ntools.report(n = 2)\ntools.note(text = 'x')")
		if (err != nil) != (dies > 0) {
			t.Fatal(err)
		}
		for len(heard) > 0 {
			e := <-heard
			if e.Seq == 0 {
				continue
			}
			if seen[e.Seq] != "" {
				t.Errorf("event %d is %s, and was %s", e.Seq, eventText(t, e), seen[e.Seq])
			}
			seen[e.Seq] = eventText(t, e)
		}
		return p
	}
	run(9, false).j.Close()
	p := run(0, true)
	for e, err := range p.Events(t.Context(), "r", 0) {
		if err != nil || eventText(t, e) != seen[e.Seq] {
			t.Errorf("recorded is %v, %v, want %s", e, err, seen[e.Seq])
		}
	}
}

// TestDurableCallEvents checks the events of a call that is recorded, and that
// those of one that is not have no number.
func TestDurableCallEvents(t *testing.T) { eachStore(t, testDurableCallEvents) }

func testDurableCallEvents(t *testing.T, on keeper) {
	p := newMachine(t, on).process(0, false)
	p.mixedTools()
	heard := p.Subscribe(t.Context(), host.EventFilter{})
	call := tool.Call{Tool: "note", Args: value.NewDict("text", "x"), Caller: tool.ByPerson}
	if _, err := p.Call(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if plain := numbered(t, heard); plain != nil {
		t.Errorf("a call that is not recorded has the events %s", plain)
	}
	if _, err := p.Call(t.Context(), call, host.Durable("d")); err != nil {
		t.Fatal(err)
	}
	live, got := numbered(t, heard), p.recordedEvents("d", 0)
	if diff := cmp.Diff(live, got); diff != "" || len(got) == 0 || !strings.Contains(got[0], "tool_call_start") || !strings.Contains(got[len(got)-1], "tool_call_end") {
		t.Errorf("recorded are %s (-live +recorded):\n%s", got, diff)
	}
	for i, line := range got {
		var e tool.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != uint64(i+1) || e.Run != "d" {
			t.Errorf("event %d is %+v, %v", i+1, e, err)
		}
	}
}
