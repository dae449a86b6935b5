package model

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// check rejects conversations that no API with native calls accepts, with clearer
// errors than theirs: an empty message, a result without a call, or a call without a
// result.
func (w *wire) check(r *Request) *failure {
	invalid := func(format string, args ...any) *failure { return w.fail(value.Errorf(value.Invalid, format, args...)) }
	if len(r.Messages) == 0 {
		return invalid("the conversation is empty")
	}
	open := map[string]bool{}
	for _, m := range r.Messages {
		switch m.Role {
		case ToolRole:
			if !open[m.CallID] {
				return invalid("a result of %s has no matching call: call ID %q", m.Tool, m.CallID)
			}
			delete(open, m.CallID)
			continue
		case User:
			if strings.TrimSpace(m.Text) == "" {
				return invalid("a message is empty")
			}
		case Assistant:
		default:
			return invalid("a message has the unknown role %q", string(m.Role))
		}
		for id := range open {
			return invalid("the call %q has no result", id)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	for id := range open {
		return invalid("the call %q has no result", id)
	}
	if r.Messages[len(r.Messages)-1].Role == Assistant {
		return invalid("the last message is from the model")
	}
	return nil
}

// definitions returns the tools in a vendor's format, or nil for no tools.
func (w *wire) definitions(tools []tool.Tool, format tool.Format) (value.List, *failure) {
	var list value.List
	for i := range tools {
		d, err := tools[i].Definition(format)
		if err != nil {
			return nil, w.fail(value.ErrorOf(err, value.Invalid))
		}
		list = append(list, d)
	}
	return list, nil
}

// inWords returns a message with its calls or its result as text, for a model without
// native calls.
func (m *Message) inWords() string {
	if m.Role == ToolRole {
		word := "RESULT"
		if m.Failed {
			word = "ERROR"
		}
		return word + " (" + m.Tool + "):\n" + m.Text
	}
	parts := []string{m.Text}
	if m.Text == "" {
		parts = nil
	}
	for i := range m.Calls {
		parts = append(parts, "CALL ("+m.Calls[i].Tool+"): "+m.Calls[i].argsText())
	}
	return strings.Join(parts, "\n\n")
}

// worded returns messages with calls and results as text.
func worded(messages []Message) []Message {
	list := slices.Clone(messages)
	for i := range list {
		m := &list[i]
		switch {
		case m.Role == ToolRole:
			*m = Message{Role: User, Text: m.inWords()}
		case len(m.Calls) > 0:
			*m = Message{Role: m.Role, Text: m.inWords()}
		}
	}
	return list
}

// transcript writes a conversation as one text: the instruction, the earlier messages,
// and last the messages to answer.
func transcript(system string, messages []Message) string {
	var parts []string
	if system != "" {
		parts = append(parts, system)
	}
	last := len(messages)
	for last > 0 && messages[last-1].Role != Assistant {
		last--
	}
	if last > 0 {
		parts = append(parts, "[The conversation so far]")
		for _, m := range messages[:last] {
			text := m.inWords()
			switch m.Role {
			case User:
				text = "USER:\n" + text
			case Assistant:
				text = "ASSISTANT:\n" + text
			}
			parts = append(parts, text)
		}
		parts = append(parts, "[Answer what follows]")
	}
	for _, m := range messages[last:] {
		parts = append(parts, m.inWords())
	}
	return strings.Join(parts, "\n\n")
}
