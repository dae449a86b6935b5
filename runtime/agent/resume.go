package agent

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// again begins a recorded turn again, in a new session. With offer the session gets the tools of
// that turn, otherwise it keeps those of its agent.
func (s *Session) again(ctx context.Context, turn *conversation.Turn, offer bool) (*turn, error) {
	if err := s.restore(turn, offer); err != nil {
		return nil, err
	}
	t := s.begin(ctx, turn.Task)
	t.again = true
	return t, nil
}

// options returns what is recorded with the run of a turn, to resume it.
func (t *turn) options() (*value.Dict, error) {
	if t.above != nil || !host.Operate(t.agent.host).HasStore() {
		if len(t.state.Reviewed) == 0 {
			return t.agent.settings, nil // they are not recorded: the host checks the trust of what they contain
		}
		d := t.agent.settings.Clone(2)
		t.state.RecordReviewed(d)
		return d, nil
	}
	return t.recorded()
}

func (t *turn) recorded() (*value.Dict, error) {
	begins := t.state.Turns == 0 && !t.reoffered && t.state.Marks.Empty() && t.state.Thread == ""
	if begins && t.state.Attached == nil && len(t.state.Reviewed) == 0 {
		return t.agent.settings, nil // shared by the first turns of all sessions
	}
	d := t.agent.settings.Clone(2)
	t.state.RecordReviewed(d)
	if err := t.state.RecordAttached(d); err != nil {
		return nil, value.Errorf(value.Invalid, "record the attachments of run '%s': %w", t.runID, err)
	}
	if begins {
		return d, nil
	}
	if err := t.state.Record(d, toolNames(t.agent.tools), t.Files()); err != nil {
		return nil, value.Errorf(value.Invalid, "record the conversation before run '%s': %w", t.runID, err)
	}
	return d, nil
}

// restore sets a new session to the state before a recorded turn. With offer the session gets the
// tools of that turn, otherwise it keeps those of its agent.
func (s *Session) restore(turn *conversation.Turn, offer bool) error {
	if offer && turn.Changed {
		if err := s.offer(turn.Tools); err != nil {
			return dialog.Unreadable("run '"+turn.ID+"'", err)
		}
	}
	s.state, s.runID = turn.Before(s.state), turn.ID
	s.kept.Leave(turn.Files())
	return nil
}

// Switch replaces the agent of the session, beginning with the next turn, such as one with another
// model. It fails with kind Busy during a turn.
func (s *Session) Switch(a *Agent) error {
	if !s.busy.TryLock() {
		return s.errBusy()
	}
	defer s.busy.Unlock()
	was, tools := s.agent.recorded, toolNames(s.agent.tools)
	s.agent, s.reoffered = a, true
	s.change(was, tools)
	return nil
}

// change prepares the conversation with an agent that had these settings and tools for the present
// one.
func (s *Session) change(was Settings, tools []string) {
	is, sameModel := s.agent.recorded, true
	if is.Model != was.Model { // threads and signed data are valid for one model only
		s.state.Thread, sameModel = "", false
		s.state.Messages = dialog.Unsigned(s.state.Messages)
	}
	same := slices.EqualFunc(s.agent.tools, tools, func(t tool.Tool, name string) bool { return t.Name == name })
	sameAgent := is.As.Instructions() == was.As.Instructions()
	if same && sameModel && sameAgent && is.Format == was.Format {
		return
	}
	s.state.Told = s.state.Told && len(s.agent.tools) == 0 && sameAgent
	s.state.Replace(s.state.Messages, s.agent.account())
}
