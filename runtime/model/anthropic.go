package model

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// AnthropicVersion is the default version of the Messages API. It has no sampling
	// parameters; they are never sent.
	AnthropicVersion = "2026-10-21"
	// AnthropicVersion2023 is the version for older gateways.
	AnthropicVersion2023 = "2023-06-01"
	// anthropicMaxTokens is the default limit of an answer, which the API requires:
	// long enough for a large file, and short enough to complete within minutes.
	anthropicMaxTokens = 16_000
)

// AnthropicOptions configure the connection to a model of Anthropic. Model is required.
type AnthropicOptions struct {
	Model     string
	BaseURL   string // without /v1; default https://api.anthropic.com
	Key       string
	Auth      Auth   // AuthKey, the default, or AuthBearer
	Version   string // of the API; default AnthropicVersion
	MaxTokens int    // limit of a reply if the request has none; default 16,000
	KeyHint   string // hint for a wrong key; default "check the key"
	HTTP      HTTP
}

type anthropic struct {
	o AnthropicOptions
	w *wire
}

// NewAnthropic returns a model of Anthropic's Messages API. It fails if the model is
// missing, or the key or the address is invalid.
func NewAnthropic(opts *AnthropicOptions) (Model, error) {
	o := AnthropicOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, noModel("anthropic", "anthropic:claude-sonnet-4-5")
	}
	if o.Auth != "" && o.Auth != AuthKey && o.Auth != AuthBearer {
		return nil, value.Errorf(value.Invalid, "anthropic: unknown auth style %q", string(o.Auth)).
			WithHint("set Auth to x-api-key or bearer")
	}
	o.Version = cmp.Or(o.Version, AnthropicVersion)
	o.MaxTokens = cmp.Or(o.MaxTokens, anthropicMaxTokens)
	base := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1") // some users add it
	w, err := newWire("anthropic:"+o.Model, cmp.Or(base, "https://api.anthropic.com"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	return &api{w, true, (&anthropic{o, w}).ask}, nil
}

func (m *anthropic) ask(ctx context.Context, r *Request) (*Reply, *failure) {
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	res, f := m.w.send(ctx, &query{path: "/v1/messages", header: m.header(), body: body, stream: r.Text != nil})
	if f != nil {
		if f.status == 401 && m.o.Auth != AuthBearer {
			f.err.Hint += "; or set Auth to bearer"
		}
		return nil, f
	}
	defer res.close()
	var reply *Reply
	if res.is("text/event-stream") {
		reply, f = res.assemble(true, &anthropicStream{draft: draft{w: m.w, onText: r.Text}})
	} else {
		reply, f = m.read(res, r)
	}
	if f != nil {
		return nil, f
	}
	return m.w.finish(r, reply)
}

func (m *anthropic) header() http.Header {
	h := http.Header{"Anthropic-Version": {m.o.Version}}
	switch {
	case m.o.Key == "": // for a gateway that has its own key
	case m.o.Auth == AuthBearer:
		h.Set("Authorization", "Bearer "+m.o.Key)
	default:
		h.Set("X-Api-Key", m.o.Key)
	}
	return h
}

func (m *anthropic) body(r *Request) (*value.Dict, *failure) {
	if f := m.w.check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.definitions(r.Tools, tool.Anthropic)
	if f != nil {
		return nil, f
	}
	body := value.NewDict("model", m.o.Model, "max_tokens", int64(cmp.Or(r.MaxTokens, m.o.MaxTokens)))
	if r.System != "" {
		body.Put("system", r.System)
	}
	messages := r.Messages
	if tools == nil { // without tools the API also rejects calls
		messages = worded(messages)
	}
	body.Put("messages", anthropicMessages(messages))
	if tools != nil {
		body.Put("tools", tools)
	}
	if r.Text != nil {
		body.Put("stream", true)
	}
	return body, nil
}

// anthropicMessages writes the conversation with alternating roles. Results of tools
// are blocks of the user's message, before its text.
func anthropicMessages(messages []Message) value.List {
	var list value.List
	var last *value.Dict
	for i := range messages {
		m := &messages[i]
		role, blocks := "user", anthropicBlocks(m)
		if m.Role == Assistant {
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

// anthropicBlocks returns the content blocks of a message.
func anthropicBlocks(m *Message) value.List {
	if m.Role == ToolRole {
		d := value.NewDict("type", "tool_result", "tool_use_id", m.CallID)
		if m.Text != "" {
			d.Put("content", m.Text)
		}
		if m.Failed {
			d.Put("is_error", true)
		}
		return value.List{d}
	}
	if blocks := anthropicOpaque(m); blocks != nil {
		return blocks
	}
	blocks := textBlocks(m.Text)
	for i := range m.Calls {
		c := &m.Calls[i]
		blocks = append(blocks, value.NewDict("type", "tool_use", "id", c.ID, "name", c.Tool, "input", c.argsObject()))
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

// anthropicOpaque returns the blocks that the API sent, if they still match the
// message: its text or calls may have been changed since.
func anthropicOpaque(m *Message) value.List {
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

func anthropicStop(reason string) Stop {
	switch reason {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "tool_use":
		return StopCalls
	case "refusal":
		return StopRefuse
	}
	return StopEnd
}

// anthropicUsage reads the usage of a reply. The API counts cached input and input that
// it adds to the cache separately.
func anthropicUsage(u *value.Dict) Usage {
	cached := u.Int("cache_read_input_tokens")
	return Usage{
		InputTokens:  int(u.Int("input_tokens") + u.Int("cache_creation_input_tokens") + cached),
		OutputTokens: int(u.Int("output_tokens")),
		CachedTokens: int(cached),
	}
}

// read reads an answer that is not streamed.
func (m *anthropic) read(res *response, r *Request) (*Reply, *failure) {
	body, f := res.object()
	if f != nil {
		return nil, f
	}
	if f := m.w.anthropicError(body); f != nil {
		return nil, f
	}
	content, _ := body.Get("content")
	blocks, ok := content.(value.List)
	if !ok {
		return nil, m.w.fail(value.Errorf(value.Unavailable, "the response has no content").WithHint("check the base URL %s", m.w.base))
	}
	d := draft{w: m.w, onText: r.Text, stop: anthropicStop(body.Text("stop_reason")), usage: anthropicUsage(child(body, "usage"))}
	var calls []Call
	for _, b := range children(body, "content") {
		switch b.Text("type") {
		case "text":
			if f := d.say(b.Text("text")); f != nil {
				return nil, f
			}
		case "tool_use":
			input, _ := b.Get("input")
			calls = append(calls, newCall(b.Text("id"), b.Text("name"), input))
		}
	}
	reply := d.reply()
	reply.Calls, reply.Opaque = calls, opaque(blocks)
	return reply, nil
}

// anthropicError returns the failure in an event or a body.
func (w *wire) anthropicError(body *value.Dict) *failure {
	e := child(body, "error")
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
	return w.failStatus(status, w.short(errorText(body)+" ("+e.Text("type")+")"))
}

// An anthropicStream assembles the events of a streamed message by block.
type anthropicStream struct {
	draft
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

func (s *anthropicStream) take(event *value.Dict) (bool, *failure) {
	switch event.Text("type") {
	case "error":
		return false, s.w.anthropicError(event)
	case "message_start":
		s.usage = anthropicUsage(child(child(event, "message"), "usage"))
	case "content_block_start":
		return false, s.start(event)
	case "content_block_delta":
		return false, s.delta(event)
	case "message_delta":
		s.stop = anthropicStop(child(event, "delta").Text("stop_reason"))
		s.count(child(event, "usage"))
	case "message_stop":
		s.finished = true
		return true, nil
	} // ping, and additions of later versions
	return false, nil
}

func (s *anthropicStream) start(event *value.Dict) *failure {
	b := &blockDraft{index: event.Int("index"), block: child(event, "content_block")}
	if b.block == nil {
		return s.w.fail(value.Errorf(value.Unavailable, "invalid response: content_block is missing"))
	}
	s.blocks = append(s.blocks, b)
	b.text.WriteString(s.w.said(b.block.Text("text"))) // usually empty
	if f := s.grow(partSize + len(b.block.Text("thinking")) + len(b.block.Text("data")) + len(b.block.Text("id"))); f != nil {
		return f
	}
	if b.block.Text("type") != "text" {
		return nil
	}
	return s.say(b.block.Text("text"))
}

func (s *anthropicStream) delta(event *value.Dict) *failure {
	b := s.at(event.Int("index"))
	if b == nil {
		return s.w.fail(value.Errorf(value.Unavailable, "invalid response: content_block_delta without content_block_start"))
	}
	d := child(event, "delta")
	switch d.Text("type") {
	case "text_delta":
		b.text.WriteString(s.w.said(d.Text("text")))
		return s.say(d.Text("text"))
	case "input_json_delta":
		b.input.WriteString(d.Text("partial_json"))
		return s.grow(len(d.Text("partial_json")))
	case "thinking_delta":
		b.thinking.WriteString(d.Text("thinking"))
		return s.grow(len(d.Text("thinking")))
	case "signature_delta":
		b.signature.WriteString(d.Text("signature"))
		return s.grow(len(d.Text("signature")))
	}
	return nil
}

func (s *anthropicStream) at(index int64) *blockDraft {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].index == index {
			return s.blocks[i]
		}
	}
	return nil
}

// count takes the final usage, which repeats the input only if it changed.
func (s *anthropicStream) count(u *value.Dict) {
	last := anthropicUsage(u)
	s.usage.OutputTokens = max(s.usage.OutputTokens, last.OutputTokens)
	if last.InputTokens > 0 {
		s.usage.InputTokens, s.usage.CachedTokens = last.InputTokens, last.CachedTokens
	}
}

// reply implements [streamer].
func (s *anthropicStream) reply() (*Reply, bool) {
	reply := s.draft.reply()
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
			d.Put("input", c.argsObject())
			reply.Calls = append(reply.Calls, c)
		}
		blocks = append(blocks, d)
	}
	reply.Opaque = opaque(blocks)
	return reply, s.finished
}

// call returns the call of a tool_use block. Its input is streamed in pieces, but some
// gateways send it at the start.
func (b *blockDraft) call() Call {
	input, _ := b.block.Get("input")
	if b.input.Len() > 0 {
		input = b.input.String()
	}
	return newCall(b.block.Text("id"), b.block.Text("name"), input)
}
