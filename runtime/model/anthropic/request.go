package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// defaultMaxTokens is the default limit of a reply, which the API requires, of a model that
	// the catalog does not have.
	defaultMaxTokens = 16_000
	// mostMaxTokens is the longest default: what the vendor advises for agents that think much.
	mostMaxTokens = 64_000
	// mostUnstreamed is the longest reply that is not streamed. The vendor's clients refuse more,
	// since a connection without data for ten minutes is often cut.
	mostUnstreamed = 21_333
	// mostMedia is the limit of the images and documents of a request, as base64, in bytes. The
	// API accepts requests of 32 MB.
	mostMedia = 30 << 20
)

// A composer writes a request. While it writes the messages it hashes what it has written, which
// is the prefix of the next reply.
//
// Newer models bind each thinking block to all that was before it: the system prompt, the tools
// and the messages. If that has changed, because a conversation was compacted, a tool was added
// or BeforeAsk has edited a message, the API refuses the complete request. So a reply is stored
// with the hash of the request that it answers, and its thinking is sent back only after the same
// prefix. See https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
type composer struct {
	family   family
	fix      fix
	messages value.List // with alternating roles
	later    value.List // instructions that follow the message which is being written
	media    int        // bytes so far
	sum      hash.Hash
	summed   int // the messages that sum has
}

// body writes a request. prefix identifies what the reply answers.
func (m *client) body(r *model.Request, fix fix) (body *value.Dict, prefix string, f *wire.Failure) {
	if err := checkEffort(r.Effort); err != nil {
		return nil, "", m.w.Fail(err)
	}
	if f := m.w.Check(r); f != nil {
		return nil, "", f
	}
	tools, f := m.w.Definitions(r.Tools, tool.Anthropic)
	if f != nil {
		return nil, "", f
	}
	for i, v := range tools {
		if d := v.(*value.Dict); slices.Contains(m.o.Strict, d.Text("name")) {
			d = d.Clone(1)
			d.Put("strict", true)
			tools[i] = d
		}
	}
	c := composer{family: m.family, fix: fix, sum: sha256.New()}
	c.add(value.List{m.o.Model, r.System, tools})
	messages := r.Messages
	if tools == nil { // without tools the API also rejects calls
		messages = wire.Worded(messages)
	}
	for i := range messages {
		if err := c.message(&messages[i]); err != nil {
			return nil, "", m.w.Fail(err)
		}
	}
	c.instruct()
	body = value.NewDict("model", m.o.Model, "max_tokens", int64(m.maxTokens(r)))
	if r.System != "" {
		body.Put("system", value.List{value.NewDict("type", "text", "text", r.System)})
	}
	body.Put("messages", c.messages)
	if tools != nil {
		body.Put("tools", tools)
	}
	m.putOptions(body, r, fix)
	body = wire.Merged(body, m.o.Extra)
	prefix = c.prefix() // without the marks
	mark(body)
	return body, prefix, nil
}

// maxTokens returns the limit of a reply.
func (m *client) maxTokens(r *model.Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return m.o.MaxTokens
}

// putOptions adds how the model replies.
func (m *client) putOptions(body *value.Dict, r *model.Request, fix fix) {
	output := value.NewDict()
	m.family.putThinking(body, r, output)
	if fix.drop {
		thinking := wire.Child(body, "thinking")
		if thinking.Text("type") != "adaptive" {
			thinking = value.NewDict("type", "adaptive", "display", "summarized")
		}
		thinking.Put("block_binding", value.NewDict("prefix_mismatch_behavior", "drop_block"))
		body.Put("thinking", thinking)
	}
	if body.Has("tools") {
		if choice := m.family.choice(body, r.ToolChoice); choice != nil {
			body.Put("tool_choice", choice)
		}
	}
	if r.Schema != nil && m.family.schemas && !fix.plain {
		if schema, ok := outputSchema(r.Schema); ok {
			output.Put("format", value.NewDict("type", "json_schema", "schema", schema))
		}
	}
	if output.Len() > 0 {
		body.Put("output_config", output)
	}
	thinks := wire.Child(body, "thinking").Text("type")
	if r.Temperature != nil && m.family.sampling && m.o.Version == Version2023 && (thinks == "" || thinks == "disabled") {
		body.Put("temperature", *r.Temperature)
	}
	if m.streams(r) {
		body.Put("stream", true)
	}
}

// streams reports whether a reply is streamed: a long one also if nobody watches.
func (m *client) streams(r *model.Request) bool {
	return r.Text != nil || m.maxTokens(r) > mostUnstreamed
}

// mark marks where the provider's cache of a conversation ends: after the tools and the system
// prompt, and after each of the last three messages of the user.
//
// The API reads the longest prefix that an earlier request has marked at the same block, and
// looks only 20 blocks back from a mark. A reply and its results can have more blocks. But each
// request ends with a message of the user, and marks it: so the second mark from the end is
// exactly where the last request ended, however long the last turn was, and the one before it
// where the request before ended, in case that the last one failed before it was cached. Marks
// are no part of the prefix, and cost nothing by themselves. A request may have four.
func mark(body *value.Dict) {
	if system := wire.Children(body, "system"); len(system) > 0 {
		putMark(system[0])
	} else if v, _ := body.Get("tools"); v != nil {
		tools := slices.Clone(v.(value.List))
		last := tools[len(tools)-1].(*value.Dict).Clone(1)
		putMark(last)
		tools[len(tools)-1] = last
		body.Put("tools", tools)
	}
	messages := wire.Children(body, "messages")
	for i, left := len(messages)-1, 3; i >= 0 && left > 0; i-- {
		if messages[i].Text("role") == "user" {
			blocks := wire.Children(messages[i], "content")
			putMark(blocks[len(blocks)-1])
			left--
		}
	}
}

