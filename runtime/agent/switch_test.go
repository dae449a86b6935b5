package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSwitch continues a conversation with an agent that has another model and other tools, also
// after it was compacted and when it is opened again.
func TestSwitch(t *testing.T) {
	t.Parallel()
	var s *stage
	var switched error
	s = newStage(t, setting{files: twoFiles, store: true, options: agent.Options{Tools: []string{}, Policy: "chat"}, replies: play{
		func(context.Context) any { switched = s.session.Switch(s.session.Agent()); return "one" }, "a summary",
	}})
	ctx := context.Background()
	if _, err := s.session.Send(ctx, "first"); err != nil || value.KindOf(switched) != value.Busy {
		t.Fatalf("the turn gave %v, and Switch %v, want an error of kind Busy", err, switched)
	}
	if _, _, err := s.session.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	other, err := agent.New(s.Host, &agent.Options{Model: s.model(false, play{readsA(), "two"}), ModelName: "other", Policy: "chat", Tools: []string{"read_file"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.session.Switch(other); err != nil {
		t.Fatal(err)
	}
	r, err := s.session.Send(ctx, "second")
	if err != nil || r.Text != "two" || len(r.Calls) != 1 || !r.Calls[0].Success {
		t.Errorf("the turn of the other agent gave %+v, %v", r, err)
	}
	again, err := other.Session(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	if text := again.Messages()[0].Text; len(again.Messages()) != len(s.session.Messages()) || !strings.Contains(text, "a summary") {
		t.Errorf("the reopened session has %v", again.Messages())
	}
}
