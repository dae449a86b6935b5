package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A step is an effect of a policy with what came of it, as a record has it, and
// the session after it.
type step struct {
	effect  tool.Effect
	out     tool.Outcome
	failure error
	state   string
}

// A recordedTurn is a turn of a session, as it could be resumed.
type recordedTurn struct {
	id, message string
	options     *value.Dict
	steps       []step
}

// each changes what the functions of a policy do.
func each(modules []tool.Module, change func(f *tool.Func)) {
	for _, m := range modules {
		for i := range m.Funcs {
			change(&m.Funcs[i])
		}
	}
}

// recorded returns a value as it is read from a record.
func recorded(t testing.TB, v value.Value) value.Value {
	t.Helper()
	data, err := value.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = value.Decode(data); err != nil {
		t.Fatal(err)
	}
	return v
}

// recordedEffect returns an effect as it is read from a record.
func recordedEffect(t testing.TB, e tool.Effect) tool.Effect {
	e.Args, _ = recorded(t, e.Args).(*value.Dict)
	return e
}

// writeDown has a turn write down its steps.
func (s *stage) writeDown(ctx context.Context, session *agent.Session, message string) (*agent.Reply, error) {
	turn := &recordedTurn{id: session.NextRun(), message: message}
	turn.options, _ = recorded(s.t, session.Recorded(message)).(*value.Dict)
	s.turns = append(s.turns, turn)
	return session.Drive(ctx, message, nil, func(modules []tool.Module) {
		each(modules, func(f *tool.Func) {
			do := f.Do
			f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				out, err := do(ctx, e, g)
				kept := step{effect: recordedEffect(s.t, e), out: tool.Outcome{Value: recorded(s.t, out.Value)}, state: session.State()}
				if err != nil {
					kept.failure = errors.New(value.ErrorOf(err, value.Failed).Error())
				}
				turn.steps = append(turn.steps, kept)
				return out, err
			}
		})
	})
}

// checkAgain checks that a session which is told the recorded outcomes, stands
// after each where the one stood that they are of.
func (s *stage) checkAgain() {
	s.t.Helper()
	for _, turn := range s.turns {
		session := s.session.Agent().NewSession("run")
		if err := session.Restore(turn.id, turn.options); err != nil {
			s.t.Errorf("%s cannot be resumed: %v", turn.id, err)
			continue
		}
		again := session.BeginUnled(turn.message)
		for i, step := range turn.steps {
			if f := again[step.effect.Func]; f != nil {
				if err := f(step.effect, step.out, step.failure); err != nil {
					s.t.Fatalf("step %d of %s, %s: %v", i+1, turn.id, step.effect.Func, err)
				}
			}
			if diff := cmp.Diff(step.state, session.State()); diff != "" {
				s.t.Fatalf("after step %d of %s, %s, the session differs (-live +resumed):\n%s", i+1, turn.id, step.effect.Func, diff)
			}
		}
	}
}

var errKilled = value.Errorf(value.Internal, "the process is killed")

