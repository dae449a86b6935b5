// Package conversation has the state of a conversation with a model, and its record: what the turns
// so far leave for the next one.
package conversation

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A State is the state of a conversation between the steps of a turn, and between turns. It changes
// only by recorded arguments and outcomes, so that a resumed run restores it. It is not safe for
// concurrent use.
type State struct {
	Turns      int // number of turns that have ended
	Iterations int // the limit that the prompt states; 0 states none
	Account    account.Account
	Messages   []model.Message
	Thread     string        // the ID of the conversation at the model's API, or ""
	Question   string        // in the first message
	Told       bool          // the model has its instructions
	Made       []Call        // calls since the last reply, whose results the model does not have
	Heard      []string      // outputs of tools, the latest last
	Attached   []model.Media // of the next message
	Marks      *taint.Marks  // the untrusted texts that the conversation has
	Reviewed   []string      // the files that the user has reviewed and whose texts the conversation has
}

// AddReviewed adds files that the user has reviewed and whose texts the model gets.
func (s *State) AddReviewed(files []string) {
	for _, file := range files {
		if !slices.Contains(s.Reviewed, file) {
			s.Reviewed = append(s.Reviewed[:len(s.Reviewed):len(s.Reviewed)], file)
		}
	}
}

// A Call is a call with the text that the next message reports to the model, in this turn
// or, if it is interrupted, in the next one.
type Call struct {
	ID      string        `json:"id"`
	Text    string        `json:"text"`
	Media   []model.Media `json:"media,omitempty"` // of the result, which the model gets
	Success bool          `json:"success"`
	Last    bool          `json:"last"` // the call that ended the task
	now     bool          // it was made in the present turn
}

// Now reports whether the call was made in the present turn.
func (c *Call) Now() bool { return c.now }

// BeginTurn begins the next turn: the calls so far are those of earlier turns.
func (s *State) BeginTurn() {
	for i := range s.Made {
		s.Made[i].now = false
	}
}

// BeginQuestion keeps the first question of a conversation. It reports whether the conversation
// begins with it.
func (s *State) BeginQuestion(task string) bool {
	if s.Instructed() {
		return false
	}
	s.Told, s.Question = true, task
	return true
}

// Instructed reports whether a message of the conversation has the instructions for the model.
func (s *State) Instructed() bool { return s.Told && len(s.Messages) > 0 }

// noAnswer replaces an empty reply in a conversation, which no API accepts.
const noAnswer = "(no answer)"

// notRun is the result of a native call that was not made.
const notRun = "This call was not made."

// Said returns a reply as a message of the conversation.
func Said(m model.Message) model.Message {
	if m.Text == "" && len(m.Calls) == 0 {
		return model.Message{Role: model.Assistant, Text: noAnswer}
	}
	return m
}

// NotMade returns the result of a native call that was not made.
func NotMade(c model.Call) model.Message {
	return model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: notRun, Failed: true}
}

// With returns the conversation with more messages at its end.
func (s *State) With(more []model.Message) []model.Message {
	old := s.Messages
	switch {
	case len(old) == 0:
		return slices.Clip(more)
	case s.Overfull(more):
		old = prompt.WithoutMedia(old)
	}
	return append(old[:len(old):len(old)], more...)
}

// Add adds the messages that were sent.
func (s *State) Add(more []model.Message) {
	known := len(s.Messages)
	s.Messages = s.With(more)
	s.count(known)
}

// AddReply adds a reply to the messages before it.
func (s *State) AddReply(a *dialog.Asked) {
	known := len(s.Messages)
	s.Messages = append(s.Messages[:known:known], Said(model.Message{Role: model.Assistant, Text: a.Text, Calls: a.Calls, Opaque: a.Opaque}))
	s.count(known)
	s.Account.Reported(int(a.InputTokens), int(a.OutputTokens))
	s.Thread, s.Made = a.Thread, nil
}

// count counts the messages from a number on.
func (s *State) count(from int) {
	for i := from; i < len(s.Messages); i++ {
		s.Account.AddMessage(&s.Messages[i])
	}
}

// Replace replaces the messages, and counts them in the account of an empty conversation.
func (s *State) Replace(messages []model.Message, empty account.Account) {
	s.Messages, s.Account = messages, empty
	s.count(0)
}

// Restart replaces the conversation, with its instructions. The model gets all of it with the next
// request.
func (s *State) Restart(messages []model.Message, empty account.Account) {
	s.Thread, s.Told = "", true
	s.Replace(messages, empty)
}

// An Outcome is the recorded outcome of a call, as far as the conversation depends on it.
type Outcome struct {
	Success  bool        `json:"success"`
	Result   value.Value `json:"result"`
	Error    string      `json:"error"`
	Made     bool        `json:"made"` // the host has run or refused the call
	Complete bool        `json:"complete"`
	Text     string      `json:"text"`
	Said     string      `json:"said"`
	Shown    []int64     `json:"shown"`
}

// ReadOutcome reads the outcome of a call.
func ReadOutcome(v *value.Dict) (Outcome, error) { return value.ToGo[Outcome](v) }

// ToolResult returns the result of the tool.
func (o *Outcome) ToolResult() tool.Result {
	return tool.Result{Success: o.Success, Value: o.Result, Error: o.Error}
}

// AddCall keeps the outcome of a call for the next message.
func (s *State) AddCall(id, name string, o *Outcome) {
	said := o.Said
	if o.Made && o.Success {
		result := o.ToolResult()
		said = result.Text()
	}
	s.Heard = Hear(s.Heard, said)
	s.Made = append(s.Made, Call{
		ID: id, Text: o.Text, Media: prompt.ShownMedia(name, o.Result, o.Shown),
		now: true, Success: o.Success, Last: o.Complete,
	})
}
