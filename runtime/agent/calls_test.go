package agent_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// reply is a reply with several calls.
func reply(calls ...string) string { return strings.Join(calls, "\n") }

// TestCallsOfAReply checks that calls of a reply have the results that they would have one after
// the other: what changes files waits for what reads, and the other way round.
func TestCallsOfAReply(t *testing.T) {
	t.Parallel()
	readB := call("read_file", "filepath", "b.txt")
	writeNew := call("write_file", "filepath", "new.txt", "content", "now")
	readNew := call("read_file", "filepath", "new.txt")
	for _, c := range []struct {
		name  string
		calls []string
		want  []string // a part of each result, or of its error
	}{
		{"a write between reads of the same file", []string{readNew, writeNew, readNew}, []string{"File not found", "", "now"}},
		{"reads and the same again", []string{readsA(), readB, readsA()}, []string{"first", "third", "first"}},
		{"the same before and after a write", []string{readsA(), writeNew, readsA()}, []string{"first", "", "first"}},
		{"one that is unknown and one without arguments", []string{readsA(), call("nosuch"), call("read_file"), readB}, []string{"first", "", "filepath", "third"}},
		{"one that ends the task", []string{readsA(), call("task_complete", "summary", "all done"), readB}, []string{"first", "all done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), replies: play{reply(c.calls...), done},
				options: agent.Options{Tools: []string{"read_file", "write_file", "task_complete"}}})
			r, err := s.turn(context.Background(), "do it")
			if err != nil || len(r.Calls) != len(c.want) {
				t.Fatalf("the turn gave %+v, %v, want %d calls", r, err, len(c.want))
			}
			for i, made := range r.Calls {
				if got := value.FormatJSON(made.Result, "") + made.Error; !strings.Contains(got, c.want[i]) {
					t.Errorf("call %d gave %q, want %q", i+1, got, c.want[i])
				}
			}
			s.checkAgain()
		})
	}
}

// TestRepeatedCallsOfAReply checks that a call is made once if it is written twice in a reply.
func TestRepeatedCallsOfAReply(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, replies: play{reply(readsA(), readsA()), done}})
	if r, err := s.turn(context.Background(), "do it"); err != nil || len(r.Calls) != 2 {
		t.Fatalf("the turn gave %+v, %v", r, err)
	}
	if log := s.log.String(); strings.Count(log, `func="fs.read"`) != 1 || !strings.Contains(log, "the same as your call 1") {
		t.Errorf("the calls were made so:\n%s", log)
	}
}

// TestParallelHint checks that calls of a tool that changes something are made in parallel only
// if its author says that they may be: each call waits until as many are in progress as can be.
func TestParallelHint(t *testing.T) {
	t.Parallel()
	for _, hint := range []bool{true, false} {
		var mu sync.Mutex
		now, most := 0, 0
		together := make(chan struct{})
		s := newStage(t, setting{approve: host.ApproveAll(), replies: play{reply(call("count", "n", 1), call("count", "n", 2), call("count", "n", 3)), done},
			before: func(s *stage, o *agent.Options) {
				o.Tools = []string{"count"}
				err := s.Register(tool.Tool{
					Name: "count", Description: "Count.", Hints: tool.Hints{Other: map[string]bool{"parallel": hint}},
					Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Required: true}},
				}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
					mu.Lock()
					now++
					if most = max(most, now); most == 3 {
						close(together)
					}
					mu.Unlock()
					if hint {
						select {
						case <-together:
						case <-ctx.Done():
						}
					}
					mu.Lock()
					defer mu.Unlock()
					now--
					return "counted", nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}})
		if r, err := s.turn(context.Background(), "do it"); err != nil || len(r.Calls) != 3 || !r.Calls[2].Success {
			t.Errorf("the turn gave %+v, %v", r, err)
		}
		if want := map[bool]int{true: 3, false: 1}[hint]; most != want {
			t.Errorf("with the hint %t, %d calls were in progress at a time, want %d", hint, most, want)
		}
	}
}
