// Package anthropic asks models of Anthropic.
//
// Source: https://platform.claude.com/docs/en/api/messages
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// Version is the default version of the Messages API. It has no sampling
	// parameters; they are never sent.
	Version = "2026-10-21"
	// Version2023 is the version for older gateways.
	Version2023 = "2023-06-01"
	// defaultMaxTokens is the default limit of an answer, which the API requires:
	// long enough for a large file, and short enough to complete within minutes.
	defaultMaxTokens = 16_000
)

// Options configure the connection to a model of Anthropic. Model is required.
type Options struct {
	Model     string
	BaseURL   string // without /v1; default https://api.anthropic.com
	Key       string
	Auth      model.Auth // AuthKey, the default, or AuthBearer
	Version   string     // of the API; default Version
	MaxTokens int        // limit of a reply if the request has none; default 16,000
	KeyHint   string     // hint for a wrong key; default "check the key"
	HTTP      model.HTTP
}

type client struct {
	o Options
	w *wire.Wire
}

// New returns a model of Anthropic's Messages API. It fails if the model is
// missing, or the key or the address is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, wire.NoModel("anthropic", "anthropic:claude-sonnet-5-5")
	}
	if o.Auth != "" && o.Auth != model.AuthKey && o.Auth != model.AuthBearer {
		return nil, value.Errorf(value.Invalid, "anthropic: unknown auth style %q", string(o.Auth)).
			WithHint("set Auth to x-api-key or bearer")
	}
	o.Version = cmp.Or(o.Version, Version)
	o.MaxTokens = cmp.Or(o.MaxTokens, defaultMaxTokens)
	base := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1") // some users add it
	w, err := wire.New("anthropic:"+o.Model, cmp.Or(base, "https://api.anthropic.com"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(w, true, (&client{o, w}).ask, func(context.Context) model.Info { return catalog.Find("anthropic", o.Model) }), nil
}

func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	reply, f := m.w.Reply(ctx, r, &wire.Query{Path: "/v1/messages", Header: m.header(), Body: body, Stream: r.Text != nil}, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		if res.Is("text/event-stream") {
			return res.Assemble(true, &stream{Draft: wire.Draft{W: m.w, OnText: r.Text}})
		}
		return m.read(res, r)
	})
	if f != nil && f.Status == 401 && m.o.Auth != model.AuthBearer {
		f.Err.Hint += "; or set Auth to bearer"
	}
	return reply, f
}

func (m *client) header() http.Header {
	h := http.Header{"Anthropic-Version": {m.o.Version}}
	switch {
	case m.o.Key == "": // for a gateway that has its own key
	case m.o.Auth == model.AuthBearer:
		h.Set("Authorization", "Bearer "+m.o.Key)
	default:
		h.Set("X-Api-Key", m.o.Key)
	}
	return h
}

func (m *client) body(r *model.Request) (*value.Dict, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.Definitions(r.Tools, tool.Anthropic)
	if f != nil {
		return nil, f
	}
	body := value.NewDict("model", m.o.Model, "max_tokens", int64(cmp.Or(r.MaxTokens, m.o.MaxTokens)))
	if r.System != "" {
		body.Put("system", r.System)
	}
	messages := r.Messages
	if tools == nil { // without tools the API also rejects calls
		messages = wire.Worded(messages)
	}
	body.Put("messages", messagesOf(messages))
	if tools != nil {
		body.Put("tools", tools)
	}
	if r.Text != nil {
		body.Put("stream", true)
	}
	return body, nil
}

// messagesOf writes the conversation with alternating roles. Results of tools
// are blocks of the user's message, before its text.
func messagesOf(messages []model.Message) value.List {
	var list value.List
	var last *value.Dict
	for i := range messages {
		m := &messages[i]
		role, blocks := "user", blocksOf(m)
		if m.Role == model.Assistant {
			role = "assistant"
		}
		if len(blocks) == 0 {
			continue // an answer without text, which the API rejects
		}
		if last.Text("role") == role {
			before, _ := last.Get("content")
			last.Put("content", append(before.(value.List), blocks...))
			continue
		}
		last = value.NewDict("role", role, "content", blocks)
		list = append(list, last)
	}
	return list
}

