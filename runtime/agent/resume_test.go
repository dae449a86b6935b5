package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// withWaiter gives the host a tool that ends its call with an error.
func withWaiter(ends error, tools ...string) func(s *stage, o *agent.Options) {
	return func(s *stage, o *agent.Options) {
		withAgents(s, o)
		o.Tools = append(tools, "wait")
		if err := s.Register(tool.Tool{Name: "wait", Description: "Wait."}, func(context.Context, *value.Dict) (value.Value, error) { return nil, ends }); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestWhatEndsARunFromBelow checks that no policy and no model is told of a run
// that waits or cannot be followed, however deep in it that came up.
func TestWhatEndsARunFromBelow(t *testing.T) {
	t.Parallel()
	limited := func(kind value.Kind, limit value.LimitName) error {
		e := value.Errorf(kind, "it ends here").WithHint("type this")
		e.Limit = limit
		return e
	}
	for _, c := range []struct {
		err    error
		reason agent.Reason
	}{
		{limited(value.Parked, ""), agent.ReasonParked},
		{limited(value.Parked, "unknown_outcome"), agent.ReasonUnknown},
		{limited(value.Conflict, "record"), agent.ReasonDiverged},
		{limited(value.Failed, "record"), agent.ReasonError},
	} {
		for name, replies := range map[string]play{
			"in a call":              {call("wait"), done},
			"in an agent's own call": {call("agent", "task", "wait"), call("wait"), done, done},
		} {
			s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), before: withWaiter(c.err, "agent"), replies: replies})
			r, err := s.turn(context.Background(), "do it")
			want, e := value.ErrorOf(c.err, value.Internal), value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != want.Kind || e.Limit != want.Limit || e.Hint != want.Hint || r.Reason != c.reason || r.Success() {
				t.Errorf("%s, %v: the run ended with %s, %#v, want %s", name, c.err, r.Reason, err, c.reason)
			}
			if len(r.Calls) != 0 || strings.Contains(s.log.String(), "ERROR (") {
				t.Errorf("%s, %v: the model is told:\n%s", name, c.err, s.log.String())
			}
		}
	}
}

// TestRowsOfCalls checks what the host must know to do them again.
func TestRowsOfCalls(t *testing.T) {
	t.Parallel()
	keeps := map[string]bool{"prompt": true, "ask": true, "call": true, "calls": true, "compact": true, "stop": true, "spawn": true, "wait": true, "more": true}
	s := newStage(t, setting{before: withAgents})
	each(agent.Modules(), func(f *tool.Func) {
		if f.MakesCalls() != slices.Contains([]string{"call", "calls", "spawn", "wait"}, f.Name) || (f.Again != nil) != keeps[f.Name] {
			t.Errorf("agent.%s: Calls %v, Again %v", f.Name, f.MakesCalls(), f.Again != nil)
		}
	})
	if a, err := s.Tool("agent"); err != nil || !a.OnlyCalls {
		t.Errorf("the tool agent = %+v, %v, want that it only calls", a, err)
	}
}

// TestWhatIsRecordedToResume checks what goes into the record, and from there
// into another session.
func TestWhatIsRecordedToResume(t *testing.T) {
	t.Parallel()
	o := agent.Options{Policy: "chat", ModelName: "script:x"}
	s := newStage(t, setting{files: twoFiles, options: o, replies: play{readsA(), "Two lines.", "It is."}})
	first := s.session.Recorded("What is in a.txt?")
	if v, _ := first.Get("conversation"); first.Text("model") != "script:x" || v != nil {
		t.Errorf("of the first turn is recorded %s", first)
	}
	if _, err := s.turn(context.Background(), "What is in a.txt?"); err != nil {
		t.Fatal(err)
	}
	before := s.session.Agent()
	if err := s.session.Offer("list_files"); err != nil {
		t.Fatal(err)
	}
	if tools := before.Tools(); len(tools) == 1 { // other sessions of the agent have what they had
		t.Errorf("the agent offers %v now, to all of its sessions", tools)
	}
	second, _ := recorded(t, s.session.Recorded("Really?")).(*value.Dict)

	other := s.session.Agent().NewSession("run")
	if err := other.Restore("run--2", second); err != nil {
		t.Fatal(err)
	}
	s.session.BeginUnled("Really?")
	other.BeginUnled("Really?")
	if live, resumed := s.session.State(), other.State(); live != resumed {
		t.Errorf("the session is\n%s\nwant\n%s", resumed, live)
	}
	if tools := other.Agent().Tools(); len(tools) != 1 || tools[0].Name != "list_files" {
		t.Errorf("it is offered %v, want what the chat was", tools)
	}
	if r, err := other.Send(context.Background(), "Really?"); err != nil || r.Text != "It is." || other.NextRun() != "run--3" {
		t.Errorf("its turn = %+v, %v, and the next is %s", r, err, other.NextRun())
	}
}