func putMark(block *value.Dict) { block.Put("cache_control", value.NewDict("type", "ephemeral")) }

// add hashes a value. One that cannot be encoded fails when it is sent.
func (c *composer) add(v value.Value) {
	data, _ := value.AppendJSON(nil, v)
	c.sum.Write(data)
}

// prefix identifies what was written so far.
func (c *composer) prefix() string {
	for ; c.summed < len(c.messages); c.summed++ {
		c.add(c.messages[c.summed])
	}
	return base64.RawStdEncoding.EncodeToString(c.sum.Sum(nil)[:15])
}

// message adds a message. Roles alternate, so messages of one role become one. Results of tools
// are blocks of the user's message, before its text.
func (c *composer) message(m *model.Message) *value.Error {
	role, blocks, err := "user", value.List(nil), (*value.Error)(nil)
	switch m.Role {
	case model.SystemRole:
		c.later = append(c.later, value.NewDict("role", "system", "content", textBlocks(m.Text)))
		return nil
	case model.Assistant:
		k := readKept(m.Opaque)
		if k != nil && !k.says(m) {
			k = nil
		}
		if k.empty() && strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 {
			return nil // a reply without an answer, which the API rejects
		}
		c.instruct()
		role, blocks = "assistant", c.replied(m, k)
	case model.ToolRole:
		blocks, err = c.result(m)
	default:
		blocks, err = c.attached(m)
		blocks = append(blocks, textBlocks(m.Text)...)
	}
	if err != nil || len(blocks) == 0 {
		return err
	}
	if n := len(c.messages); n > 0 {
		if last := c.messages[n-1].(*value.Dict); last.Text("role") == role {
			before, _ := last.Get("content")
			last.Put("content", append(before.(value.List), blocks...))
			return nil
		}
	}
	c.messages = append(c.messages, value.NewDict("role", role, "content", blocks))
	return nil
}

// instruct adds instructions in mid-conversation. The API wants them after the user's message.
func (c *composer) instruct() {
	c.messages, c.later = append(c.messages, c.later...), nil
}

// result returns the block of a tool's result.
func (c *composer) result(m *model.Message) (value.List, *value.Error) {
	d := value.NewDict("type", "tool_result", "tool_use_id", m.CallID)
	media, err := c.attached(m)
	switch {
	case err != nil:
		return nil, err
	case media != nil:
		d.Put("content", append(textBlocks(m.Text), media...))
	case m.Text != "":
		d.Put("content", m.Text)
	}
	if m.Failed {
		d.Put("is_error", true)
	}
	return value.List{d}, nil
}

// attached returns the blocks of a message's images and documents.
func (c *composer) attached(m *model.Message) (list value.List, err *value.Error) {
	for i := range m.Media {
		one := &m.Media[i]
		d := value.NewDict("type", "document")
		switch kind, _, _ := strings.Cut(one.Type, ";"); kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			d.Put("type", "image")
			d.Put("source", source(kind, one))
		case "application/pdf":
			d.Put("source", source(kind, one))
		case "text/plain":
			d.Put("source", value.NewDict("type", "text", "media_type", kind, "data", strings.ToValidUTF8(string(one.Data), "\ufffd")))
		default:
			return nil, value.Errorf(value.Invalid, "the model cannot read %s (%s)", wire.MediaName(one), value.Clean(one.Type, 60)).
				WithHint("attach a PNG, JPEG, GIF or WebP image, a PDF or a text file")
		}
		if one.URL != "" && wire.Child(d, "source").Text("type") != "url" {
			return nil, value.Errorf(value.Invalid, "%s cannot be read from its address: the provider downloads only images and PDF files", wire.MediaName(one)).
				WithHint("download the file, and attach the local file")
		}
		if c.media += len(wire.Child(d, "source").Text("data")); c.media > mostMedia {
			return nil, value.Errorf(value.Invalid, "attach %s: the images and documents of the request are too large: limit %d MB in total", wire.MediaName(one), mostMedia*3/4>>20).
				WithHint("attach fewer or smaller files")
		}
		if d.Text("type") == "document" && one.Name != "" {
			d.Put("title", value.Clean(one.Name, 200))
		}
		list = append(list, d)
	}
	return list, nil
}

// source returns the source of an image or a PDF: its address, which the API gets, or its data.
func source(kind string, m *model.Media) *value.Dict {
	if m.URL != "" {
		return value.NewDict("type", "url", "url", m.URL)
	}
	return value.NewDict("type", "base64", "media_type", kind, "data", base64.StdEncoding.EncodeToString(m.Data))
}

// textBlocks returns a text as a block, or none for a blank text, which the API
// rejects.
func textBlocks(text string) value.List {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return value.List{value.NewDict("type", "text", "text", text)}
}
