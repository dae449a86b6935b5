package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// NewSession returns a session, as it is before its first turn.
func (a *Agent) NewSession(id string) *Session { return a.newSession(id) }

// Drive is [Session.Send] with the functions of the policy as they are changed, after recorded
// outcomes.
func (s *Session) Drive(ctx context.Context, message string, recorded []value.Value, change func([]tool.Module)) (*Reply, error) {
	t := s.begin(ctx, message)
	var spent meter.Usage
	for _, outcome := range recorded {
		spent.Add(meter.Step(outcome, nil))
	}
	t.meter = meter.New(nil, &meter.Rules{}, spent)
	p := t.program()
	p.Modules = Modules() // those of the agent are shared
	change(p.Modules)
	return t.run(ctx, p)
}

// BeginUnled begins a turn that nobody leads, and returns the Again of each function
// of its policy, by name.
func (s *Session) BeginUnled(message string) map[string]Again {
	ctx := context.WithValue(context.Background(), turnKey{}, s.begin(context.Background(), message))
	kept := map[string]Again{}
	for _, m := range Modules() {
		for _, f := range m.Funcs {
			if f.Again != nil {
				kept[m.Name+"."+f.Name] = func(e tool.Effect, out tool.Outcome, failure error) error { return f.Again(ctx, e, out, failure) }
			}
		}
	}
	return kept
}

// An Again is that of a [tool.Func], in the context of a turn.
type Again func(tool.Effect, tool.Outcome, error) error

// Recorded returns what a turn would record to be resumed.
func (s *Session) Recorded(message string) *value.Dict {
	t := &turn{Session: s}
	t.result.Task = message
	d, err := t.recorded()
	if err != nil {
		panic(err)
	}
	return d
}

// Restore brings the session to where it was before the run of that ID, from its
// arguments and options together.
func (s *Session) Restore(runID string, recorded *value.Dict) error {
	turn, err := conversation.ReadTurn(s.id, &host.Recorded{Run: history.Run{ID: runID, Args: recorded, Options: recorded}})
	if err != nil {
		return err
	}
	return s.restore(turn, true)
}

// State returns all that a session and its turn keep, as text. Of times it has
// whether they are.
func (s *Session) State() string {
	t := s.turn
	var b strings.Builder
	b.WriteString(s.Kept())
	line := func(name string, v any) { fmt.Fprintf(&b, "%s: %v\n", name, v) }
	for _, m := range s.state.Made {
		line("made in this turn", m.Now())
	}
	line("iterations", t.result.Iterations)
	for i := range t.result.Calls {
		line("call", t.result.Calls[i].dict())
	}
	line("usage", t.result.Usage)
	line("references", fmt.Sprintf("%q", t.result.References))
	line("memory", t.memory.String())
	line("idle", t.idle)
	b.WriteString(t.kept.String())
	return b.String()
}

// Kept returns all that a session keeps between turns, as text.
func (s *Session) Kept() string {
	var b strings.Builder
	line := func(name string, v any) { fmt.Fprintf(&b, "%s: %v\n", name, v) }
	for i := range s.state.Messages {
		v, err := value.FromGo(&s.state.Messages[i])
		line("message", cmp.Or[any](err, value.FormatJSON(v, "")))
	}
	line("thread", s.state.Thread)
	line("question", s.state.Question)
	line("told", s.state.Told)
	line("turns", s.state.Turns)
	line("iterations told", s.state.Iterations)
	line("tools", toolNames(s.agent.tools))
	for _, c := range dialog.Open(s.state.Messages) {
		line("open", c.ID)
	}
	for _, m := range s.state.Made {
		line("made", fmt.Sprintf("%q, success %v, last %v", [2]string{m.ID, m.Text}, m.Success, m.Last))
	}
	for _, text := range s.state.Heard {
		line("heard", fmt.Sprintf("%q", text))
	}
	line("account", fmt.Sprintf("%+v, overhead %d of %+v", s.state.Account.Counts(), s.state.Account.Overhead(), s.state.Account.Budget()))
	files := s.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		line("file "+path, fmt.Sprintf("read %v, written %v", !files[path].Read.IsZero(), !files[path].Written.IsZero()))
	}
	return b.String()
}