// TestResumedAfterEachStep kills a run after each of its steps, has another
// session go on with what was recorded, and checks that it ends as it would
// have: with the same answer after the same calls, at the same cost.
func TestResumedAfterEachStep(t *testing.T) {
	t.Parallel()
	a, b := value.NewDict("filepath", "a.txt"), value.NewDict("filepath", "b.txt")
	small := agent.Options{Budget: agent.Budget{Limit: 5000, Reserve: 100, CompactAt: 0.55}}
	cases := []struct {
		name, agents string
		setting
	}{
		{"text", "", setting{files: twoFiles, approve: host.ApproveAll(), replies: play{overwrite, readsA(), readsA(), overwrite, done}}},
		{"native", "", setting{files: twoFiles, native: true, replies: play{calls("I read both.", "read_file", a, "read_file", b), calls("", "read_file", a), done}}},
		{"mistakes", "", setting{files: twoFiles, replies: play{
			`{"name": "peek", "arguments": {}}`, callAs("final", "read_file", "filepath", "none.txt"), `{"tool_decision": {"action": "read_file", "input": {"filepath" "a.txt"}}}`,
			callAs("final", "read_file", "filepath", "a.txt"), readsA(), "Hm.", `{"tool_decision": {"action": null, "status": "final", "reasoning": "Two lines."}}`}}},
		{"compaction", "", setting{files: map[string]string{"a.txt": longText, "b.txt": "b\n"}, native: true, options: small, replies: play{
			calls("", "read_file", a), calls("", "read_file", b), "SUMMARY: a.txt has 3 lines", calls("", "list_files", &value.Dict{}), done}}},
		{"agents", "run/agent-1 run/agent-2", setting{files: twoFiles, before: withAgents, approve: host.ApproveAll(), replies: play{
			call("agent", "task", "one"), "TASK COMPLETE: 1", call("agent", "task", "two"), "TASK COMPLETE: 2", done}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.before = dearly(c.before)
			whole := newStage(t, c.setting)
			want, err := whole.writeDown(context.Background(), whole.session, "do it")
			if err != nil || !want.Success() {
				t.Fatalf("the run = %+v, %v", want, err)
			}
			for _, k := range testutil.Sample(countFrom(0, len(whole.turns[0].steps)), 3) {
				s := newStage(t, c.setting)
				steps := s.killedAfter(k)
				got, err := s.goOn(steps)
				if err != nil {
					t.Fatalf("resumed after %d steps: %v", k, err)
				}
				want.Usage.Wall, got.Usage.Wall = 0, 0
				if c.agents != "" { // their requests are other steps of the run, see TestUsageSurvives
					want.Usage, got.Usage = agent.Usage{}, agent.Usage{}
				}
				if diff := cmp.Diff(fmt.Sprintf("%+v\n%s", want.Usage, jsonOf(t, want)), fmt.Sprintf("%+v\n%s", got.Usage, jsonOf(t, got))); diff != "" {
					t.Errorf("resumed after %d steps, it ends otherwise (-want +got):\n%s", k, diff)
				}
				if agents := s.agents(); agents != c.agents {
					t.Errorf("resumed after %d steps, its agents are %q, want %q", k, agents, c.agents)
				}
			}
		})
	}
}

var longText = strings.Repeat(strings.Repeat("The first file. ", 120)+"\n", 3)

func jsonOf(t *testing.T, r *agent.Reply) string {
	t.Helper()
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dearly has the model report what each reply costs.
func dearly(before func(*stage, *agent.Options)) func(*stage, *agent.Options) {
	return func(s *stage, o *agent.Options) {
		if before != nil {
			before(s, o)
		}
		o.Model = dear{o.Model}
	}
}

// killedAfter runs a turn that ends after so many steps, whatever it does then,
// and returns those.
func (s *stage) killedAfter(k int) []step {
	var steps []step
	_, err := s.session.Drive(context.Background(), "do it", nil, func(modules []tool.Module) {
		each(modules, func(f *tool.Func) {
			do := f.Do
			f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				if len(steps) == k {
					return tool.Outcome{}, errKilled
				}
				out, err := do(ctx, e, g)
				steps = append(steps, step{effect: recordedEffect(s.t, e), out: tool.Outcome{Value: recorded(s.t, out.Value)}, failure: err})
				return out, err
			}
		})
	})
	if err == nil {
		s.t.Fatalf("the run was not killed after %d steps", k)
	}
	return steps
}

