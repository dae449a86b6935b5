package openai

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askChat asks with chat completions.
func (m *client) askChat(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := m.chatBody(r)
	if f != nil {
		return nil, f
	}
	s, again := m.newStream(r), true
	q := &wire.Query{Path: "/chat/completions", Header: wire.KeyHeader(m.o.Auth, m.o.Key), Body: body, Stream: r.Text != nil, Retry: func(f *wire.Failure) bool {
		if !callRefused(f) {
			return wire.Stateless(f)
		}
		if !again || len(generatedCalls(f, r.Tools)) > 0 {
			return false
		}
		s, again = m.newStream(r), false
		return true
	}}
	reply, f := m.w.Reply(ctx, r, q, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		s = m.newStream(r)
		if res.Is("text/event-stream") {
			return res.Assemble(true, s)
		}
		return s.read(res)
	})
	if f != nil && callRefused(f) {
		return s.generated(r, f)
	}
	return reply, f
}

func (m *client) chatBody(r *model.Request) (*value.Dict, *wire.Failure) {
	tools, f := m.w.Definitions(r.Tools, tool.OpenAI)
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = wire.Worded(messages), nil
	}
	list, f := m.chatMessages(m.system(r), messages)
	if f != nil {
		return nil, f
	}
	body := value.NewDict("model", m.o.Model, "messages", list)
	if tools != nil {
		m.addStrict(tools)
		body.Put("tools", tools)
		if c := choice(r, func(name string) *value.Dict {
			return value.NewDict("type", "function", "function", value.NewDict("name", name))
		}); c != nil {
			body.Put("tool_choice", c)
		}
	}
	m.addChatOptions(body, r)
	return wire.Merged(body, m.o.Extra), nil
}

func (m *client) addChatOptions(body *value.Dict, r *model.Request) {
	if r.MaxTokens > 0 {
		name := "max_completion_tokens"
		if m.o.OldMaxTokens {
			name = "max_tokens"
		}
		body.Put(name, int64(r.MaxTokens))
	}
	if r.Effort != "" {
		body.Put("reasoning_effort", r.Effort)
	}
	if r.Temperature != nil {
		body.Put("temperature", *r.Temperature)
	}
	if format := m.format(r); format != nil {
		body.Put("response_format", value.NewDict("type", "json_schema", "json_schema", format))
	}
	// Other servers may refuse a field that they do not know.
	if r.Conversation != "" && (m.at("api.openai.com") || m.at("api.mistral.ai")) {
		body.Put("prompt_cache_key", cacheKey(r.Conversation))
	}
	if r.Text != nil {
		body.Put("stream", true)
		body.Put("stream_options", value.NewDict("include_usage", true))
	}
}

// longestCacheKey is the limit of prompt_cache_key, in bytes.
const longestCacheKey = 64

// cacheKey returns the key of a conversation in the provider's cache.
func cacheKey(conversation string) string {
	if len(conversation) <= longestCacheKey {
		return conversation
	}
	return "cassidy-" + checksum(conversation)
}

// checksum returns a short text that differs for different texts.
func checksum(texts ...string) string {
	h := fnv.New64a()
	for _, text := range texts {
		h.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// addStrict marks the tools whose arguments the server can guarantee. Servers that do not
// document strict could refuse it.
func (m *client) addStrict(tools value.List) {
	if !m.at("api.openai.com") && !m.at("openrouter.ai") {
		return
	}
	for _, t := range tools {
		d, _ := t.(*value.Dict)
		if function := wire.Child(d, "function"); isStrict(wire.Child(function, "parameters")) {
			function.Put("strict", true)
		}
	}
}

func (m *client) chatMessages(system string, messages []model.Message) (value.List, *wire.Failure) {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	var media value.List // of results: a message of a tool takes only text
	for i := range messages {
		message := &messages[i]
		d := value.NewDict("role", string(message.Role), "content", message.Text)
		switch {
		case message.Role == model.ToolRole:
			d.Put("tool_call_id", message.CallID)
		case message.Role == model.Assistant:
			m.addCalls(d, message)
		case len(message.Media) > 0:
			parts, f := m.chatParts(message.Text, message.Media)
			if f != nil {
				return nil, f
			}
			d.Put("content", parts)
		}
		list = append(list, d)
		if message.Role != model.ToolRole {
			continue
		}
		if len(message.Media) > 0 {
			parts, f := m.chatParts("The files of the result of "+message.Tool+" (call "+message.CallID+"):", message.Media)
			if f != nil {
				return nil, f
			}
			media = append(media, parts...)
		}
		if len(media) > 0 && (i+1 == len(messages) || messages[i+1].Role != model.ToolRole) {
			list, media = append(list, value.NewDict("role", "user", "content", media)), nil
		}
	}
	return list, nil
}

// addCalls adds the calls of an assistant's message, and what the server wants back with it.
func (m *client) addCalls(d *value.Dict, message *model.Message) {
	if len(message.Calls) > 0 {
		if message.Text == "" {
			d.Put("content", nil)
		}
		d.Put("tool_calls", callsOf(message.Calls))
	}
	m.addKept(d, message)
}

func callsOf(calls []model.Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		list = append(list, value.NewDict("id", c.ID, "type", "function",
			"function", value.NewDict("name", c.Tool, "arguments", wire.ArgsText(c))))
	}
	return list
}

// keptFields are the fields of a message that a server wants back as they were. The reasoning is
// of llama.cpp and DeepSeek, which reject a call without it; of vLLM, Ollama, Groq and
// OpenRouter; and signed, of OpenRouter. Google rejects a call without its signature, which is
// in the call's extra content.
var keptFields = []string{"reasoning_content", "reasoning", "reasoning_details", "extra_content"}

// kept returns the data to send back with a reply, or nil. It holds only for this model, text
// and calls.
func (s *stream) kept(r *model.Reply) []byte {
	d := value.NewDict()
	s.keep(d)
	var extras value.List
	for _, c := range s.Calls {
		extras = append(extras, c.Extra)
	}
	if slices.ContainsFunc(extras, func(v value.Value) bool { return v != nil }) {
		d.Put("calls", extras)
	}
	if d.Len() == 0 {
		return nil
	}
	d.Put("model", s.m.o.Model)
	d.Put("of", sumOf(r.Text, r.Calls))
	data, err := value.AppendJSON(nil, d)
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}

// sumOf returns the checksum of a message's text and calls.
func sumOf(text string, calls []model.Call) string {
	texts := []string{text}
	for i := range calls { // without the IDs, which a reply gets later
		texts = append(texts, calls[i].Tool, wire.ArgsText(&calls[i]))
	}
	return checksum(texts...)
}

// addKept adds the data of [stream.kept] to a message, if it belongs to it.
func (m *client) addKept(message *value.Dict, of *model.Message) {
	v, _ := value.ParseJSON(of.Opaque)
	d, _ := v.(*value.Dict)
	if d == nil || d.Text("model") != m.o.Model || d.Text("of") != sumOf(of.Text, of.Calls) {
		return
	}
	extras := d.Elements("calls")
	for i, call := range wire.Children(message, "tool_calls") {
		if i < len(extras) && extras[i] != nil {
			call.Put("extra_content", extras[i])
		}
	}
	for _, name := range append(keptFields, "content") {
		if v, ok := d.Get(name); ok {
			message.Put(name, v)
		}
	}
}
