package conversation

import (
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The names under which a run records its turn.
const (
	TaskArg            = "task"         // the message of the user, an argument of the policy
	conversationOption = "conversation" // before the turn
	attachedOption     = "attached"     // to the message
)

// A before is the recorded state on which a turn depends. Counts are unsigned, so that a damaged
// record cannot make them negative.
type before struct {
	Turns      uint32   `json:"turns"`
	Tools      []string `json:"tools"`
	Iterations uint32   `json:"iterations"`
	Question   string   `json:"question"`
	Told       bool     `json:"told"`
	Thread     string   `json:"thread"`
	Messages   [][]byte `json:"messages"` // see [dialog.Pack]
	Made       []Call   `json:"made"`
	Heard      []string `json:"heard"`
	Read       []string `json:"read"`
	Wrote      []string `json:"wrote"`
	taint.Recorded
	account.Counts
}

// Record adds the state to the options of the run of a turn, with the tools that the model may call
// and the files that it knows.
func (s *State) Record(options *value.Dict, tools []string, files map[string]Seen) error {
	messages, err := dialog.Pack(s.Messages)
	if err != nil {
		return err
	}
	b := before{
		Tools: tools, Turns: uint32(s.Turns), Iterations: uint32(s.Iterations), Question: s.Question, Told: s.Told, Thread: s.Thread,
		Messages: messages, Made: s.Made, Heard: s.Heard, Recorded: s.Marks.Recorded(),
		Counts: s.Account.Counts(),
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !files[path].Read.IsZero() {
			b.Read = append(b.Read, path)
		}
		if !files[path].Written.IsZero() {
			b.Wrote = append(b.Wrote, path)
		}
	}
	v, err := value.FromGo(b)
	if err == nil {
		options.Put(conversationOption, v)
	}
	return err
}

// RecordAttached adds the attachments, if there are any, to the options of the run of a turn.
func (s *State) RecordAttached(options *value.Dict) error {
	if s.Attached == nil {
		return nil
	}
	media, err := dialog.PackMedia(s.Attached)
	if err == nil {
		options.Put(attachedOption, media)
	}
	return err
}

// RecordReviewed adds the reviewed files, if there are any, to the options of a turn. The host checks them.
func (s *State) RecordReviewed(options *value.Dict) {
	if len(s.Reviewed) > 0 {
		options.Put(host.ReviewedOption, value.List(value.Map(s.Reviewed, func(f string) value.Value { return f })))
	}
}

// A Turn is what the run of a turn has recorded of it and of the conversation before it.
type Turn struct {
	ID      string   // of the run
	Task    string   // the message of the user
	Tools   []string // the names of those that the model could call
	Changed bool     // the conversation before the turn is recorded: it is not the first one of its agent

	attached []model.Media
	reviewed []string
	before   before
	messages []model.Message
}

// ReadTurn reads the run of a turn of a session. It fails with kind Failed if the record is damaged.
func ReadTurn(session string, r *host.Recorded) (*Turn, error) {
	t, err := readTurn(session, r)
	if err != nil {
		return nil, dialog.Unreadable("run '"+r.ID+"'", err)
	}
	return t, nil
}

func readTurn(session string, r *host.Recorded) (*Turn, error) {
	args, err := value.ToGo[struct {
		Task string `json:"task"`
	}](r.Args)
	if err != nil {
		return nil, err
	}
	options, err := value.ToGo[struct {
		Conversation *before  `json:"conversation"`
		Offered      []string `json:"offered"`
		Attached     [][]byte `json:"attached"`
		Reviewed     []string `json:"reviewed"`
	}](r.Options)
	if err != nil {
		return nil, err
	}
	t := &Turn{ID: r.ID, Task: args.Task, Tools: options.Offered, reviewed: options.Reviewed}
	if b := options.Conversation; b != nil {
		t.before, t.Tools, t.Changed = *b, b.Tools, true
	}
	if id := ids.Turn(session, int(t.before.Turns)); id != r.ID && r.ForkedFrom == "" { // a fork has an ID of its own
		return nil, value.Errorf(value.Failed, "the record is damaged: it belongs to run '%s'", id)
	}
	if t.messages, err = dialog.Unpack(t.before.Messages); err != nil {
		return nil, err
	}
	if err := dialog.Check(t.messages); err != nil {
		return nil, err
	}
	t.attached, err = dialog.UnpackMedia(options.Attached)
	return t, err
}

// Before returns the state before the turn. empty is that of a conversation without turns, with the
// tools of this turn.
func (t *Turn) Before(empty State) State {
	s := empty
	s.Attached, s.Reviewed = t.attached, t.reviewed
	if !t.Changed {
		return s
	}
	b := &t.before
	s.Turns, s.Iterations = int(b.Turns), int(b.Iterations)
	s.Question, s.Told, s.Thread, s.Messages, s.Made = b.Question, b.Told, b.Thread, t.messages, b.Made
	for _, text := range b.Heard {
		s.Heard = Hear(s.Heard, text)
	}
	s.Account.Restore(b.Counts)
	s.Marks = &taint.Marks{}
	s.Marks.Restore(b.Recorded)
	return s
}

// Files returns the files that the model knew before the turn.
func (t *Turn) Files() Traces {
	files := Recorded{Read: t.before.Read, Wrote: t.before.Wrote}
	return files.Traces()
}