// goOn runs a turn of a new session whose first steps are recorded.
func (s *stage) goOn(steps []step) (*agent.Reply, error) {
	session, n := s.session.Agent().NewSession("run"), 0
	recorded := value.Map(steps, func(s step) value.Value { return s.out.Value })
	return session.Drive(context.Background(), "do it", recorded, func(modules []tool.Module) {
		each(modules, func(f *tool.Func) {
			do, again := f.Do, f.Again
			f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				if n++; n > len(steps) {
					return do(ctx, e, g)
				}
				known := steps[n-1]
				if known.effect.Func != e.Func || !value.Equal(known.effect.Args, e.Args) {
					s.t.Errorf("step %d is %s(%s), was %s(%s)", n, e.Func, e.Args, known.effect.Func, known.effect.Args)
				}
				if again != nil {
					if err := again(ctx, known.effect, known.out, known.failure); err != nil {
						s.t.Errorf("step %d, %s: %v", n, e.Func, err)
					}
				}
				return known.out, known.failure
			}
		})
	})
}

// TestAgainOfWhatPoliciesSeldomSee checks what is kept of an answer that a
// program has put a hand to, that is signed, or that came after a failure.
func TestAgainOfWhatPoliciesSeldomSee(t *testing.T) {
	t.Parallel()
	tight := agent.Options{Budget: agent.Budget{Limit: 5000, Reserve: 100, CompactAt: 0.99}}
	long := map[string]string{"a.txt": longText, "c.txt": longText}
	fails := value.Errorf(value.Unavailable, "the network is away")
	cases := []struct {
		name  string
		kept  string // in the state of the session
		turns []string
		want  agent.Reason
		setting
	}{
		{"a changed conversation", `message: {"role":"user","text":"Before all: be brief.`, []string{"do it", "again"}, agent.ReasonFinal, setting{files: twoFiles, replies: play{readsA(), done, readsA(), done}, options: agent.Options{
			BeforeAsk: func(_ context.Context, r *model.Request) error {
				r.Messages[0].Text = "Before all: be brief.\n" + r.Messages[0].Text
				return nil
			}}}},
		{"an instruction in the conversation", `message: {"role":"system","text":"Be brief."`, []string{"do it", "again"}, agent.ReasonFinal, setting{files: twoFiles, replies: play{readsA(), done, readsA(), done}, options: agent.Options{
			BeforeAsk: func(_ context.Context, r *model.Request) error {
				if len(r.Messages) == 1 {
					r.Messages = append(r.Messages, model.Message{Role: model.SystemRole, Text: "Be brief."})
				}
				return nil
			}}}},
		{"signed replies", `"opaque":"c2lnbmVk"`, []string{"do it", "again"}, agent.ReasonFinal, setting{files: twoFiles, native: true, before: func(_ *stage, o *agent.Options) { o.Model = signed{o.Model} },
			replies: play{calls("", "read_file", value.NewDict("filepath", "a.txt")), done, calls("", "read_file", value.NewDict("filepath", "a.txt")), done}}},
		{"a failure after a summary", "SUMMARY: one was read", []string{"do it", "again"}, agent.ReasonFinal, setting{files: long, options: tight, replies: play{
			readsA(), call("read_file", "filepath", "c.txt"), "SUMMARY: one was read", fails, done}}},
		{"a summary that is not written", "usage: 4 requests", nil, agent.ReasonFinal, setting{files: long, options: tight, before: dearly(nil), replies: play{
			readsA(), call("read_file", "filepath", "c.txt"), "", done}}},
		{"a summary that fails", "usage: 3 requests", nil, agent.ReasonFinal, setting{files: long, options: tight, before: dearly(nil), replies: play{
			readsA(), call("read_file", "filepath", "c.txt"), fails, done}}},
		{"calls that are left", `"role":"tool"`, []string{"do it", "again"}, agent.ReasonFinal, setting{files: twoFiles, native: true, options: agent.Options{Iterations: 1},
			replies: play{calls("", "read_file", value.NewDict("filepath", "a.txt")), "TASK COMPLETE: done"}}},
		{"what tools have said", `heard: "it broke"`, nil, agent.ReasonFinal, setting{before: withWaiter(value.Errorf(value.Failed, "it broke")), replies: play{call("wait"), done}}},
		{"an agent that writes", "agents: 1\n", nil, agent.ReasonFinal, setting{files: twoFiles, approve: host.ApproveAll(), before: func(s *stage, o *agent.Options) {
			withAgents(s, o)
			o.Tools = []string{"read_file", "write_file", "agent"}
			o.Model = dear{o.Model}
		}, replies: play{readsA(), call("agent", "task", "make it new"), readsA(), overwrite, "TASK COMPLETE: it is new", done}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.setting)
			if c.turns == nil {
				c.turns = []string{"do it"}
			}
			var r *agent.Reply
			for _, message := range c.turns {
				r, _ = s.turn(context.Background(), message)
			}
			if r.Reason != c.want {
				t.Errorf("it ended with %s, want %s:\n%s", r.Reason, c.want, s.log.String())
			}
			if state := s.session.State(); !strings.Contains(state, c.kept) {
				t.Errorf("the session keeps\n%s\nwant %s", state, c.kept)
			}
			s.checkAgain()
		})
	}
}