// blocksOf returns the content blocks of a message.
func blocksOf(m *model.Message) value.List {
	if m.Role == model.ToolRole {
		d := value.NewDict("type", "tool_result", "tool_use_id", m.CallID)
		if m.Text != "" {
			d.Put("content", m.Text)
		}
		if m.Failed {
			d.Put("is_error", true)
		}
		return value.List{d}
	}
	if blocks := keptBlocks(m); blocks != nil {
		return blocks
	}
	blocks := textBlocks(m.Text)
	for i := range m.Calls {
		c := &m.Calls[i]
		blocks = append(blocks, value.NewDict("type", "tool_use", "id", c.ID, "name", c.Tool, "input", wire.ArgsObject(c)))
	}
	return blocks
}

// textBlocks returns a text as a block, or none for a blank text, which the API
// rejects.
func textBlocks(text string) value.List {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return value.List{value.NewDict("type", "text", "text", text)}
}

// keptBlocks returns the blocks that the API sent, if they still match the
// message: its text or calls may have been changed since.
func keptBlocks(m *model.Message) value.List {
	if len(m.Opaque) == 0 {
		return nil
	}
	v, _ := value.ParseJSON(m.Opaque)
	blocks, _ := v.(value.List)
	text, calls := "", 0
	for _, b := range blocks {
		d, _ := b.(*value.Dict)
		switch d.Text("type") {
		case "text":
			text += d.Text("text")
		case "tool_use":
			if calls >= len(m.Calls) || m.Calls[calls].ID != d.Text("id") {
				return nil
			}
			calls++
		}
	}
	if text != m.Text || calls != len(m.Calls) {
		return nil
	}
	return blocks
}

// opaque returns the blocks that must be sent back unchanged: all of them if any is
// neither text nor a call, such as signed reasoning; else nil.
func opaque(blocks value.List) []byte {
	keep := false
	var kept value.List
	for _, b := range blocks {
		d, _ := b.(*value.Dict)
		kind := d.Text("type")
		keep = keep || kind != "text" && kind != "tool_use"
		if kind != "text" || strings.TrimSpace(d.Text("text")) != "" {
			kept = append(kept, b)
		}
	}
	if !keep {
		return nil
	}
	data, err := value.AppendJSON(nil, kept)
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}

func stopOf(reason string) model.Stop {
	switch reason {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return model.StopLength
	case "tool_use":
		return model.StopCalls
	case "refusal":
		return model.StopRefuse
	}
	return model.StopEnd
}

// usageOf reads the usage of a reply. The API counts cached input and input that
// it adds to the cache separately.
func usageOf(u *value.Dict) model.Usage {
	cached := u.Int("cache_read_input_tokens")
	return model.Usage{
		InputTokens:  int(u.Int("input_tokens") + u.Int("cache_creation_input_tokens") + cached),
		OutputTokens: int(u.Int("output_tokens")),
		CachedTokens: int(cached),
	}
}

// read reads an answer that is not streamed.
func (m *client) read(res *wire.Response, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if f := failureIn(m.w, body); f != nil {
		return nil, f
	}
	content, _ := body.Get("content")
	blocks, ok := content.(value.List)
	if !ok {
		return nil, m.w.Fail(value.Errorf(value.Unavailable, "the response has no content").WithHint("check the base URL %s", m.w.Base))
	}
	d := wire.Draft{W: m.w, OnText: r.Text, Stop: stopOf(body.Text("stop_reason")), Usage: usageOf(wire.Child(body, "usage"))}
	var calls []model.Call
	for _, b := range wire.Children(body, "content") {
		switch b.Text("type") {
		case "text":
			if f := d.Say(b.Text("text")); f != nil {
				return nil, f
			}
		case "tool_use":
			input, _ := b.Get("input")
			calls = append(calls, wire.NewCall(b.Text("id"), b.Text("name"), input))
		}
	}
	reply := d.Reply()
	reply.Calls, reply.Opaque = calls, opaque(blocks)
	return reply, nil
}

// failureIn returns the failure in an event or a body.
func failureIn(w *wire.Wire, body *value.Dict) *wire.Failure {
	e := wire.Child(body, "error")
	if e == nil && body.Text("type") != "error" {
		return nil
	}
	status := 500
	switch e.Text("type") {
	case "invalid_request_error":
		status = 400
	case "authentication_error":
		status = 401
	case "billing_error":
		status = 402
	case "permission_error":
		status = 403
	case "not_found_error":
		status = 404
	case "request_too_large":
		status = 413
	case "rate_limit_error":
		status = 429
	case "timeout_error":
		status = 504
	case "overloaded_error":
		status = 529
	}
	return w.FailStatus(status, w.Short(wire.ErrorText(body)+" ("+e.Text("type")+")"))
}

