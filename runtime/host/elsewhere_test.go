package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/journaltest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// remotely returns a process whose runs another process of the machine executes, which m.last is.
func (m *machine) remotely(source string) (client, worker *process) {
	m.t.Helper()
	worker = m.flowing(source)
	all := m.memory
	m.memory = journaltest.Remote(all, func(_, id string) { _, _ = worker.Resume(context.Background(), id) })
	client = m.process(0, false)
	client.tools()
	m.memory, m.last = all, worker
	return client, worker
}

// TestElsewhere checks that what a client of a remote store runs, calls and resumes is executed by the workers, with the
// same results, events and errors as if the client did it.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	m := newMachine(t, inStore)
	client, worker := m.remotely("def main(text: str, wrong: bool = False):\n    if wrong:\n        fail('no ' + text)\n    return tools.note(text = text)\n")
	ctx := context.Background()
	events := client.Subscribe(ctx, host.EventFilter{Run: "w"})
	for range 2 { // the second time, the record has the result
		r, err := client.Run(ctx, "flow", value.NewDict("text", "flowed"), host.Durable("w"))
		if err != nil || r.Error != "" {
			t.Fatalf("Run gave %v, %v", r, err)
		}
	}
	call := tool.Call{Tool: "note", Args: value.NewDict("text", "called")}
	for range 2 {
		if _, err := client.Call(ctx, call, host.Durable("c")); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := client.Resume(ctx, "c"); err != nil || r.Error != "" {
		t.Errorf("Resume of a run that is done gave %v, %v", r, err)
	}
	start, err := host.Operate(client.Host).Start(ctx, "s", false, tool.Call{Tool: "note", Args: value.NewDict("text", "started")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := m.tree()["log"]; got != "flowed\ncalled\nstarted\n" {
		t.Errorf("the runs wrote %q", got)
	}
	if client.effects > 0 || worker.effects == 0 {
		t.Errorf("the client did %d effects, the worker %d", client.effects, worker.effects)
	}
	var types []string
	for e := range events {
		types = append(types, e.Type())
		if _, ended := e.Data.(tool.RunEnd); ended {
			break
		}
	}
	if !slices.Contains(types, "tool_call_start") || !slices.Contains(types, "tool_call_end") {
		t.Errorf("the client saw %q", types)
	}
	undone, err := host.Operate(client.Host).UndoRun(ctx, operate.Undo{Run: "s", Parks: true})
	if err != nil || len(undone.Done) != 1 || undone.Done[0].What == "" || m.tree()["log"] != "flowed\ncalled\n" {
		t.Errorf("the undo gave %+v, %v, and left %q", undone, err, m.tree()["log"])
	}
	_, err = client.Run(ctx, "flow", value.NewDict("text", "luck", "wrong", true))
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Failed || e.Message() != "no luck" {
		t.Errorf("a run that fails gave %v", err)
	}
	if due := client.dueRuns(); due != nil {
		t.Errorf("due for the client are %q", due)
	}
}

// TestElsewhereParks checks that a run that others execute waits for an answer, whoever gives it, and can be cancelled.
func TestElsewhereParks(t *testing.T) {
	t.Parallel()
	m := newMachine(t, inStore)
	m.answer = nil
	client, _ := m.remotely("def main():\n    return human.confirm('go on?')\n")
	ctx := context.Background()
	for _, id := range []string{"answered", "cancelled"} {
		_, err := client.Run(ctx, "flow", nil, host.Durable(id))
		var parked *history.ParkedError
		if !errors.As(err, &parked) || len(parked.Questions) != 1 || parked.Questions[0].Text != "go on?" {
			t.Fatalf("Run gave %v", err)
		}
		if again, err := client.Resume(ctx, id); value.KindOf(err) != value.Parked || again.Error == "" {
			t.Errorf("Resume without an answer gave %v, %v", again, err)
		}
		if id == "cancelled" {
			if err := client.Cancel(ctx, id); err != nil {
				t.Error(err)
			}
		} else if err := client.Answer(ctx, parked.Questions[0].ID, tool.Answer{Yes: true}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := client.Resume(ctx, "answered"); err != nil || r.Value != true {
		t.Errorf("after the answer, the result is %v, %v", r.Value, err)
	}
	if _, err := client.Resume(ctx, "cancelled"); value.KindOf(err) != value.Canceled {
		t.Errorf("the cancelled run gave %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := client.Run(gone, "flow", nil); value.KindOf(err) != value.Canceled {
		t.Errorf("without time, Run gave %v", err)
	}
}

var _ journal.Remote = journaltest.Remote(nil, nil)
