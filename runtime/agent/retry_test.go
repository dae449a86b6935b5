package agent_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRetry does the run of an agent again, from its beginning and from a step, with an ID that is
// generated or chosen. The new run is resumed as any other, and its session is another one.
func TestRetry(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "again"} {
		set := setting{files: twoFiles, store: true, approve: host.ApproveAll(), replies: play{readsA(), "TASK COMPLETE: one", readsA(), "TASK COMPLETE: two"}}
		s := newStage(t, set)
		if r, err := s.session.Send(context.Background(), "do it"); err != nil || r.Text != "one" {
			t.Fatalf("the turn gave %+v, %v", r, err)
		}
		forked, err := s.Fork(context.Background(), retry.Request{Run: "run", From: tool.StepPath{1}, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Resume(context.Background(), forked)
		if d, _ := got.Value.(*value.Dict); err != nil || d.Text("answer") != "two" {
			t.Errorf("retried as %q: %+v, %v", forked, got, err)
		}
		if last, err := host.Operate(s.Host).LastTurn(context.Background(), "run"); err != nil || last.ID != "run" {
			t.Errorf("the last turn of the session is %q, %v, want that of its own", last.ID, err)
		}
		if r, err := agent.Resume(context.Background(), s.Host, "run"); value.KindOf(err) != value.Conflict {
			t.Errorf("the retried run changed: %+v, %v", r, err)
		}
	}
}
