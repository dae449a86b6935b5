package agent_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAHostResumesTasks has a program that knows nothing of a task but its ID
// answer its questions and resume it, each time in another host.
func TestAHostResumesTasks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if _, _, err := d.work("Do it", false, 0, func(*cassidy.Options) {}); value.KindOf(err) != value.Parked {
		t.Fatalf("the task gave %v, want that it waits", err)
	}
	for range 10 {
		h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: d.journal}, d.dir, &cassidy.Options{TrustSource: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.RegisterCode(h); err != nil {
			t.Fatal(err)
		}
		o := agent.Options{WorkDir: d.dir, Model: d.model(), Format: decision.Code, Tools: []string{"read_file", "write_file", "execute_code"}}
		if err := agent.Register(h, func() (*agent.Options, error) { own := o; return &own, nil }); err != nil {
			t.Fatal(err)
		}
		var opened agent.Settings
		err = agent.RegisterKinds(h, func(_ context.Context, s agent.Settings) (*agent.Options, error) {
			opened = s
			return &agent.Options{Model: d.model()}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for q, err := range h.Waiting(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Answer(t.Context(), q.ID, tool.Answer{Yes: true}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := h.Resume(t.Context(), "run")
		_ = h.Close()
		if opened.Format != decision.Code || opened.WorkDir != d.dir || opened.Place != "a library" {
			t.Fatalf("the task is opened with %+v, want what it was begun with", opened)
		}
		if value.KindOf(err) == value.Parked {
			continue
		}
		v, _ := r.Value.(*value.Dict)
		if err != nil || v.Text("answer") != "done" || v.Text("reason") != "final" || d.file("c.txt") != "three" {
			t.Errorf("the task gave %v, %v, want that it is done", r.Value, err)
		}
		return
	}
	t.Error("the task waits for ever")
}