// A signed model wants something back with what it said.
type signed struct{ model.Model }

func (m signed) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	reply, err := m.Model.Ask(ctx, r)
	if err == nil {
		reply.Opaque, reply.Thread, reply.References = []byte("signed"), "thread-1", []string{"a book"}
	}
	return reply, err
}

// packed returns a message as it is recorded.
func packed(t *testing.T, message value.Value) []byte {
	t.Helper()
	data, err := value.Append(nil, message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAgainOfWhatCannotBe checks that a record which cannot be followed is
// refused, whatever it holds, and changes nothing.
func TestAgainOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	ask := value.NewDict("message", "hello", "results", value.List{})
	made := value.NewDict("decision", value.NewDict("action", "read_file", "input", &value.Dict{}))
	cases := []struct {
		name string
		args *value.Dict
		out  value.Value
		want string
	}{
		{"ask", ask, "a text", "expected an object but got string"},
		{"ask", ask, value.NewDict("iteration", -1), `iteration: expected an integer from 0 to`},
		{"ask", ask, value.NewDict("iteration", "1"), `iteration: expected an integer but got string`},
		{"ask", ask, value.NewDict("text", int64(1)), `text: expected a string but got integer`},
		{"ask", ask, value.NewDict("calls", value.List{"x"}), `calls[0]: expected an object but got string`},
		{"ask", ask, value.NewDict("calls", value.List{value.NewDict("args", "x")}), `calls[0].args: expected an object but got string`},
		{"ask", ask, value.NewDict("input_tokens", int64(1)<<40), `input_tokens: expected an integer from 0 to`},
		{"ask", ask, value.NewDict("compacted", value.NewDict("summary", true)), `compacted.summary: expected a string but got boolean`},
		{"ask", ask, value.NewDict("conversation", value.List{packed(t, value.NewDict("role", false))}), `message 1: role: expected a string but got boolean`},
		{"compact", &value.Dict{}, value.NewDict("success", "yes"), `success: expected a boolean but got string`},
		{"call", made, value.NewDict("read", value.List{int64(1)}), `read[0]: expected a string but got integer`},
		{"call", made, value.NewDict("agents", value.NewDict("count", -1)), `agents.count: expected an integer from 0 to`},
		{"call", made, nil, "expected an object but got null"},
		{"call", &value.Dict{}, value.NewDict("success", true), "expected a decision"},
	}
	s := newStage(t, setting{})
	again := s.session.BeginUnled("do it")
	messages := len(s.session.Messages())
	for _, c := range cases {
		err := again["agent."+c.name](tool.Effect{Func: "agent." + c.name, Args: c.args}, tool.Outcome{Value: c.out}, nil)
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitRecord || !strings.Contains(e.Message(), c.want) {
			t.Errorf("agent.%s with %v gives %v, want %q, and that it cannot be followed", c.name, c.out, err, c.want)
		}
	}
	if n := len(s.session.Messages()); n != messages {
		t.Errorf("the conversation has %d messages, had %d", n, messages)
	}
}
