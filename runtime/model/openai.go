package model

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// OpenAIOptions configure the connection to an OpenAI model, or to a server with a
// compatible API. Model is required.
type OpenAIOptions struct {
	Model   string
	BaseURL string // default https://api.openai.com/v1
	Key     string // sent as a bearer token; "" for servers that require none
	// OldMaxTokens sends the limit of a reply as max_tokens, for servers that do not
	// support max_completion_tokens.
	OldMaxTokens bool
	// Plain says that the model does not support tools: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    HTTP
}

type openAI struct {
	o OpenAIOptions
	w *wire
}

// NewOpenAI returns a model of OpenAI's chat completions. It fails if the model is
// missing, or the key or the address is invalid.
func NewOpenAI(opts *OpenAIOptions) (Model, error) {
	o := OpenAIOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, noModel("openai", "openai:gpt-5")
	}
	w, err := newWire("openai:"+o.Model, cmp.Or(o.BaseURL, "https://api.openai.com/v1"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	return &api{w, !o.Plain, (&openAI{o, w}).ask}, nil
}

func noModel(kind, example string) error {
	return value.Errorf(value.Invalid, "%s: the model name is missing", kind).WithHint("set Model, as in %q", example)
}

func (m *openAI) ask(ctx context.Context, r *Request) (*Reply, *failure) {
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	res, f := m.w.send(ctx, &query{path: "/chat/completions", header: bearer(m.o.Key), body: body, stream: r.Text != nil})
	if f != nil {
		return nil, f
	}
	defer res.close()
	var reply *Reply
	if res.is("text/event-stream") {
		reply, f = res.assemble(true, &openAIStream{draft: draft{w: m.w, onText: r.Text}})
	} else {
		reply, f = m.read(res, r)
	}
	if f != nil {
		return nil, f
	}
	return m.w.finish(r, reply)
}

func (m *openAI) body(r *Request) (*value.Dict, *failure) {
	if f := m.w.check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.definitions(r.Tools, tool.OpenAI)
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = worded(messages), nil
	}
	body := value.NewDict("model", m.o.Model, "messages", openAIMessages(r.System, messages))
	if tools != nil {
		body.Put("tools", tools)
	}
	if r.MaxTokens > 0 {
		name := "max_completion_tokens"
		if m.o.OldMaxTokens {
			name = "max_tokens"
		}
		body.Put(name, int64(r.MaxTokens))
	}
	if r.Text != nil {
		body.Put("stream", true)
		body.Put("stream_options", value.NewDict("include_usage", true))
	}
	return body, nil
}

func openAIMessages(system string, messages []Message) value.List {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	for i := range messages {
		m := &messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch {
		case m.Role == ToolRole:
			d.Put("tool_call_id", m.CallID)
		case len(m.Calls) > 0:
			if m.Text == "" {
				d.Put("content", nil)
			}
			d.Put("tool_calls", openAICalls(m.Calls))
			addKept(d, m)
		}
		list = append(list, d)
	}
	return list
}

func openAICalls(calls []Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		list = append(list, value.NewDict("id", c.ID, "type", "function",
			"function", value.NewDict("name", c.Tool, "arguments", c.argsText())))
	}
	return list
}

// read reads an answer that is not streamed.
func (m *openAI) read(res *response, r *Request) (*Reply, *failure) {
	body, f := res.object()
	if f != nil {
		return nil, f
	}
	if f := m.w.failIn(body); f != nil {
		return nil, f
	}
	choice := firstChoice(body)
	message := child(choice, "message")
	if message == nil {
		return nil, m.w.fail(value.Errorf(value.Unavailable, "invalid response: the message is missing").WithHint("check the base URL %s", m.w.base))
	}
	d := draft{w: m.w, onText: r.Text, stop: openAIStop(choice.Text("finish_reason")), usage: openAIUsage(body)}
	if f := d.say(openAIText(message)); f != nil {
		return nil, f
	}
	if refusal := message.Text("refusal"); refusal != "" {
		d.stop = StopRefuse
		if f := d.say(refusal); f != nil {
			return nil, f
		}
	}
	reply := d.reply()
	var extras value.List
	for _, call := range children(message, "tool_calls") {
		function := child(call, "function")
		args, _ := function.Get("arguments")
		extra, _ := call.Get("extra_content")
		reply.Calls, extras = append(reply.Calls, newCall(call.Text("id"), function.Text("name"), args)), append(extras, extra)
	}
	reply.Opaque = kept(message.Text("reasoning_content"), extras)
	return reply, nil
}

// openAIText returns the text of a message or a delta, which some servers send in
// parts.
func openAIText(message *value.Dict) string {
	text := message.Text("content")
	for _, part := range children(message, "content") {
		text += part.Text("text")
	}
	return text
}

