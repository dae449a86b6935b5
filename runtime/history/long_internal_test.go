package history

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLongRunStaysSmall checks that a log keeps nothing of the steps that it has completed.
func TestLongRunStaysSmall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := Open(journal.Memory(), nil)
	defer j.Close()
	l, err := j.Begin(ctx, Run{ID: "r", Kind: "run"}, tool.Script{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	for i := range n {
		at := tool.StepPath{1, i + 1}
		if err := l.Intend(ctx, Intent{StepPath: at, Func: "time.now", Kind: tool.Recorded, Args: &value.Dict{}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Settle(ctx, at, tool.Outcome{Value: int64(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for at, s := range l.steps {
		if s != &l.completed {
			t.Fatalf("the log keeps the step %s", at)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := j.Resume(ctx, "r")
	if err != nil || len(again.steps) != n {
		t.Errorf("resumed, the log has %d steps, %v, want %d", len(again.steps), err, n)
	}
}
