package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestStepInProgress describes a step without an outcome: a process may be at it, or have
// died.
func TestStepInProgress(t *testing.T) {
	e := &history.Entry{Intent: history.Intent{StepPath: tool.StepPath{1}, Func: "http.get", Kind: tool.External}, Intended: time.Now().Add(-90 * time.Second)}
	if s := StepOf(e, history.Running, true, Tokens{}); s.Mark != Waits || !strings.HasPrefix(s.Result, "in progress for 1m3") {
		t.Errorf("while a process executes it: %s %s", s.Mark, s.Result)
	}
	if s := StepOf(e, history.Running, false, Tokens{}); s.Mark != Unknown || s.Result != "the step began, but its outcome is unknown" {
		t.Errorf("after the process died: %s %s", s.Mark, s.Result)
	}
}
