package agent

import (
	"context"
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/recall"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/traces"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/internal/flow"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The names under which a run records its turn.
const (
	taskArg            = "task"         // the message of the user, an argument of the policy
	conversationOption = "conversation" // before the turn
	attachedOption     = "attached"     // to the message
)

// again begins a recorded turn again, in a new session. With offer the session gets the tools of
// that turn, otherwise it keeps those of its agent.
func (s *Session) again(ctx context.Context, r *host.Recorded, offer bool) (*turn, error) {
	task, err := s.restore(r, offer)
	if err != nil {
		return nil, err
	}
	t := s.begin(ctx, task)
	t.again = true
	return t, nil
}

// options returns what is recorded with the run of a turn, to resume it.
func (t *turn) options() (*value.Dict, error) {
	if t.above != nil || !t.agent.host.HasStore() {
		return nil, nil // the turn is part of another run, or not recorded
	}
	return t.recorded()
}

func (t *turn) recorded() (*value.Dict, error) {
	if t.turns == 0 && !t.reoffered && t.attached == nil && t.marks.Empty() {
		return t.agent.settings, nil // shared by the first turns of all sessions
	}
	d := t.agent.settings.Clone(2)
	if t.attached != nil {
		media, err := dialog.PackMedia(t.attached)
		if err != nil {
			return nil, value.Errorf(value.Invalid, "record the attachments of run '%s': %w", t.runID, err)
		}
		d.Put(attachedOption, media)
		if t.turns == 0 && !t.reoffered && t.marks.Empty() {
			return d, nil
		}
	}
	c, err := t.conversation()
	if err != nil {
		return nil, value.Errorf(value.Invalid, "record the conversation before run '%s': %w", t.runID, err)
	}
	d.Put(conversationOption, c)
	return d, nil
}

// A recordedTurn is read from the arguments, or from the options, of a recorded turn.
type recordedTurn struct {
	Task         string        `json:"task"`
	Conversation *conversation `json:"conversation"`
	Offered      []string      `json:"offered"`
	Attached     [][]byte      `json:"attached"`
}

// offered returns the names of the tools that the model could call.
func (t *recordedTurn) offered() []string {
	if t.Conversation != nil {
		return t.Conversation.Tools
	}
	return t.Offered
}

// A conversation is the recorded state on which a turn depends. Counts are unsigned, so that a
// damaged record cannot make them negative.
type conversation struct {
	Turns      uint32     `json:"turns"`
	Tools      []string   `json:"tools"`
	Iterations uint32     `json:"iterations"`
	Question   string     `json:"question"`
	Told       bool       `json:"told"`
	Thread     string     `json:"thread"`
	Messages   [][]byte   `json:"messages"` // see [dialog.Pack]
	Made       []madeCall `json:"made"`
	Heard      []string   `json:"heard"`
	Read       []string   `json:"read"`
	Wrote      []string   `json:"wrote"`
	flow.Recorded
	account.Counts
}

// conversation returns the present state for the record.
func (s *Session) conversation() (value.Value, error) {
	messages, err := dialog.Pack(s.messages)
	if err != nil {
		return nil, err
	}
	c := conversation{
		Tools: toolNames(s.agent.tools), Turns: uint32(s.turns), Iterations: uint32(s.iterations), Question: s.question, Told: s.told, Thread: s.thread,
		Messages: messages, Made: s.made, Heard: s.heard, Recorded: s.marks.Recorded(),
		Counts: s.account.Counts(),
	}
	files := s.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !files[path].Read.IsZero() {
			c.Read = append(c.Read, path)
		}
		if !files[path].Written.IsZero() {
			c.Wrote = append(c.Wrote, path)
		}
	}
	return value.FromGo(c)
}

// restore sets a new session to the state before a recorded turn, and returns the message of
// that turn. With offer the session gets the tools of that turn, otherwise it keeps those of
// its agent.
func (s *Session) restore(r *host.Recorded, offer bool) (task string, err error) {
	args, err := value.ToGo[recordedTurn](r.Args)
	var options recordedTurn
	if err == nil {
		options, err = value.ToGo[recordedTurn](r.Options)
	}
	if err == nil {
		err = s.take(options.Conversation, r.ID, offer)
	}
	if err == nil {
		s.attached, err = dialog.UnpackMedia(options.Attached)
	}
	if err != nil {
		return "", dialog.Unreadable("run '"+r.ID+"'", err)
	}
	return args.Task, nil
}

// take sets the session to the state before a turn; nil is that of the first one. If the
// record is damaged, it returns an error and changes nothing.
func (s *Session) take(c *conversation, runID string, offer bool) error {
	turns := 0
	if c != nil {
		turns = int(c.Turns)
	}
	if id := ids.Turn(s.id, turns); id != runID {
		return value.Errorf(value.Failed, "the record is damaged: it belongs to run '%s'", id)
	}
	if c == nil {
		return nil
	}
	messages, err := dialog.Unpack(c.Messages)
	if err == nil {
		err = dialog.Check(messages)
	}
	if err != nil {
		return err
	}
	if offer {
		if err := s.offer(c.Tools); err != nil {
			return err
		}
	}
	s.turns, s.runID, s.iterations = turns, runID, int(c.Iterations)
	s.question, s.told, s.thread, s.messages, s.made = c.Question, c.Told, c.Thread, messages, c.Made
	for _, text := range c.Heard {
		s.heard = recall.Hear(s.heard, text)
	}
	files := traces.Recorded{Read: c.Read, Wrote: c.Wrote}
	s.kept.Leave(files.Traces())
	s.account.Restore(c.Counts)
	s.marks.Restore(c.Recorded)
	return nil
}

// adapt prepares the session for its own agent. The last turn may have had an agent with
// another model, format or tools.
func (s *Session) adapt(r *host.Recorded) error {
	was, err := ReadSettings(r.Options)
	var turn recordedTurn
	if err == nil {
		turn, err = value.ToGo[recordedTurn](r.Options)
	}
	if err != nil {
		return dialog.Unreadable("run '"+r.ID+"'", err)
	}
	s.change(was, turn.offered())
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
		s.thread, sameModel = "", false
		s.messages = dialog.Unsigned(s.messages)
	}
	same := slices.EqualFunc(s.agent.tools, tools, func(t tool.Tool, name string) bool { return t.Name == name })
	sameAgent := is.As.Instructions() == was.As.Instructions()
	if same && sameModel && sameAgent && is.Format == was.Format {
		return
	}
	s.told = s.told && len(s.agent.tools) == 0 && sameAgent
	s.recount()
}
