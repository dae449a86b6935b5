// Package openai asks models of OpenAI, and of servers with a compatible API.
package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure the connection to an OpenAI model, or to a server with a
// compatible API. Model is required.
type Options struct {
	Model   string
	BaseURL string // default https://api.openai.com/v1
	Key     string // sent as a bearer token; "" for servers that require none
	// OldMaxTokens sends the limit of a reply as max_tokens, for servers that do not
	// support max_completion_tokens.
	OldMaxTokens bool
	// Plain says that the model does not support tools: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
}

type client struct {
	o Options
	w *wire.Wire
}

// New returns a model of OpenAI's chat completions. It fails if the model is
// missing, or the key or the address is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, wire.NoModel("openai", "openai:gpt-5")
	}
	w, err := wire.New("openai:"+o.Model, cmp.Or(o.BaseURL, "https://api.openai.com/v1"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(w, !o.Plain, (&client{o, w}).ask, func(context.Context) model.Info { return catalog.Find("openai", o.Model) }), nil
}

func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	return m.w.Reply(ctx, r, &wire.Query{Path: "/chat/completions", Header: wire.Bearer(m.o.Key), Body: body, Stream: r.Text != nil}, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		if res.Is("text/event-stream") {
			return res.Assemble(true, &stream{Draft: wire.Draft{W: m.w, OnText: r.Text}})
		}
		return m.read(res, r)
	})
}

func (m *client) body(r *model.Request) (*value.Dict, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.Definitions(r.Tools, tool.OpenAI)
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = wire.Worded(messages), nil
	}
	body := value.NewDict("model", m.o.Model, "messages", messagesOf(r.System, messages))
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

func messagesOf(system string, messages []model.Message) value.List {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	for i := range messages {
		m := &messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch {
		case m.Role == model.ToolRole:
			d.Put("tool_call_id", m.CallID)
		case len(m.Calls) > 0:
			if m.Text == "" {
				d.Put("content", nil)
			}
			d.Put("tool_calls", callsOf(m.Calls))
			addKept(d, m)
		}
		list = append(list, d)
	}
	return list
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

// read reads an answer that is not streamed.
func (m *client) read(res *wire.Response, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if f := m.w.FailIn(body); f != nil {
		return nil, f
	}
	choice := firstChoice(body)
	message := wire.Child(choice, "message")
	if message == nil {
		return nil, m.w.Fail(value.Errorf(value.Unavailable, "invalid response: the message is missing").WithHint("check the base URL %s", m.w.Base))
	}
	d := wire.Draft{W: m.w, OnText: r.Text, Stop: stopOf(choice.Text("finish_reason")), Usage: usageOf(body)}
	if f := d.Say(textOf(message)); f != nil {
		return nil, f
	}
	if refusal := message.Text("refusal"); refusal != "" {
		d.Stop = model.StopRefuse
		if f := d.Say(refusal); f != nil {
			return nil, f
		}
	}
	reply := d.Reply()
	var extras value.List
	for _, call := range wire.Children(message, "tool_calls") {
		function := wire.Child(call, "function")
		args, _ := function.Get("arguments")
		extra, _ := call.Get("extra_content")
		reply.Calls, extras = append(reply.Calls, wire.NewCall(call.Text("id"), function.Text("name"), args)), append(extras, extra)
	}
	reply.Opaque = kept(message.Text("reasoning_content"), extras)
	return reply, nil
}

// textOf returns the text of a message or a delta, which some servers send in
// parts.
func textOf(message *value.Dict) string {
	text := message.Text("content")
	for _, part := range wire.Children(message, "content") {
		text += part.Text("text")
	}
	return text
}

func stopOf(reason string) model.Stop {
	switch reason {
	case "":
		return ""
	case "length":
		return model.StopLength
	case "content_filter":
		return model.StopRefuse
	case "tool_calls", "function_call":
		return model.StopCalls
	}
	return model.StopEnd
}

func usageOf(body *value.Dict) model.Usage {
	u := wire.Child(body, "usage")
	return model.Usage{
		InputTokens:  int(u.Int("prompt_tokens")),
		OutputTokens: int(u.Int("completion_tokens")),
		CachedTokens: int(wire.Child(u, "prompt_tokens_details").Int("cached_tokens")),
	}
}

// A stream assembles chunks.
type stream struct {
	wire.Draft
	reasoning strings.Builder
	finished  bool
}

func (s *stream) Take(chunk *value.Dict) (bool, *wire.Failure) {
	if f := s.W.FailIn(chunk); f != nil {
		return false, f
	}
	if chunk.Has("usage") && wire.Child(chunk, "usage") != nil {
		s.Usage = usageOf(chunk)
	}
	choice := firstChoice(chunk)
	if stop := stopOf(choice.Text("finish_reason")); stop != "" {
		s.finished = true
		if s.Stop == "" {
			s.Stop = stop
		}
	}
	delta := wire.Child(choice, "delta")
	if f := s.Say(textOf(delta)); f != nil {
		return false, f
	}
	if refusal := delta.Text("refusal"); refusal != "" {
		s.Stop = model.StopRefuse
		if f := s.Say(refusal); f != nil {
			return false, f
		}
	}
	s.reasoning.WriteString(delta.Text("reasoning_content"))
	if f := s.Grow(len(delta.Text("reasoning_content"))); f != nil {
		return false, f
	}
	for _, call := range wire.Children(delta, "tool_calls") {
		if f := s.takeCall(call); f != nil {
			return false, f
		}
	}
	return false, nil // the usage follows the last choice, and [DONE] is last
}

// takeCall adds a piece of a call. Servers that do not number their calls send each
// call completely, with an ID or a name, or one piece after the other.
func (s *stream) takeCall(piece *value.Dict) *wire.Failure {
	function := wire.Child(piece, "function")
	key := piece.IntOr("index", -1)
	if key < 0 {
		key = int64(len(s.Calls)) - 1
		if key < 0 || piece.Text("id") != "" && piece.Text("id") != s.Calls[key].ID {
			key++
		}
	}
	c := s.Call(key)
	if id := piece.Text("id"); id != "" {
		c.ID = id
	}
	if name := function.Text("name"); name != "" {
		c.Tool = name
	}
	if extra, _ := piece.Get("extra_content"); extra != nil {
		c.Extra = extra
	}
	args, _ := function.Get("arguments")
	text, ok := args.(string)
	if object, isObject := args.(*value.Dict); !ok && isObject {
		text = object.String()
	}
	c.Args.WriteString(text)
	return s.Grow(len(text) + len(c.ID) + len(c.Tool))
}

// Reply implements [streamer]. After a finish reason the reply is complete, even if
// [DONE] is missing.
func (s *stream) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	var extras value.List
	for _, c := range s.Calls {
		extras = append(extras, c.Extra)
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
func addKept(message *value.Dict, m *model.Message) {
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
	for i, call := range wire.Children(message, "tool_calls") {
		if len(extras) == len(m.Calls) && extras[i] != nil {
			call.Put("extra_content", extras[i])
		}
	}
}

func firstChoice(body *value.Dict) *value.Dict {
	if choices := wire.Children(body, "choices"); len(choices) > 0 {
		return choices[0]
	}
	return nil
}
