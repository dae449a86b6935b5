package wire

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Check rejects conversations that no API with native calls accepts, with clearer
// errors than theirs: an empty message, a result without a call, or a call without a
// result.
func (w *Wire) Check(r *model.Request) *Failure {
	invalid := func(format string, args ...any) *Failure { return w.Fail(value.Errorf(value.Invalid, format, args...)) }
	if len(r.Messages) == 0 {
		return invalid("the conversation is empty: it needs a message of the user")
	}
	open := map[string]bool{}
	for i := range r.Messages {
		if f := w.checkMedia(r.Messages[i].Media); f != nil {
			return f
		}
	}
	for _, m := range r.Messages {
		switch m.Role {
		case model.ToolRole:
			if !open[m.CallID] {
				return invalid("a result of %s has no matching call: call ID %q", m.Tool, m.CallID)
			}
			delete(open, m.CallID)
			continue
		case model.User, model.SystemRole:
			if strings.TrimSpace(m.Text) == "" && len(m.Media) == 0 {
				return invalid("a message is empty: it has neither a text nor a file")
			}
		case model.Assistant:
		default:
			return invalid("a message has the unknown role %q", string(m.Role))
		}
		for id := range open {
			return invalid("the tool call %q has no result", id)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	for id := range open {
		return invalid("the tool call %q has no result", id)
	}
	if r.Messages[len(r.Messages)-1].Role == model.Assistant {
		return invalid("the last message is from the model: expected a message of the user, or results of calls")
	}
	return nil
}

// checkMedia rejects addresses of files that no API can read.
func (w *Wire) checkMedia(list []model.Media) *Failure {
	for i := range list {
		m := &list[i]
		if m.URL == "" {
			continue
		}
		scheme, host, _ := strings.Cut(m.URL, "://")
		switch known := scheme == "https" || scheme == "http" || scheme == "gs"; {
		case !known || host == "" || strings.ContainsFunc(m.URL, func(r rune) bool { return r <= ' ' || r > '~' }):
			return w.Fail(value.Errorf(value.Invalid, "the address of the file is invalid: %q", value.Clean(m.URL, 100)).
				WithHint("use an address that begins with https://, without spaces"))
		case len(m.Data) > 0:
			return w.Fail(value.Errorf(value.Invalid, "the file %q has both an address and data", value.Clean(m.URL, 100)).WithHint("set Media.URL or Media.Data, not both"))
		}
	}
	return nil
}

// MediaName names an image or a document in errors.
func MediaName(m *model.Media) string {
	if m.Name == "" {
		return "an attachment"
	}
	return value.Clean(m.Name, 100)
}

// Unreadable returns the failure for an image or a document of a type that the API does not
// read.
func (w *Wire) Unreadable(m *model.Media, hint string) *Failure {
	return w.Fail(value.Errorf(value.Invalid, "the model cannot read %s (%s)", MediaName(m), value.Clean(m.Type, 60)).WithHint("%s", hint))
}

// NeedsData returns the failure for an address of a file that an API cannot get itself.
func (w *Wire) NeedsData(m *model.Media) *Failure {
	return w.Fail(value.Errorf(value.Invalid, "the provider cannot get the file %q (%s) from its address", value.Clean(m.URL, 100), value.Clean(m.Type, 60)).
		WithHint("download the file, and attach the local file"))
}

// uninstructed returns a request whose instructions in mid-conversation are messages of the user.
func uninstructed(r *model.Request) *model.Request {
	if !slices.ContainsFunc(r.Messages, func(m model.Message) bool { return m.Role == model.SystemRole }) {
		return r
	}
	plain := *r
	plain.Messages = slices.Clone(r.Messages)
	for i := range plain.Messages {
		m := &plain.Messages[i]
		if m.Role != model.SystemRole {
			continue
		}
		m.Role = model.User
		if strings.TrimSpace(m.Text) != "" { // an empty message is rejected later
			m.Text = "<system>\n" + m.Text + "\n</system>"
		}
	}
	return &plain
}

// Definitions returns the tools in a vendor's format, or nil for no tools.
func (w *Wire) Definitions(tools []tool.Tool, format tool.Format) (value.List, *Failure) {
	var list value.List
	for i := range tools {
		d, err := tools[i].Definition(format)
		if err != nil {
			return nil, w.Fail(value.ErrorOf(err, value.Invalid))
		}
		list = append(list, d)
	}
	return list, nil
}

// inWords returns a message with its calls or its result as text, for a model without
// native calls.
func inWords(m *model.Message) string {
	if m.Role == model.ToolRole {
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
		c := &m.Calls[i]
		args := c.Raw
		if c.Args != nil {
			args = ArgsText(c)
		}
		parts = append(parts, "CALL ("+c.Tool+"): "+args)
	}
	return strings.Join(parts, "\n\n")
}

// Worded returns messages with calls and results as text.
func Worded(messages []model.Message) []model.Message {
	list := slices.Clone(messages)
	for i := range list {
		m := &list[i]
		switch {
		case m.Role == model.ToolRole:
			*m = model.Message{Role: model.User, Text: inWords(m), Media: m.Media}
		case len(m.Calls) > 0:
			*m = model.Message{Role: m.Role, Text: inWords(m)}
		}
	}
	return list
}

// Transcript writes a conversation as one text: the instruction, the earlier messages,
// and last the messages to answer.
func Transcript(system string, messages []model.Message) string {
	var parts []string
	if system != "" {
		parts = append(parts, system)
	}
	last := len(messages)
	for last > 0 && messages[last-1].Role != model.Assistant {
		last--
	}
	if last > 0 {
		parts = append(parts, "[The conversation so far]")
		for i := range last {
			m := &messages[i]
			text := inWords(m)
			switch m.Role {
			case model.User:
				text = "USER:\n" + text
			case model.Assistant:
				text = "ASSISTANT:\n" + text
			}
			parts = append(parts, text)
		}
		parts = append(parts, "[Answer what follows]")
	}
	for i := range messages[last:] {
		parts = append(parts, inWords(&messages[last+i]))
	}
	return strings.Join(parts, "\n\n")
}
