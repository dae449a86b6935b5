package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestABrokenOffTurn checks that a turn can be broken off at any point, and the
// next one goes on with a conversation that is whole and true.
func TestABrokenOffTurn(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	wait := func(ctx context.Context) any {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	hold := value.NewDict()
	cases := []struct {
		name   string
		native bool
		plays  play // of the turn that is broken off; the next is answered at once
		told   string
	}{
		{"while the model is asked first", false, play{wait}, "# User Question\n\ngo on"},
		{"while the model is asked again", false, play{readsA(), wait}, "RESULT (read_file):"},
		{"in a tool", false, play{call("hold")}, "ERROR (hold):\nthe call was interrupted and may be partly done"},
		{"in the second of two tools", false, play{readsA() + "\n" + call("hold")}, "RESULT (read_file):"},
		{"with native calls, while the model is asked again", true, play{calls("", "read_file", value.NewDict("filepath", "a.txt")), wait}, "RESULT (read_file):"},
		{"with native calls, in a tool", true, play{calls("", "read_file", value.NewDict("filepath", "a.txt"), "hold", hold, "list_files", hold)}, "the call was interrupted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, native: c.native, replies: append(c.plays, "TASK COMPLETE: all is well"),
				before: func(s *stage, o *agent.Options) {
					o.Tools = []string{"read_file", "list_files", "hold"}
					err := s.Register(tool.Tool{Name: "hold", Description: "Wait."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
						return nil, wait(ctx).(error)
					})
					if err != nil {
						t.Fatal(err)
					}
				}})
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				<-begun
				cancel()
			}()
			r, err := s.turn(ctx, "do it")
			if r.Reason != agent.ReasonCancelled || value.KindOf(err) != value.Canceled {
				t.Errorf("the turn ended with %s, %v, want it cancelled", r.Reason, err)
			}
			s.mu.Lock()
			s.log.Reset()
			s.mu.Unlock()
			r, err = s.turn(context.Background(), "go on")
			if err != nil || r.Text != "all is well" {
				t.Errorf("the next turn = %+v, %v", r, err)
			}
			log := strings.ReplaceAll(s.log.String(), "\n    ", "\n")
			if !strings.Contains(log, c.told) || !strings.Contains(log, "go on") {
				t.Errorf("the model is not told %q:\n%s", c.told, log)
			}
			if strings.Contains(log, "This call was not made.") != (c.name == "with native calls, in a tool") {
				t.Errorf("the model is told of calls what is not so:\n%s", log)
			}
		})
	}
}

