package agent_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSummaries checks that a conversation can be compacted twice in a row, and after it was
// reopened, also if the model must call a tool in each turn: the summary is a text.
func TestSummaries(t *testing.T) {
	t.Parallel()
	read := &model.Reply{Calls: []model.Call{{ID: "1", Tool: "read_file", Args: value.NewDict("filepath", "a.txt")}}, Stop: model.StopCalls}
	m := &seq{replies: []*model.Reply{read, text("Yes."), text("So far: yes."), text("As before."), text("And now.")}}
	a := openSeq(t, m, agent.Options{Policy: "chat", ToolChoice: "required"})
	s, err := a.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(t.Context(), "Is it?"); err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	reopened, err := a.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range []*agent.Session{s, s, reopened} {
		if _, _, err := one.Compact(t.Context()); err != nil {
			t.Fatalf("compaction %d: %v", i+1, err)
		}
		if got := m.asked[i+2].ToolChoice; got != model.ToolAuto {
			t.Errorf("the request for summary %d has the tool choice %q", i+1, got)
		}
	}
}
