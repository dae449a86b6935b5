package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestStepInProgress describes a step without an outcome: a process may be at it, or have
// died.
func TestStepInProgress(t *testing.T) {
	e := &history.Entry{Intent: history.Intent{StepPath: tool.StepPath{1}, Func: "http.get", Kind: tool.External}, Intended: time.Now().Add(-90 * time.Second)}
	if s := StepOf(e, history.Running, true, Tokens{}, nil); s.Mark != Waits || !strings.HasPrefix(s.Result, "in progress for 1m3") {
		t.Errorf("while a process executes it: %s %s", s.Mark, s.Result)
	}
	if s := StepOf(e, history.Running, false, Tokens{}, nil); s.Mark != Unknown || s.Result != "the step began, but its outcome is unknown" {
		t.Errorf("after the process died: %s %s", s.Mark, s.Result)
	}
}

// TestStepThatWaits describes a step that failed for a reason that its user can repair, such as
// a call of a tool that is not trusted: its run waits, and nothing is unknown.
func TestStepThatWaits(t *testing.T) {
	e := &history.Entry{Intent: history.Intent{StepPath: tool.StepPath{1}, Func: "tools.call", Kind: tool.External}, Intended: time.Now(), Tries: 1,
		Notes: []*value.Dict{value.NewDict("failed", "the tool 't' is untrusted")}}
	if s := StepOf(e, history.Parked, false, Tokens{}, nil); s.Mark != Waits || s.Result != "" || len(s.Below) != 1 {
		t.Errorf("while the run waits: %+v", s)
	}
	if s := StepOf(e, history.Cancelled, false, Tokens{}, nil); s.Mark != Unknown {
		t.Errorf("after the run was cancelled: %+v", s)
	}
	e.Notes = append(e.Notes, history.NotDone(1))
	if s := StepOf(e, history.Cancelled, false, Tokens{}, nil); s.Mark != NotDone {
		t.Errorf("a step that was surely not done: %+v", s)
	}
}

// TestStepApprovedWithArguments describes a call that was approved with other arguments.
func TestStepApprovedWithArguments(t *testing.T) {
	asked := history.Asked{Question: tool.Question{Kind: tool.QuestionApproval, Text: "Call it?"}, Answer: &history.Answered{Answer: tool.Answer{Yes: true, Why: "safer", Args: value.NewDict("command", "echo 2")}}}
	e := &history.Entry{Intent: history.Intent{StepPath: tool.StepPath{1}, Func: "tools.call", Kind: tool.External}, Intended: time.Now(), Questions: []history.Asked{asked}}
	const want = `approved with the arguments {"command":"echo 2"}: safer`
	if s := StepOf(e, history.Parked, false, Tokens{}, nil); len(s.Below) != 1 || s.Below[0] != want {
		t.Errorf("below the step: %q, want %q", s.Below, want)
	}
}

// TestStepInParts describes what a step does in parts, as a terminal shows them.
func TestStepInParts(t *testing.T) {
	t.Parallel()
	decision := func(name, file string) *value.Dict {
		return value.NewDict("action", name, "input", value.NewDict("filepath", file, "offset", int64(3), "text", "a long text that says nothing"))
	}
	outcome := func(ok bool) *value.Dict { return value.NewDict("success", ok, "result", "text", "error", "not found") }
	reply := &history.Entry{Intended: time.Now(), Settled: time.Now(), Intent: history.Intent{StepPath: tool.StepPath{6}, Func: "agent.calls",
		Args: value.NewDict("decisions", value.List{decision("read_file", "a.txt"), decision("read_file", "b.txt")})}}
	reply.Outcome.Value = value.NewDict("outcomes", value.List{outcome(true), outcome(false)})
	s := StepOf(reply, history.Done, false, Tokens{}, nil)
	if len(s.Calls) != 2 || s.Calls[0].Name != "read_file" || s.Calls[0].About != "a.txt offset=3" || s.Calls[0].Mark != Done || s.Calls[1].Mark != Failed {
		t.Errorf("the calls of a reply: %+v", s.Calls)
	}
	one := CallOf(reply, tool.StepPath{6, 2})
	if one == nil || StepOf(one, history.Done, false, Tokens{}, nil).Mark != Failed {
		t.Errorf("the second call: %+v", one)
	}
	for _, at := range []tool.StepPath{{6}, {6, 3}, {6, 0}, {5, 1}, {6, 1, 1}} {
		if CallOf(reply, at) != nil {
			t.Errorf("there is a call at %s", at)
		}
	}
	shell := &history.Entry{Intended: time.Now(), Settled: time.Now(), Intent: history.Intent{StepPath: tool.StepPath{1}, Func: "shell.run", Args: value.NewDict("argv", value.List{"ls", "a b"})}}
	shell.Outcome.Value = value.NewDict("exit_code", int64(2), "stdout", "out", "stderr", "")
	if s := StepOf(shell, history.Done, false, Tokens{}, nil); s.Name != "$" || s.About != `ls "a b"` || s.Brief != "exit 2" || len(s.Figures) != 0 {
		t.Errorf("a command: %+v", s)
	}
}
