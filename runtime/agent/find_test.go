package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A limitedModel takes so many tools in a request, and plays replies.
type limitedModel struct {
	t       *testing.T
	most    int
	replies []model.Reply
	shown   [][]string // the tools of each request
	heard   []string   // the last message of each request
}

func (m *limitedModel) Name() string                    { return "limited" }
func (m *limitedModel) Native() bool                    { return true }
func (m *limitedModel) Info(context.Context) model.Info { return model.Info{MaxTools: m.most} }
func (m *limitedModel) call(name string, args ...any) model.Reply {
	return model.Reply{Stop: model.StopCalls, Calls: []model.Call{{ID: fmt.Sprintf("c%d", len(m.replies)), Tool: name, Args: value.NewDict(args...)}}}
}

func (m *limitedModel) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	names := value.Map(r.Tools, func(t tool.Tool) string { return t.Name })
	if len(names) > m.most {
		m.t.Errorf("%d tools in a request", len(names))
	}
	m.shown, m.heard = append(m.shown, names), append(m.heard, r.Messages[len(r.Messages)-1].Text)
	reply := m.replies[len(m.shown)-1]
	return &reply, nil
}

// TestFindTools gives a model more tools than its API takes. It finds the others, which are in the requests
// from then on, also in the next turn and in another process.
func TestFindTools(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 40 {
		name := fmt.Sprintf("tool_%02d", i)
		files[".cassidy/tools/"+name+".star"] = fmt.Sprintf("def %s(a: str) -> str:\n    \"\"\"Count the %s.\"\"\"\n    return a\n\ntool(%s)\n", name, []string{"apples", "pears", "plums", "cherries"}[i%4]+fmt.Sprint(i), name)
	}
	m := &limitedModel{t: t, most: 16}
	s := newStage(t, setting{files: files, store: true, native: true, options: agent.Options{Tools: []string{"@general"}}, before: func(_ *stage, o *agent.Options) {
		o.Model, o.Tools = m, nil
		for i := range 40 {
			o.Tools = append(o.Tools, fmt.Sprintf("tool_%02d", i))
		}
	}})
	m.replies = []model.Reply{m.call("find_tools", "query", "cherries39"), m.call("tool_39", "a", "x"), m.call("find_tools", "query", "strawberries"), m.call("find_tools"),
		{Text: "TASK COMPLETE: done", Stop: model.StopEnd}, {Text: "TASK COMPLETE: again", Stop: model.StopEnd}}
	for i := range m.replies {
		for k := range m.replies[i].Calls {
			m.replies[i].Calls[k].ID = fmt.Sprintf("c%d", i)
		}
	}
	r, err := s.turn(t.Context(), "count")
	if err != nil || r.Text != "done" || len(r.Calls) != 4 || !r.Calls[1].Success {
		t.Fatalf("the turn gave %+v, %v", r, err)
	}
	if first := m.shown[0]; len(first) != 12 || !slices.Contains(first, "find_tools") || !slices.Contains(first, "tool_00") || slices.Contains(first, "tool_39") {
		t.Errorf("the first request has %q", first)
	}
	for i, shown := range m.shown[1:] {
		if !slices.Contains(shown, "tool_39") {
			t.Errorf("request %d has %q", i+2, shown)
		}
	}
	for i, want := range []string{"tool_39: Count the cherries39.", "x", "No tool fits", "query"} {
		if !strings.Contains(m.heard[i+1], want) {
			t.Errorf("request %d says %q, want %q", i+2, m.heard[i+1], want)
		}
	}
	if r, err := s.turn(t.Context(), "once more"); err != nil || r.Text != "again" || !slices.Contains(m.shown[5], "tool_39") {
		t.Errorf("the next turn gave %+v, %v, with the tools %q", r, err, m.shown[5])
	}
}
