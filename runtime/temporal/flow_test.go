package temporal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// An answer is what an update returns in the test environment.
type answer struct {
	done chan struct{} // closed with the answer
	err  error
	v    any
}

func newAnswer() *answer { return &answer{done: make(chan struct{})} }

func (a *answer) Accept() {}

func (a *answer) Reject(err error) { a.Complete(nil, err) }

func (a *answer) Complete(v any, err error) {
	a.v, a.err = v, err
	close(a.done)
}

const flowID = "default-test-workflow-id"

// A flowTest is the workflow of a run in the test environment, whose executions are functions.
type flowTest struct {
	*testsuite.TestWorkflowEnvironment
	executions []func(x execution) (executed, error)
	ran        int
}

func newFlowTest(executions ...func(x execution) (executed, error)) *flowTest {
	var s testsuite.WorkflowTestSuite
	f := &flowTest{TestWorkflowEnvironment: s.NewTestWorkflowEnvironment(), executions: executions}
	f.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: flowName})
	f.RegisterActivityWithOptions(func(context.Context, execution) (executed, error) { return executed{}, nil }, activity.RegisterOptions{Name: executeName})
	f.RegisterActivityWithOptions(func(context.Context, []byte) (segment, error) { return segment{}, nil }, activity.RegisterOptions{Name: keepName})
	f.OnActivity(executeName, mock.Anything, mock.Anything).Return(func(_ context.Context, x execution) (executed, error) {
		f.ran++
		if f.ran > len(f.executions) {
			return executed{}, errors.New("one execution too many")
		}
		return f.executions[f.ran-1](x)
	})
	return f
}

// update sends an update while an execution is in progress, and waits for its answer.
func (f *flowTest) update(what string, args ...any) *answer {
	a := newAnswer()
	f.RegisterDelayedCallback(func() { f.UpdateWorkflow(what, "", a, args...) }, 0)
	select {
	case <-a.done:
	case <-time.After(2 * time.Minute):
		a.err = errors.New("the update has no answer")
	}
	return a
}

func queued() record {
	return record{Row: journal.Row{Num: 1, ID: "r", State: journal.Parked}}
}

func (f *flowTest) begin(t *testing.T, r record) (v view) {
	t.Helper()
	f.ExecuteWorkflow(flowName, r, []byte(nil))
	if err := f.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if err := f.GetWorkflowResult(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFlow has a run park until a time, be taken over by another execution, and end.
func TestFlow(t *testing.T) {
	var late, last *answer
	var f *flowTest
	f = newFlowTest(
		func(x execution) (executed, error) {
			f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, Frames: 1, Set: &journal.Standing{State: journal.Parked, Wake: f.Now().Add(72 * time.Hour), Updated: f.Now()}}, stream("a"))
			return executed{}, nil
		},
		func(x execution) (executed, error) {
			late = f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment - 1, 1}, From: 1, Frames: 1}, stream("late"))
			last = f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, From: 1, Frames: 1, Set: &journal.Standing{State: journal.Done}}, stream("b"))
			return executed{}, nil
		},
	)
	began := f.Now()
	v := f.begin(t, queued())
	if late.err == nil || last.err != nil {
		t.Errorf("the execution before could write: %v; the newest: %v", late.err, last.err)
	}
	if v.Record.Row.State != journal.Done || string(v.Data) != string(stream("a", "b")) || v.Record.Frames != 2 {
		t.Errorf("the record is %+v with %q", v.Record, v.Data)
	}
	if waited := f.Now().Sub(began); waited < 72*time.Hour {
		t.Errorf("it waited %v", waited)
	}
}

// TestFlowAnswered has a run wait for an answer, which an update or a signal brings, and which it gets once.
func TestFlowAnswered(t *testing.T) {
	for _, by := range []string{"update", "signal"} {
		var f *flowTest
		f = newFlowTest(
			func(x execution) (executed, error) {
				f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, Frames: 1, Set: &journal.Standing{State: journal.Parked, Updated: f.Now()}}, stream("a"))
				f.RegisterDelayedCallback(func() {
					l := letter{Run: flowID, ID: "1", Message: journal.Message{Kind: "answer", Key: "q"}}
					for range 2 {
						if by == "update" {
							f.UpdateWorkflow(sendName, "", newAnswer(), l)
						} else {
							f.SignalWorkflow(sendName, l)
						}
					}
				}, time.Hour)
				return executed{Questions: 1}, nil
			},
			func(x execution) (executed, error) {
				f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, From: 1, Frames: 1, Set: &journal.Standing{State: journal.Done}}, stream("b"))
				return executed{}, nil
			},
		)
		if v := f.begin(t, queued()); len(v.Record.Inbox) != 1 || v.Record.Row.State != journal.Done {
			t.Errorf("%s: the record is %+v", by, v.Record)
		}
	}
}

// TestFlowStuck has a run that nobody can execute: it says why, and is tried again.
func TestFlowStuck(t *testing.T) {
	var f *flowTest
	states := map[journal.State]string{}
	f = newFlowTest(
		func(execution) (executed, error) { return executed{}, nil }, // records nothing
		func(execution) (executed, error) { return executed{Error: "the workflow is not reviewed"}, nil },
		func(x execution) (executed, error) {
			if v, err := f.QueryWorkflow(loadName, int64(-1)); err == nil {
				var got view
				_ = v.Get(&got)
				states[got.Record.Row.State] = got.Record.Row.Stuck
			}
			f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, Frames: 1, Set: &journal.Standing{State: journal.Done}}, stream("b"))
			return executed{}, nil
		},
	)
	f.begin(t, queued())
	if states[journal.Stuck] != "the workflow is not reviewed" {
		t.Errorf("the states were %v", states)
	}
}

// TestFlowContinues ends a history that is long, with the record and what came.
func TestFlowContinues(t *testing.T) {
	var f *flowTest
	f = newFlowTest(func(x execution) (executed, error) {
		done := f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, Frames: 2}, stream("a", "b"))
		f.update(sendName, letter{Run: flowID, ID: "1", Message: journal.Message{Kind: "answer", Key: "q"}})
		if c, ok := done.v.(committed); !ok || c.Yield {
			t.Errorf("the commit gave %v", done.v)
		}
		f.SetContinueAsNewSuggested(true)
		late := f.update(commitName, commit{Run: flowID, Owner: owner{x.Segment, 1}, From: 2, Frames: 1}, stream("c"))
		if c, ok := late.v.(committed); !ok || !c.Yield {
			t.Errorf("the commit in a long history gave %v", late.v)
		}
		return executed{Questions: 1}, nil
	})
	f.ExecuteWorkflow(flowName, queued(), []byte(nil))
	var next *workflow.ContinueAsNewError
	if err := f.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("the workflow ended with %v", err)
	}
	var r record
	var data []byte
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &r, &data); err != nil {
		t.Fatal(err)
	}
	if r.Frames != 3 || string(data) != string(stream("a", "b", "c")) || len(r.Inbox) != 1 || !r.News || r.Questions != 1 || r.Owner.Segment != 1 {
		t.Errorf("the next history begins with %+v and %q", r, data)
	}
}