// TestReasonsOfErrors checks why a run ends where the model fails.
func TestReasonsOfErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   value.Kind
		reason agent.Reason
	}{
		{value.Unavailable, agent.ReasonError}, {value.Limit, agent.ReasonLimit}, {value.Timeout, agent.ReasonTimeout}, {value.Failed, agent.ReasonError}, {value.Command, agent.ReasonError},
	} {
		s := newStage(t, setting{replies: play{value.Errorf(c.kind, "no answer").WithHint("try later")}})
		r, err := s.turn(context.Background(), "do it")
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Kind != c.kind || e.Error() != "no answer" || len(e.Trace) > 0 || e.Hint != "try later" || r.Reason != c.reason {
			t.Errorf("a model's error of kind %s ends with %s, %v, want %s and the same error", c.kind.Type(), r.Reason, err, c.reason)
		}
		if len(s.session.Messages()) != 0 {
			t.Errorf("the conversation holds %v, want nothing that was not answered", s.session.Messages())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	s := newStage(t, setting{replies: play{func(ctx context.Context) any { <-ctx.Done(); return ctx.Err() }}})
	if r, err := s.turn(ctx, "do it"); r.Reason != agent.ReasonTimeout || value.KindOf(err) != value.Timeout {
		t.Errorf("a turn whose time is over ends with %s, %v", r.Reason, err)
	}
}

// TestAPolicyIsAFunction checks that a file without one leads no agent.
func TestAPolicyIsAFunction(t *testing.T) {
	t.Parallel()
	h, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := script.New("m", false, func(context.Context, value.List, int) (value.Value, error) { return "x", nil })
	_, err = agent.New(h, &agent.Options{Model: m, Tools: []string{}, Policies: func(string) (agent.Policy, error) {
		return agent.Policy{Name: "mine", Location: tool.Personal, Script: tool.Script{Path: "mine.star", Source: "def rule(task, agent):\n    pass\n"}}, nil
	}})
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Invalid || e.Pos.File != "mine.star" || !strings.Contains(e.Hint, "def policy(task, agent):") {
		t.Errorf("New gave %v, want what the file lacks", err)
	}
}

// TestPoliciesThatAreNotRight checks that a policy can do nothing but lead, and
// what becomes of one that fails.
func TestPoliciesThatAreNotRight(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, source string
		reason       agent.Reason
		kind         value.Kind
		text         string
	}{
		{"it reads", "def policy(task, agent):\n    return fs.read('a.txt')", agent.ReasonError, value.Denied, "the policy mine may not use fs.read:a.txt itself"},
		{"it calls a tool itself", "def policy(task, agent):\n    return tools.read_file(filepath = 'a.txt')", agent.ReasonError, value.Denied, "may not use tool:read_file itself"},
		{"it calls what was not offered", "def policy(task, agent):\n    return agent.call({'action': 'run_command', 'input': {'command': 'ls'}})['text']", agent.ReasonFinal, 0, "ERROR: Tool 'run_command' not available."},
		{"it fails", "def policy(task, agent):\n    fail('no idea')", agent.ReasonError, value.Failed, "no idea"},
		{"it returns nothing", "def policy(task, agent):\n    agent.limits()", agent.ReasonError, value.Failed, "the policy 'mine' returned null"},
		{"it returns a text", "def policy(task, agent):\n    return 'this: ' + task", agent.ReasonFinal, 0, "this: do it"},
		{"it ends for a reason of its own", "def policy(task, agent):\n    return agent.finish('enough')", agent.ReasonError, value.Failed, "argument 'reason' must be one of: final"},
		{"it says that it was denied", "def policy(task, agent):\n    return agent.finish('denied', 'no')", agent.ReasonDenied, 0, "no"},
		{"it asks nothing", "def policy(task, agent):\n    return agent.ask()", agent.ReasonError, value.Failed, "agent.ask: message and results are missing"},
		{"it never ends", "def policy(task, agent):\n    for _ in range(1000000000):\n        pass", agent.ReasonLimit, value.Limit, "steps"},
		{"it asks without end", "def policy(task, agent):\n    for _ in range(20000):\n        agent.limits()", agent.ReasonLimit, value.Limit, "more than 10000 effects"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, process: true, before: func(_ *stage, o *agent.Options) {
				o.Policy = "mine"
				o.Policies = func(name string) (agent.Policy, error) {
					return agent.Policy{Name: name, Location: tool.Project, Script: tool.Script{Name: name, Path: "mine.star", Source: c.source}}, nil
				}
			}})
			r, err := s.session.Send(context.Background(), "do it")
			said := r.Text
			if e := value.ErrorOf(err, value.Internal); e != nil {
				said = e.Message()
				if e.Kind != c.kind {
					t.Errorf("error = %s, want kind %s", e.Kind.Type(), c.kind.Type())
				}
			}
			if r.Reason != c.reason || !strings.Contains(said, c.text) {
				t.Errorf("it ended with %s: %q, want %s with %q", r.Reason, said, c.reason, c.text)
			}
		})
	}
}

// TestBeforeAsk checks that a program sees each request first, and may change
// or refuse it.
func TestBeforeAsk(t *testing.T) {
	t.Parallel()
	var asked []string
	s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), replies: play{readsA(), done, "not wanted"}, options: agent.Options{
		BeforeAsk: func(_ context.Context, r *model.Request) error {
			last := r.Messages[len(r.Messages)-1].Text
			asked = append(asked, last)
			if strings.Contains(last, "secret") {
				return value.Errorf(value.Denied, "nothing secret is sent")
			}
			r.System = "Be brief."
			return nil
		},
	}})
	if r, err := s.turn(context.Background(), "do it"); err != nil || !r.Success() || len(asked) != 2 {
		t.Errorf("the run = %+v, %v; asked %d times", r, err, len(asked))
	}
	if log := s.log.String(); strings.Count(log, "> system\n    Be brief.") == 0 {
		t.Errorf("the model does not get what was put before:\n%s", log)
	}
	r, err := s.turn(context.Background(), "a secret")
	if r.Reason != agent.ReasonError || value.KindOf(err) != value.Denied {
		t.Errorf("a refused request ended with %s, %v", r.Reason, err)
	}
}

// TestCompactingByHand checks [agent.Session.Compact], with calls that are open.
func TestCompactingByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, native: true, options: agent.Options{Iterations: 1}, replies: play{
		calls("", "read_file", value.NewDict("filepath", "a.txt")), "SUMMARY: it was read", done,
	}})
	if _, _, err := s.session.Compact(context.Background()); value.KindOf(err) != value.Invalid {
		t.Errorf("compacting nothing = %v, want it refused", err)
	}
	if r, _ := s.turn(context.Background(), "do it"); r.Reason != agent.ReasonMaxIterations {
		t.Fatalf("the first turn ended with %s", r.Reason)
	}
	if _, _, err := s.session.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if log := s.log.String(); strings.Contains(log, "This call was not made.") {
		t.Errorf("the summary is made of what is not so:\n%s", log)
	}
	if r, err := s.turn(context.Background(), "go on"); err != nil || !r.Success() {
		t.Errorf("the turn after that = %+v, %v", r, err)
	}
	if log := s.log.String(); !strings.Contains(log, "SUMMARY: it was read") || strings.Count(log, "RESULT (read_file):") < 2 {
		t.Errorf("the model is not told what was:\n%s", log)
	}
}

