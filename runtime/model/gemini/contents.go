package gemini

import (
	"encoding/base64"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// dummySignature is accepted in place of a signature, for calls that another model made.
// Source: https://ai.google.dev/gemini-api/docs/thought-signatures
const dummySignature = "skip_thought_signature_validator"

// A reset says how signatures are sent after the API has rejected one.
type reset string

const (
	resetNot   reset = ""      // as they came
	resetDummy reset = "dummy" // the dummy in their place
	resetNone  reset = "none"  // without
)

// A conversation is a request while it is asked.
type conversation struct {
	*client
	r *model.Request
	// The signatures of the first at messages are sent as reset says.
	reset      reset
	at         int
	rejected   bool // a signature was rejected: the reply keeps reset
	noThinking bool
	raise      int // of the level of reasoning
}

// newConversation returns a request with what earlier requests have found out about its
// signatures.
func newConversation(m *client, r *model.Request) *conversation {
	c := &conversation{client: m, r: r}
	for i := range r.Messages {
		if was := reset(readOpaque(r.Messages[i].Opaque).Text("reset")); was != resetNot {
			c.reset, c.at = was, i
		}
	}
	return c
}

// resetSignatures prepares for sending the conversation again after a signature of it was
// rejected, and reports whether anything is left to try.
func (c *conversation) resetSignatures() bool {
	switch {
	case c.at < len(c.r.Messages):
		c.at = len(c.r.Messages)
		if c.reset == resetNot {
			c.reset = resetDummy
		}
	case c.reset == resetDummy:
		c.reset = resetNone
	default:
		return false
	}
	c.rejected = true
	return true
}

// opaque returns the parts of a reply for the next request.
func (c *conversation) opaque(parts value.List) []byte {
	d := value.NewDict("gemini", c.o.Model, "parts", parts)
	if c.rejected {
		d.Put("reset", string(c.reset))
	}
	data, err := value.AppendJSON(nil, d)
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}

func readOpaque(data []byte) *value.Dict {
	if len(data) == 0 {
		return nil
	}
	v, _ := value.ParseJSON(data)
	d, _ := v.(*value.Dict)
	return d
}

// contents writes the conversation. The messages of one role in a row are one entry, as the
// API requires after calls.
func (c *conversation) contents() (value.List, *wire.Failure) {
	messages := c.r.Messages
	if c.o.Plain {
		messages = wire.Worded(messages)
	}
	var list value.List
	var calls []sentCall
	for i := 0; i < len(messages); i++ {
		if messages[i].Role == model.Assistant {
			var parts value.List
			parts, calls = c.modelParts(i, &messages[i])
			list = append(list, value.NewDict("role", "model", "parts", parts))
			continue
		}
		end := i
		for end < len(messages) && messages[end].Role != model.Assistant {
			end++
		}
		parts, f := c.userParts(messages[i:end], calls)
		if f != nil {
			return nil, f
		}
		list = append(list, value.NewDict("role", "user", "parts", parts))
		i = end - 1
	}
	return list, nil
}

// A sentCall is a call as it was sent: its ID in the conversation, and that of the API, which
// has none for older models.
type sentCall struct{ id, sent string }

// modelParts writes the i-th message: the parts that the API sent, if they still match it.
func (c *conversation) modelParts(i int, m *model.Message) (value.List, []sentCall) {
	how := resetNot
	if i < c.at {
		how = c.reset
	}
	if how == resetNot {
		if parts, calls := c.keptParts(m); parts != nil {
			return parts, calls
		}
	}
	var parts value.List
	var calls []sentCall
	if m.Text != "" || len(m.Calls) == 0 {
		parts = append(parts, value.NewDict("text", m.Text))
	}
	for k := range m.Calls {
		call := &m.Calls[k]
		part := value.NewDict("functionCall", value.NewDict("id", call.ID, "name", call.Tool, "args", wire.ArgsObject(call)))
		if k == 0 && (how == resetDummy || how == resetNot && c.v.atLeast(3, 0)) {
			part.Put("thoughtSignature", dummySignature)
		}
		parts, calls = append(parts, part), append(calls, sentCall{call.ID, call.ID})
	}
	return parts, calls
}

// keptParts returns the parts that the API sent, or nil if they are another model's, or if the
// text or the calls of the message have changed since.
func (c *conversation) keptParts(m *model.Message) (value.List, []sentCall) {
	kept := readOpaque(m.Opaque)
	if kept.Text("gemini") != c.o.Model || m.Text == "" && len(m.Calls) == 0 {
		return nil, nil
	}
	text := ""
	var parts value.List
	var calls []sentCall
	for _, part := range wire.Children(kept, "parts") {
		parts = append(parts, part)
		if !part.Bool("thought") {
			text += part.Text("text")
		}
		made := wire.Child(part, "functionCall")
		if made == nil {
			continue
		}
		if len(calls) == len(m.Calls) || !c.same(made, &m.Calls[len(calls)]) {
			return nil, nil
		}
		calls = append(calls, sentCall{m.Calls[len(calls)].ID, made.Text("id")})
	}
	if text != m.Text || len(calls) != len(m.Calls) {
		return nil, nil
	}
	return parts, calls
}

// same reports whether a call is still as the API sent it.
func (c *conversation) same(made *value.Dict, call *model.Call) bool {
	args, _ := made.Get("args")
	was := wire.NewCall("", "", args)
	return made.Text("name") == call.Tool && value.EqualJSON(wire.ArgsObject(&was), wire.ArgsObject(call))
}

// userParts writes messages as one entry: the results in the order of their calls, then their
// media, then what the user wrote.
func (c *conversation) userParts(messages []model.Message, calls []sentCall) (value.List, *wire.Failure) {
	var parts, rest value.List
	for _, call := range calls {
		for i := range messages {
			if m := &messages[i]; m.Role == model.ToolRole && m.CallID == call.id {
				parts = append(parts, c.response(m, call))
			}
		}
	}
	for i := range messages {
		m := &messages[i]
		if m.Role == model.User && (m.Text != "" || len(m.Media) == 0) {
			rest = append(rest, value.NewDict("text", m.Text))
		}
		for k := range m.Media {
			part, f := c.media(&m.Media[k])
			if f != nil {
				return nil, f
			}
			rest = append(rest, part)
		}
	}
	return append(parts, rest...), nil
}

// response writes the result of a call.
func (c *conversation) response(m *model.Message, call sentCall) *value.Dict {
	d := value.NewDict()
	if call.sent != "" {
		d.Put("id", call.sent)
	}
	d.Put("name", m.Tool)
	key := "output"
	if m.Failed {
		key = "error"
	}
	d.Put("response", value.NewDict(key, m.Text))
	return value.NewDict("functionResponse", d)
}

// media writes an image or a document.
// Source: https://ai.google.dev/gemini-api/docs/image-understanding
func (c *conversation) media(m *model.Media) (value.Value, *wire.Failure) {
	kind, _, _ := strings.Cut(m.Type, "/")
	switch {
	case m.Type == "application/pdf", kind == "text", kind == "audio", kind == "video":
	case kind == "image" && strings.Contains(" png jpeg webp heic heif ", " "+strings.TrimPrefix(m.Type, "image/")+" "):
	default:
		return nil, c.w.Unreadable(m, "attach a PNG, JPEG, WebP, HEIC or HEIF image, a PDF, a text, or audio or video")
	}
	if m.URL != "" {
		return value.NewDict("fileData", value.NewDict("mimeType", m.Type, "fileUri", m.URL)), nil
	}
	return value.NewDict("inlineData", value.NewDict("mimeType", m.Type, "data", base64.StdEncoding.EncodeToString(m.Data))), nil
}
