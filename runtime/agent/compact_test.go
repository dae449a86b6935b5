package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSummaries checks that a conversation can be compacted twice in a row, and after it was
// reopened, also if the model must call a tool in each turn: the summary is a text.
func TestSummaries(t *testing.T) {
	t.Parallel()
	read := &model.Reply{Calls: []model.Call{{ID: "1", Tool: "read_file", Args: value.NewDict("filepath", "a.txt")}}, Stop: model.StopCalls}
	m := &seq{replies: []*model.Reply{read, text("Yes."), text("So far: yes."), text("As before."), text("And now.")}}
	a := openSeq(t, m, agent.Options{Policy: "chat", ToolChoice: "required"})
	s, err := a.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(t.Context(), "Is it?"); err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	reopened, err := a.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range []*agent.Session{s, s, reopened} {
		if _, _, err := one.Compact(t.Context()); err != nil {
			t.Fatalf("compaction %d: %v", i+1, err)
		}
		if got := m.asked[i+2].ToolChoice; got != model.ToolNone {
			t.Errorf("the request for summary %d has the tool choice %q", i+1, got)
		}
	}
}

// A windowed model has room for so many characters. It answers a request for a summary with summaries, one
// after the other, and other requests with replies.
type windowed struct {
	room      int
	replies   []*model.Reply
	summaries []*model.Reply
	asked     []model.Request
}

func (m *windowed) Name() string { return "windowed" }
func (m *windowed) Native() bool { return true }

func (m *windowed) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	size := 0
	for _, message := range r.Messages {
		size += len(message.Text)
	}
	if size > m.room {
		return nil, value.Limitf(value.LimitContext, "the conversation is too long: %d of %d", size, m.room)
	}
	m.asked = append(m.asked, *r)
	list := &m.replies
	if strings.Contains(r.Messages[len(r.Messages)-1].Text, "Write the summary now") {
		list = &m.summaries
	}
	if len(*list) == 0 {
		return nil, value.Errorf(value.Failed, "the model has no more to say")
	}
	reply := (*list)[0]
	*list = (*list)[1:]
	return reply, nil
}

// TestRoom fills the window of a model. Whatever it answers to the request for a summary, the task goes on, the
// model has the task and the results of its last calls, and the turn can be restored from its record.
func TestRoom(t *testing.T) {
	t.Parallel()
	calls := func(n int, files ...string) *model.Reply {
		r := &model.Reply{Stop: model.StopCalls}
		for i, file := range files {
			r.Calls = append(r.Calls, model.Call{ID: fmt.Sprintf("%d-%d", n, i), Tool: "read_file", Args: value.NewDict("filepath", file)})
		}
		return r
	}
	large := strings.Repeat(strings.Repeat("all of it ", 20)+"\n", 100)
	files := map[string]string{"a.txt": large, "b.txt": large, "c.txt": large, "d.txt": "the end"}
	for _, c := range []struct {
		name      string
		summaries []*model.Reply
		replies   []*model.Reply
		room      int
		says      []string // in the last request
		bare      int      // requests without tools
	}{
		{"a summary", []*model.Reply{text("SUMMARY: a was read.")}, []*model.Reply{calls(1, "a.txt"), calls(2, "b.txt"), calls(3, "d.txt"), text("done")}, 35_000, []string{"SUMMARY: a was read."}, 0},
		{"a call in its place", []*model.Reply{calls(9, "a.txt"), text("SUMMARY: without tools.")}, []*model.Reply{calls(1, "a.txt"), calls(2, "b.txt"), calls(3, "d.txt"), text("done")}, 35_000,
			[]string{"SUMMARY: without tools."}, 1},
		{"only calls", []*model.Reply{calls(8, "a.txt"), calls(9, "a.txt")}, []*model.Reply{calls(1, "a.txt"), calls(2, "b.txt"), calls(3, "d.txt"), text("done")}, 35_000,
			[]string{`You called read_file with {"filepath":"a.txt"}`, `RESULT (read_file): 1 all of it`}, 1},
		{"nothing", []*model.Reply{text(""), text(" ")}, []*model.Reply{calls(1, "a.txt"), calls(2, "b.txt"), calls(3, "d.txt"), text("done")}, 35_000, []string{"You called read_file"}, 1},
		{"no room even for the request", nil, []*model.Reply{calls(1, "a.txt"), calls(2, "b.txt"), calls(3, "d.txt"), text("done")}, 23_000, []string{"You called read_file"}, 0},
		{"results that fill the window", []*model.Reply{text("SUMMARY: three were read.")}, []*model.Reply{calls(1, "a.txt", "b.txt", "c.txt"), text("done")}, 30_000, []string{"all of it"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &windowed{room: c.room, replies: c.replies, summaries: c.summaries}
			s := newStage(t, setting{files: files, store: true, native: true, before: func(_ *stage, o *agent.Options) {
				o.Model, o.Budget = m, agent.Budget{Limit: 100_000}
			}})
			r, err := s.turn(t.Context(), "read all of them")
			if err != nil || r.Text != "done" || len(m.replies)+len(m.summaries) > 0 {
				t.Fatalf("the turn gave %q (%s), %v, with %d replies and %d summaries left", r.Text, r.Reason, err, len(m.replies), len(m.summaries))
			}
			last, bare := m.asked[len(m.asked)-1], 0
			all := ""
			for _, message := range last.Messages {
				all += message.Text + "\n"
			}
			for _, want := range append(c.says, "read all of them") {
				if !strings.Contains(all, want) {
					t.Errorf("the last request does not say %q:\n%.3000s", want, all)
				}
			}
			for _, asked := range m.asked {
				if len(asked.Tools) == 0 {
					bare++
				}
			}
			if bare != c.bare {
				t.Errorf("%d requests have no tools, want %d", bare, c.bare)
			}
			open := map[string]bool{}
			for _, message := range last.Messages {
				for _, call := range message.Calls {
					open[call.ID] = true
				}
				delete(open, message.CallID)
			}
			if len(open) > 0 {
				t.Errorf("the last request has calls without results: %v", open)
			}
			s.checkAgain()
		})
	}
}