// TestWhatAModelKnowsOfFiles checks what counts as read, and for whom.
func TestWhatAModelKnowsOfFiles(t *testing.T) {
	t.Parallel()
	answers := []bool{false, true}
	ask := func(context.Context, tool.Question) (tool.Answer, error) {
		yes := len(answers) == 0 || answers[0]
		answers = answers[min(1, len(answers)):]
		return tool.Answer{Yes: yes}, nil
	}
	s := newStage(t, setting{approve: host.ApproverFunc(ask), replies: play{overwrite, overwrite, "TASK COMPLETE: it is there"}})
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Calls[0].Success || !r.Calls[1].Success {
		t.Fatalf("the run = %+v, %v, want the first call refused and the second approved", r, err)
	}
	if seen := s.session.Files()["a.txt"]; seen.Written.IsZero() || !seen.Read.IsZero() {
		t.Errorf("the session knows of a.txt %+v, want that it was written", seen)
	}

	s = newStage(t, setting{files: twoFiles, approve: host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
		return tool.Answer{Yes: q.Tool == "write_file"}, nil
	}), options: agent.Options{Tools: []string{"write_file", "put"}}, before: withPut, replies: play{call("put"), overwrite, done}})
	if r, _ := s.turn(context.Background(), "do it"); len(r.Calls) != 2 || r.Calls[0].Success || r.Calls[1].Success || s.file("a.txt") != twoFiles["a.txt"] {
		t.Errorf("a write that was refused counts as one: %+v, a.txt = %q", r.Calls, s.file("a.txt"))
	}
}

// withPut gives the host a tool of the project that replaces a.txt unread.
func withPut(s *stage, _ *agent.Options) {
	script := tool.Script{Path: "put.star", Source: "def put():\n    \"Put it.\"\n    fs.write('a.txt', 'put')\n\ntool(put, needs = ['fs.write'])\n"}
	described, err := s.Describe(context.Background(), script)
	if err == nil {
		info := toolset.Info{Tool: described.Tool, Standing: toolset.Standing{Location: tool.Project}}
		err = s.RegisterScript(info, func() (tool.Script, error) { return script, nil })
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestSessionsOfOneHost checks that what one has read, another has not, however
// alike their names are.
func TestSessionsOfOneHost(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), replies: play{readsA(), done}})
	var other *agent.Session
	a, err := agent.New(s.Host, &agent.Options{Model: script.New("other", false, func(ctx context.Context, messages value.List, turn int) (value.Value, error) {
		if turn == 0 {
			// While this one's turn is under way, the other reads.
			if _, err := s.session.Send(context.Background(), "read"); err != nil {
				return nil, err
			}
			return overwrite, nil
		}
		return done, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	other = a.NewSession("ru")
	r, err := other.Send(context.Background(), "write")
	if err != nil || len(r.Calls) != 1 || r.Calls[0].Success || s.file("a.txt") != twoFiles["a.txt"] {
		t.Errorf("the other run = %+v, %v, a.txt = %q, want its write refused", r, err, s.file("a.txt"))
	}
	if len(other.Files()) != 0 || s.session.Files()["a.txt"].Read.IsZero() {
		t.Errorf("the sessions know of %v and %v", other.Files(), s.session.Files())
	}
}

// A dear model reports what each answer costs.
type dear struct{ model.Model }

func (d dear) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	reply, err := d.Model.Ask(ctx, r)
	if err == nil {
		reply.Usage = model.Usage{InputTokens: 100, OutputTokens: 10, CachedTokens: 1}
	}
	return reply, err
}

// TestUsage checks that a run tells what it cost, with its agents.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), before: func(s *stage, o *agent.Options) {
		withAgents(s, o)
		o.Model = dear{o.Model}
	}, replies: play{call("agent", "task", "count the lines"), readsA(), "TASK COMPLETE: two", done}})
	r, err := s.turn(context.Background(), "do it")
	if u := r.Usage; err != nil || u.InputTokens != 400 || u.OutputTokens != 40 || u.CachedTokens != 4 || r.Iterations != 2 {
		t.Errorf("the run = %+v, %v, want what four answers cost, in two iterations", r, err)
	}
}