// An stream assembles the events of a streamed message by block.
type stream struct {
	wire.Draft
	blocks   []*blockDraft
	finished bool
}

// A blockDraft is a content block that is being streamed.
type blockDraft struct {
	index     int64
	block     *value.Dict // the initial block
	text      strings.Builder
	thinking  strings.Builder
	signature strings.Builder
	input     strings.Builder
}

func (s *stream) Take(event *value.Dict) (bool, *wire.Failure) {
	switch event.Text("type") {
	case "error":
		return false, failureIn(s.W, event)
	case "message_start":
		s.Usage = usageOf(wire.Child(wire.Child(event, "message"), "usage"))
	case "content_block_start":
		return false, s.start(event)
	case "content_block_delta":
		return false, s.delta(event)
	case "message_delta":
		s.Stop = stopOf(wire.Child(event, "delta").Text("stop_reason"))
		s.count(wire.Child(event, "usage"))
	case "message_stop":
		s.finished = true
		return true, nil
	} // ping, and additions of later versions
	return false, nil
}

func (s *stream) start(event *value.Dict) *wire.Failure {
	b := &blockDraft{index: event.Int("index"), block: wire.Child(event, "content_block")}
	if b.block == nil {
		return s.W.Fail(value.Errorf(value.Unavailable, "invalid response: content_block is missing"))
	}
	s.blocks = append(s.blocks, b)
	b.text.WriteString(s.W.Said(b.block.Text("text"))) // usually empty
	if f := s.Grow(wire.PartSize + len(b.block.Text("thinking")) + len(b.block.Text("data")) + len(b.block.Text("id"))); f != nil {
		return f
	}
	if b.block.Text("type") != "text" {
		return nil
	}
	return s.Say(b.block.Text("text"))
}

func (s *stream) delta(event *value.Dict) *wire.Failure {
	b := s.at(event.Int("index"))
	if b == nil {
		return s.W.Fail(value.Errorf(value.Unavailable, "invalid response: content_block_delta without content_block_start"))
	}
	d := wire.Child(event, "delta")
	switch d.Text("type") {
	case "text_delta":
		b.text.WriteString(s.W.Said(d.Text("text")))
		return s.Say(d.Text("text"))
	case "input_json_delta":
		b.input.WriteString(d.Text("partial_json"))
		return s.Grow(len(d.Text("partial_json")))
	case "thinking_delta":
		b.thinking.WriteString(d.Text("thinking"))
		return s.Grow(len(d.Text("thinking")))
	case "signature_delta":
		b.signature.WriteString(d.Text("signature"))
		return s.Grow(len(d.Text("signature")))
	}
	return nil
}

func (s *stream) at(index int64) *blockDraft {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].index == index {
			return s.blocks[i]
		}
	}
	return nil
}

// count takes the final usage, which repeats the input only if it changed.
func (s *stream) count(u *value.Dict) {
	last := usageOf(u)
	s.Usage.OutputTokens = max(s.Usage.OutputTokens, last.OutputTokens)
	if last.InputTokens > 0 {
		s.Usage.InputTokens, s.Usage.CachedTokens = last.InputTokens, last.CachedTokens
	}
}

// Reply implements [streamer].
func (s *stream) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	var blocks value.List
	for _, b := range s.blocks {
		d := value.NewDict()
		for k, v := range b.block.All() {
			d.Put(k.(string), v)
		}
		switch d.Text("type") {
		case "text":
			d.Put("text", b.text.String())
		case "thinking":
			d.Put("thinking", d.Text("thinking")+b.thinking.String())
			d.Put("signature", d.Text("signature")+b.signature.String())
		case "tool_use":
			c := b.call()
			d.Put("input", wire.ArgsObject(&c))
			reply.Calls = append(reply.Calls, c)
		}
		blocks = append(blocks, d)
	}
	reply.Opaque = opaque(blocks)
	return reply, s.finished
}

// call returns the call of a tool_use block. Its input is streamed in pieces, but some
// gateways send it at the start.
func (b *blockDraft) call() model.Call {
	input, _ := b.block.Get("input")
	if b.input.Len() > 0 {
		input = b.input.String()
	}
	return wire.NewCall(b.block.Text("id"), b.block.Text("name"), input)
}
