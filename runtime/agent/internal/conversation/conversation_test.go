package conversation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func empty() conversation.State {
	budget := account.Budget{}.WithDefaults()
	return conversation.State{Iterations: 5, Account: account.New(&budget, nil, decision.Native), Marks: &taint.Marks{}}
}

// asked returns the state after a question and a reply with native calls.
func asked(calls ...string) conversation.State {
	s := empty()
	s.BeginTurn()
	s.BeginQuestion("do it")
	s.Add(s.Next(conversation.Next{Text: "do it"}))
	a := &dialog.Asked{}
	for _, id := range calls {
		a.Calls = append(a.Calls, model.Call{ID: id, Tool: "look"})
	}
	s.AddReply(a)
	return s
}

// texts returns the roles and texts of messages.
func texts(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Role) + m.CallID + ": " + m.Text + "\n")
	}
	return b.String()
}

// TestNext checks what the model gets after its calls: in the turn that made them, and in the next one
// if that turn was interrupted.
func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string // of the reply; the outcomes are of "1" and, without an ID, of a call in text
		later bool
		next  conversation.Next
		want  string
	}{
		"native":            {[]string{"1"}, false, conversation.Next{}, "tool1: one\n"},
		"not made":          {[]string{"1", "2"}, false, conversation.Next{}, "tool1: one\ntool2: This call was not made.\n"},
		"text of a policy":  {[]string{"1"}, false, conversation.Next{Results: []model.Message{{CallID: "1", Text: "cut"}}}, "tool1: cut\n"},
		"with a message":    {[]string{"1"}, false, conversation.Next{Text: "go on"}, "tool1: one\nuser: go on\n"},
		"in text":           {nil, false, conversation.Next{Results: []model.Message{{Text: "two"}}}, "user: two\n"},
		"interrupted":       {nil, true, conversation.Next{Text: "go on"}, "user: one\n\ntwo\n\ngo on\n"},
		"interrupted: both": {[]string{"1"}, true, conversation.Next{Text: "go on"}, "tool1: one\nuser: two\n\ngo on\n"},
	} {
		s := asked(c.calls...)
		s.AddCall("1", "look", &conversation.Outcome{Success: true, Made: true, Text: "one"})
		s.AddCall("", "look", &conversation.Outcome{Success: true, Made: true, Text: "two"})
		if c.later {
			s.BeginTurn()
		}
		if diff := cmp.Diff(c.want, texts(s.Next(c.next))); diff != "" {
			t.Errorf("%s: the next messages (-want +got):\n%s", name, diff)
		}
	}
}

// TestRecord checks that the record of a turn restores the state before it.
func TestRecord(t *testing.T) {
	s := asked("1")
	s.Turns, s.Iterations = 1, 7
	s.AddCall("1", "look", &conversation.Outcome{Success: true, Made: true, Result: "found", Text: "one"})
	s.Marks.Add(taint.Source{What: "a page"})
	options := &value.Dict{}
	if err := s.Record(options, []string{"look"}, map[string]conversation.Seen{}); err != nil {
		t.Fatal(err)
	}
	r := &host.Recorded{Run: history.Run{ID: "chat--2", Args: value.NewDict(conversation.TaskArg, "go on"), Options: options}}
	turn, err := conversation.ReadTurn("chat", r)
	if err != nil {
		t.Fatal(err)
	}
	got := turn.Before(empty())
	if turn.Task != "go on" || !turn.Changed || got.Turns != 1 || got.Iterations != 7 || !got.Told || got.Question != "do it" || got.Marks.Empty() {
		t.Errorf("the turn is %+v, and begins with %+v", turn, got)
	}
	s.BeginTurn()
	if diff := cmp.Diff(texts(s.Next(conversation.Next{})), texts(got.Next(conversation.Next{}))); diff != "" || len(got.Heard) != 1 {
		t.Errorf("the next messages, after %d outputs (-want +got):\n%s", len(got.Heard), diff)
	}
	if got.Account.Counts() != s.Account.Counts() {
		t.Errorf("the account has %+v, want %+v", got.Account.Counts(), s.Account.Counts())
	}
	if _, err := conversation.ReadTurn("other", r); err == nil || !strings.Contains(err.Error(), "it belongs to run 'other--2'") {
		t.Errorf("the record of another session is read: %v", err)
	}
}