// TestResumeIsRefused checks that a session goes on only with what is its own,
// and from a record that is whole.
func TestResumeIsRefused(t *testing.T) {
	t.Parallel()
	message := func(pairs ...any) []byte { return packed(t, value.NewDict(pairs...)) }
	user := func(text string) []byte { return message("role", "user", "text", text) }
	asks := message("role", "assistant", "text", "", "calls", value.List{value.NewDict("id", "1", "tool", "x")})
	with := func(pairs ...value.Value) *value.Dict {
		d := value.NewDict("turns", int64(1), "tools", value.List{})
		for i := 0; i < len(pairs); i += 2 {
			d.Put(pairs[i].(string), pairs[i+1])
		}
		return value.NewDict("task", "go on", "conversation", d)
	}
	s := newStage(t, setting{replies: play{done}})
	for name, c := range map[string]struct {
		recorded *value.Dict
		want     string
	}{
		"the task is none":        {value.NewDict("task", int64(1)), `task: expected a string but got integer`},
		"no conversation":         {value.NewDict("conversation", "x"), `conversation: expected an object but got string`},
		"of another turn":         {with("turns", int64(2)), "it belongs to run 'run--3'"},
		"a negative count":        {with("chars", int64(-1)), `conversation.chars: expected an integer from 0 to`},
		"a great count":           {with("guessed", int64(1)<<62), `conversation.guessed: expected an integer from 0 to`},
		"messages of texts":       {with("messages", value.List{"hello"}), `conversation.messages[0]: expected bytes`},
		"messages by nobody":      {with("messages", value.List{message("text", "x")}), `message 1 has the unknown role ""`},
		"a result of no call":     {with("messages", value.List{user("a"), message("role", "tool", "call_id", "1")}), "message 2 has the result of an unknown call"},
		"a call without a result": {with("messages", value.List{user("a"), asks, user("b")}), "message 3: expected the results of the calls"},
		"arguments of no call":    {with("messages", value.List{message("role", "assistant", "calls", value.List{value.NewDict("args", true)})}), "message 1: calls[0].args: expected an object but got boolean"},
		"a broken message":        {with("messages", value.List{[]byte{99}}), "is damaged"},
		"a made call that is not": {with("made", value.List{value.NewDict("text", true)}), `conversation.made[0].text: expected a string but got boolean`},
		"an unknown tool":         {with("tools", value.List{"rm_rf"}), "rm_rf"},
		"too much":                {with("messages", value.List{user(strings.Repeat("x", 65<<20))}), "more than 64 MB"},
	} {
		session := s.session.Agent().NewSession("run")
		err := session.Restore("run--2", c.recorded)
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitRecord || !strings.Contains(e.Message(), c.want) {
			t.Errorf("%s: %v, want %q, and that the record cannot be followed", name, err, c.want)
		}
		if len(session.Messages()) > 0 || session.NextRun() != "run" {
			t.Errorf("%s: the session has begun", name)
		}
	}
	if _, err := s.session.Resume(context.Background()); value.KindOf(err) != value.NotFound {
		t.Errorf("a session without turns is resumed: %v", err)
	}
	want, err := s.session.Send(context.Background(), "do it")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.session.Resume(context.Background()); err != nil || got.Text != want.Text || got.Run != "run" {
		t.Errorf("the reply of the last turn is %+v, %v, want %+v", got, err, want)
	}
}