func openAIStop(reason string) Stop {
	switch reason {
	case "":
		return ""
	case "length":
		return StopLength
	case "content_filter":
		return StopRefuse
	case "tool_calls", "function_call":
		return StopCalls
	}
	return StopEnd
}

func openAIUsage(body *value.Dict) Usage {
	u := child(body, "usage")
	return Usage{
		InputTokens:  int(u.Int("prompt_tokens")),
		OutputTokens: int(u.Int("completion_tokens")),
		CachedTokens: int(child(u, "prompt_tokens_details").Int("cached_tokens")),
	}
}

// An openAIStream assembles chunks.
type openAIStream struct {
	draft
	reasoning strings.Builder
	finished  bool
}

func (s *openAIStream) take(chunk *value.Dict) (bool, *failure) {
	if f := s.w.failIn(chunk); f != nil {
		return false, f
	}
	if chunk.Has("usage") && child(chunk, "usage") != nil {
		s.usage = openAIUsage(chunk)
	}
	choice := firstChoice(chunk)
	if stop := openAIStop(choice.Text("finish_reason")); stop != "" {
		s.finished = true
		if s.stop == "" {
			s.stop = stop
		}
	}
	delta := child(choice, "delta")
	if f := s.say(openAIText(delta)); f != nil {
		return false, f
	}
	if refusal := delta.Text("refusal"); refusal != "" {
		s.stop = StopRefuse
		if f := s.say(refusal); f != nil {
			return false, f
		}
	}
	s.reasoning.WriteString(delta.Text("reasoning_content"))
	if f := s.grow(len(delta.Text("reasoning_content"))); f != nil {
		return false, f
	}
	for _, call := range children(delta, "tool_calls") {
		if f := s.takeCall(call); f != nil {
			return false, f
		}
	}
	return false, nil // the usage follows the last choice, and [DONE] is last
}

// takeCall adds a piece of a call. Servers that do not number their calls send each
// call completely, with an ID or a name, or one piece after the other.
func (s *openAIStream) takeCall(piece *value.Dict) *failure {
	function := child(piece, "function")
	key := piece.IntOr("index", -1)
	if key < 0 {
		key = int64(len(s.calls)) - 1
		if key < 0 || piece.Text("id") != "" && piece.Text("id") != s.calls[key].id {
			key++
		}
	}
	c := s.call(key)
	if id := piece.Text("id"); id != "" {
		c.id = id
	}
	if name := function.Text("name"); name != "" {
		c.tool = name
	}
	if extra, _ := piece.Get("extra_content"); extra != nil {
		c.extra = extra
	}
	args, _ := function.Get("arguments")
	text, ok := args.(string)
	if object, isObject := args.(*value.Dict); !ok && isObject {
		text = object.String()
	}
	c.args.WriteString(text)
	return s.grow(len(text) + len(c.id) + len(c.tool))
}

// reply implements [streamer]. After a finish reason the reply is complete, even if
// [DONE] is missing.
func (s *openAIStream) reply() (*Reply, bool) {
	reply := s.draft.reply()
	var extras value.List
	for _, c := range s.calls {
		extras = append(extras, c.extra)
	}
	reply.Opaque = kept(s.reasoning.String(), extras)
	return reply, s.finished
}

// kept returns the data to send back with a message that makes calls, or nil. OpenAI
// needs nothing, but DeepSeek rejects a call without the reasoning before it, and
// Google one without its signature, which is the call's extra content.
func kept(reasoning string, extras value.List) []byte {
	d := value.NewDict()
	if reasoning != "" {
		d.Put("reasoning_content", reasoning)
	}
	if slices.ContainsFunc(extras, func(v value.Value) bool { return v != nil }) {
		d.Put("extra_content", extras)
	}
	if d.Len() == 0 || len(extras) == 0 {
		return nil
	}
	data, err := value.AppendJSON(nil, d)
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}

// addKept adds the data of [kept] to a message with calls.
func addKept(message *value.Dict, m *Message) {
	if len(m.Opaque) == 0 {
		return
	}
	v, _ := value.ParseJSON(m.Opaque)
	d, _ := v.(*value.Dict)
	if reasoning := d.Text("reasoning_content"); reasoning != "" {
		message.Put("reasoning_content", reasoning)
	}
	v, _ = d.Get("extra_content")
	extras, _ := v.(value.List)
	for i, call := range children(message, "tool_calls") {
		if len(extras) == len(m.Calls) && extras[i] != nil {
			call.Put("extra_content", extras[i])
		}
	}
}

func firstChoice(body *value.Dict) *value.Dict {
	if choices := children(body, "choices"); len(choices) > 0 {
		return choices[0]
	}
	return nil
}
