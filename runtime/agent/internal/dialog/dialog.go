// Package dialog checks conversations, and writes and reads their recorded form.
package dialog

import (
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxConversation is the limit of the text of a recorded conversation, in bytes: many times
// what a model accepts.
const maxConversation = 64 << 20

// Check returns an error if no API would accept the conversation, with results for the
// last calls.
func Check(messages []model.Message) error {
	size := 0
	open := map[string]bool{}
	for i, m := range messages {
		if size += len(m.Text); size > maxConversation {
			return value.Errorf(value.Limit, "the conversation is too long: more than %d MB", maxConversation>>20)
		}
		switch {
		case m.Role == model.ToolRole && open[m.CallID]:
			delete(open, m.CallID)
		case m.Role == model.ToolRole:
			return value.Errorf(value.Failed, "message %d has the result of an unknown call", i+1)
		case m.Role != model.User && m.Role != model.Assistant && m.Role != model.SystemRole:
			return value.Errorf(value.Failed, "message %d has the unknown role %.20q", i+1, string(m.Role))
		case len(open) > 0:
			return value.Errorf(value.Failed, "message %d: expected the results of the calls before this message", i+1)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	return nil
}

// Pack encodes each message, so that a long conversation does not exceed the number of parts
// of a value.
func Pack(messages []model.Message) (packed [][]byte, err error) {
	packed = [][]byte{} // nil means no conversation
	for i := range messages {
		v, err := value.FromGo(&messages[i])
		if err != nil {
			return nil, err
		}
		data, err := value.Append(nil, v)
		if err != nil {
			return nil, err
		}
		packed = append(packed, data)
	}
	return packed, nil
}

// Unpack returns the messages that Pack wrote.
func Unpack(packed [][]byte) (messages []model.Message, err error) {
	for i, data := range packed {
		v, err := value.Decode(data)
		if err != nil {
			return nil, err
		}
		m, err := value.ToGo[model.Message](v)
		if err != nil {
			return nil, value.Errorf(value.Failed, "message %d: %w", i+1, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// The limits of the sources of a reply: how many there may be, and the characters of one.
const maxSources, maxSource = 100, 2000

// Sources returns the sources of a reply within limits.
func Sources(lines []string) []string {
	var kept []string
	for _, line := range lines[:min(len(lines), maxSources)] {
		kept = append(kept, value.Clean(line, maxSource))
	}
	if len(lines) > len(kept) { // how many is not known: models keep a thousand
		kept = append(kept, "… more sources")
	}
	return kept
}

// Open returns the native calls of the last reply, which still need results.
func Open(messages []model.Message) []model.Call {
	if len(messages) == 0 {
		return nil
	}
	return messages[len(messages)-1].Calls
}
